"""The hash chain over a ledger's terms, entries and running totals.

The head of an empty ledger is the SHA-256 of its terms and of a random salt. The salt keeps heads from revealing the
terms, and no two ledgers share a head. The head of each entry is the SHA-256 of the first head, of the previous head,
and of all fields of the entry, including the totals after it. So the last head commits to everything that was ever
booked. Checking the totals takes the last two entries only, however many there are (:func:`check_last_entries`);
checking the history takes every entry (:func:`check_all_entries`).

The chain has no key. Someone who rewrites the whole file can make it consistent, or restore an old copy. A head that
was recorded elsewhere detects both.

Values come from a file that anyone may have edited. A value of the wrong kind is an error of the ledger, not a crash.
Only the standard library is imported, as in the ledger.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from shoal.budget.arithmetic import odds, probability, round_up
from shoal.budget.errors import LedgerUnreadableError
from shoal.runtime.lazy_dataclass import dataclass

_NUMBER = re.compile(r"[0-9]{1,2000}(/[0-9]{1,2000})?")  # round_up keeps what is written far shorter
_HEAD = re.compile(r"[0-9a-f]{64}")
_MAX_INTEGER = 2**63 - 1


def damage_error(found: str) -> LedgerUnreadableError:
    """Return the error for a ledger that was changed outside its bookings."""
    return LedgerUnreadableError(
        f"A ledger must be as its bookings left it. {found}: the file was changed by other means. Nothing was booked. "
        "Take it from a backup, and treat the budget as spent until then."
    )


@dataclass(frozen=True)
class Terms:
    """The declared terms of a ledger, and a random salt."""

    salt: str
    name: str
    m: int
    k: int
    delta_limit: Fraction

    @classmethod
    def read(cls, salt: object, name: object, m: object, k: object, delta_limit: object) -> Terms:
        """Check terms as read from the file."""
        terms = cls(_text(salt), _text(name), _whole(m), _whole(k), _fraction(delta_limit))
        if not (2 <= terms.k < terms.m and terms.delta_limit < 1):
            raise damage_error("Its m, k and limit of delta cannot have been declared so")
        return terms

    @property
    def head(self) -> str:
        """The first head."""
        return _digest("terms", self.salt, self.name, self.m, self.k, str(self.delta_limit))


@dataclass(frozen=True)
class Totals:
    """The totals of all bookings so far; ρ = p(odds(base) · E)."""

    entries: int
    base: Fraction
    bound: Fraction
    delta: Fraction
    released: bool

    @classmethod
    def empty(cls, terms: Terms) -> Totals:
        """Return the totals of a ledger without entries."""
        return cls(0, Fraction(1, terms.m), Fraction(1), Fraction(0), False)

    @classmethod
    def read(cls, entries: object, base: object, bound: object, delta: object, released: object) -> Totals:
        """Check totals as read from the file."""
        totals = cls(_whole(entries), _fraction(base), _fraction(bound), _fraction(delta), _flag(released))
        if not (0 < totals.base < 1 <= totals.bound and totals.delta < 1):
            raise damage_error("Its totals cannot come from bookings")
        return totals

    def written(self) -> tuple[int, str, str, str, int]:
        """Return the totals as they are written to the file and hashed."""
        return self.entries, str(self.base), str(self.bound), str(self.delta), int(self.released)

    @property
    def rho(self) -> Fraction:
        """ρ of everything booked."""
        return probability(odds(self.base) * self.bound)

    def after(self, base: Fraction | None, factor: Fraction, delta: Fraction) -> Totals:
        """Return the totals after one more booking.

        Only a population release has a new base.
        """
        return Totals(
            self.entries + 1,
            self.base if base is None else base,
            round_up(self.bound * factor),
            round_up(self.delta + delta),
            self.released or base is not None,
        )


@dataclass(frozen=True)
class Entry:
    """One entry of the ledger, with the totals after it and its head.

    ``factor`` is the factor on E; only a population release has a ``base``.
    """

    at: str
    kind: str
    label: str
    base: Fraction | None
    factor: Fraction
    delta: Fraction
    totals: Totals
    head: str = ""

    @classmethod
    def read(cls, row: Sequence[object]) -> Entry:
        """Check an entry as read from the file, ordered as in :meth:`written`."""
        entries, at, kind, label, base, factor, delta, rho, total_base, total_bound, total_delta, released, head = row
        totals = Totals.read(entries, total_base, total_bound, total_delta, released)
        entry = cls(
            _text(at),
            _text(kind),
            _text(label),
            None if base is None else _fraction(base),
            _fraction(factor),
            _fraction(delta),
            totals,
            _text(head),
        )
        if _fraction(rho) != entry.rho_after:
            raise damage_error("An entry tells another rho than its totals")
        return entry

    @property
    def number(self) -> int:
        """The number of the entry, from 1."""
        return self.totals.entries

    @property
    def rho_after(self) -> Fraction:
        """ρ of everything booked up to here, rounded up if it is long."""
        return round_up(self.totals.rho)

    def written(self) -> tuple[object, ...]:
        """Return the entry as a row of the file.

        The row has the number, the fields, the totals and the head.
        """
        number, *totals = self.totals.written()
        base = None if self.base is None else str(self.base)
        fields = (self.at, self.kind, self.label, base, str(self.factor), str(self.delta), str(self.rho_after))
        return (number, *fields, *totals, self.head)

    def compute_head(self, first: str, before: str) -> str:
        """Return the head of this entry, from the first and the previous head."""
        return _digest("entry", first, before, *self.written()[:-1])


def check_last_entries(terms: Terms, totals: Totals, head: str, last: Sequence[Entry], highest_number: int) -> None:
    """Raise unless the last entry matches the totals and the head.

    The last entry must also follow from the one before it.

    Parameters
    ----------
    last
        The last two entries or fewer, in their order.
    highest_number
        The number of entries that the file has ever had.
    """
    if not _HEAD.fullmatch(head):
        raise damage_error("Its head is none")
    if highest_number != totals.entries or len(last) != min(totals.entries, 2):
        raise damage_error("Its number of entries is not that of its bookings")
    known = Totals.empty(terms), terms.head
    if len(last) == 2:
        known = last[0].totals, last[0].head
    _check_step(terms, *known, last[-1:], totals, head)


def check_all_entries(terms: Terms, totals: Totals, head: str, entries: Iterable[Entry]) -> None:
    """Raise unless all entries lead to these totals and this head."""
    _check_step(terms, Totals.empty(terms), terms.head, entries, totals, head)


def _check_step(terms: Terms, known: Totals, before: str, entries: Iterable[Entry], totals: Totals, head: str) -> None:
    """Raise unless the entries lead from known totals to the state."""
    first = terms.head
    for entry in entries:
        if entry.factor < 1 or (entry.base is not None and (known.released or not 0 < entry.base < 1)):
            raise damage_error("An entry cannot have been booked so")
        if entry.totals != known.after(entry.base, entry.factor, entry.delta):
            raise damage_error("The totals of an entry are not those before it and its own")
        if entry.head != entry.compute_head(first, before):
            raise damage_error("An entry, or what was declared, is not what its head says")
        known, before = entry.totals, entry.head
    if (known, before) != (totals, head):
        raise damage_error("Its state is not the sum of its entries")


def _digest(*fields: object) -> str:
    return hashlib.sha256(json.dumps(["shoal ledger 2", *fields]).encode()).hexdigest()


def _text(value: object) -> str:
    if type(value) is not str:
        raise damage_error("It has something else in the place of a text")
    return value


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_INTEGER:
        raise damage_error("It has something else in the place of a whole number")
    return value


def _flag(value: object) -> bool:
    if value not in (0, 1) or type(value) is not int:
        raise damage_error("It has something else in the place of a yes or no")
    return bool(value)


def _fraction(value: object) -> Fraction:
    if type(value) is not str or not _NUMBER.fullmatch(value):
        raise damage_error("It has something else in the place of a number")
    try:
        number = Fraction(value)
    except ZeroDivisionError:
        raise damage_error("It has something else in the place of a number") from None
    if str(number) != value:
        raise damage_error("It has a number that is not written as a booking writes it")
    return number
