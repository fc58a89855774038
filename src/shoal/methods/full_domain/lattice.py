"""Nodes of the generalization lattice and their figures by roll-up.

A node is one level per quasi-identifier. Its figures are computed from the groups of the coarsest finer node that was
evaluated before, never from the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem, suppress_failing
from shoal.methods.full_domain.judging import GroupEvaluator
from shoal.methods.full_domain.kernels.judging import Histograms
from shoal.methods.full_domain.kernels.lattice import (
    count_people,
    group_entries,
    make_lifts,
    make_roll_scratch,
    released_figures,
    roll_up,
)
from shoal.models import AllOf
from shoal.models.by_people import ByPeople
from shoal.table import FrequencySet, Groups
from shoal.table.groups import PopulationCounts, sum_by
from shoal.utility.measures import Measure

Node = tuple[int, ...]
SNAPSHOT_CODES = 40_000_000  # maximum number of codes in cached tables of groups; 160 MB
UNAVAILABLE = 2**62  # more entries than any histograms have
PEOPLE_SHIFT = 31  # a count has its rows in the lower bits, and its people of the population above them
ROWS_MASK = 2**PEOPLE_SHIFT - 1


@dataclass(frozen=True)
class Figures:
    """The loss of a node, and its groups and suppressed rows.

    Attributes
    ----------
    suppressed
        Rows in groups that fail the models; a lower bound where they exceed the limit.
    certain
        Lower bound of the rows that every finer node suppresses: rows that fail by size or by models that are closed
        under
        supersets, or that must leave their groups (:func:`shoal.kernels.rules.verdict`).
    floor
        For measures by group: the least loss of the node and of every coarser one.
    """

    node: Node
    loss: float
    suppressed: int
    certain: int
    groups: int
    floor: float


class _Pairs:
    """Pairs of a person and a combination, to count the people of groups.

    Ordered by person, so that one pass over the pairs counts the people of all groups of a node.
    """

    def __init__(self, combination: npt.NDArray[np.int64], count: int, problem: Problem) -> None:
        """Build the pairs of a problem.

        ``combination`` is the combination of each entry of the frequency set, of ``count`` distinct ones.
        """
        frequencies = problem.frequencies
        person_column = next(s for s, domain in enumerate(frequencies.domains) if domain.people is not None)
        person = frequencies.secrets[:, person_column].astype(np.int64)
        pair = np.sort(person * count + combination)
        pair = pair[np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])]
        self.person = (pair // count).astype(np.int32)
        self.combination = (pair % count).astype(np.int32)
        self.max_rows_per_person = int(np.bincount(person, frequencies.count).max(initial=0))  # rows of one person
        self._last = np.empty(count, np.int32)
        self._people = np.empty(count, np.int64)

    def people(self, counts: npt.NDArray[np.int64], least: int, member: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Count the people of each group, or an equivalent of it.

        See :func:`count_people`. The next call overwrites the result.
        """
        count_people(
            counts, least, self.max_rows_per_person, self.combination, self.person, member, self._last, self._people
        )
        return self._people[: len(counts)]


