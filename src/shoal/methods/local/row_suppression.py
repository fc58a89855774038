"""Levels for all rows and suppression of single rows of people.

The method facts-suppression, for tables where the rows of a person can be linked. A person with forty visits is unique
at any level but the highest. Suppressing the few rows that make people unique costs less than generalizing all rows of
everybody. At the levels of a node,

* where all rows of a person may be known, everybody's rows are put into one order, the most frequent first. Histories
  are then paths of a tree. Where too few people end at a node, their last row is suppressed: they join those who end at
  its parent, from the longest paths to the shortest;
* where ``known_rows`` of them may be known, everybody who has a set of rows that too few people share loses the row
  that is in the largest number of these sets, and the rarest of those, until there is no such set.

Nodes are searched from the top: the step down that loses least, as long as one loses less. The result is not proven
optimal; that it meets the models is checked as for any method.

El Emam et al., "De-identification methods for open health data: the case of the Heritage Health Prize claims dataset",
2012 (truncation of long histories); Terrovitis, Mamoulis and Kalnis, 2008 (suppression under k^m).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Annotated, ClassVar, get_args

import numpy as np
import numpy.typing as npt
from annotated_types import Ge
from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import InfeasibleError, PlanError
from shoal.formatting import number
from shoal.methods.base import Method, Problem, Quality, require_quasi_identifiers, row_limit
from shoal.methods.full_domain.method import level_bounds
from shoal.methods.local.base import LocalLoss
from shoal.methods.local.lower_bounds import bound_recoding, levels_between
from shoal.methods.time_limits import deadline_of, is_late
from shoal.models import AllOf
from shoal.models.by_people import ByPeople
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Seconds, Share, Weight
from shoal.schema import Schema
from shoal.table import ByGroup, FrequencySet, Groups, MethodFacts, Recoding, recode_codes, released_ladders
from shoal.table.groups import group_keys, sum_by
from shoal.table.linked_rows import add_crowds
from shoal.table.method_facts import LevelFacts
from shoal.utility.measures import AggregateName, Measure, MeasureName, make_measure

Level = Annotated[int, Ge(0)]
WIDTH = {"fast": 1, "good": 3, "best": 12}
"""Width of the beam: the number of nodes that are continued after each step, by quality."""
Node = tuple[int, ...]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class FactsSuppression(Method):
    """One level per column, and a greedy suppression of single rows of people.

    Parameters
    ----------
    loss, weights, aggregate
        As of the method full-domain.
    suppression
        The largest part of the rows that may be left out.
    levels
        Bounds of levels by column: a number fixes the level, a pair gives the lowest and the highest.
    time_limit
        Seconds after which the best solution found is taken.
    quality
        From how many nodes at once steps down are tried: ``fast``, as without it, from the best one; ``good`` from the
        best three, ``best`` from the best twelve.
    """

    loss: MeasureName = "ncp"
    suppression: Share = 0.1
    levels: Mapping[str, Level | tuple[Level, Level]] = field(default_factory=dict)
    weights: Mapping[str, Weight] = field(default_factory=dict)
    aggregate: AggregateName | None = None
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "facts-suppression"
    anytime: ClassVar[bool] = True
    supports_linked_rows: ClassVar[bool] = True

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, (*self.levels, *self.weights))
        if not any(part.requires_people for part in model.parts):
            raise PlanError("method.facts-suppression-needs-person")

    @override
    def decide(self, problem: Problem) -> ByGroup:
        lowest, highest = level_bounds(self.levels, problem)
        measure = make_measure(
            self.loss, problem.frequencies, problem.ladders, weights=self.weights, aggregate=self.aggregate
        )
        limit = row_limit(self.suppression, problem.frequencies.rows)
        end = deadline_of(self.time_limit)
        best = _Node(problem, highest).solve(measure, limit)
        if best is None:
            raise InfeasibleError(
                "method.suppression-limit-exceeded",
                limit=limit,
                rows=problem.frequencies.rows,
                suppression=self.suppression,
            )
        seen, beam = 1, [best]
        while beam:
            steps: dict[Node, _Solution] = {}
            for parent in beam:
                for column, (level, low) in enumerate(zip(parent.node.levels, lowest, strict=True)):
                    node = (*parent.node.levels[:column], level - 1, *parent.node.levels[column + 1 :])
                    if level == low or node in steps or is_late(end):
                        continue
                    found = _Node(problem, node).solve(measure, limit)
                    seen += 1
                    problem.progress(f"{number(seen)} nodes looked at, best loss {number(best.loss, 5)}", None)
                    if found is not None and found.loss < parent.loss:
                        steps[node] = found
            beam = sorted(steps.values(), key=lambda step: (step.loss, step.node.levels))[
                : WIDTH[self.quality or "fast"]
            ]
            best = min([best, *beam], key=lambda step: step.loss)
        return best.node.publish(best.released, seen)

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        # Every group of released rows has the minimum number of people of the models.
        if self.loss not in get_args(LocalLoss):
            return None
        levels = levels_between(*level_bounds(self.levels, problem))
        return bound_recoding(problem, recoding, self.loss, self.weights, whole=False, effort=0, levels=levels)


@dataclass(frozen=True, kw_only=True)
class FactsSuppressionFacts(MethodFacts):
    """The chosen levels, and the number of nodes evaluated."""

    at: LevelFacts
    nodes_looked_at: int


@dataclass(frozen=True)
class _Solution:
    """The number of released rows of each fact of a node, and their loss."""

    node: _Node
    released: Ints
    loss: float


class _Node:
    """The facts of a table at some levels: rows per person and label.

    ``person``, ``label`` and ``rows`` are those of the facts, by person and then by label; ``fact`` is the fact of each
    combination of the frequency set.
    """

    def __init__(self, problem: Problem, levels: Node) -> None:
        self.problem, self.levels = problem, levels
        frequencies = problem.frequencies
        self.codes, sizes = recode_codes(frequencies.codes, problem.ladders, levels)
        number, self.labels = group_keys(self.codes, sizes)
        key = frequencies.secrets[:, -1].astype(np.int64) * self.labels + number
        facts, self.fact = np.unique(key, return_inverse=True)
        self.fact = self.fact.reshape(-1)
        self.person, self.label = facts // self.labels, facts % self.labels
        self.rows = sum_by(self.fact, frequencies.count, len(facts))
        secrets = np.full((len(facts), frequencies.secrets.shape[1]), -1, np.int32)
        secrets[:, -1] = self.person
        self.table = FrequencySet((), (), frequencies.domains, secrets[:, :0], secrets, self.rows)
        parts = [part for part in problem.model.parts if isinstance(part, ByPeople)]
        self.known_rows = parts[0].known_rows
        self.person_models = AllOf(tuple(replace(part, known_rows=1) for part in parts))

    def solve(self, measure: Measure, limit: int) -> _Solution | None:
        """Suppress rows until the models hold.

        Returns None where more than ``limit`` rows, or all rows, would be suppressed.
        """
        released = self._cut_paths() if self.known_rows is None else self._cut_sets(limit)
        while self._left_out(released) <= limit and released.any():
            assessed, _, holds = self._assess(released)
            if holds.all():
                return _Solution(self, released, self._loss(released, measure))
            # for models that the cuts above ignore, such as shares: people in a failing crowd lose all rows
            histogram = assessed.people
            assert histogram is not None
            suppressed = histogram.value[~holds[histogram.owner]]
            released = np.where(np.isin(self.person, suppressed), 0, released)
        return None

    def _left_out(self, released: Ints) -> int:
        return int((self.rows - released).sum())

    def _groups(self, released: Ints) -> Groups:
        there = released > 0
        number = np.where(
            there, np.cumsum(np.bincount(self.label[there], minlength=self.labels) > 0)[self.label] - 1, -1
        )
        return replace(self.table, count=released).groups_of(number, int(number.max(initial=-1)) + 1)

    def _assess(self, released: Ints) -> tuple[Groups, list[Ints], npt.NDArray[np.bool_]]:
        """Assess groups and crowds of linked rows.

        Returns the groups together with the crowds, the known labels of each as pairs (group or crowd, label), and
        which of them meet the models.
        """
        groups = self._groups(released)
        assessed, crowds = add_crowds(groups, self.known_rows)
        present = np.unique(self.label[released > 0])
        group_or_crowd = np.concatenate([np.arange(groups.count), groups.count + crowds.crowd])
        label = present[np.concatenate([np.arange(groups.count), crowds.group])]
        return assessed, [group_or_crowd, label], self.person_models.assess(assessed).holds

    def _cut_paths(self) -> Ints:
        """Shorten the histories of people where too few share them.

        Everybody's rows form a path in one tree. Where too few people end at a node, they go back by one row, the
        longest paths first.
        """
        occurrence, of_fact = _occurrences(self.rows)
        item = np.unique(self.label[of_fact] * (int(occurrence.max(initial=0)) + 1) + occurrence, return_inverse=True)[
            1
        ].reshape(-1)
        common = np.bincount(item)
        person = self.person[of_fact]
        order = np.lexsort((item, -common[item], person))
        item, person, of_fact = item[order], person[order], of_fact[order]
        everybody, first = np.unique(person, return_index=True)
        length = np.diff(np.r_[first, len(person)])
        path, number, used = np.zeros(len(item), np.int64), np.zeros(len(everybody), np.int64), 1
        for depth in range(int(length.max(initial=0))):
            more = np.flatnonzero(length > depth)
            found, inverse = np.unique(number[more] * len(common) + item[first[more] + depth], return_inverse=True)
            number[more] = used + inverse.reshape(-1)
            path[first[more] + depth] = number[more]
            used += len(found)
        for depth in range(int(length.max(initial=0)), 0, -1):
            here = np.flatnonzero(length == depth)
            if len(here):
                ends = np.unique(path[first[here] + depth - 1], return_inverse=True)[1].reshape(-1)
                length[here[~self.person_models.assess(self._crowds(everybody[here], ends)).holds[ends]]] -= 1
        stays = np.arange(len(item)) - np.repeat(first, np.diff(np.r_[first, len(item)])) < np.repeat(
            length, np.diff(np.r_[first, len(item)])
        )
        return np.bincount(of_fact[stays], minlength=len(self.rows)).astype(np.int64)

    def _crowds(self, person: Ints, crowd: Ints) -> Groups:
        """Return people as groups, by the number of a crowd."""
        secrets = np.full((len(person), self.table.secrets.shape[1]), -1, np.int32)
        secrets[:, -1] = person
        one = np.ones(len(person), np.int64)
        people = FrequencySet((), (), self.table.domains, secrets[:, :0], secrets, one)
        return people.groups_of(crowd, int(crowd.max(initial=-1)) + 1)

    def _cut_sets(self, limit: int) -> Ints:
        """Suppress one row of each person with failing sets, until none fails.

        It is the row in the largest number of failing sets, and the rarest of those.
        """
        released = self.rows.copy()
        while self._left_out(released) <= limit and released.any():
            assessed, (group_or_crowd, label), holds = self._assess(released)
            if holds.all():
                break
            histogram = assessed.people
            assert histogram is not None
            bad = ~holds[histogram.owner]
            # the people of each failing crowd, with each of its known labels
            by_crowd = np.bincount(group_or_crowd, minlength=len(holds))
            order = np.argsort(group_or_crowd, kind="stable")
            begin = np.cumsum(by_crowd) - by_crowd
            owner, person = histogram.owner[bad], histogram.value[bad].astype(np.int64)
            times = by_crowd[owner]
            at = (
                np.arange(int(times.sum()))
                - np.repeat(np.cumsum(times) - times, times)
                + np.repeat(begin[owner], times)
            )
            fact = np.searchsorted(
                self.person * self.labels + self.label, np.repeat(person, times) * self.labels + label[order[at]]
            )
            involved, sets = np.unique(fact, return_counts=True)
            common = np.bincount(self.label[released > 0], minlength=self.labels)[self.label[involved]]
            first = np.lexsort((self.label[involved], common, -sets, self.person[involved]))
            involved = involved[first]
            released[involved[np.unique(self.person[involved], return_index=True)[1]]] -= 1
        return released

    def _loss(self, released: Ints, measure: Measure) -> float:
        size = np.bincount(self.label, released, self.labels)
        first = np.zeros(self.labels, np.int64)
        first[self.label[self.fact]] = np.arange(len(self.fact))
        sums = np.asarray(
            [
                (parts[level][self.codes[first, a]] * size).sum()
                for a, (parts, level) in enumerate(zip(measure.cost, self.levels, strict=True))
            ]
        )
        return measure.value(sums, self._left_out(released), int((size > 0).sum()), float((size**2).sum()))

    def publish(self, released: Ints, seen: int) -> ByGroup:
        """Return the recoding of the released rows.

        Which of a person's rows with one label are released is drawn at random, independently of their content.
        """
        frequencies, ladders = self.problem.frequencies, self.problem.ladders
        random_order = np.random.default_rng(self.problem.seed).permutation(len(self.fact))
        order = np.lexsort((random_order, self.fact))
        before = np.cumsum(frequencies.count[order]) - frequencies.count[order]
        begin = (np.cumsum(self.rows) - self.rows)[self.fact[order]]
        quota = released[self.fact[order]] - (before - begin)
        count = np.zeros(len(order), np.int64)
        count[order] = np.clip(quota, 0, frequencies.count[order])
        row = np.flatnonzero(count)
        number, groups = group_keys(self.label[self.fact[row]][:, None].astype(np.int32), [self.labels])
        first = np.unique(number, return_index=True)[1]
        released_hierarchies = released_ladders(frequencies, ladders, row)
        labels, height, share = [], [], []
        for a, (ladder, level) in enumerate(zip(released_hierarchies, self.levels, strict=True)):
            codes = self.codes[row[first], a]
            labels.append([ladder.labels[level][code] for code in codes])
            height.append(np.full(groups, level / max(ladder.height, 1)))
            share.append(ladders[a].share[level][codes])
        at = LevelFacts(levels=dict(zip(self.problem.names, self.levels, strict=True)))
        facts = FactsSuppressionFacts(at=at, nodes_looked_at=seen)
        return ByGroup(row, number, count[row], tuple(labels), np.stack(height, 1), np.stack(share, 1), facts)


def _occurrences(rows: Ints) -> tuple[Ints, Ints]:
    """Enumerate the rows of facts: the number within the fact, and the fact.

    Numbers start at 0; ``rows`` is the number of rows of each fact.
    """
    fact = np.repeat(np.arange(len(rows)), rows)
    return np.arange(len(fact)) - np.repeat(np.cumsum(rows) - rows, rows), fact
