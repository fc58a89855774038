"""What a method decided: which rows form a group, and what the group publishes.

Two forms. :class:`ByLevel` is global: one level of the hierarchy per column. :class:`ByGroup` is local: a
partition of the combinations, of which each group publishes labels of its own. Both can leave rows out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.io.engines.base import Engine, Relation, Source
from shoal.schema import Ladder
from shoal.table.expand_counts import EXACT, FLOATING, Constant, Shown, repeat_entries
from shoal.table.frequency_set import Dictionary, FrequencySet, sort_values
from shoal.table.groups import LARGEST_KEY, group_keys, row_keys, unique_pairs
from shoal.table.method_facts import MethodFacts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "ByCell",
    "ByGroup",
    "ByLevel",
    "ByPattern",
    "Recoding",
    "apply",
    "kept_combinations",
    "recode_codes",
    "released_ladders",
]


@dataclass(frozen=True)
class ByLevel:
    """One level per quasi-identifier.

    Attributes
    ----------
    levels
        int (q,): the level of each quasi-identifier.
    group
        int64 (n,): group of each combination of the frequency set, -1 where it is suppressed.
    facts
        What the method wants to tell about its work, for the certificate.
    """

    levels: tuple[int, ...]
    group: npt.NDArray[np.int64]
    facts: MethodFacts = MethodFacts()  # noqa: RUF009 - frozen


@dataclass(frozen=True)
class ByGroup:
    """A partition with labels.

    Of combination ``row[i]``, ``count[i]`` rows go to group ``group[i]``; rows that go nowhere are
    suppressed. Entries of one combination stand together. ``labels[j][g]`` is what group g publishes in
    quasi-identifier j (``None``: missing), as text or as an Arrow array of the column's own type; ``height[g, j]``
    and ``share[g, j]`` are how far up its hierarchy that is, as part of the height, and which part of the domain it
    covers. ``loss`` has the measures of loss that only the method knows.
    """

    row: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]
    labels: tuple[Sequence[str | None] | pa.Array, ...]
    height: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]
    facts: MethodFacts = MethodFacts()  # noqa: RUF009 - frozen
    loss: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ByPattern(ByGroup):
    """Patterns in place of rows: what is published is ``table``, one row per pattern with its support.

    The table has the user's column names, the sensitive columns, and a column named ``support``: how many rows fit the
    pattern. Patterns may overlap. The partition that is inherited gives each row one of its patterns; it is not
    published and serves to measure what was lost. ``levels`` are those at which the patterns show their columns.
    """

    table: pa.Table
    support: str
    levels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ByCell(ByGroup):
    """One level per quasi-identifier, above which single cells are hidden: groups are what shows the same.

    ``levels`` are those of the cells that are shown, ``ladders`` the hierarchies with labels made from these alone.
    """

    levels: tuple[int, ...]
    ladders: tuple[Ladder, ...]


Recoding = ByLevel | ByGroup
Counted = dict[int, tuple[npt.NDArray[np.int32], "pa.Array", bool]]


def recode_codes(
    codes: npt.NDArray[np.int32], ladders: Sequence[Ladder], levels: Sequence[int]
) -> tuple[npt.NDArray[np.int32], list[int]]:
    """Codes (n, q) of level 0 lifted to some levels, and how many codes each column has there."""
    lifted = [ladder.codes[level][codes[:, j]] for j, (ladder, level) in enumerate(zip(ladders, levels, strict=True))]
    sizes = [ladder.size(level) for ladder, level in zip(ladders, levels, strict=True)]
    return (np.stack(lifted, axis=1) if lifted else np.zeros((len(codes), 0), np.int32)), sizes


def released_ladders(
    frequencies: FrequencySet, ladders: Sequence[Ladder], kept: npt.NDArray[np.int64]
) -> tuple[Ladder, ...]:
    """The hierarchies with labels that are made from the combinations ``kept`` alone."""
    told = []
    for j, ladder in enumerate(ladders):
        present = np.zeros(len(ladder.codes[0]), np.bool_)
        present[frequencies.codes[kept, j]] = True
        told.append(ladder.released(present))
    return tuple(told)


def kept_combinations(recoding: Recoding) -> npt.NDArray[np.int64]:
    """The combinations of which a recoding releases rows."""
    return np.flatnonzero(recoding.group >= 0 if isinstance(recoding, ByLevel) else np.bincount(recoding.row))


def apply(
    engine: Engine,
    table: Relation,
    keep: tuple[str, ...],
    frequencies: FrequencySet,
    ladders: tuple[Ladder, ...],
    recoding: Recoding,
    beside: tuple[str, ...] = (),
) -> Relation:
    """Let the engine recode the rows; ``keep`` names the columns that are published, in their order.

    ``ladders`` are those of :func:`released_ladders`. Columns ``beside`` these come after them and are not published:
    whose rows they are, for verification.
    """
    if isinstance(recoding, ByPattern):
        return engine.read(Source(frame=recoding.table))
    places = table.places((*keep, *beside))
    values = _counted(table, places, table.places(beside), frequencies)
    if isinstance(recoding, ByLevel):
        return _apply_levels(engine, table, places, frequencies, ladders, recoding, values)
    return _apply_groups(engine, table, places, frequencies, recoding, values)


def _apply_levels(
    engine: Engine,
    table: Relation,
    places: tuple[int, ...],
    frequencies: FrequencySet,
    ladders: tuple[Ladder, ...],
    recoding: ByLevel,
    values: Counted | None,
) -> Relation:
    import pyarrow as pa

    mapped = []  # (column, label of each value, labels): as code of the label
    constants = {}
    shown: list[
        tuple[int, pa.Array | None]
    ] = []  # what each column publishes by code; None where it is the same for all
    for dictionary, ladder, level in zip(frequencies.quasi, ladders, recoding.levels, strict=True):
        labels = ladder.labels[level]
        if level == ladder.height and level > 0 and labels[0] is not None:
            constants[dictionary.place] = labels[0]
            shown.append((dictionary.place, None))
        elif level == 0 and not pa.types.is_string(dictionary.values.type):
            shown.append((dictionary.place, _with_missing(dictionary)))
        else:
            mapped.append((dictionary, ladder.codes[level], labels))
            shown.append((dictionary.place, pa.array(labels, pa.string())))
    for dictionary, domain in zip((part.written for part in frequencies.spellings), frequencies.domains, strict=True):
        # whose rows they are must not be heard in their order
        if dictionary.place in places and domain.people is None and pa.types.is_string(dictionary.values.type):
            labels = (*dictionary.text, None) if dictionary.missing else dictionary.text
            mapped.append((dictionary, np.arange(len(labels), dtype=np.int32), labels))
    out = np.flatnonzero(recoding.group < 0)
    kept = np.flatnonzero(recoding.group >= 0) if len(out) else None
    by_column = {d.place: frequencies.codes[:, j] for j, d in enumerate(frequencies.quasi)}
    by_column |= {d.place: frequencies.secrets[:, s] for s, d in enumerate(frequencies.sensitive)}
    maps = {}
    span = 1  # what the ranks of the columns after this one add up to
    for dictionary, by_value, labels in reversed(mapped):
        columns = {
            "v": _with_missing(dictionary),
            "label": pa.array([labels[code] for code in by_value], pa.string()),
        }
        if span * len(labels) < LARGEST_KEY:
            place = by_value if kept is None else _places(dictionary, by_value, by_column[dictionary.place][kept])
            # the missing label has the last code; in a table it comes first
            place = (place + 1) % len(labels) if labels[-1] is None else place
            columns["rank"] = pa.array(place.astype(np.int64) * span)
            span *= len(labels)
        maps[dictionary.place] = pa.table(columns)
    if values is not None:
        chosen = np.arange(len(frequencies.count)) if kept is None else kept
        key = np.zeros(len(chosen), np.int64)
        cells: list[Shown | Constant] = []
        for column in places:
            codes, own = values[column][0][chosen], values[column][1]
            if column in constants:
                cells.append(Constant(column, constants[column]))
            elif column in maps:
                ranked = "rank" in maps[column].column_names
                key += maps[column]["rank"].to_numpy()[codes] if ranked else 0
                cells.append(Shown(column, codes, maps[column]["label"].combine_chunks(), ranked))
            else:
                cells.append(Shown(column, codes, own, own=values[column][2]))
        found = repeat_entries(engine, table, cells, key, frequencies.count[chosen])
        if found is not None:
            return found
    suppressed = None
    if len(out):
        codes, sizes = recode_codes(frequencies.codes[out], ladders, recoding.levels)
        number, _ = group_keys(codes, sizes)
        _, first = np.unique(number, return_index=True)
        suppressed = pa.table(
            {f"c{place}": by_code.take(pa.array(codes[first, j]))
             for j, (place, by_code) in enumerate(shown) if by_code is not None}
        )  # fmt: skip
    return engine.recode_by_level(table, places, maps, constants, suppressed)


def _places(
    dictionary: Dictionary, by_value: npt.NDArray[np.int32], kept: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The place of each value's label where labels are ordered by the released values beneath them, ``kept``.

    Those that are left out must not be heard in the order of rows: neither by standing first under a label, nor by
    being the one value of a column that is no number.
    """
    import pyarrow as pa

    present = np.unique(kept[(kept >= 0) & (kept < len(dictionary.text))])
    present = present[sort_values(dictionary.values.take(pa.array(present)))[2]]
    first = np.full(int(by_value.max(initial=0)) + 1, len(dictionary.text), np.int64)
    np.minimum.at(first, by_value[present], np.arange(len(present)))
    place = np.empty(len(first), np.int32)
    place[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return place[by_value]


def _counted(
    table: Relation, places: Sequence[int], beside: Sequence[int], frequencies: FrequencySet
) -> Counted | None:
    """Of each column its values by code, the code of each combination, and whether the values are published as they
    are; None where that is not all.

    A column that is not counted, or of which equal values are written differently, has more to say than its
    combinations. Whose rows they are is not to be heard in their order, and it is not where it stands beside what is
    published: rows that it orders are alike then.
    """
    found: Counted = {
        d.place: (frequencies.codes[:, j], _with_missing(d), True)
        for j, d in enumerate(frequencies.quasi)
        if table.types[d.place] in EXACT + FLOATING
    }
    for part, domain in zip(frequencies.spellings, frequencies.domains, strict=True):
        place = part.written.place
        if (domain.people is None or place in beside) and table.types[place] in EXACT:
            found[place] = (part.codes, _with_missing(part.written), place not in beside)
    return {place: found[place] for place in places} if set(places) <= set(found) else None


def _with_missing(dictionary: Dictionary) -> pa.Array:
    """The values by code, the missing one last where there is one."""
    import pyarrow as pa

    return pa.concat_arrays([dictionary.values, pa.nulls(int(dictionary.missing), dictionary.values.type)])


def _apply_groups(
    engine: Engine,
    table: Relation,
    places: tuple[int, ...],
    frequencies: FrequencySet,
    recoding: ByGroup,
    values: Counted | None,
) -> Relation:
    import pyarrow as pa

    row, group, count = recoding.row, recoding.group, recoding.count
    rank = _ranks(recoding.labels)
    published = {
        dictionary.place: labels if isinstance(labels, pa.Array) else pa.array(labels, pa.string())
        for dictionary, labels in zip(frequencies.quasi, recoding.labels, strict=True)
    }
    if values is not None:
        shown = [
            Shown(place, group, published[place], ranked=True)
            if place in published
            else Shown(place, values[place][0][row], values[place][1], own=values[place][2])
            for place in places
        ]
        found = repeat_entries(engine, table, shown, rank[group], count)
        if found is not None:
            return found
    columns = [(d, frequencies.codes[row, j]) for j, d in enumerate(frequencies.quasi)]
    whole, combinations = group_keys(frequencies.codes, [d.size for d in frequencies.quasi])
    homes = unique_pairs(whole[row], group)[0]
    data: dict[str, object] = {}
    every = len(row) == len(frequencies.count) and bool((count == frequencies.count[row]).all())
    if every and len(homes) == combinations:
        # rows alike in all quasi-identifiers share a group, so the sensitive values need not be looked at
        first = np.unique(whole[row], return_index=True)[1]
        columns = [(d, codes[first]) for d, codes in columns]
        data["g"] = pa.array(group[first])
    else:
        columns += [(part.written, part.codes[row]) for part in frequencies.spellings]
        data["g"] = pa.array(group)
        new = np.r_[True, row[1:] != row[:-1]] if len(row) else np.zeros(0, np.bool_)
        if not (bool(new.all()) and bool((count == frequencies.count[row]).all())):
            high = np.cumsum(count)
            before = np.r_[0, high[:-1]]
            base = before[new][np.cumsum(new) - 1]
            data["low"], data["high"] = pa.array(before - base), pa.array(high - base)
    for dictionary, codes in columns:
        by_code = pa.concat_arrays([dictionary.values, pa.nulls(1, dictionary.values.type)])
        data[f"c{dictionary.place}"] = by_code.take(pa.array(codes))
    labels = {"g": pa.array(np.arange(len(recoding.height), dtype=np.int64)), "rank": pa.array(rank)}
    labels |= {f"c{place}": column for place, column in published.items()}
    return engine.recode_by_group(table, places, pa.table(data), pa.table(labels))


def _ranks(labels: Sequence[Sequence[str | None] | pa.Array]) -> npt.NDArray[np.int64]:
    """Numbers that order groups by what they show, column by column, missing first; groups that show the same tie."""
    import pyarrow as pa
    import pyarrow.compute as pc

    codes = []
    sizes = []
    for labelled in labels:
        column = labelled if isinstance(labelled, pa.Array) else pa.array(labelled, pa.string())
        if pa.types.is_string(column.type):  # bytes of UTF-8 are ordered as code points are
            found = column.dictionary_encode()
            order = np.asarray(pc.array_sort_indices(found.dictionary))
            place = np.zeros(len(order) + 1, np.int32)
            place[order] = np.arange(1, len(order) + 1)
            codes.append(place[np.asarray(found.indices.fill_null(len(order)))])
            sizes.append(len(order) + 1)
            continue
        published: list[Any] = column.to_pylist()
        index = {
            label: code for code, label in enumerate(sorted({label for label in published if label is not None}), 1)
        }
        codes.append(np.asarray([0 if label is None else index[label] for label in published], np.int32))
        sizes.append(len(index) + 1)
    return row_keys(np.stack(codes, axis=1), sizes)[0]
