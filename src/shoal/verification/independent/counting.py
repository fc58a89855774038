"""Count the groups of a published table from its values, independently.

Arrow numbers the values, and Arrow's hash tables or Python's dictionaries group them; no code and no packed key of the
search is used. Groups with the same counts are stored once, with their number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Domain, Schema
from shoal.verification.independent.domains import DeclaredDomain, ValueKey, declared_domain
from shoal.verification.independent.folding import value_key

if TYPE_CHECKING:
    import pyarrow as pa

CountsByValue = tuple[tuple[int, int], ...]
"""Values of a sensitive column in a group: value numbers and counts, ascending; missing values are not counted."""


@dataclass(frozen=True)
class SensitiveColumn:
    """Sensitive column of the whole published table.

    Attributes
    ----------
    number
        The number of each value, by its text; spellings of one value share a number, missing values have none.
    missing
        The number of missing values, where they are harmless values; otherwise None.
    total
        The number of rows that have each value, by value number.
    domain
        The categories, order and hierarchy that the plan gives for the values.
    """

    name: str
    position: int
    number: Mapping[str, int | None]
    total: tuple[int, ...]
    domain: Domain | DeclaredDomain
    missing: int | None = None

    def numbers(self, column: pa.ChunkedArray) -> list[int | None]:
        """Return the value number of each cell; None is missing and unknown."""
        texts, codes = _encode(column)
        number = [None if text is None else self.number[text] for text in texts]
        found = [None if code is None else number[code] for code in codes]
        return found if self.missing is None else [self.missing if one is None else one for one in found]


@dataclass(frozen=True)
class Counts:
    """Numbers of groups by size, and by the counts of sensitive values."""

    rows: int
    groups: int
    sizes: Counter[int]
    value_counts: Mapping[str, Counter[tuple[int, CountsByValue]]]


def list_sensitive_columns(
    columns: Mapping[str, tuple[int, pa.ChunkedArray, Any]], schema: Schema
) -> tuple[SensitiveColumn, ...]:
    """Number the values of sensitive columns.

    ``columns`` has, by name, the position, the cells and the number of rows of each cell.
    """
    return tuple(_list_values(name, *found, schema) for name, found in columns.items())


def _list_values(name: str, position: int, column: pa.ChunkedArray, rows: Any, schema: Schema) -> SensitiveColumn:
    texts, codes = _encode(column)
    key: ValueKey = _identity if schema.columns[name].exact else value_key
    by_key: dict[Hashable, int] = {}
    number: dict[str, int | None] = {}
    first: list[str] = []
    is_text = _is_text(column)
    for text in _in_order([text for text in texts if text is not None]):
        found = key(text) if is_text else _number_key(text)
        number[text] = None if found is None else by_key.setdefault(found, len(by_key))
        if len(first) < len(by_key):
            first.append(text)
    missing = len(first) if schema.columns[name].missing == "not applicable" else None
    total = [0] * (len(first) + (missing is not None))
    for code, count in zip(codes, rows.to_pylist(), strict=True):
        cell = None if code is None else texts[code]
        value = None if cell is None else number[cell]
        if value is None:
            value = missing
        if value is not None:
            total[value] += count
    return SensitiveColumn(name, position, number, tuple(total), declared_domain(schema, name, first, key), missing)


def _identity(text: str) -> str:
    """Return the key of a value of which every spelling is another value."""
    return text


def _number_key(text: str) -> str | None:
    """Return the key of a value that is not text: NaN is missing."""
    return None if text == "nan" else text


def _is_text(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _in_order(texts: list[str]) -> list[str]:
    """Sort numbers by size and other text by code point.

    Of several spellings of a value, the first one represents it.
    """
    try:
        return sorted(texts, key=lambda text: (float(text), text))
    except ValueError:
        return sorted(texts)


def count_groups(counted: pa.Table, quasi: Sequence[int], sensitive: Sequence[SensitiveColumn]) -> Counts:
    """Group the combinations of a table (c<position>, n) by quasi-identifiers.

    ``quasi`` are the positions of the quasi-identifiers.
    """
    found = _grouped(counted, quasi)
    sizes = found.column("n_sum").to_pylist()
    value_counts: dict[str, Counter[tuple[int, CountsByValue]]] = {}
    if sensitive:
        members, ends = _flat(found.column("row_list"))
        count = counted.column("n").to_pylist()
        for one in sensitive:
            value_counts[one.name] = _count_values(
                one.numbers(counted.column(f"c{one.position}")), count, members, ends, sizes
            )
    return Counts(sum(sizes), len(sizes), Counter(sizes), value_counts)


def list_groups(counted: pa.Table, quasi: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """List the rows and the combinations of each group."""
    found = _grouped(counted, quasi)
    return found.column("n_sum").to_pylist(), found.column("row_list").to_pylist()


def count_people_per_group(counted: pa.Table, quasi: Sequence[int], person: int) -> tuple[int, Counter[int]]:
    """Count the rows, and the groups by their number of distinct people.

    ``person`` is the position of the person column.
    """
    import pyarrow as pa

    keys = _keys(counted, quasi)
    listed = pa.table({**keys, "person": counted.column(f"c{person}"), "n": counted.column("n")})
    found = listed.group_by(list(keys), use_threads=False).aggregate([("person", "count_distinct"), ("n", "sum")])
    return sum(found.column("n_sum").to_pylist()), Counter(found.column("person_count_distinct").to_pylist())


def _keys(counted: pa.Table, quasi: Sequence[int]) -> dict[str, pa.Array]:
    import pyarrow as pa

    if not quasi:  # all rows are one group
        return {"k": pa.array([0] * counted.num_rows)}
    return {f"k{position}": _indices(counted.column(f"c{position}")) for position in quasi}


def _grouped(counted: pa.Table, quasi: Sequence[int]) -> pa.Table:
    import pyarrow as pa

    keys = _keys(counted, quasi)
    listed = pa.table({**keys, "row": pa.array(range(counted.num_rows), pa.int64()), "n": counted.column("n")})
    return listed.group_by(list(keys), use_threads=False).aggregate([("row", "list"), ("n", "sum")])


def _count_values(
    value: Sequence[int | None], count: Sequence[int], members: Sequence[int], ends: Sequence[int], sizes: Sequence[int]
) -> Counter[tuple[int, CountsByValue]]:
    """Count the groups by size and sensitive values.

    The members of a group are the next entries of ``members``, up to its end.
    """
    group_kinds: Counter[tuple[int, CountsByValue]] = Counter()
    start = 0
    for size, end in zip(sizes, ends, strict=True):
        counts: dict[int, int] = {}
        for member in members[start:end]:
            number = value[member]
            if number is not None:
                counts[number] = counts.get(number, 0) + count[member]
        group_kinds[size, tuple(sorted(counts.items()))] += 1
        start = end
    return group_kinds


def count_groups_with_wildcards(
    counted: pa.Table, quasi: Sequence[int], wildcard: str, people: Mapping[tuple[str | None, ...], int]
) -> Counts:
    """Count the groups of a table in which a label may stand for any value.

    The size of a group is the smaller of two numbers: how many of the ``people`` match its rows, and how many rows
    match each of these people. A row matches a person if none of its visible labels differs. Empty text is missing, as
    for a reader of a CSV. All sizes are 0 where some person matches no row.
    """
    columns = [read_texts(counted.column(f"c{position}")) for position in quasi]
    size: Counter[tuple[Any, ...]] = Counter()
    for cells, count in zip(zip(*columns, strict=True), counted.column("n").to_pylist(), strict=True):
        size[cells] += count
    classes: dict[tuple[int, ...], Counter[tuple[Any, ...]]] = {}
    for cells, count in size.items():
        visible = tuple(j for j, cell in enumerate(cells) if cell != wildcard)
        classes.setdefault(visible, Counter())[tuple(cells[j] for j in visible)] += count
    rows = {
        person: sum(value_counts[tuple(person[j] for j in visible)] for visible, value_counts in classes.items())
        for person in people
    }
    least: Counter[int] = Counter()
    for visible, value_counts in classes.items():
        behind: Counter[tuple[Any, ...]] = Counter()
        fewest: dict[tuple[Any, ...], int] = {}
        for person, count in people.items():
            key = tuple(person[j] for j in visible)
            behind[key] += count
            fewest[key] = min(fewest.get(key, rows[person]), rows[person])
        for key in value_counts:
            least[min(behind[key], fewest.get(key, 0)) if all(rows.values()) else 0] += 1
    return Counts(sum(size.values()), len(size), least, {})


def read_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return the cells of a column as text; empty text is missing."""
    texts, codes = _encode(column)
    return [None if code is None else texts[code] or None for code in codes]


def _encode(column: pa.ChunkedArray) -> tuple[list[str | None], list[int | None]]:
    """Return the distinct values as text, and the index of each cell's value.

    None is missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = _as_one_array(column)
    return pc.cast(whole.dictionary, pa.string()).to_pylist(), whole.indices.to_pylist()


def _indices(column: pa.ChunkedArray) -> pa.Array:
    return _as_one_array(column).indices


def _as_one_array(column: pa.ChunkedArray) -> pa.DictionaryArray:
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks
    return pa.concat_arrays(chunks) if chunks else pa.array([], encoded.type)


def _flat(lists: pa.ChunkedArray) -> tuple[list[int], list[int]]:
    """Return the members of all lists in sequence, and the end of each list."""
    import pyarrow as pa

    whole = pa.concat_arrays(lists.chunks)
    return whole.flatten().to_pylist(), whole.offsets.to_pylist()[1:]
