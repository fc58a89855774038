"""The models once more, as their papers define them, for one group at a time.

``DEFINITIONS`` gives for the name of a model the figures that it tells and a function that makes its judge: from the
model, of which only the fields are read, and the sensitive column. A judge takes the group's size and what it holds of
the column, and returns whether the model holds, and the figures. Verdicts are reached in whole numbers; figures are
rounded, and only compared with what the model told.

A missing value is no value: it counts in the size of a group and nowhere else. In a group of which no value is known,
no model of the column holds.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from shoal.verification.independent.counting import Held, Sensitive
from shoal.verification.independent.interval_arithmetic import (
    BITS,
    BelowExponential,
    logarithm,
    product_is_at_least_one,
)

__all__ = ["DEFINITIONS", "Definition", "Figure", "Verdict", "written"]

Verdict = tuple[bool, tuple[float, ...]]
Judge = Callable[[int, Held], Verdict]


@dataclass(frozen=True)
class Figure:
    """A parameter that groups answer: with at least as much, or with at most as much; a strict one not with as much."""

    parameter: str
    at_least: bool = True
    strict: bool = False

    def worst(self, figures: Iterable[float]) -> float:
        """The figure of the worst group; that of no group is as good as can be."""
        return min(figures, default=math.inf) if self.at_least else max(figures, default=0.0)

    def keeps(self, figure: float, parameter: Any) -> bool:
        """Whether a figure that is shown to a reader keeps the parameter that is shown beside it."""
        if math.isinf(figure):
            return self.at_least
        try:
            bound = float(written(parameter))
        except OverflowError:
            bound = math.inf
        if figure == bound:
            return not self.strict
        return figure > bound if self.at_least else figure < bound


@dataclass(frozen=True)
class Definition:
    """A model as the gate knows it: its figures, its judge, and whether it looks at sensitive columns at all."""

    figures: Callable[[Any], tuple[Figure, ...]]
    judge: Callable[[Any, Any], Judge]
    sensitive: bool = True


def written(number: Any) -> Fraction:
    """A parameter as the user wrote it: 0.1 is one tenth."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _k_anonymity(model: Any, column: Sensitive | None = None) -> Judge:
    """At least k rows."""

    def judge(size: int, held: Held) -> Verdict:
        return size >= model.k, (size,)

    return judge


def _p_sensitive(model: Any, column: Sensitive) -> Judge:
    """At least p distinct values."""

    def judge(size: int, held: Held) -> Verdict:
        return len(held) >= model.p, (len(held),)

    return judge


def _weighted(by_category: bool) -> Callable[[Any, Sensitive], Judge]:
    """p distinct values or categories, and a weight of α, where category i of m weighs (i-1)/(m-1)."""

    def make(model: Any, column: Sensitive) -> Judge:
        category = [int(place) for place in column.domain.category]  # type: ignore[union-attr]
        span = column.domain.categories - 1
        least = written(model.alpha) * span

        def judge(size: int, held: Held) -> Verdict:
            kinds = len({category[value] for value, _ in held}) if by_category else len(held)
            units = sum(category[value] * count for value, count in held)
            return kinds >= model.p and units >= least, (kinds, units / span)

        return judge

    return make


def _l_diversity(model: Any, column: Sensitive) -> Judge:
    """Distinct: l values. Entropy: at least ln l. Recursive: r1 < c (r_l + ... + r_m), counts from large to small."""
    ell = written(model.l)
    factor = None if model.c is None else written(model.c)

    def distinct(size: int, held: Held) -> Verdict:
        return len(held) >= ell, (len(held),)

    @cache  # which value has which count does not matter
    def spread(counts: tuple[int, ...]) -> Verdict:
        known = sum(counts)
        if not known:
            return False, (0.0,)
        figure = math.exp(math.fsum(count / known * math.log(known / count) for count in counts))
        # -sum of c/n ln(c/n) >= ln l means n^n >= l^n times the product of c^c
        powers = [(known, known), (ell.denominator, known), (ell.numerator, -known), *((c, -c) for c in counts)]
        return product_is_at_least_one(powers), (figure,)

    def entropy(size: int, held: Held) -> Verdict:
        return spread(tuple(sorted(count for _, count in held)))

    def recursive(size: int, held: Held) -> Verdict:
        assert factor is not None
        counts = sorted((count for _, count in held), reverse=True)
        tail = sum(counts[int(ell) - 1 :])
        if not tail:
            return False, (math.inf,)
        return counts[0] * factor.denominator < factor.numerator * tail, (counts[0] / tail,)

    return {"distinct": distinct, "entropy": entropy, "recursive": recursive}[model.kind]


