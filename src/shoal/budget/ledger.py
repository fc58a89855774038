"""The ledger: what has been told about one data set, and what may still be told.

Every release and every answer multiplies the intruder's odds. The ledger is one SQLite file for each data
set. It books first and answers then: a crash in between wastes budget and never gives an answer that is not
booked. A booking that would take ρ past 1/k is refused and changes nothing. A booking is one IMMEDIATE
transaction, so processes take turns and cannot spend the same budget twice, and it is on disk before the
call returns.

The state is base, E and δ: ρ = p(odds(base) · E), where base is 1/m, or the ρ of the one population release;
E is the product of all factors, δ the sum. All three are exact fractions, written as text.

Every field is chained (:mod:`shoal.budget.hash_chain`). Before each booking the state is held against the last
two entries, so that a state that was set back is not believed; :meth:`Ledger.verify` goes through all entries. What a
file cannot tell by itself is that it is an old copy: for that, note the head and expect it the next time.

Only the standard library is imported: many short processes share one ledger. The file must be on a local
disk, since locks of network file systems are not reliable.

Source: Zhao, Shang and Liu, section 3.4 (Proposition 5, repaired in :mod:`shoal.budget.arithmetic`).
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge

from shoal.budget.arithmetic import (
    Rational,
    bound_from_rho,
    check_crowd,
    compose_as_in_paper,
    epsilon,
    exact,
    odds,
    probability,
    rho_from_bound,
    round_down,
    round_up,
    sampled_factor,
    sampling_delta,
    show,
    whole,
)
from shoal.budget.errors import (
    BudgetExceededError,
    DeltaExceededError,
    LedgerBusyError,
    LedgerExistsError,
    LedgerHeadError,
    LedgerNotFoundError,
    LedgerUnreadableError,
    ParameterError,
    SecondPopulationReleaseError,
)
from shoal.budget.hash_chain import Entry, Terms, Totals, check_end, check_walk, damaged
from shoal.errors import InputError
from shoal.runtime.validation import Checked

__all__ = ["Booking", "Entry", "Ledger", "Status"]

_APPLICATION_ID = 0x53484F41  # "SHOA", in the header of the SQLite file
_FORMAT = 2

MOST_ROWS = 1000
"""So many rows of a person an answer may be about."""

_TABLES = (
    """CREATE TABLE state (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    salt TEXT NOT NULL,
    name TEXT NOT NULL,
    m INTEGER NOT NULL,
    k INTEGER NOT NULL,
    delta_limit TEXT NOT NULL,
    entries INTEGER NOT NULL,
    base TEXT NOT NULL,
    bound TEXT NOT NULL,
    delta TEXT NOT NULL,
    population_released INTEGER NOT NULL,
    head TEXT NOT NULL
)""",
    """CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    base TEXT,
    factor TEXT NOT NULL,
    delta TEXT NOT NULL,
    rho_after TEXT NOT NULL,
    total_base TEXT NOT NULL,
    total_bound TEXT NOT NULL,
    total_delta TEXT NOT NULL,
    population_released INTEGER NOT NULL,
    head TEXT NOT NULL
)""",
    "CREATE TRIGGER entries_are_final BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are final'); END",
    "CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are final'); END",
)


@dataclass(frozen=True)
class Booking:
    """The receipt of a booking: the answer may be given now, with this bound.

    Attributes
    ----------
    number
        The number of the entry in the ledger.
    bound
        The pairwise bound E to give to the mechanism; 1 for a population release, which has no noise.
    rows
        Of how many rows of a person the answer may tell, each with this bound: E to this power was booked.
    delta
        The δ that was added.
    rho
        ρ of everything booked so far, this included.
    rho_in_paper
        For a query, ρ1 · ρ2 · m as Proposition 5 is printed, with ρ1 from before; for comparison only.
    head
        The head of the ledger after this booking: note it, and expect it the next time.
    """

    number: int
    bound: Fraction
    delta: Fraction
    rho: Fraction
    head: str
    rho_in_paper: Fraction | None = None
    rows: int = 1


@dataclass(frozen=True)
class Status:
    """What is spent and what remains.

    Attributes
    ----------
    name, m, k, delta_limit
        As declared when the ledger was created.
    base
        1/m, or the ρ of the population release.
    bound
        E, the product of all factors booked.
    delta
        The sum of all δ booked.
    population_released
        Whether the one population release is booked.
    entries
        How many bookings there are.
    head
        What stands for all of the above and every entry; see :mod:`shoal.budget.hash_chain`.
    """

    name: str
    m: int
    k: int
    delta_limit: Fraction
    base: Fraction
    bound: Fraction
    delta: Fraction
    population_released: bool
    entries: int
    head: str

    @classmethod
    def of(cls, terms: Terms, totals: Totals, head: str) -> Status:
        """Put terms and totals together."""
        spent = (totals.base, totals.bound, totals.delta, totals.released, totals.entries)
        return cls(terms.name, terms.m, terms.k, terms.delta_limit, *spent, head)

    @property
    def rho(self) -> Fraction:
        """ρ of everything booked so far."""
        return probability(odds(self.base) * self.bound)

    @property
    def remaining_bound(self) -> Fraction:
        """By which factor E may still grow until ρ = 1/k; 1 means that nothing remains."""
        return odds(Fraction(1, self.k)) / (odds(self.base) * self.bound)

    @property
    def remaining_rho(self) -> Fraction | None:
        """The largest ρ that a single next query may ask for; None if nothing remains."""
        return rho_from_bound(self.remaining_bound, self.m) if self.remaining_bound > 1 else None

    @property
    def remaining_delta(self) -> Fraction:
        """How much δ may still be booked."""
        return self.delta_limit - self.delta

    def to_dict(self) -> dict[str, object]:
        """Return the status as plain values for JSON; what remains is rounded down, so that it can be asked for."""
        remaining = self.remaining_rho
        return {
            "name": self.name,
            "m": self.m,
            "k": self.k,
            "entries": self.entries,
            "head": self.head,
            "population_released": self.population_released,
            "rho": float(self.rho),
            "rho_exact": str(round_up(self.rho)),
            "rho_limit": 1 / self.k,
            "E": float(self.bound),
            "epsilon": epsilon(self.bound),
            "delta": float(self.delta),
            "delta_limit": float(self.delta_limit),
            "remaining_E": float(self.remaining_bound),
            "remaining_epsilon": epsilon(self.remaining_bound),
            "remaining_rho": None if remaining is None else float(round_down(remaining)),
            "remaining_delta": float(self.remaining_delta),
        }


@dataclass(frozen=True)
class Ledger(Checked):
    """The ledger of one data set. Make one with :meth:`create` or :meth:`open`.

    The object holds the path only, and each call opens the file anew: it may be shared by threads and
    survives a fork.

    Attributes
    ----------
    path
        The file.
    patience
        For how many seconds a call waits for other processes.
    expected
        A head that was noted earlier. Every call raises unless the ledger goes on from it.

    Examples
    --------
    >>> import tempfile
    >>> directory = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(Path(directory.name) / "patients.ledger", m=100, k=5, name="patients")
    >>> ledger.book_population_release(10, label="age by decade").rho
    Fraction(1, 10)
    >>> ledger.book_query("1/50", label="how many smoke").rho
    Fraction(11, 60)
    >>> ledger.status().remaining_rho
    Fraction(49, 4405)
    >>> directory.cleanup()
    """

    path: Path
    patience: Annotated[float, Ge(0)] = 60.0
    expected: str | None = None
    fault: ClassVar[type[InputError]] = ParameterError

    def __post_init__(self) -> None:
        if self.expected is not None and not re.fullmatch(r"[0-9a-f]{64}", str(self.expected)):
            raise ParameterError(
                "The head of a ledger must be its 64 digits and letters from a to f, as `shoal ledger show` or a "
                "booking printed them. Got something else."
            )

    def to_plan(self) -> str:
        """The ledger as a plan names it."""
        return str(self.path)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        m: int,
        k: int,
        name: str = "",
        delta_limit: Rational = "1e-5",
        patience: float = 60.0,
    ) -> Ledger:
        """Create the ledger of a data set; the file must not exist yet.

        Parameters
        ----------
        path
            The file, readable by its owner only.
        m
            How many individuals could be the unknown one. Too small is safe, too large is not.
        k
            The crowd: ρ never passes 1/k. It cannot be changed later.
        name
            What the data set is called.
        delta_limit
            The sum of δ that sampled releases may use; 0 for none.
        patience
            For how many seconds a call waits for other processes.
        """
        k = whole(k, "k", 2)
        m = whole(m, "m", 2)
        limit = exact(delta_limit, "delta_limit")
        if not k < m < 2**63:
            raise ParameterError(
                "m must be above k, else there is nothing to spend, and below 2^63. "
                f"Got m = {show(Fraction(m))} and k = {show(Fraction(k))}. Lower k, or m."
            )
        if not 0 <= limit < 1:
            raise ParameterError(f"delta_limit must be at least 0 and below 1. Got {show(limit)} instead.")
        ledger = cls(Path(path), patience)
        try:
            os.close(os.open(ledger.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise LedgerNotFoundError(
                "The ledger must be in a directory that can be written. Creating it failed: "
                f"{error.strerror}. Give another path."
            ) from None
        # An empty file is what a creation that was killed leaves: no table, so nothing can have been booked.
        with ledger._connection() as connection, _transaction(connection):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise LedgerExistsError(
                    "A new ledger must not replace a file. There is one at this path already. "
                    "Open it, or give another path: one data set must have one ledger only."
                )
            for statement in _TABLES:
                connection.execute(statement)
            terms = Terms(secrets.token_hex(16), _printable(name), m, k, round_up(limit))
            connection.execute(
                "INSERT INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (terms.salt, terms.name, m, k, str(terms.delta_limit), *Totals.none(terms).written(), terms.head),
            )
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str], patience: float = 60.0, expected: str | None = None) -> Ledger:
        """Open an existing ledger, and check that it is one, and that it goes on from a head that is ``expected``."""
        ledger = cls(Path(path), patience, expected)
        ledger.status()
        return ledger

    def status(self) -> Status:
        """Return what is spent and what remains, if it is what the last entry says."""
        with self._reading() as (_, status):
            return status

    def entries(self) -> tuple[Entry, ...]:
        """Return all bookings in their order."""
        with self._reading() as (connection, _):
            return _entries(connection)

    def verify(self) -> Status:
        """Go through all entries, and raise if they are not a chain that leads to the state. Return the status."""
        with self._reading() as (connection, status):
            check_walk(*_state(connection), _entries(connection))
            return status

    def book_query(self, rho: Rational, label: str = "", rows: int = 1) -> Booking:
        """Book one answer under ρ-differential identifiability, before it is given.

        Where up to ``rows`` of the rows that are answered about can be one person's, each of them multiplies the odds:
        E to that power is booked.

        Returns
        -------
        Booking
            Its ``bound`` is E = (m - 1)ρ/(1 - ρ), for the mechanism that answers about one row.
        """
        asked, rows = exact(rho, "rho"), whole(rows, "rows", 1)
        if rows > MOST_ROWS:
            raise ParameterError(
                f"At most {MOST_ROWS} rows of a person can be answered about: each of them multiplies the odds. Got "
                f"{show(Fraction(rows))}. Keep fewer."
            )

        def spend(status: Status) -> _Spending:
            bound = bound_from_rho(asked, status.m)
            check_crowd(asked, status.k)
            factor = bound**rows
            in_paper = compose_as_in_paper(status.rho, rho_from_bound(factor, status.m), status.m)
            return _Spending("query", factor, bound, rho_in_paper=in_paper, rows=rows)

        return self._book(spend, label)

    def book_choice(self, bound: Rational, label: str = "") -> Booking:
        """Book a private choice (of a recoding, say) with pairwise bound E, before it is made."""
        factor = _choice(bound)
        return self._book(lambda status: _Spending("choice", factor, factor), label)

    def book_release(
        self, bound: Rational, beta: Rational, k: int, label: str = "", choice: Rational | None = None
    ) -> Booking:
        """Book a sampled release, before the sample is drawn, and with it the private choice of its recoding.

        E grows by E / (1 - β), times the E of the choice, and δ by
        :func:`~shoal.budget.arithmetic.sampling_delta`. Release and choice are one booking: a choice that
        is paid for and then of no use, because the release is refused, cannot happen.

        Parameters
        ----------
        bound
            The E of the release.
        beta
            Its sampling rate.
        k
            The release drops cells with fewer than k sampled rows. It need not be the ledger's k.
        choice
            The pairwise bound E of a private choice of the recoding; None where the recoding was declared.
        """
        factor = sampled_factor(bound, beta)
        if choice is not None:
            factor *= _choice(choice)
        delta = round_up(sampling_delta(bound, k, beta))
        return self._book(lambda status: _Spending("sampled release", factor, exact(bound, "E"), delta), label)

    def book_population_release(self, k: int, label: str = "") -> Booking:
        """Book the one population release, of crowd ``k``, before it is published; a second one is refused.

        Two population releases that each hide everyone in a crowd can single a person out together.
        """
        base = Fraction(1, whole(k, "k", 2))

        def spend(status: Status) -> _Spending:
            if status.population_released:
                raise SecondPopulationReleaseError(
                    "A data set may have one population release. One is booked already, and two can single "
                    "a person out together. The ledger is unchanged. Use a sampled release, or queries."
                )
            # The crowd may be declared larger than m, but no base is below the blind guess.
            return _Spending("population release", Fraction(1), Fraction(1), base=max(base, status.base))

        return self._book(spend, label)

    def _book(self, spend: Callable[[Status], _Spending], label: str) -> Booking:
        """Check and write one booking in one transaction; it is on disk when this returns."""
        with self._connection() as connection, _transaction(connection):
            terms, before, head = _read(connection, self.expected)
            status = Status.of(terms, before, head)
            spending = spend(status)
            factor = round_up(spending.factor)
            totals = before.after(spending.base, factor, spending.delta)
            if totals.rho * terms.k > 1:
                raise BudgetExceededError(_over_budget(status, totals.rho, spending.rows))
            if totals.delta > terms.delta_limit:
                raise DeltaExceededError(
                    f"delta must stay at most {show(terms.delta_limit)}, the limit of this ledger. With "
                    f"this booking it would be {show(totals.delta)}. The ledger is unchanged. Use a larger k or a "
                    "smaller beta."
                )
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            entry = Entry(at, spending.kind, _printable(label), spending.base, factor, spending.delta, totals)
            entry = replace(entry, head=entry.sealed(terms.head, head))
            _write(connection, entry)
            # read back: what is committed is what was computed, whatever else is in the file
            if _read(connection) != (terms, totals, entry.head):
                raise damaged("What was written does not stay as it was written")
        told = (entry.number, spending.bound, spending.delta, totals.rho, entry.head)
        return Booking(*told, spending.rho_in_paper, spending.rows)

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Status]]:
        """The ledger at one moment, and its status."""
        with self._connection() as connection, _transaction(connection, "DEFERRED"):
            yield connection, Status.of(*_read(connection, self.expected))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one call; never create it."""
        location = f"{self.path.absolute().as_uri()}?mode=rw"
        if not self.path.is_file():
            raise LedgerNotFoundError(
                "The ledger must exist before it is used. There is no file at this path. Create it first, with m and k."
            )
        try:
            connection = sqlite3.connect(location, timeout=self.patience, isolation_level=None, uri=True)
        except sqlite3.Error:
            raise LedgerNotFoundError(
                "The ledger must be a file that can be read and written. Opening it failed. Check its permissions."
            ) from None
        try:
            # EXTRA is FULL, and also syncs the directory after the journal is removed: without it a power
            # failure right after a commit could bring the journal back and undo the booking.
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
        except sqlite3.OperationalError as error:
            # an error of Python's own (text that is not UTF-8) has no code
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise LedgerBusyError(
                    f"A call waits {self.patience:g} seconds for other processes. They held the ledger for "
                    "longer. Nothing was booked. Try again."
                ) from None
            raise LedgerUnreadableError(
                "The ledger must be a readable and writable SQLite file. SQLite reports "
                f"{_reported(error)}. Nothing was booked. Check the disk and the permissions of the "
                "file and its directory."
            ) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # what SQLite reports may quote a damaged file
            raise LedgerUnreadableError(
                f"The ledger must be a SQLite file. SQLite reports {_reported(error)}. Nothing was "
                "booked. Check the path, or take the file from a backup."
            ) from None
        finally:
            connection.close()


