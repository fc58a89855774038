"""The groups of a published table, counted from its values once more.

Values are numbered by Arrow and grouped by Arrow's hash tables or Python's own dictionaries: no code and no packed key
of the search is met again. Of groups with the same counts only one is kept, and how many there are of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.schema import Domain, Schema

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Counts", "Held", "Sensitive", "count_groups", "count_loosely", "crowds_of", "groups_of", "list_sensitive",
    "read_texts",
]  # fmt: skip

Held = tuple[tuple[int, int], ...]
"""What a group holds of a sensitive column: value numbers and their counts, in order; missing values are not held."""


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column of the whole published table.

    Attributes
    ----------
    number
        The number of each value, by its text; spellings of one value have one number, of what is missing none.
    total
        How many rows have each value, by number.
    domain
        What the plan says of the values: categories, order, hierarchy.
    """

    name: str
    place: int
    number: Mapping[str, int | None]
    total: tuple[int, ...]
    domain: Domain

    def numbers(self, column: pa.ChunkedArray) -> list[int | None]:
        """The value number of each cell; None is missing."""
        texts, codes = _encode(column)
        number = [None if text is None else self.number[text] for text in texts]
        return [None if code is None else number[code] for code in codes]


@dataclass(frozen=True)
class Counts:
    """Sizes of groups, and per sensitive column what groups hold, each with how many groups are so."""

    rows: int
    groups: int
    sizes: Counter[int]
    held: Mapping[str, Counter[tuple[int, Held]]]


def list_sensitive(columns: Mapping[str, tuple[int, pa.ChunkedArray, Any]], schema: Schema) -> tuple[Sensitive, ...]:
    """The sensitive columns from their values and counts: by name the place, cells and how many rows have each."""
    return tuple(_list_values(name, *found, schema) for name, found in columns.items())


def _list_values(name: str, place: int, column: pa.ChunkedArray, rows: Any, schema: Schema) -> Sensitive:
    texts, codes = _encode(column)
    key = schema.columns[name].key if _is_text(column) else str
    by_key: dict[str, int] = {}
    number: dict[str, int | None] = {}
    first: list[str] = []
    for text in _in_order([text for text in texts if text is not None]):
        found = key(text)
        number[text] = None if found is None else by_key.setdefault(found, len(by_key))
        if len(first) < len(by_key):
            first.append(text)
    total = [0] * len(first)
    for code, count in zip(codes, rows.to_pylist(), strict=True):
        cell = None if code is None else texts[code]
        value = None if cell is None else number[cell]
        if value is not None:
            total[value] += count
    return Sensitive(name, place, number, tuple(total), schema.domain(name, first))


def _is_text(column: pa.ChunkedArray) -> bool:
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _in_order(texts: list[str]) -> list[str]:
    """Numbers by size, other text by code point: of several spellings of a value the first one speaks for it."""
    try:
        return sorted(texts, key=lambda text: (float(text), text))
    except ValueError:
        return sorted(texts)


def count_groups(counted: pa.Table, quasi: Sequence[int], sensitive: Sequence[Sensitive]) -> Counts:
    """Group the combinations of a table (c<place>, n) by what they show in the places ``quasi``."""
    found = _grouped(counted, quasi)
    sizes = found.column("n_sum").to_pylist()
    held: dict[str, Counter[tuple[int, Held]]] = {}
    if sensitive:
        members, ends = _flat(found.column("row_list"))
        count = counted.column("n").to_pylist()
        for one in sensitive:
            held[one.name] = _held(one.numbers(counted.column(f"c{one.place}")), count, members, ends, sizes)
    return Counts(sum(sizes), len(sizes), Counter(sizes), held)


