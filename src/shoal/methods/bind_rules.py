"""The rules of a plan's models bound to a table's sensitive columns, for every search that compiled code does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import Rules, columns_of, make_rules
from shoal.models import AllOf
from shoal.schema import Domain

__all__ = ["BoundRules", "bind_rules", "totals_of"]


@dataclass(frozen=True)
class BoundRules:
    """Rules as arrays; ``used`` are the places of the sensitive columns that take part."""

    rules: Rules
    used: tuple[int, ...]

    def columns(self, secrets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The rules' columns of sensitive codes, int32 (n, used) of int32 (n, s); -1 is missing."""
        return columns_of(secrets[:, list(self.used)], self.rules)


def totals_of(
    domains: Sequence[Domain], secrets: npt.NDArray[np.int32], count: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], ...]:
    """Of each sensitive column, how many rows have each value, int64 (values,)."""
    return tuple(
        np.bincount(code[code >= 0], weights=count[code >= 0], minlength=domain.size).astype(np.int64)
        for code, domain in zip(secrets.T, domains, strict=True)
    )


def bind_rules(
    model: AllOf,
    domains: tuple[Domain, ...],
    totals: Sequence[npt.NDArray[np.int64]],
    least: int | None = None,
    *,
    every: bool = False,
) -> BoundRules:
    """The models as rules on columns of which ``totals`` are the table's counts; ``least`` is the smallest group.

    Columns without a rule take part only where ``every`` one is wanted: annealing proposes exchanges along them.
    """
    rules = [bound for part in model.parts for bound in part.bound_rules(domains, totals)]
    used = list(range(len(domains))) if every else sorted({place for place, _ in rules})
    bound = [(used.index(place), rule) for place, rule in rules]
    made = make_rules(model.least if least is None else least, [totals[place] for place in used], bound)
    return BoundRules(made, tuple(used))
