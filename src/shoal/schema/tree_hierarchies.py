"""Hierarchies that list values: ARX tables, trees, flat and ordered ones.

:mod:`shoal.schema.hierarchy` defines the interface; hierarchies of numbers and dates are in
:mod:`shoal.schema.interval_hierarchies`.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Le, MinLen
from typing_extensions import override

from shoal.errors import HierarchyError
from shoal.runtime.annotations import cell_text
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.validation import changed_fields, plan_value
from shoal.schema.arrow_strings import with_missing
from shoal.schema.bound_hierarchy import TOP, Ladder, MissingFromHierarchy, build_ladder
from shoal.schema.hierarchy import BaseHierarchy, Hierarchy
from shoal.schema.rounding import as_numbers, interval_label, round_cut
from shoal.schema.spelling import canonical

Ranges = Literal["round", "exact"]
"""The ends of ranges of numbers: round numbers, or values of the data."""


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
    @override
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        if given is not True:
            raise TypeError
        return cls()

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        leaves = with_missing(values, missing)
        size = max(len(leaves), 1)
        codes = (np.arange(len(leaves), dtype=np.int32), np.zeros(len(leaves), np.int32))
        return Ladder((leaves, (TOP,)), codes, (np.full(len(leaves), 1 / size), np.ones(1)))


@dataclass(frozen=True)
class Table(BaseHierarchy):
    """One row per value: the value, then its label at each level.

    >>> Table((("USA", "America"), ("Canada", "America"), ("India", "Asia"))).bind(["India", "USA"], False).labels
    (('India', 'USA'), ('Asia', 'America'), ('*',))
    """

    rows: tuple[tuple[str, ...], ...]
    file: Path | None = field(default=None, compare=False)

    keys: ClassVar[tuple[str, ...]] = ("table", "csv")
    example: ClassVar[str] = '{ csv = "country.csv" } or { table = [["USA", "America"], ["India", "Asia"]] }'
    looks_at_data: ClassVar[None] = None

    @classmethod
    @override
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Table:
        return read_table(folder / given) if key == "csv" else cls(tuple(tuple(map(cell_text, row)) for row in given))

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"table": plan_value(self.rows)} if self.file is None else {"csv": str(self.file)}

    def __post_init__(self) -> None:
        if not self.rows or not self.rows[0]:
            raise HierarchyError("hierarchies.no-rows")
        widths = {len(row) for row in self.rows}
        if len(widths) > 1:
            raise HierarchyError("hierarchies.levels-differ", fewest=min(widths), most=max(widths))
        if len({row[0] for row in self.rows}) < len(set(self.rows)):
            raise HierarchyError("hierarchies.value-in-two-rows")

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        listed = [tuple(canonical(label) or "" for label in row) for row in self.rows]
        rows = {row[0]: row for row in listed}
        if len(rows) < len(set(listed)):
            raise HierarchyError("hierarchies.equal-value-in-two-rows", column=column)
        found = [canonical(value) or "" for value in values]
        lacking = [value for value, known in zip(values, found, strict=True) if known not in rows]
        if lacking:
            raise MissingFromHierarchy(column, lacking)
        width = len(self.rows[0])
        columns = [[rows[value][level] for value in found] for level in range(width)]
        leaves = [[row[level] for row in rows.values()] for level in range(width)]
        return build_ladder(columns, missing, leaves, column=column)


def read_table(path: Path) -> Table:
    """Read a hierarchy in ARX's CSV format.

    It has no header and is separated by semicolons: the value first, then its levels.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise HierarchyError("hierarchies.file-not-readable", file=str(path), reason=error.strerror) from error
    except UnicodeDecodeError as error:
        raise HierarchyError("hierarchies.file-not-utf-8", file=str(path)) from error
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first or "," not in first else ","
    try:
        rows = [tuple(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error:
        raise HierarchyError("hierarchies.file-not-csv", file=str(path)) from None
    try:
        return Table(tuple(rows), path)
    except HierarchyError as error:
        raise HierarchyError("hierarchies.file-not-usable", file=str(path), reason=error) from error


@dataclass(frozen=True)
class Tree(BaseHierarchy):
    """A nested mapping with lists of values as its leaves.

    Leaves of different depth are allowed: a shallow value stays itself until its parent's level.

    >>> Tree({"America": ["USA", "Canada"], "Asia": ["India"]}).bind(["Canada", "India"], False).labels
    (('Canada', 'India'), ('America', 'Asia'), ('*',))
    """

    tree: Mapping[str, Any]

    keys: ClassVar[tuple[str, ...]] = ("tree",)
    example: ClassVar[str] = '{ tree = { America = ["USA", "Canada"], Asia = ["India"] } }'
    looks_at_data: ClassVar[None] = None

    @classmethod
    @override
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        return cls(given)

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"tree": plan_value(self.tree)}

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "tree", _plain(self.tree))
        except RecursionError:
            raise HierarchyError("hierarchies.tree-too-deep") from None

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        paths = list(_paths(self.tree, (), column))
        depth = max((len(path) for path in paths), default=1)
        rows = tuple((path[0],) * (depth - len(path)) + path for path in paths)
        try:
            table = Table(rows)
        except HierarchyError as error:
            raise HierarchyError("hierarchies.of-column-not-usable", column=column, reason=error) from error
        return table.bind(values, missing, column=column)


