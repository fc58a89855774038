"""Sets of few columns, judged once more: rows are bits of Python's whole numbers, groups are what bits share.

Of every column each label has a number with a bit for each row that shows it. The rows that show some labels are the
bits that their numbers share; the rows that can be somebody's are those that show the person's labels or nothing. So no
code, no packed key and no table of counts of the search is met again. Where a column has so many labels that bits would
take too long, the combinations of a set are counted in a dictionary.

What is asked of a set is in :mod:`shoal.models.known`; of the model only its fields are read here.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.gate.counting import Held, Sensitive, read_texts
from shoal.gate.definitions import DEFINITIONS, Definition
from shoal.gate.judgement import ROWS_PER_PERSON, Opinion

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["People", "ShownRows", "judge_sets", "show_rows"]

Label = str | None
People = Mapping[tuple[Label, ...], int]
"""What is known of people, as the release would show it: labels by quasi-identifier, and of how many people."""

Pair = tuple[int, int]


@dataclass(frozen=True)
class ShownRows:
    """The rows of a release, and the people who are behind them.

    Attributes
    ----------
    cells
        By column the label of each row; a cell that shows nothing is in ``hidden``.
    bits, hidden, people_bits
        By column, of each label the rows that show it; the rows that show nothing; of each label the people who
        have it.
    people
        By column the label of each person.
    values
        Of each sensitive column the value number of each row.
    """

    names: tuple[str, ...]
    rows: int
    cells: tuple[list[Label], ...]
    bits: tuple[Mapping[Label, int], ...]
    hidden: tuple[int, ...]
    people: tuple[list[Label], ...]
    people_bits: tuple[Mapping[Label, int], ...]
    values: Mapping[str, list[int | None]]
    sensitive: tuple[Sensitive, ...]
    wildcard: str


def show_rows(
    counted: pa.Table,
    quasi: Mapping[str, int],
    sensitive: Sequence[Sensitive],
    people: People,
    wildcard: str,
) -> ShownRows:
    """Rows from the combinations of a release (c<place>, n); empty text is missing, as to a reader of a CSV."""
    times = counted.column("n").to_pylist()

    def each(values: Sequence[Any], counts: Sequence[int]) -> list[Any]:
        return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]

    cells = tuple(each(read_texts(counted.column(f"c{place}")), times) for place in quasi.values())
    everybody = tuple(each([labels[j] for labels in people], list(people.values())) for j in range(len(quasi)))
    bits = [_bits(column) for column in cells]
    hidden = tuple(column.pop(wildcard, 0) for column in bits)
    values = {one.name: each(one.numbers(counted.column(f"c{one.place}")), times) for one in sensitive}
    return ShownRows(
        tuple(quasi), sum(times), cells, tuple(bits), hidden, everybody, tuple(map(_bits, everybody)), values,
        tuple(sensitive), wildcard,
    )  # fmt: skip


def _bits(column: Sequence[Any]) -> dict[Any, int]:
    """Of each value a number with a bit for each place that has it."""
    places: dict[Any, bytearray] = {}
    room = len(column) // 8 + 1
    for place, value in enumerate(column):
        found = places.get(value)
        if found is None:
            found = places[value] = bytearray(room)
        found[place >> 3] |= 1 << (place & 7)
    return {value: int.from_bytes(found, "little") for value, found in places.items()}


def judge_sets(shown: ShownRows, part: Any) -> Opinion | None:
    """The verdict on a part that is asked of sets of columns; None where the gate does not know its model."""
    definition = DEFINITIONS.get(part.of.name)
    if definition is None:
        return None
    asked = _Asked(shown, part.of, definition)
    least = getattr(part.of, "k", 1)
    whole = [(1 << shown.rows) - 1]
    everybody = [((1 << len(shown.people[0])) - 1, whole[0])] if shown.people else []
    asked.groups(whole)
    asked.crowd(shown.rows)
    fails = not asked.good(least)
    for sets in _growing(part, shown.names):
        if fails:
            break
        for chosen, last in sets:
            _look(shown, asked, chosen, last, whole, everybody)
        fails = not asked.good(least)
    return Opinion(not fails, {**asked.effective(), ROWS_PER_PERSON: asked.fewest})


def _growing(part: Any, names: Sequence[str]) -> Iterator[Iterator[tuple[tuple[int, ...], int]]]:
    """The sets of each size: all columns but the last, and the last."""
    if hasattr(part, "known"):
        places, most = list(range(len(names))), part.known
    else:
        places = [place for place, name in enumerate(names) if name in part.columns]
        most = len(places)
    for size in range(1, most + 1):
        yield ((chosen[:-1], chosen[-1]) for chosen in itertools.combinations(places, size))


class _Asked:
    """One model: what its judge said of groups so far, and the fewest rows that can be somebody's."""

    def __init__(self, shown: ShownRows, model: Any, definition: Definition) -> None:
        self.model, self.definition, self.shown = model, definition, shown
        chosen = [one for one in shown.sensitive if definition.sensitive and model.column in (None, one.name)]
        self.columns: list[Sensitive | None] = list(chosen) if definition.sensitive else [None]
        self.judges: list[Callable[[int, Held], Any]] = [definition.judge(model, column) for column in self.columns]
        self.value_bits = [{} if one is None else _bits(shown.values[one.name]) for one in self.columns]
        self.verdicts: list[dict[tuple[int, Held], Any]] = [{} for _ in self.columns]
        self.fewest = shown.rows
        self.prefix: tuple[tuple[int, ...] | None, tuple[list[int], list[Pair]]] = (None, ([], []))

    def groups(self, masks: Iterator[int] | Sequence[int]) -> None:
        """Groups that are given as the bits of their rows."""
        for mask in masks:
            size = mask.bit_count()
            for place, bits in enumerate(self.value_bits):
                held = ((number, (mask & rows).bit_count()) for number, rows in bits.items() if number is not None)
                self._note(place, size, tuple(sorted(pair for pair in held if pair[1])))

    def counted(self, keys: Sequence[Any], skip: Callable[[Any], bool]) -> None:
        """Groups that are given as one key for each row."""
        sizes = Counter(keys)
        for place, column in enumerate(self.columns):
            if column is None:
                for key, size in sizes.items():
                    if not skip(key):
                        self._note(place, size, ())
                continue
            held: defaultdict[Any, list[tuple[int, int]]] = defaultdict(list)
            for (key, number), count in Counter(zip(keys, self.shown.values[column.name], strict=True)).items():
                if number is not None:
                    held[key].append((number, count))
            for key, size in sizes.items():
                if not skip(key):
                    self._note(place, size, tuple(sorted(held[key])))

    def _note(self, place: int, size: int, held: Held) -> None:
        found = self.verdicts[place]
        if (size, held) not in found:
            found[size, held] = self.judges[place](size, held)

    def crowd(self, rows: int) -> None:
        """So many rows can be somebody's."""
        self.fewest = min(self.fewest, rows)

    def good(self, least: int) -> bool:
        return self.fewest >= least and all(holds for found in self.verdicts for holds, _ in found.values())

    def effective(self) -> dict[str, float]:
        return {
            figure.parameter: figure.worst(told[place] for found in self.verdicts for _, told in found.values())
            for place, figure in enumerate(self.definition.figures(self.model))
        }