@dataclass(frozen=True)
class _Spending:
    """What a booking asks for: its factor on E, the bound for the mechanism, δ, and a new base if it has one."""

    kind: str
    factor: Fraction
    bound: Fraction
    delta: Fraction = Fraction(0)
    base: Fraction | None = None
    rho_in_paper: Fraction | None = None
    rows: int = 1


def _choice(bound: Rational) -> Fraction:
    """Return the E of a private choice, or raise."""
    factor = exact(bound, "E")
    if factor <= 1:
        raise ParameterError(f"E must be above 1. Got {show(factor)}: nothing can be chosen at that E.")
    return factor


def _printable(text: str) -> str:
    """Replace what cannot be written as UTF-8: arguments of a command line may hold any bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _over_budget(status: Status, rho: Fraction, rows: int) -> str:
    """Say why a booking is refused, and what would still be accepted."""
    remaining = status.remaining_rho
    advice = "Nothing remains: this data set must not be queried any more."
    if remaining is not None and rows == 1:
        advice = f"A single query may still ask for rho of at most {float(round_down(remaining)):.6g}."
    elif remaining is not None:
        each = Fraction(float(status.remaining_bound) ** (1 / rows))
        advice = (
            f"A single query about {rows} rows of each person may still ask for rho of about "
            f"{float(rho_from_bound(max(each, Fraction(1)), status.m)):.6g}, about fewer rows for more."
        )
    return (
        f"rho must stay at most 1/k = 1/{status.k}. With this booking it would be {show(rho)}. "
        f"The ledger is unchanged. {advice}"
    )


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Write everything at the end, or nothing. IMMEDIATE takes the ledger for this process alone."""
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _reported(error: Exception) -> str:
    """The name of an error of SQLite; the text of one may quote what the file holds."""
    return str(getattr(error, "sqlite_errorname", "text that is not UTF-8"))