def _alpha_k(model: Any, column: Sensitive) -> Judge:
    """At least k rows, and no value with a share above α."""
    alpha = written(model.alpha)

    def judge(size: int, held: Held) -> Verdict:
        known = sum(count for _, count in held)
        if not known:
            return False, (size, math.inf)
        top = max(count for _, count in held)
        return size >= model.k and top * alpha.denominator <= alpha.numerator * known, (size, top / known)

    return judge


def _t_closeness(model: Any, column: Sensitive) -> Judge:
    """The earth mover's distance from the distribution in the table is at most t."""
    work = _along_order(column) if model.distance == "ordered" else _along_tree(column, model.distance)
    t, rows = written(model.t), sum(column.total)

    def judge(size: int, held: Held) -> Verdict:
        known = sum(count for _, count in held)
        if not known:
            return False, (math.inf,)
        moved, scale = work(known, held)
        whole = scale * known * rows
        return moved * t.denominator <= t.numerator * whole, (moved / whole,)

    return judge


Work = Callable[[int, Held], tuple[int, int]]


def _along_tree(column: Sensitive, distance: str) -> Work:
    """Values whose paths meet at level i of a tree of height h are i/h apart, so each edge is 1/2h long.

    Over each edge goes what the node below it has too much or too little: |c N - C n| of n N. With all values equally
    far apart the tree has height 1. Nodes that the group does not touch lack C n each, and nodes of one level N n
    together, so that only the others need a look.
    """
    rows = sum(column.total)
    tree = column.domain.tree
    if distance == "equal":
        levels: list[list[int]] = [list(range(len(column.total)))]
    else:
        assert tree is not None
        levels = [[int(node) for node in codes] for codes in tree.codes[:-1]]
    totals = []
    for nodes in levels:
        total = [0] * (max(nodes, default=-1) + 1)
        for node, count in zip(nodes, column.total, strict=True):
            total[node] += count
        totals.append(total)

    def work(known: int, held: Held) -> tuple[int, int]:
        moved = len(levels) * known * rows
        for nodes, total in zip(levels, totals, strict=True):
            inside: dict[int, int] = {}
            for value, count in held:
                inside[nodes[value]] = inside.get(nodes[value], 0) + count
            for node, count in inside.items():
                expected = total[node] * known
                moved += abs(count * rows - expected) - expected
        return moved, 2 * len(levels)

    return work


