"""Count the records of the source that match patterns, independently.

A pattern shows labels, and the wildcard where any value matches. Its class is in further columns and must be the
record's class. Patterns that show the same columns share one dictionary, in which every record is looked up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from shoal.verification.independent.counting import read_texts
from shoal.verification.independent.folding import value_key

if TYPE_CHECKING:
    import pyarrow as pa

Label = str | None
CountedPattern = tuple[tuple[Label, ...], int, int]
"""Labels of a pattern, the support that it states, and the number of records that match it."""


def count_patterns(
    counted: pa.Table,
    records: Mapping[tuple[Label, ...], int],
    quasi: Sequence[int],
    sensitive: Mapping[int, bool],
    support: int,
    wildcard: str,
) -> tuple[Counter[CountedPattern], int]:
    """Count the records that match each pattern of a table, and any.

    ``counted`` has the combinations (c<position>, n) of the table: labels in the positions ``quasi``, the class in the
    keys of ``sensitive``, which say whether every spelling is another value, and the stated number of records in the
    position ``support``. ``records`` are the records of the source by labels and class.
    """
    labels = [read_texts(counted.column(f"c{position}")) for position in quasi]
    classes = [
        class_keys(read_texts(counted.column(f"c{position}")), is_exact) for position, is_exact in sensitive.items()
    ]
    cells = list(zip(*records, strict=True))
    record_classes = map(class_keys, cells[len(quasi) :], sensitive.values())
    found, matching = count_matching_records(
        [*labels, *classes], [*cells[: len(quasi)], *record_classes], list(records.values()), len(quasi), wildcard
    )
    stated = [int(text or 0) for text in read_texts(counted.column(f"c{support}"))]
    patterns: Counter[CountedPattern] = Counter()
    pattern_labels = zip(*labels, strict=True)
    for one, count, matching_records, times in zip(
        pattern_labels, stated, found, counted.column("n").to_pylist(), strict=True
    ):
        patterns[one, count, matching_records] += times
    return patterns, matching


def class_keys(texts: Sequence[Label], is_exact: bool) -> list[Hashable]:
    """Return what equal sensitive values have in common; None is missing."""
    key_of = {text: text if is_exact or text is None else value_key(text) for text in set(texts)}
    return [key_of[text] for text in texts]


def count_matching_records(
    patterns: Sequence[Sequence[Hashable]],
    records: Sequence[Sequence[Hashable]],
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
    counts_by_columns: dict[tuple[int, ...], dict[tuple[Hashable, ...], int]] = {}
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


def _keys(records: Sequence[Sequence[Hashable]], visible: Sequence[int], rows: int) -> Iterator[tuple[Hashable, ...]]:
    """Yield the labels of records in some columns.

    Without columns, all records have the same empty key.
    """
    return zip(*(records[j] for j in visible), strict=True) if visible else iter([()] * rows)
