"""The ledger of a data set: budget spent and budget left.

Every release and every answer multiplies the intruder's odds. The ledger is one SQLite file for each data
set. It books before it answers: a crash in between wastes budget, but no answer is ever given without a booking. A
booking that would raise ρ above 1/k is refused and changes nothing. A booking is one IMMEDIATE transaction, so
processes take turns and cannot spend the same budget twice. It is on disk before the call returns.

The state is base, E and δ: ρ = p(odds(base) · E). The base is 1/m, or the ρ of the one population release;
E is the product of all factors, δ the sum. All three are exact fractions, written as text.

Every field is chained (:mod:`shoal.budget.hash_chain`). Before each booking the state is checked against the last
two entries, so that a state that was reset is detected; :meth:`Ledger.verify` checks all entries. A file cannot
show by itself that it is an old copy. To detect that, record the head and pass it as the expected head the next time.

Only the standard library is imported, since short processes may share one ledger. The file must be on a local
disk, since locks of network file systems are not reliable.

Source: Zhao, Shang and Liu, section 3.4 (Proposition 5, corrected in :mod:`shoal.budget.arithmetic`).
"""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, ClassVar

from annotated_types import Ge

from shoal.budget.arithmetic import (
    Rational,
    bound_from_rho,
    check_crowd,
    check_integer,
    compose_as_in_paper,
    epsilon,
    format_fraction,
    odds,
    probability,
    rho_from_bound,
    round_down,
    round_up,
    sampled_factor,
    sampling_delta,
    to_fraction,
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
from shoal.budget.hash_chain import Entry, Terms, Totals, check_all_entries, check_last_entries, damage_error
from shoal.errors import InputError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Validated

_APPLICATION_ID = 0x53484F41  # "SHOA", in the header of the SQLite file
_FORMAT = 2

MAX_ROWS_PER_PERSON = 1000
"""The largest number of rows of one person that an answer may cover."""

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
    """The receipt of a booking: the answer may now be given with this bound.

    Attributes
    ----------
    number
        The number of the entry in the ledger.
    bound
        The pairwise bound E to give to the mechanism; 1 for a population release, which has no noise.
    rows
        The number of rows of a person that the answer may cover, each with this bound: E to this power was booked.
    delta
        The δ that was added.
    rho
        ρ of everything booked so far, including this booking.
    rho_in_paper
        For a query, ρ1 · ρ2 · m as Proposition 5 is printed, with ρ1 from before; for comparison only.
    head
        The head of the ledger after this booking: record it, and pass it as the expected head the next time.
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
    """The budget that is spent and the budget that remains.

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
        The number of bookings.
    head
        The hash of all of the above and of every entry; see :mod:`shoal.budget.hash_chain`.
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
        """Combine terms and totals."""
        spent = (totals.base, totals.bound, totals.delta, totals.released, totals.entries)
        return cls(terms.name, terms.m, terms.k, terms.delta_limit, *spent, head)

    @property
    def rho(self) -> Fraction:
        """ρ of everything booked so far."""
        return probability(odds(self.base) * self.bound)

    @property
    def remaining_bound(self) -> Fraction:
        """The factor by which E may still grow until ρ = 1/k; 1 if exhausted."""
        return odds(Fraction(1, self.k)) / (odds(self.base) * self.bound)

    @property
    def remaining_rho(self) -> Fraction | None:
        """The largest ρ of a single next query; None if the budget is exhausted."""
        return rho_from_bound(self.remaining_bound, self.m) if self.remaining_bound > 1 else None

    @property
    def remaining_delta(self) -> Fraction:
        """The part of δ that may still be booked."""
        return self.delta_limit - self.delta

    def to_dict(self) -> dict[str, object]:
        """Return the status as plain values for JSON.

        The remaining budget is rounded down, so that it can be requested.
        """
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
class Ledger(Validated):
    """The ledger of one data set; use :meth:`create` or :meth:`open`.

    The object has the path only, and each call opens the file anew. It may be shared by threads and survives a fork.

    Attributes
    ----------
    path
        The file.
    patience
        The number of seconds that a call waits for other processes.
    expected
        A head that was recorded earlier. Every call raises unless the ledger continues from it.

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
            raise ParameterError("budget.ledger-head-malformed")

    def to_plan(self) -> str:
        """Return the ledger as a plan names it."""
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
            The number of individuals who could be the unknown one. Too small is safe, too large is not.
        k
            The crowd: ρ never exceeds 1/k. It cannot be changed later.
        name
            The name of the data set.
        delta_limit
            The sum of δ that sampled releases may use; 0 for none.
        patience
            The number of seconds that a call waits for other processes.
        """
        k = check_integer(k, "k", 2)
        m = check_integer(m, "m", 2)
        limit = to_fraction(delta_limit, "delta_limit")
        if not k < m < 2**63:
            raise ParameterError("budget.m-not-above-k", m=format_fraction(Fraction(m)), k=format_fraction(Fraction(k)))
        if not 0 <= limit < 1:
            raise ParameterError("budget.delta-limit-out-of-range", found=format_fraction(limit))
        ledger = cls(Path(path), patience)
        try:
            os.close(os.open(ledger.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise LedgerNotFoundError("budget.ledger-not-created", reason=error.strerror) from None
        # A creation that was killed leaves an empty file: it has no table, so nothing can have been booked.
        with ledger._connection() as connection, _transaction(connection):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise LedgerExistsError("budget.ledger-exists")
            for statement in _TABLES:
                connection.execute(statement)
            terms = Terms(secrets.token_hex(16), _printable(name), m, k, round_up(limit))
            connection.execute(
                "INSERT INTO state VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (terms.salt, terms.name, m, k, str(terms.delta_limit), *Totals.empty(terms).written(), terms.head),
            )
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str], patience: float = 60.0, expected: str | None = None) -> Ledger:
        """Open and check an existing ledger.

        Raises unless the ledger continues from the head that is ``expected``, if there is one.
        """
        ledger = cls(Path(path), patience, expected)
        ledger.status()
        return ledger

    def status(self) -> Status:
        """Return the status of the ledger, checked against its last entry."""
        with self._reading() as (_, status):
            return status

    def entries(self) -> tuple[Entry, ...]:
        """Return all bookings in their order."""
        with self._reading() as (connection, _):
            return _entries(connection)

    def verify(self) -> Status:
        """Check the chain of all entries, and return the status."""
        with self._reading() as (connection, status):
            check_all_entries(*_state(connection), _entries(connection))
            return status

    def book_query(self, rho: Rational, label: str = "", rows: int = 1) -> Booking:
        """Book one answer under ρ-differential identifiability, in advance.

        If up to ``rows`` of the rows that an answer covers can belong to one person, each of them multiplies the odds:
        E to that power is booked.

        Returns
        -------
        Booking
            Its ``bound`` is E = (m - 1)ρ/(1 - ρ), for the mechanism that answers about one row.
        """
        requested_rho, rows = to_fraction(rho, "rho"), check_integer(rows, "rows", 1)
        if rows > MAX_ROWS_PER_PERSON:
            raise ParameterError(
                "budget.too-many-rows-per-person", most=MAX_ROWS_PER_PERSON, found=format_fraction(Fraction(rows))
            )

        def spend(status: Status) -> _Spending:
            bound = bound_from_rho(requested_rho, status.m)
            check_crowd(requested_rho, status.k)
            factor = bound**rows
            in_paper = compose_as_in_paper(status.rho, rho_from_bound(factor, status.m), status.m)
            return _Spending("query", factor, bound, rho_in_paper=in_paper, rows=rows)

        return self._book(spend, label)

    def book_choice(self, bound: Rational, label: str = "") -> Booking:
        """Book a private choice with pairwise bound E, before it is made.

        The choice of a recoding is an example.
        """
        factor = _check_choice_bound(bound)
        return self._book(lambda status: _Spending("choice", factor, factor), label)

    def book_release(
        self, bound: Rational, beta: Rational, k: int, label: str = "", choice: Rational | None = None
    ) -> Booking:
        """Book a sampled release, before its sample is drawn.

        The private choice of its recoding is part of the booking. E grows by E / (1 - β), times the E of the choice,
        and δ by :func:`~shoal.budget.arithmetic.sampling_delta`. Release and choice are one booking, so a choice cannot
        be paid for and then be useless because the release is refused.

        Parameters
        ----------
        bound
            The E of the release.
        beta
            Its sampling rate.
        k
            The release drops cells with fewer than k sampled rows. It need not be the ledger's k.
        choice
            The pairwise bound E of a private choice of the recoding; None if the recoding was declared.
        """
        factor = sampled_factor(bound, beta)
        if choice is not None:
            factor *= _check_choice_bound(choice)
        delta = round_up(sampling_delta(bound, k, beta))
        return self._book(lambda status: _Spending("sampled release", factor, to_fraction(bound, "E"), delta), label)

    def book_population_release(self, k: int, label: str = "") -> Booking:
        """Book the only population release, before it is published.

        A second one is refused: two population releases that each have a crowd of ``k`` can together single out a
        person.
        """
        base = Fraction(1, check_integer(k, "k", 2))

        def spend(status: Status) -> _Spending:
            if status.population_released:
                raise SecondPopulationReleaseError("budget.second-population-release")
            # The crowd may be declared larger than m, but no base is below the blind guess.
            return _Spending("population release", Fraction(1), Fraction(1), base=max(base, status.base))

        return self._book(spend, label)

    def _book(self, spend: Callable[[Status], _Spending], label: str) -> Booking:
        """Check and write one booking in one transaction.

        The booking is on disk when this returns.
        """
        with self._connection() as connection, _transaction(connection):
            terms, before, head = _read(connection, self.expected)
            status = Status.of(terms, before, head)
            spending = spend(status)
            factor = round_up(spending.factor)
            totals = before.after(spending.base, factor, spending.delta)
            if totals.rho * terms.k > 1:
                raise _budget_error(status, totals.rho, spending.rows)
            if totals.delta > terms.delta_limit:
                raise DeltaExceededError(
                    "budget.delta-exceeded",
                    limit=format_fraction(terms.delta_limit),
                    found=format_fraction(totals.delta),
                )
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            entry = Entry(at, spending.kind, _printable(label), spending.base, factor, spending.delta, totals)
            entry = replace(entry, head=entry.compute_head(terms.head, head))
            _write(connection, entry)
            # Read back: what is committed must be what was computed, regardless of anything else in the file.
            if _read(connection) != (terms, totals, entry.head):
                raise damage_error("What was written does not stay as it was written")
        receipt = (entry.number, spending.bound, spending.delta, totals.rho, entry.head)
        return Booking(*receipt, spending.rho_in_paper, spending.rows)

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Status]]:
        """Open a consistent view of the ledger, with its status."""
        with self._connection() as connection, _transaction(connection, "DEFERRED"):
            yield connection, Status.of(*_read(connection, self.expected))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one call; never create it."""
        location = f"{self.path.absolute().as_uri()}?mode=rw"
        if not self.path.is_file():
            raise LedgerNotFoundError("budget.ledger-not-found")
        try:
            connection = sqlite3.connect(location, timeout=self.patience, isolation_level=None, uri=True)
        except sqlite3.Error:
            raise LedgerNotFoundError("budget.ledger-not-opened") from None
        try:
            # EXTRA is FULL, and also syncs the directory after the journal is removed: without it a power
            # failure right after a commit could bring the journal back and undo the booking.
            connection.execute("PRAGMA synchronous = EXTRA")
            yield connection
        except sqlite3.OperationalError as error:
            # an error raised by Python itself (text that is not UTF-8) has no code
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise LedgerBusyError("budget.ledger-busy", seconds=self.patience) from None
            raise LedgerUnreadableError("budget.ledger-not-usable", reason=_error_name(error)) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # what SQLite reports may quote a damaged file
            raise LedgerUnreadableError("budget.ledger-not-sqlite", reason=_error_name(error)) from None
        finally:
            connection.close()


@dataclass(frozen=True)
class _Spending:
    """The cost of a booking.

    It has the factor on E, the bound for the mechanism, δ, and a new base for a population release.
    """

    kind: str
    factor: Fraction
    bound: Fraction
    delta: Fraction = Fraction(0)
    base: Fraction | None = None
    rho_in_paper: Fraction | None = None
    rows: int = 1


def _check_choice_bound(bound: Rational) -> Fraction:
    """Return the E of a private choice, or raise."""
    factor = to_fraction(bound, "E")
    if factor <= 1:
        raise ParameterError("budget.e-too-small-to-choose", found=format_fraction(factor))
    return factor


def _printable(text: str) -> str:
    """Replace characters that UTF-8 cannot encode.

    Arguments of a command line may have any bytes.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def _budget_error(status: Status, rho: Fraction, rows: int) -> BudgetExceededError:
    """Return the error of a refused booking, with the budget that remains."""
    k, found = status.k, format_fraction(rho)
    remaining = status.remaining_rho
    if remaining is None:
        return BudgetExceededError("budget.spent", k=k, found=found)
    if rows == 1:
        return BudgetExceededError("budget.exceeded", k=k, found=found, remaining=float(round_down(remaining)))
    each = Fraction(float(status.remaining_bound) ** (1 / rows))
    possible = float(rho_from_bound(max(each, Fraction(1)), status.m))
    return BudgetExceededError("budget.exceeded-with-several-rows", k=k, found=found, rows=rows, remaining=possible)


