"""Evaluate models of partial knowledge independently, for sets of columns.

Models that look at sizes alone are evaluated in arrays (:mod:`shoal.verification.independent.array_counts`). For all
others the arithmetic is in Python's integers: bitsets, sums of packed fields, and dictionaries.

*Two columns*: each label of a column is an integer with a bit for each row that shows it. The rows that show two labels
are the common bits of the two integers.

*More columns*: a row is an integer with a field for each label of the columns that can be last in a set, and a one in
the fields of its labels. The sum over the rows that agree in the other columns of the set has in every field the number
of rows that show its label too: one sum counts all sets that differ in their last column only.

The candidate rows of a person are counted in the same way, and their sensitive values too: the model must hold for them
as for the rows that show the same labels. Candidates that are just the rows with the person's labels are not evaluated
again. A row that hides a column has the bit of every label of the
column; in sums it has a field of its own, which is added to all labels of the column. So no code, no packed key and no
count table of the search is used. Columns with very many labels are counted in a dictionary.

:mod:`shoal.models.partial_knowledge` defines the condition; only the fields of the model are read here.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Literal

from shoal.runtime.lazy_dataclass import dataclass
from shoal.verification.independent.array_counts import ArrayCounts
from shoal.verification.independent.counting import CountsByValue, SensitiveColumn, read_texts
from shoal.verification.independent.definitions import DEFINITIONS, Definition
from shoal.verification.independent.judge import ROWS_PER_PERSON, ModelEvaluation

if TYPE_CHECKING:
    import pyarrow as pa

Label = str | None
People = Mapping[tuple[Label, ...], int]
"""Labels of people by quasi-identifier, as the release would show them, and the number of such people."""

Sum = tuple[int, int]
"""Number of addends, and their sum."""
Cell = int | None
"""Number of a label in its column; None is a hidden cell."""

USES_ARRAYS = True
"""Whether sets are counted in arrays for models that look at sizes alone; otherwise with Python's integers."""
DICTIONARY_NANOSECONDS_PER_ROW = 150
"""Time that one row costs in a dictionary."""
MIN_LABELS_FOR_DICTIONARY = 1000
"""Number of labels from which on a dictionary counts a column faster than one field per label."""
MAX_FIELD_BYTES = 2**28
"""Memory limit for the packed integers of all rows; beyond it, the last columns are processed in blocks."""
FIELD_FORMATS: Mapping[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Bytes of a field, and the memory format of such fields."""
MIN_ADDENDS_PER_FIELD = 100
"""Number of integers that can at least be added before a field overflows."""


@dataclass(frozen=True)
class ReleasedRows:
    """Rows of a release, and the people behind them.

    Attributes
    ----------
    times
        The number of rows of each combination.
    cells, people
        By column the label number of each combination, and of each distinct person.
    labels
        The number of labels of each column.
    values
        For each sensitive column the value number of each combination.
    """

    names: tuple[str, ...]
    rows: int
    times: list[int]
    cells: tuple[list[Cell], ...]
    people: tuple[list[Cell], ...]
    labels: tuple[int, ...]
    values: Mapping[str, list[int | None]]
    sensitive: tuple[SensitiveColumn, ...]
    min_rows_per_person: dict[tuple[tuple[int, ...], int], int] = field(default_factory=dict)
    """Cache, by columns and set size, of the fewest candidate rows of a person; they do not depend on the model."""

    @cached_property
    def hides(self) -> bool:
        """Return whether a cell is hidden."""
        return any(None in column for column in self.cells)

    def repeat(self, values: Sequence[Any]) -> Sequence[Any]:
        """Repeat the values of combinations, once for each of their rows."""
        if self.rows == len(self.times):
            return values
        return [value for value, count in zip(values, self.times, strict=True) for _ in range(count)]


def read_released_rows(
    counted: pa.Table,
    quasi: Mapping[str, int],
    sensitive: Sequence[SensitiveColumn],
    people: People,
    wildcard: str,
) -> ReleasedRows:
    """Read the combinations of a release (c<position>, n).

    Empty text is missing, as for a reader of a CSV.
    """
    times = counted.column("n").to_pylist()
    cells, people_cells, labels = [], [], []
    for j, position in enumerate(quasi.values()):
        texts, people_labels = read_texts(counted.column(f"c{position}")), [person[j] for person in people]
        number: dict[Label, Cell] = {wildcard: None}
        for label in itertools.chain(texts, people_labels):
            if label not in number:
                number[label] = len(number) - 1
        cells.append([number[label] for label in texts])
        people_cells.append([number[label] for label in people_labels])
        labels.append(len(number) - 1)
    values = {one.name: one.numbers(counted.column(f"c{one.position}")) for one in sensitive}
    return ReleasedRows(
        tuple(quasi), sum(times), times, tuple(cells), tuple(people_cells), tuple(labels), values, tuple(sensitive)
    )


def evaluate_column_sets(released: ReleasedRows, part: Any) -> ModelEvaluation | None:
    """Evaluate a model of partial knowledge independently.

    None where the model has no definition here.
    """
    definition = DEFINITIONS.get(part.of.name)
    if definition is None:
        return None
    evaluation = _SetEvaluation(released, part.of, definition)
    least = getattr(part.of, "k", 1)
    positions, max_known = known_columns(part, released.names)
    positions.sort(key=lambda j: -released.labels[j])  # the last column of a set has the fewest labels
    if USES_ARRAYS and evaluation.columns == [None]:
        evaluation.count_with_arrays(positions, max_known)
    else:
        _evaluate_all_sizes(released, evaluation, positions, max_known)
    return ModelEvaluation(
        evaluation.holds(least), {**evaluation.effective(), ROWS_PER_PERSON: evaluation.min_rows_per_person}
    )


def _evaluate_all_sizes(
    released: ReleasedRows, evaluation: _SetEvaluation, positions: Sequence[int], max_known: int
) -> None:
    """Evaluate all sets of at most ``max_known`` columns."""
    evaluation.count_with_dictionary(())
    for size in range(1, max_known + 1):
        family = (tuple(positions), size)
        evaluation.counts_people = family not in released.min_rows_per_person
        _evaluate_sets(released, evaluation, positions, size)
        evaluation.min_rows_per_person = min(
            evaluation.min_rows_per_person,
            released.min_rows_per_person.setdefault(family, evaluation.min_rows_per_person),
        )


def known_columns(part: Any, names: Sequence[str]) -> tuple[list[int], int]:
    """Return the columns of a partial model, and how many are known at most."""
    if hasattr(part, "known"):
        return list(range(len(names))), part.known
    positions = [position for position, name in enumerate(names) if name in part.columns]
    return positions, len(positions)


def _evaluate_sets(released: ReleasedRows, evaluation: _SetEvaluation, positions: Sequence[int], size: int) -> None:
    """Evaluate all sets of ``size`` columns."""
    if size == 2:
        _evaluate_pairs(released, evaluation, positions)
        return
    wide = [j for j in positions if released.labels[j] > MIN_LABELS_FOR_DICTIONARY or size == 1]
    for chosen in itertools.combinations(wide, size):
        evaluation.count_with_dictionary(chosen)
    people = (
        {j: bitsets(released.people[j]) for j in positions}
        if (evaluation.counts_people or evaluation.has_crowds) and len(wide) < len(positions)
        else {}
    )
    for block in _blocks(released, positions[len(wide) :]):
        fields = _pack_fields(released, block)
        for index, before in enumerate(positions):
            if before == block[-1]:
                break
            if before == fields.columns[0]:
                fields = fields.without_first()
            for others in itertools.combinations(positions[:index], size - 2):
                evaluation.count_with_sums((*others, before), fields, people)


def _evaluate_pairs(released: ReleasedRows, evaluation: _SetEvaluation, positions: Sequence[int]) -> None:
    bits = _row_bitsets(released, positions)
    for pair in itertools.combinations(positions, 2):
        # both give the same result; measured in nanoseconds, bitsets cost the left side and a dictionary the right side
        labels = math.prod(released.labels[j] for j in pair) * evaluation.values
        if labels * (150 + released.rows // 80) > DICTIONARY_NANOSECONDS_PER_ROW * released.rows * len(
            evaluation.columns
        ):
            evaluation.count_with_dictionary(pair)
        else:
            evaluation.count_with_bits(pair, bits)


@dataclass(frozen=True)
class _Bitsets:
    """Bitsets by column and label.

    ``rows`` are the rows that show a label, ``covers`` those that show or hide it, and ``people`` the people who have
    it.
    """

    rows: Mapping[int, Mapping[Cell, int]]
    covers: Mapping[int, Mapping[Cell, int]]
    people: Mapping[int, Mapping[Cell, int]]


def _row_bitsets(released: ReleasedRows, columns: Sequence[int]) -> _Bitsets:
    rows, covers, people = {}, {}, {}
    for j in columns:
        found = bitsets(released.repeat(released.cells[j]))
        people[j] = bitsets(released.people[j])
        nothing = found.pop(None, 0)
        rows[j] = found
        covers[j] = {label: found.get(label, 0) | nothing for label in people[j]}
    return _Bitsets(rows, covers, people)


def bitsets(column: Sequence[Any]) -> dict[Any, int]:
    """Return, for each value, an integer with a bit for each of its indices."""
    bits: dict[Any, bytearray] = {}
    length = len(column) // 8 + 1
    for index, value in enumerate(column):
        found = bits.get(value)
        if found is None:
            found = bits[value] = bytearray(length)
        found[index >> 3] |= 1 << (index & 7)
    return {value: int.from_bytes(found, "little") for value, found in bits.items()}


def _blocks(released: ReleasedRows, positions: Sequence[int]) -> Iterator[list[int]]:
    """Divide the columns into blocks that fit into memory when packed."""
    capacity = MAX_FIELD_BYTES // (_field_width(released) * max(len(released.times), len(released.people[0]), 1))
    block: list[int] = []
    used = 0
    for j in positions:
        if block and used + released.labels[j] > capacity:
            yield block
            block, used = [], 0
        block.append(j)
        used += released.labels[j]
    if block:
        yield block


@dataclass(frozen=True)
class _Fields:
    """Packed rows: a field for each label of a column, and for hidden cells.

    Attributes
    ----------
    columns, sizes
        The columns, and the number of fields of each.
    width, max_addends
        Bytes of a field, and how many integers can be added before a field overflows.
    rows
        For each combination its count, in the fields of its labels.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    width: int
    max_addends: int
    rows: list[int]

    @cached_property
    def is_label(self) -> list[bool]:
        """Return for each field whether it belongs to a label."""
        return [field < size - 1 for size in self.sizes for field in range(size)]

    @cached_property
    def labels(self) -> list[tuple[int, Cell]]:
        """Column and label of each field."""
        columns = zip(self.columns, self.sizes, strict=True)
        return [(j, field if field < size - 1 else None) for j, size in columns for field in range(size)]

    def without_first(self) -> _Fields:
        """Return the fields without the first column."""
        shift = 8 * self.width * self.sizes[0]
        rows = [number >> shift for number in self.rows]
        return _Fields(self.columns[1:], self.sizes[1:], self.width, self.max_addends, rows)

    def split(self, number: int) -> list[int]:
        """Return the content of each field of an integer."""
        found = memoryview(number.to_bytes(sum(self.sizes) * self.width, sys.byteorder)).cast(FIELD_FORMATS[self.width])
        return found.tolist()[:: 1 if sys.byteorder == "little" else -1]

    def add(self, positions: Sequence[int]) -> list[Sum]:
        """Add some of the rows, in parts in which no field overflows."""
        parts = (positions[start : start + self.max_addends] for start in range(0, len(positions), self.max_addends))
        return [(len(part), sum(map(self.rows.__getitem__, part))) for part in parts]

    def with_hidden(self, counts: Iterable[int]) -> Iterator[int]:
        """Add the count of hidden cells to every label of its column."""
        left = iter(counts)
        for size in self.sizes:
            *labels, nothing = itertools.islice(left, size)
            yield from [count + nothing for count in labels] if nothing else labels
            yield nothing

    def total(self, parts: Iterable[Sum]) -> list[int]:
        """Return the content of each field of several sums added up."""
        lists, added, whole = [], 0, 0
        for count, number in parts:
            if added + count > self.max_addends:
                lists.append(self.split(whole))
                added = whole = 0
            added, whole = added + count, whole + number
        last = self.split(whole)
        return list(map(sum, zip(*lists, last, strict=True))) if lists else last


def _pack_fields(released: ReleasedRows, columns: Sequence[int]) -> _Fields:
    width = _field_width(released)
    one = (1).to_bytes(width, "little")
    rows = []
    for j in columns:
        fields = released.labels[j] + 1
        ones: dict[Cell, bytes] = {n: bytes(n * width) + one + bytes((fields - 1 - n) * width) for n in range(fields)}
        ones[None] = ones.pop(fields - 1)
        rows.append(map(ones.__getitem__, released.cells[j]))
    # the fields of all columns in sequence as one integer, the first field lowest; multiplied by the count
    whole = (int.from_bytes(b"".join(fields), "little") for fields in zip(*rows, strict=True))
    numbers = list(map(operator.mul, whole, released.times))
    return _Fields(
        tuple(columns), tuple(released.labels[j] + 1 for j in columns), width, _max_addends(released, width), numbers
    )


def _field_width(released: ReleasedRows) -> int:
    """Return the bytes of a field that many rows can be added to."""
    return next(width for width in FIELD_FORMATS if max(released.times, default=1) * MIN_ADDENDS_PER_FIELD < 256**width)


def _max_addends(released: ReleasedRows, width: int) -> int:
    """Return how many rows can be added before a field overflows."""
    return int(256**width - 1) // max(released.times)


class _SetEvaluation:
    """Evaluation of one model: verdicts so far, and fewest candidate rows."""

    def __init__(self, released: ReleasedRows, model: Any, definition: Definition) -> None:
        self.model, self.definition, self.released = model, definition, released
        chosen = [one for one in released.sensitive if definition.sensitive and model.column in (None, one.name)]
        self.columns: list[SensitiveColumn | None] = list(chosen) if definition.sensitive else [None]
        self.evaluators: list[Callable[[int, CountsByValue], Any]] = [
            definition.judge(model, column) for column in self.columns
        ]
        self.verdicts: list[dict[tuple[int, CountsByValue], Any]] = [{} for _ in self.columns]
        self.min_rows_per_person = released.rows
        self.counts_people = True
        self.value_bits = [
            {} if one is None else bitsets(released.repeat(released.values[one.name])) for one in self.columns
        ]
        self.values = sum(len(bits) + 1 for bits in self.value_bits)
        self.has_crowds = released.hides and bool(chosen)

    def count_with_arrays(self, positions: Sequence[int], max_known: int) -> None:
        """Evaluate all sets of columns by sizes of groups alone."""
        fewest, family = self.released.min_rows_per_person, (tuple(positions), max_known)
        counts = ArrayCounts(self.released, positions, max_known, family not in fewest)
        for size in counts.group_sizes:
            self._record(0, size, ())
        self.min_rows_per_person = min(self.min_rows_per_person, fewest.setdefault(family, counts.fewest_candidates))

    def count_with_bits(self, pair: tuple[int, int], bits: _Bitsets) -> None:
        """Evaluate the groups of two columns with bitsets."""
        one, other = (bits.rows[j].values() for j in pair)
        groups = {both for rows in one for more in other if (both := rows & more)}
        first, second = pair
        crowds: set[int] = set()
        if self.counts_people or self.has_crowds:
            crowds = {
                rows & others
                for label, rows in bits.covers[first].items()
                for more, others in bits.covers[second].items()
                if bits.people[first][label] & bits.people[second][more]
            }
            self.min_rows_per_person = min([self.min_rows_per_person, *(crowd.bit_count() for crowd in crowds)])
        for index, values in enumerate(self.value_bits):
            for group in groups | crowds - {0} if self.has_crowds else groups:
                value_counts = (
                    (number, (group & rows).bit_count()) for number, rows in values.items() if number is not None
                )
                self._record(index, group.bit_count(), tuple(sorted(had for had in value_counts if had[1])))

    def count_with_sums(
        self, first: tuple[int, ...], fields: _Fields, people: Mapping[int, Mapping[Cell, int]]
    ) -> None:
        """Evaluate all sets of these first columns and one last, with fields."""
        members = rows_by_key([self.released.cells[j] for j in first], len(self.released.times))
        sums = {key: fields.add(rows) for key, rows in members.items()}
        visible = [key for key in members if None not in key]
        for index, column in enumerate(self.columns):
            if column is None:
                sizes: set[int] = set()
                sizes.update(*(itertools.compress(fields.total(sums[key]), fields.is_label) for key in visible))
                for size in sizes - {0}:
                    self._record(index, size, ())
            else:
                groups = [members[key] for key in visible]
                self._record_values(index, groups, fields, self.released.values[column.name])
        if not self.counts_people and not self.has_crowds:
            return
        for key in set(zip(*(self.released.people[j] for j in first), strict=True)):
            counts = fields.total(part for one in compatible_labels(key) for part in sums.get(one, ()))
            if self.has_crowds:
                compatible = [one for one in compatible_labels(key) if one in members]
                hides_last = any(count for count, is_label in zip(counts, fields.is_label, strict=True) if not is_label)
                if hides_last or any(None in one for one in compatible):
                    rows = [row for one in compatible for row in members[one]]
                    self._record_crowds(dict(zip(first, key, strict=True)), rows, fields, people)
            candidates = [
                (count, index)
                for index, count in enumerate(fields.with_hidden(counts))
                if count < self.min_rows_per_person
            ]
            if candidates:  # only labels that some person has count
                sharing_people = reduce(operator.and_, (people[j][label] for j, label in zip(first, key, strict=True)))
                for count, (j, label) in ((count, fields.labels[index]) for count, index in candidates):
                    if count < self.min_rows_per_person and sharing_people & people[j].get(label, 0):
                        self.min_rows_per_person = count

    def _record_values(
        self, index: int, groups: Sequence[Sequence[int]], fields: _Fields, values: Sequence[int | None]
    ) -> None:
        for rows in groups:
            having: defaultdict[int | None, list[int]] = defaultdict(list)
            for row in rows:
                having[values[row]].append(row)
            sums = (itertools.compress(fields.total(fields.add(some)), fields.is_label) for some in having.values())
            for counts in set(zip(*sums, strict=True)):
                size = sum(counts)
                if size:
                    value_counts = (
                        (value, n) for value, n in zip(having, counts, strict=True) if n and value is not None
                    )
                    self._record(index, size, tuple(sorted(value_counts)))

    def _record_crowds(
        self,
        known: Mapping[int, Cell],
        rows: Sequence[int],
        fields: _Fields,
        people: Mapping[int, Mapping[Cell, int]],
    ) -> None:
        """Evaluate the candidate rows of the people with known labels.

        ``rows`` match them in the columns of ``known``; each label of the other columns gives a crowd.
        """
        sharing_people = reduce(operator.and_, (people[j][label] for j, label in known.items()))
        having_people = [bool(sharing_people & people[j].get(label, 0)) for j, label in fields.labels]
        for index, column in enumerate(self.columns):
            assert column is not None
            values = self.released.values[column.name]
            having: defaultdict[int | None, list[int]] = defaultdict(list)
            for row in rows:
                having[values[row]].append(row)
            sums = (fields.with_hidden(fields.total(fields.add(some))) for some in having.values())
            for counts in set(itertools.compress(zip(*sums, strict=True), having_people)):
                value_counts = ((value, n) for value, n in zip(having, counts, strict=True) if n and value is not None)
                self._record(index, sum(counts), tuple(sorted(value_counts)))

    def count_with_dictionary(self, chosen: tuple[int, ...]) -> None:
        """Evaluate the groups of one set of columns with a dictionary."""
        members = rows_by_key([self.released.cells[j] for j in chosen], len(self.released.times))
        times = self.released.times
        groups = [[key] for key in members if None not in key]
        crowds = []
        if self.counts_people or self.has_crowds:
            sizes = {key: sum(map(times.__getitem__, rows)) for key, rows in members.items()}
            for person in set(zip(*(self.released.people[j] for j in chosen), strict=True)):
                compatible = [one for one in compatible_labels(person) if one in sizes]
                self.min_rows_per_person = min(self.min_rows_per_person, sum(sizes[one] for one in compatible))
                if self.has_crowds and any(None in one for one in compatible):
                    crowds.append(compatible)
        for index, column in enumerate(self.columns):
            if column is None:
                for (key,) in groups:
                    self._record(index, sum(map(times.__getitem__, members[key])), ())
                continue
            values = self.released.values[column.name]
            counts: dict[tuple[Cell, ...], tuple[int, Counter[int]]] = {}
            for key, rows in members.items():
                known: Counter[int] = Counter()
                for row in rows:
                    value = values[row]
                    if value is not None:
                        known[value] += times[row]
                counts[key] = sum(map(times.__getitem__, rows)), known
            for keys in itertools.chain(groups, crowds):
                size, value_counts = counts[keys[0]]
                for key in keys[1:]:
                    size, value_counts = size + counts[key][0], value_counts + counts[key][1]
                self._record(index, size, tuple(sorted(value_counts.items())))

    def _record(self, index: int, size: int, value_counts: CountsByValue) -> None:
        found = self.verdicts[index]
        if (size, value_counts) not in found:
            found[size, value_counts] = self.evaluators[index](size, value_counts)

    def holds(self, least: int) -> bool:
        return self.min_rows_per_person >= least and all(
            holds for found in self.verdicts for holds, _ in found.values()
        )

    def effective(self) -> dict[str, float]:
        return {
            figure.parameter: figure.worst(figures[index] for found in self.verdicts for _, figures in found.values())
            for index, figure in enumerate(self.definition.figures(self.model))
        }


def rows_by_key(columns: Sequence[Sequence[Cell]], size: int) -> dict[tuple[Cell, ...], list[int]]:
    """Return the indices of the rows with the same values in some columns."""
    if not columns:
        return {(): list(range(size))} if size else {}
    found: defaultdict[tuple[Cell, ...], list[int]] = defaultdict(list)
    for index, key in enumerate(zip(*columns, strict=True)):
        found[key].append(index)
    return found


def compatible_labels(person: tuple[Cell, ...]) -> Iterator[tuple[Cell, ...]]:
    """Yield the label combinations of rows that can belong to a person.

    Each label is shown or hidden; a hidden label of the person is always hidden.
    """
    return itertools.product(*((None,) if label is None else (label, None) for label in person))
