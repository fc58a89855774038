"""A model on one sensitive column as rules: what compiled searches ask of a group while it grows and changes.

A model says its rules itself (:meth:`shoal.models.base.SensitiveModel.rules`), and one compiled rule set evaluates them
for every search (:mod:`shoal.kernels.rules`). All rules of a model must hold:

| rule | holds where |
|---|---|
| DISTINCT | at least `whole` different values |
| CATEGORIES | values of at least `whole` different labels; the label -1 counts for nothing |
| WEIGHT | the labels of all known rows add up to at least `whole` |
| ENTROPY | the entropy of the known values is at least log(`real`) |
| RECURSIVE | r1 < `real` (r_l + r_(l+1) + ...), l = `whole`, counts r falling |
| SHARE | no value has a larger share than `real` |
| EQUAL, ORDERED, HIERARCHICAL | the earth mover's distance to the table is at most `real` |
| DISCLOSURE | |log(share / share in the table)| < `real`; `whole` = 1 asks for every value of the table |
| LIKENESS | share / share in the table - 1 <= `real`; `whole` = 1 takes the smaller of that and -log(share) |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "AGAINST_THE_TABLE", "CATEGORIES", "DISCLOSURE", "DISTINCT", "ENTROPY", "EQUAL", "HIERARCHICAL", "LIKENESS",
    "ORDERED", "RECURSIVE", "SHARE", "WEIGHT", "Rule",
]  # fmt: skip

DISTINCT, CATEGORIES, WEIGHT, ENTROPY, RECURSIVE, SHARE, EQUAL, ORDERED, HIERARCHICAL, DISCLOSURE, LIKENESS = range(11)
AGAINST_THE_TABLE = EQUAL
"""This kind and all after it compare a group with the table."""


@dataclass(frozen=True)
class Rule:
    """One condition on one sensitive column.

    Attributes
    ----------
    kind, whole, real
        As in the table above.
    labels
        int64 (values,): category, weight, place in the order or leaf of the tree of each value.
    lines
        int64, what else the rule needs. ORDERED: rows of the table up to each place, then their running sums (places,
        places + 1). HIERARCHICAL: parent (-1 for the root), level and rows of the table of each node (3 × nodes).
    """

    kind: int
    whole: int = 0
    real: float = 0.0
    labels: npt.NDArray[np.int64] | None = None
    lines: npt.NDArray[np.int64] | None = None
