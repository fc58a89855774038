"""Rules of a plan's models, bound to a table's sensitive columns.

All searches in compiled code use these rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import Rules, columns_of, make_rules
from shoal.models import AllOf
from shoal.schema import Domain


@dataclass(frozen=True)
class BoundRules:
    """Rules as arrays; ``used`` are the positions of their sensitive columns."""

    rules: Rules
    used: tuple[int, ...]

    def columns(self, secrets: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return the rules' columns of sensitive codes.

        int32 (n, used) from int32 (n, s); -1 is missing.
        """
        return columns_of(secrets[:, list(self.used)], self.rules)


def count_sensitive_values(
    domains: Sequence[Domain], secrets: npt.NDArray[np.int32], count: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], ...]:
    """Count the rows of each value of each sensitive column: int64 (values,)."""
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
    all_columns: bool = False,
) -> BoundRules:
    """Express the models as rules on the sensitive columns.

    ``totals`` are the table's counts of the columns' values; ``least`` is the minimum group size. Columns without a
    rule
    take part only with ``all_columns``: annealing proposes swaps along them.
    """
    rules = [bound for part in model.parts for bound in part.bound_rules(domains, totals)]
    used = list(range(len(domains))) if all_columns else sorted({position for position, _ in rules})
    bound = [(used.index(position), rule) for position, rule in rules]
    made = make_rules(model.least if least is None else least, [totals[position] for position in used], bound)
    return BoundRules(made, tuple(used))
