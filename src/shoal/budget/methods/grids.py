"""The methods ``population-grid`` and ``sampled-grid``.

Both publish the cell of each row and nothing else: one level of the hierarchy per column, fixed without looking at
the data. The *population grid* publishes every row and needs a universe with enough people in each cell. The *sampled
grid* samples each row with probability β, with random bits of the operating system, and drops cells with fewer than k
sampled rows. The guarantees are in :mod:`shoal.budget`; they hold against an intruder who knows every row but one.
Every release is booked in a ledger before it is made.

Anything that would void the guarantee is refused: a published column outside the cell, labels with a form that depends
on the data, levels that were chosen by looking at the data (unless privately, and booked). Nothing about the source is
published except the release itself: not its number of rows, not the number of dropped rows, not the loss.

Zhao, Shang and Liu, "Secure k-anonymization linked with differential identifiability", section 3.2; Li, Qardaji and
Su, "On sampling, anonymization, and differential privacy", 2012; Bild, Kuhn and Prasser, "SafePub", 2018 (the private
choice of levels).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le
from typing_extensions import override

from shoal.budget.arithmetic import (
    check_crowd,
    check_sampling_rate,
    format_fraction,
    round_up,
    sampled_bound_from_rho,
    to_fraction,
)
from shoal.budget.errors import ParameterError, RawColumnError, RecodingNotPublicError, UniverseError
from shoal.budget.grids import (
    check_recoding_origin,
    choose_recoding,
    drop_loss_sensitivity,
    population_grid_check,
    sampled_grid_counts,
)
from shoal.budget.guarantee import Guarantee, population_guarantee, sampled_guarantee
from shoal.budget.ledger import Booking, Ledger, Status
from shoal.budget.sampling import RandomBits, SystemSource, check_sampling_design, sample_counts
from shoal.budget.universe import read_universe
from shoal.errors import InfeasibleError, PlanError
from shoal.methods.base import Method, Problem, require_quasi_identifiers
from shoal.methods.full_domain.levels import Levels
from shoal.models import AllOf, Model, make_model
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import Name, Number
from shoal.schema import BaseHierarchy, Flat, Role, Schema
from shoal.schema.rounding import as_numbers
from shoal.table import ByGroup, FrequencySet, Groups, MethodFacts, recode_codes
from shoal.table.method_facts import LevelFacts

RANDOMNESS = (
    "Drawn from the operating system, not from the seed of the plan: the same plan gives another release each time, by "
    "design. A seed that leaks would undo the promise."
)

MAX_CANDIDATES = 50_000
LOSS_UNITS = 1000
MAX_CELL_COUNT = 2**62  # people in a cell: a larger declared count is lowered, which is safe
_ORIGINS = {"declared": "declared", "private": "private-choice"}

_Level = Annotated[int, Ge(0)]
LevelsByColumn = Mapping[str, _Level | tuple[_Level, _Level]]


@dataclass(frozen=True)
class _Grid(Method):
    """The common part of both grids: levels of the plan, and the ledger."""

    reveals_source: ClassVar[bool] = False
    needs_model: ClassVar[bool] = False

    k: Annotated[int, Ge(2)]
    ledger: Path | Ledger
    levels: LevelsByColumn = field(default_factory=dict)

    @override
    def located(self, folder: Path) -> Self:
        return self if isinstance(self.ledger, Ledger) else replace(self, ledger=folder / self.ledger)

    @property
    @override
    def why_not_people(self) -> str | None:
        return "its promise is about one row that an intruder does not know. Keep one row of each person first."

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        for name, column in schema.columns.items():
            if column.role in (Role.SENSITIVE, Role.OTHER):
                raise RawColumnError("columns.published-raw", method=self.name, column=name, role=column.role)
        self.ranges(schema)

    def ranges(self, schema: Schema) -> tuple[tuple[int, int], ...]:
        """Return the lowest and highest level of each quasi-identifier.

        They are checked without any data.
        """
        require_quasi_identifiers(schema, self.levels, "A level is given for column")
        return tuple(self._range(name, schema) for name in schema.quasi_identifiers)

    def _range(self, name: str, schema: Schema) -> tuple[int, int]:
        if name not in self.levels:
            raise RecodingNotPublicError("method.level-missing", column=name)
        return _level(name, self.levels[name], schema)

    def fixed_levels(self, problem: Problem) -> tuple[int, ...]:
        """Return the declared level of each column."""
        return tuple(_level_range(self.levels[name])[0] for name in problem.names)

    def dry_run_variant(self) -> Method:
        """Return the method that recodes all rows to the declared levels."""
        return _DryRunLevels({name: _level_range(given)[0] for name, given in self.levels.items()}, suppression=1.0)

    @property
    @override
    def files(self) -> tuple[Path, ...]:
        return (self.ledger.path if isinstance(self.ledger, Ledger) else Path(self.ledger),)

    def open_ledger(self) -> Ledger:
        """Return the ledger, which must exist."""
        return self.ledger if isinstance(self.ledger, Ledger) else Ledger.open(self.ledger)

    def expecting(self, head: str) -> Self:
        """Return the same method, with an expected head of its ledger.

        It is refused unless the ledger continues from the head.
        """
        known = self.ledger if isinstance(self.ledger, Ledger) else Ledger(Path(self.ledger))
        return replace(self, ledger=replace(known, expected=head))

    @override
    def preflight(self) -> None:
        self.open_ledger().status()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the method, with the names of files only.

        The certificate must not reveal paths of the machine.
        """
        given = dict(super().parameters)
        return {**given, "ledger": self.files[0].name}


