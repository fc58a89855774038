"""Full-domain recoding for an intruder who knows few columns: the nodes of the lattice where every set of them holds.

At levels that are the same for all rows nothing is hidden, so that a person's rows are those of the group, and smaller
sets follow from larger ones, whose groups they unite, unless a model does not survive unions: shares of people do not.
What holds at a node holds above it: the feasible nodes are the intersection of one up-set per set of columns, and each
of these depends on the levels of a few columns only. Answers
are kept by set and levels, as Incognito keeps those of its subsets (LeFevre, DeWitt and Ramakrishnan, 2005).

A lattice that is too large to be searched is descended from the top: the step that saves most, as long as there is one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem
from shoal.methods.full_domain.lattice import Figures, Node, NodeEvaluator
from shoal.methods.time_limits import is_late
from shoal.models import AllOf, Limited, limited
from shoal.table.column_subsets import Facts, owners_of
from shoal.utility.measures import Measure

__all__ = ["FewColumns", "FewEvaluator", "descend_lattice", "evaluator_of", "without_few"]


def without_few(problem: Problem) -> Problem:
    """The same problem with those models only that bind all columns at once."""
    plain = tuple(part for part in problem.model.parts if not isinstance(part, Limited))
    return replace(problem, model=AllOf(plain))


class FewColumns:
    """Tells of levels whether every set of columns holds there."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        frequencies = problem.frequencies
        self.parts = limited(problem.model)
        names = problem.names
        self.sets = [
            (number, chosen)
            for number, part in enumerate(self.parts)
            for chosen in (part.widest(names) if part.unites else part.sets(names))
        ]
        # a single column that fails is found with little work, and all its sets fail with it
        singles = {(number, (j,)) for number, chosen in self.sets for j in chosen}
        self.sets = [*sorted(singles - set(self.sets)), *self.sets]
        self.by_column = [[one for one in self.sets if j in one[1]] for j in range(len(names))]
        self._answers: dict[tuple[int, tuple[int, ...], tuple[int, ...]], bool] = {}
        self._facts = Facts(frequencies.codes, [1] * len(names), frequencies.count, owners_of(frequencies))
        self._level = [-1] * len(names)
        whole = frequencies.groups_of(np.zeros(len(frequencies.count), np.int64), 1)
        self._totals = [histogram.total for histogram in whole.histograms]

    def holds(self, levels: Sequence[int], sets: Iterable[tuple[int, tuple[int, ...]]] | None = None) -> bool:
        """Whether sets hold, all or some; stops at the first that does not."""
        return all(self._ask(number, chosen, levels) for number, chosen in (self.sets if sets is None else sets))

    def failing(self, levels: Sequence[int]) -> list[tuple[Limited, int, int]]:
        """Of each part that fails, how many of its sets do, and of how many."""
        found = []
        for number, part in enumerate(self.parts):
            asked = [self._ask(number, chosen, levels) for one, chosen in self.sets if one == number]
            if not all(asked):
                found.append((part, asked.count(False), len(asked)))
        return found

    def _ask(self, number: int, chosen: tuple[int, ...], levels: Sequence[int]) -> bool:
        key = (number, chosen, tuple(levels[j] for j in chosen))
        if key not in self._answers:
            self._answers[key] = self._count(self.parts[number], chosen, levels)
        return self._answers[key]

    def _count(self, part: Limited, chosen: tuple[int, ...], levels: Sequence[int]) -> bool:
        frequencies = self.problem.frequencies
        for j in chosen:
            if self._level[j] != levels[j]:
                ladder = self.problem.ladders[j]
                self._facts.columns[j] = ladder.codes[levels[j]][frequencies.codes[:, j]].astype(np.int64)
                self._facts.sizes[j] = ladder.size(levels[j])
                self._level[j] = levels[j]
        found = self._facts.combinations(chosen)
        there = found.size > 0
        if part.by_size:
            return bool((found.size[there] >= part.least).all())
        place = (np.cumsum(there) - 1)[found.number]
        groups = frequencies.groups_of(place, int(there.sum())).within(self._totals)
        return bool(part.of.assess(groups).holds.all())


