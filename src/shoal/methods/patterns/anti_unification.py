"""Groups by anti-unification: publish shared values, and `*` elsewhere.

A record is a row of the source here: a row of the release may be a pattern, which represents many of them.

No hierarchy is needed, and an unknown value is a value like any other. There are three readings of a release:

* ``disjoint``: every record belongs to one pattern of at least k records and is published as a row;
* ``model-aware``: the same, but patterns are not built inside a sensitive class, and every group meets all models;
* ``overlapping``: that of the paper, one row per pattern with its support. A record may fit several patterns, so this
is
  not k-anonymous, and each pattern shows one sensitive class; it is published with figures of its disclosure risk.

Armengol and Torra, "Generalization-based k-anonymization", section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from threading import Event
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, MinLen
from typing_extensions import override

from shoal.bounds import Bound
from shoal.errors import InfeasibleError, PlanError
from shoal.methods.base import (
    Method,
    Problem,
    Quality,
    failures_of,
    mask_small_count,
    require_feasible,
    require_quasi_identifiers,
    suppress_failing,
)
from shoal.methods.local.lower_bounds import bound_recoding
from shoal.methods.local.scenario_stages import demands_of, require_stages
from shoal.methods.patterns.pattern_set import Pattern, describe_groups
from shoal.methods.patterns.subsets import decide_in_subsets, subsets_of
from shoal.methods.time_limits import answer_within, deadline_of, is_late
from shoal.models import AllOf, scenario_models, without_scenarios
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Seconds, exact_number
from shoal.schema import TOP, Role, Schema
from shoal.table import (
    ByGroup,
    ByPattern,
    FrequencySet,
    Groups,
    MethodFacts,
    Recoding,
    recode_codes,
    released_ladders,
)
from shoal.table.groups import group_keys, histogram
from shoal.table.method_facts import WarningFacts
from shoal.utility.loss import losses

READINGS = {
    "disjoint": "Every record belongs to one pattern of at least k records; one row per record.",
    "model-aware": "Every record belongs to one pattern whose records meet all models; one row per record.",
    "overlapping": "One row per pattern with the number of records that fit it; a record may fit several patterns.",
}
"""The readings of a release, and the claim of each."""

OVERLAPPING = WarningFacts(
    warning="This is a set of overlapping patterns, one row each. It is not k-anonymous: supports can be subtracted "
    "from one another, and every pattern shows one sensitive class. See the risk figures."
)
Order = Literal["<", ">"]
SUPPORT = "support"
MAX_LISTED = 10
"""The largest number of patterns and of reasons in the certificate."""

MAX_ROUNDS = 4
"""The largest number of rounds of model-aware groups, as suppression changes the table's distribution."""

Codes = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pass:
    """Patterns and records found by one pass, and the records that it left."""

    name: str
    patterns: int
    records: int
    left: int

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return {"pass": self.name, "patterns": self.patterns, "records": self.records, "left": self.left}


@dataclass(frozen=True)
class Rare:
    """Columns in which fewer than k records agree, and suppressed records.

    ``records`` is the number of suppressed records that these columns make rare.
    """

    columns: tuple[str, ...]
    records: int | str

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        return {"columns": list(self.columns), "records": self.records}