@dataclass(frozen=True)
class _DryRunLevels(Levels):
    """Declared levels, with or without models."""

    needs_model: ClassVar[bool] = False


@dataclass(frozen=True, kw_only=True)
class Booked(MethodFacts):
    """The guarantee of the release, alone and with all other bookings."""

    top_level: ClassVar[bool] = True
    promise: Guarantee
    booking: Booking

    @override
    def written(self) -> dict[str, Any]:
        booking = self.booking
        ledger_facts = {
            "ledger_entry": booking.number,
            "ledger_head": booking.head,
            "rho_with_all_booked": float(booking.rho),
            "rho_with_all_booked_exact": str(round_up(booking.rho)),
        }
        return {"guarantee": self.promise.to_dict() | ledger_facts}


@dataclass(frozen=True, kw_only=True)
class GridFacts(MethodFacts):
    """The levels of the cells, repeatability, and the guarantee."""

    at: MethodFacts
    repeatable: bool
    randomness: str | None = None
    booked: Booked


@dataclass(frozen=True)
class PopulationGrid(_Grid):
    """Every row's cell: ρ = 1/k, without noise.

    The universe must have at least n - 1 + k people in each cell. Groups that fail a model of the plan are left out.
    The models look at what would be published and at nothing else, so the guarantee holds. A data set has one such
    release: its ledger refuses a second.

    Parameters
    ----------
    k
        The crowd: ρ = 1/k.
    ledger
        The ledger of the data set, or its path.
    levels
        The level of each quasi-identifier, fixed without looking at the data.
    universe
        The number of people of the population in each cell: the path of a CSV file with the cells' labels and a count
        (see :func:`shoal.budget.universe.read_universe`), or a number that is a lower bound for every cell.
    count_column
        The name of the column of counts in that file.
    """

    universe: Annotated[int, Ge(0)] | Path = 0
    count_column: Name = "count"
    removed_parameters: ClassVar[tuple[str, ...]] = ("quality",)
    name: ClassVar[str] = "population-grid"

    def __post_init__(self) -> None:
        if not self.universe:
            raise UniverseError("method.universe-missing")

    @override
    def located(self, folder: Path) -> Self:
        method = super().located(folder)
        return method if isinstance(self.universe, int) else replace(method, universe=folder / self.universe)

    @property
    @override
    def files(self) -> tuple[Path, ...]:
        return super().files if isinstance(self.universe, int) else (*super().files, Path(self.universe))

    @override
    def preflight(self) -> None:
        check_crowd(Fraction(1, self.k), self.open_ledger().status().k)
        if not isinstance(self.universe, int):
            read_universe(Path(self.universe), tuple(self.levels), self.count_column)

    def decide(self, problem: Problem) -> ByGroup:
        """Publish every row's cell, in time n log n for n combinations."""
        levels = self.fixed_levels(problem)
        _check_form(problem, [(level, level) for level in levels])
        cells = _Cells.of(problem, levels)
        ledger = self.open_ledger()
        promise = self._promise(problem, cells, ledger.status())
        booking = ledger.book_population_release(self.k, f"{self.name}, k = {self.k}")
        recoding = cells.publish(problem, cells.size)
        if recoding is None:
            raise InfeasibleError("release.no-group-at-levels")
        facts = GridFacts(at=recoding.facts, repeatable=True, booked=Booked(promise=promise, booking=booking))
        return replace(recoding, facts=facts)

    @override
    def declared_guarantee(self) -> Guarantee:
        # the m of a release depends on the number of rows; that of the ledger is declared, and no larger
        return population_guarantee(self.k, self.open_ledger().status().m)

    def _promise(self, problem: Problem, cells: _Cells, status: Status) -> Guarantee:
        """Return the guarantee, or raise.

        The declared universe must be large enough, and must match the table and the ledger.
        """
        rows = problem.frequencies.rows
        if isinstance(self.universe, int):
            # m is known only from the ledger's declaration and from the count of one cell
            least = population_grid_check([self.universe], rows, self.k)
            return population_guarantee(self.k, max(least.m, status.m))
        declared = read_universe(Path(self.universe), problem.names, self.count_column)
        counts = [min(count, MAX_CELL_COUNT) for count in declared.values()]
        promise = population_grid_check(np.asarray(counts or [0], np.int64), rows, self.k)
        undeclared = sum(not declared.get(cell) for cell in zip(*cells.labels, strict=True))
        if undeclared:
            raise UniverseError("budget.cell-not-in-universe", cells=undeclared)
        if status.m > promise.m:
            raise UniverseError("budget.ledger-m-too-large", m=status.m, available=promise.m)
        return promise

    @property
    @override
    def parameters(self) -> Mapping[str, Any]:
        universe = self.universe if isinstance(self.universe, int) else Path(self.universe).name
        return {**super().parameters, "universe": universe}


