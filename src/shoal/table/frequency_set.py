"""The frequency set: distinct combinations of coded values, with counts.

Methods and models work on it alone, so that their cost depends on the number of distinct combinations, not on the
number of rows. The order of codes depends on the values only: numbers by size, other values by code point, missing
last. The combinations are sorted by their codes. So every engine yields the same frequency set, for any order of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import TableError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.runtime.threads import limit_threads, parallel_map
from shoal.schema import Column, Domain, Ladder, Schema
from shoal.schema.arrow_strings import texts_from_arrow
from shoal.schema.bound_hierarchy import MissingFromHierarchy
from shoal.schema.spelling import READ_AS_MISSING
from shoal.table.groups import Groups, group_keys, histogram, row_keys, sum_by

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.io.engines.base import Engine, Relation
    from shoal.table.population import Population

PLAIN_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
"""Numbers that every reader parses in the same way."""
MIN_COMBINATIONS_FOR_THREADS = 100_000
"""Number of combinations from which on columns are coded in parallel."""
MAX_CONCATENATED_BYTES = 1 << 30
"""Largest column in bytes whose chunks are concatenated."""
MIN_VALUES_FOR_BULK_SORT = 1000
"""Number of values from which on they are sorted by Arrow or NumPy."""


@dataclass(frozen=True)
class Dictionary:
    """The sorted distinct values of a column, as Arrow values and as text.

    ``missing`` states whether the column has missing values.
    """

    name: str
    position: int
    values: pa.Array
    text: Sequence[str]
    missing: bool

    @property
    def size(self) -> int:
        """The number of codes, including the one for missing."""
        return len(self.text) + self.missing


@dataclass(frozen=True)
class Spellings:
    """A sensitive column in its written form.

    Attributes
    ----------
    written, counted
        Its distinct values as written, and one of them for each counted value.
    value
        int32 (size,): the counted value of each code of ``written``; -1 is missing. Where missing values are harmless,
        they have a code of their own, after those of the counted values.
    codes
        int32 (n,): the cells, as codes of ``written``.
    """

    written: Dictionary
    counted: Dictionary
    value: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]

    @property
    def folded(self) -> int:
        """The number of spellings that were counted as another one."""
        values = len(self.counted.text)
        return int(((self.value >= 0) & (self.value < values)).sum()) - values

    @property
    def read_as_missing(self) -> int:
        """The number of texts that programs commonly read as missing."""
        import pyarrow as pa
        import pyarrow.compute as pc

        values = self.written.values
        if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
            return 0
        return int(pc.sum(pc.is_in(values, pa.array(sorted(READ_AS_MISSING), values.type))).as_py() or 0)


@dataclass(frozen=True)
class FrequencySet:
    """Distinct combinations of quasi-identifiers and sensitive values.

    Attributes
    ----------
    sensitive
        The counted values of each sensitive column, each in its first spelling. If a column names the person of each
        row, it is the last of them.
    codes
        int32 (n, q): quasi-identifier codes; a missing value has the last code of its dictionary.
    secrets
        int32 (n, s): sensitive codes, equal for spellings of one value; -1 is missing.
    count
        int64 (n,): the number of rows of the table with this combination.
    spellings
        The sensitive values as written, by which the table's rows are found. Combinations that differ in a spelling
        only are separate entries.
    population
        The people of the population by the same codes, where the plan has one.
    """

    quasi: tuple[Dictionary, ...]
    sensitive: tuple[Dictionary, ...]
    domains: tuple[Domain, ...]
    codes: npt.NDArray[np.int32]
    secrets: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    spellings: tuple[Spellings, ...] = ()
    population: Population | None = None

    @property
    def rows(self) -> int:
        """The number of rows of the table."""
        return int(self.count.sum())

    @property
    def folded(self) -> dict[str, int]:
        """The number of merged spellings, by sensitive column that has any."""
        return {part.written.name: part.folded for part in self.spellings if part.folded}

    @property
    def read_as_missing(self) -> dict[str, int]:
        """The number of texts that programs commonly read as missing.

        It is given by sensitive column that has any.
        """
        return {part.written.name: part.read_as_missing for part in self.spellings if part.read_as_missing}

    def select(self, rows: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> FrequencySet:
        """Return some of the combinations, with other counts."""
        spellings = tuple(replace(part, codes=part.codes[rows]) for part in self.spellings)
        return replace(self, codes=self.codes[rows], secrets=self.secrets[rows], count=count, spellings=spellings)

    def select_columns(self, positions: Sequence[int]) -> tuple[FrequencySet, npt.NDArray[np.int64]]:
        """Return some of the quasi-identifiers, sorted by them.

        Returns the combinations, of which some may be equal, and the position of each in this set.
        """
        codes, quasi = self.codes[:, positions], tuple(self.quasi[j] for j in positions)
        sizes = [*(one.size for one in quasi), *(one.size + 1 for one in self.sensitive)]
        order = np.argsort(row_keys(np.concatenate([codes, self.secrets + 1], axis=1), sizes)[0], kind="stable")
        return replace(self.select(order, self.count[order]), quasi=quasi, codes=codes[order]), order

    def group(self, codes: npt.NDArray[np.int32], sizes: Sequence[int]) -> tuple[npt.NDArray[np.int64], Groups]:
        """Group the combinations by (recoded) quasi-identifier codes.

        Returns the group number of every combination, and the groups.
        """
        inverse, count = group_keys(codes, sizes)
        return inverse, self.groups_of(inverse, count)

    def groups_of(self, inverse: npt.NDArray[np.int64], count: int) -> Groups:
        """Return the groups of a partition.

        ``inverse`` is the group number of each combination (-1: in no group).
        """
        chosen = inverse >= 0
        all_chosen = bool(chosen.all())
        inverse, rows = (inverse, self.count) if all_chosen else (inverse[chosen], self.count[chosen])
        size = sum_by(inverse, rows, count)
        histograms = tuple(
            histogram(inverse, self.secrets[:, s] if all_chosen else self.secrets[chosen, s], rows, count, domain)
            for s, domain in enumerate(self.domains)
        )
        return Groups(size, histograms)

    def ladders(
        self, schema: Schema, engine: Engine | None = None, table: Relation | None = None
    ) -> tuple[Ladder, ...]:
        """Return the hierarchies of the quasi-identifiers, bound to their values."""
        ladders = []
        for dictionary in self.quasi:
            try:
                ladders.append(schema.ladder(dictionary.name, dictionary.text, dictionary.missing))
            except MissingFromHierarchy as error:
                if engine is None or table is None:
                    raise
                rows = engine.find_row_numbers(table, dictionary.position, error.lacking, 3)
                raise MissingFromHierarchy(error.column, error.lacking, rows) from None
        return tuple(ladders)


def read_frequency_set(
    engine: Engine | None, table: Relation, schema: Schema, *, ordered: bool = True, counted: pa.Table | None = None
) -> FrequencySet:
    """Count and code a table's quasi-identifiers and sensitive values.

    Costs one aggregation in the engine, and time and memory proportional to the number of distinct combinations.
    ``ordered=False`` leaves the combinations in the engine's order, if the order does not matter; ``counted`` are the
    combinations, if they were counted before or no engine is needed.
    """
    names = (*schema.quasi_identifiers, *schema.sensitive, *schema.person)
    positions = table.positions(names)
    if counted is None:
        assert engine is not None
        counted = engine.frequencies(table, positions)
    count = _numpy(counted.column("n")).astype(np.int64, copy=False)
    if count.sum() == 0:
        raise TableError("table.no-rows")
    columns = [
        (counted.column(f"c{position}"), name, position) for name, position in zip(names, positions, strict=True)
    ]
    with limit_threads(None if len(count) >= MIN_COMBINATIONS_FOR_THREADS else 1):
        coded = parallel_map(lambda column: encode_column(*column), columns)
    q = len(schema.quasi_identifiers)
    quasi = tuple(dictionary for dictionary, _ in coded[:q])
    spellings = tuple(fold_column(written, codes, schema.columns[written.name]) for written, codes in coded[q:])
    sensitive = tuple(part.counted for part in spellings)
    codes = _matrix([code for _, code in coded[:q]], len(count))
    secrets = _matrix([part.value[part.codes] for part in spellings], len(count))
    domains = tuple(
        Domain(dictionary.name, len(dictionary.text))
        if dictionary.name in schema.person
        else schema.domain(dictionary.name, dictionary.text)
        for dictionary in sensitive
    )
    found = FrequencySet(quasi, sensitive, domains, codes, secrets, count, spellings)
    if schema.person:
        from shoal.table.people import with_people

        found = with_people(found)
    if not ordered:
        return found
    sizes = [dictionary.size + 1 for dictionary in (*quasi, *sensitive)]
    keys = [codes, secrets + 1]
    if found.folded:  # entries with equal counted values are ordered by spelling
        sizes += [part.written.size for part in spellings]
        keys += [part.codes[:, None] for part in spellings]
    order = np.argsort(row_keys(np.concatenate(keys, axis=1), sizes)[0])
    return found.select(order, count[order])


def fold_column(written: Dictionary, codes: npt.NDArray[np.int32], column: Column) -> Spellings:
    """Merge the spellings of a sensitive column.

    Costs one key per distinct value of text. NaN is missing.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    key: Callable[[str], str | None] = column.key
    value = np.arange(written.size, dtype=np.int32)
    counted = written
    folds = pa.types.is_string(written.values.type) or pa.types.is_large_string(written.values.type)
    if pa.types.is_floating(written.values.type) and pc.any(pc.is_nan(written.values)).as_py():
        folds, key = True, _number_key
    if folds:
        index: dict[str, int] = {}
        first: list[int] = []
        for position, text in enumerate(written.text):
            found = key(text)
            code = -1 if found is None else index.setdefault(found, len(index))
            if code == len(first):
                first.append(position)
            value[position] = code
        if len(first) < len(written.text):
            missing = written.missing or bool((value < 0).any())
            values = written.values.take(pa.array(first, pa.int64()))
            texts = tuple(written.text[position] for position in first)
            counted = Dictionary(written.name, written.position, values, texts, missing)
    value[len(written.text) :] = -1
    if column.missing == "not applicable":
        value[value < 0] = len(counted.text)
    return Spellings(written, counted, value, codes)


