"""Noisy queries: booked in the ledger, then computed, then answered.

The data is touched only after the booking is on disk: the exact figure comes from a function that is called
then. A refused query raises, and nothing is computed. So this module cannot give an answer that is not booked.

Source: Lee and Clifton, Differential identifiability, KDD 2012, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shoal.budget.arithmetic import Rational, check_integer, epsilon, format_fraction, round_up
from shoal.budget.errors import ParameterError
from shoal.budget.ledger import Booking, Ledger
from shoal.budget.mechanisms import (
    Span,
    best_of,
    calibrate,
    half_width,
    noisy_count,
    noisy_histogram,
    noisy_mean,
    noisy_sum,
)
from shoal.budget.sampling import RandomBits, SystemSource

_CONFIDENCE = Fraction(19, 20)


@dataclass(frozen=True)
class Answer:
    """An answer with noise, and its booking.

    Attributes
    ----------
    kind
        ``count``, ``sum``, ``mean``, ``histogram`` or ``best-of``.
    values
        The answer: one number; for a histogram one for each cell; for best-of the chosen position.
    half_width
        With a probability of 95 % each number is at most this far from the exact one; None for best-of.
    booking
        The entry in the ledger, with E and the ρ after it.
    """

    kind: str
    values: tuple[Fraction, ...]
    half_width: Fraction | None
    booking: Booking

    def to_dict(self) -> dict[str, object]:
        """Return the answer as plain values for JSON."""
        numbers = [int(value) if value.denominator == 1 else float(value) for value in self.values]
        return {
            "kind": self.kind,
            "answer": numbers if self.kind == "histogram" else numbers[0],
            "half_width_95": None if self.half_width is None else float(self.half_width),
            "E": float(self.booking.bound**self.booking.rows),
            "epsilon": epsilon(self.booking.bound**self.booking.rows),
            "rows_per_person": self.booking.rows,
            "entry": self.booking.number,
            "head": self.booking.head,
            "rho_spent": float(self.booking.rho),
            "rho_spent_exact": str(round_up(self.booking.rho)),
            "rho_in_paper": None if self.booking.rho_in_paper is None else float(self.booking.rho_in_paper),
        }


def ask_count(
    ledger: Ledger,
    rho: Rational,
    count: Callable[[], int],
    label: str = "",
    source: RandomBits | None = None,
    rows_per_person: int = 1,
) -> Answer:
    """Answer a count of the rows that meet a condition.

    Parameters
    ----------
    ledger
        The ledger of the data set.
    rho
        The ρ of this one answer alone, for one row; more than 1/m.
    count
        Computes the exact count; called after the booking.
    label
        Written into the ledger.
    source
        The source of random bits; the operating system by default.
    rows_per_person
        The largest number of rows that one person can have: E to that power is booked, here and below.

    Examples
    --------
    >>> import tempfile
    >>> directory = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(directory.name + "/patients.ledger", m=1000, k=5)
    >>> answer = ask_count(ledger, "1/100", lambda: 42, label="smokers")
    >>> answer.half_width, answer.booking.rho
    (Fraction(1, 1), Fraction(1, 100))
    >>> directory.cleanup()
    """
    booking = ledger.book_query(rho, label, rows_per_person)
    value = noisy_count(count(), booking.bound, source or SystemSource())
    return Answer("count", (Fraction(value),), Fraction(_half_width(booking, 1)), booking)


def ask_sum(
    ledger: Ledger,
    rho: Rational,
    total: Callable[[], int],
    span: Span,
    label: str = "",
    source: RandomBits | None = None,
    rows_per_person: int = 1,
    *,
    filtered: bool,
) -> Answer:
    """Answer the sum of a column, clipped to a public range.

    ``total`` computes the sum in steps of the span.

    Parameters
    ----------
    filtered
        Whether the sum is over the rows that meet a condition only; see :meth:`Span.sensitivity`. If a person can have
        several rows, their number is not public either, and the sum is treated as filtered.
    """
    filtered = filtered or rows_per_person > 1
    booking = ledger.book_query(rho, label, rows_per_person)
    value = noisy_sum(total(), span, booking.bound, source or SystemSource(), filtered=filtered)
    return Answer("sum", (value,), span.step * _half_width(booking, span.sensitivity(filtered)), booking)


def ask_mean(
    ledger: Ledger,
    rho: Rational,
    total: Callable[[], int],
    rows: int,
    span: Span,
    label: str = "",
    source: RandomBits | None = None,
) -> Answer:
    """Answer the mean of a column over all rows, one row per person.

    The number of rows is public.
    """
    rows = check_integer(rows, "rows", 1)
    booking = ledger.book_query(rho, label)
    value = noisy_mean(total(), rows, span, booking.bound, source or SystemSource())
    return Answer("mean", (value,), span.step * _half_width(booking, span.sensitivity(False)) / rows, booking)


def ask_histogram(
    ledger: Ledger,
    rho: Rational,
    cells: int,
    counts: Callable[[], Sequence[int]],
    label: str = "",
    source: RandomBits | None = None,
    rows_per_person: int = 1,
) -> Answer:
    """Answer the counts of declared cells; a row lies in one cell at most."""
    cells = check_integer(cells, "cells", 1)
    booking = ledger.book_query(rho, label, rows_per_person)
    values = noisy_histogram(_check_length(cells, counts()), booking.bound, source or SystemSource())
    return Answer("histogram", tuple(map(Fraction, values)), Fraction(_half_width(booking, 2)), booking)


def ask_best_of(
    ledger: Ledger,
    rho: Rational,
    candidates: int,
    scores: Callable[[], Sequence[int]],
    sensitivity: int,
    label: str = "",
    source: RandomBits | None = None,
    rows_per_person: int = 1,
) -> Answer:
    """Answer the position of the declared candidate with the best score.

    Parameters
    ----------
    candidates
        The number of candidates; public.
    scores
        Computes a whole number for each; larger is better.
    sensitivity
        The largest change of one score when one individual is replaced; 1 if the scores are counts.
    """
    candidates, sensitivity = check_integer(candidates, "candidates", 1), check_integer(sensitivity, "sensitivity", 1)
    booking = ledger.book_query(rho, label, rows_per_person)
    chosen = best_of(_check_length(candidates, scores()), sensitivity, booking.bound, source or SystemSource())
    return Answer("best-of", (Fraction(chosen),), None, booking)


def _check_length(size: int, values: Sequence[int]) -> Sequence[int]:
    """Return the values if there is one for each declared cell, or raise.

    The length of an answer must not reveal anything about the data.
    """
    if len(values) != size:
        raise ParameterError("budget.numbers-not-as-declared", declared=format_fraction(Fraction(size)))
    return values


def _half_width(booking: Booking, sensitivity: int) -> int:
    """Return the half width of the 95 % interval of this booking's noise."""
    return half_width(calibrate(booking.bound, sensitivity), _CONFIDENCE)