@dataclass(frozen=True)
class SampledGrid(_Grid):
    """A sample of the rows on a public grid, without small cells.

    Cells of fewer than k sampled rows are dropped. The guarantee is ρ except with probability δ; see
    :func:`shoal.budget.sampled_guarantee`. The random bits come from the operating system, not from the plan's seed:
    the same plan gives another release each time, and each one is booked.

    Parameters
    ----------
    k
        Cells with fewer sampled rows are dropped. A larger k makes δ smaller.
    ledger
        The ledger of the data set, or its path; m is taken from it.
    levels
        The level of each quasi-identifier, fixed without looking at the data. With a private choice, the lowest and
        the highest level of a column (or one level); all levels by default.
    beta
        The sampling rate, 0 < β ≤ 1 - 1/E; text such as "1/2" is exact.
    bound, rho
        One of the two: E of the sampled release, or ρ of all of it.
    choose
        ``declared``: the levels of the plan. ``private``: chosen with noise, on a separate sample.
    choice
        The E that the private choice may spend.
    design
        ``independent``: rows are sampled independently of each other. No other design has a proof.
    """

    beta: Number = 0
    bound: Annotated[Number, Gt(1)] | None = None
    rho: Annotated[Number, Gt(0), Le(1)] | None = None
    choose: str = "declared"
    choice: Annotated[Number, Gt(1)] | None = None
    design: str = "independent"
    removed_parameters: ClassVar[tuple[str, ...]] = ("quality",)
    name: ClassVar[str] = "sampled-grid"

    def __post_init__(self) -> None:
        check_sampling_design(self.design)
        check_recoding_origin(_ORIGINS.get(str(self.choose), "other"))
        if (self.bound is None) == (self.rho is None):
            raise ParameterError("method.bound-or-rho", given="neither" if self.bound is None else "both")
        if (self.choice is not None) != (self.choose == "private"):
            raise ParameterError("method.choice-only-if-private")
        if self.bound is not None:
            check_sampling_rate(self.beta, self.bound)
        elif self.rho is not None:
            check_crowd(self.rho, self.k)

    @property
    def promises(self) -> tuple[Model, ...]:
        """The models that every release meets: k-anonymity."""
        return (make_model("k-anonymity", k=self.k),)

    def _range(self, name: str, schema: Schema) -> tuple[int, int]:
        if self.choose == "declared":
            return super()._range(name, schema)
        return _level(name, self.levels.get(name), schema, fixed=False)

    @override
    def check(self, schema: Schema, model: AllOf) -> None:
        super().check(schema, model)
        candidates = math.prod(high - low + 1 for low, high in self.ranges(schema))
        if candidates > MAX_CANDIDATES:
            raise PlanError("method.too-many-recodings", most=MAX_CANDIDATES, found=candidates)

    @override
    def preflight(self) -> None:
        self._promise(self.open_ledger().status())

    @override
    def declared_guarantee(self) -> Guarantee:
        return self._promise(self.open_ledger().status())[0]

    def _promise(self, status: Status) -> tuple[Guarantee, Fraction]:
        """Return the guarantee of the release, and its E."""
        if self.bound is None:
            assert self.rho is not None
            bound = sampled_bound_from_rho(self.rho, status.m, self.beta, 1 if self.choice is None else self.choice)
        else:
            bound = to_fraction(self.bound, "bound")
        return sampled_guarantee(bound, self.k, self.beta, status.m, self.choice), bound

    def decide(self, problem: Problem) -> ByGroup:
        """Draw a release: one coin per row, n log n for n combinations."""
        return self.draw(problem, SystemSource())

    def draw(self, problem: Problem, source: RandomBits) -> ByGroup:
        """Draw a release with random bits from ``source``.

        The guarantee holds only for those of the operating system.
        """
        ledger = self.open_ledger()
        promise, bound = self._promise(ledger.status())
        ranges = self._ranges_of(problem)
        _check_form(problem, ranges)
        origin = "levels chosen privately" if self.choose == "private" else "declared levels"
        label = f"{self.name}, k = {self.k}, beta = {format_fraction(to_fraction(self.beta, 'beta'))}, {origin}"
        booking = ledger.book_release(bound, self.beta, self.k, label, self.choice)
        levels = tuple(low for low, _ in ranges)
        if self.choice is not None:
            candidates = list(itertools.product(*(range(low, high + 1) for low, high in ranges)))
            # a separate sample: the released one must be drawn after the choice, and independently of it
            seen = sample_counts(problem.frequencies.count, self.beta, source)
            scores = choice_scores(problem, seen, candidates, self.k)
            sensitivity = LOSS_UNITS * drop_loss_sensitivity(self.k)
            levels = candidates[choose_recoding(scores, sensitivity, self.choice, source)]
        cells = _Cells.of(problem, levels)
        recoding = cells.publish(problem, sampled_grid_counts(cells.size, self.beta, self.k, source))
        if recoding is None:
            chosen = ", or a larger choice (less noise in the choice of levels)" if self.choice is not None else ""
            raise InfeasibleError("release.no-cell-large-enough", k=self.k, advice=chosen)
        facts = GridFacts(
            at=recoding.facts,
            repeatable=False,
            randomness=RANDOMNESS,
            booked=Booked(promise=promise, booking=booking),
        )
        return replace(recoding, facts=facts)

    @override
    def dry_run_variant(self) -> Method:
        if self.choose == "private":
            raise PlanError("budget.private-levels-not-repeatable")
        return super().dry_run_variant()

    def _ranges_of(self, problem: Problem) -> list[tuple[int, int]]:
        """Return the lowest and highest level of each column of the table."""
        ladders = zip(problem.names, problem.ladders, strict=True)
        return [_level_range(self.levels.get(name, (0, ladder.height))) for name, ladder in ladders]

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the method, with fractions as text."""
        given = super().parameters
        return {key: str(value) if isinstance(value, Fraction) else value for key, value in given.items()}


# -- levels that are public ------------------------------------------------------------------------------


def _level_range(given: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(given, int):
        return given, given
    low, high = given
    return low, high


def _level(name: str, given: object, schema: Schema, *, fixed: bool = True) -> tuple[int, int]:
    """Return the lowest and highest level that the plan gives a column.

    Raises an error that explains why a level cannot be used.
    """
    height = schema.ladder(name, (), False).height
    pair = (0, height) if given is None else (given, given) if isinstance(given, int) else given
    usable = isinstance(pair, list | tuple) and len(pair) == 2 and all(type(level) is int for level in pair)
    if isinstance(pair, list | tuple) and usable and (pair[0] == pair[1] or not fixed):
        low, high = pair
        _check_public(name, schema, high)
        if 0 <= low <= high <= height:
            return low, high
    expected = "a whole number" if fixed else "a whole number, or a lowest and a highest,"
    raise PlanError("method.level-out-of-range", column=name, expected=expected, highest=height, found=given)


def _check_public(name: str, schema: Schema, highest: int) -> None:
    """Raise if the labels of a column's hierarchy depend on the data."""
    hierarchy = schema.columns[name].hierarchy or Flat()
    if highest <= 0:
        return
    advice = getattr(hierarchy, "looks_at_data", BaseHierarchy.unknown)
    if advice is not None:
        raise RecodingNotPublicError("hierarchies.looks-at-data", column=name, advice=advice)