@dataclass(frozen=True)
class Discarded:
    """Number of suppressed records, and the columns that make them rare.

    ``rare`` is None where no record is suppressed.
    """

    records: int
    rare: tuple[Rare, ...] | None = None
    others: int | str = 0

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON."""
        if self.rare is None:
            return {"records": self.records}
        rare = [reason.to_dict() for reason in self.rare]
        return {"records": self.records, "rare": rare, "rare_in_more_columns_only": self.others}


@dataclass(frozen=True, kw_only=True)
class PatternFacts(MethodFacts):
    """Claims of the release, first levels of columns, and patterns found."""

    reading: str
    cut: Mapping[str, int]
    warned: WarningFacts | None = None
    rounds: int | None = None
    passes: tuple[Pass, ...]
    discarded: Discarded
    pattern_set: tuple[Pattern, ...]
    ties_cut: int | None = None


@dataclass(frozen=True)
class AntiUnification(Method):
    """Groups that publish the values shared by their records.

    Parameters
    ----------
    indifferent
        The largest number of quasi-identifiers of a pattern that may be published as `*`.
    order
        The passes: sets are cut by the attribute of fewest (``<``) or most (``>``) values first, each pass on the
        records that the previous one left.
    patterns
        ``disjoint``, ``model-aware`` or ``overlapping``; see :data:`READINGS`.
    keep_rest
        Publish the records that fit no pattern by patterns with more `*`, instead of suppressing them.
    levels
        The level of its hierarchy at which a column starts. By default, columns whose hierarchy cuts numbers or dates
        (intervals, cuts, dates) start at level 1, as age does in section 4 of the paper, and all others at level 0, the
        value itself.

    time_limit
        Seconds after which model-aware patterns are not formed anew; an error where there are none by then.
    quality
        How many orders of passes are tried; the one of least loss (ncp) is taken. ``fast``, the default: the given
        order;
        ``good``: its reverse too; ``best``: each pass by itself too. It has no effect on overlapping patterns.

    The minimum size of a pattern, k, comes from the plan's k-anonymity. Where model-aware patterns have none, k is the
    least
    that the other models need: p records for p different values, l for l-diversity.
    """

    indifferent: Annotated[int, Ge(0)] = 2
    order: Annotated[tuple[Order, ...], MinLen(1)] = ("<", ">")
    patterns: Literal["disjoint", "model-aware", "overlapping"] = "disjoint"
    keep_rest: bool = False
    levels: Mapping[str, Annotated[int, Ge(0)]] = field(default_factory=dict)
    time_limit: Seconds | None = None
    quality: Quality | None = None
    name: ClassVar[str] = "anti-unification"
    supports_scenarios: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.keep_rest and self.patterns == "overlapping":
            raise PlanError("patterns.keep-rest-with-overlap")

    @property
    @override
    def why_not_people(self) -> str | None:
        if self.patterns == "model-aware":
            return None
        return f"the patterns = {self.patterns!r} count rows. Set patterns = 'model-aware'."

    @property
    @override
    def forms_groups(self) -> bool:
        return self.patterns != "overlapping"

    @override
    def warm(self) -> None:
        import shoal.methods.patterns.kernels.groups  # noqa: F401 - loading compiled code takes time

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        require_quasi_identifiers(schema, self.levels, "A level is given for column")
        others = [part.name for part in model.parts if not part.sizes_only]
        if others and self.patterns != "model-aware":
            raise PlanError("patterns.only-k-anonymity", patterns=self.patterns, models=", ".join(others))
        if self.patterns == "overlapping":
            extra = [*schema.named(Role.OTHER), *schema.category_columns.values()]
            if extra:
                raise PlanError("patterns.column-of-single-records", column=extra[0])
            if SUPPORT in schema.columns and SUPPORT not in schema.unpublished:
                raise PlanError("patterns.reserved-column", column=SUPPORT)

    @override
    def decide(self, problem: Problem) -> Recoding:
        """Form groups or patterns.

        Time grows as that of the kernels: see `group_by_patterns`.
        """
        lifted = _lift(problem, self.levels)

        def work(found: Event) -> Recoding:
            return self._overlapping(lifted) if self.patterns == "overlapping" else self._best(lifted, found)

        return answer_within(self, self.time_limit, work)

    @override
    def check_scenarios(self, schema: Schema, model: AllOf) -> None:
        require_stages(self, schema, model)
        if self.patterns == "overlapping":
            raise PlanError("patterns.overlapping-in-scenarios")
        self.check(schema, demands_of(model))

    @override
    def decide_scenarios(self, problem: Problem) -> Recoding:
        """Form patterns in each subset of columns that scenarios name.

        Where a scenario has further columns, or models bind all columns too, all models are asked of one pattern in
        all columns, which implies the scenarios.
        """
        parts = scenario_models(problem.model)
        if without_scenarios(problem.model).parts or any(part.knowledge.plus for part in parts):
            return self.decide(replace(problem, model=demands_of(problem.model)))
        return decide_in_subsets(self, problem, subsets_of(parts, problem.names))

    @property
    def orders(self) -> list[tuple[Order, ...]]:
        """The orders of passes to try, each once."""
        more = {"good": [self.order[::-1]], "best": [self.order[::-1], ("<",), (">",)]}
        return list(dict.fromkeys([self.order, *more.get(self.quality or "fast", [])]))

    def _best(self, lifted: _Lifted, found: Event) -> ByGroup:
        """Return the groups of least loss among the orders tried in time."""
        deadline = deadline_of(self.time_limit)
        problem = lifted.problem
        tried: list[tuple[float, ByGroup]] = []
        why: InfeasibleError | None = None
        for order in self.orders:
            if tried and is_late(deadline):
                break
            try:
                one = replace(self, order=order)._disjoint(lifted, found)
            except InfeasibleError as error:
                why = why or error
                continue
            tried.append((losses(problem.frequencies, problem.ladders, one)["ncp"], one))
        if not tried:
            assert why is not None
            raise why
        return min(tried, key=lambda one: one[0])[1]

    @override
    def lower_bound(self, problem: Problem, recoding: Recoding) -> Bound | None:
        """Return the loss and its lower bound; None for a pattern set.

        The bound covers groups that publish a column at its first level or as `*`, however many columns are `*`. A
        pattern set
        has no rows and hence no loss.
        """
        if self.patterns == "overlapping":
            return None
        levels = [(level,) for level in _first_levels(problem, self.levels)]
        return bound_recoding(problem, recoding, "ncp", {}, whole=self.keep_rest, effort=0, levels=levels)

    def _disjoint(self, lifted: _Lifted, found: Event) -> ByGroup:
        if self.keep_rest:
            require_feasible(lifted.problem)
        outcome = self._form(lifted, found)
        left = lifted.table.rows - outcome.groups.rows
        if outcome.groups.rows == 0 or (self.keep_rest and left):
            raise self._infeasible(lifted)
        group = outcome.group[lifted.inverse].astype(np.int64)
        row = np.flatnonzero(group >= 0)
        labels = lifted.labels(outcome.codes, row)
        facts = PatternFacts(
            reading=READINGS[self.patterns],
            cut=lifted.cut,
            rounds=outcome.rounds if self.patterns == "model-aware" else None,
            passes=_summarize_passes(self.order, outcome.passes, outcome.groups.size, lifted.table.rows),
            discarded=_summarize_discarded(lifted, outcome.group < 0),
            pattern_set=tuple(describe_groups(lifted.table, outcome.groups, labels, lifted.k, MAX_LISTED)),
        )
        count = lifted.problem.frequencies.count[row]
        return ByGroup(row, group[row], count, labels, *lifted.extent(outcome.codes), facts)

    def _form(self, lifted: _Lifted, found: Event) -> _Outcome:
        """Form groups that meet the model in the released table.

        Some models measure a group against the released table, which is known only in the end. So groups are formed
        against the distribution of the table and then, where the model fails in the result, against that of the rows
        released
        in the previous round. Groups that still fail are suppressed, and the round that releases the most rows is
        taken.
        """
        from shoal.methods.patterns.kernels.groups import group_by_patterns

        table, model = lifted.table, lifted.problem.model
        deadline = deadline_of(self.time_limit)
        aware = self.patterns == "model-aware"
        classes = np.zeros(len(table.count), np.int32) if aware else lifted.classes
        totals = [part.total for part in table.groups_of(np.zeros(len(table.count), np.int64), 1).histograms]
        best: _Outcome | None = None
        for round_number in range(1, MAX_ROUNDS + 1):
            accept = _accept(table, model, totals) if aware else None
            formed = group_by_patterns(
                table.codes, classes, table.count, lifted.k, self.indifferent, self.order, accept, self.keep_rest
            )
            outcome, all_meet = _drop_failing(lifted, formed.codes, formed.assignment, formed.passes, round_number)
            if best is None or outcome.groups.rows > best.groups.rows:
                best = outcome
            found.set()
            if all_meet or not len(formed.sizes) or is_late(deadline):
                break
            released = table.groups_of(formed.assignment.astype(np.int64), len(formed.sizes))
            totals = [part.total for part in released.histograms]
        assert best is not None
        return best

    def _overlapping(self, lifted: _Lifted) -> ByPattern:
        import pyarrow as pa

        from shoal.methods.patterns.kernels.finding import find_patterns
        from shoal.methods.patterns.kernels.matching import fit_patterns, measure_overlap

        table = lifted.table
        found = find_patterns(table.codes, lifted.classes, table.count, lifted.k, self.indifferent, self.order)
        if not len(found.codes):
            raise self._infeasible(lifted)
        support = measure_overlap(table.codes, lifted.classes, table.count, found).support
        # each row's pattern: the fewest `*`, then the most records, then the first
        starts, fits = fit_patterns(table.codes, found.codes)
        row_of_fit = np.repeat(np.arange(len(table.count)), np.diff(starts))
        own = found.classes[fits] == lifted.classes[row_of_fit]
        ranked = np.lexsort((-support, (found.codes == -1).sum(axis=1)))
        rank = np.empty(len(ranked), np.int64)
        rank[ranked] = np.arange(len(ranked))
        best = np.full(len(table.count), len(ranked), np.int64)
        np.minimum.at(best, row_of_fit[own], rank[fits[own]])
        group = np.append(ranked, -1)[best][lifted.inverse]
        row = np.flatnonzero(group >= 0)
        labels = lifted.labels(found.codes, row)
        # a class is published by the values of any of its rows
        of_class = np.zeros(int(lifted.classes.max(initial=-1)) + 1, np.int64)
        of_class[lifted.classes] = np.arange(len(lifted.classes))
        secrets = table.secrets[of_class[found.classes]]
        columns: dict[int, tuple[str, Any]] = {
            dictionary.position: (dictionary.name, pa.array(published_labels, pa.string()))
            for dictionary, published_labels in zip(table.quasi, labels, strict=True)
        }
        for dictionary, codes in zip(table.sensitive, secrets.T, strict=True):
            known = range(len(dictionary.text))
            values = dictionary.values.take(
                pa.array([int(code) if code in known else None for code in codes], pa.int64())
            )
            columns[dictionary.position] = (dictionary.name, values)
        named = dict(column for _, column in sorted(columns.items(), key=lambda item: item[0]))
        facts = PatternFacts(
            reading=READINGS[self.patterns],
            cut=lifted.cut,
            warned=OVERLAPPING,
            passes=_summarize_overlapping(self.order, found.passes, found.identified, table.count),
            discarded=_summarize_discarded(lifted, found.identified < 0),
            pattern_set=tuple(_largest(lifted, labels, secrets, support)),
            ties_cut=found.ties_cut,
        )
        return ByPattern(
            row,
            group[row],
            lifted.problem.frequencies.count[row],
            labels,
            *lifted.extent(found.codes),
            facts,
            table=pa.table({**named, SUPPORT: pa.array(support)}),
            support=SUPPORT,
            levels=lifted.levels,
        )

    def _infeasible(self, lifted: _Lifted) -> InfeasibleError:
        """Return the error of a search without a release."""
        from shoal.methods.patterns.kernels.groups import group_by_patterns, sweep_patterns

        table, k = lifted.table, lifted.k
        hidden = min(self.indifferent, table.codes.shape[1] - 1)
        if self.patterns == "overlapping":
            classes = np.bincount(lifted.classes, weights=table.count).astype(np.int64)
            return InfeasibleError(
                "patterns.none-in-class",
                k=k,
                hidden=hidden,
                columns=table.codes.shape[1],
                large=int((classes >= k).sum()),
                classes=len(classes),
                largest=int(classes.max()),
            )
        swept = sweep_patterns(table.codes, table.count, 1, hidden)
        largest = int(swept.found.max(initial=0))
        if largest < k:
            return InfeasibleError(
                "patterns.too-few-similar-rows", k=k, rows=table.rows, hidden=hidden, largest=largest
            )
        formed = group_by_patterns(
            table.codes, np.zeros_like(lifted.classes), table.count, k, self.indifferent, self.order
        )
        groups = table.groups_of(formed.assignment.astype(np.int64), len(formed.sizes))
        failures = failures_of(lifted.problem.model, groups) or (InfeasibleError("patterns.all-fail-together"),)
        return InfeasibleError("patterns.models-not-met", hidden=hidden, k=k, failures=failures)


@dataclass(frozen=True)
class _Lifted:
    """The problem at the levels where patterns start, without duplicates.

    ``inverse`` int64 (n,) gives for each combination select the problem its row in ``table``; ``classes`` int32 numbers
    the combinations of sensitive values.
    """

    problem: Problem
    levels: tuple[int, ...]
    table: FrequencySet
    inverse: Counts
    classes: Codes

    @property
    def cut(self) -> dict[str, int]:
        """The first level of each column where it is not 0."""
        return {name: level for name, level in zip(self.problem.names, self.levels, strict=True) if level}

    @property
    def k(self) -> int:
        """Minimum size of a pattern: k, or the least that p or l-diversity needs."""
        parts = self.problem.model.parts
        return max(math.ceil(exact_number(part.parameters.get(name, 1))) for part in parts for name in ("k", "p", "l"))

    def labels(self, codes: Codes, released: Counts) -> tuple[tuple[str | None, ...], ...]:
        """Return the published labels of patterns (P, q), column by column.

        ``released`` are the released combinations.
        """
        ladders = released_ladders(self.problem.frequencies, self.problem.ladders, released)
        return tuple(
            tuple(TOP if code < 0 else ladder.labels[level][code] for code in codes[:, j])
            for j, (ladder, level) in enumerate(zip(ladders, self.levels, strict=True))
        )

    def extent(self, codes: Codes) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the heights of patterns in the hierarchies and domain shares."""
        height = np.ones(codes.shape)
        share = np.ones(codes.shape)
        for j, (ladder, level) in enumerate(zip(self.problem.ladders, self.levels, strict=True)):
            is_published = codes[:, j] >= 0
            height[is_published, j] = level / ladder.height
            share[is_published, j] = ladder.share[level][codes[is_published, j]]
        return height, share


