"""What a published label stands for: which values of the original it covers.

A reader of a release sees ``20..24``, ``<30``, ``>=90``, ``20..<24.5``, ``142**``, ``low..mid``, ``{a, b}``, ``*`` or a
label of a hierarchy, and must know which persons it may be. Rules, in this order: a label of the column's hierarchy
covers what the hierarchy puts under it; ``*`` covers everything, a missing value too; the same text (or the same
number) covers itself; else the label is read as an interval, a masked prefix, a range or a set. A label that is none
of these covers only its own text. A missing label covers only missing. Intervals as other programs write them, such as
``20-24`` and ``[20, 24.5)``, are read too.

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
from shoal.schema.tree_hierarchies import MissingFromHierarchy
from shoal.table.frequency_set import plain_numbers

__all__ = ["Labels", "Region", "number_of", "numbers_in", "read_label", "read_labels"]

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_DOTS = re.compile(rf"({_NUMBER})\.\.(<?)({_NUMBER})")
_DASH = re.compile(rf"({_NUMBER})\s*[-–]\s*({_NUMBER})")
_BRACKETS = re.compile(rf"([\[(])\s*({_NUMBER}|-?inf)\s*[,;]\s*({_NUMBER}|\+?inf)\s*([\])])")
_ONE_SIDED = re.compile(rf"(<=|>=|<|>|≤|≥)\s*({_NUMBER})")
_MASKED = re.compile(r"([^*]+)(\*+)")
_FILLER = "\0"  # stands for a masked character that no value has
_SET = re.compile(r"\{(.*)\}", re.DOTALL)


def number_of(text: str | None) -> float | None:
    """The finite number that a text writes, or None.

    >>> number_of("27"), number_of("2e1"), number_of("nan"), number_of("x")
    (27.0, 20.0, None, None)
    """
    if text is None or not re.fullmatch(rf"\s*{_NUMBER}\s*", text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def numbers_in(texts: Sequence[str | None]) -> npt.NDArray[np.float64]:
    """What :func:`number_of` says of each text, NaN for None; at once where all are written plainly.

    >>> numbers_in(["27", None, " 2e1", "x"]).tolist()
    [27.0, nan, 20.0, nan]
    """
    import pyarrow as pa

    column = texts.values if isinstance(texts, Texts) else pa.array(texts, pa.string())
    known = np.asarray(column.is_valid())
    plain = plain_numbers(column.drop_null())
    if plain is None:
        return np.asarray([math.nan if (one := number_of(text)) is None else one for text in texts], np.float64)
    found = np.full(len(known), math.nan)
    found[known] = np.where(np.isfinite(plain), plain, math.nan)
    return found


@dataclass(frozen=True)
class Region:
    """What a label covers, read from its text alone.

    Exactly one form is set: ``everything``; an interval of numbers from ``low`` to ``high``; a ``prefix`` of values
    of at most ``length`` characters; a range of texts ``first`` to ``last`` by code point; ``members`` of a set; or
    none of them, and the label covers its own text.
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
        """Whether the label is an interval of numbers."""
        return self.low is not None

    @property
    def plain(self) -> bool:
        """Whether the label covers its own text only."""
        return not (self.everything or self.interval or self.prefix or self.first is not None or self.members)

    def covers(self, value: str | None, number: float | None) -> bool:
        """Whether a value (and the number that it writes, if any) may stand behind the label."""
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

    def witnesses(self) -> list[tuple[str, float | None]]:
        """Values at the rim of the region: a region that covers them all covers the region."""
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
            return [(self.prefix, number_of(self.prefix)), (self.prefix.ljust(self.length, _FILLER), None)]
        if self.first is not None and self.last is not None:
            return [(self.first, None), (self.last, None)]
        if self.members:
            return [(member, number_of(member)) for member in sorted(self.members)]
        return [(self.text, number_of(self.text))]