def _check_form(problem: Problem, ranges: Sequence[tuple[int, int]]) -> None:
    """Raise if the form of the labels would depend on the data.

    Intervals of whole numbers have another form: one value of 20.5 turns 20..24 into 20..<25 for all rows. So if the
    ends in the plan are whole, the plan declares whole numbers as the domain.
    """
    for dictionary, (low, high) in zip(problem.frequencies.quasi, ranges, strict=True):
        hierarchy = problem.schema.columns[dictionary.name].hierarchy
        if not any(_has_whole_ends(hierarchy, level) for level in range(max(low, 1), high + 1)):
            continue
        broken = sum(number.denominator > 1 for number in as_numbers(dictionary.text, dictionary.name))
        if broken:
            raise RecodingNotPublicError(
                "hierarchies.broken-numbers-in-whole-intervals", column=dictionary.name, found=broken
            )


def _has_whole_ends(hierarchy: object, level: int) -> bool:
    """Return whether the ends of a level's intervals are all whole.

    Its labels are then those of whole numbers if, and only if, all values are whole.
    """
    ends = hierarchy.ends(level) if isinstance(hierarchy, BaseHierarchy) else ()
    return bool(ends) and all(end is None or end == math.floor(end) for end in ends)


# -- the sample, and the choice of levels ----------------------------------------------------------------


