"""Full-domain recoding for partial knowledge and for scenarios.

A node is feasible if every set of columns that the intruder may know meets its model. At levels that are the same for
all rows nothing is hidden, so the rows that match a person are those of the group. Smaller sets follow from larger
ones, whose groups they merge, unless a model is not closed under union, as for shares of people. What holds at a node
holds above it: the feasible nodes are the intersection of one up-set per set of columns, and each of these depends on
the levels of a few columns only. Results are cached by set and levels, as Incognito caches those of its subsets
(LeFevre, DeWitt and Ramakrishnan, 2005).

If rows may be suppressed, those in a failing crowd are left out, until no crowd fails. For models that are closed under
supersets, rows that remain at some levels remain at higher ones; for others a failure says nothing of finer nodes.

A lattice that is too large to be searched is descended from the top by the step that saves most, as long as there is
one. There no row is suppressed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem
from shoal.methods.full_domain.lattice import Figures, Node, NodeEvaluator
from shoal.methods.time_limits import is_late
from shoal.models import AllOf
from shoal.models.views import CodedTable, SetModel, set_models
from shoal.table import Groups, recode_codes
from shoal.table.column_subsets import SubsetCounter, owners_of
from shoal.table.groups import group_keys
from shoal.utility.measures import Measure


def without_partial_knowledge(problem: Problem) -> Problem:
    """Return the problem with only the models that bind all columns at once."""
    return replace(problem, model=problem.model.of_all_columns)


class ColumnSetChecks:
    """Check of the models of all sets of columns, at given levels."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        frequencies = problem.frequencies
        self.parts = set_models(problem.model)
        names = problem.names
        # sensitive columns, which scenarios may know, follow the quasi-identifiers; they have one level
        self.columns = (*names, *(part.written.name for part in frequencies.spellings))
        self.sets = [
            (number, chosen) for number, part in enumerate(self.parts) for chosen in part.positions(self.columns, names)
        ]
        # single columns are cheap to check, and if one fails, all sets with it fail
        singles = {(number, (j,)) for number, chosen in self.sets for j in chosen}
        self.sets = [*sorted(singles - set(self.sets)), *self.sets]
        self.sets = [one for one in self.sets if self._applies(*one)]
        self.by_column = [[one for one in self.sets if j in one[1]] for j in range(len(names))]
        self._answers: dict[tuple[int, tuple[int, ...], tuple[int, ...]], bool] = {}
        codes = np.column_stack([frequencies.codes, *(part.codes for part in frequencies.spellings)])
        sizes = [1] * len(names) + [part.written.size for part in frequencies.spellings]
        self._facts = SubsetCounter(codes, sizes, frequencies.count, owners_of(frequencies))
        self._level = [-1] * len(names)
        whole = frequencies.groups_of(np.zeros(len(frequencies.count), np.int64), 1)
        self._totals = [histogram.total for histogram in whole.histograms]

    def holds(self, levels: Sequence[int], sets: Iterable[tuple[int, tuple[int, ...]]] | None = None) -> bool:
        """Return whether all sets hold, or the given ones; stop at a failure."""
        return all(self._set_holds(number, chosen, levels) for number, chosen in (self.sets if sets is None else sets))

    def failing(self, levels: Sequence[int]) -> list[tuple[SetModel, int, int]]:
        """List each failing part with the number of failing sets and of all sets."""
        found = []
        for number, part in enumerate(self.parts):
            results = [self._set_holds(number, chosen, levels) for one, chosen in self.sets if one == number]
            if not all(results):
                found.append((part, results.count(False), len(results)))
        return found

    def _set_holds(self, number: int, chosen: tuple[int, ...], levels: Sequence[int]) -> bool:
        key = (number, chosen, tuple(levels[j] for j in chosen if j < len(levels)))
        if key not in self._answers:
            self._answers[key] = self._evaluate_set(self.parts[number], chosen, levels)
        return self._answers[key]

    def _applies(self, number: int, chosen: tuple[int, ...]) -> bool:
        return self.parts[number].applies(self.columns[j] for j in chosen)

    def _evaluate_set(self, part: SetModel, chosen: tuple[int, ...], levels: Sequence[int]) -> bool:
        frequencies = self.problem.frequencies
        for j in chosen:
            if j < len(levels) and self._level[j] != levels[j]:
                ladder = self.problem.ladders[j]
                self._facts.columns[j] = ladder.codes[levels[j]][frequencies.codes[:, j]].astype(np.int64)
                self._facts.sizes[j] = ladder.size(levels[j])
                self._level[j] = levels[j]
        found = self._facts.combinations(chosen)
        there = found.size > 0
        if part.by_size:
            return bool((found.size[there] >= part.least).all())
        index = (np.cumsum(there) - 1)[found.number]
        groups = frequencies.groups_of(index, int(there.sum())).within(self._totals)
        verdict = part.assess_known(groups, [self.columns[j] for j in chosen])
        return verdict is None or bool(verdict.holds.all())


@dataclass(frozen=True)
class CrowdSuppression:
    """Rows that remain at some levels, all of them in crowds that hold.

    Attributes
    ----------
    group
        int64 (n,): the group of each combination; -1 where it is suppressed.
    groups
        The groups of the remaining rows.
    certain
        The number of rows that every finer node suppresses too.
    """

    group: npt.NDArray[np.int64]
    groups: Groups
    certain: int


