"""Definitions of the models from their papers, for one group at a time.

``DEFINITIONS`` gives for the name of a model the figures that it reports and a function that makes its evaluator from
the model, of which only the fields are read, and the sensitive column. An evaluator takes the size of the group and the
counts of its sensitive values, and returns whether the model holds, and the figures. Verdicts are computed in integers.
Figures are rounded, and only compared with those of the model. A package that adds a model may add its definition as an
entry point of the group ``shoal.definitions``, under the model's name; it cannot replace a definition of shoal.

A missing value counts in the size of a group and nowhere else. In a group without known values, no model of the column
holds.

Where the plan calls values harmless, conditions are on the other values. One of p distinct values or categories is met
by a group with a harmless value; a harmless value weighs 1; shares and rises of harmless values are not bounded, and
they are in the tail of (c, l)-diversity. Models without a definition for such columns refuse them.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.registry import Registry
from shoal.verification.independent.counting import CountsByValue, SensitiveColumn
from shoal.verification.independent.interval_arithmetic import (
    BITS,
    BelowExponential,
    logarithm,
    product_is_at_least_one,
)
from shoal.verification.independent.population import PeopleByGroup

Verdict = tuple[bool, tuple[float, ...]]
PopulationEvaluator = Callable[[PeopleByGroup], Verdict]
"""Evaluates all groups together, by their numbers of rows and people."""
TableEvaluator = Callable[[Mapping[int, int]], Verdict]
"""Evaluates all groups together, by the number of groups of each size."""
GroupEvaluator = Callable[[int, CountsByValue], Verdict]


@dataclass(frozen=True)
class Figure:
    """Reported parameter of a model, which groups must reach or not exceed.

    With ``at_least`` a group must reach it; otherwise it must not exceed it. A strict figure must not be equal. The
    bound is the model's parameter of that name, or ``bound`` where the model has no such parameter.
    """

    parameter: str
    at_least: bool = True
    strict: bool = False
    bound: Any = None

    def worst(self, figures: Iterable[float]) -> float:
        """Return the figure of the worst group; without groups the best possible."""
        return min(figures, default=math.inf) if self.at_least else max(figures, default=0.0)

    def satisfies(self, figure: float, model: Any) -> bool:
        """Return whether a reported figure satisfies the bound of a model."""
        if math.isinf(figure):
            return self.at_least
        try:
            bound = float(exact_fraction(getattr(model, self.parameter) if self.bound is None else self.bound))
        except OverflowError:
            bound = math.inf
        if figure == bound:
            return not self.strict
        return figure > bound if self.at_least else figure < bound


@dataclass(frozen=True)
class Definition:
    """Definition of a model: figures, evaluator, and use of sensitive columns.

    ``figures`` takes the model. ``judge`` takes the model and a sensitive column, or None where ``sensitive`` is False,
    and returns the function that evaluates one group. ``whole`` takes the model, and returns the function that
    evaluates all groups together, where the model is about the whole table; otherwise None. ``population`` does so
    for models that count people of a population.
    """

    figures: Callable[[Any], tuple[Figure, ...]]
    judge: Callable[[Any, Any], GroupEvaluator]
    sensitive: bool = True
    whole: Callable[[Any], TableEvaluator | None] = lambda model: None
    population: Callable[[Any], PopulationEvaluator | None] = lambda model: None


def exact_fraction(number: Any) -> Fraction:
    """Return a parameter exactly as the user wrote it: 0.1 is one tenth."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _k_anonymity(model: Any, column: SensitiveColumn | None = None) -> GroupEvaluator:
    """Require at least k rows."""

    def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
        return size >= model.k, (size,)

    return evaluate


def _risk(model: Any, column: SensitiveColumn | None = None) -> GroupEvaluator:
    """Require a probability of at most ``highest`` for every row."""
    highest = exact_fraction(model.highest)

    def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
        return size * highest >= 1, (1 / size,)

    return evaluate