@dataclass(frozen=True)
class _Cells:
    """The cells of a table at some levels.

    Attributes
    ----------
    codes
        int32 (n, q): the code of each combination's label, column by column.
    cell_of
        int64 (n,): the cell of each combination.
    size
        int64 (c,): the number of rows of each cell.
    labels
        The published labels of each cell, column by column.
    """

    levels: tuple[int, ...]
    codes: npt.NDArray[np.int32]
    cell_of: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    labels: tuple[tuple[str | None, ...], ...]

    @classmethod
    def of(cls, problem: Problem, levels: tuple[int, ...]) -> _Cells:
        """Recode the combinations of a table, and count the rows of each cell."""
        codes, sizes = recode_codes(problem.frequencies.codes, problem.ladders, levels)
        cell_of, groups = problem.frequencies.group(codes, sizes)
        first = _first(cell_of, groups.count)
        labels = (
            tuple(ladder.labels[level][code] for code in codes[first, j].tolist())
            for j, (ladder, level) in enumerate(zip(problem.ladders, levels, strict=True))
        )
        return cls(levels, codes, cell_of, groups.size, tuple(labels))

    def publish(self, problem: Problem, published: npt.NDArray[np.int64]) -> ByGroup | None:
        """Return the recoding that publishes some rows of each cell.

        Returns None if no row would be published. ``published`` has the number of rows of each cell. Cells that fail
        the problem's models are left out. The models look at what would be published only, so every guarantee about it
        covers this. Rows of one cell publish the same labels, so it is invisible which of them are used: the first
        combinations of a cell are used until there are enough rows. Rows are published in the order of their labels:
        :class:`ByGroup` ensures this, while :class:`ByLevel` orders labels by the values of the data beneath them.
        """
        nonempty = np.flatnonzero(published)
        nonempty = nonempty[problem.model.assess(Groups(published[nonempty])).holds] if len(nonempty) else nonempty
        if not len(nonempty):
            return None
        number = np.full(len(published), -1, np.int64)
        number[nonempty] = np.arange(len(nonempty))
        order = np.argsort(self.cell_of, kind="stable")
        counts, cell_of = problem.frequencies.count[order], self.cell_of[order]
        starts = np.cumsum(self.size) - self.size
        before = np.cumsum(counts) - counts - starts[cell_of]
        taken = np.clip(np.where(number[cell_of] >= 0, published[cell_of], 0) - before, 0, counts)
        entry = np.flatnonzero(taken)
        entry = entry[np.argsort(order[entry])]
        first = _first(self.cell_of, len(published))[nonempty]
        height = [level / ladder.height for level, ladder in zip(self.levels, problem.ladders, strict=True)]
        share = [
            ladder.share[level][self.codes[first, j]]
            for j, (level, ladder) in enumerate(zip(self.levels, problem.ladders, strict=True))
        ]
        return ByGroup(
            order[entry],
            number[cell_of[entry]],
            taken[entry],
            tuple(tuple(column[cell] for cell in nonempty.tolist()) for column in self.labels),
            np.tile(np.asarray(height, np.float64), (len(nonempty), 1)),
            np.stack(share, axis=1),
            LevelFacts(levels=dict(zip(problem.names, self.levels, strict=True))),
        )


