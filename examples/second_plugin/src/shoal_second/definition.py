"""Second definition of the model: one group at a time, in fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from shoal.plugins import Definition, Figure

Verdict = tuple[bool, tuple[float, ...]]
"""Whether a group holds, and its figures."""


def _evaluate_breaches(model: Any, column: Any) -> Callable[[int, tuple[tuple[int, int], ...]], Verdict]:
    rho1, rho2 = Fraction(str(model.rho1)), Fraction(str(model.rho2))
    rows = sum(int(count) for count in column.total)

    def evaluate(size: int, value_counts: tuple[tuple[int, int], ...]) -> Verdict:
        counts = {int(value): int(count) for value, count in value_counts}
        known = sum(counts.values())
        if known == 0:
            return False, (1.0,)
        posteriors = [
            Fraction(count, known)
            for value, count in counts.items()
            if Fraction(int(column.total[value]), rows) <= rho1
        ]
        return all(share < rho2 for share in posteriors), (float(max(posteriors, default=Fraction(0))),)

    return evaluate


BREACH_DEFINITION = Definition(lambda model: (Figure("rho2", at_least=False, strict=True),), _evaluate_breaches)