def _risk_of_table(model: Any) -> TableEvaluator | None:
    """Require a mean probability, and a share of rows with a higher one.

    Sums are over rows, each with a probability of one over the size of its group.
    """
    if model.average is None and model.at_risk is None:
        return None
    return lambda groups: _judge_risk(model, {(size, size): times for size, times in groups.items()})


def _risk_of_population(model: Any) -> PopulationEvaluator | None:
    """Require the same of the journalist and the marketer."""
    if model.intruder == "prosecutor":
        return None
    return lambda groups: _judge_risk(model, {(rows, people or 1): n for (rows, people), n in groups.pairs.items()})


def _judge_risk(model: Any, groups: Mapping[tuple[int, int], int]) -> Verdict:
    """Judge groups by their rows and the number among which one is picked."""
    rows = sum(size * times for (size, _), times in groups.items()) or 1
    found: list[tuple[bool, float]] = []
    if model.highest is not None:
        worst = max((Fraction(1, crowd) for _, crowd in groups), default=Fraction(0))
        found.append((worst <= exact_fraction(model.highest), float(worst)))
    if model.average is not None:
        by_crowd: dict[int, int] = {}
        for (size, crowd), times in groups.items():
            by_crowd[crowd] = by_crowd.get(crowd, 0) + size * times
        mean = sum((Fraction(size, crowd) for crowd, size in by_crowd.items()), Fraction(0)) / rows
        if model.intruder == "journalist" and groups:
            people = sum(crowd * times for (_, crowd), times in groups.items())
            mean = max(mean, Fraction(sum(groups.values()), people))
        found.append((mean <= exact_fraction(model.average), float(mean)))
    if model.at_risk is not None:
        above, share = (exact_fraction(model.at_risk[key]) for key in ("above", "share"))
        risky = sum(size * times for (size, crowd), times in groups.items() if Fraction(1, crowd) > above)
        found.append((risky <= share * rows, risky / rows))
    return all(holds for holds, _ in found), tuple(figure for _, figure in found)


def _k_map(model: Any) -> PopulationEvaluator:
    """Require at least k people for every group."""

    def evaluate(groups: PeopleByGroup) -> Verdict:
        fewest = min((people for _, people in groups.pairs), default=model.k)
        return fewest >= model.k, (fewest,)

    return evaluate


def _delta_presence(model: Any) -> PopulationEvaluator:
    """Require shares of people in the table within bounds.

    All rows that were left out may have any one of the labels that are not shown.
    """

    def evaluate(groups: PeopleByGroup) -> Verdict:
        shares = [Fraction(rows, max(people, rows)) for rows, people in groups.pairs]
        others = [people for people in groups.unshown if people]
        suspected = [Fraction(min(groups.left_out, people), people) for people in others]
        highest = max([Fraction(0), *shares, *suspected])
        lowest = min([Fraction(1), *shares, *(Fraction(0) for _ in others)])
        holds = highest <= exact_fraction(model.at_most) and lowest >= exact_fraction(model.at_least)
        return holds, (float(highest), float(lowest))

    return evaluate


def _people_are_needed(model: Any, column: SensitiveColumn | None = None) -> GroupEvaluator:
    """Refuse: the rows of a group alone decide nothing."""
    raise ValueError(f"{model.name} needs a population")


def _risk_figures(model: Any) -> tuple[Figure, ...]:
    bounds = {
        "highest": model.highest,
        "average": model.average,
        "at_risk": None if model.at_risk is None else model.at_risk["share"],
    }
    return tuple(
        Figure(key, at_least=False, bound=exact_fraction(bound)) for key, bound in bounds.items() if bound is not None
    )


def is_harmless(column: SensitiveColumn | None) -> Callable[[int], bool]:
    """Return the function that says which values of a column are harmless."""
    listed = None if column is None else column.domain.harmless
    return (lambda value: False) if listed is None else (lambda value: bool(listed[value]))


