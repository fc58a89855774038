"""Patterns counted once more: how many records of the source fit each, and how many fit any.

A pattern shows labels, and the wildcard where anything will do; its class stands in further columns and must be the
record's own. Patterns that show the same columns wait in one dictionary, and every record is looked up in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["count_fitting"]

Label = str | None


def count_fitting(
    patterns: Sequence[Sequence[Label]],
    records: Sequence[Sequence[Label]],
    counts: Sequence[int],
    quasi: int,
    wildcard: str,
) -> tuple[list[int], int]:
    """Of each pattern the records that fit it, and the records that fit any.

    Both are given by column: ``quasi`` columns in which the wildcard may stand, then those of the class. ``counts``
    says how many records each combination stands for.

    >>> count_fitting([["a", "*"], ["*", "x"], ["1", "1"]], [["a", "b"], ["x", "x"], ["1", "1"]], [3, 2], 2, "*")
    ([3, 5], 5)
    """
    waiting: dict[tuple[int, ...], dict[tuple[Label, ...], int]] = {}
    of_pattern = []
    for cells in zip(*patterns, strict=True):
        shown = tuple(j for j, cell in enumerate(cells) if j >= quasi or cell != wildcard)
        key = tuple(cells[j] for j in shown)
        waiting.setdefault(shown, {})[key] = 0
        of_pattern.append((shown, key))
    fits = bytearray(len(counts))
    for shown, found in waiting.items():
        for place, key in enumerate(_keys(records, shown, len(counts))):
            if key in found:
                found[key] += counts[place]
                fits[place] = 1
    fitting = sum(count for count, fit in zip(counts, fits, strict=True) if fit)
    return [waiting[shown][key] for shown, key in of_pattern], fitting


def _keys(records: Sequence[Sequence[Label]], shown: Sequence[int], rows: int) -> Iterator[tuple[Label, ...]]:
    """What records show in some columns; in no column all of them the same."""
    return zip(*(records[j] for j in shown), strict=True) if shown else iter([()] * rows)
