"""What a release did to a table, in figures that may be shown: the facts behind the report.

Sizes of groups, risks and attacks before and after, what each column lost, and the distributions of columns before and
after. No cell of a distribution is about fewer than ``least`` released rows: smaller ones are joined with their
neighbours in the hierarchy, so that none can be found by subtraction either. Rows that were left out are in no
distribution, for the same reason. Where the method's promise forbids to tell about the source, nothing here does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.methods import Problem
from shoal.models import AllOf
from shoal.risk.attacks import AttackResult, background_knowledge, homogeneity, inference, similarity
from shoal.risk.attacks_people import attack_values
from shoal.risk.reidentification import Reidentification, of_everybody, reidentification
from shoal.schema import TOP, Ladder, Role, Schema
from shoal.table import ByGroup, ByLevel, ByPattern, FrequencySet, Groups, Recoding, kept_combinations
from shoal.table.groups import Histogram
from shoal.utility.labels import numbers_in, read_labels
from shoal.utility.loss import published, weighted_sums
from shoal.verification.check import CheckResult

__all__ = [
    "Band", "Cell", "ColumnFacts", "Description", "Distribution", "TableFacts", "describe",
    "describe_columns", "safe_cells",
]  # fmt: skip

MOST_CELLS = 24
LEAST_CELL = 3
"""Cells of a distribution have so many rows even where no model asks for groups of any size."""
OTHERS = "other values"
MOST_PAIRS = 20_000_000
"""Beyond so many pairs of labels and values a distribution is not worked out."""


@dataclass(frozen=True)
class Band:
    """Groups of ``low`` to ``high`` rows (None: or more): how many there are, and how many rows they hold."""

    low: int
    high: int | None
    groups: int
    rows: int


@dataclass(frozen=True)
class TableFacts:
    """One table, original or released, as an intruder sees it."""

    rows: int
    groups: int
    smallest_group: int
    bands: tuple[Band, ...]
    risk: Reidentification
    attacks: tuple[AttackResult, ...]
    unit: str = "rows"
    """What is counted: rows, or people, everybody once, in the smallest group that holds a row of theirs."""


@dataclass(frozen=True)
class Cell:
    """Rows of one value, or of several: by their original values, and as a reader of the release would place them."""

    label: str
    before: int
    after: float


@dataclass(frozen=True)
class Distribution:
    """The cells of a column, in the order of its values."""

    rows: int
    cells: tuple[Cell, ...]

    @property
    def moved(self) -> float:
        """The part of rows that would have to change their cell for before and after to agree (total variation)."""
        return sum(abs(cell.before - cell.after) for cell in self.cells) / 2 / self.rows


@dataclass(frozen=True)
class ColumnFacts:
    """What became of a column.

    Attributes
    ----------
    values, labels
        How many different values the released rows had, and how many they have in the release. Rows that were left
        out are not counted: the difference would tell that somebody had a value of his own.
    level, height
        The level of the hierarchy at which it is published, where that is one level, and the highest.
    lost
        Which part of its detail it lost: 0 is none (the value itself), 1 is all (`*`), over all rows.
    """

    name: str
    role: Role
    values: int | None = None
    labels: int | None = None
    level: int | None = None
    height: int | None = None
    lost: float | None = None
    distribution: Distribution | None = None


@dataclass(frozen=True)
class Description:
    """The facts of a release.

    Attributes
    ----------
    least
        No cell of a distribution holds fewer rows than this.
    before, after
        The original and the released table; None where nothing may be told, or groups are not what is published.
    columns
        In the order of the plan.
    """

    least: int
    before: TableFacts | None
    after: TableFacts | None
    columns: tuple[ColumnFacts, ...]


def describe(problem: Problem, recoding: Recoding, checked: CheckResult, *, reveals_source: bool = True) -> Description:
    """Work out the facts of a verified release.

    Time n log n for n distinct combinations, plus labels times values of each locally recoded column.
    """
    frequencies = problem.frequencies
    bare = describe_columns(problem.schema, problem.model, checked)
    least = bare.least
    patterns = isinstance(recoding, ByPattern)
    edges = _edges(least)
    after = None if checked.found is None or patterns else table_facts(checked.found, edges, least)
    before, columns = None, bare.columns
    if reveals_source:
        sizes = [dictionary.size for dictionary in frequencies.quasi]
        before = table_facts(frequencies.group(frequencies.codes, sizes)[1], edges, least)
        quasi = {facts.name: facts for facts in _quasi_identifiers(problem, recoding, least)}
        kept = frequencies.secrets[kept_combinations(recoding)]
        sensitive = {
            dictionary.name: len(np.unique(kept[kept[:, s] >= 0, s]))
            for s, dictionary in enumerate(frequencies.sensitive)
            if frequencies.domains[s].people is None
        }
        columns = tuple(quasi.get(facts.name, replace(facts, values=sensitive.get(facts.name))) for facts in columns)
    return replace(bare, before=before, after=after, columns=columns)


def describe_columns(schema: Schema, model: AllOf, checked: CheckResult) -> Description:
    """What can be told of any release, where no machine may hold its rows: its columns, and no distributions."""
    columns = tuple(ColumnFacts(name, column.role) for name, column in schema.columns.items())
    return Description(_least(model, checked), None, None, columns)


def _least(model: AllOf, checked: CheckResult) -> int:
    asked = max((int(part.parameters.get("k", 0)) for part in model.parts), default=0)
    return asked if asked > 1 else max(checked.smallest_group, LEAST_CELL)


# -- tables ------------------------------------------------------------------------------------------


def _edges(least: int) -> list[int]:
    """Where bands of group sizes begin: 1, 2, least, and then ever larger steps."""
    return sorted({1, 2, least, *(least * factor for factor in (2, 5, 10, 100))})


def table_facts(groups: Groups, edges: Sequence[int], least: int) -> TableFacts:
    """Sizes, risks and attacks of the groups of one table; at risk are rows in groups smaller than ``least``."""
    unit = "rows"
    attacks: list[AttackResult] = []
    if groups.people is not None:
        attacks = attack_values(groups)
        crowd = _smallest_crowds(groups.people)
        groups, unit = Groups(groups.people.distinct), "people"
    place = np.searchsorted(np.asarray(edges), groups.size, side="right") - 1
    count = np.bincount(place, minlength=len(edges))
    if unit == "rows":
        rows, total = np.bincount(place, weights=groups.size, minlength=len(edges)), groups.rows
        risk = reidentification(groups.size, threshold=1 / least)
    else:
        rows, total = np.bincount(np.searchsorted(edges, crowd, side="right") - 1, minlength=len(edges)), len(crowd)
        risk = of_everybody(crowd, 1 / least)
    ends: list[int | None] = [edge - 1 for edge in edges[1:]]
    bands = tuple(
        Band(low, high, int(found), int(held))
        for low, high, found, held in zip(edges, [*ends, None], count, rows, strict=True)
    )
    for histogram in groups.histograms:
        name = histogram.domain.name
        if not histogram.known.sum():
            continue
        attacks.append(homogeneity(groups, name))
        if histogram.domain.category is not None:
            attacks.append(similarity(groups, name))
        attacks.append(inference(groups, name))
        attacks.append(background_knowledge(groups, name, 1))
    return TableFacts(total, groups.count, int(groups.size.min()), bands, risk, tuple(attacks), unit)


def _smallest_crowds(held: Histogram) -> npt.NDArray[np.int64]:
    """Of everybody, how many people the smallest group has that holds a row of theirs."""
    crowd = np.full(int(held.value.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(crowd, held.value, held.distinct[held.owner])
    return crowd[crowd < np.iinfo(np.int64).max]


# -- columns -----------------------------------------------------------------------------------------


def _quasi_identifiers(problem: Problem, recoding: Recoding, least: int) -> list[ColumnFacts]:
    frequencies, ladders, schema = problem.frequencies, problem.ladders, problem.schema
    fate = published(frequencies, ladders, recoding)
    covered = weighted_sums(fate.count, fate.share) / fate.count.sum()
    facts = []
    for j, (dictionary, ladder) in enumerate(zip(frequencies.quasi, ladders, strict=True)):
        leaf = float(ladder.share[0].min())
        lost = min(max((float(covered[j]) - leaf) / (1 - leaf), 0.0), 1.0) if leaf < 1 else 0.0
        before, labels, count, spread = _marginal(frequencies, ladder, recoding, j, schema)
        distribution = None
        if not isinstance(recoding, ByPattern):
            if spread is not None:
                distribution = _by_hierarchy(before, spread, ladder, least)
            else:
                distribution = _by_bins(ladder.labels[0], before, labels, count, least)
        level = recoding.levels[j] if isinstance(recoding, ByLevel) else None
        facts.append(
            ColumnFacts(
                dictionary.name,
                Role.QUASI_IDENTIFIER,
                int((before > 0).sum()),
                len(labels),
                level,
                ladder.height,
                lost,
                distribution,
            )
        )
    return facts


Labels = tuple[str | None, ...]
Marginal = tuple[npt.NDArray[np.int64], Labels, npt.NDArray[np.int64], npt.NDArray[np.float64] | None]


def _marginal(frequencies: FrequencySet, ladder: Ladder, recoding: Recoding, j: int, schema: Schema) -> Marginal:
    """Of one column: released rows by original value; distinct labels and their rows; labels spread over the values.

    A label's rows are spread evenly over the values that it covers, as a reader would who knows no better. None where
    a label covers no value (a mean, say), and where that would take too long.
    """
    name, leaves = frequencies.quasi[j].name, len(ladder.labels[0])
    if isinstance(recoding, ByLevel):
        kept = recoding.group >= 0
        before = _counts(frequencies.codes[kept, j], frequencies.count[kept], leaves)
        present = before > 0
        codes = ladder.codes[recoding.levels[j]]
        count = _counts(codes, before, ladder.size(recoding.levels[j]))
        width = np.bincount(codes[present], minlength=len(count))
        spread = np.where(present, count[codes] / np.maximum(width[codes], 1), 0.0)
        shown = np.flatnonzero(count)
        return before, tuple(ladder.labels[recoding.levels[j]][code] for code in shown.tolist()), count[shown], spread
    before = _counts(frequencies.codes[recoding.row, j], recoding.count, leaves)
    texts = _texts(recoding, j)
    rows = np.bincount(recoding.group, weights=recoding.count, minlength=len(texts)).astype(np.int64)
    totals: dict[str | None, int] = {}
    for text, held in zip(texts, rows.tolist(), strict=True):
        if held:
            totals[text] = totals.get(text, 0) + held
    labels, count = tuple(totals), np.asarray(list(totals.values()), np.int64)
    if len(labels) * (leaves + len(labels)) > MOST_PAIRS:
        return before, labels, count, None
    present = before > 0
    covers = read_labels(labels, ladder.labels[0], schema.columns[name].hierarchy, name).covers & present
    width = covers.sum(axis=1)
    if not width.all():
        return before, labels, count, None
    return before, labels, count, (count / width) @ covers


def _texts(recoding: ByGroup, j: int) -> list[str | None]:
    given = recoding.labels[j]
    values: Sequence[object] = given if isinstance(given, list | tuple) else given.to_pylist()  # type: ignore[union-attr]
    return [None if value is None else str(value) for value in values]


def _counts(codes: npt.NDArray[np.signedinteger], weight: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    return np.bincount(codes, weights=weight, minlength=size).astype(np.int64)


def _by_hierarchy(
    before: npt.NDArray[np.int64], spread: npt.NDArray[np.float64], ladder: Ladder, least: int
) -> Distribution | None:
    cells = safe_cells(before, ladder, least)
    if not cells:
        return None
    shown = tuple(Cell(label, int(before[leaves].sum()), float(spread[leaves].sum())) for label, leaves in cells)
    return Distribution(int(before.sum()), shown)


def safe_cells(count: npt.NDArray[np.int64], ladder: Ladder, least: int) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Join the values of a column into cells of at least ``least`` rows that nest in every label of its hierarchy.

    From the lowest level up, the small cells under one label become one; where that is still too small, the smallest
    of their neighbours under the label joins them, and where all have joined, the cell is the label. So whoever knows
    how many rows the labels of a level have, all of them ``least`` or more, finds no smaller number by subtraction.
    Values without rows have no part in it.

    Returns labels and leaf codes, in the order of values; nothing where all rows together are too few.

    Examples
    --------
    >>> from shoal.schema import Cuts
    >>> ladder = Cuts(((30, 40), (40,))).bind(["27", "28", "33", "37", "41"], False)
    >>> [label for label, _ in safe_cells(np.array([1, 2, 9, 5, 4]), ladder, 3)]
    ['<30', '33', '37', '41']
    """
    present = np.flatnonzero(count)
    if not len(present):
        return []
    start = next(
        (level for level in range(ladder.height) if len(np.unique(ladder.codes[level][present])) <= MOST_CELLS),
        max(ladder.height - 1, 0),
    )
    cells = []
    for code in np.unique(ladder.codes[start][present]):
        leaves = present[ladder.codes[start][present] == code]
        cells.append((_name(ladder.labels[start][code]), leaves))
    for level in range(start + 1, ladder.height + 1):
        under: dict[int, list[tuple[str, npt.NDArray[np.int64]]]] = {}
        for cell in cells:
            under.setdefault(int(ladder.codes[level][cell[1][0]]), []).append(cell)
        cells = []
        for code, family in under.items():
            label = ladder.labels[level][code]
            most = MOST_CELLS if level == ladder.height else len(family)
            cells += _join(family, count, least, label, most)
    cells.sort(key=lambda cell: (cell[0].startswith(OTHERS), int(cell[1].min())))
    return cells if all(count[leaves].sum() >= least for _, leaves in cells) else []


