"""The frequency set: the distinct combinations of coded values, with their counts.

Methods and models work on it alone, so that what they cost depends on how many different people there
are, not on how many rows. Codes follow an order that depends on the values only: numbers by size, other
values by code point, missing last. The combinations are sorted by their codes. So every engine yields the
same frequency set, whatever order its rows came in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import TableError
from shoal.runtime.threads import at_most, spread
from shoal.schema import Domain, Ladder, Schema
from shoal.schema.arrow_strings import texts_of
from shoal.schema.tree_hierarchies import MissingFromHierarchy
from shoal.table.groups import Groups, group_keys, histogram, row_keys, sum_by

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.io.engines.base import Engine, Relation

__all__ = [
    "Dictionary",
    "FrequencySet",
    "Spellings",
    "encode_column",
    "fold_column",
    "plain_numbers",
    "read_frequency_set",
    "sort_values",
]

PLAIN_NUMBER = r"^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$"
"""Numbers that everybody reads alike."""
MANY = 100_000
"""So many combinations are coded on several threads, a column each."""
MOST_TOGETHER = 1 << 30
"""Bytes of a column that are laid together."""
FEW = 1000
"""So many values are put in order one by one; more of them at once."""


@dataclass(frozen=True)
class Dictionary:
    """The distinct values of a column, sorted: native (Arrow) and as text; ``missing`` tells if there are gaps."""

    name: str
    place: int
    values: pa.Array
    text: Sequence[str]
    missing: bool

    @property
    def size(self) -> int:
        """How many codes there are, the one for missing included."""
        return len(self.text) + self.missing


@dataclass(frozen=True)
class Spellings:
    """A sensitive column as it is written.

    Attributes
    ----------
    written, counted
        Its values as they stand in the table, and one for each that is counted.
    value
        int32 (size,): what each code of ``written`` is counted as; -1 is missing.
    codes
        int32 (n,): the cells, by code of ``written``.
    """

    written: Dictionary
    counted: Dictionary
    value: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]

    @property
    def folded(self) -> int:
        """How many spellings were counted as another one."""
        return int((self.value >= 0).sum()) - len(self.counted.text)


@dataclass(frozen=True)
class FrequencySet:
    """Distinct combinations of quasi-identifiers and sensitive values.

    Attributes
    ----------
    sensitive
        Of each sensitive column the values as they are counted, by the first spelling of each. Where a column says
        whose rows they are, it is the last of them.
    codes
        int32 (n, q): quasi-identifier codes; a missing value has the last code of its dictionary.
    secrets
        int32 (n, s): sensitive codes, equal for spellings of one value; -1 is missing.
    count
        int64 (n,): how many rows of the table have this combination.
    spellings
        The sensitive values as they are written, by which the table's rows are found. Combinations that differ in
        nothing but a spelling are entries of their own.
    """

    quasi: tuple[Dictionary, ...]
    sensitive: tuple[Dictionary, ...]
    domains: tuple[Domain, ...]
    codes: npt.NDArray[np.int32]
    secrets: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    spellings: tuple[Spellings, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.count.sum())

    @property
    def folded(self) -> dict[str, int]:
        """How many spellings were counted as another one, of the sensitive columns where there are such."""
        return {part.written.name: part.folded for part in self.spellings if part.folded}

    def of(self, rows: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> FrequencySet:
        """Some of the combinations, with other counts."""
        spellings = tuple(replace(part, codes=part.codes[rows]) for part in self.spellings)
        return replace(self, codes=self.codes[rows], secrets=self.secrets[rows], count=count, spellings=spellings)

    def group(self, codes: npt.NDArray[np.int32], sizes: Sequence[int]) -> tuple[npt.NDArray[np.int64], Groups]:
        """Group the combinations by (recoded) quasi-identifier codes.

        Returns the group number of every combination, and the groups.
        """
        inverse, count = group_keys(codes, sizes)
        return inverse, self.groups_of(inverse, count)

    def groups_of(self, inverse: npt.NDArray[np.int64], count: int) -> Groups:
        """The groups of a partition that is given as one group number per combination (-1: in no group)."""
        chosen = inverse >= 0
        every = bool(chosen.all())
        inverse, rows = (inverse, self.count) if every else (inverse[chosen], self.count[chosen])
        size = sum_by(inverse, rows, count)
        histograms = tuple(
            histogram(inverse, self.secrets[:, s] if every else self.secrets[chosen, s], rows, count, domain)
            for s, domain in enumerate(self.domains)
        )
        return Groups(size, histograms)

    def ladders(
        self, schema: Schema, engine: Engine | None = None, table: Relation | None = None
    ) -> tuple[Ladder, ...]:
        """The hierarchies of the quasi-identifiers bound to their values."""
        ladders = []
        for dictionary in self.quasi:
            try:
                ladders.append(schema.ladder(dictionary.name, dictionary.text, dictionary.missing))
            except MissingFromHierarchy as error:
                if engine is None or table is None:
                    raise
                rows = engine.rows_holding(table, dictionary.place, error.lacking, 3)
                raise MissingFromHierarchy(error.column, error.lacking, rows) from None
        return tuple(ladders)


def read_frequency_set(
    engine: Engine | None, table: Relation, schema: Schema, *, ordered: bool = True, counted: pa.Table | None = None
) -> FrequencySet:
    """Ask the engine for the combinations of a table's quasi-identifiers and sensitive values, and code them.

    Costs one aggregation in the engine, and time and memory in proportion to the number of distinct
    combinations. ``ordered=False`` leaves the combinations in the engine's order, where no one looks at it;
    ``counted`` are the combinations, where an engine has been asked before or none is needed.
    """
    names = (*schema.quasi_identifiers, *schema.sensitive, *schema.person)
    places = table.places(names)
    if counted is None:
        assert engine is not None
        counted = engine.frequencies(table, places)
    count = _numpy(counted.column("n")).astype(np.int64, copy=False)
    if count.sum() == 0:
        raise TableError("The table has no rows; at least one is needed.")
    columns = [(counted.column(f"c{place}"), name, place) for name, place in zip(names, places, strict=True)]
    with at_most(None if len(count) >= MANY else 1):
        coded = spread(lambda column: encode_column(*column), columns)
    q = len(schema.quasi_identifiers)
    quasi = tuple(dictionary for dictionary, _ in coded[:q])
    spellings = tuple(fold_column(written, codes, schema.columns[written.name].key) for written, codes in coded[q:])
    sensitive = tuple(part.counted for part in spellings)
    codes = _matrix([code for _, code in coded[:q]], len(count))
    secrets = _matrix([part.value[part.codes] for part in spellings], len(count))
    domains = tuple(
        Domain(one.name, len(one.text)) if one.name in schema.person else schema.domain(one.name, one.text)
        for one in sensitive
    )
    found = FrequencySet(quasi, sensitive, domains, codes, secrets, count, spellings)
    if schema.person:
        from shoal.table.people import with_people

        found = with_people(found)
    if not ordered:
        return found
    sizes = [dictionary.size + 1 for dictionary in (*quasi, *sensitive)]
    keys = [codes, secrets + 1]
    if found.folded:  # entries that are counted alike follow each other by their spelling
        sizes += [part.written.size for part in spellings]
        keys += [part.codes[:, None] for part in spellings]
    order = np.argsort(row_keys(np.concatenate(keys, axis=1), sizes)[0])
    return found.of(order, count[order])


def fold_column(written: Dictionary, codes: npt.NDArray[np.int32], key: Callable[[str], str | None]) -> Spellings:
    """What the values of a sensitive column are counted as. Costs one key per distinct value of text."""
    import pyarrow as pa

    value = np.arange(written.size, dtype=np.int32)
    counted = written
    if pa.types.is_string(written.values.type) or pa.types.is_large_string(written.values.type):
        index: dict[str, int] = {}
        first: list[int] = []
        for place, text in enumerate(written.text):
            found = key(text)
            code = -1 if found is None else index.setdefault(found, len(index))
            if code == len(first):
                first.append(place)
            value[place] = code
        if len(first) < len(written.text):
            missing = written.missing or bool((value < 0).any())
            values = written.values.take(pa.array(first, pa.int64()))
            texts = tuple(written.text[place] for place in first)
            counted = Dictionary(written.name, written.place, values, texts, missing)
    value[len(written.text) :] = -1
    return Spellings(written, counted, value, codes)


def _matrix(columns: list[npt.NDArray[np.int32]], rows: int) -> npt.NDArray[np.int32]:
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0), np.int32)


def _numpy(array: pa.Array) -> npt.NDArray[Any]:
    """A view of whole numbers without gaps."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    return np.asarray(array.to_numpy())


