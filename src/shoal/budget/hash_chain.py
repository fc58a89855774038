"""The chain that binds a ledger together: every declared term, every entry and every running total.

The head of an empty ledger is the SHA-256 of its terms (and of a random salt, so that heads tell nothing and no two
ledgers share one). Each entry has a head of its own: the SHA-256 of the first head, of the head before it, and of all
of its fields, among them the totals after it. So the last head stands for all that was ever booked. To trust the
totals it is enough to look at the last two entries, however many there are (:func:`check_end`); to trust the history,
every entry is gone through (:func:`check_walk`).

No key is involved. Someone who rewrites the whole file can make it agree with itself, or put an old copy back; a head
that was noted elsewhere shows it.

Values come from a file that anyone may have edited: what is no number of the right kind is an error of the ledger, not
a fault. The standard library alone is imported, as in the ledger.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.budget.arithmetic import odds, probability, round_up
from shoal.budget.errors import LedgerUnreadableError

__all__ = ["Entry", "Terms", "Totals", "check_end", "check_walk", "damaged"]

_NUMBER = re.compile(r"[0-9]{1,2000}(/[0-9]{1,2000})?")  # round_up keeps what is written far shorter
_HEAD = re.compile(r"[0-9a-f]{64}")
_LARGEST = 2**63 - 1


def damaged(found: str) -> LedgerUnreadableError:
    """The error for a ledger that is not as its bookings left it."""
    return LedgerUnreadableError(
        f"A ledger must be as its bookings left it. {found}: the file was changed by other means. Nothing was booked. "
        "Take it from a backup, and treat the budget as spent until then."
    )


@dataclass(frozen=True)
class Terms:
    """What was declared when the ledger was made, and a random salt."""

    salt: str
    name: str
    m: int
    k: int
    delta_limit: Fraction

    @classmethod
    def read(cls, salt: object, name: object, m: object, k: object, delta_limit: object) -> Terms:
        """Check the terms as they stand in the file."""
        terms = cls(_text(salt), _text(name), _whole(m), _whole(k), _fraction(delta_limit))
        if not (2 <= terms.k < terms.m and terms.delta_limit < 1):
            raise damaged("Its m, k and limit of delta cannot have been declared so")
        return terms

    @property
    def head(self) -> str:
        """The first head."""
        return _digest("terms", self.salt, self.name, self.m, self.k, str(self.delta_limit))


@dataclass(frozen=True)
class Totals:
    """What all bookings so far come to; ρ = p(odds(base) · E)."""

    entries: int
    base: Fraction
    bound: Fraction
    delta: Fraction
    released: bool

    @classmethod
    def none(cls, terms: Terms) -> Totals:
        """The totals of a ledger without entries."""
        return cls(0, Fraction(1, terms.m), Fraction(1), Fraction(0), False)

    @classmethod
    def read(cls, entries: object, base: object, bound: object, delta: object, released: object) -> Totals:
        """Check totals as they stand in the file."""
        totals = cls(_whole(entries), _fraction(base), _fraction(bound), _fraction(delta), _flag(released))
        if not (0 < totals.base < 1 <= totals.bound and totals.delta < 1):
            raise damaged("Its totals cannot come from bookings")
        return totals

    def written(self) -> tuple[int, str, str, str, int]:
        """The totals as they are written to the file, and hashed."""
        return self.entries, str(self.base), str(self.bound), str(self.delta), int(self.released)

    @property
    def rho(self) -> Fraction:
        """ρ of everything booked."""
        return probability(odds(self.base) * self.bound)

    def after(self, base: Fraction | None, factor: Fraction, delta: Fraction) -> Totals:
        """The totals after one more booking; a new base is that of a population release."""
        return Totals(
            self.entries + 1,
            self.base if base is None else base,
            round_up(self.bound * factor),
            round_up(self.delta + delta),
            self.released or base is not None,
        )


@dataclass(frozen=True)
class Entry:
    """One line of the ledger: what was booked, when, the totals after it, and its head.

    ``factor`` is what E was multiplied by; ``base`` is there for a population release alone.
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
        """Check an entry as it stands in the file, in the order of :meth:`written`."""
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
            raise damaged("An entry tells another rho than its totals")
        return entry

    @property
    def number(self) -> int:
        """The number of the entry, from 1."""
        return self.totals.entries

    @property
    def rho_after(self) -> Fraction:
        """ρ of everything booked up to here, rounded up where it is long."""
        return round_up(self.totals.rho)

    def written(self) -> tuple[object, ...]:
        """The entry as it is written to the file: its number, its fields, the totals, and its head."""
        number, *totals = self.totals.written()
        base = None if self.base is None else str(self.base)
        fields = (self.at, self.kind, self.label, base, str(self.factor), str(self.delta), str(self.rho_after))
        return (number, *fields, *totals, self.head)

    def sealed(self, first: str, before: str) -> str:
        """The head of this entry after the head before it, in the ledger with this first head."""
        return _digest("entry", first, before, *self.written()[:-1])


def check_end(terms: Terms, totals: Totals, head: str, last: Sequence[Entry], ever: int) -> None:
    """Raise unless the totals and the head are those of the last entry, and it fits the one before it.

    Parameters
    ----------
    last
        The last two entries or fewer, in their order.
    ever
        How many entries the file has ever had.
    """
    if not _HEAD.fullmatch(head):
        raise damaged("Its head is none")
    if ever != totals.entries or len(last) != min(totals.entries, 2):
        raise damaged("Its number of entries is not that of its bookings")
    known = Totals.none(terms), terms.head
    if len(last) == 2:
        known = last[0].totals, last[0].head
    _check_step(terms, *known, last[-1:], totals, head)


def check_walk(terms: Terms, totals: Totals, head: str, entries: Iterable[Entry]) -> None:
    """Raise unless all entries, from the first, lead to these totals and this head."""
    _check_step(terms, Totals.none(terms), terms.head, entries, totals, head)


def _check_step(terms: Terms, known: Totals, before: str, entries: Iterable[Entry], totals: Totals, head: str) -> None:
    """Follow entries from totals and a head that are known to those of the state."""
    first = terms.head
    for entry in entries:
        if entry.factor < 1 or (entry.base is not None and (known.released or not 0 < entry.base < 1)):
            raise damaged("An entry cannot have been booked so")
        if entry.totals != known.after(entry.base, entry.factor, entry.delta):
            raise damaged("The totals of an entry are not those before it and its own")
        if entry.head != entry.sealed(first, before):
            raise damaged("An entry, or what was declared, is not what its head says")
        known, before = entry.totals, entry.head
    if (known, before) != (totals, head):
        raise damaged("Its state is not the sum of its entries")


def _digest(*fields: object) -> str:
    return hashlib.sha256(json.dumps(["shoal ledger 2", *fields]).encode()).hexdigest()


def _text(value: object) -> str:
    if type(value) is not str:
        raise damaged("It has something else in the place of a text")
    return value


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise damaged("It has something else in the place of a whole number")
    return value


def _flag(value: object) -> bool:
    if value not in (0, 1) or type(value) is not int:
        raise damaged("It has something else in the place of a yes or no")
    return bool(value)


def _fraction(value: object) -> Fraction:
    if type(value) is not str or not _NUMBER.fullmatch(value):
        raise damaged("It has something else in the place of a number")
    try:
        number = Fraction(value)
    except ZeroDivisionError:
        raise damaged("It has something else in the place of a number") from None
    if str(number) != value:
        raise damaged("It has a number that is not written as a booking writes it")
    return number
