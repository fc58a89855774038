"""Rules: a model on one sensitive column, in a form for compiled searches.

A model defines its rules itself (:meth:`shoal.models.base.SensitiveModel.rules`), and one compiled rule set evaluates
them for every search (:mod:`shoal.kernels.rules`). All rules of a model must hold:

| rule | holds where |
|---|---|
| DISTINCT | at least `whole` different values |
| CATEGORIES | values of at least `whole` different labels; the label -1 does not count |
| WEIGHT | the labels of all known rows add up to at least `whole` |
| ENTROPY | the entropy of the known values is at least log(`real`) |
| RECURSIVE | r1 < `real` (r_l + r_(l+1) + ...), l = `whole`, counts r falling |
| SHARE | no value has a larger share than `real` |
| EQUAL, ORDERED, HIERARCHICAL | the earth mover's distance to the table is at most `real` |
| DISCLOSURE | |log(share / share in the table)| < `real`; `whole` = 1 requires every value of the table |
| LIKENESS | share / share in the table - 1 <= `real`; `whole` = 1 uses the smaller of that and -log(share) |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DISTINCT, CATEGORIES, WEIGHT, ENTROPY, RECURSIVE, SHARE, EQUAL, ORDERED, HIERARCHICAL, DISCLOSURE, LIKENESS = range(11)
FIRST_TABLE_COMPARISON = EQUAL
"""This kind and all after it compare a group with the table."""


@dataclass(frozen=True)
class Rule:
    """One condition on one sensitive column.

    Attributes
    ----------
    kind, whole, real
        As in the table above.
    labels
        int64 (values,): category, weight, rank in the order or leaf of the tree of each value.
    rule_data
        int64, further data of the rule. ORDERED: rows of the table up to each rank, then their running sums (ranks,
        ranks + 1). HIERARCHICAL: parent (-1 for the root), level and rows of the table of each node (3 × nodes).
    """

    kind: int
    whole: int = 0
    real: float = 0.0
    labels: npt.NDArray[np.int64] | None = None
    rule_data: npt.NDArray[np.int64] | None = None
