"""Loss measures for searches: loss of a row per column, and aggregation.

A measure is *by column* where the loss of a row in a column depends only on the level and the published value. Then
the loss of a lattice node, apart from suppressed rows, is known without counting a single group, and it is a lower
bound of the true loss: a suppressed row loses everything. The two others depend on the sizes of groups.

| measure | loss of a row | over columns |
|---|---|---|
| ncp | share of the domain's leaf values that its value covers (ARX's Loss) | sum, mean, maximum, geometric |
| distortion-ratio | levels of generalization | sum over columns, by the sum of heights |
| precision | levels of generalization, by the column's height | mean |
| entropy | log of the frequency of its value (non-uniform entropy) | mean |
| height | levels of the column, suppressed rows or not | sum, by the sum of heights |
| discernibility | the size of its group; all rows if suppressed | |
| average-class-size | rows per group, the suppressed rows being one more group | |

All but the last two are scaled: 0 is the original, 1 is `*` everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.schema import Ladder
from shoal.table import FrequencySet

AggregateName = Literal["sum", "mean", "maximum", "geometric"]
MeasureName = Literal[
    "ncp", "distortion-ratio", "precision", "entropy", "height", "discernibility", "average-class-size",
]  # fmt: skip
AGGREGATES: tuple[str, ...] = get_args(AggregateName)
MEASURES: tuple[str, ...] = get_args(MeasureName)


@dataclass(frozen=True)
class Measure:
    """Measure bound to a table.

    Attributes
    ----------
    rows
        The number of rows of the table.
    cost
        ``cost[a][level][code]``: the loss of a row in column a; empty for the measures by group.
    leaf, top
        float64 (a,): the mean loss of a row that keeps its value, and of a suppressed row.
    weight
        float64 (a,): the weight of each column.
    generalization, suppression
        The factors of kept and suppressed rows.
    """

    name: str
    rows: int
    aggregate: str
    cost: tuple[tuple[npt.NDArray[np.float64], ...], ...]
    leaf: npt.NDArray[np.float64]
    top: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    generalization: float = 1.0
    suppression: float = 1.0

    @property
    def by_column(self) -> bool:
        """Return whether the loss is known from levels and values alone."""
        return self.name not in ("discernibility", "average-class-size")

    def scale(self, sums: npt.NDArray[np.float64], suppressed: npt.NDArray[np.int64] | int) -> npt.NDArray[np.float64]:
        """Return the loss per column (..., a) from summed costs.

        ``sums`` (..., a) are the summed costs of kept rows, ``suppressed`` (...) the numbers of suppressed rows.
        """
        out = np.asarray(suppressed, np.float64)[..., None]
        if self.name == "height":  # all kept rows have the node's levels; suppressed rows do not count
            return np.asarray(sums / np.maximum(self.rows - out, 1))
        mean = (self.generalization * sums + self.suppression * out * self.top) / self.rows
        low = self.generalization * self.leaf
        span = max(self.generalization, self.suppression) * self.top - low
        scaled = np.divide(mean - low, span, out=np.zeros_like(mean), where=span > 0)
        return np.maximum(scaled, 0.0)

    def combine(self, columns: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Aggregate the loss per column (..., a) into one figure."""
        total = self.weight.sum()
        match self.aggregate:
            case "sum":
                return np.asarray((columns * self.weight).sum(axis=-1))
            case "mean":
                return np.asarray((columns * self.weight).sum(axis=-1) / total)
            case "maximum":
                return np.asarray((columns * self.weight).max(axis=-1))
            case _:
                return np.asarray(np.expm1((np.log1p(columns) * self.weight).sum(axis=-1) / total))

    def value(self, sums: npt.NDArray[np.float64], suppressed: int, groups: int, squares: float) -> float:
        """Return the loss of a node.

        The arguments are the summed costs per column of kept rows, the number of suppressed rows, the number of kept
        groups, and the sum of their squared sizes.
        """
        if self.name == "discernibility":
            return squares + float(suppressed) * self.rows
        if self.name == "average-class-size":
            return self.rows / max(groups + (suppressed > 0), 1)
        return float(self.combine(self.scale(sums, suppressed)))

    def floor(self, groups: int, squares: float) -> float:
        """Return a lower bound of the loss of a node and all nodes above it.

        It is for the measures by group; ``groups`` and ``squares`` are over all groups of the node.
        """
        return squares if self.name == "discernibility" else self.rows / max(groups, 1)


def make_measure(
    name: str,
    frequencies: FrequencySet,
    ladders: Sequence[Ladder],
    *,
    weights: Mapping[str, float] | None = None,
    gs: float = 0.5,
    aggregate: str | None = None,
) -> Measure:
    """Bind a measure to a table.

    ``gs`` shifts the balance: at 0 suppressed rows cost nothing, at 1 generalized ones. Cost: the distinct values
    times the levels.
    """
    if name not in MEASURES:
        raise PlanError("method.unknown-loss", allowed=", ".join(MEASURES), found=name)
    if aggregate is not None and aggregate not in AGGREGATES:
        raise PlanError("method.unknown-aggregate", allowed=", ".join(AGGREGATES), found=aggregate)
    heights = np.asarray([ladder.height for ladder in ladders], np.float64)
    given = np.asarray([float((weights or {}).get(part.name, 1.0)) for part in frequencies.quasi])
    leaf_counts = [
        np.bincount(frequencies.codes[:, a], weights=frequencies.count, minlength=len(ladder.codes[0]))
        for a, ladder in enumerate(ladders)
    ]
    rows = frequencies.rows
    cost: list[tuple[npt.NDArray[np.float64], ...]] = []
    for ladder, counts in zip(ladders, leaf_counts, strict=True):
        per_level = []
        for level in range(ladder.height + 1):
            if name == "ncp":
                per_level.append(ladder.share[level])
            elif name == "entropy":
                rows_by_label = np.bincount(ladder.codes[level], weights=counts, minlength=ladder.size(level))
                per_level.append(np.log2(np.maximum(rows_by_label, 1)))
            else:
                per_level.append(np.full(ladder.size(level), level / ladder.height))
        cost.append(tuple(per_level))
    leaf = np.asarray(
        [
            (counts * parts[0][ladder.codes[0]]).sum() / rows
            for ladder, counts, parts in zip(ladders, leaf_counts, cost, strict=True)
        ]
    )
    if name == "ncp":  # the domain may be larger than the data, so the smallest share is the leaf's
        leaf = np.asarray([ladder.share[0].min() for ladder in ladders])
    top = np.asarray([parts[-1].max() for parts in cost])
    weight = given * heights if name in ("distortion-ratio", "height") else given
    default = "geometric" if name == "ncp" else "mean"
    generalization = 1.0 if gs <= 0.5 else 2 * (1 - gs)
    suppression = 1.0 if gs >= 0.5 else 2 * gs
    return Measure(name, rows, aggregate or default, tuple(cost), leaf, top, weight, generalization, suppression)
