"""A population in the codes of a table, and its people by group.

Beside the rows of a group stands a second number: the people of the population who fit its labels. The values of the
population are coded with those of the table, so that one hierarchy serves both, and equal codes at a level are equal
labels. Values that only the population has get codes too; no row has them, and nothing is published of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.io.engines.base import Engine, Relation, require_columns
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Ladder
from shoal.schema.spelling import canonical
from shoal.table.frequency_set import Dictionary, FrequencySet, encode_column, sort_values
from shoal.table.groups import Groups, PopulationCounts, group_keys, row_keys, sum_by

if TYPE_CHECKING:
    import pyarrow as pa

COUNT = "count"
"""The column of a table of cells that has their numbers of people."""
MAX_PEOPLE = 2**31 - 1
"""Largest number of people, so that rows and people fit into one number of 64 bits."""


@dataclass(frozen=True)
class CountedPeople:
    """The distinct combinations of a population, with their people.

    Attributes
    ----------
    columns
        The quasi-identifiers with their distinct values, in the order of the plan.
    codes
        int32 (n, q): the values of each combination; a missing value has the last code.
    count
        int64 (n,): the people who have them.
    """

    columns: tuple[Dictionary, ...]
    codes: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]


def count_population(
    engine: Engine, table: Relation, names: Sequence[str], *, person: str | None = None, of_cells: bool = False
) -> CountedPeople:
    """Count the people of a population by quasi-identifiers.

    A row is a person; with ``person`` it is one of his or her rows, which must be equal in the quasi-identifiers. With
    ``of_cells`` a row is a cell with its number of people in :data:`COUNT`.
    """
    further: tuple[str, ...] = (person,) if person is not None else (COUNT,) if of_cells else ()
    require_columns(table, (*names, *further), "population")
    if set(further) & set(names):
        raise PlanError("population.column-twice", column=further[0])
    counted = engine.frequencies(table, table.positions((*names, *further)))
    coded = [
        _encode(counted.column(f"c{position}"), name, position)
        for name, position in zip(names, table.positions(names), strict=True)
    ]
    codes = np.stack([code for _, code in coded], axis=1)
    rows = np.asarray(counted.column("n").to_numpy(), np.int64)
    (position,) = table.positions(further) if further else (-1,)
    if of_cells:
        rows = rows * _cell_counts(counted.column(f"c{position}"))
    if person is not None:
        owner = counted.column(f"c{position}")
        if owner.null_count or len(owner.unique()) < len(owner):
            raise PlanError("population.person-with-several-values", column=person)
        rows = np.ones(len(rows), np.int64)
    inverse, distinct = group_keys(codes, [dictionary.size for dictionary, _ in coded])
    first = np.unique(inverse, return_index=True)[1]
    count = sum_by(inverse, rows, distinct)
    if not 0 < int(count.sum()) <= MAX_PEOPLE:
        raise PlanError("population.number-of-people", people=int(count.sum()), limit=MAX_PEOPLE)
    return CountedPeople(tuple(dictionary for dictionary, _ in coded), codes[first], count)


def _cell_counts(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return the numbers of people of cells."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        found = np.asarray(pc.cast(column, pa.int64()).to_numpy(zero_copy_only=False))
        if column.null_count or (found < 0).any() or (found > MAX_PEOPLE).any():
            raise ValueError("not a number of people")
    except (pa.ArrowInvalid, ValueError):
        raise PlanError("population.counts-not-whole-numbers", column=COUNT) from None
    return found.astype(np.int64)


def _encode(column: pa.ChunkedArray, name: str, position: int) -> tuple[Dictionary, npt.NDArray[np.int32]]:
    """Encode a column by its values in canonical form."""
    import pyarrow as pa

    dictionary, codes = encode_column(column, name, position)
    if not pa.types.is_string(dictionary.values.type):
        return dictionary, codes
    texts = [canonical(text) for text in dictionary.text]
    if texts == list(dictionary.text):
        return dictionary, codes
    by_code = pa.chunked_array([pa.array([*texts, None], pa.string()).take(pa.array(codes))])
    return encode_column(by_code, name, position)


@dataclass(frozen=True)
class Population:
    """A population in the codes of a table's quasi-identifiers.

    Attributes
    ----------
    codes, count
        int32 (n, q) and int64 (n,): distinct combinations, and the people who have them.
    contains_release
        Whether everybody in the table is one of these people.
    """

    codes: npt.NDArray[np.int32]
    count: npt.NDArray[np.int64]
    contains_release: bool = True


def join_population(frequencies: FrequencySet, people: CountedPeople, *, contains_release: bool) -> FrequencySet:
    """Code a table and its population with the values of both.

    Raises if the population has fewer people of a combination than the table has rows, where it contains the table.
    """
    quasi, of_table, of_people = [], [], []
    for j, (own, other) in enumerate(zip(frequencies.quasi, people.columns, strict=True)):
        joined, table_code, people_code = _join(own, other)
        quasi.append(joined)
        of_table.append(table_code[frequencies.codes[:, j]])
        of_people.append(people_code[people.codes[:, j]])
    sizes = [dictionary.size for dictionary in quasi]
    codes, others = (np.stack(parts, axis=1).astype(np.int32) for parts in (of_table, of_people))
    if contains_release:
        _require_enough_people(codes, frequencies.count, others, people.count, sizes)
    order = np.argsort(row_keys(codes, sizes)[0], kind="stable")
    found = replace(frequencies, quasi=tuple(quasi), codes=codes).select(order, frequencies.count[order])
    return replace(found, population=Population(others, people.count, contains_release))


def _join(own: Dictionary, other: Dictionary) -> tuple[Dictionary, npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the values of both columns, and the new code of each old one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        values = other.values.cast(own.values.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise PlanError("population.other-kind-of-values", column=own.name) from None
    whole = pa.concat_arrays([own.values, values]).unique()
    sorted_values, text, _ = sort_values(whole)
    joined = Dictionary(own.name, own.position, sorted_values, text, own.missing or other.missing)

    def codes(part: pa.Array) -> npt.NDArray[np.int32]:
        found = np.asarray(pc.index_in(part, sorted_values).to_numpy(zero_copy_only=False), np.int32)
        return np.append(found, np.int32(len(text)))  # missing: the last code

    return joined, codes(own.values), codes(values)


def _require_enough_people(
    codes: npt.NDArray[np.int32],
    rows: npt.NDArray[np.int64],
    people_codes: npt.NDArray[np.int32],
    people: npt.NDArray[np.int64],
    sizes: Sequence[int],
) -> None:
    inverse, count = group_keys(np.concatenate([codes, people_codes]), sizes)
    lacking = int((sum_by(inverse[len(codes) :], people, count) < sum_by(inverse[: len(codes)], rows, count)).sum())
    if lacking:
        raise PlanError("population.too-few-people", failing=lacking)


def group_at_levels(
    frequencies: FrequencySet, ladders: Sequence[Ladder], levels: Sequence[int]
) -> tuple[npt.NDArray[np.int64], Groups]:
    """Group a table at some levels, with the people of its population."""
    from shoal.table.recoding import recode_codes

    codes, sizes = recode_codes(frequencies.codes, ladders, levels)
    inverse, groups = frequencies.group(codes, sizes)
    population = frequencies.population
    if population is None:
        return inverse, groups
    people_codes, _ = recode_codes(population.codes, ladders, levels)
    number, count = group_keys(np.concatenate([codes, people_codes]), sizes)
    people = sum_by(number[len(codes) :], population.count, count)
    group_of = np.full(count, -1, np.int64)
    group_of[number[: len(codes)]] = inverse
    second = np.zeros(groups.count, np.int64)
    second[group_of[group_of >= 0]] = people[group_of >= 0]
    return inverse, replace(
        groups, people_of=PopulationCounts(second, people[group_of < 0], population.contains_release)
    )


def as_one_group(frequencies: FrequencySet) -> Groups:
    """Return the whole table as one group, with its whole population."""
    groups = frequencies.groups_of(np.zeros(len(frequencies.count), np.int64), 1)
    population = frequencies.population
    if population is None:
        return groups
    second = np.asarray([population.count.sum()], np.int64)
    return replace(groups, people_of=PopulationCounts(second, np.zeros(0, np.int64), population.contains_release))