def _p_sensitive(model: Any, column: SensitiveColumn) -> GroupEvaluator:
    """Require at least p distinct values, or a harmless one."""
    harmless = is_harmless(column)

    def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
        found = model.p if any(harmless(value) for value, _ in value_counts) else len(value_counts)
        return found >= model.p, (found,)

    return evaluate


def _weighted(by_category: bool) -> Callable[[Any, SensitiveColumn], GroupEvaluator]:
    """Require p distinct values or categories, and a total weight of α.

    Category i of m weighs (i-1)/(m-1).
    """

    def make(model: Any, column: SensitiveColumn) -> GroupEvaluator:
        category = [int(rank) for rank in column.domain.category]  # type: ignore[union-attr]
        span = column.domain.categories - 1
        least = exact_fraction(model.alpha) * span
        harmless = is_harmless(column)
        category = [span if harmless(value) else own for value, own in enumerate(category)]

        def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
            kinds = len({category[value] for value, _ in value_counts}) if by_category else len(value_counts)
            if any(harmless(value) for value, _ in value_counts):
                kinds = model.p
            units = sum(category[value] * count for value, count in value_counts)
            return kinds >= model.p and units >= least, (kinds, units / span)

        return evaluate

    return make


def _l_diversity(model: Any, column: SensitiveColumn) -> GroupEvaluator:
    """Require distinct, entropy or recursive l-diversity.

    Distinct: l values. Entropy: at least ln l. Recursive: r1 < c (r_l + ... + r_m), counts in descending order.
    """
    ell = exact_fraction(model.l)
    factor = None if model.c is None else exact_fraction(model.c)
    harmless = is_harmless(column)

    def distinct(size: int, value_counts: CountsByValue) -> Verdict:
        found = int(ell) if any(harmless(value) for value, _ in value_counts) else len(value_counts)
        return found >= ell, (found,)

    @cache  # the result depends on the counts only, not on the values
    def entropy_verdict(counts: tuple[int, ...]) -> Verdict:
        known = sum(counts)
        if not known:
            return False, (0.0,)
        figure = math.exp(math.fsum(count / known * math.log(known / count) for count in counts))
        # -sum of c/n ln(c/n) >= ln l means n^n >= l^n times the product of c^c
        powers = [(known, known), (ell.denominator, known), (ell.numerator, -known), *((c, -c) for c in counts)]
        return product_is_at_least_one(powers), (figure,)

    def entropy(size: int, value_counts: CountsByValue) -> Verdict:
        return entropy_verdict(tuple(sorted(count for _, count in value_counts)))

    def recursive(size: int, value_counts: CountsByValue) -> Verdict:
        assert factor is not None
        counts = sorted((count for value, count in value_counts if not harmless(value)), reverse=True)
        tail = sum(counts[int(ell) - 1 :]) + sum(count for value, count in value_counts if harmless(value))
        if not tail:
            return False, (math.inf,)
        if not counts:
            return True, (0.0,)
        return counts[0] * factor.denominator < factor.numerator * tail, (counts[0] / tail,)

    return {"distinct": distinct, "entropy": entropy, "recursive": recursive}[model.kind]


def _alpha_k(model: Any, column: SensitiveColumn) -> GroupEvaluator:
    """Require at least k rows, and no value with a share above α."""
    alpha = exact_fraction(model.alpha)
    harmless = is_harmless(column)

    def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
        known = sum(count for _, count in value_counts)
        if not known:
            return False, (size, math.inf)
        top = max((count for value, count in value_counts if not harmless(value)), default=0)
        return size >= model.k and top * alpha.denominator <= alpha.numerator * known, (size, top / known)

    return evaluate