def _number_key(text: str) -> str | None:
    """Return the key of a number's text: itself, or None for NaN."""
    return None if text == "nan" else text


def _matrix(columns: list[npt.NDArray[np.int32]], rows: int) -> npt.NDArray[np.int32]:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int32)


def _numpy(array: pa.Array) -> npt.NDArray[Any]:
    """Return a NumPy view of whole numbers without missing values."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return np.asarray(array.to_numpy())


def encode_column(column: pa.ChunkedArray, name: str, position: int) -> tuple[Dictionary, npt.NDArray[np.int32]]:
    """Return the sorted distinct values of a column, and its cells' codes.

    A missing cell has the last code.
    """
    whole = _dictionary_of(column)
    values, text, order = sort_values(whole.dictionary)
    rank = np.empty(len(order) + 1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = len(order)  # missing: the last code
    missing = whole.null_count > 0
    index = whole.indices.fill_null(len(order)) if missing else whole.indices
    return Dictionary(name, position, values, text, missing), rank[_numpy(index)]


def _dictionary_of(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """Encode a column by its distinct values, as one array."""
    import pyarrow as pa

    chunks = column.chunks
    if chunks and not pa.types.is_dictionary(column.type) and column.nbytes < MAX_CONCATENATED_BYTES:
        return pa.concat_arrays(chunks).dictionary_encode()  # unifying the dictionaries of chunks takes far longer
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks
    return pa.concat_arrays(chunks) if chunks else pa.array([], encoded.type)


def sort_values(values: pa.Array) -> tuple[pa.Array, Sequence[str], npt.NDArray[np.int64]]:
    """Return values in order, the same as text, and their old positions.

    Numbers and dates are ordered by size, text that is all numbers by size too, other text by code point.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        positions = pc.sort_indices(values)
        values = values.take(positions)
        return values, texts_from_arrow(pc.cast(values, pa.string())), _numpy(positions).astype(np.int64)
    numbers = plain_numbers(values) if len(values) >= MIN_VALUES_FOR_BULK_SORT else None
    if numbers is not None:
        order = _order_of_numbers(values, numbers)
    elif len(values) >= MIN_VALUES_FOR_BULK_SORT and not _are_numbers(values.to_pylist()):
        order = _numpy(pc.array_sort_indices(values)).astype(np.int64)  # bytes of UTF-8 are ordered as code points are
    else:
        order = _order_one_by_one(values.to_pylist())
    values = values.take(pa.array(order))
    return values, texts_from_arrow(values), order


