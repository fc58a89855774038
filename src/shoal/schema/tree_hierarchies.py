"""Hierarchies that people write down: a CSV in ARX's format, a nested tree, a flat one, an order.

What a hierarchy is, is in :mod:`shoal.schema.hierarchy`; builders for numbers and dates are in :mod:`shoal.schema.interval_hierarchies`.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, MinLen

from shoal.errors import HierarchyError
from shoal.schema.arrow_strings import with_missing
from shoal.schema.bound_hierarchy import TOP, Ladder, MissingFromHierarchy, build_ladder
from shoal.schema.hierarchy import BaseHierarchy, Hierarchy, as_text, changed, plan_value
from shoal.schema.rounding import as_numbers, interval_label, round_cut
from shoal.schema.spelling import canonical

__all__ = [
    "Flat",
    "Hierarchy",
    "MissingFromHierarchy",
    "Ordered",
    "Prefix",
    "Ranges",
    "Table",
    "Tree",
    "declared_paths",
    "read_table",
]


Ranges = Literal["round", "exact"]
"""Where ranges of numbers end: at round numbers, or at values that somebody has."""


@dataclass(frozen=True)
class Flat(BaseHierarchy):
    """Two levels: the value, and `*`.

    >>> Flat().bind(["a", "b"], missing=False).labels
    (('a', 'b'), ('*',))
    """

    keys: ClassVar[tuple[str, ...]] = ("flat",)
    example: ClassVar[str] = "{ flat = true }"
    looks_at_data: ClassVar[None] = None

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        """See :class:`BaseHierarchy`."""
        if given is not True:
            raise TypeError
        return cls()

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """See :class:`Hierarchy`."""
        leaves = with_missing(values, missing)
        size = max(len(leaves), 1)
        codes = (np.arange(len(leaves), dtype=np.int32), np.zeros(len(leaves), np.int32))
        return Ladder((leaves, (TOP,)), codes, (np.full(len(leaves), 1 / size), np.ones(1)))


@dataclass(frozen=True)
class Table(BaseHierarchy):
    """One row per value: the value, its label at level 1, at level 2, and so on.

    >>> Table((("USA", "America"), ("Canada", "America"), ("India", "Asia"))).bind(["India", "USA"], False).labels
    (('India', 'USA'), ('Asia', 'America'), ('*',))
    """

    rows: tuple[tuple[str, ...], ...]
    file: Path | None = field(default=None, compare=False)

    keys: ClassVar[tuple[str, ...]] = ("table", "csv")
    example: ClassVar[str] = '{ csv = "country.csv" } or { table = [["USA", "America"], ["India", "Asia"]] }'
    looks_at_data: ClassVar[None] = None

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Table:
        """See :class:`BaseHierarchy`."""
        return read_table(folder / given) if key == "csv" else cls(tuple(tuple(map(as_text, row)) for row in given))

    def to_plan(self) -> dict[str, Any]:
        """See :class:`BaseHierarchy`."""
        return {"table": plan_value(self.rows)} if self.file is None else {"csv": str(self.file)}

    def __post_init__(self) -> None:
        if not self.rows or not self.rows[0]:
            raise HierarchyError("A hierarchy must have at least one row; found none.")
        widths = {len(row) for row in self.rows}
        if len(widths) > 1:
            raise HierarchyError(
                f"Every row of a hierarchy must have the same number of levels; found {min(widths)} to {max(widths)}."
            )
        if len({row[0] for row in self.rows}) < len(set(self.rows)):
            raise HierarchyError("A value stands in two rows of the hierarchy with different labels; keep one of them.")

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """See :class:`Hierarchy`."""
        listed = [tuple(canonical(label) or "" for label in row) for row in self.rows]
        rows = {row[0]: row for row in listed}
        if len(rows) < len(set(listed)):
            raise HierarchyError(
                f"Hierarchy of column {column!r}: a value stands in two rows with different labels, written with other "
                f"blanks or another form of Unicode; keep one of them."
            )
        found = [canonical(value) or "" for value in values]
        lacking = [value for value, known in zip(values, found, strict=True) if known not in rows]
        if lacking:
            raise MissingFromHierarchy(column, lacking)
        width = len(self.rows[0])
        columns = [[rows[value][level] for value in found] for level in range(width)]
        leaves = [[row[level] for row in rows.values()] for level in range(width)]
        return build_ladder(columns, missing, leaves, column=column)


def read_table(path: Path) -> Table:
    """Read a hierarchy in ARX's CSV format: no header, semicolons, the value first, then its levels."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise HierarchyError(f"Hierarchy file {str(path)!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise HierarchyError(f"Hierarchy file {str(path)!r} must be UTF-8; convert it first.") from error
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first or "," not in first else ","
    try:
        rows = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error:
        raise HierarchyError(f"Hierarchy file {str(path)!r} cannot be read as CSV; check its quotes.") from None
    try:
        return Table(tuple(rows), path)
    except HierarchyError as error:
        raise HierarchyError(f"Hierarchy file {str(path)!r}: {error}") from error