def _look(
    shown: ShownRows, asked: _Asked, first: tuple[int, ...], last: int, whole: list[int], everybody: list[Pair]
) -> None:
    """One set of columns: its groups, and of everybody the rows that can be theirs."""
    labels = 1
    for j in (*first, last):
        labels *= max(len(shown.bits[j]), len(shown.people_bits[j]))
    values = sum(len(bits) + 1 for bits in asked.value_bits)
    # both ways give the same; in nanoseconds, as measured, bits cost the first and a dictionary the second
    if labels * values * (150 + shown.rows // 80) > shown.rows * 150 * len(asked.columns):
        _look_by_dictionary(shown, asked, (*first, last))
        return
    if asked.prefix[0] != first:  # sets with the same beginning follow each other
        asked.prefix = (first, _prefix(shown, first, whole, everybody))
    masks, pairs = asked.prefix[1]
    groups = (mask & rows for mask in masks for rows in shown.bits[last].values())
    asked.groups(mask for mask in groups if mask)
    for person, covered in _meet(shown, pairs, last):
        if person:
            asked.crowd(covered.bit_count())


def _prefix(
    shown: ShownRows, first: tuple[int, ...], whole: list[int], everybody: list[Pair]
) -> tuple[list[int], list[Pair]]:
    masks, pairs = whole, everybody
    for j in first:
        masks = [mask for before in masks for rows in shown.bits[j].values() if (mask := before & rows)]
        pairs = [pair for pair in _meet(shown, pairs, j) if pair[0]]
    return masks, pairs


def _meet(shown: ShownRows, pairs: Sequence[Pair], j: int) -> Iterator[Pair]:
    """People who have a label too, and the rows that can be theirs: they show it, or nothing."""
    covers = [(who, shown.bits[j].get(label, 0) | shown.hidden[j]) for label, who in shown.people_bits[j].items()]
    return ((people & who, rows & can) for people, rows in pairs for who, can in covers)


def _look_by_dictionary(shown: ShownRows, asked: _Asked, chosen: tuple[int, ...]) -> None:
    keys = list(zip(*(shown.cells[j] for j in chosen), strict=True))
    star = shown.wildcard
    asked.counted(keys, lambda key: star in key)
    sizes = Counter(keys)
    some = [key for key in sizes if star in key]
    patterns = {tuple(cell == star for cell in key) for key in some}
    for person in set(zip(*(shown.people[j] for j in chosen), strict=True)):
        rows = 0 if star in person else sizes[person]
        for pattern in patterns:
            key = tuple(star if blank else label for blank, label in zip(pattern, person, strict=True))
            # a person whose label is the star itself is met by what shows nothing there, and so by one pattern less
            if all(blank or label != star for blank, label in zip(pattern, person, strict=True)):
                rows += sizes[key]
        asked.crowd(rows)
