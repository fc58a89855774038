"""People of a population by group, counted independently.

The population is read anew, its values are compared with the labels of the release as text, in fractions, and people
are counted in dictionaries. Nothing of the models' or the search's counts is used.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import TOP, Schema
from shoal.verification.independent.counting import read_texts

if TYPE_CHECKING:
    import pyarrow as pa

Cells = tuple[str | None, ...]
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
RANGE = re.compile(rf"({NUMBER})\.\.(<?)({NUMBER})")
ONE_SIDED = re.compile(rf"(<=|>=|<|>)\s*({NUMBER})")
MASK = re.compile(r"([^*]+)\*+")


@dataclass(frozen=True)
class IndependentPopulation:
    """A population for the independent verification.

    Attributes
    ----------
    people
        The people by their values in the quasi-identifiers, as text.
    schema
        The plan's columns, with their hierarchies.
    contains_release
        Whether everybody in the table is one of these people.
    left_out
        The number of rows of the original that are not released.
    label_of
        By column, the label of each value at the levels of the release; empty where it has none.
    """

    people: Mapping[Cells, int]
    schema: Schema
    contains_release: bool = True
    left_out: int = 0
    label_of: tuple[Mapping[str | None, str | None], ...] = ()


@dataclass(frozen=True)
class PeopleByGroup:
    """Groups by their rows and people, and labels without rows by people."""

    pairs: Counter[tuple[int, int]]
    unshown: Counter[int]
    left_out: int


def count_people_of_values(
    counted: pa.Table, quasi: Sequence[int], person: int | None = None, cells: int | None = None
) -> Counter[Cells]:
    """Count people by their values, from combinations (c<position>, n).

    ``person`` is the position of the column of persons, ``cells`` that of the people of a cell.
    """
    columns = [read_texts(counted.column(f"c{position}")) for position in quasi]
    rows: list[int] = counted.column("n").to_pylist()
    if cells is not None:
        rows = [
            times * int(Fraction(text or "0"))
            for times, text in zip(rows, read_texts(counted.column(f"c{cells}")), strict=True)
        ]
    if person is not None:
        rows = [1] * len(rows)
    found: Counter[Cells] = Counter()
    for values, times in zip(zip(*columns, strict=True), rows, strict=True):
        found[tuple(value or None for value in values)] += times
    return found


def count_people_by_group(
    counted: pa.Table, names: Sequence[str], quasi: Sequence[int], population: IndependentPopulation
) -> PeopleByGroup:
    """Count the people of a population by the groups of a release.

    Who fits several groups counts for none; a group has as many people as rows at least, if the population contains the
    table and people fit several groups.
    """
    columns = [[text or None for text in read_texts(counted.column(f"c{position}"))] for position in quasi]
    rows: Counter[Cells] = Counter()
    for labels, times in zip(zip(*columns, strict=True), counted.column("n").to_pylist(), strict=True):
        rows[labels] += times
    values = [set(column) for column in zip(*population.people, strict=True)]
    fitting = [
        _fitting_labels(name, sorted(set(column), key=str), own, population.schema)
        for name, column, own in zip(names, columns, values, strict=True)
    ]
    people: Counter[Cells] = Counter()
    unshown: Counter[Cells] = Counter()
    overlap = False
    found: dict[tuple[Cells, ...], list[Cells]] = {}
    for cells, number in population.people.items():
        choices = tuple(labels[value] for labels, value in zip(fitting, cells, strict=True))
        if choices not in found:
            found[choices] = [one for one in itertools.product(*choices) if one in rows]
        groups = found[choices]
        if len(groups) == 1:
            people[groups[0]] += number
        elif groups:
            overlap = True
        else:
            unshown[_labels(cells, population.label_of)] += number
    least = rows if overlap and population.contains_release else Counter()
    pairs = Counter((times, max(people[labels], least[labels])) for labels, times in rows.items())
    return PeopleByGroup(pairs, Counter(unshown.values()), population.left_out)


def _labels(cells: Cells, label_of: Sequence[Mapping[str | None, str | None]]) -> Cells:
    """Return the labels of values, or the values where they have none."""
    return tuple(of[value] for of, value in zip(label_of, cells, strict=True)) if label_of else cells


def _fitting_labels(
    name: str, labels: Sequence[str | None], values: set[str | None], schema: Schema
) -> dict[str | None, Cells]:
    """Return the labels that cover each value."""
    above = _paths(name, sorted(value for value in values if value is not None), schema)
    in_hierarchy = {label for path in above.values() for label in path}
    tests = {label: _test_of(label) for label in labels if label is not None}

    def covers(label: str | None, value: str | None) -> bool:
        if label is None or label == TOP:
            return label == TOP or value is None
        if value is None:
            return False
        if label in in_hierarchy and value in above:
            return label in above[value]
        return label == value or tests[label](value)

    return {value: tuple(label for label in labels if covers(label, value)) for value in values}


def _paths(name: str, values: list[str], schema: Schema) -> dict[str, set[str]]:
    """Return each value's labels in its hierarchy, with the value itself."""
    hierarchy = schema.columns[name].hierarchy
    if hierarchy is None or not values:
        return {}
    ladder = hierarchy.bind(values, False, column=name)
    return {
        value: {str(ladder.labels[level][ladder.codes[level][leaf]]) for level in range(ladder.height + 1)}
        for leaf, value in enumerate(values)
    }


def _number(text: str) -> Fraction | None:
    return Fraction(text.strip()) if re.fullmatch(NUMBER, text.strip()) else None


def _test_of(label: str) -> Callable[[str], bool]:
    """Return the test whether a label covers a value, by its text alone."""
    own = _number(label)
    if own is not None:
        return lambda value: _number(value) == own
    if match := RANGE.fullmatch(label):
        low, high, is_open = Fraction(match[1]), Fraction(match[3]), bool(match[2])

        def inside(value: str) -> bool:
            number = _number(value)
            return number is not None and low <= number and (number < high if is_open else number <= high)

        return inside
    if match := ONE_SIDED.fullmatch(label):
        sign, end = match[1], Fraction(match[2])

        def beyond(value: str) -> bool:
            number = _number(value)
            if number is None:
                return False
            return number == end if "=" in sign and number == end else number < end if "<" in sign else number > end

        return beyond
    if match := MASK.fullmatch(label):
        return lambda value: value.startswith(match[1]) and len(value) <= len(label)
    if label.startswith("{") and label.endswith("}"):
        members = {part.strip() for part in re.split(r"[,;]", label[1:-1])}
        return lambda value: value in members
    if ".." in label:
        first, _, last = label.partition("..")
        return lambda value: first <= value <= last
    return lambda value: False