@dataclass(frozen=True)
class Tree(BaseHierarchy):
    """A nested mapping whose innermost lists are the values.

    Leaves of different depth are allowed: a shallow value stays itself until its parent's level.

    >>> Tree({"America": ["USA", "Canada"], "Asia": ["India"]}).bind(["Canada", "India"], False).labels
    (('Canada', 'India'), ('America', 'Asia'), ('*',))
    """

    tree: Mapping[str, Any]

    keys: ClassVar[tuple[str, ...]] = ("tree",)
    example: ClassVar[str] = '{ tree = { America = ["USA", "Canada"], Asia = ["India"] } }'
    looks_at_data: ClassVar[None] = None

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        """See :class:`BaseHierarchy`."""
        return cls(given)

    def to_plan(self) -> dict[str, Any]:
        """See :class:`BaseHierarchy`."""
        return {"tree": plan_value(self.tree)}

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "tree", _plain(self.tree))
        except RecursionError:
            raise HierarchyError("A tree must not be nested that deeply.") from None

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """See :class:`Hierarchy`."""
        paths = list(_paths(self.tree, (), column))
        depth = max((len(path) for path in paths), default=1)
        rows = tuple((path[0],) * (depth - len(path)) + path for path in paths)
        try:
            table = Table(rows)
        except HierarchyError as error:
            raise HierarchyError(f"Hierarchy of column {column!r}: {error}") from error
        return table.bind(values, missing, column=column)