def _read(connection: sqlite3.Connection, expected: str | None = None) -> tuple[Terms, Totals, str]:
    """Return the terms, the totals and the head, if the end of the chain vouches for them, or raise.

    The time does not depend on the number of entries, unless a head is expected that is not the last: then all are
    gone through.
    """
    identity = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if identity != _APPLICATION_ID:
        raise LedgerUnreadableError(
            f"The file must be a ledger of shoal, format {_FORMAT}. It is something else. Check the path."
        )
    if version != _FORMAT:
        raise LedgerUnreadableError(
            f"The file must be a ledger of shoal, format {_FORMAT}. It is one of format {version}, whose entries are "
            "not chained as here. Use the version of shoal that wrote it; or create a new ledger, and book in it first "
            "what the old one has."
        )
    made = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'").fetchall()
    if {row[0] for row in made} != set(_TABLES) or len(made) != len(_TABLES):
        raise damaged("Its tables are not those of a ledger")
    terms, totals, head = _state(connection)
    last = _entries(connection, "ORDER BY number DESC LIMIT 2")[::-1]
    ever = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone()
    check_end(terms, totals, head, last, ever[0] if ever else 0)
    if expected is not None and expected != head:
        _check_goes_on(connection, terms, totals, head, expected)
    return terms, totals, head


