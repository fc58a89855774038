"""What of a model survives the union with any rows: the part that a larger set of rows keeps from a group inside it.

A bound on what any grouping must lose looks at sets of rows that may hold a group somewhere inside (docs/bounds.md). A
set that lacks this part holds none. Sizes, different values, categories and weights survive as they are. Of the others
follows how many different values a group must have:

* entropy l: ⌈l⌉, for the entropy of n values is at most log n; recursive (c, l): l, for there must be an l-th value;
* a largest share α: ⌈1/α⌉;
* against the table's distribution q, where no row is left out, so that it is the released one: the values that a group
  holds must have a share in the table of at least 1 - t (t-closeness with equal distances), e^-δ (δ-disclosure; with
  absent = "fails" all values) or, weighted by 1 + min(β, -ln q), of 1 (β-likeness): so many as the commonest need.

Ordered and hierarchical t-closeness are taken for nothing.
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

__all__ = ["absorbing_part"]

NEAR = 1e-9
"""A figure this close to a whole number may be that number: then the smaller demand is made."""


def absorbing_part(rule: Rule, totals: npt.NDArray[np.int64], *, whole: bool) -> Rule | None:
    """The part of a rule that survives any union, itself a rule; None where there is none.

    ``totals`` are the table's counts of each value, and ``whole`` tells that no row is left out.

    >>> absorbing_part(Rule(SHARE, real=0.4), np.asarray([5, 5]), whole=False).whole
    3
    """
    values = 1
    if rule.kind in (DISTINCT, CATEGORIES, WEIGHT):
        return rule
    if rule.kind == ENTROPY:
        values = math.ceil(rule.real * (1 - NEAR))
    elif rule.kind == RECURSIVE:
        values = rule.whole
    elif rule.kind == SHARE and rule.real > 0:
        values = math.ceil((1 - NEAR) / rule.real)
    elif whole and totals.sum() > 0:
        share = np.sort(totals[totals > 0] / totals.sum())[::-1]
        if rule.kind == EQUAL:
            values = _commonest(share, 1 - rule.real)
        elif rule.kind == DISCLOSURE:
            values = len(share) if rule.whole else _commonest(share, math.exp(-rule.real))
        elif rule.kind == LIKENESS:
            rise = np.minimum(rule.real, -np.log(share)) if rule.whole else np.full(len(share), rule.real)
            values = _commonest(np.sort(share * (1 + rise))[::-1], 1.0)
    return Rule(DISTINCT, values) if values > 1 else None


def _commonest(share: npt.NDArray[np.float64], least: float) -> int:
    """How many of the shares, the largest first, add up to ``least``."""
    return int(np.count_nonzero(np.cumsum(share) < least * (1 - NEAR))) + 1
