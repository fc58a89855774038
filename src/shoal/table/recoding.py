"""Recodings: the groups that a method formed, and what they publish.

There are two forms. :class:`ByLevel` is global: one level of the hierarchy per column. :class:`ByGroup` is local: a
partition of the combinations, whose groups publish their own labels. Both can suppress rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import Engine, Relation, Source
from shoal.runtime.lazy_dataclass import dataclass
from shoal.schema import Ladder
from shoal.table.expand_counts import EXACT_TYPES, FLOAT_TYPES, ConstantColumn, PublishedColumn, repeat_entries
from shoal.table.frequency_set import Dictionary, FrequencySet, sort_values
from shoal.table.groups import LARGEST_KEY, group_keys, row_keys, unique_pairs
from shoal.table.method_facts import MethodFacts

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ByLevel:
    """One level per quasi-identifier.

    Attributes
    ----------
    levels
        int (q,): the level of each quasi-identifier.
    group
        int64 (n,): group of each combination of the frequency set, -1 if it is suppressed.
    facts
        The facts that the method reports, for the certificate.
    """

    levels: tuple[int, ...]
    group: npt.NDArray[np.int64]
    facts: MethodFacts = MethodFacts()


@dataclass(frozen=True)
class ByGroup:
    """A partition with labels.

    Of combination ``row[i]``, ``count[i]`` rows go to group ``group[i]``; other rows are suppressed. Entries of one
    combination are contiguous. ``labels[j][g]`` is the label of group g in quasi-identifier j (``None``: missing), as
    text or as an Arrow array of the column's own type. ``height[g, j]`` is its height in the hierarchy, as a share of
    the full height, and ``share[g, j]`` the share of the domain that it covers. ``loss`` has the measures of loss that
    only the method knows.
    """

    row: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    labels: tuple[Sequence[str | None] | pa.Array, ...]
    height: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]
    facts: MethodFacts = MethodFacts()
    loss: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ByPattern(ByGroup):
    """Patterns instead of rows: ``table`` has one row per pattern.

    The table has the user's column names, the sensitive columns, and a column named ``support``: the number of rows
    that match the pattern. Patterns may overlap. The inherited partition assigns each row one of its patterns; it is
    not published and serves to measure the loss. ``levels`` are those at which the patterns publish their columns.
    """

    table: pa.Table
    support: str
    levels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ByCell(ByGroup):
    """One level per quasi-identifier, with suppression of single cells.

    Groups are the rows with the same labels. ``levels`` are those of the visible cells, ``ladders`` the hierarchies
    with labels made from these alone.
    """

    levels: tuple[int, ...]
    ladders: tuple[Ladder, ...]


Recoding = ByLevel | ByGroup
Counted = dict[int, tuple[npt.NDArray[np.int32], "pa.Array", bool]]


def recode_codes(
    codes: npt.NDArray[np.int32], ladders: Sequence[Ladder], levels: Sequence[int]
) -> tuple[npt.NDArray[np.int32], list[int]]:
    """Lift codes (n, q) of level 0 to some levels.

    Returns the codes, and the number of codes of each column.
    """
    lifted = [ladder.codes[level][codes[:, j]] for j, (ladder, level) in enumerate(zip(ladders, levels, strict=True))]
    sizes = [ladder.size(level) for ladder, level in zip(ladders, levels, strict=True)]
    return (np.stack(lifted, axis=1) if lifted else np.zeros((len(codes), 0), np.int32)), sizes


def released_ladders(
    frequencies: FrequencySet, ladders: Sequence[Ladder], combinations: npt.NDArray[np.int64]
) -> tuple[Ladder, ...]:
    """Return the hierarchies with labels made from ``combinations`` alone."""
    restricted = []
    for j, ladder in enumerate(ladders):
        present = np.zeros(len(ladder.codes[0]), np.bool_)
        present[frequencies.codes[combinations, j]] = True
        restricted.append(ladder.released(present))
    return tuple(restricted)


def released_combinations(recoding: Recoding) -> npt.NDArray[np.int64]:
    """Return the combinations of which a recoding releases rows."""
    return np.flatnonzero(recoding.group >= 0 if isinstance(recoding, ByLevel) else np.bincount(recoding.row))


def apply(
    engine: Engine,
    table: Relation,
    keep: tuple[str, ...],
    frequencies: FrequencySet,
    ladders: tuple[Ladder, ...],
    recoding: Recoding,
    unpublished: tuple[str, ...] = (),
) -> Relation:
    """Let the engine recode the rows.

    ``keep`` names the published columns, in their order. ``ladders`` are those of :func:`released_ladders`. Columns
    ``unpublished`` come after the others and are not published: they name the person of each row, for verification.
    """
    if isinstance(recoding, ByPattern):
        return engine.read(Source(frame=recoding.table))
    positions = table.positions((*keep, *unpublished))
    values = _counted(table, positions, table.positions(unpublished), frequencies)
    if isinstance(recoding, ByLevel):
        return _apply_levels(engine, table, positions, frequencies, ladders, recoding, values)
    return _apply_groups(engine, table, positions, frequencies, recoding, values)


def _apply_levels(
    engine: Engine,
    table: Relation,
    positions: tuple[int, ...],
    frequencies: FrequencySet,
    ladders: tuple[Ladder, ...],
    recoding: ByLevel,
    values: Counted | None,
) -> Relation:
    import pyarrow as pa

    mapped = []  # (dictionary, label code of each value, labels)
    constants = {}
    published: list[tuple[int, pa.Array | None]] = []  # position and published values by code; None for a constant
    for dictionary, ladder, level in zip(frequencies.quasi, ladders, recoding.levels, strict=True):
        labels = ladder.labels[level]
        if level == ladder.height and level > 0 and labels[0] is not None:
            constants[dictionary.position] = labels[0]
            published.append((dictionary.position, None))
        elif level == 0 and not pa.types.is_string(dictionary.values.type):
            published.append((dictionary.position, _with_missing(dictionary)))
        else:
            mapped.append((dictionary, ladder.codes[level], labels))
            published.append((dictionary.position, pa.array(labels, pa.string())))
    for dictionary, domain in zip((part.written for part in frequencies.spellings), frequencies.domains, strict=True):
        # the order of rows must not depend on their people
        if dictionary.position in positions and domain.people is None and pa.types.is_string(dictionary.values.type):
            labels = (*dictionary.text, None) if dictionary.missing else dictionary.text
            mapped.append((dictionary, np.arange(len(labels), dtype=np.int32), labels))
    out = np.flatnonzero(recoding.group < 0)
    released = np.flatnonzero(recoding.group >= 0) if len(out) else None
    by_column = {d.position: frequencies.codes[:, j] for j, d in enumerate(frequencies.quasi)}
    by_column |= {d.position: frequencies.secrets[:, s] for s, d in enumerate(frequencies.sensitive)}
    maps = {}
    span = 1  # product of the numbers of labels of the columns after this one
    for dictionary, by_value, labels in reversed(mapped):
        columns = {
            "v": _with_missing(dictionary),
            "label": pa.array([labels[code] for code in by_value], pa.string()),
        }
        if span * len(labels) < LARGEST_KEY:
            rank = (
                by_value
                if released is None
                else _label_positions(dictionary, by_value, by_column[dictionary.position][released])
            )
            # the missing label has the last code; in a table it comes first
            rank = (rank + 1) % len(labels) if labels[-1] is None else rank
            columns["rank"] = pa.array(rank.astype(np.int64) * span)
            span *= len(labels)
        maps[dictionary.position] = pa.table(columns)
    if values is not None:
        chosen = np.arange(len(frequencies.count)) if released is None else released
        key = np.zeros(len(chosen), np.int64)
        cells: list[PublishedColumn | ConstantColumn] = []
        for column in positions:
            codes, own = values[column][0][chosen], values[column][1]
            if column in constants:
                cells.append(ConstantColumn(column, constants[column]))
            elif column in maps:
                ranked = "rank" in maps[column].column_names
                key += maps[column]["rank"].to_numpy()[codes] if ranked else 0
                cells.append(PublishedColumn(column, codes, maps[column]["label"].combine_chunks(), ranked))
            else:
                cells.append(PublishedColumn(column, codes, own, own=values[column][2]))
        found = repeat_entries(engine, table, cells, key, frequencies.count[chosen])
        if found is not None:
            return found
    suppressed = None
    if len(out):
        codes, sizes = recode_codes(frequencies.codes[out], ladders, recoding.levels)
        number, _ = group_keys(codes, sizes)
        _, first = np.unique(number, return_index=True)
        suppressed = pa.table(
            {f"c{position}": by_code.take(pa.array(codes[first, j]))
             for j, (position, by_code) in enumerate(published) if by_code is not None}
        )  # fmt: skip
    return engine.recode_by_level(table, positions, maps, constants, suppressed)


def _label_positions(
    dictionary: Dictionary, by_value: npt.NDArray[np.int32], released: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Return the rank of each value's label by the released values below it.

    ``released`` are the released codes. Suppressed values must not influence the order of rows: neither as the first
    value under a label, nor as the only value of a column that is not a number.
    """
    import pyarrow as pa

    present = np.unique(released[(released >= 0) & (released < len(dictionary.text))])
    present = present[sort_values(dictionary.values.take(pa.array(present)))[2]]
    first = np.full(int(by_value.max(initial=0)) + 1, len(dictionary.text), np.int64)
    np.minimum.at(first, by_value[present], np.arange(len(present)))
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return rank[by_value]