class FewEvaluator:
    """Looks at nodes as :class:`NodeEvaluator` does, and at the sets of few columns too."""

    def __init__(self, problem: Problem, measure: Measure) -> None:
        self.problem, self.measure = problem, measure
        self.sets = FewColumns(problem)
        self._whole = NodeEvaluator(without_few(problem), measure)

    @property
    def seen(self) -> int:
        """How many nodes were looked at."""
        return self._whole.seen

    @property
    def foresees(self) -> bool:
        """See :class:`NodeEvaluator`."""
        return self._whole.foresees

    def look(self, node: Node, limit: int, enough: float = math.inf) -> Figures:
        """The figures of a node; where a set fails, all rows fail."""
        figures = self._whole.look(node, limit, enough)
        if figures.suppressed <= limit and self.sets.holds(node):
            return figures
        rows = self.measure.rows
        return replace(figures, loss=math.inf, suppressed=rows, certain=0)

    def loss(self, node: Node) -> float:
        """What a node loses, whether its sets hold or not."""
        return self._whole.look(node, 0).loss


def evaluator_of(problem: Problem, measure: Measure) -> NodeEvaluator | FewEvaluator:
    """What looks at the nodes of a problem, whatever its models bind."""
    return FewEvaluator(problem, measure) if limited(problem.model) else NodeEvaluator(problem, measure)


def descend_lattice(
    evaluator: FewEvaluator, lowest: Node, highest: Node, end: float | None
) -> tuple[Figures, float] | None:
    """A node that no single step down improves, and a bound of what any can lose; None where the highest one fails.

    The bound is the loss at the lowest levels at which each column holds by itself. Steps are tried in the order of
    what they save; a step that fails is not tried again, for it fails the more when others have gone down.
    """
    problem = evaluator.problem
    node = list(highest)
    if not evaluator.look(highest, 0).groups or not evaluator.sets.holds(highest):
        return None
    by_itself = list(highest)
    for j in range(len(node)):
        alone = [one for one in evaluator.sets.by_column[j] if len(one[1]) == 1]
        while by_itself[j] > lowest[j]:
            trial = [*by_itself[:j], by_itself[j] - 1, *by_itself[j + 1 :]]
            if not evaluator.sets.holds(trial, alone):
                break
            by_itself = trial
    bound = evaluator.loss(tuple(by_itself)) if evaluator.measure.by_column and problem.model.unites else 0.0
    cost = _column_costs(evaluator, lowest, highest)
    open_columns = {j for j in range(len(node)) if node[j] > by_itself[j]}
    while open_columns and not is_late(end):
        j = max(sorted(open_columns), key=lambda j: cost[j][node[j]] - cost[j][node[j] - 1])
        trial = [*node[:j], node[j] - 1, *node[j + 1 :]]
        good = evaluator.sets.holds(trial, evaluator.sets.by_column[j])
        if good and not evaluator.look(tuple(trial), 0).suppressed:
            node = trial
            problem.progress(f"descending, {sum(highest) - sum(node)} steps", None)
        else:
            open_columns.discard(j)
        open_columns = {j for j in open_columns if node[j] > by_itself[j]}
    return evaluator.look(tuple(node), 0), bound


def _column_costs(evaluator: FewEvaluator, lowest: Node, highest: Node) -> list[npt.NDArray[np.float64]]:
    """What each column loses at each of its levels, as a part of what it can lose."""
    frequencies = evaluator.problem.frequencies
    costs = []
    for j, ladder in enumerate(evaluator.problem.ladders):
        rows = np.bincount(frequencies.codes[:, j], frequencies.count, len(ladder.codes[0]))
        lost = [float((rows * share[codes]).sum()) for share, codes in zip(ladder.share, ladder.codes, strict=True)]
        costs.append(np.asarray(lost) * evaluator.measure.weight[j])
    return costs
