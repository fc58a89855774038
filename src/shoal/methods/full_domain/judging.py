"""The verdicts on a node's groups, by compiled rules: exactly those of the models.

Sizes come first, for most nodes fail by them. Histograms are rolled up from a finer node and judged in one pass, which
ends where it is certain that the node fails with all finer ones. Where floating point cannot tell whether a group meets
a rule, the models themselves assess that group.

Leaving groups out changes the distribution against which some models measure; so the rest is judged again until
nothing fails, as :func:`shoal.methods.base.suppress_failing` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import FAILS, HOLDS, KIND, TOTALS, UNSURE, WHOLE, make_tally
from shoal.methods.base import Problem
from shoal.methods.bind_rules import bind_rules, totals_of
from shoal.methods.full_domain.kernels.judging import Histograms, judge_again, judge_groups, make_histograms
from shoal.table import Groups
from shoal.table.groups import Histogram
from shoal.table.rules import (
    AGAINST_THE_TABLE,
    CATEGORIES,
    DISTINCT,
    EQUAL,
    HIERARCHICAL,
    ORDERED,
    SHARE,
    WEIGHT,
)

__all__ = ["GroupJudge", "Judged"]

MOST_ROWS = 2**30  # products of two counts fit into 64 bits
FORESEEN = (DISTINCT, CATEGORIES, WEIGHT, SHARE, EQUAL, ORDERED, HIERARCHICAL)  # what `verdict` tells of finer nodes


@dataclass(frozen=True)
class Judged:
    """The verdict on a node.

    ``kept`` tells which groups stay, bool (groups,); None where more than the allowed rows fail, of which ``failing``
    are then some. ``certain`` rows fail at every finer node at least. ``histograms`` are None where not all were made.
    """

    kept: npt.NDArray[np.bool_] | None
    failing: int
    certain: int
    histograms: Histograms | None


class GroupJudge:
    """Judges groups by the rules of a problem's models; ``foresees`` where a node can tell that all finer ones fail."""

    def __init__(self, problem: Problem) -> None:
        frequencies, model = problem.frequencies, problem.model
        self._model = model
        totals = totals_of(frequencies.domains, frequencies.secrets, frequencies.count)
        self._rules = bind_rules(model, frequencies.domains, totals).rules
        kinds, wholes = self._rules.heads[:, KIND], self._rules.heads[:, WHOLE]
        # so many different values need as many rows
        self.least = max(model.least, int(wholes[np.isin(kinds, (DISTINCT, CATEGORIES))].max(initial=1)))
        bound = bind_rules(model, frequencies.domains, totals, self.least)
        self._rules = bound.rules
        # the same rules, compared with the rows that are left
        changing = {name: getattr(self._rules, name).copy() for name in ("heads", "values", "lines")}
        self._rest = self._rules._replace(**changing)
        self._domains = [frequencies.domains[place] for place in bound.used]
        self._known = np.array([totals[place].sum() for place in bound.used], np.int64)
        self._columns = bound.columns(frequencies.secrets)
        self._tally = make_tally(self._rules)
        self._compares = bool((kinds >= AGAINST_THE_TABLE).any())
        self.foresees = self.least > 1 or bool(np.isin(kinds, FORESEEN).any())

    @staticmethod
    def serves(problem: Problem) -> bool:
        """Whether compiled rules decide what the problem's models say."""
        return problem.frequencies.rows < MOST_ROWS and all(
            part.sizes_only or part.rules_decide for part in problem.model.parts
        )

    def begin(self, group: npt.NDArray[np.int64], groups: int, count: npt.NDArray[np.int64]) -> Histograms:
        """The histograms of the finest groups, of which ``group`` has the one of each combination."""
        entries = max(self._columns.size, 1)
        out = Histograms(np.zeros(groups + 1, np.int64), np.empty(entries, np.int32), np.empty(entries, np.int64))
        end = make_histograms(self._columns, count, group, groups, self._tally, out)
        found = Histograms(out.start, out.column[:end].copy(), out.rows[:end].copy())
        self._out = Histograms(np.zeros(groups + 1, np.int64), np.empty_like(found.column), np.empty_like(found.rows))
        self._state = np.empty(groups, np.int8)
        self._room = np.empty((2, groups + 1), np.int64)
        return found

    def judge(
        self, source: Histograms, group: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], limit: int
    ) -> Judged:
        """The verdict on groups of which ``group`` says what groups of the source they are made of.

        Cost: the source's entries, and those of the groups that stay for every round of leaving out.
        """
        rules, out = self._rules, self._out
        state = self._state[: len(sizes)]
        slack = limit / np.maximum(self._known, 1)
        failing, certain, unsure, whole = judge_groups(
            source, group, sizes, rules, self._tally, limit, slack, self._room, out, state
        )
        if not whole:
            return Judged(None, failing, certain, None)
        end = out.start[len(sizes)]
        made = Histograms(out.start[: len(sizes) + 1], out.column[:end], out.rows[:end])
        totals, taken = rules.values[TOTALS].copy(), np.zeros(0, np.int64)
        while True:
            if unsure and failing <= limit:
                failing += self._ask(made, sizes, totals, state)
            if failing > limit:
                return Judged(None, failing, certain, made)
            left_out = np.flatnonzero(state == FAILS)
            if not self._compares or len(left_out) == len(taken):
                return Judged(state == HOLDS, failing, certain, made)
            fresh = np.setdiff1d(left_out, taken, assume_unique=True)
            taken = left_out
            more, unsure = judge_again(made, sizes, self._rest, self._tally, totals, state, fresh)
            failing += more

    def _ask(
        self,
        histograms: Histograms,
        sizes: npt.NDArray[np.int64],
        totals: npt.NDArray[np.int64],
        state: npt.NDArray[np.int8],
    ) -> int:
        """Have the models assess the groups that rules are not sure of; returns the rows of those that fail."""
        asked = np.flatnonzero(state == UNSURE)
        start, offsets = histograms.start, self._rules.offsets
        entries = np.concatenate([np.arange(start[g], start[g + 1]) for g in asked])
        owner = np.repeat(np.arange(len(asked)), start[asked + 1] - start[asked])
        order = np.lexsort((histograms.column[entries], owner))
        entries, owner = entries[order], owner[order]
        column, count = histograms.column[entries], histograms.rows[entries]
        made = []
        for a, domain in enumerate(self._domains):
            own = (column >= offsets[a]) & (column < offsets[a + 1])
            places = np.zeros(len(asked) + 1, np.int64)
            np.cumsum(np.bincount(owner[own], minlength=len(asked)), out=places[1:])
            known = np.zeros(len(asked), np.int64)
            np.add.at(known, owner[own], count[own])
            value = (column[own] - offsets[a]).astype(np.int32)
            made.append(Histogram(domain, places, value, count[own], known, totals[offsets[a] : offsets[a + 1]]))
        holds = self._model.assess(Groups(sizes[asked], tuple(made))).holds
        state[asked] = np.where(holds, HOLDS, FAILS)
        return int(sizes[asked][~holds].sum())