def _check_goes_on(connection: sqlite3.Connection, terms: Terms, totals: Totals, head: str, expected: str) -> None:
    """Raise unless the chain leads from the expected head to this one."""
    entries = _entries(connection)
    check_walk(terms, totals, head, entries)
    if expected not in (terms.head, *(entry.head for entry in entries)):
        raise LedgerHeadError(
            "The ledger must go on from the head that is expected. It has no such head: an older copy was put back in "
            "its place, or it is the ledger of something else. Nothing was booked. Find the newest copy, and treat the "
            "budget as spent until then."
        )


def _state(connection: sqlite3.Connection) -> tuple[Terms, Totals, str]:
    """Return the state as it stands in the file, every field checked by itself."""
    rows = connection.execute(
        "SELECT head, salt, name, m, k, delta_limit, entries, base, bound, delta, population_released FROM state"
    ).fetchall()
    if len(rows) != 1 or type(rows[0][0]) is not str:
        raise damaged("Its state is not one row")
    head, *fields = rows[0]
    return Terms.read(*fields[:5]), Totals.read(*fields[5:]), head


def _entries(connection: sqlite3.Connection, which: str = "ORDER BY number") -> tuple[Entry, ...]:
    """Return all entries in their order, or some; every field checked by itself."""
    rows = connection.execute(
        "SELECT number, at, kind, label, base, factor, delta, rho_after, total_base, total_bound, total_delta, "
        f"population_released, head FROM entries {which}"
    ).fetchall()  # a query that an error broke off would hold the file for as long as the error is kept
    return tuple(map(Entry.read, rows))


def _write(connection: sqlite3.Connection, entry: Entry) -> None:
    """Add an entry, and make its totals and its head those of the state."""
    fields = entry.written()
    connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(fields))})", fields)
    connection.execute(
        "UPDATE state SET entries = ?, base = ?, bound = ?, delta = ?, population_released = ?, head = ?",
        (*entry.totals.written(), entry.head),
    )
