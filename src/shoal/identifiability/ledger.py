"""The ledger: what has been told about one data set, and what may still be told.

Every release and every answer multiplies the intruder's odds. The ledger is one SQLite file for each data
set. It books first and answers then: a crash in between wastes budget and never gives an answer that is not
booked. A booking that would take ρ past 1/k is refused and changes nothing. A booking is one IMMEDIATE
transaction, so processes take turns and cannot spend the same budget twice, and it is on disk before the
call returns.

The state is base, E and δ: ρ = p(odds(base) · E), where base is 1/m, or the ρ of the one population release;
E is the product of all factors, δ the sum. All three are exact fractions, written as text.

Only the standard library is imported: many short processes share one ledger. The file must be on a local
disk, since locks of network file systems are not reliable.

Source: Zhao, Shang and Liu, section 3.4 (Proposition 5, repaired in :mod:`shoal.identifiability.arithmetic`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from shoal.identifiability.arithmetic import (
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
from shoal.identifiability.errors import (
    BudgetExceededError,
    DeltaExceededError,
    LedgerBusyError,
    LedgerExistsError,
    LedgerNotFoundError,
    LedgerUnreadableError,
    ParameterError,
    SecondPopulationReleaseError,
)

__all__ = ["Booking", "Entry", "Ledger", "Status"]

_APPLICATION_ID = 0x53484F41  # "SHOA", in the header of the SQLite file
_FORMAT = 1

_TABLES = """
CREATE TABLE state (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    name TEXT NOT NULL,
    m INTEGER NOT NULL,
    k INTEGER NOT NULL,
    delta_limit TEXT NOT NULL,
    base TEXT NOT NULL,
    bound TEXT NOT NULL,
    delta TEXT NOT NULL,
    population_released INTEGER NOT NULL
);
CREATE TABLE entries (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    base TEXT,
    bound TEXT NOT NULL,
    delta TEXT NOT NULL,
    rho_after TEXT NOT NULL
);
CREATE TRIGGER entries_are_final BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries are final'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are final'); END;
"""


@dataclass(frozen=True)
class Booking:
    """The receipt of a booking: the answer may be given now, with this bound.

    Attributes
    ----------
    number
        The number of the entry in the ledger.
    bound
        The pairwise bound E to give to the mechanism; 1 for a population release, which has no noise.
    delta
        The δ that was added.
    rho
        ρ of everything booked so far, this included.
    rho_in_paper
        For a query, ρ1 · ρ2 · m as Proposition 5 is printed, with ρ1 from before; for comparison only.
    """

    number: int
    bound: Fraction
    delta: Fraction
    rho: Fraction
    rho_in_paper: Fraction | None = None


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: what was booked, when, and ρ after it. ``factor`` is what E was multiplied by."""

    number: int
    at: str
    kind: str
    label: str
    base: Fraction | None
    factor: Fraction
    delta: Fraction
    rho_after: Fraction


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
class Ledger:
    """The ledger of one data set. Make one with :meth:`create` or :meth:`open`.

    The object holds the path only, and each call opens the file anew: it may be shared by threads and
    survives a fork.

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
    patience: float = 60.0

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
            for statement in _TABLES.strip().split(";\n"):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO state VALUES (1, ?, ?, ?, ?, ?, '1', '0', 0)",
                (_printable(name), m, k, str(round_up(limit)), str(Fraction(1, m))),
            )
            connection.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
        return ledger

    @classmethod
    def open(cls, path: str | os.PathLike[str], patience: float = 60.0) -> Ledger:
        """Open an existing ledger, and check that it is one."""
        ledger = cls(Path(path), patience)
        ledger.status()
        return ledger

    def status(self) -> Status:
        """Return what is spent and what remains."""
        with self._connection() as connection, _transaction(connection, "DEFERRED"):
            return _read(connection)

    def entries(self) -> tuple[Entry, ...]:
        """Return all bookings in their order."""
        with self._connection() as connection, _transaction(connection, "DEFERRED"):
            _read(connection)
            return _entries(connection)

    def book_query(self, rho: Rational, label: str = "") -> Booking:
        """Book one answer under ρ-differential identifiability, before it is given.

        Returns
        -------
        Booking
            Its ``bound`` is E = (m - 1)ρ/(1 - ρ), for the mechanism that answers.
        """
        asked = exact(rho, "rho")

        def spend(status: Status) -> _Spending:
            bound = bound_from_rho(asked, status.m)
            check_crowd(asked, status.k)
            return _Spending("query", bound, bound, rho_in_paper=compose_as_in_paper(status.rho, asked, status.m))

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
        :func:`~shoal.identifiability.arithmetic.sampling_delta`. Release and choice are one booking: a choice that
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

    def verify(self) -> Status:
        """Add up all entries anew, and raise if the state is not their sum. Return the status."""
        with self._connection() as connection, _transaction(connection, "DEFERRED"):
            status, entries = _read(connection), _entries(connection)
        base, bound, delta = Fraction(1, status.m), Fraction(1), Fraction(0)
        for entry in entries:
            base = base if entry.base is None else entry.base
            bound, delta = round_up(bound * entry.factor), round_up(delta + entry.delta)
        if (base, bound, delta) != (status.base, status.bound, status.delta):
            raise LedgerUnreadableError(
                "The state of a ledger must be the sum of its entries. It is not: the file was changed by "
                "other means. Take it from a backup, and treat the budget as spent until then."
            )
        return status

    def _book(self, spend: Callable[[Status], _Spending], label: str) -> Booking:
        """Check and write one booking in one transaction; it is on disk when this returns."""
        with self._connection() as connection, _transaction(connection):
            status = _read(connection)
            spending = spend(status)
            base = status.base if spending.base is None else spending.base
            factor = round_up(spending.factor)
            bound = round_up(status.bound * factor)
            delta = round_up(status.delta + spending.delta)
            rho = probability(odds(base) * bound)
            if rho * status.k > 1:
                raise BudgetExceededError(_over_budget(status, rho))
            if delta > status.delta_limit:
                raise DeltaExceededError(
                    f"delta must stay at most {show(status.delta_limit)}, the limit of this ledger. With "
                    f"this booking it would be {show(delta)}. The ledger is unchanged. Use a larger k or a "
                    "smaller beta."
                )
            cursor = connection.execute(
                "INSERT INTO entries (at, kind, label, base, bound, delta, rho_after) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    datetime.now(UTC).isoformat(timespec="milliseconds"),
                    spending.kind,
                    _printable(label),
                    None if spending.base is None else str(spending.base),
                    str(factor),
                    str(spending.delta),
                    str(round_up(rho)),
                ),
            )
            connection.execute(
                "UPDATE state SET base = ?, bound = ?, delta = ?, population_released = ?",
                (str(base), str(bound), str(delta), status.population_released or spending.base is not None),
            )
            number = cursor.lastrowid
        assert number is not None
        return Booking(number, spending.bound, spending.delta, rho, spending.rho_in_paper)

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
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise LedgerBusyError(
                    f"A call waits {self.patience:g} seconds for other processes. They held the ledger for "
                    "longer. Nothing was booked. Try again."
                ) from None
            raise LedgerUnreadableError(
                "The ledger must be a readable and writable SQLite file. SQLite reports "
                f"{error.sqlite_errorname}. Nothing was booked. Check the disk and the permissions of the "
                "file and its directory."
            ) from None
        except sqlite3.DatabaseError as error:
            raise LedgerUnreadableError(
                f"The ledger must be a SQLite file. SQLite reports {error.sqlite_errorname}. Nothing was "
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


def _choice(bound: Rational) -> Fraction:
    """Return the E of a private choice, or raise."""
    factor = exact(bound, "E")
    if factor <= 1:
        raise ParameterError(f"E must be above 1. Got {show(factor)}: nothing can be chosen at that E.")
    return factor


def _printable(text: str) -> str:
    """Replace what cannot be written as UTF-8: arguments of a command line may hold any bytes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _over_budget(status: Status, rho: Fraction) -> str:
    """Say why a booking is refused, and what would still be accepted."""
    remaining = status.remaining_rho
    advice = (
        "Nothing remains: this data set must not be queried any more."
        if remaining is None
        else f"A single query may still ask for rho of at most {float(round_down(remaining)):.6g}."
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


def _read(connection: sqlite3.Connection) -> Status:
    """Return the state of the ledger, or raise if the file is none."""
    identity = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if identity != _APPLICATION_ID or version != _FORMAT:
        raise LedgerUnreadableError(
            f"The file must be a ledger of shoal, format {_FORMAT}. It is "
            + (
                f"one of format {version}. Use the version of shoal that wrote it."
                if identity == _APPLICATION_ID
                else ""
            )
            + ("something else. Check the path." if identity != _APPLICATION_ID else "")
        )
    try:
        name, m, k, delta_limit, base, bound, delta, released = connection.execute(
            "SELECT name, m, k, delta_limit, base, bound, delta, population_released FROM state"
        ).fetchone()
        (entries,) = connection.execute("SELECT count(*) FROM entries").fetchone()
        return Status(
            name,
            m,
            k,
            Fraction(delta_limit),
            Fraction(base),
            Fraction(bound),
            Fraction(delta),
            bool(released),
            entries,
        )
    except (TypeError, ValueError, ZeroDivisionError):
        raise LedgerUnreadableError(
            "The state of a ledger must be one row of numbers. It is not: the file was changed by other "
            "means. Take it from a backup."
        ) from None


def _entries(connection: sqlite3.Connection) -> tuple[Entry, ...]:
    """Return all entries in their order."""
    rows = connection.execute(
        "SELECT number, at, kind, label, base, bound, delta, rho_after FROM entries ORDER BY number"
    )
    return tuple(
        Entry(
            number,
            at,
            kind,
            label,
            None if base is None else Fraction(base),
            Fraction(bound),
            Fraction(delta),
            Fraction(rho_after),
        )
        for number, at, kind, label, base, bound, delta, rho_after in rows
    )