def _along_order(column: Sensitive) -> Work:
    """The sum of |F_group - F_table| over the places but the last, of m - 1, where F is the share up to a place.

    From one value of the group to its next, F_group stays and F_table rises: the places where it is still below are
    found by bisection, and sums over places from sums of sums.
    """
    rank = [int(place) for place in column.domain.rank]  # type: ignore[union-attr]
    places, rows = column.domain.places, sum(column.total)
    at_place = [0] * places
    for place, count in zip(rank, column.total, strict=True):
        at_place[place] += count
    up_to = list(itertools.accumulate(at_place))
    sums = [0, *itertools.accumulate(up_to)]

    def stretch(known: int, reached: int, start: int, stop: int) -> int:
        """The sum of |reached * rows - known * up_to[place]| for start <= place < stop."""
        level = reached * rows
        turn = bisect.bisect_right(up_to, level // known, start, stop)
        less = level * (turn - start) - known * (sums[turn] - sums[start])
        return less + known * (sums[stop] - sums[turn]) - level * (stop - turn)

    def work(known: int, held: Held) -> tuple[int, int]:
        if places < 2:
            return 0, 1
        moved, reached, start = 0, 0, 0
        for place, count in sorted((rank[value], count) for value, count in held):
            moved += stretch(known, reached, start, min(place, places - 1))
            reached, start = reached + count, min(place, places - 1)
        return moved + stretch(known, reached, start, places - 1), places - 1

    return work


def _delta_disclosure(model: Any, column: Sensitive) -> Judge:
    """|ln(p/q)| < δ for each value of the table, or with absent = "ignored" for each of the group."""
    below, total, rows = BelowExponential(written(model.delta)), column.total, sum(column.total)
    present = sum(count > 0 for count in total)

    def judge(size: int, held: Held) -> Verdict:
        known = sum(count for _, count in held)
        if not known or (model.absent == "fails" and len(held) < present):
            return False, (math.inf,)
        holds, worst = True, 1.0
        for value, count in held:
            inside, outside = count * rows, total[value] * known
            above, under = (inside, outside) if inside > outside else (outside, inside)
            holds = holds and below(above, under)
            worst = max(worst, above / under)
        return holds, (math.log(worst),)

    return judge


def _beta_likeness(model: Any, column: Sensitive) -> Judge:
    """(p - q)/q <= β for each value; the enhanced kind also asks for at most -ln q."""
    beta, total, rows = written(model.beta), column.total, sum(column.total)
    limits = [_AtMostLogarithm(rows, count) for count in total] if model.kind == "enhanced" else None

    def judge(size: int, held: Held) -> Verdict:
        known = sum(count for _, count in held)
        if not known:
            return False, (math.inf,)
        holds, worst = True, 0.0
        for value, count in held:
            expected = total[value] * known
            risen = count * rows - expected
            if risen <= 0:
                continue
            holds = holds and risen * beta.denominator <= beta.numerator * expected
            worst = max(worst, risen / expected)
            if limits is not None and not limits[value](risen, expected):
                holds, worst = False, math.inf
        return holds, (worst,)

    return judge


class _AtMostLogarithm:
    """Whether a ratio is at most ln(rows / count); equal they can only be where both are 0, and that is not asked."""

    def __init__(self, rows: int, count: int) -> None:
        self.rows, self.count = rows, count
        self.bits = 0
        self.low = self.high = 0

    def __call__(self, above: int, under: int) -> bool:
        while True:
            if self.bits:
                scaled = above << self.bits
                if scaled <= self.low * under:
                    return True
                if scaled > self.high * under:
                    return False
            self.bits = 2 * self.bits or BITS
            whole, part = logarithm(self.rows, self.bits), logarithm(self.count, self.bits)
            self.low, self.high = whole[0] - part[1], whole[1] - part[0]


def _told(*figures: Figure) -> Callable[[Any], tuple[Figure, ...]]:
    return lambda _: figures


def _told_of_diversity(model: Any) -> tuple[Figure, ...]:
    return (Figure("c", at_least=False, strict=True) if model.kind == "recursive" else Figure("l"),)


DEFINITIONS: Mapping[str, Definition] = {
    "k-anonymity": Definition(_told(Figure("k")), _k_anonymity, sensitive=False),
    "trajectory-anonymity": Definition(_told(Figure("k")), _k_anonymity, sensitive=False),  # of crowds of people
    "p-sensitive": Definition(_told(Figure("p")), _p_sensitive),
    "p-alpha-sensitive": Definition(_told(Figure("p"), Figure("alpha")), _weighted(by_category=False)),
    "p-plus-alpha-sensitive": Definition(_told(Figure("p"), Figure("alpha")), _weighted(by_category=True)),
    "l-diversity": Definition(_told_of_diversity, _l_diversity),
    "t-closeness": Definition(_told(Figure("t", at_least=False)), _t_closeness),
    "alpha-k": Definition(_told(Figure("k"), Figure("alpha", at_least=False)), _alpha_k),
    "delta-disclosure": Definition(_told(Figure("delta", at_least=False, strict=True)), _delta_disclosure),
    "beta-likeness": Definition(_told(Figure("beta", at_least=False)), _beta_likeness),
}
