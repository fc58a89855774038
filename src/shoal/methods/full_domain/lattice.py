"""The generalization lattice of a table: its nodes, and their figures by roll-up.

A node is one level per quasi-identifier. Its figures are computed from the groups of the coarsest finer node that
was looked at before, never from the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.methods.base import Problem, suppress_failing
from shoal.methods.full_domain.judging import GroupJudge
from shoal.methods.full_domain.kernels.judging import Histograms
from shoal.methods.full_domain.kernels.lattice import (
    count_people,
    group_entries,
    kept_figures,
    make_lifts,
    make_scratch,
    roll_up,
)
from shoal.models import AllOf
from shoal.models.by_people import ByPeople
from shoal.table import FrequencySet
from shoal.utility.measures import Measure

__all__ = ["Figures", "Node", "NodeEvaluator"]

Node = tuple[int, ...]
SNAPSHOT_CODES = 40_000_000  # codes kept of groups seen before; 160 MB
NONE = 2**62  # more entries than any histograms have


@dataclass(frozen=True)
class Figures:
    """What is known of a node: its loss, and the groups and rows behind it.

    Attributes
    ----------
    suppressed
        Rows in groups that fail the models; where they are more than allowed, at least so many.
    certain
        Every finer node leaves out at least so many: rows that fail because of sizes or of models that absorb, or that
        must leave their groups (:func:`shoal.kernels.rules.verdict`).
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
    """Who has a row in which combination of a table, for searches that ask how many people a group has.

    Ordered by person, so that one pass over the pairs counts the people of all groups of a node.
    """

    def __init__(self, combination: npt.NDArray[np.int64], count: int, problem: Problem) -> None:
        """``combination`` is the one of each entry of the frequency set, of ``count`` different ones."""
        frequencies = problem.frequencies
        place = next(s for s, domain in enumerate(frequencies.domains) if domain.people is not None)
        person = frequencies.secrets[:, place].astype(np.int64)
        pair = np.sort(person * count + combination)
        pair = pair[np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])]
        self.person = (pair // count).astype(np.int32)
        self.combination = (pair % count).astype(np.int32)
        self.most = int(np.bincount(person, frequencies.count).max(initial=0))  # rows of one person
        self._last = np.empty(count, np.int32)
        self._people = np.empty(count, np.int64)

    def people(self, counts: npt.NDArray[np.int64], least: int, member: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """How many people each group has, or as good as that: see :func:`count_people`. Overwritten by the next."""
        count_people(counts, least, self.most, self.combination, self.person, member, self._last, self._people)
        return self._people[: len(counts)]


class NodeEvaluator:
    """Looks at nodes, and keeps their groups for coarser ones.

    Time per node: the groups of its source times the columns; the source is the smallest table of a finer node.
    """

    def __init__(self, problem: Problem, measure: Measure, by_sizes: bool = True) -> None:
        """Without ``by_sizes`` the models are asked themselves, also where sizes are all that they look at."""
        self.problem = problem
        self.measure = measure
        self.seen = 0
        frequencies = problem.frequencies
        self._columns = frequencies.codes.shape[1]
        of_people = [isinstance(part, ByPeople) and part.sizes_of_people for part in problem.model.parts]
        by_people = by_sizes and bool(of_people) and all(of_people)
        self._sizes_only = by_people or (problem.model.sizes_only and by_sizes)
        self.least = problem.model.least
        self._judge = None if self._sizes_only or not GroupJudge.serves(problem) else GroupJudge(problem)
        by_entries = not self._sizes_only and self._judge is None
        absorbing = tuple(part for part in problem.model.parts if part.absorbs)
        self._absorbing = AllOf(absorbing) if absorbing and len(absorbing) < len(problem.model.parts) else None
        self.foresees = bool(absorbing) if self._judge is None else self._judge.foresees
        ladders = [list(ladder.codes) for ladder in problem.ladders]
        secrets = frequencies.secrets
        if any(domain.people is not None for domain in frequencies.domains):
            # what people have is known of them: rows of a person that differ in nothing else are one entry
            other = [domain.people is None for domain in frequencies.domains]
            secrets = np.where(other, np.int32(-1), secrets)
        extra = [[np.arange(domain.size + 1, dtype=np.int32)] for domain in frequencies.domains] if by_entries else []
        self._lifts = make_lifts([*ladders, *extra])
        codes = np.concatenate([frequencies.codes, secrets + 1], axis=1) if by_entries else frequencies.codes
        base = np.ascontiguousarray(codes.T, np.int32)
        attributes, rows = base.shape
        self._scratch = make_scratch(rows)
        bottom = np.zeros(attributes, np.int64)
        start = np.empty_like(base)
        counts = np.empty(rows, np.int64)
        # rows that differ only in a sensitive value are one where groups have histograms, or sizes are all that matters
        groups = roll_up(base, frequencies.count, bottom, bottom, self._lifts, self._scratch, start, counts)
        self._levels = np.zeros((64, attributes), np.int64)
        self._held = np.zeros(64, np.int64)
        self._counted = np.zeros(64, np.int64)  # entries of histograms, and more than any where there are none
        self._tables = [(np.ascontiguousarray(start[:, :groups]), counts[:groups].copy())]
        self._pairs = _Pairs(self._scratch.group[:rows], groups, problem) if by_people else None
        self._members = [np.arange(groups if by_people else 0, dtype=np.int32)]
        self._histograms: list[Histograms | None] = [None]
        if self._judge is not None:
            self.least = self._judge.least
            made = self._judge.begin(self._scratch.group[:rows], groups, frequencies.count)
            self._histograms = [made]
            self._counted[0] = len(made.rows)
        self._held[0] = groups
        self._stored = groups * attributes
        self._room = (np.empty((attributes, groups), np.int32), np.empty(groups, np.int64))

    @cached_property
    def _costs(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
        """Costs by code, flat, and where each column's level begins."""
        at = np.zeros((self._columns, max((len(parts) for parts in self.measure.cost), default=1)), np.int64)
        flat: list[npt.NDArray[np.float64]] = []
        place = 0
        for a, parts in enumerate(self.measure.cost):
            for level, part in enumerate(parts):
                at[a, level] = place
                flat.append(part)
                place += len(part)
        return (np.concatenate(flat) if flat else np.zeros(1)), at

    def look(self, node: Node, limit: int, enough: float = math.inf) -> Figures:
        """The figures of a node; its loss is infinite where more than ``limit`` rows fail.

        It may be infinite, too, where it is above ``enough``.
        """
        self.seen += 1
        levels = np.zeros(self._levels.shape[1], np.int64)
        levels[: self._columns] = node
        known = len(self._tables)
        below = np.asarray((self._levels[:known] <= levels).all(axis=1))
        source = int(np.where(below, self._held[:known], NONE).argmin())
        groups = self._roll_up(source, levels)
        out_codes, out_counts = self._room
        if self._judge is not None:
            return self._by_rules(node, levels, source, groups, below, limit, enough)
        self._keep(levels, groups, source, None)
        if self._sizes_only:
            return self._by_size(node, levels, out_codes, out_counts[:groups], limit)
        return self._by_model(node, levels, out_codes[:, :groups], out_counts[:groups], limit)

    def _roll_up(self, source: int, levels: npt.NDArray[np.int64]) -> int:
        """Make the groups of a node from those of a finer one.

        Where people are counted, ``_member`` is then the group of each combination of the table.
        """
        codes, counts = self._tables[source]
        groups = roll_up(codes, counts, self._levels[source], levels, self._lifts, self._scratch, *self._room)
        self._member = self._scratch.group[self._members[source]].astype(np.int32)
        return int(groups)

    def _keep(self, levels: npt.NDArray[np.int64], groups: int, source: int, histograms: Histograms | None) -> None:
        """Remember a node's groups where they are noticeably fewer than those they came from."""
        codes, counts = self._room
        attributes = len(levels)
        entries = 0 if histograms is None else len(histograms.rows)
        needed = groups * attributes + 3 * entries + len(self._member)  # an entry has a column and a count
        if groups > 0.8 * self._held[source] or self._stored + needed > SNAPSHOT_CODES:
            return
        known = len(self._tables)
        if known == len(self._held):
            self._levels = np.concatenate([self._levels, np.zeros_like(self._levels)])
            self._held = np.concatenate([self._held, np.zeros_like(self._held)])
            self._counted = np.concatenate([self._counted, np.zeros_like(self._counted)])
        self._levels[known] = levels
        self._held[known] = groups
        self._counted[known] = NONE if histograms is None else entries
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
        enough: float,
    ) -> Figures:
        """By compiled rules: sizes first, then histograms."""
        assert self._judge is not None
        codes, room = self._room
        by_size = self._by_size(node, levels, codes, room[:groups], limit)
        if by_size.suppressed > limit or (self._adds_up and by_size.loss * (1 - 1e-12) > enough):
            self._keep(levels, groups, source, None)
            return replace(by_size, loss=math.inf)
        if self._histograms[source] is None:
            source = int(np.where(below, self._counted[: len(below)], NONE).argmin())
            groups = self._roll_up(source, levels)
        made = self._histograms[source]
        assert made is not None
        sizes = room[:groups]
        judged = self._judge.judge(made, self._scratch.group[: self._held[source]], sizes, limit)
        self._keep(levels, groups, source, judged.histograms)
        if judged.kept is None:
            return Figures(node, math.inf, int(judged.failing), int(judged.certain), 0, by_size.floor)
        sums = np.zeros(self._columns)
        kept = np.where(judged.kept, sizes, 0)
        _, staying, squares, _ = kept_figures(codes, kept, kept, levels, 1, *self._costs, sums)
        loss = self.measure.value(sums, judged.failing, staying, squares)
        return Figures(node, loss, int(judged.failing), int(judged.certain), int(staying), by_size.floor)

    @property
    def _adds_up(self) -> bool:
        """Whether a row that is left out never loses less than one that is kept."""
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
        # where too many rows are in groups of too few rows, there are no fewer in groups of too few people
        if self._pairs is not None and int(counts[counts < self.least].sum()) <= limit:
            people = self._pairs.people(counts, self.least, self._member)
        suppressed, kept, squares, every = kept_figures(codes, counts, people, levels, self.least, cost, at, sums)
        loss = math.inf
        if suppressed <= limit:
            loss = self.measure.value(sums, suppressed, kept, squares)
        floor = 0.0 if self.measure.by_column else self.measure.floor(len(counts), every)
        return Figures(node, loss, int(suppressed), int(suppressed), int(kept), floor)

    def _by_model(
        self,
        node: Node,
        levels: npt.NDArray[np.int64],
        codes: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        limit: int,
    ) -> Figures:
        frequencies = self.problem.frequencies
        groups = group_entries(codes, self._columns, levels, levels, self._lifts, self._scratch)
        inverse = self._scratch.group[: len(counts)].copy()
        first = self._scratch.first[:groups].copy()
        entries = FrequencySet(
            (), (), frequencies.domains, codes[: self._columns].T, codes[self._columns :].T - 1, counts
        )
        certain = 0
        if self._absorbing is not None:
            grouped = entries.groups_of(inverse, groups)
            certain = int(grouped.size[~self._absorbing.assess(grouped).holds].sum())
        number, rest = suppress_failing(entries, inverse, groups, self.problem.model)
        size = np.bincount(inverse, weights=counts, minlength=groups)
        kept = number[first] >= 0
        suppressed = self.measure.rows - rest.rows
        if self._absorbing is None and self.problem.model.absorbs:
            certain = suppressed
        loss = math.inf
        floor = 0.0 if self.measure.by_column else self.measure.floor(groups, float((size**2).sum()))
        if suppressed > limit:
            return Figures(node, loss, suppressed, certain, rest.count, floor)
        sums = np.asarray(
            [
                (parts[level][codes[a, first[kept]]] * size[kept]).sum()
                for a, (parts, level) in enumerate(zip(self.measure.cost, node, strict=True))
            ]
        )
        squares = float((size[kept] ** 2).sum())
        loss = self.measure.value(sums, suppressed, rest.count, squares)
        return Figures(node, loss, suppressed, certain, rest.count, floor)