def declared_paths(hierarchy: Hierarchy) -> list[tuple[str, ...]]:
    """Return the listed values of a hierarchy, each with its ancestors.

    The list is empty if the hierarchy makes labels by a rule.
    """
    if isinstance(hierarchy, Table):
        return list(hierarchy.rows)
    if isinstance(hierarchy, Tree):
        return list(_paths(hierarchy.tree, (), ""))
    if isinstance(hierarchy, Ordered) and hierarchy.values is not None:
        return [(value, str(position)) for position, value in enumerate(hierarchy.values)]
    return []


def _plain(node: object) -> Any:
    """Convert a tree to dictionaries and lists of text only."""
    if isinstance(node, Mapping):
        return {str(name): _plain(child) for name, child in node.items()}
    if isinstance(node, list | tuple):
        return [_plain(item) if isinstance(item, Mapping) else _leaf(item) for item in node]
    raise HierarchyError("hierarchies.tree-badly-made", found=type(node).__name__)


def _leaf(item: object) -> str:
    if isinstance(item, bool):
        return str(item).lower()
    if not isinstance(item, str | int | float):
        raise HierarchyError("hierarchies.tree-values-not-text", found=type(item).__name__)
    return str(item)


def _paths(node: object, above: tuple[str, ...], column: str) -> Iterator[tuple[str, ...]]:
    """Yield every leaf as (value, parent, grandparent, ...)."""
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
        raise HierarchyError("hierarchies.tree-of-column-badly-made", column=column, found=type(node).__name__)


MAX_MASKED_CHARACTERS = 64
"""The largest length of a value that is masked one character at a time."""


