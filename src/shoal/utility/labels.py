"""Published labels, and the values of the original that they cover.

A release has labels such as ``20..24``, ``<30``, ``>=90``, ``20..<24.5``, ``142**``, ``low..mid``, ``{a, b}``, ``*`` or
a label of a hierarchy. The rules, in this order: a label of the column's hierarchy covers the values below it; ``*``
covers everything, a missing value too; the same text (or the same number) covers itself; otherwise the label is parsed
as an interval, a masked prefix, a range or a set. Any other label covers only its own text. A missing label covers only
missing values. Intervals as other programs write them, such as ``20-24`` and ``[20, 24.5)``, are parsed too.

A text such as ``3*`` covers 33 and 3 but not 345: a mask hides characters, it does not add them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError
from shoal.schema import TOP, Hierarchy
from shoal.schema.arrow_strings import Texts
from shoal.schema.bound_hierarchy import MissingFromHierarchy
from shoal.table.frequency_set import plain_numbers

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_DOTS = re.compile(rf"({_NUMBER})\.\.(<?)({_NUMBER})")
_DASH = re.compile(rf"({_NUMBER})\s*[-–]\s*({_NUMBER})")
_BRACKETS = re.compile(rf"([\[(])\s*({_NUMBER}|-?inf)\s*[,;]\s*({_NUMBER}|\+?inf)\s*([\])])")
_ONE_SIDED = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_NUMBER})")
_MASKED = re.compile(r"([^*]+)(\*+)")
_FILLER = "\0"  # represents a masked character that no value has
_SET = re.compile(r"\{(.*)\}", re.DOTALL)


def parse_number(text: str | None) -> float | None:
    """Return the finite number that a text represents, or None.

    >>> parse_number("27"), parse_number("2e1"), parse_number("nan"), parse_number("x")
    (27.0, 20.0, None, None)
    """
    if text is None or not re.fullmatch(rf"\s*{_NUMBER}\s*", text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def parse_numbers(texts: Sequence[str | None]) -> npt.NDArray[np.float64]:
    """Parse texts like :func:`parse_number`, with NaN for None.

    Texts that are all plain numbers are parsed at once.

    >>> parse_numbers(["27", None, " 2e1", "x"]).tolist()
    [27.0, nan, 20.0, nan]
    """
    import pyarrow as pa

    column = texts.values if isinstance(texts, Texts) else pa.array(texts, pa.string())
    known = np.asarray(column.is_valid())
    plain = plain_numbers(column.drop_null())
    if plain is None:
        return np.asarray([math.nan if (one := parse_number(text)) is None else one for text in texts], np.float64)
    found = np.full(len(known), math.nan)
    found[known] = np.where(np.isfinite(plain), plain, math.nan)
    return found


@dataclass(frozen=True)
class Region:
    """Values that a label covers, parsed from its text alone.

    Exactly one form is set: ``everything``; an interval of numbers from ``low`` to ``high``; a ``prefix`` of values of
    at most ``length`` characters; a range of texts ``first`` to ``last`` by code point; ``members`` of a set; or none
    of them, and the label covers its own text.
    """

    text: str
    everything: bool = False
    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False
    prefix: str | None = None
    length: int = 0
    first: str | None = None
    last: str | None = None
    members: frozenset[str] = frozenset()

    @property
    def interval(self) -> bool:
        """Return whether the label is an interval of numbers."""
        return self.low is not None

    @property
    def plain(self) -> bool:
        """Return whether the label covers its own text only."""
        return not (self.everything or self.interval or self.prefix or self.first is not None or self.members)

    def covers(self, value: str | None, number: float | None) -> bool:
        """Return whether the label covers a value.

        ``number`` is the number that the value represents, if any.
        """
        if self.everything:
            return True
        if value is None:
            return False
        if value == self.text or value in self.members:
            return True
        if self.low is not None and self.high is not None:
            if number is None:
                return False
            above = number > self.low if self.low_open else number >= self.low
            return above and (number < self.high if self.high_open else number <= self.high)
        if self.prefix is not None:
            return value.startswith(self.prefix) and len(value) <= self.length
        if self.first is not None and self.last is not None:
            return self.first <= value <= self.last
        return False

    def boundary_values(self) -> list[tuple[str, float | None]]:
        """Return values at the boundary of the region.

        Another region that covers all of them covers the region.
        """
        if self.everything:
            return [(f"{_FILLER}anything", None)]
        if self.low is not None and self.high is not None:
            low = max(self.low, -1e308)
            high = min(self.high, 1e308)
            ends = (
                math.nextafter(low, math.inf) if self.low_open else low,
                math.nextafter(high, -math.inf) if self.high_open else high,
            )
            return [(f"{_FILLER}number", end) for end in ends]
        if self.prefix is not None:
            return [(self.prefix, parse_number(self.prefix)), (self.prefix.ljust(self.length, _FILLER), None)]
        if self.first is not None and self.last is not None:
            return [(self.first, None), (self.last, None)]
        if self.members:
            return [(member, parse_number(member)) for member in sorted(self.members)]
        return [(self.text, parse_number(self.text))]


def read_label(label: str) -> Region:
    """Parse the text of a label into the region that it covers.

    >>> read_label("142**").covers("14248", 14248), read_label("20..<24.5").covers("24.5", 24.5)
    (True, False)
    >>> read_label(">=90").covers("90", 90), read_label("HIV").covers("Flu", None)
    (True, False)
    """
    text = label.strip()
    if text == TOP:
        return Region(label, everything=True)
    number = parse_number(text)
    if number is not None:
        return Region(label, low=number, high=number)
    if match := _DASH.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        # 2024-02 is a month, not an interval with reversed ends
        return Region(label, low=low, high=high) if low <= high else Region(label)
    if match := _BRACKETS.fullmatch(text):
        low, high = float(match[2]), float(match[3])
        if low <= high:
            return Region(label, low=low, high=high, low_open=match[1] == "(", high_open=match[4] == ")")
        return Region(label)
    if match := _ONE_SIDED.fullmatch(text):
        end = float(match[2])
        if match[1] in ("<", "<=", "≤"):
            return Region(label, low=-math.inf, high=end, high_open=match[1] == "<")
        return Region(label, low=end, high=math.inf, low_open=match[1] == ">")
    if match := _DOTS.fullmatch(text):
        low, high = float(match[1]), float(match[3])
        return Region(label, low=low, high=high, high_open=bool(match[2])) if low <= high else Region(label)
    if ".." in text:
        first, _, last = text.partition("..")
        return Region(label, first=first, last=last) if first and first <= last else Region(label)
    if match := _MASKED.fullmatch(text):
        return Region(label, prefix=match[1], length=len(text))
    if match := _SET.fullmatch(text):
        parts = re.split(r"[,;]", match[1])
        return Region(label, members=frozenset(part.strip() for part in parts if part.strip()))
    return Region(label)


class Labels:
    """Labels of one published column, matched with values on demand.

    Use :func:`read_labels`.
    """

    def __init__(
        self, labels: Sequence[str | None], values: Sequence[str | None], chains: Mapping[str, list[str]]
    ) -> None:
        self.labels = tuple(labels)
        self._values = tuple(values)
        self._chains = chains
        self._regions = [None if label is None else read_label(label) for label in labels]
        self._numbers = [parse_number(value) for value in values]
        self._as_float = np.asarray([math.nan if number is None else number for number in self._numbers])
        self._index = {value: index for index, value in enumerate(values)}
        self._in_hierarchy = np.asarray([value in chains for value in values], np.bool_)
        self._under: dict[str, list[int]] = {}
        for value, chain in chains.items():
            for name in {value, *chain}:
                self._under.setdefault(name, []).append(self._index[value])

    @property
    def covers(self) -> npt.NDArray[np.bool_]:
        """bool (labels, values): whether each label covers each value."""
        return self.rows(0, len(self.labels))

    def rows(self, low: int, high: int) -> npt.NDArray[np.bool_]:
        """Return the rows ``low`` to ``high`` of :attr:`covers`."""
        chosen = range(low, min(high, len(self.labels)))
        covers = np.zeros((len(chosen), len(self._values)), np.bool_)
        for row, index in enumerate(chosen):
            self._cover(self.labels[index], self._regions[index], covers[row])
        return covers

    def bits(self) -> npt.NDArray[np.uint8]:
        """Return the transposed matrix in packed bits: uint8 (values, labels / 8)."""
        step = max(8, (1 << 24) // max(len(self._values), 1) // 8 * 8)
        parts = [np.packbits(self.rows(low, low + step).T, axis=1) for low in range(0, len(self.labels), step)]
        return np.concatenate(parts, axis=1)

    @property
    def overlap(self) -> bool:
        """Return whether a label may lie within another.

        It cannot where all labels are single values.
        """
        return any(
            region is not None and not region.plain and (region.low is None or region.low != region.high)
            for region in self._regions
        ) or any(label in self._under and label not in self._index for label in self.labels if label is not None)

    @property
    def within(self) -> npt.NDArray[np.bool_]:
        """bool (labels, labels): whether the second label covers the first.

        ``within[a, b]``: b covers everything that a covers.
        """
        return _within(self.labels, self._regions, self._chains)

    def _cover(self, label: str | None, region: Region | None, row: npt.NDArray[np.bool_]) -> None:
        """Mark the values that one label covers.

        The hierarchy takes precedence for the values and labels that it has.
        """
        if label is None or region is None:
            if None in self._index:
                row[self._index[None]] = True
            return
        if region.everything:
            row[:] = True
            return
        if region.interval:
            row[:] = _inside(region, self._as_float)
        elif not region.plain:
            row[:] = [region.covers(value, number) for value, number in zip(self._values, self._numbers, strict=True)]
        if label in self._index:
            row[self._index[label]] = True
        if label in self._under:
            row[self._in_hierarchy] = False
            row[self._under[label]] = True


def read_labels(
    labels: Sequence[str | None], values: Sequence[str | None], hierarchy: Hierarchy | None = None, column: str = ""
) -> Labels:
    """Match labels with the values that they cover, and with each other.

    Parameters
    ----------
    labels, values
        Distinct published labels and distinct original values; None is missing.
    hierarchy
        The column's hierarchy, where the plan has one; values that it does not have are matched by text alone.

    Cost: labels times (labels + values), in vector steps where labels are intervals.

    Examples
    --------
    >>> read_labels(["142**", "1424*"], ["14207", "14246"]).covers.tolist()
    [[True, True], [False, True]]
    >>> read_labels(["142**", "1424*"], []).within.tolist()
    [[True, False], [True, True]]
    """
    return Labels(labels, values, _chains(hierarchy, [value for value in values if value is not None], column))


def _within(
    labels: Sequence[str | None], regions: Sequence[Region | None], chains: Mapping[str, list[str]]
) -> npt.NDArray[np.bool_]:
    """Return which label lies within which.

    The hierarchy decides where it has both labels, otherwise the boundary values.
    """
    above: dict[str, set[str]] = {}
    for chain in chains.values():
        for level, name in enumerate(chain):
            above.setdefault(name, set()).update(chain[level:])
    within = np.eye(len(labels), dtype=np.bool_)
    rims = [[] if region is None or region.everything else region.boundary_values() for region in regions]
    # two boundary numbers of every label; a boundary that is not a number lies in no interval
    rim_numbers = np.full((len(labels), 2), math.nan)
    for row, (region, rim) in enumerate(zip(regions, rims, strict=True)):
        if region is not None and (region.interval or region.plain):
            found = [math.nan if number is None else number for _, number in rim]
            rim_numbers[row] = (found[0], found[-1])
    for outer, (other, wide) in enumerate(zip(labels, regions, strict=True)):
        if other is None or wide is None:
            continue
        if wide.everything:
            within[:, outer] = True
            continue
        if wide.interval:
            within[:, outer] |= _inside(wide, rim_numbers[:, 0]) & _inside(wide, rim_numbers[:, 1])
        elif not wide.plain:
            for inner, (region, rim) in enumerate(zip(regions, rims, strict=True)):
                if region is not None and not region.everything:
                    within[inner, outer] |= all(wide.covers(value, number) for value, number in rim)
        if other in above:
            for inner, label in enumerate(labels):
                if label in above and label != other:
                    within[inner, outer] = other in above[label]
    return within


def _inside(region: Region, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    assert region.low is not None
    assert region.high is not None
    above = numbers > region.low if region.low_open else numbers >= region.low
    below = numbers < region.high if region.high_open else numbers <= region.high
    return np.asarray(above & below)


def _chains(hierarchy: Hierarchy | None, values: list[str], column: str) -> dict[str, list[str]]:
    """Return the labels of each value of the hierarchy, level by level."""
    if hierarchy is None or not values:
        return {}
    try:
        ladder = hierarchy.bind(values, False, column=column)
    except MissingFromHierarchy as error:
        lacking = set(error.lacking)
        return _chains(hierarchy, [value for value in values if value not in lacking], column)
    except HierarchyError:  # no value fits: the hierarchy does not apply to this table
        return {}
    return {
        value: [str(ladder.labels[level][ladder.codes[level][leaf]]) for level in range(ladder.height + 1)]
        for leaf, value in enumerate(values)
    }