def suppress_crowds(problem: Problem, levels: Sequence[int]) -> CrowdSuppression:
    """Suppress the rows of failing groups and crowds until none fails.

    Models that are closed under supersets come first: what they leave out is left out at all finer levels.
    """
    frequencies = problem.frequencies
    codes, sizes = recode_codes(frequencies.codes, problem.ladders, levels)
    quasi = tuple(
        replace(one, text=[label or "" for label in ladder.labels[level]], missing=False)
        for one, ladder, level in zip(frequencies.quasi, problem.ladders, levels, strict=True)
    )
    table = replace(frequencies, quasi=quasi, codes=codes)
    lasting = AllOf(tuple(part for part in problem.model.parts if part.closed_under_superset))
    rest = np.arange(len(frequencies.count))
    certain = 0
    for model in (lasting, problem.model):
        while len(rest):
            left = table.select(rest, table.count[rest])
            inverse, groups = left.group(left.codes, sizes)
            failing = ~model.of_all_columns.assess(groups).holds[inverse]
            for part in set_models(model):
                failing |= part.examine(CodedTable(left)).failing
            if not failing.any():
                break
            rest = rest[~failing]
        if model is lasting:
            certain = frequencies.rows - int(frequencies.count[rest].sum())
    group = np.full(len(frequencies.count), -1, np.int64)
    group[rest], count = group_keys(codes[rest], sizes)
    return CrowdSuppression(group, frequencies.groups_of(group, count), certain)


class PartialKnowledgeEvaluator:
    """Evaluator of nodes and of all sets of columns.

    Nodes are evaluated like those of :class:`NodeEvaluator`.
    """

    def __init__(self, problem: Problem, measure: Measure) -> None:
        self.problem, self.measure = problem, measure
        self.sets = ColumnSetChecks(problem)
        self._whole = NodeEvaluator(without_partial_knowledge(problem), measure)
        lasting = any(part.closed_under_superset for part in problem.model.of_some_columns)
        self.predicts_finer_failure = self._whole.predicts_finer_failure or lasting
        self._suppressing = 0

    @property
    def seen(self) -> int:
        """Return the number of nodes evaluated."""
        return self._whole.seen + self._suppressing

    def look(self, node: Node, limit: int, loss_limit: float = math.inf) -> Figures:
        """Return the figures of a node, with suppression up to a limit."""
        if limit:
            return self._look_suppressing(node, limit)
        figures = self._whole.look(node, limit, loss_limit)
        if figures.suppressed <= limit and self.sets.holds(node):
            return figures
        rows = self.measure.rows
        return replace(figures, loss=math.inf, suppressed=rows, certain=0)

    def _look_suppressing(self, node: Node, limit: int) -> Figures:
        """Return the figures of a node without rows of failing crowds."""
        self._suppressing += 1
        frequencies, measure = self.problem.frequencies, self.measure
        found = suppress_crowds(self.problem, node)
        suppressed = frequencies.rows - found.groups.rows
        codes, sizes = recode_codes(frequencies.codes, self.problem.ladders, node)
        floor = 0.0
        if not measure.by_column:
            size = frequencies.group(codes, sizes)[1].size
            floor = measure.floor(len(size), float((size**2).sum()))
        loss = math.inf
        if suppressed <= limit:
            rest = np.where(found.group >= 0, frequencies.count, 0)
            sums = np.asarray(
                [
                    (parts[level][codes[:, a]] * rest).sum()
                    for a, (parts, level) in enumerate(zip(measure.cost, node, strict=True))
                ]
            )
            loss = measure.value(sums, suppressed, found.groups.count, float((found.groups.size**2).sum()))
        return Figures(node, loss, suppressed, found.certain, found.groups.count, floor)

    def loss(self, node: Node) -> float:
        """Return the loss of a node, whether its sets hold or not."""
        return self._whole.look(node, 0).loss


def evaluator_of(problem: Problem, measure: Measure) -> NodeEvaluator | PartialKnowledgeEvaluator:
    """Return the evaluator for a problem, according to its models."""
    return (
        PartialKnowledgeEvaluator(problem, measure)
        if problem.model.of_some_columns
        else NodeEvaluator(problem, measure)
    )


def descend_lattice(
    evaluator: PartialKnowledgeEvaluator, lowest: Node, highest: Node, end: float | None
) -> tuple[Figures, float] | None:
    """Return a node that no single step down improves, and a lower bound.

    Returns None where the highest node fails. The bound is the loss at the lowest levels at which each column holds by
    itself. Steps are tried in the order of their savings; a step that fails is not tried again, for it fails even more
    when other columns have gone down.
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
    bound = (
        evaluator.loss(tuple(by_itself)) if evaluator.measure.by_column and problem.model.closed_under_union else 0.0
    )
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


def _column_costs(evaluator: PartialKnowledgeEvaluator, lowest: Node, highest: Node) -> list[npt.NDArray[np.float64]]:
    """Return the relative loss of each column at each of its levels."""
    frequencies = evaluator.problem.frequencies
    costs = []
    for j, ladder in enumerate(evaluator.problem.ladders):
        rows = np.bincount(frequencies.codes[:, j], frequencies.count, len(ladder.codes[0]))
        lost = [float((rows * share[codes]).sum()) for share, codes in zip(ladder.share, ladder.codes, strict=True)]
        costs.append(np.asarray(lost) * evaluator.measure.weight[j])
    return costs