def _counted(
    table: Relation, positions: Sequence[int], unpublished: Sequence[int], frequencies: FrequencySet
) -> Counted | None:
    """Return codes and values of each column, or None if they do not suffice.

    For each column: the code of each combination, its values by code, and whether the values are published as they are.

    A column that is not counted, or whose equal values are written differently, has more information than its
    combinations. The order of rows must not depend on their people. It does not if the column of people is
    ``unpublished``: the rows that it orders are then equal.
    """
    found: Counted = {
        d.position: (frequencies.codes[:, j], _with_missing(d), True)
        for j, d in enumerate(frequencies.quasi)
        if table.types[d.position] in EXACT_TYPES + FLOAT_TYPES
    }
    for part, domain in zip(frequencies.spellings, frequencies.domains, strict=True):
        position = part.written.position
        if (domain.people is None or position in unpublished) and table.types[position] in EXACT_TYPES:
            found[position] = (part.codes, _with_missing(part.written), position not in unpublished)
    return {position: found[position] for position in positions} if set(positions) <= set(found) else None


def _with_missing(dictionary: Dictionary) -> pa.Array:
    """Return the values by code, followed by missing if there is any."""
    import pyarrow as pa

    return pa.concat_arrays([dictionary.values, pa.nulls(int(dictionary.missing), dictionary.values.type)])