def declared_paths(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    """The values that a hierarchy lists, each with what stands above it; none where it makes labels by a rule."""
    if isinstance(hierarchy, Table):
        return list(hierarchy.rows)
    if isinstance(hierarchy, Tree):
        return list(_paths(hierarchy.tree, (), ""))
    if isinstance(hierarchy, Ordered) and hierarchy.values is not None:
        return [(value, str(place)) for place, value in enumerate(hierarchy.values)]
    return []


def _plain(node: object) -> Any:
    """A tree of dictionaries and lists of text, and nothing else."""
    if isinstance(node, Mapping):
        return {str(name): _plain(child) for name, child in node.items()}
    if isinstance(node, list | tuple):
        return [_plain(item) if isinstance(item, Mapping) else _leaf(item) for item in node]
    raise HierarchyError(
        f"A tree must be made of tables and, at its ends, lists of values; found {type(node).__name__}."
    )


def _leaf(item: object) -> str:
    if isinstance(item, bool):
        return str(item).lower()
    if not isinstance(item, str | int | float):
        raise HierarchyError(f"The values of a tree must be text or numbers; found {type(item).__name__}.")
    return str(item)


def _paths(node: object, above: tuple[str, ...], column: str) -> Iterator[tuple[str, ...]]:
    """Every leaf as (value, parent, grandparent, ...)."""
    if isinstance(node, Mapping):
        for name, child in node.items():
            yield from _paths(child, (str(name), *above), column)
    elif isinstance(node, list | tuple):
        for item in node:
            if isinstance(item, Mapping):
                yield from _paths(item, above, column)
            else:
                yield (str(item), *above)
    else:
        raise HierarchyError(
            f"Hierarchy of column {column!r}: a tree must be made of tables and, at its ends, lists of values; "
            f"found {type(node).__name__}."
        )


MOST_CHARACTERS = 64
"""So many characters of a long value are shown at most, where it is masked one by one."""


@dataclass(frozen=True)
class Prefix(BaseHierarchy):
    """Masks characters from the right: 14248, 1424*, 142**, ..., `*`.

    ``steps`` gives how many characters are masked at each level; by default one more at each. ``length`` is how many
    characters a value has at most; by default that of the longest value of the data. Without ``steps`` there are no
    more than 64 levels, and where a value is longer than that, no more than four times as many as values have
    characters on average: level 1 then masks all that follows, so that one long value does not cost the others.

    >>> Prefix().bind(["14248", "14207"], False).labels[2]
    ('142**',)
    """

    steps: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] | None = None
    length: Annotated[int, Ge(1), Le(10_000)] | None = None

    keys: ClassVar[tuple[str, ...]] = ("prefix",)
    example: ClassVar[str] = "{ prefix = true } or { prefix = [1, 3], length = 5 }"
    options: ClassVar[tuple[str, ...]] = ("length",)
    is_rule: ClassVar[bool] = True

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        """See :class:`BaseHierarchy`."""
        if given is not True and not isinstance(given, list):
            raise TypeError
        return cls(None if given is True else tuple(given), **options)

    def to_plan(self) -> dict[str, Any]:
        """See :class:`BaseHierarchy`."""
        return {"prefix": True if self.steps is None else list(self.steps), **changed(self, "steps")}

    @property
    def looks_at_data(self) -> str | None:
        """See :class:`BaseHierarchy`."""
        if self.length is not None:
            return None
        return "its longest value decides where others are cut. Declare it: { prefix = true, length = 5 }"

    def digest(self) -> str | None:
        """See :class:`BaseHierarchy`; the height of the ladder tells the length."""
        return super(Prefix, replace(self, length=None)).digest()

    def __post_init__(self) -> None:
        steps = self.steps
        if steps is not None and any(a >= b for a, b in itertools.pairwise(steps)):
            raise HierarchyError(
                f"The numbers of masked characters must be positive and rise from level to level; found {list(steps)}."
            )

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """See :class:`Hierarchy`."""
        longer = [value for value in values if self.length is not None and len(value) > self.length]
        if longer:
            raise MissingFromHierarchy(column, longer)
        length = self._shown(values)
        columns: list[list[str]] = [list(values)]
        for masked in self.steps or range(1, length):
            if masked < length:
                columns.append([value[: length - masked] + TOP * masked for value in values])
        return build_ladder(columns, missing, column=column)

    def _shown(self, values: Sequence[str]) -> int:
        """How many characters a masked value has, its stars included."""
        length = self.length or max((len(value) for value in values), default=1)
        if self.steps is not None or length <= MOST_CHARACTERS:
            return length
        if self.length is not None or not values:
            return MOST_CHARACTERS
        return min(MOST_CHARACTERS, 4 * -(-sum(map(len, values)) // len(values)))

    def retell(self, ladder: Ladder, values: Sequence[str], leaves: npt.NDArray[np.int64]) -> list[list[str]]:
        """The labels of released values: as many characters are kept, as many stars shown as these values need."""
        before = self._shown([value for value in ladder.labels[0] if value is not None])
        now, longest = self._shown(values), max(map(len, values))
        told = []
        for masked in (masked for masked in self.steps or range(1, before) if masked < before):
            kept = before - masked
            stars = max(now - kept, 1) if self.length is not None or longest > kept else 0
            told.append([value[:kept] + TOP * stars for value in values])
        return told


@dataclass(frozen=True)
class Ordered(BaseHierarchy):
    """Values in a given order, grouped by a fan-out at each level: neighbours join first.

    Without ``values``, the column's own order is taken (numbers by size, text by code point). Numbers are then shown as
    intervals that end at the roundest number between neighbours, the outermost open, as an end would be somebody's
    value; ``ranges = "exact"`` shows the least and the largest value instead, and so tells that somebody has them.

    >>> Ordered(fanout=(2,), values=("low", "mid", "high")).bind(["high", "low", "mid"], False).labels[1]
    ('high', 'low..mid')
    >>> Ordered(fanout=(2,)).bind(["3", "20", "59", "97"], False).labels[1]
    ('<50', '>=50')
    """

    fanout: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)]
    values: tuple[str, ...] | None = None
    ranges: Ranges = "round"

    keys: ClassVar[tuple[str, ...]] = ("order",)
    example: ClassVar[str] = '{ order = { values = ["low", "mid", "high"], fanout = [2] } }'

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        """See :class:`BaseHierarchy`."""
        values = {"values": tuple(map(as_text, given["values"]))} if given.get("values") is not None else {}
        return cls(**{**given, "fanout": tuple(given["fanout"]), **values})

    def to_plan(self) -> dict[str, Any]:
        """See :class:`BaseHierarchy`."""
        return {"order": changed(self)}

    @property
    def looks_at_data(self) -> str | None:
        """See :class:`BaseHierarchy`."""
        if self.values is not None:
            return None
        return "its values are those of the data. Declare them: { order = { values = [...], fanout = [...] } }"

    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        """See :class:`Hierarchy`."""
        order = list(values) if self.values is None else [canonical(value) or "" for value in self.values]
        if len(set(order)) < len(order):
            raise HierarchyError(
                f"Hierarchy of column {column!r}: a value stands twice in the order; keep one of them."
            )
        places = np.arange(len(order))
        blocks = [places // width for width in itertools.accumulate(self.fanout, lambda a, b: a * b)]
        levels = [order, *(self._names(order, block) for block in blocks)]
        if self.values is None:  # the values are the data's own, so the last level is `*` however few they are
            top = [[TOP] * len(order)] if order else []
            return build_ladder([*levels, *top], missing, column=column)
        return Table(tuple(zip(*levels, strict=True))).bind(values, missing, column=column)

    def retell(self, ladder: Ladder, values: Sequence[str], leaves: npt.NDArray[np.int64]) -> list[list[str]]:
        """The labels of released values; those that are left out are at no end of a range."""
        if self.values is not None:
            return [[str(ladder.labels[h][ladder.codes[h][leaf]]) for leaf in leaves] for h in range(1, ladder.height)]
        return [self._names(values, ladder.codes[level][leaves]) for level in range(1, ladder.height)]

    def _names(self, order: Sequence[str], block: npt.NDArray[np.integer[Any]]) -> list[str]:
        """The label of each value, of which those of one block stand together in the order."""
        if not order:
            return []
        starts = np.flatnonzero(np.r_[True, np.diff(block) != 0]).tolist()
        ends = [*(start - 1 for start in starts[1:]), len(order) - 1]
        rising = _rising_numbers(order) if self.values is None and self.ranges == "round" else None
        names = []
        if rising is None:
            for first, last in zip(starts, ends, strict=True):
                names.append(order[first] if first == last else f"{order[first]}..{order[last]}")
        else:
            whole = all(number.denominator == 1 for number in rising)
            cuts = [None, *(round_cut(rising[first - 1], rising[first]) for first in starts[1:]), None]
            for place, (first, last) in enumerate(zip(starts, ends, strict=True)):
                shown = interval_label(cuts[place], cuts[place + 1], whole)
                names.append(order[first] if first == last else shown)
        sizes = [last - first + 1 for first, last in zip(starts, ends, strict=True)]
        return [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]


def _rising_numbers(order: Sequence[str]) -> list[Fraction] | None:
    """The values as numbers, where all are and each is more than the one before."""
    try:
        numbers = as_numbers(order, "")
    except HierarchyError:
        return None
    return numbers if all(a < b for a, b in itertools.pairwise(numbers)) else None