@dataclass(frozen=True)
class Prefix(BaseHierarchy):
    """Mask characters from the right: 14248, 1424*, 142**, ..., `*`.

    ``steps`` has the number of masked characters at each level; by default one more at each level. ``length`` is the
    largest number of characters of a value; by default that of the longest value of the data. Without ``steps`` there
    are no more than 64 levels. If a value is longer than that, there are no more than four times as many levels as
    values have characters on average: level 1 then masks everything that follows, so that one long value does not cost
    the others.

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
    @override
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        if given is not True and not isinstance(given, list):
            raise TypeError
        return cls(None if given is True else tuple(given), **options)

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"prefix": True if self.steps is None else list(self.steps), **changed_fields(self, "steps")}

    @property
    @override
    def looks_at_data(self) -> str | None:
        if self.length is not None:
            return None
        return "its longest value decides where others are cut. Declare it: { prefix = true, length = 5 }"

    def digest(self) -> str | None:
        """Return a hash of the rule, without the length.

        The height of the ladder determines the length.
        """
        return super(Prefix, replace(self, length=None)).digest()

    def __post_init__(self) -> None:
        steps = self.steps
        if steps is not None and any(a >= b for a, b in itertools.pairwise(steps)):
            raise HierarchyError("hierarchies.prefix-not-rising", found=list(steps))

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        longer = [value for value in values if self.length is not None and len(value) > self.length]
        if longer:
            raise MissingFromHierarchy(column, longer)
        length = self._masked_length(values)
        columns: list[list[str]] = [list(values)]
        for masked in self.steps or range(1, length):
            if masked < length:
                columns.append([value[: length - masked] + TOP * masked for value in values])
        return build_ladder(columns, missing, column=column)

    def _masked_length(self, values: Sequence[str]) -> int:
        """Return the length of a masked value, including its stars."""
        length = self.length or max((len(value) for value in values), default=1)
        if self.steps is not None or length <= MAX_MASKED_CHARACTERS:
            return length
        if self.length is not None or not values:
            return MAX_MASKED_CHARACTERS
        return min(MAX_MASKED_CHARACTERS, 4 * -(-sum(map(len, values)) // len(values)))

    def relabel(self, ladder: Ladder, values: Sequence[str], leaves: npt.NDArray[np.int64]) -> list[list[str]]:
        """Return the labels of released values.

        The number of visible characters and of stars is that needed by these values.
        """
        before = self._masked_length([value for value in ladder.labels[0] if value is not None])
        now, longest = self._masked_length(values), max(map(len, values))
        labels = []
        for masked in (masked for masked in self.steps or range(1, before) if masked < before):
            visible = before - masked
            stars = max(now - visible, 1) if self.length is not None or longest > visible else 0
            labels.append([value[:visible] + TOP * stars for value in values])
        return labels


@dataclass(frozen=True)
class Ordered(BaseHierarchy):
    """Values in a given order, grouped by a fan-out at each level.

    Neighbours join first. Without ``values``, the column's order is used (numbers by size, text by code point). Numbers
    are then published as intervals that end at the roundest number between neighbours, the outermost open, since an end
    would be the value of a person. ``ranges = "exact"`` publishes the smallest and the largest value instead, and so
    reveals that the data has them.

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
    @override
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        values = {"values": tuple(map(cell_text, given["values"]))} if given.get("values") is not None else {}
        return cls(**{**given, "fanout": tuple(given["fanout"]), **values})

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"order": changed_fields(self)}

    @property
    @override
    def looks_at_data(self) -> str | None:
        if self.values is not None:
            return None
        return "its values are those of the data. Declare them: { order = { values = [...], fanout = [...] } }"

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        order = list(values) if self.values is None else [canonical(value) or "" for value in self.values]
        if len(set(order)) < len(order):
            raise HierarchyError("hierarchies.value-twice-in-order", column=column)
        positions = np.arange(len(order))
        blocks = [positions // width for width in itertools.accumulate(self.fanout, lambda a, b: a * b)]
        levels = [order, *(self._block_labels(order, block) for block in blocks)]
        if self.values is None:  # the values are those of the data, so the last level is `*` even for a single value
            top = [[TOP] * len(order)] if order else []
            return build_ladder([*levels, *top], missing, column=column)
        return Table(tuple(zip(*levels, strict=True))).bind(values, missing, column=column)

    def relabel(self, ladder: Ladder, values: Sequence[str], leaves: npt.NDArray[np.int64]) -> list[list[str]]:
        """Return the labels of released values.

        Suppressed values are never the end of a range.
        """
        if self.values is not None:
            return [[str(ladder.labels[h][ladder.codes[h][leaf]]) for leaf in leaves] for h in range(1, ladder.height)]
        return [self._block_labels(values, ladder.codes[level][leaves]) for level in range(1, ladder.height)]

    def _block_labels(self, order: Sequence[str], block: npt.NDArray[np.integer[Any]]) -> list[str]:
        """Return the label of each value; values of a block are adjacent."""
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
            for position, (first, last) in enumerate(zip(starts, ends, strict=True)):
                interval = interval_label(cuts[position], cuts[position + 1], whole)
                names.append(order[first] if first == last else interval)
        sizes = [last - first + 1 for first, last in zip(starts, ends, strict=True)]
        return [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]


def _rising_numbers(order: Sequence[str]) -> list[Fraction] | None:
    """Return the values as numbers, or None unless they all increase."""
    try:
        numbers = as_numbers(order, "")
    except HierarchyError:
        return None
    return numbers if all(a < b for a, b in itertools.pairwise(numbers)) else None