@contextmanager
def _transaction(connection: sqlite3.Connection, kind: str = "IMMEDIATE") -> Iterator[None]:
    """Commit everything at the end, or nothing.

    IMMEDIATE locks the ledger for this process.
    """
    connection.execute(f"BEGIN {kind}")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _error_name(error: Exception) -> str:
    """Return the name of an SQLite error.

    Its text is not used: it may quote the content of the file.
    """
    return str(getattr(error, "sqlite_errorname", "text that is not UTF-8"))


def _read(connection: sqlite3.Connection, expected: str | None = None) -> tuple[Terms, Totals, str]:
    """Return the terms, totals and head, checked by the end of the chain.

    The time does not depend on the number of entries, unless the expected head is not the last one: then all entries
    are checked.
    """
    identity = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if identity != _APPLICATION_ID:
        raise LedgerUnreadableError("budget.not-a-ledger", format=_FORMAT)
    if version != _FORMAT:
        raise LedgerUnreadableError("budget.ledger-format-other", format=_FORMAT, found=version)
    statements = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"
    ).fetchall()
    if {row[0] for row in statements} != set(_TABLES) or len(statements) != len(_TABLES):
        raise damage_error("Its tables are not those of a ledger")
    terms, totals, head = _state(connection)
    last = _entries(connection, "ORDER BY number DESC LIMIT 2")[::-1]
    highest_number = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'entries'").fetchone()
    check_last_entries(terms, totals, head, last, highest_number[0] if highest_number else 0)
    if expected is not None and expected != head:
        _check_continues_from(connection, terms, totals, head, expected)
    return terms, totals, head