def _apply_groups(
    engine: Engine,
    table: Relation,
    positions: tuple[int, ...],
    frequencies: FrequencySet,
    recoding: ByGroup,
    values: Counted | None,
) -> Relation:
    import pyarrow as pa

    row, group, count = recoding.row, recoding.group, recoding.count
    rank = _ranks(recoding.labels)
    published = {
        dictionary.position: labels if isinstance(labels, pa.Array) else pa.array(labels, pa.string())
        for dictionary, labels in zip(frequencies.quasi, recoding.labels, strict=True)
    }
    if values is not None:
        columns_of_entries = [
            PublishedColumn(position, group, published[position], ranked=True)
            if position in published
            else PublishedColumn(position, values[position][0][row], values[position][1], own=values[position][2])
            for position in positions
        ]
        found = repeat_entries(engine, table, columns_of_entries, rank[group], count)
        if found is not None:
            return found
    columns = [(d, frequencies.codes[row, j]) for j, d in enumerate(frequencies.quasi)]
    whole, combinations = group_keys(frequencies.codes, [d.size for d in frequencies.quasi])
    assigned = unique_pairs(whole[row], group)[0]
    data: dict[str, object] = {}
    nothing_suppressed = len(row) == len(frequencies.count) and bool((count == frequencies.count[row]).all())
    if nothing_suppressed and len(assigned) == combinations:
        # rows with equal quasi-identifiers share a group, so the sensitive values are not needed
        first = np.unique(whole[row], return_index=True)[1]
        columns = [(d, codes[first]) for d, codes in columns]
        data["g"] = pa.array(group[first])
    else:
        columns += [(part.written, part.codes[row]) for part in frequencies.spellings]
        data["g"] = pa.array(group)
        is_first = np.r_[True, row[1:] != row[:-1]] if len(row) else np.zeros(0, np.bool_)
        if not (bool(is_first.all()) and bool((count == frequencies.count[row]).all())):
            high = np.cumsum(count)
            before = np.r_[0, high[:-1]]
            base = before[is_first][np.cumsum(is_first) - 1]
            data["low"], data["high"] = pa.array(before - base), pa.array(high - base)
    for dictionary, codes in columns:
        by_code = pa.concat_arrays([dictionary.values, pa.nulls(1, dictionary.values.type)])
        data[f"c{dictionary.position}"] = by_code.take(pa.array(codes))
    labels = {"g": pa.array(np.arange(len(recoding.height), dtype=np.int64)), "rank": pa.array(rank)}
    labels |= {f"c{position}": column for position, column in published.items()}
    return engine.recode_by_group(table, positions, pa.table(data), pa.table(labels))


def _ranks(labels: Sequence[Sequence[str | None] | pa.Array]) -> npt.NDArray[np.int64]:
    """Return numbers that order groups by their labels, column by column.

    Missing comes first; groups with the same labels have the same number.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = []
    sizes = []
    for labelled in labels:
        column = labelled if isinstance(labelled, pa.Array) else pa.array(labelled, pa.string())
        if pa.types.is_string(column.type):  # bytes of UTF-8 are ordered as code points are
            found = column.dictionary_encode()
            order = np.asarray(pc.array_sort_indices(found.dictionary))
            rank = np.zeros(len(order) + 1, np.int32)
            rank[order] = np.arange(1, len(order) + 1)
            codes.append(rank[np.asarray(found.indices.fill_null(len(order)))])
            sizes.append(len(order) + 1)
            continue
        published: list[Any] = column.to_pylist()
        index = {
            label: code for code, label in enumerate(sorted({label for label in published if label is not None}), 1)
        }
        codes.append(np.asarray([0 if label is None else index[label] for label in published], np.int32))
        sizes.append(len(index) + 1)
    return row_keys(np.stack(codes, axis=1), sizes)[0]