def encode_column(column: pa.ChunkedArray, name: str, place: int) -> tuple[Dictionary, npt.NDArray[np.int32]]:
    """The sorted distinct values of a column, and the code of each of its cells (missing: the last code)."""
    whole = _dictionary_of(column)
    values, text, order = sort_values(whole.dictionary)
    rank = np.empty(len(order) + 1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = len(order)  # missing: the last code
    missing = whole.null_count > 0
    index = whole.indices.fill_null(len(order)) if missing else whole.indices
    return Dictionary(name, place, values, text, missing), rank[_numpy(index)]


def _dictionary_of(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column by its distinct values, as one array."""
    import pyarrow as pa

    chunks = column.chunks
    if chunks and not pa.types.is_dictionary(column.type) and column.nbytes < MOST_TOGETHER:
        return pa.concat_arrays(chunks).dictionary_encode()  # to unify the dictionaries of chunks takes far longer
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    chunks = encoded.unify_dictionaries().chunks
    return pa.concat_arrays(chunks) if chunks else pa.array([], encoded.type)


def sort_values(values: pa.Array) -> tuple[pa.Array, Sequence[str], npt.NDArray[np.int64]]:
    """Values in order, the same as text, and which place each had.

    Numbers and dates are ordered by size, text that is all numbers by size too, other text by code point.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        places = pc.sort_indices(values)
        values = values.take(places)
        return values, texts_of(pc.cast(values, pa.string())), _numpy(places).astype(np.int64)
    numbers = plain_numbers(values) if len(values) >= FEW else None
    if numbers is not None:
        order = _order_of_numbers(values, numbers)
    elif len(values) >= FEW and not _are_numbers(values.to_pylist()):
        order = _numpy(pc.array_sort_indices(values)).astype(np.int64)  # bytes of UTF-8 are ordered as code points are
    else:
        order = _order_one_by_one(values.to_pylist())
    values = values.take(pa.array(order))
    return values, texts_of(values), order


def _order_one_by_one(text: list[str]) -> npt.NDArray[np.int64]:
    """The order of texts: by size where all of them are numbers, by code point else and among equal numbers."""
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
    """Texts without gaps as numbers, where all are written so plainly that Arrow reads them as Python does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        return None
    if pc.all(pc.match_substring_regex(values, PLAIN_NUMBER)).as_py() is False:
        return None
    return np.asarray(pc.cast(values, pa.float64()).to_numpy(zero_copy_only=False), np.float64)


def _order_of_numbers(values: pa.Array, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The same order, of texts that are these numbers."""
    import pyarrow as pa

    order = np.argsort(numbers, kind="stable").astype(np.int64)
    found = numbers[order]
    edges = np.flatnonzero(np.r_[True, found[1:] != found[:-1], True])
    for first in np.flatnonzero(np.diff(edges) > 1):  # numbers of several spellings
        alike = order[edges[first] : edges[first + 1]]
        texts = values.take(pa.array(alike)).to_pylist()
        order[edges[first] : edges[first + 1]] = alike[sorted(range(len(texts)), key=texts.__getitem__)]
    return order
