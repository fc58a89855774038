"""Two runs of the benchmarks compared: every time and every peak of memory as a ratio of the later to the earlier one.

    python -m benchmarks --against FILE

Rows are matched by benchmark, table and the texts in them, and by their order where these are the same; so a row that
only one run has is not compared. Times of two
runs on a machine that does other work as well differ by more than what is told here: compare runs of a quiet machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["LARGEST_RATIO", "Compared", "compare", "tell"]

LARGEST_RATIO = 1.15
"""A later run may take so much longer, or need so much more memory."""
LEAST = {"s": 0.05, "MB": 20.0}
"""What is below is not compared: it is the noise of the clock and of the libraries."""
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
        """How many times the earlier figure the later one is."""
        return self.after / self.before


def compare(before: dict[str, dict], after: dict[str, dict]) -> list[Compared]:
    """The figures that both runs have, those that grew most first."""
    old = {key: value for key, value, _ in _figures(before)}
    found = [
        Compared(*key, old[key], value)
        for key, value, least in _figures(after)
        if key in old and old[key] > 0 and max(old[key], value) >= least
    ]
    return sorted(found, key=lambda one: -one.ratio)


def tell(found: list[Compared]) -> list[str]:
    """Lines of Markdown: the figures that grew above what is allowed."""
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
    """Of each time and peak that was told: where it stands, what it is, and what is too little to be compared."""
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
                        least = LEAST["s"] * 1000 if unit == "ms" else LEAST[unit]
                        yield (name, f"{entry['title']}: {texts}", title), float(cell), least


def _unit(title: str) -> str | None:
    """The unit of a column: a time or a peak of memory, or None."""
    words = title.lower().replace(",", " ").replace("(", " ").replace(")", " ").split()
    return next((UNITS[word] for word in words if word in UNITS), None)
