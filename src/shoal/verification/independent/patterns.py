"""Count the records of the source that match patterns, independently.

A pattern shows labels, and the wildcard where any value matches. Its class is in further columns and must be the
record's class. Patterns that show the same columns share one dictionary, in which every record is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Label = str | None


def count_matching_records(
    patterns: Sequence[Sequence[Label]],
    records: Sequence[Sequence[Label]],
    counts: Sequence[int],
    quasi: int,
    wildcard: str,
) -> tuple[list[int], int]:
    """Count the records that match each pattern, and those that match any.

    Both are given by column: ``quasi`` columns in which the wildcard may occur, then those of the class. ``counts`` are
    the numbers of records of each combination.

    >>> patterns = [["a", "*"], ["*", "x"], ["1", "1"]]
    >>> count_matching_records(patterns, [["a", "b"], ["x", "x"], ["1", "1"]], [3, 2], 2, "*")
    ([3, 5], 5)
    """
    counts_by_columns: dict[tuple[int, ...], dict[tuple[Label, ...], int]] = {}
    pattern_keys = []
    for cells in zip(*patterns, strict=True):
        visible = tuple(j for j, cell in enumerate(cells) if j >= quasi or cell != wildcard)
        key = tuple(cells[j] for j in visible)
        counts_by_columns.setdefault(visible, {})[key] = 0
        pattern_keys.append((visible, key))
    is_matching = bytearray(len(counts))
    for visible, found in counts_by_columns.items():
        for index, key in enumerate(_keys(records, visible, len(counts))):
            if key in found:
                found[key] += counts[index]
                is_matching[index] = 1
    fitting = sum(count for count, fit in zip(counts, is_matching, strict=True) if fit)
    return [counts_by_columns[visible][key] for visible, key in pattern_keys], fitting


def _keys(records: Sequence[Sequence[Label]], visible: Sequence[int], rows: int) -> Iterator[tuple[Label, ...]]:
    """Yield the labels of records in some columns.

    Without columns, all records have the same empty key.
    """
    return zip(*(records[j] for j in visible), strict=True) if visible else iter([()] * rows)