@dataclass(frozen=True)
class _Outcome:
    """Groups that meet the model.

    ``group`` is int64 by row of the lifted table, -1 where it is suppressed.
    """

    codes: Codes
    group: Counts
    passes: npt.NDArray[np.int8]
    groups: Groups
    rounds: int


def _first_levels(problem: Problem, given: Mapping[str, int]) -> tuple[int, ...]:
    """Return the level at which each column starts."""
    levels = []
    for name, ladder in zip(problem.names, problem.ladders, strict=True):
        column = problem.schema.columns.get(name)
        cuts = column is not None and getattr(column.hierarchy, "cuts", False)
        level = given.get(name, int(cuts))
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= ladder.height:
            raise PlanError("method.level-not-in-hierarchy", column=name, highest=ladder.height, found=level)
        levels.append(level)
    return tuple(levels)


def _lift(problem: Problem, given: Mapping[str, int]) -> _Lifted:
    levels = _first_levels(problem, given)
    frequencies = problem.frequencies
    codes, sizes = recode_codes(frequencies.codes, problem.ladders, levels)
    secrets = frequencies.secrets + 1
    of_domains = [domain.size + 1 for domain in frequencies.domains]
    inverse, number = group_keys(np.concatenate([codes, secrets], axis=1), [*sizes, *of_domains])
    first = np.zeros(number, np.int64)
    first[inverse[::-1]] = np.arange(len(inverse))[::-1]
    count = np.bincount(inverse, weights=frequencies.count, minlength=number).astype(np.int64)
    table = replace(frequencies.select(first, count), codes=np.ascontiguousarray(codes[first]))
    classes = group_keys(table.secrets + 1, of_domains)[0].astype(np.int32)
    return _Lifted(problem, levels, table, inverse, classes)


