"""Sets of few columns, judged once more, in Python's whole numbers: by bits, by sums of fields, and in dictionaries.

*Two columns*: of every column each label has a number with a bit for each row that shows it. The rows that show two
labels are the bits that their numbers share.

*More columns*: a row is a number with a field for each label of the columns that come last in a set, and a one in the
fields of the labels that it shows. The sum of the rows that show the same in the set's other columns has in every field
how many of them show its label too: one sum counts all sets that differ in their last column only.

The rows that can be somebody's are counted in the same way: who shows nothing has the bit of every label, and of sums a
field of its own, which is added to all labels of its column. So no code, no packed key and no table of counts of the
search is met again. Columns of very many labels are counted in a dictionary.

What is asked of a set is in :mod:`shoal.models.partial_knowledge`; of the model only its fields are read here.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, Literal

from shoal.verification.independent.counting import Held, Sensitive, read_texts
from shoal.verification.independent.definitions import DEFINITIONS, Definition
from shoal.verification.independent.judge import ROWS_PER_PERSON, Opinion

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["People", "ShownRows", "bound_columns", "judge_sets", "members_of", "show_rows", "shown_as"]

Label = str | None
People = Mapping[tuple[Label, ...], int]
"""What is known of people, as the release would show it: labels by quasi-identifier, and of how many people."""

Sum = tuple[int, int]
"""How many numbers were added up, and their sum."""
Cell = int | None
"""The number of a label in its column; None is a cell that shows nothing."""

DICTIONARY = 150
"""Nanoseconds that a row costs in a dictionary."""
WIDE = 1000
"""From so many labels on, a dictionary counts a column sooner than a field for each label does."""
MOST_BYTES = 2**28
"""What the numbers of all rows may take together: some last columns at a time where there are many."""
FIELDS: Mapping[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Bytes of a field, and how memory is read in such parts."""
FEWEST_ADDED = 100
"""So many numbers can be added up at least before a field runs over."""


@dataclass(frozen=True)
class ShownRows:
    """The rows of a release, and the people who are behind them.

    Attributes
    ----------
    times
        How many rows each combination has.
    cells, people
        By column the label of each combination, and of each different person, by its number.
    labels
        How many labels each column has.
    values
        Of each sensitive column the value number of each combination.
    """

    names: tuple[str, ...]
    rows: int
    times: list[int]
    cells: tuple[list[Cell], ...]
    people: tuple[list[Cell], ...]
    labels: tuple[int, ...]
    values: Mapping[str, list[int | None]]
    sensitive: tuple[Sensitive, ...]
    fewest: dict[tuple[tuple[int, ...], int], int] = field(default_factory=dict)
    """Of columns and a size of sets, the fewest rows that can be somebody's: the same whatever the model is."""

    def each(self, values: Sequence[Any]) -> Sequence[Any]:
        """What combinations have, as often as there are rows of each."""
        if self.rows == len(self.times):
            return values
        return [value for value, count in zip(values, self.times, strict=True) for _ in range(count)]


def show_rows(
    counted: pa.Table,
    quasi: Mapping[str, int],
    sensitive: Sequence[Sensitive],
    people: People,
    wildcard: str,
) -> ShownRows:
    """Rows from the combinations of a release (c<place>, n); empty text is missing, as to a reader of a CSV."""
    times = counted.column("n").to_pylist()
    cells, everybody, labels = [], [], []
    for j, place in enumerate(quasi.values()):
        texts, theirs = read_texts(counted.column(f"c{place}")), [person[j] for person in people]
        number: dict[Label, Cell] = {wildcard: None}
        for label in itertools.chain(texts, theirs):
            if label not in number:
                number[label] = len(number) - 1
        cells.append([number[label] for label in texts])
        everybody.append([number[label] for label in theirs])
        labels.append(len(number) - 1)
    values = {one.name: one.numbers(counted.column(f"c{one.place}")) for one in sensitive}
    return ShownRows(
        tuple(quasi), sum(times), times, tuple(cells), tuple(everybody), tuple(labels), values, tuple(sensitive)
    )


