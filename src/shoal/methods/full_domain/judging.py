"""Evaluation of the groups of a node by compiled rules.

The verdicts are exactly those of the models. Sizes are checked first, as most nodes fail by them. Histograms are rolled
up from a finer node and evaluated in one pass, which ends as soon as it is certain that the node fails with all finer
ones. Where floating point cannot decide whether a group meets a rule, the models themselves assess that group.

Suppressing groups changes the distribution against which some models compare. So the remaining groups are evaluated
again until none fails, as in :func:`shoal.methods.base.suppress_failing`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.kernels.rules import FAILS, HOLDS, KIND, TOTALS, UNSURE, WHOLE, make_tally
from shoal.methods.base import Problem
from shoal.methods.bind_rules import bind_rules, count_sensitive_values
from shoal.methods.full_domain.kernels.judging import Histograms, evaluate_groups, make_histograms, reevaluate_groups
from shoal.table import Groups
from shoal.table.groups import Histogram
from shoal.table.rules import (
    CATEGORIES,
    DISTINCT,
    EQUAL,
    FIRST_TABLE_COMPARISON,
    HIERARCHICAL,
    ORDERED,
    SHARE,
    WEIGHT,
)

MAX_ROWS = 2**30  # products of two counts must fit into 64 bits
KINDS_PREDICTING_FAILURE = (
    DISTINCT,
    CATEGORIES,
    WEIGHT,
    SHARE,
    EQUAL,
    ORDERED,
    HIERARCHICAL,
)  # kinds of which `verdict` bounds finer nodes


@dataclass(frozen=True)
class NodeVerdict:
    """The verdict on a node.

    ``retained`` marks the groups that stay, bool (groups,); it is None where more than the allowed rows fail, and
    ``failing`` is then a lower bound of their number. At least ``certain`` rows fail at every finer node.
    ``histograms`` is None where not all were computed.
    """

    retained: npt.NDArray[np.bool_] | None
    failing: int
    certain: int
    histograms: Histograms | None


class GroupEvaluator:
    """Evaluator of groups by the rules of a problem's models.

    ``predicts_finer_failure`` says whether a node can prove that all finer nodes fail.
    """

    def __init__(self, problem: Problem) -> None:
        frequencies, model = problem.frequencies, problem.model
        self._model = model
        totals = count_sensitive_values(frequencies.domains, frequencies.secrets, frequencies.count)
        self._rules = bind_rules(model, frequencies.domains, totals).rules
        kinds, wholes = self._rules.rule_headers[:, KIND], self._rules.rule_headers[:, WHOLE]
        # a number of distinct values needs as many rows
        self.least = max(model.least, int(wholes[np.isin(kinds, (DISTINCT, CATEGORIES))].max(initial=1)))
        bound = bind_rules(model, frequencies.domains, totals, self.least)
        self._rules = bound.rules
        # the same rules, compared with the remaining rows
        changing = {name: getattr(self._rules, name).copy() for name in ("rule_headers", "values", "rule_data")}
        self._remaining_rules = self._rules._replace(**changing)
        self._domains = [frequencies.domains[index] for index in bound.used]
        self._known = np.array([totals[index].sum() for index in bound.used], np.int64)
        self._columns = bound.columns(frequencies.secrets)
        self._tally = make_tally(self._rules)
        self._compares_with_table = bool((kinds >= FIRST_TABLE_COMPARISON).any())
        self.predicts_finer_failure = self.least > 1 or bool(np.isin(kinds, KINDS_PREDICTING_FAILURE).any())

    @staticmethod
    def supports(problem: Problem) -> bool:
        """Return whether compiled rules decide all models of the problem."""
        return problem.frequencies.rows < MAX_ROWS and all(
            part.has_exact_rules(problem.frequencies.domains) for part in problem.model.parts
        )

    def begin(self, group: npt.NDArray[np.int64], groups: int, count: npt.NDArray[np.int64]) -> Histograms:
        """Build the histograms of the finest groups.

        ``group`` is the group of each combination.
        """
        entries = max(self._columns.size, 1)
        out = Histograms(np.zeros(groups + 1, np.int64), np.empty(entries, np.int32), np.empty(entries, np.int64))
        end = make_histograms(self._columns, count, group, groups, self._tally, out)
        found = Histograms(out.start, out.column[:end].copy(), out.rows[:end].copy())
        self._out = Histograms(np.zeros(groups + 1, np.int64), np.empty_like(found.column), np.empty_like(found.rows))
        self._state = np.empty(groups, np.int8)
        self._group_lists = np.empty((2, groups + 1), np.int64)
        return found

    def evaluate(
        self, source: Histograms, group: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], limit: int
    ) -> NodeVerdict:
        """Evaluate groups that consist of groups of a source.

        ``group`` is the resulting group of each source group. Cost: the source's entries, and the entries of the
        remaining groups for every round of suppression.
        """
        rules, out = self._rules, self._out
        state = self._state[: len(sizes)]
        slack = limit / np.maximum(self._known, 1)
        failing, certain, unsure, complete = evaluate_groups(
            source, group, sizes, rules, self._tally, limit, slack, self._group_lists, out, state
        )
        if not complete:
            return NodeVerdict(None, failing, certain, None)
        end = out.start[len(sizes)]
        made = Histograms(out.start[: len(sizes) + 1], out.column[:end], out.rows[:end])
        totals, removed = rules.values[TOTALS].copy(), np.zeros(0, np.int64)
        while True:
            if unsure and failing <= limit:
                failing += self._assess_unsure(made, sizes, totals, state)
            if failing > limit:
                return NodeVerdict(None, failing, certain, made)
            left_out = np.flatnonzero(state == FAILS)
            if not self._compares_with_table or len(left_out) == len(removed):
                return NodeVerdict(state == HOLDS, failing, certain, made)
            fresh = np.setdiff1d(left_out, removed, assume_unique=True)
            removed = left_out
            more, unsure = reevaluate_groups(made, sizes, self._remaining_rules, self._tally, totals, state, fresh)
            failing += more

    def _assess_unsure(
        self,
        histograms: Histograms,
        sizes: npt.NDArray[np.int64],
        totals: npt.NDArray[np.int64],
        state: npt.NDArray[np.int8],
    ) -> int:
        """Let the models assess the groups that the rules cannot decide.

        Returns the rows of those that fail.
        """
        unsure = np.flatnonzero(state == UNSURE)
        start, offsets = histograms.start, self._rules.offsets
        entries = np.concatenate([np.arange(start[g], start[g + 1]) for g in unsure])
        owner = np.repeat(np.arange(len(unsure)), start[unsure + 1] - start[unsure])
        order = np.lexsort((histograms.column[entries], owner))
        entries, owner = entries[order], owner[order]
        column, count = histograms.column[entries], histograms.rows[entries]
        made = []
        for a, domain in enumerate(self._domains):
            own = (column >= offsets[a]) & (column < offsets[a + 1])
            starts = np.zeros(len(unsure) + 1, np.int64)
            np.cumsum(np.bincount(owner[own], minlength=len(unsure)), out=starts[1:])
            known = np.zeros(len(unsure), np.int64)
            np.add.at(known, owner[own], count[own])
            value = (column[own] - offsets[a]).astype(np.int32)
            made.append(Histogram(domain, starts, value, count[own], known, totals[offsets[a] : offsets[a + 1]]))
        holds = self._model.assess(Groups(sizes[unsure], tuple(made))).holds
        state[unsure] = np.where(holds, HOLDS, FAILS)
        return int(sizes[unsure][~holds].sum())