def _accept(table: FrequencySet, model: AllOf, totals: Sequence[Counts]) -> Callable[[Counts, Counts, int], Any]:
    """Return a test of groups by the model's exact assessment.

    Groups are assessed in a table of these totals.
    """

    def accept(rows: Counts, groups: Counts, number: int) -> npt.NDArray[np.bool_]:
        counts = table.count[rows]
        size = np.bincount(groups, weights=counts, minlength=number).astype(np.int64)
        histograms = tuple(
            replace(histogram(groups, table.secrets[rows, s], counts, number, domain), total=totals[s])
            for s, domain in enumerate(table.domains)
        )
        # a group may have a value that the released table has lost: its share is infinite, and the group fails
        with np.errstate(divide="ignore", invalid="ignore"):
            return model.assess(Groups(size, histograms)).holds

    return accept


def _drop_failing(
    lifted: _Lifted, codes: Codes, assignment: Codes, passes: npt.NDArray[np.int8], rounds: int
) -> tuple[_Outcome, bool]:
    """Return published groups without failing ones, and whether none failed.

    A label that is `*` itself looks like a suppressed value, so groups that differ only there are one group.
    """
    from shoal.methods.patterns.kernels.assignment import distinct_rows

    published = codes.copy()
    for j, (ladder, level) in enumerate(zip(lifted.problem.ladders, lifted.levels, strict=True)):
        if TOP in ladder.labels[level]:
            published[published[:, j] == ladder.labels[level].index(TOP), j] = -1
    distinct, index = distinct_rows(published)
    group = np.append(index, -1)[assignment].astype(np.int64)
    first = np.full(len(distinct), np.iinfo(np.int8).max, np.int8)
    np.minimum.at(first, index, passes)
    group_of_row, groups = suppress_failing(lifted.table, group, len(distinct), lifted.problem.model)
    survivor = np.zeros(groups.count, np.int64)
    survivor[group_of_row[group_of_row >= 0]] = group[group_of_row >= 0]
    outcome = _Outcome(distinct[survivor], group_of_row, first[survivor], groups, rounds)
    return outcome, groups.count == len(distinct)