def judge_sets(shown: ShownRows, part: Any) -> Opinion | None:
    """The verdict on a part that is asked of sets of columns; None where the gate does not know its model."""
    definition = DEFINITIONS.get(part.of.name)
    if definition is None:
        return None
    asked = _Asked(shown, part.of, definition)
    least = getattr(part.of, "k", 1)
    places, most = bound_columns(part, shown.names)
    places.sort(key=lambda j: -shown.labels[j])  # so that the last column of a set has the fewest labels
    asked.by_dictionary(())
    for size in range(1, most + 1):
        if not asked.good(least):
            break
        family = (tuple(places), size)
        asked.counts_people = family not in shown.fewest
        _look_at_sets(shown, asked, places, size)
        asked.fewest = min(asked.fewest, shown.fewest.setdefault(family, asked.fewest))
    return Opinion(asked.good(least), {**asked.effective(), ROWS_PER_PERSON: asked.fewest})


def bound_columns(part: Any, names: Sequence[str]) -> tuple[list[int], int]:
    """The columns that a part is about, and how many of them are known at most."""
    if hasattr(part, "known"):
        return list(range(len(names))), part.known
    places = [place for place, name in enumerate(names) if name in part.columns]
    return places, len(places)


def _look_at_sets(shown: ShownRows, asked: _Asked, places: Sequence[int], size: int) -> None:
    """All sets of so many of the columns."""
    if size == 2:
        _look_at_pairs(shown, asked, places)
        return
    wide = [j for j in places if shown.labels[j] > WIDE or size == 1]
    for chosen in itertools.combinations(wide, size):
        asked.by_dictionary(chosen)
    people = {j: bits_of(shown.people[j]) for j in places} if asked.counts_people and len(wide) < len(places) else {}
    for block in _blocks(shown, places[len(wide) :]):
        fields = _fields_of(shown, block)
        for place, before in enumerate(places):
            if before == block[-1]:
                break
            if before == fields.columns[0]:
                fields = fields.rest()
            for others in itertools.combinations(places[:place], size - 2):
                asked.by_sums((*others, before), fields, people)