def read_label(label: str) -> Region:
    """What a label covers, by its text.

    >>> read_label("142**").covers("14248", 14248), read_label("20..<24.5").covers("24.5", 24.5)
    (True, False)
    >>> read_label(">=90").covers("90", 90), read_label("HIV").covers("Flu", None)
    (True, False)
    """
    text = label.strip()
    if text == TOP:
        return Region(label, everything=True)
    number = number_of(text)
    if number is not None:
        return Region(label, low=number, high=number)
    if match := _DASH.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        # 2024-02 is a month, not an interval that ends before it starts
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
    """The labels of one published column against values; what is asked for is worked out then.

    Use :func:`read_labels`.
    """

    def __init__(
        self, labels: Sequence[str | None], values: Sequence[str | None], chains: Mapping[str, list[str]]
    ) -> None:
        self.labels = tuple(labels)
        self._values = tuple(values)
        self._chains = chains
        self._regions = [None if label is None else read_label(label) for label in labels]
        self._numbers = [number_of(value) for value in values]
        self._as_float = np.asarray([math.nan if number is None else number for number in self._numbers])
        self._place = {value: index for index, value in enumerate(values)}
        self._in_hierarchy = np.asarray([value in chains for value in values], np.bool_)
        self._under: dict[str, list[int]] = {}
        for value, chain in chains.items():
            for name in {value, *chain}:
                self._under.setdefault(name, []).append(self._place[value])

    @property
    def covers(self) -> npt.NDArray[np.bool_]:
        """Whether each label covers each value, as a whole matrix: bool (labels, values)."""
        return self.rows(0, len(self.labels))

    def rows(self, low: int, high: int) -> npt.NDArray[np.bool_]:
        """The same for the labels from ``low`` up to ``high``: bool (labels, values)."""
        chosen = range(low, min(high, len(self.labels)))
        covers = np.zeros((len(chosen), len(self._values)), np.bool_)
        for row, place in enumerate(chosen):
            self._cover(self.labels[place], self._regions[place], covers[row])
        return covers

    def bits(self) -> npt.NDArray[np.uint8]:
        """The matrix turned around and packed: uint8 (values, labels / 8)."""
        step = max(8, (1 << 24) // max(len(self._values), 1) // 8 * 8)
        parts = [np.packbits(self.rows(low, low + step).T, axis=1) for low in range(0, len(self.labels), step)]
        return np.concatenate(parts, axis=1)

    @property
    def overlap(self) -> bool:
        """Whether a label may lie within another: not where all are single values."""
        return any(
            region is not None and not region.plain and (region.low is None or region.low != region.high)
            for region in self._regions
        ) or any(label in self._under and label not in self._place for label in self.labels if label is not None)

    @property
    def within(self) -> npt.NDArray[np.bool_]:
        """bool (labels, labels): ``within[a, b]`` tells that b covers everything that a covers."""
        return _within(self.labels, self._regions, self._chains)

    def _cover(self, label: str | None, region: Region | None, row: npt.NDArray[np.bool_]) -> None:
        """Mark what one label covers; the hierarchy has the last word on the values and labels that it knows."""
        if label is None or region is None:
            if None in self._place:
                row[self._place[None]] = True
            return
        if region.everything:
            row[:] = True
            return
        if region.interval:
            row[:] = _inside(region, self._as_float)
        elif not region.plain:
            row[:] = [region.covers(value, number) for value, number in zip(self._values, self._numbers, strict=True)]
        if label in self._place:
            row[self._place[label]] = True
        if label in self._under:
            row[self._in_hierarchy] = False
            row[self._under[label]] = True


def read_labels(
    labels: Sequence[str | None], values: Sequence[str | None], hierarchy: Hierarchy | None = None, column: str = ""
) -> Labels:
    """Which values each label covers, and which labels lie within which.

    Parameters
    ----------
    labels, values
        Distinct published labels and distinct original values; None is missing.
    hierarchy
        The column's hierarchy, where the plan has one; values that it does not know are matched by text alone.

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
    """Which label lies within which: by the hierarchy where it knows both, else by the values at the rim."""
    above: dict[str, set[str]] = {}
    for chain in chains.values():
        for level, name in enumerate(chain):
            above.setdefault(name, set()).update(chain[level:])
    within = np.eye(len(labels), dtype=np.bool_)
    rims = [[] if region is None or region.everything else region.witnesses() for region in regions]
    # two numbers at the rim of every label; a rim that is no number lies in no interval
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
    """For each value that the hierarchy knows: its labels, level by level."""
    if hierarchy is None or not values:
        return {}
    try:
        ladder = hierarchy.bind(values, False, column=column)
    except MissingFromHierarchy as error:
        lacking = set(error.lacking)
        return _chains(hierarchy, [value for value in values if value not in lacking], column)
    except HierarchyError:  # no value fits: the hierarchy says nothing about this table
        return {}
    return {
        value: [str(ladder.labels[level][ladder.codes[level][leaf]]) for level in range(ladder.height + 1)]
        for leaf, value in enumerate(values)
    }