def _pass_names(order: Sequence[str]) -> list[str]:
    """List the passes of `group_by_patterns`.

    These are the passes of the order, the sweep of all patterns, and the groups of the rest.
    """
    return [*order, "sweep", "rest"]


def _summarize_passes(order: Sequence[str], passes: npt.NDArray[np.int8], sizes: Counts, rows: int) -> tuple[Pass, ...]:
    """Count the patterns and records of each pass, and the records it left."""
    summaries = []
    left = rows
    for index, name in enumerate(_pass_names(order)):
        records = int(sizes[passes == index].sum())
        left -= records
        if index < len(order) or records:
            summaries.append(Pass(name, int((passes == index).sum()), records, left))
    return tuple(summaries)


def _summarize_overlapping(
    order: Sequence[str], passes: npt.NDArray[np.int8], identified: npt.NDArray[np.int8], counts: Counts
) -> tuple[Pass, ...]:
    """Count the patterns and records of each pass for overlapping patterns.

    A record counts for the pass that first identified it.
    """
    summaries = []
    left = int(counts.sum())
    for index, name in enumerate(order):
        records = int(counts[identified == index].sum())
        left -= records
        summaries.append(Pass(name, int((passes == index).sum()), records, left))
    return tuple(summaries)


def _summarize_discarded(lifted: _Lifted, discarded: npt.NDArray[np.bool_]) -> Discarded:
    """Count the suppressed records and find the columns that make them rare.

    Fewer than k records agree in these columns.
    """
    from shoal.methods.patterns.kernels.rarity import rare_columns

    table = lifted.table
    records = int(table.count[discarded].sum())
    if not discarded.any():
        return Discarded(records)
    names = lifted.problem.names
    reasons, others = rare_columns(table.codes, table.count, discarded, lifted.k)
    rare = (
        Rare(tuple(names[j] for j in columns), mask_small_count(count, lifted.k))
        for columns, count in reasons[:MAX_LISTED]
    )
    return Discarded(records, tuple(rare), mask_small_count(others, lifted.k))


def _largest(lifted: _Lifted, labels: Sequence[Sequence[str | None]], secrets: Codes, support: Counts) -> list[Pattern]:
    """Return the overlapping patterns with the most records.

    Each has one value of every sensitive column.
    """
    names = lifted.problem.names
    patterns = []
    for index in np.argsort(-support, kind="stable")[:MAX_LISTED]:
        published = {name: column[index] for name, column in zip(names, labels, strict=True)}
        shares = {
            dictionary.name: {dictionary.text[code]: 1.0} if code in range(len(dictionary.text)) else {}
            for dictionary, code in zip(lifted.table.sensitive, secrets[index], strict=True)
        }
        patterns.append(Pattern(published, int(support[index]), shares))
    return patterns