def _first(group: npt.NDArray[np.int64], groups: int) -> npt.NDArray[np.int64]:
    """Return one combination of each group."""
    first = np.zeros(groups, np.int64)
    first[group] = np.arange(len(group))
    return first


def choice_scores(
    problem: Problem, counts: npt.NDArray[np.int64], candidates: Sequence[tuple[int, ...]], k: int
) -> list[int]:
    """Return the score of each recoding for the private choice.

    The score is the negative loss on sampled rows, in whole units. A row in a cell of fewer than k loses 1. Another row
    loses the mean relative height of its levels in their hierarchies, which follows from the levels alone. (The share
    of the domain that a label covers is not used: the domain of a hierarchy may be that of the data.) The groups of a
    node are computed from those of a finer one.

    Parameters
    ----------
    counts
        int64 (n,): the number of rows of each combination in the sample.
    """
    frequencies = problem.frequencies
    chosen = np.flatnonzero(counts)
    if not len(chosen):
        return [0] * len(candidates)
    from shoal.methods.full_domain.lattice import NodeEvaluator
    from shoal.utility.measures import make_measure

    sampled = FrequencySet(
        frequencies.quasi, (), (), frequencies.codes[chosen], frequencies.secrets[chosen], counts[chosen]
    )
    sizes = AllOf((make_model("k-anonymity", k=k),))
    measure = make_measure("precision", sampled, problem.ladders)
    look = NodeEvaluator(Problem(sampled, problem.ladders, sizes), measure).look
    rows = sampled.rows
    heights = [ladder.height for ladder in problem.ladders]
    scores = [0] * len(candidates)
    # finer nodes first: the groups of a node are rolled up from those of a finer node that was evaluated before
    for done, position in enumerate(sorted(range(len(candidates)), key=lambda position: sum(candidates[position]))):
        if done % 64 == 0:
            problem.progress("choosing levels", done / len(candidates))
        node = candidates[position]
        dropped = look(node, rows).suppressed
        loss = float(np.mean([level / height for level, height in zip(node, heights, strict=True)]))
        scores[position] = -(dropped * LOSS_UNITS + (rows - dropped) * int(np.rint(loss * LOSS_UNITS)))
    return scores