def groups_of(counted: pa.Table, quasi: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The groups of the combinations of a table: how many rows each has, and which combinations."""
    found = _grouped(counted, quasi)
    return found.column("n_sum").to_pylist(), found.column("row_list").to_pylist()


def crowds_of(counted: pa.Table, quasi: Sequence[int], person: int) -> tuple[int, Counter[int]]:
    """How many rows there are, and how many groups have how many different people, by the number of a person."""
    import pyarrow as pa

    keys = _keys(counted, quasi)
    listed = pa.table({**keys, "person": counted.column(f"c{person}"), "n": counted.column("n")})
    found = listed.group_by(list(keys), use_threads=False).aggregate([("person", "count_distinct"), ("n", "sum")])
    return sum(found.column("n_sum").to_pylist()), Counter(found.column("person_count_distinct").to_pylist())


def _keys(counted: pa.Table, quasi: Sequence[int]) -> dict[str, pa.Array]:
    return {f"k{place}": _indices(counted.column(f"c{place}")) for place in quasi}


def _grouped(counted: pa.Table, quasi: Sequence[int]) -> pa.Table:
    import pyarrow as pa

    keys = _keys(counted, quasi)
    listed = pa.table({**keys, "row": pa.array(range(counted.num_rows), pa.int64()), "n": counted.column("n")})
    return listed.group_by(list(keys), use_threads=False).aggregate([("row", "list"), ("n", "sum")])


def _held(
    value: Sequence[int | None], count: Sequence[int], members: Sequence[int], ends: Sequence[int], sizes: Sequence[int]
) -> Counter[tuple[int, Held]]:
    """What each group holds: its members are the next of ``members``, up to its end."""
    alike: Counter[tuple[int, Held]] = Counter()
    start = 0
    for size, end in zip(sizes, ends, strict=True):
        counts: dict[int, int] = {}
        for member in members[start:end]:
            number = value[member]
            if number is not None:
                counts[number] = counts.get(number, 0) + count[member]
        alike[size, tuple(sorted(counts.items()))] += 1
        start = end
    return alike


def count_loosely(
    counted: pa.Table, quasi: Sequence[int], wildcard: str, people: Mapping[tuple[str | None, ...], int]
) -> Counts:
    """Groups where a label may stand for any value, each with the smaller of two numbers.

    How many of the ``people`` can be behind its rows, and how many rows can be the row of each of them: those that show
    nothing that differs. Empty text is missing, as to a reader of a CSV. 0 for all where somebody has no row.
    """
    columns = [read_texts(counted.column(f"c{place}")) for place in quasi]
    size: Counter[tuple[Any, ...]] = Counter()
    for cells, count in zip(zip(*columns, strict=True), counted.column("n").to_pylist(), strict=True):
        size[cells] += count
    classes: dict[tuple[int, ...], Counter[tuple[Any, ...]]] = {}
    for cells, count in size.items():
        shown = tuple(j for j, cell in enumerate(cells) if cell != wildcard)
        classes.setdefault(shown, Counter())[tuple(cells[j] for j in shown)] += count
    rows = {person: sum(held[tuple(person[j] for j in shown)] for shown, held in classes.items()) for person in people}
    least: Counter[int] = Counter()
    for shown, held in classes.items():
        behind: Counter[tuple[Any, ...]] = Counter()
        fewest: dict[tuple[Any, ...], int] = {}
        for person, count in people.items():
            key = tuple(person[j] for j in shown)
            behind[key] += count
            fewest[key] = min(fewest.get(key, rows[person]), rows[person])
        for key in held:
            least[min(behind[key], fewest.get(key, 0)) if all(rows.values()) else 0] += 1
    return Counts(sum(size.values()), len(size), least, {})


def read_texts(column: pa.ChunkedArray) -> list[str | None]:
    """The cells of a column as text; empty text is missing."""
    texts, codes = _encode(column)
    return [None if code is None else texts[code] or None for code in codes]


def _encode(column: pa.ChunkedArray) -> tuple[list[str | None], list[int | None]]:
    """The distinct values of a column as text, and the place of each cell's value among them; None is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = _whole(column)
    return pc.cast(whole.dictionary, pa.string()).to_pylist(), whole.indices.to_pylist()


def _indices(column: pa.ChunkedArray) -> pa.Array:
    return _whole(column).indices


def _whole(column: pa.ChunkedArray) -> pa.DictionaryArray:
    import pyarrow as pa

    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks
    return pa.concat_arrays(chunks) if chunks else pa.array([], encoded.type)


def _flat(lists: pa.ChunkedArray) -> tuple[list[int], list[int]]:
    """All members of lists one after another, and where each list ends."""
    import pyarrow as pa

    whole = pa.concat_arrays(lists.chunks)
    return whole.flatten().to_pylist(), whole.offsets.to_pylist()[1:]