def _look_at_pairs(shown: ShownRows, asked: _Asked, places: Sequence[int]) -> None:
    bits = _bits_of(shown, places)
    for pair in itertools.combinations(places, 2):
        # both ways give the same; in nanoseconds, as measured, bits cost the first and a dictionary the second
        labels = math.prod(shown.labels[j] for j in pair) * asked.values
        if labels * (150 + shown.rows // 80) > DICTIONARY * shown.rows * len(asked.columns):
            asked.by_dictionary(pair)
        else:
            asked.by_bits(pair, bits)


@dataclass(frozen=True)
class _Bits:
    """By column, of each label the rows that show it, the rows that can be it, and the people who have it."""

    rows: Mapping[int, Mapping[Cell, int]]
    covers: Mapping[int, Mapping[Cell, int]]
    people: Mapping[int, Mapping[Cell, int]]


def _bits_of(shown: ShownRows, columns: Sequence[int]) -> _Bits:
    rows, covers, people = {}, {}, {}
    for j in columns:
        found = bits_of(shown.each(shown.cells[j]))
        people[j] = bits_of(shown.people[j])
        nothing = found.pop(None, 0)
        rows[j] = found
        covers[j] = {label: found.get(label, 0) | nothing for label in people[j]}
    return _Bits(rows, covers, people)


def bits_of(column: Sequence[Any]) -> dict[Any, int]:
    """Of each value a number with a bit for each place that has it."""
    places: dict[Any, bytearray] = {}
    room = len(column) // 8 + 1
    for place, value in enumerate(column):
        found = places.get(value)
        if found is None:
            found = places[value] = bytearray(room)
        found[place >> 3] |= 1 << (place & 7)
    return {value: int.from_bytes(found, "little") for value, found in places.items()}


def _blocks(shown: ShownRows, places: Sequence[int]) -> Iterator[list[int]]:
    """Columns that come last together, so that their numbers have room."""
    room = MOST_BYTES // (_width(shown) * max(len(shown.times), len(shown.people[0]), 1))
    block: list[int] = []
    taken = 0
    for j in places:
        if block and taken + shown.labels[j] > room:
            yield block
            block, taken = [], 0
        block.append(j)
        taken += shown.labels[j]
    if block:
        yield block


@dataclass(frozen=True)
class _Fields:
    """Of some columns a field for each label, and one more for who shows nothing.

    Attributes
    ----------
    columns, sizes
        The columns, and how many fields each has.
    width, most
        Bytes of a field, and how many numbers can be added up before one runs over.
    rows
        Rows have their count in the fields of the labels that they show.
    """

    columns: tuple[int, ...]
    sizes: tuple[int, ...]
    width: int
    most: int
    rows: list[int]

    @cached_property
    def shows(self) -> list[bool]:
        """Of each field whether it is that of a label."""
        return [field < size - 1 for size in self.sizes for field in range(size)]

    @cached_property
    def labels(self) -> list[tuple[int, Cell]]:
        """The column and the label of each field."""
        columns = zip(self.columns, self.sizes, strict=True)
        return [(j, field if field < size - 1 else None) for j, size in columns for field in range(size)]

    def rest(self) -> _Fields:
        """The same without the first column."""
        shift = 8 * self.width * self.sizes[0]
        rows = [number >> shift for number in self.rows]
        return _Fields(self.columns[1:], self.sizes[1:], self.width, self.most, rows)

    def split(self, number: int) -> list[int]:
        """What is in each field."""
        found = memoryview(number.to_bytes(sum(self.sizes) * self.width, sys.byteorder)).cast(FIELDS[self.width])
        return found.tolist()[:: 1 if sys.byteorder == "little" else -1]

    def add(self, places: Sequence[int]) -> list[Sum]:
        """The sum of some of the rows, in parts in which no field runs over."""
        parts = (places[start : start + self.most] for start in range(0, len(places), self.most))
        return [(len(part), sum(map(self.rows.__getitem__, part))) for part in parts]

    def covered(self, counts: Iterable[int]) -> Iterator[int]:
        """What is in each field, and in that of who shows nothing in its column."""
        left = iter(counts)
        for size in self.sizes:
            *labels, nothing = itertools.islice(left, size)
            yield from [count + nothing for count in labels] if nothing else labels
            yield nothing

    def total(self, parts: Iterable[Sum]) -> list[int]:
        """What is in each field of several sums together."""
        lists, added, whole = [], 0, 0
        for count, number in parts:
            if added + count > self.most:
                lists.append(self.split(whole))
                added = whole = 0
            added, whole = added + count, whole + number
        last = self.split(whole)
        return list(map(sum, zip(*lists, last, strict=True))) if lists else last


def _fields_of(shown: ShownRows, columns: Sequence[int]) -> _Fields:
    width = _width(shown)
    one = (1).to_bytes(width, "little")
    rows = []
    for j in columns:
        fields = shown.labels[j] + 1
        ones: dict[Cell, bytes] = {n: bytes(n * width) + one + bytes((fields - 1 - n) * width) for n in range(fields)}
        ones[None] = ones.pop(fields - 1)
        rows.append(map(ones.__getitem__, shown.cells[j]))
    # the fields of all columns, one after another, as a number, the first one lowest; times a count
    whole = (int.from_bytes(b"".join(fields), "little") for fields in zip(*rows, strict=True))
    numbers = list(map(operator.mul, whole, shown.times))
    return _Fields(tuple(columns), tuple(shown.labels[j] + 1 for j in columns), width, _most(shown, width), numbers)


def _width(shown: ShownRows) -> int:
    """Bytes of a field in which many rows can be added up, so that there are few parts."""
    return next(width for width in FIELDS if max(shown.times, default=1) * FEWEST_ADDED < 256**width)


def _most(shown: ShownRows, width: int) -> int:
    """How many rows' numbers can be added up before a field runs over."""
    return int(256**width - 1) // max(shown.times)


class _Asked:
    """One model: what its judge said of groups so far, and the fewest rows that can be somebody's."""

    def __init__(self, shown: ShownRows, model: Any, definition: Definition) -> None:
        self.model, self.definition, self.shown = model, definition, shown
        chosen = [one for one in shown.sensitive if definition.sensitive and model.column in (None, one.name)]
        self.columns: list[Sensitive | None] = list(chosen) if definition.sensitive else [None]
        self.judges: list[Callable[[int, Held], Any]] = [definition.judge(model, column) for column in self.columns]
        self.verdicts: list[dict[tuple[int, Held], Any]] = [{} for _ in self.columns]
        self.fewest = shown.rows
        self.counts_people = True
        self.value_bits = [{} if one is None else bits_of(shown.each(shown.values[one.name])) for one in self.columns]
        self.values = sum(len(bits) + 1 for bits in self.value_bits)

    def by_bits(self, pair: tuple[int, int], bits: _Bits) -> None:
        """Two columns."""
        one, other = (bits.rows[j].values() for j in pair)
        groups = [both for rows in one for more in other if (both := rows & more)]
        for place, values in enumerate(self.value_bits):
            for group in groups:
                held = ((number, (group & rows).bit_count()) for number, rows in values.items() if number is not None)
                self._note(place, group.bit_count(), tuple(sorted(had for had in held if had[1])))
        first, second = pair
        if not self.counts_people:
            return
        for label, rows in bits.covers[first].items():
            for more, others in bits.covers[second].items():
                if bits.people[first][label] & bits.people[second][more]:
                    self.fewest = min(self.fewest, (rows & others).bit_count())

    def by_sums(self, first: tuple[int, ...], fields: _Fields, people: Mapping[int, Mapping[Cell, int]]) -> None:
        """All sets that have these columns first, and a last one that there are fields for."""
        members = members_of([self.shown.cells[j] for j in first], len(self.shown.times))
        sums = {key: fields.add(rows) for key, rows in members.items()}
        visible = [key for key in members if None not in key]
        for place, column in enumerate(self.columns):
            if column is None:
                sizes: set[int] = set()
                sizes.update(*(itertools.compress(fields.total(sums[key]), fields.shows) for key in visible))
                for size in sizes - {0}:
                    self._note(place, size, ())
            else:
                groups = [members[key] for key in visible]
                self._note_values(place, groups, fields, self.shown.values[column.name])
        if not self.counts_people:
            return
        for key in set(zip(*(self.shown.people[j] for j in first), strict=True)):
            counts = fields.total(part for one in shown_as(key) for part in sums.get(one, ()))
            few = [(count, place) for place, count in enumerate(fields.covered(counts)) if count < self.fewest]
            if few:  # which of them does anybody have?
                alike = reduce(operator.and_, (people[j][label] for j, label in zip(first, key, strict=True)))
                for count, (j, label) in ((count, fields.labels[place]) for count, place in few):
                    if count < self.fewest and alike & people[j].get(label, 0):
                        self.fewest = count

    def _note_values(
        self, place: int, groups: Sequence[Sequence[int]], fields: _Fields, values: Sequence[int | None]
    ) -> None:
        for rows in groups:
            having: defaultdict[int | None, list[int]] = defaultdict(list)
            for row in rows:
                having[values[row]].append(row)
            sums = (itertools.compress(fields.total(fields.add(some)), fields.shows) for some in having.values())
            for counts in set(zip(*sums, strict=True)):
                size = sum(counts)
                if size:
                    held = ((value, n) for value, n in zip(having, counts, strict=True) if n and value is not None)
                    self._note(place, size, tuple(sorted(held)))

    def by_dictionary(self, chosen: tuple[int, ...]) -> None:
        """One set, in a dictionary."""
        members = members_of([self.shown.cells[j] for j in chosen], len(self.shown.times))
        times = self.shown.times
        for place, column in enumerate(self.columns):
            for rows in (rows for key, rows in members.items() if None not in key):
                held: Counter[int] = Counter()
                for row in rows if column is not None else ():
                    value = self.shown.values[column.name][row]  # type: ignore[union-attr]
                    if value is not None:
                        held[value] += times[row]
                self._note(place, sum(map(times.__getitem__, rows)), tuple(sorted(held.items())))
        if not self.counts_people:
            return
        sizes = {key: sum(map(times.__getitem__, rows)) for key, rows in members.items()}
        for person in set(zip(*(self.shown.people[j] for j in chosen), strict=True)):
            self.fewest = min(self.fewest, sum(sizes.get(one, 0) for one in shown_as(person)))

    def _note(self, place: int, size: int, held: Held) -> None:
        found = self.verdicts[place]
        if (size, held) not in found:
            found[size, held] = self.judges[place](size, held)

    def good(self, least: int) -> bool:
        return self.fewest >= least and all(holds for found in self.verdicts for holds, _ in found.values())

    def effective(self) -> dict[str, float]:
        return {
            figure.parameter: figure.worst(told[place] for found in self.verdicts for _, told in found.values())
            for place, figure in enumerate(self.definition.figures(self.model))
        }


def members_of(columns: Sequence[Sequence[Cell]], size: int) -> dict[tuple[Cell, ...], list[int]]:
    """The places of those that have the same in some columns."""
    if not columns:
        return {(): list(range(size))} if size else {}
    found: defaultdict[tuple[Cell, ...], list[int]] = defaultdict(list)
    for place, key in enumerate(zip(*columns, strict=True)):
        found[key].append(place)
    return found


def shown_as(person: tuple[Cell, ...]) -> Iterator[tuple[Cell, ...]]:
    """How rows can show somebody's labels: each of them, or nothing; who has nothing to show is shown as nothing."""
    return itertools.product(*((None,) if label is None else (label, None) for label in person))
