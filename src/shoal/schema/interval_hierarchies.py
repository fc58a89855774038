"""Interval and calendar hierarchies for numbers and dates.

Intervals are given by width, by cut points or one by one. An interval includes its lower end and not its upper one.
Intervals of whole numbers are published as ``20..24``, of other numbers as ``20..<24.5``, open ones as ``<20`` and
``>=90``.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from typing_extensions import override

from shoal.errors import HierarchyError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.marks import ALLOW_INFINITE
from shoal.runtime.validation import changed_fields, plan_value
from shoal.schema.bound_hierarchy import TOP, Ladder, MissingFromHierarchy, build_ladder
from shoal.schema.hierarchy import BaseHierarchy
from shoal.schema.rounding import as_numbers, interval_label


def _exact(number: float) -> Fraction:
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction) or not math.isfinite(number):
        raise HierarchyError("hierarchies.interval-not-finite")
    return Fraction(str(number)) if isinstance(number, float) else Fraction(number)


@dataclass(frozen=True)
class Widths(BaseHierarchy):
    """Intervals of equal width per level.

    ``bottom`` and ``top`` fold the tails into open intervals.

    >>> Widths((5, 10)).bind(["27", "28", "41"], False).labels
    (('27', '28', '41'), ('25..29', '40..44'), ('20..29', '40..49'), ('*',))
    """

    widths: tuple[float, ...]
    origin: float = 0
    bottom: float | None = None
    top: float | None = None

    keys: ClassVar[tuple[str, ...]] = ("intervals",)
    example: ClassVar[str] = "{ intervals = [5, 10, 20] } or { intervals = [[[0, 20], [20, inf]]] }"
    options: ClassVar[tuple[str, ...]] = ("origin", "bottom", "top")
    looks_at_data: ClassVar[None] = None
    cuts: ClassVar[bool] = True
    is_rule: ClassVar[bool] = True

    @classmethod
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Widths | Intervals:  # type: ignore[override]
        """Build the hierarchy from a plan.

        Intervals that are listed one by one have the same key.
        """
        if all(isinstance(item, int | float) for item in given):
            return cls(tuple(given), **options)
        if options:
            raise TypeError
        return Intervals(tuple(tuple((low, high) for low, high in level) for level in given))

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"intervals": list(self.widths), **changed_fields(self, "widths")}

    @override
    def ends(self, level: int) -> Sequence[float | None]:
        return (self.widths[level - 1], self.origin, self.bottom, self.top) if level <= len(self.widths) else ()

    def __post_init__(self) -> None:
        if not self.widths or any(_exact(width) <= 0 for width in self.widths):
            raise HierarchyError("hierarchies.width-not-positive", found=list(self.widths))
        if self.bottom is not None and self.top is not None and self.bottom > self.top:
            raise HierarchyError("hierarchies.bottom-above-top", bottom=self.bottom, top=self.top)
        for low, high in zip(self.widths, self.widths[1:], strict=False):
            if high <= low or (_exact(high) / _exact(low)).denominator != 1:
                raise HierarchyError("hierarchies.widths-not-nested", width=low, next_width=high)

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        numbers = as_numbers(values, column)
        origin = _exact(self.origin)
        bottom = None if self.bottom is None else _exact(self.bottom)
        top = None if self.top is None else _exact(self.top)
        whole = all(n.denominator == 1 for n in [*numbers, origin, bottom or Fraction(0), top or Fraction(0)])
        columns: list[list[str]] = [list(values)]
        for width in map(_exact, self.widths):
            # a tail covers whole intervals, otherwise a level would not nest in the next
            lower = None if bottom is None else origin + width * math.ceil((bottom - origin) / width)
            upper = None if top is None else origin + width * math.floor((top - origin) / width)
            if lower is not None and upper is not None and lower > upper:  # the tails meet
                columns.append([TOP] * len(numbers))
                continue
            labels = []
            for number in numbers:
                low: Fraction | None = origin + width * math.floor((number - origin) / width)
                high: Fraction | None = origin + width * (math.floor((number - origin) / width) + 1)
                if lower is not None and number < lower:
                    low, high = None, lower
                elif upper is not None and number >= upper:
                    low, high = upper, None
                labels.append(interval_label(low, high, whole and width.denominator == 1))
            columns.append(labels)
        return build_ladder(columns, missing, column=column)


@dataclass(frozen=True)
class Cuts(BaseHierarchy):
    """Intervals between cut points, given for each level; both ends are open.

    >>> Cuts(((30, 40), (40,))).bind(["27", "35", "41"], False).labels[1:3]
    (('<30', '30..39', '>=40'), ('<40', '>=40'))
    """

    levels: tuple[tuple[float, ...], ...]

    keys: ClassVar[tuple[str, ...]] = ("cuts",)
    example: ClassVar[str] = "{ cuts = [[20, 30, 40], [30]] }"
    looks_at_data: ClassVar[None] = None
    cuts: ClassVar[bool] = True
    is_rule: ClassVar[bool] = True

    @classmethod
    @override
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        return cls(tuple(tuple(level) for level in given))

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"cuts": plan_value(self.levels)}

    @override
    def ends(self, level: int) -> Sequence[float | None]:
        return self.levels[level - 1] if level <= len(self.levels) else ()

    def __post_init__(self) -> None:
        if not self.levels or not all(self.levels):
            raise HierarchyError("hierarchies.cuts-not-lists")
        for cuts in self.levels:
            exact = [_exact(cut) for cut in cuts]
            if any(a >= b for a, b in itertools.pairwise(exact)):
                raise HierarchyError("hierarchies.cuts-not-rising", found=list(cuts))
        for low, high in zip(self.levels, self.levels[1:], strict=False):
            if not set(map(_exact, high)) <= set(map(_exact, low)):
                raise HierarchyError("hierarchies.cuts-not-nested", cuts=list(low), next_cuts=list(high))

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        numbers = as_numbers(values, column)
        columns: list[list[str]] = [list(values)]
        for cuts in self.levels:
            ends = [_exact(cut) for cut in cuts]
            whole = all(number.denominator == 1 for number in [*numbers, *ends])
            labels = []
            for number in numbers:
                position = bisect_right(ends, number)
                low = ends[position - 1] if position else None
                high = ends[position] if position < len(ends) else None
                labels.append(interval_label(low, high, whole))
            columns.append(labels)
        return build_ladder(columns, missing, column=column)


@dataclass(frozen=True)
class Intervals(BaseHierarchy):
    """Intervals listed as [low, high) pairs, for each level.

    ``inf`` opens an end.

    >>> Intervals((((0, 30), (30, float("inf"))),)).bind(["27", "41"], False).labels[1]
    ('0..29', '>=30')
    """

    levels: tuple[tuple[tuple[Annotated[float, ALLOW_INFINITE], Annotated[float, ALLOW_INFINITE]], ...], ...]

    keys: ClassVar[tuple[str, ...]] = ("intervals",)
    looks_at_data: ClassVar[None] = None
    cuts: ClassVar[bool] = True
    is_rule: ClassVar[bool] = True

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"intervals": plan_value(self.levels)}

    @override
    def ends(self, level: int) -> Sequence[float | None]:
        if level > len(self.levels):
            return ()
        return [end for pair in self.levels[level - 1] for end in pair if math.isfinite(end)]

    def __post_init__(self) -> None:
        for number, level in enumerate(self.levels, 1):
            if not level or any(not pair[0] < pair[1] for pair in level):
                raise HierarchyError("hierarchies.interval-not-a-pair", level=number)
            ordered = sorted(level)
            for (_, high), (low, _) in itertools.pairwise(ordered):
                if low != high:
                    fault = "overlap" if low < high else "leave a gap"
                    raise HierarchyError(
                        "hierarchies.intervals-not-adjacent", level=number, end=high, start=low, reason=fault
                    )
        for number, (fine, coarse) in enumerate(zip(self.levels, self.levels[1:], strict=False), 2):
            fine_ends = {end for pair in fine for end in pair}
            inside = {end for pair in coarse for end in pair if min(fine_ends) < end < max(fine_ends)}
            if not inside <= fine_ends:
                raise HierarchyError("hierarchies.intervals-not-nested", level=number, below=number - 1)

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        numbers = as_numbers(values, column)
        columns: list[list[str]] = [list(values)]
        for level in self.levels:
            ordered = sorted(level)
            ends = [None if math.isinf(low) else _exact(low) for low, _ in ordered]
            last = None if math.isinf(ordered[-1][1]) else _exact(ordered[-1][1])
            finite = [end for end in [*ends, last] if end is not None]
            whole = all(number.denominator == 1 for number in [*numbers, *finite])
            starts = [end for end in ends if end is not None]
            skipped = len(ends) - len(starts)  # 1 where the first interval is open below
            outside = [
                value
                for value, number in zip(values, numbers, strict=True)
                if (not skipped and number < starts[0]) or (last is not None and number >= last)
            ]
            if outside:
                raise MissingFromHierarchy(column, outside)
            labels = []
            for number in numbers:
                position = bisect_right(starts, number) - 1 + skipped
                high = ends[position + 1] if position + 1 < len(ends) else last
                labels.append(interval_label(ends[position], high, whole))
            columns.append(labels)
        return build_ladder(columns, missing, column=column)


UNITS = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Calendar(BaseHierarchy):
    """Dates and times by calendar unit: day, month, quarter, year, decade.

    >>> Calendar(("month", "year")).bind(["2024-02-29"], False).labels
    (('2024-02-29',), ('2024-02',), ('2024',), ('*',))
    """

    units: tuple[Literal["day", "month", "quarter", "year", "decade"], ...] = ("month", "quarter", "year", "decade")
    format: str | None = None

    keys: ClassVar[tuple[str, ...]] = ("dates",)
    example: ClassVar[str] = '{ dates = ["month", "year"] }'
    options: ClassVar[tuple[str, ...]] = ("format",)
    looks_at_data: ClassVar[None] = None
    cuts: ClassVar[bool] = True
    is_rule: ClassVar[bool] = True

    @classmethod
    @override
    def from_plan(cls, key: str, given: Any, options: Mapping[str, Any], folder: Path) -> Self:
        return cls(tuple(given), **options)

    @override
    def to_plan(self) -> dict[str, Any]:
        return {"dates": list(self.units), **changed_fields(self, "units")}

    def digest(self) -> str | None:
        """Return a hash of the rule; the format of dates does not change it."""
        return super(Calendar, replace(self, format=None)).digest()

    def __post_init__(self) -> None:
        ranks = [UNITS.index(unit) if unit in UNITS else -1 for unit in self.units]
        if not ranks or min(ranks) < 0 or any(a >= b for a, b in itertools.pairwise(ranks)):
            raise HierarchyError("hierarchies.unknown-date-units", allowed=", ".join(UNITS), found=list(self.units))

    @override
    def bind(self, values: Sequence[str], missing: bool, *, column: str = "") -> Ladder:
        dates: list[datetime] = []
        bad: list[str] = []
        for value in values:
            try:
                text = value.strip()
                dates.append(datetime.strptime(text, self.format) if self.format else datetime.fromisoformat(text))
            except ValueError:
                bad.append(value)
        if bad and not dates:
            raise HierarchyError(
                "hierarchies.not-dates",
                column=column,
                form="as " + self.format if self.format else "such as 2024-02-29",
                failing=len(bad),
                values=len(values),
            )
        if bad:
            raise MissingFromHierarchy(column, bad)
        columns = [list(values), *([_unit(date, unit) for date in dates] for unit in self.units)]
        return build_ladder(columns, missing, column=column)


def _unit(date: datetime, unit: str) -> str:
    match unit:
        case "day":
            return f"{date:%Y-%m-%d}"
        case "month":
            return f"{date:%Y-%m}"
        case "quarter":
            return f"{date:%Y}-Q{(date.month + 2) // 3}"
        case "year":
            return f"{date:%Y}"
        case _:
            return f"{date.year // 10 * 10}s"