def _join(
    family: list[tuple[str, npt.NDArray[np.int64]]],
    count: npt.NDArray[np.int64],
    least: int,
    label: str | None,
    most: int,
) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """The cells under one label, none smaller than ``least`` if that can be, and at most ``most`` of them."""
    ordered = sorted(family, key=lambda cell: (int(count[cell[1]].sum()), int(cell[1].min())))
    rest = [cell for cell in ordered if count[cell[1]].sum() < least]
    left = ordered[len(rest) :]
    held = sum(int(count[leaves].sum()) for _, leaves in rest)
    while left and ((rest and held < least) or len(left) + bool(rest) > most):
        held += int(count[left[0][1]].sum())
        rest.append(left.pop(0))
    if not rest:
        return left
    leaves = np.sort(np.concatenate([cell[1] for cell in rest]))
    if not left:
        return [("all values" if label == TOP else _name(label), leaves)]
    return [*left, (OTHERS if label in (TOP, None) else f"{OTHERS} of {label}", leaves)]


def _name(label: str | None) -> str:
    return "missing" if label is None else label


def _by_bins(
    values: Sequence[str | None],
    before: npt.NDArray[np.int64],
    labels: Sequence[str | None],
    count: npt.NDArray[np.int64],
    least: int,
) -> Distribution | None:
    """Numbers against numbers that are no values of the column (means): round intervals of one width.

    Neighbours are joined until each holds ``least`` rows; the outermost are open, for their ends would be values.
    """
    one, two = numbers_in(values), numbers_in(labels)
    known = ~np.isnan(one)
    if np.isnan(two).any() or (before[~known] > 0).any():
        return None
    ends = _round_ends(float(one[before > 0].min()), float(one[before > 0].max()))
    was = _counts(np.searchsorted(ends, one[known], side="right"), before[known], len(ends) + 1)
    now = _counts(np.searchsorted(ends, two, side="right"), count, len(ends) + 1)
    cells: list[Cell] = []
    low: float | None = None
    held = shown = 0
    for place in range(len(ends) + 1):
        held, shown = held + int(was[place]), shown + int(now[place])
        if place == len(ends) or (held >= least and was[place + 1 :].sum() >= least):
            high = None if place == len(ends) else float(ends[place])
            cells.append(Cell(_interval(low, high), held, float(shown)))
            low, held, shown = high, 0, 0
    return Distribution(int(before.sum()), tuple(cells)) if all(cell.before >= least for cell in cells) else None


def _round_ends(low: float, high: float) -> npt.NDArray[np.float64]:
    """About eight round numbers between two."""
    span = (high - low) / 9
    if not span > 0 or not math.isfinite(span):
        return np.zeros(0)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span)
    first = math.floor(low / step) + 1
    return np.asarray([number * step for number in range(first, math.ceil(high / step))])


def _interval(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return "all values"
    if low is None:
        return f"below {_end(high)}"
    return f"{_end(low)} and above" if high is None else f"{_end(low)} to below {_end(high)}"


def _end(number: float | None) -> str:
    """The end of an interval as people read it; four digits may be a year, and stay together."""
    assert number is not None
    return f"{number:,.10g}" if abs(number) >= 10_000 else f"{number:.10g}"