def _order_one_by_one(text: list[str]) -> npt.NDArray[np.int64]:
    """Sort texts by number if all are numbers, otherwise by code point.

    Equal numbers are ordered by code point.
    """
    keys = [(float(value), value) for value in text] if _are_numbers(text) else [(0.0, value) for value in text]
    return np.asarray(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _are_numbers(text: list[str]) -> bool:
    try:
        for value in text:
            float(value)
    except ValueError:
        return False
    return True


def plain_numbers(values: pa.Array) -> npt.NDArray[np.float64] | None:
    """Parse texts as numbers, if Arrow reads all of them as Python does.

    The texts have no missing values. Return None otherwise.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        return None
    if pc.all(pc.match_substring_regex(values, PLAIN_NUMBER)).as_py() is False:
        return None
    return np.asarray(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def _order_of_numbers(values: pa.Array, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Sort texts by their numbers, as :func:`_order_one_by_one` does."""
    import pyarrow as pa

    order = np.argsort(numbers, kind="stable").astype(np.int64)
    sorted_numbers = numbers[order]
    edges = np.flatnonzero(np.r_[True, sorted_numbers[1:] != sorted_numbers[:-1], True])
    for first in np.flatnonzero(np.diff(edges) > 1):  # a number with several spellings
        equal = order[edges[first] : edges[first + 1]]
        texts = values.take(pa.array(equal)).to_pylist()
        order[edges[first] : edges[first + 1]] = equal[sorted(range(len(texts)), key=texts.__getitem__)]
    return order
