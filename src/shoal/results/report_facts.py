"""Facts of a release for its owner, about the original and the release.

They are sizes of groups, risks and attacks before and after, the loss of each column, and the distributions of columns
before and after. They are in the internal report, which is not published: the original is all rows of the source, so
that a minority that was left out can be seen. No cell of a distribution is about fewer than ``least`` rows, or people
where the models count people: smaller ones are joined with their neighbours in the hierarchy. Where the guarantee of
the method forbids facts about the source, none are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.formatting import boundary
from shoal.methods import Problem
from shoal.models import AllOf
from shoal.risk.attacks import AttackResult, background_knowledge, homogeneity, inference, similarity
from shoal.risk.attacks_people import attack_values
from shoal.risk.reidentification import Reidentification, reidentification, reidentification_of_people
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import TOP, Ladder, Role, Schema
from shoal.table import ByGroup, ByLevel, ByPattern, FrequencySet, Groups, Recoding
from shoal.table.groups import Histogram
from shoal.utility.labels import parse_numbers, read_labels
from shoal.utility.loss import loss_sums
from shoal.verification.check import CheckResult

if TYPE_CHECKING:
    import pyarrow as pa

MAX_CELLS = 24
MIN_CELL_ROWS = 3
"""Minimum number of rows of a cell where no model requires groups of any size."""
OTHER_VALUES = "other values"
MAX_PAIRS = 20_000_000
"""Number of pairs of labels and values beyond which a distribution is not computed."""


@dataclass(frozen=True)
class Band:
    """Groups of ``low`` to ``high`` rows (None: or more), and their rows."""

    low: int
    high: int | None
    groups: int
    rows: int


@dataclass(frozen=True)
class TableFacts:
    """Facts of one table, original or released, as an intruder sees it."""

    rows: int
    groups: int
    smallest_group: int
    bands: tuple[Band, ...]
    risk: Reidentification
    attacks: tuple[AttackResult, ...]
    unit: str = "rows"
    """Unit that is counted: rows, or people, each once, in the smallest group with a row of theirs."""


@dataclass(frozen=True)
class Cell:
    """Rows of one or several values, before and after.

    ``before`` counts by original values; ``after`` is the expected count for a reader of the release.
    """

    label: str
    before: int
    after: float


@dataclass(frozen=True)
class Distribution:
    """Cells of a column, in the order of its values.

    ``rows`` is the number of released rows, ``source_rows`` that of the source.
    """

    rows: int
    source_rows: int
    cells: tuple[Cell, ...]

    @property
    def moved(self) -> float:
        """Total variation: the share of rows in different cells before and after."""
        return sum(abs(cell.before / self.source_rows - cell.after / self.rows) for cell in self.cells) / 2


@dataclass(frozen=True)
class ColumnFacts:
    """Facts of a column.

    Attributes
    ----------
    values, labels
        The number of distinct values in the original, and of labels in the release.
    level, height
        The level of the hierarchy at which it is published, where that is one level, and the highest.
    lost
        The share of its detail that is lost: 0 is none (the value itself), 1 is all (`*`), over all rows.
    distribution
        None for a column that is `*` in every row: the release tells nothing of it.
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
    """Facts of a release.

    Attributes
    ----------
    least
        The minimum number of rows, or people, of a cell of a distribution.
    before, after
        The original and the released table; None where nothing may be disclosed, or groups are not what is published.
    columns
        In the order of the plan.
    """

    least: int
    before: TableFacts | None
    after: TableFacts | None
    columns: tuple[ColumnFacts, ...]


def describe(problem: Problem, recoding: Recoding, checked: CheckResult, *, reveals_source: bool = True) -> Description:
    """Compute the facts of a verified release.

    Time n log n for n distinct combinations, plus labels times values of each locally recoded column.
    """
    frequencies = problem.frequencies
    bare = describe_columns(problem.schema, problem.model, checked)
    least = bare.least
    patterns = isinstance(recoding, ByPattern)
    edges = size_edges(least)
    after = None if checked.found is None or patterns else table_facts(checked.found, edges, least)
    before, columns = None, bare.columns
    if reveals_source:
        sizes = [dictionary.size for dictionary in frequencies.quasi]
        before = table_facts(frequencies.group(frequencies.codes, sizes)[1], edges, least)
        quasi = {facts.name: facts for facts in _quasi_identifiers(problem, recoding, least)}
        sensitive = {
            dictionary.name: len(dictionary.text)
            for s, dictionary in enumerate(frequencies.sensitive)
            if frequencies.domains[s].people is None
        }
        columns = tuple(quasi.get(facts.name, replace(facts, values=sensitive.get(facts.name))) for facts in columns)
    return replace(bare, before=before, after=after, columns=columns)