def _check_continues_from(
    connection: sqlite3.Connection, terms: Terms, totals: Totals, head: str, expected: str
) -> None:
    """Raise unless the chain leads from the expected head to this one."""
    entries = _entries(connection)
    check_all_entries(terms, totals, head, entries)
    if expected not in (terms.head, *(entry.head for entry in entries)):
        raise LedgerHeadError("budget.ledger-head-missing")


def _state(connection: sqlite3.Connection) -> tuple[Terms, Totals, str]:
    """Return the state as read from the file, each field checked by itself."""
    rows = connection.execute(
        "SELECT head, salt, name, m, k, delta_limit, entries, base, bound, delta, population_released FROM state"
    ).fetchall()
    if len(rows) != 1 or type(rows[0][0]) is not str:
        raise damage_error("Its state is not one row")
    head, *fields = rows[0]
    return Terms.read(*fields[:5]), Totals.read(*fields[5:]), head


def _entries(connection: sqlite3.Connection, clause: str = "ORDER BY number") -> tuple[Entry, ...]:
    """Return all entries in order, or some; each field checked by itself."""
    rows = connection.execute(
        "SELECT number, at, kind, label, base, factor, delta, rho_after, total_base, total_bound, total_delta, "
        f"population_released, head FROM entries {clause}"
    ).fetchall()  # an interrupted query would lock the file for as long as its error is referenced
    return tuple(map(Entry.read, rows))


def _write(connection: sqlite3.Connection, entry: Entry) -> None:
    """Append an entry, and set the state to its totals and head."""
    fields = entry.written()
    connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(fields))})", fields)
    connection.execute(
        "UPDATE state SET entries = ?, base = ?, bound = ?, delta = ?, population_released = ?, head = ?",
        (*entry.totals.written(), entry.head),
    )
