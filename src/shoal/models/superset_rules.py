"""The part of a model that every superset of a group meets.

A lower bound on the loss of any grouping examines sets of rows that may contain a group (docs/bounds.md). A set that
fails this part contains none. Sizes, distinct values, categories and weights are closed under superset as they are.
The other models imply a minimum number of distinct values:

* entropy l: ⌈l⌉, for the entropy of n values is at most log n; recursive (c, l): l, for there must be an l-th value;
* a largest share α: ⌈1/α⌉;
* against the table's distribution q, if no row is suppressed, so that q is the released one: the values of a group
  must have a share in the table of at least 1 - t (t-closeness with equal distances), e^-δ (δ-disclosure; with
  absent = "fails" all values) or, weighted by 1 + min(β, -ln q), of 1 (β-likeness): the number of the most frequent
  values that reach it.

Ordered and hierarchical t-closeness imply nothing here.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shoal.table.rules import (
    CATEGORIES,
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    EQUAL,
    LIKENESS,
    RECURSIVE,
    SHARE,
    WEIGHT,
    Rule,
)

FLOAT_MARGIN = 1e-9
"""Margin around a whole number within which the smaller requirement is used."""


def superset_part(rule: Rule, totals: npt.NDArray[np.int64], *, whole: bool) -> Rule | None:
    """Return the part of a rule that is closed under superset, if any.

    The result is a rule itself; None if there is none. ``totals`` are the table's counts of each value, and ``whole``
    states that no row is suppressed.

    >>> superset_part(Rule(SHARE, real=0.4), np.asarray([5, 5]), whole=False).whole
    3
    """
    values = 1
    if rule.kind in (DISTINCT, CATEGORIES, WEIGHT):
        return rule
    if rule.kind == ENTROPY:
        values = math.ceil(rule.real * (1 - FLOAT_MARGIN))
    elif rule.kind == RECURSIVE:
        values = rule.whole
    elif rule.kind == SHARE and rule.real > 0:
        values = math.ceil((1 - FLOAT_MARGIN) / rule.real)
    elif whole and totals.sum() > 0:
        share = np.sort(totals[totals > 0] / totals.sum())[::-1]
        if rule.kind == EQUAL:
            values = _count_to_reach(share, 1 - rule.real)
        elif rule.kind == DISCLOSURE:
            values = len(share) if rule.whole else _count_to_reach(share, math.exp(-rule.real))
        elif rule.kind == LIKENESS:
            gain = np.minimum(rule.real, -np.log(share)) if rule.whole else np.full(len(share), rule.real)
            values = _count_to_reach(np.sort(share * (1 + gain))[::-1], 1.0)
    return Rule(DISTINCT, values) if values > 1 else None


def _count_to_reach(share: npt.NDArray[np.float64], least: float) -> int:
    """Return how many of the shares, the largest first, add up to ``least``."""
    return int(np.count_nonzero(np.cumsum(share) < least * (1 - FLOAT_MARGIN))) + 1