def _t_closeness(model: Any, column: SensitiveColumn) -> GroupEvaluator:
    """Require an earth mover's distance to the table of at most t."""
    if column.domain.harmless is not None:
        transport = _harmful_rise(column)
    else:
        transport = _ordered_distance(column) if model.distance == "ordered" else _tree_distance(column, model.distance)
    t, rows = exact_fraction(model.t), sum(column.total)

    def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
        known = sum(count for _, count in value_counts)
        if not known:
            return False, (math.inf,)
        moved, scale = transport(known, value_counts)
        whole = scale * known * rows
        return moved * t.denominator <= t.numerator * whole, (moved / whole,)

    return evaluate


TransportCost = Callable[[int, CountsByValue], tuple[int, int]]


def _harmful_rise(column: SensitiveColumn) -> TransportCost:
    """Make the sum of the rises of harmful values' shares over the table's."""
    rows, harmless = sum(column.total), is_harmless(column)

    def transport(known: int, value_counts: CountsByValue) -> tuple[int, int]:
        rises = (count * rows - column.total[value] * known for value, count in value_counts if not harmless(value))
        return sum(rise for rise in rises if rise > 0), 1

    return transport


def _tree_distance(column: SensitiveColumn, distance: str) -> TransportCost:
    """Make the transport cost over a tree of values.

    Values whose paths meet at level i of a tree of height h have distance i/h, so each edge has length 1/2h. The flow
    over an edge is the surplus or deficit of the node below it: |c N - C n| of n N. If all values have the same
    distance, the tree has height 1. Nodes without values of the group have a deficit of C n each, and the nodes of one
    level N n together, so only the other nodes are visited.
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

    def transport(known: int, value_counts: CountsByValue) -> tuple[int, int]:
        moved = len(levels) * known * rows
        for nodes, total in zip(levels, totals, strict=True):
            inside: dict[int, int] = {}
            for value, count in value_counts:
                inside[nodes[value]] = inside.get(nodes[value], 0) + count
            for node, count in inside.items():
                expected = total[node] * known
                moved += abs(count * rows - expected) - expected
        return moved, 2 * len(levels)

    return transport


def _ordered_distance(column: SensitiveColumn) -> TransportCost:
    """Make the transport cost over ordered values.

    It is the sum of |F_group - F_table| over all positions but the last, divided by m - 1, where F is the cumulative
    share up to a position. From one value of the group to its next, F_group is constant and F_table rises: bisection
    finds the positions where it is still below, and sums over positions come from sums of cumulative sums.
    """
    rank = [int(position) for position in column.domain.rank]  # type: ignore[union-attr]
    positions, rows = column.domain.rank_count, sum(column.total)
    rows_at = [0] * positions
    for position, count in zip(rank, column.total, strict=True):
        rows_at[position] += count
    cumulative = list(itertools.accumulate(rows_at))
    sums = [0, *itertools.accumulate(cumulative)]

    def segment(known: int, reached: int, start: int, stop: int) -> int:
        """Sum |reached * rows - known * cumulative[i]| for start <= i < stop."""
        level = reached * rows
        turn = bisect.bisect_right(cumulative, level // known, start, stop)
        less = level * (turn - start) - known * (sums[turn] - sums[start])
        return less + known * (sums[stop] - sums[turn]) - level * (stop - turn)

    def transport(known: int, value_counts: CountsByValue) -> tuple[int, int]:
        if positions < 2:
            return 0, 1
        moved, reached, start = 0, 0, 0
        for position, count in sorted((rank[value], count) for value, count in value_counts):
            moved += segment(known, reached, start, min(position, positions - 1))
            reached, start = reached + count, min(position, positions - 1)
        return moved + segment(known, reached, start, positions - 1), positions - 1

    return transport


def _delta_disclosure(model: Any, column: SensitiveColumn) -> GroupEvaluator:
    """Require |ln(p/q)| < δ for each value of the table.

    With absent = "ignored" only for each value of the group. With harmless values ln(p/q) < δ for the others.
    """
    harmless = is_harmless(column)
    one_sided = column.domain.harmless is not None
    below, total, rows = BelowExponential(exact_fraction(model.delta)), column.total, sum(column.total)
    present = sum(count > 0 for count in total)

    def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
        known = sum(count for _, count in value_counts)
        if not known or (model.absent == "fails" and len(value_counts) < present):
            return False, (math.inf,)
        holds, worst = True, 1.0
        for value, count in value_counts:
            inside, outside = count * rows, total[value] * known
            if harmless(value) or (one_sided and inside <= outside):
                continue
            above, under = (inside, outside) if inside > outside else (outside, inside)
            holds = holds and below(above, under)
            worst = max(worst, above / under)
        return holds, (math.log(worst),)

    return evaluate


def _beta_likeness(model: Any, column: SensitiveColumn) -> GroupEvaluator:
    """Require (p - q)/q <= β for each value.

    The enhanced kind also requires at most -ln q.
    """
    beta, total, rows = exact_fraction(model.beta), column.total, sum(column.total)
    harmless = is_harmless(column)
    limits = [_LogarithmBound(rows, count) for count in total] if model.kind == "enhanced" else None

    def evaluate(size: int, value_counts: CountsByValue) -> Verdict:
        known = sum(count for _, count in value_counts)
        if not known:
            return False, (math.inf,)
        holds, worst = True, 0.0
        for value, count in value_counts:
            expected = total[value] * known
            risen = count * rows - expected
            if risen <= 0 or harmless(value):
                continue
            holds = holds and risen * beta.denominator <= beta.numerator * expected
            worst = max(worst, risen / expected)
            if limits is not None and not limits[value](risen, expected):
                holds, worst = False, math.inf
        return holds, (worst,)

    return evaluate


class _LogarithmBound:
    """Test whether a ratio is at most ln(rows / count).

    The two can only be equal where both are 0, and that case does not occur.
    """

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


def _fixed_figures(*figures: Figure) -> Callable[[Any], tuple[Figure, ...]]:
    return lambda _: figures


def _diversity_figures(model: Any) -> tuple[Figure, ...]:
    return (Figure("c", at_least=False, strict=True) if model.kind == "recursive" else Figure("l"),)


BUILT_IN_DEFINITIONS = {
    "k-anonymity": Definition(_fixed_figures(Figure("k")), _k_anonymity, sensitive=False),
    "trajectory-anonymity": Definition(
        _fixed_figures(Figure("k")), _k_anonymity, sensitive=False
    ),  # of crowds of people
    "p-sensitive": Definition(_fixed_figures(Figure("p")), _p_sensitive),
    "p-alpha-sensitive": Definition(_fixed_figures(Figure("p"), Figure("alpha")), _weighted(by_category=False)),
    "p-plus-alpha-sensitive": Definition(_fixed_figures(Figure("p"), Figure("alpha")), _weighted(by_category=True)),
    "l-diversity": Definition(_diversity_figures, _l_diversity),
    "t-closeness": Definition(_fixed_figures(Figure("t", at_least=False)), _t_closeness),
    "alpha-k": Definition(_fixed_figures(Figure("k"), Figure("alpha", at_least=False)), _alpha_k),
    "delta-disclosure": Definition(_fixed_figures(Figure("delta", at_least=False, strict=True)), _delta_disclosure),
    "risk": Definition(_risk_figures, _risk, sensitive=False, whole=_risk_of_table, population=_risk_of_population),
    "k-map": Definition(_fixed_figures(Figure("k")), _people_are_needed, sensitive=False, population=_k_map),
    "delta-presence": Definition(
        _fixed_figures(Figure("at_most", at_least=False), Figure("at_least")),
        _people_are_needed,
        sensitive=False,
        population=_delta_presence,
    ),
    "beta-likeness": Definition(_fixed_figures(Figure("beta", at_least=False)), _beta_likeness),
}
DEFINITIONS: Mapping[str, Definition] = Registry(BUILT_IN_DEFINITIONS, "shoal.definitions", Definition, instances=True)
"""Definitions by name of a model: those of shoal, and those of installed packages."""
