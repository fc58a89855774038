"""Comparison of two benchmark runs by ratios of time and peak memory.

    python -m benchmarks --against FILE

A ratio is the later figure over the earlier one. Rows are matched by benchmark, table and their texts, and by their
order if these are equal; a row that only one run has is not compared. On a machine with other load, times of two runs
differ by more than the limit here: compare runs of a quiet machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST_RATIO = 1.15
"""The largest allowed ratio of time or memory."""
MIN_COMPARED = {"s": 0.05, "MB": 20.0}
"""Smaller figures are not compared: they are dominated by noise of the clock and of the libraries."""
UNITS = {"seconds": "s", "s": "s", "time": "s", "milliseconds": "ms", "ms": "ms", "mb": "MB", "peak mb": "MB"}


@dataclass(frozen=True)
class Compared:
    """One figure in two runs."""

    benchmark: str
    row: str
    figure: str
    before: float
    after: float

    @property
    def ratio(self) -> float:
        """The later figure over the earlier one."""
        return self.after / self.before


def compare(before: dict[str, dict], after: dict[str, dict]) -> list[Compared]:
    """Return the figures that both runs have, by decreasing ratio."""
    old = {key: value for key, value, _ in _figures(before)}
    found = [
        Compared(*key, old[key], value)
        for key, value, least in _figures(after)
        if key in old and old[key] > 0 and max(old[key], value) >= least
    ]
    return sorted(found, key=lambda one: -one.ratio)


def format_comparison(found: list[Compared]) -> list[str]:
    """Return lines of Markdown with the figures above the allowed ratio."""
    grew = [one for one in found if one.ratio > LARGEST_RATIO]
    if not grew:
        return [f"{len(found)} figures compared; none grew by more than {LARGEST_RATIO:g} times."]
    lines = ["| benchmark | row | figure | before | after | ratio |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {one.benchmark} | {one.row} | {one.figure} | {one.before:.3g} | {one.after:.3g} | {one.ratio:.2f} |"
        for one in grew
    ]
    return [*lines, "", f"{len(grew)} of {len(found)} figures grew by more than {LARGEST_RATIO:g} times."]


def _figures(results: dict[str, dict]) -> Iterator[tuple[tuple[str, str, str], float, float]]:
    """Yield each time and peak: its key, its value and its noise threshold."""
    for name, result in results.items():
        for entry in result["entries"]:
            if entry["kind"] != "table":
                continue
            seen: Counter[str] = Counter()
            for row in entry["rows"]:
                texts = " ".join(cell for cell in row if isinstance(cell, str))
                seen[texts] += 1
                texts += f" ({seen[texts]})" if seen[texts] > 1 else ""
                for title, cell in zip(entry["header"], row, strict=True):
                    unit = _unit(title)
                    if unit and isinstance(cell, int | float) and not isinstance(cell, bool):
                        least = MIN_COMPARED["s"] * 1000 if unit == "ms" else MIN_COMPARED[unit]
                        yield (name, f"{entry['title']}: {texts}", title), float(cell), least


def _unit(title: str) -> str | None:
    """Return the unit of a column of times or of peak memory, or None."""
    words = title.lower().replace(",", " ").replace("(", " ").replace(")", " ").split()
    return next((UNITS[word] for word in words if word in UNITS), None)