def describe_columns(schema: Schema, model: AllOf, checked: CheckResult) -> Description:
    """Return the facts that exist for any release, distributed ones too.

    These are its columns, without distributions.
    """
    columns = tuple(ColumnFacts(name, column.role) for name, column in schema.columns.items())
    return Description(min_cell_rows(model, checked.smallest_group), None, None, columns)


def min_cell_rows(model: AllOf, smallest_group: int) -> int:
    """Return the smallest number of rows that a figure may be about."""
    required = max((int(part.parameters.get("k", 0)) for part in model.parts), default=0)
    return required if required > 1 else max(smallest_group, MIN_CELL_ROWS)


# -- tables ------------------------------------------------------------------------------------------


def size_edges(least: int) -> list[int]:
    """Return the lower ends of size bands: 1, 2, least, and larger steps."""
    return sorted({1, 2, least, *(least * factor for factor in (2, 5, 10, 100))})


def table_facts(groups: Groups, edges: Sequence[int], least: int) -> TableFacts:
    """Compute sizes, risks and attacks of the groups of one table.

    Rows in groups smaller than ``least`` are at risk.
    """
    unit = "rows"
    attacks: list[AttackResult] = []
    if groups.people is not None:
        attacks = attack_values(groups)
        crowd = _smallest_crowds(groups.people)
        groups, unit = Groups(groups.people.distinct), "people"
    band = np.searchsorted(np.asarray(edges), groups.size, side="right") - 1
    count = np.bincount(band, minlength=len(edges))
    if unit == "rows":
        rows, total = np.bincount(band, weights=groups.size, minlength=len(edges)), groups.rows
        risk = reidentification(groups.size, threshold=1 / least)
    else:
        rows, total = np.bincount(np.searchsorted(edges, crowd, side="right") - 1, minlength=len(edges)), len(crowd)
        risk = reidentification_of_people(crowd, 1 / least)
    ends: list[int | None] = [edge - 1 for edge in edges[1:]]
    bands = tuple(
        Band(low, high, int(found), int(rows_in_band))
        for low, high, found, rows_in_band in zip(edges, [*ends, None], count, rows, strict=True)
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


def _smallest_crowds(people: Histogram) -> npt.NDArray[np.int64]:
    """Return the people of the smallest group of each person."""
    crowd = np.full(int(people.value.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(crowd, people.value, people.distinct[people.owner])
    return crowd[crowd < np.iinfo(np.int64).max]


# -- columns -----------------------------------------------------------------------------------------


def _quasi_identifiers(problem: Problem, recoding: Recoding, least: int) -> list[ColumnFacts]:
    frequencies, ladders, schema = problem.frequencies, problem.ladders, problem.schema
    sums = loss_sums(frequencies, ladders, recoding)
    covered = sums.share / sums.rows
    has_people = bool(frequencies.domains) and frequencies.domains[-1].people is not None
    facts = []
    for j, (dictionary, ladder) in enumerate(zip(frequencies.quasi, ladders, strict=True)):
        leaf = float(ladder.share[0].min())
        lost = min(max((float(covered[j]) - leaf) / (1 - leaf), 0.0), 1.0) if leaf < 1 else 0.0
        before = _counts(frequencies.codes[:, j], frequencies.count, len(ladder.labels[0]))
        labels, count, expected = _marginal(frequencies, ladder, recoding, j, schema)
        size = CellSize(before, (frequencies.codes[:, j], frequencies.secrets[:, -1]) if has_people else None)
        distribution = None
        if not isinstance(recoding, ByPattern) and labels != (TOP,):
            if expected is not None:
                distribution = _by_hierarchy(before, expected, ladder, least, size)
            else:
                distribution = _by_bins(ladder.labels[0], before, labels, count, least, size)
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


class CellSize:
    """Number of rows, or of different people, with some values of a column.

    ``owners`` are the value and the person of each combination, where people are counted.
    """

    def __init__(
        self,
        count: npt.NDArray[np.int64],
        owners: tuple[npt.NDArray[np.signedinteger], npt.NDArray[np.signedinteger]] | None = None,
    ) -> None:
        self._count, self._people = count, None
        if owners is not None:
            values, people = (part.astype(np.int64) for part in owners)
            total = int(people.max(initial=0)) + 1
            value, person = np.divmod(np.unique(values * total + people), total)
            self._people = np.split(person, np.searchsorted(value, np.arange(1, len(count))))

    def __call__(self, leaves: npt.NDArray[np.int64]) -> int:
        """Return the number for some values."""
        if self._people is None or not len(leaves):
            return int(self._count[leaves].sum())
        return len(np.unique(np.concatenate([self._people[leaf] for leaf in leaves.tolist()])))


Labels = tuple[str | None, ...]
Marginal = tuple[Labels, npt.NDArray[np.int64], npt.NDArray[np.float64] | None]


def _marginal(frequencies: FrequencySet, ladder: Ladder, recoding: Recoding, j: int, schema: Schema) -> Marginal:
    """Return the marginal distribution of one column in the release.

    It is: distinct labels; the rows of each label; and the expected rows of each value. The rows of a label are divided
    evenly over the values that it covers, as a reader without further knowledge would do. The last result is None where
    a label covers no value (a mean, say), and where it would take too long.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    name, leaves = frequencies.quasi[j].name, len(ladder.labels[0])
    if isinstance(recoding, ByLevel):
        is_released = recoding.group >= 0
        released_counts = _counts(frequencies.codes[is_released, j], frequencies.count[is_released], leaves)
        codes = ladder.codes[recoding.levels[j]]
        count = _counts(codes, released_counts, ladder.size(recoding.levels[j]))
        width = np.bincount(codes, minlength=len(count))
        published_codes = np.flatnonzero(count)
        return (
            tuple(ladder.labels[recoding.levels[j]][code] for code in published_codes.tolist()),
            count[published_codes],
            count[codes] / width[codes],
        )
    texts = _texts(recoding, j)
    rows = np.bincount(recoding.group, weights=recoding.count, minlength=len(texts)).astype(np.int64)
    coded = pc.dictionary_encode(texts.filter(pa.array(rows > 0)), null_encoding="encode")
    labels: Labels = tuple(coded.dictionary.to_pylist())
    count = _counts(coded.indices.to_numpy(zero_copy_only=False), rows[rows > 0], len(labels))
    if len(labels) * (leaves + len(labels)) > MAX_PAIRS:
        return labels, count, None
    covers = read_labels(labels, ladder.labels[0], schema.columns[name].hierarchy, name).covers
    width = covers.sum(axis=1)
    if not width.all():
        return labels, count, None
    return labels, count, (count / width) @ covers


def _texts(recoding: ByGroup, j: int) -> pa.Array:
    """Return the label of each group as text."""
    import pyarrow as pa

    labels = recoding.labels[j]
    if isinstance(labels, pa.Array) and pa.types.is_string(labels.type):
        return labels
    values: Sequence[object] = labels if isinstance(labels, list | tuple) else labels.to_pylist()  # type: ignore[union-attr]
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _counts(codes: npt.NDArray[np.signedinteger], weight: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    return np.bincount(codes, weights=weight, minlength=size).astype(np.int64)


def _by_hierarchy(
    before: npt.NDArray[np.int64], expected: npt.NDArray[np.float64], ladder: Ladder, least: int, size: CellSize
) -> Distribution | None:
    cells = safe_cells(before, ladder, least, size)
    if not cells:
        return None
    published_cells = tuple(
        Cell(label, int(before[leaves].sum()), float(expected[leaves].sum())) for label, leaves in cells
    )
    return Distribution(round(float(expected.sum())), int(before.sum()), published_cells)


def safe_cells(
    count: npt.NDArray[np.int64], ladder: Ladder, least: int, size: CellSize | None = None
) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Join the values of a column into cells of at least ``least`` rows.

    ``size`` counts what a cell is about, by default rows.

    The cells nest in every label of the hierarchy. From the lowest level up, the small cells under one label become
    one; where that is still too small, the smallest of their neighbours under the label joins them, and where all have
    joined, the cell is the label. So a reader who knows the rows of all labels of a level, each ``least`` or more,
    finds no smaller number by subtraction. Values without rows are ignored.

    Returns labels and leaf codes, in the order of values; nothing where all rows together are too few.

    Examples
    --------
    >>> from shoal.schema import Cuts
    >>> ladder = Cuts(((30, 40), (40,))).bind(["27", "28", "33", "37", "41"], False)
    >>> [label for label, _ in safe_cells(np.array([1, 2, 9, 5, 4]), ladder, 3)]
    ['<30', '33', '37', '41']
    """
    size = CellSize(count) if size is None else size
    present = np.flatnonzero(count)
    if not len(present):
        return []
    start = next(
        (level for level in range(ladder.height) if len(np.unique(ladder.codes[level][present])) <= MAX_CELLS),
        max(ladder.height - 1, 0),
    )
    cells = []
    for code in np.unique(ladder.codes[start][present]):
        leaves = present[ladder.codes[start][present] == code]
        cells.append((_label_text(ladder.labels[start][code]), leaves))
    for level in range(start + 1, ladder.height + 1):
        under: dict[int, list[tuple[str, npt.NDArray[np.int64]]]] = {}
        for cell in cells:
            under.setdefault(int(ladder.codes[level][cell[1][0]]), []).append(cell)
        cells = []
        for code, family in under.items():
            label = ladder.labels[level][code]
            max_cells = MAX_CELLS if level == ladder.height else len(family)
            cells += _join(family, size, least, label, max_cells)
    cells.sort(key=lambda cell: (cell[0].startswith(OTHER_VALUES), int(cell[1].min())))
    return cells if all(size(leaves) >= least for _, leaves in cells) else []


def _join(
    family: list[tuple[str, npt.NDArray[np.int64]]], size: CellSize, least: int, label: str | None, max_cells: int
) -> list[tuple[str, npt.NDArray[np.int64]]]:
    """Join the cells under one label to at least ``least`` rows, if possible.

    At most ``max_cells`` cells remain.
    """
    ordered = sorted(family, key=lambda cell: (size(cell[1]), int(cell[1].min())))
    rest = [cell for cell in ordered if size(cell[1]) < least]
    left = ordered[len(rest) :]

    def merged() -> npt.NDArray[np.int64]:
        return np.sort(np.concatenate([cell[1] for cell in rest]))

    while left and ((rest and size(merged()) < least) or len(left) + bool(rest) > max_cells):
        rest.append(left.pop(0))
    if not rest:
        return left
    if not left:
        return [("all values" if label == TOP else _label_text(label), merged())]
    return [*left, (OTHER_VALUES if label in (TOP, None) else f"{OTHER_VALUES} of {label}", merged())]


def _label_text(label: str | None) -> str:
    return "missing" if label is None else label


def _by_bins(
    values: Sequence[str | None],
    before: npt.NDArray[np.int64],
    labels: Sequence[str | None],
    count: npt.NDArray[np.int64],
    least: int,
    size: CellSize,
) -> Distribution | None:
    """Bin numbers that are published as other numbers, such as means.

    The bins are round intervals of one width. Neighbours are joined until each has ``least`` rows; the outermost are
    open, for their ends would be values.
    """
    one, two = parse_numbers(values), parse_numbers(labels)
    known = ~np.isnan(one)
    if np.isnan(two).any() or (before[~known] > 0).any():
        return None
    leaves = np.flatnonzero(known & (before > 0))
    ends = _round_ends(float(one[leaves].min()), float(one[leaves].max()))
    leaf_bin = np.searchsorted(ends, one[leaves], side="right")
    bins_after = _counts(np.searchsorted(ends, two, side="right"), count, len(ends) + 1)
    cells: list[tuple[Cell, int]] = []
    low: float | None = None
    first = 0
    for index in range(len(ends) + 1):
        inside = leaves[(leaf_bin >= first) & (leaf_bin <= index)]
        if index == len(ends) or (size(inside) >= least and size(leaves[leaf_bin > index]) >= least):
            high = None if index == len(ends) else float(ends[index])
            after = float(bins_after[first : index + 1].sum())
            cells.append((Cell(_interval(low, high), int(before[inside].sum()), after), size(inside)))
            low, first = high, index + 1
    if any(cell_size < least for _, cell_size in cells):
        return None
    return Distribution(int(count.sum()), int(before.sum()), tuple(cell for cell, _ in cells))


def _round_ends(low: float, high: float) -> npt.NDArray[np.float64]:
    """Return about eight round numbers between two."""
    span = (high - low) / 9
    if not span > 0 or not math.isfinite(span):
        return np.zeros(0)
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span)
    first = math.floor(low / step) + 1
    return np.asarray([number * step for number in range(first, math.ceil(high / step))])


def _interval(low: float | None, high: float | None) -> str:
    if low is None:
        return "all values" if high is None else f"below {boundary(high)}"
    return f"{boundary(low)} and above" if high is None else f"{boundary(low)} to below {boundary(high)}"