class NodeEvaluator:
    """Evaluator of nodes that caches their groups for coarser ones.

    Time per node: the groups of its source times the columns; the source is the smallest cached table of a finer node.
    """

    def __init__(self, problem: Problem, measure: Measure, by_sizes: bool = True) -> None:
        """Set up the evaluation of a problem.

        Without ``by_sizes`` the models are assessed even where they depend on sizes only.
        """
        self.problem = problem
        self.measure = measure
        self.seen = 0
        frequencies = problem.frequencies
        self._columns = frequencies.codes.shape[1]
        of_people = [isinstance(part, ByPeople) and part.people_sizes_only for part in problem.model.parts]
        by_people = by_sizes and bool(of_people) and all(of_people)
        self._sizes_only = by_people or (problem.model.sizes_only and by_sizes)
        self.least = problem.model.least
        self._evaluator = None if self._sizes_only or not GroupEvaluator.supports(problem) else GroupEvaluator(problem)
        self._counts_only = not self._sizes_only and all(part.counts_only for part in problem.model.parts)
        by_entries = not self._sizes_only and not self._counts_only and self._evaluator is None
        count = frequencies.count
        superset_closed = tuple(part for part in problem.model.parts if part.closed_under_superset)
        self._superset_closed = (
            AllOf(superset_closed) if superset_closed and len(superset_closed) < len(problem.model.parts) else None
        )
        self.predicts_finer_failure = (
            bool(superset_closed) if self._evaluator is None else self._evaluator.predicts_finer_failure
        )
        ladders = [list(ladder.codes) for ladder in problem.ladders]
        secrets = frequencies.secrets
        if any(domain.people is not None for domain in frequencies.domains):
            # sensitive values of a person are known: rows of a person that differ in nothing else are one entry
            other = [domain.people is None for domain in frequencies.domains]
            secrets = np.where(other, np.int32(-1), secrets)
        extra = [[np.arange(domain.size + 1, dtype=np.int32)] for domain in frequencies.domains] if by_entries else []
        self._lifts = make_lifts([*ladders, *extra])
        codes = np.concatenate([frequencies.codes, secrets + 1], axis=1) if by_entries else frequencies.codes
        self._population = frequencies.population
        if self._population is not None:
            # people of the population are further entries without rows; both numbers are parts of one count
            others = np.zeros((len(self._population.count), codes.shape[1]), np.int32)
            others[:, : self._columns] = self._population.codes
            codes = np.concatenate([codes, others])
            count = np.concatenate([count, self._population.count << PEOPLE_SHIFT])
        base = np.ascontiguousarray(codes.T, np.int32)
        attributes, rows = base.shape
        self._scratch = make_roll_scratch(rows)
        bottom = np.zeros(attributes, np.int64)
        start = np.empty_like(base)
        counts = np.empty(rows, np.int64)
        # rows that differ in a sensitive value only are merged where groups have histograms or only sizes matter
        groups = roll_up(base, count, bottom, bottom, self._lifts, self._scratch, start, counts)
        self._levels = np.zeros((64, attributes), np.int64)
        self._group_counts = np.zeros(64, np.int64)
        self._histogram_sizes = np.zeros(64, np.int64)  # entries of histograms; NONE where there are none
        self._tables = [(np.ascontiguousarray(start[:, :groups]), counts[:groups].copy())]
        self._pairs = _Pairs(self._scratch.group[:rows], groups, problem) if by_people else None
        self._members = [np.arange(groups if by_people else 0, dtype=np.int32)]
        self._histograms: list[Histograms | None] = [None]
        if self._evaluator is not None:
            self.least = self._evaluator.least
            made = self._evaluator.begin(self._scratch.group[:rows], groups, frequencies.count)
            self._histograms = [made]
            self._histogram_sizes[0] = len(made.rows)
        self._group_counts[0] = groups
        self._stored = groups * attributes
        self._output = (np.empty((attributes, groups), np.int32), np.empty(groups, np.int64))

    @cached_property
    def _costs(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Return the costs by code, flat, and the start of each column's level."""
        at = np.zeros((self._columns, max((len(parts) for parts in self.measure.cost), default=1)), np.int64)
        flat: list[npt.NDArray[np.float64]] = []
        offset = 0
        for a, parts in enumerate(self.measure.cost):
            for level, part in enumerate(parts):
                at[a, level] = offset
                flat.append(part)
                offset += len(part)
        return (np.concatenate(flat) if flat else np.zeros(1)), at

    def look(self, node: Node, limit: int, loss_limit: float = math.inf) -> Figures:
        """Evaluate a node; its loss is infinite if more than ``limit`` rows fail.

        It may also be infinite where it exceeds ``loss_limit``.
        """
        self.seen += 1
        levels = np.zeros(self._levels.shape[1], np.int64)
        levels[: self._columns] = node
        known = len(self._tables)
        below = np.asarray((self._levels[:known] <= levels).all(axis=1))
        source = int(np.where(below, self._group_counts[:known], UNAVAILABLE).argmin())
        groups = self._roll_up(source, levels)
        out_codes, out_counts = self._output
        if self._evaluator is not None:
            return self._by_rules(node, levels, source, groups, below, limit, loss_limit)
        self._cache_groups(levels, groups, source, None)
        if self._counts_only:
            return self._by_counts(node, levels, out_codes[:, :groups], out_counts[:groups], limit)
        if self._sizes_only:
            return self._by_size(node, levels, out_codes, out_counts[:groups], limit)
        return self._by_model(node, levels, out_codes[:, :groups], out_counts[:groups], limit)

    def _roll_up(self, source: int, levels: npt.NDArray[np.int64]) -> int:
        """Compute the groups of a node from those of a finer one.

        Where people are counted, ``_member`` is then the group of each combination of the table.
        """
        codes, counts = self._tables[source]
        groups = roll_up(codes, counts, self._levels[source], levels, self._lifts, self._scratch, *self._output)
        self._member = self._scratch.group[self._members[source]].astype(np.int32)
        return int(groups)

    def _cache_groups(
        self, levels: npt.NDArray[np.int64], groups: int, source: int, histograms: Histograms | None
    ) -> None:
        """Cache a node's groups if they are clearly fewer than their source's."""
        codes, counts = self._output
        attributes = len(levels)
        entries = 0 if histograms is None else len(histograms.rows)
        needed = (
            groups * attributes + 3 * entries + len(self._member)
        )  # an entry has a column and a count, which takes two codes
        if groups > 0.8 * self._group_counts[source] or self._stored + needed > SNAPSHOT_CODES:
            return
        known = len(self._tables)
        if known == len(self._group_counts):
            self._levels = np.concatenate([self._levels, np.zeros_like(self._levels)])
            self._group_counts = np.concatenate([self._group_counts, np.zeros_like(self._group_counts)])
            self._histogram_sizes = np.concatenate([self._histogram_sizes, np.zeros_like(self._histogram_sizes)])
        self._levels[known] = levels
        self._group_counts[known] = groups
        self._histogram_sizes[known] = UNAVAILABLE if histograms is None else entries
        self._tables.append((codes[:, :groups].copy(), counts[:groups].copy()))
        self._members.append(self._member)
        self._histograms.append(None if histograms is None else Histograms(*(part.copy() for part in histograms)))
        self._stored += needed

    def _by_rules(
        self,
        node: Node,
        levels: npt.NDArray[np.int64],
        source: int,
        groups: int,
        below: npt.NDArray[np.bool_],
        limit: int,
        loss_limit: float,
    ) -> Figures:
        """Evaluate by compiled rules: sizes first, then histograms."""
        assert self._evaluator is not None
        codes, counts = self._output
        by_size = self._by_size(node, levels, codes, counts[:groups], limit)
        if by_size.suppressed > limit or (self._suppression_never_saves and by_size.loss * (1 - 1e-12) > loss_limit):
            self._cache_groups(levels, groups, source, None)
            return replace(by_size, loss=math.inf)
        if self._histograms[source] is None:
            source = int(np.where(below, self._histogram_sizes[: len(below)], UNAVAILABLE).argmin())
            groups = self._roll_up(source, levels)
        made = self._histograms[source]
        assert made is not None
        sizes = counts[:groups]
        verdict = self._evaluator.evaluate(made, self._scratch.group[: self._group_counts[source]], sizes, limit)
        self._cache_groups(levels, groups, source, verdict.histograms)
        if verdict.retained is None:
            return Figures(node, math.inf, int(verdict.failing), int(verdict.certain), 0, by_size.floor)
        sums = np.zeros(self._columns)
        retained = np.where(verdict.retained, sizes, 0)
        _, retained_groups, squares, _ = released_figures(codes, retained, retained, levels, 1, *self._costs, sums)
        loss = self.measure.value(sums, verdict.failing, retained_groups, squares)
        return Figures(node, loss, int(verdict.failing), int(verdict.certain), int(retained_groups), by_size.floor)

    @property
    def _suppression_never_saves(self) -> bool:
        """Return whether a suppressed row never loses less than a released one."""
        measure = self.measure
        return measure.by_column and measure.name != "height" and measure.suppression >= measure.generalization

    def _by_size(
        self,
        node: Node,
        levels: npt.NDArray[np.int64],
        codes: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        limit: int,
    ) -> Figures:
        sums = np.zeros(self._columns)
        cost, at = self._costs
        people = counts
        # groups with too few rows have too few people as well
        if self._pairs is not None and int(counts[counts < self.least].sum()) <= limit:
            people = self._pairs.people(counts, self.least, self._member)
        suppressed, retained, squares, all_squares = released_figures(
            codes, counts, people, levels, self.least, cost, at, sums
        )
        loss = math.inf
        if suppressed <= limit:
            loss = self.measure.value(sums, suppressed, retained, squares)
        floor = 0.0 if self.measure.by_column else self.measure.floor(len(counts), all_squares)
        return Figures(node, loss, int(suppressed), int(suppressed), int(retained), floor)

    def _by_counts(
        self,
        node: Node,
        levels: npt.NDArray[np.int64],
        codes: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        limit: int,
    ) -> Figures:
        """Evaluate by numbers of rows and of people, without histograms."""
        people = None
        if self._population is not None:
            size, second = counts & ROWS_MASK, counts >> PEOPLE_SHIFT
            inhabited = size > 0
            people = PopulationCounts(second[inhabited], second[~inhabited], self._population.contains_release)
            codes, counts = np.ascontiguousarray(codes[:, inhabited]), size[inhabited]
        groups = Groups(counts, people_of=people)
        model = self.problem.model
        certain = 0
        if self._superset_closed is not None:
            certain = int(counts[~self._superset_closed.assess(groups).holds].sum())
        stays = np.ones(len(counts), np.bool_)
        while len(groups.size) and not (holds := model.assess(groups).holds).all():
            people = None if people is None else people.without(holds, int(groups.size[~holds].sum()))
            stays[stays] = holds
            groups = Groups(counts[stays], people_of=people)
        retained = np.where(stays, counts, 0)
        sums = np.zeros(self._columns)
        suppressed = int(counts.sum()) - int(retained.sum())
        _, number, squares, _ = released_figures(codes, retained, retained, levels, 1, *self._costs, sums)
        if self._superset_closed is None and model.closed_under_superset:
            certain = suppressed
        floor = 0.0 if self.measure.by_column else self.measure.floor(len(counts), float((counts**2).sum()))
        loss = self.measure.value(sums, suppressed, number, squares) if suppressed <= limit else math.inf
        return Figures(node, loss, suppressed, certain, int(number), floor)

    def _by_model(
        self,
        node: Node,
        levels: npt.NDArray[np.int64],
        codes: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        limit: int,
    ) -> Figures:
        frequencies = self.problem.frequencies
        packed, counts = counts, counts & ROWS_MASK if self._population is not None else counts
        groups = group_entries(codes, self._columns, levels, levels, self._lifts, self._scratch)
        inverse = self._scratch.group[: len(counts)].copy()
        first = self._scratch.first[:groups].copy()
        entries = FrequencySet(
            (), (), frequencies.domains, codes[: self._columns].T, codes[self._columns :].T - 1, counts
        )
        people = None
        if self._population is not None:
            size, second = (sum_by(inverse, part, groups) for part in (counts, packed >> PEOPLE_SHIFT))
            inhabited = size > 0
            people = PopulationCounts(second[inhabited], second[~inhabited], self._population.contains_release)
            inverse = np.where(inhabited, np.cumsum(inhabited) - 1, -1)[inverse]
            groups = int(inhabited.sum())
            rows = np.flatnonzero(counts)
            first = rows[np.unique(inverse[rows], return_index=True)[1]]
        certain = 0
        if self._superset_closed is not None:
            grouped = replace(entries.groups_of(inverse, groups), people_of=people)
            certain = int(grouped.size[~self._superset_closed.assess(grouped).holds].sum())
        number, rest = suppress_failing(entries, inverse, groups, self.problem.model, people)
        size = np.bincount(inverse[inverse >= 0], weights=counts[inverse >= 0], minlength=groups)
        retained = number[first] >= 0
        suppressed = self.measure.rows - rest.rows
        if self._superset_closed is None and self.problem.model.closed_under_superset:
            certain = suppressed
        loss = math.inf
        floor = 0.0 if self.measure.by_column else self.measure.floor(groups, float((size**2).sum()))
        if suppressed > limit:
            return Figures(node, loss, suppressed, certain, rest.count, floor)
        sums = np.asarray(
            [
                (parts[level][codes[a, first[retained]]] * size[retained]).sum()
                for a, (parts, level) in enumerate(zip(self.measure.cost, node, strict=True))
            ]
        )
        squares = float((size[retained] ** 2).sum())
        loss = self.measure.value(sums, suppressed, rest.count, squares)
        return Figures(node, loss, suppressed, certain, rest.count, floor)
