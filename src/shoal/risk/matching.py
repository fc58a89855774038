"""Who may be whom: which groups of a release cover which people of another table.

A group covers a person if, in every shared quasi-identifier, its label covers the person's value
(:mod:`shoal.utility.labels`). Where groups overlap, as in Table 2 of the papers (142** and 1424*), a person is covered
by several. Two readings follow. *Every* covering row may be the person's: what is certain then is certain. The papers'
own reading is the *closest*: a covering group is put aside if another covering group lies within it in every column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError
from shoal.io.engines.base import require_columns
from shoal.schema import Schema
from shoal.table import Groups, read_frequency_set
from shoal.table.groups import group_keys
from shoal.utility.coded_tables import CodedColumn, Tables
from shoal.utility.labels import Labels, read_labels

__all__ = ["Matches", "PublishedGroups", "match_people", "read_groups"]

CHUNK_BITS = 1 << 27
MOST_GROUPS = 1 << 16
"""Beyond so many groups overlaps are not looked for: every covering group counts as closest."""


@dataclass(frozen=True)
class PublishedGroups:
    """The groups of a released table and what they show.

    Attributes
    ----------
    names
        The quasi-identifiers.
    labels
        ``labels[j]``: the distinct labels of column j (None: missing).
    codes
        int32 (g, q): which label each group shows.
    groups
        Sizes and histograms of sensitive values.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str | None, ...], ...]
    codes: npt.NDArray[np.int32]
    groups: Groups


def read_groups(tables: Tables, data: Any, schema: Schema) -> PublishedGroups:
    """Group a released table by what it shows. Costs one aggregation."""
    if not schema.quasi_identifiers:
        raise PlanError("At least one quasi-identifier is needed: without one, all rows are one group.")
    table = tables.read(data)
    require_columns(table, (*schema.quasi_identifiers, *schema.sensitive), "released table")
    frequencies = read_frequency_set(tables.engine, table, schema)
    sizes = [dictionary.size for dictionary in frequencies.quasi]
    number, groups = frequencies.group(frequencies.codes, sizes)
    first = np.unique(number, return_index=True)[1]
    labels = tuple((*dictionary.text, *((None,) if dictionary.missing else ())) for dictionary in frequencies.quasi)
    return PublishedGroups(schema.quasi_identifiers, labels, frequencies.codes[first], groups)


@dataclass(frozen=True)
class Matches:
    """The groups that cover each distinct kind of person.

    Attributes
    ----------
    kind
        int64 (people,): the kind of each person; people of one kind have the same values.
    start
        int64 (kinds + 1,): the entries of kind i are ``start[i]:start[i + 1]``.
    group
        int64 (entries,): a covering group.
    closest
        bool (entries,): whether no other covering group of the kind lies within it.
    """

    kind: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]
    closest: npt.NDArray[np.bool_]

    @property
    def owner(self) -> npt.NDArray[np.int64]:
        """The kind of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def match_people(published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema) -> Matches:
    """Match people, given by some or all of the quasi-identifiers, with the groups that cover them.

    Cost: for each kind of person one bit per group and column, and for each match one bit per group.
    """
    columns = [published.names.index(column.name) for column in people]
    if not columns:
        raise PlanError(
            f"The tables must share at least one quasi-identifier to be linked; quasi-identifiers are "
            f"{', '.join(map(repr, published.names))}."
        )
    codes = np.stack([column.code for column in people], axis=1)
    kind, _ = group_keys(codes, [len(column.values) for column in people])
    distinct = codes[np.unique(kind, return_index=True)[1]]
    groups = len(published.codes)
    read = [
        read_labels(published.labels[place], column.values, schema.columns[column.name].hierarchy, column.name)
        for column, place in zip(people, columns, strict=True)
    ]
    shown = [published.codes[:, place] for place in columns]
    covering = [_covering_groups(one, code) for one, code in zip(read, shown, strict=True)]
    within = _within(read, shown)
    starts, found, closest = [0], [], []
    for bits in _chunks(distinct, covering, groups):
        row, group = np.nonzero(np.unpackbits(bits, axis=1, count=groups))
        found.append(group)
        closest.append(_no_closer(row, group, bits, within))
        starts += (np.cumsum(np.bincount(row, minlength=len(bits))) + starts[-1]).tolist()
    return Matches(kind, np.asarray(starts, np.int64), np.concatenate(found).astype(np.int64), np.concatenate(closest))


def _covering_groups(read: Labels, shown: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """Bits (values, g / 8): the groups whose label covers each value."""
    by_label = read.bits()
    step = max(1, CHUNK_BITS // 8 // max(len(shown), len(read.labels)))
    parts = [
        np.packbits(np.unpackbits(by_label[low : low + step], axis=1)[:, shown], axis=1)
        for low in range(0, len(by_label), step)
    ]
    return np.concatenate(parts)


def _within(read: list[Labels], shown: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.uint8] | None:
    """Bits (g, g / 8): row g marks the groups that lie within it in every column, and not it within them.

    None where no label lies within another, so that no group can, and where there are too many groups to tell.
    """
    groups = len(shown[0])
    if groups > MOST_GROUPS or not any(one.overlap for one in read):
        return None
    nested = [one.within if one.overlap else np.eye(len(one.labels), dtype=np.bool_) for one in read]
    inner = np.full((groups, -(-groups // 8)), 255, np.uint8)  # bit [g, h]: h lies within g
    outer = inner.copy()
    for one, code in zip(nested, shown, strict=True):
        inner &= _packed(one.T, code)[code]
        outer &= _packed(one, code)[code]
    return np.asarray(inner & ~outer, np.uint8)


def _packed(related: npt.NDArray[np.bool_], code: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """Bits (labels, g / 8): which groups show a label that is so related to each; bits past the last group are 0."""
    step = max(1, CHUNK_BITS // 8 // len(code))
    return np.concatenate(
        [np.packbits(related[low : low + step][:, code], axis=1) for low in range(0, len(related), step)]
    )


def _chunks(
    distinct: npt.NDArray[np.int32], covering: list[npt.NDArray[np.uint8]], groups: int
) -> Iterator[npt.NDArray[np.uint8]]:
    """For each part of the kinds: the bits (kinds, g / 8) of the groups that cover them in every column."""
    step = max(1, CHUNK_BITS // max(groups, 1))
    for low in range(0, len(distinct), step):
        part = distinct[low : low + step]
        bits = covering[0][part[:, 0]]
        for j in range(1, len(covering)):
            bits = bits & covering[j][part[:, j]]
        yield bits


def _no_closer(
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    bits: npt.NDArray[np.uint8],
    within: npt.NDArray[np.uint8] | None,
) -> npt.NDArray[np.bool_]:
    """For each match: whether none of the groups within it covers the same person."""
    answer = np.ones(len(row), np.bool_)
    if within is None:
        return answer
    several = np.bincount(row, minlength=len(bits))[row] > 1
    where = np.flatnonzero(several & np.asarray(within.any(axis=1))[group])
    step = max(1, CHUNK_BITS // 8 // max(bits.shape[1], 1))
    for low in range(0, len(where), step):
        part = where[low : low + step]
        answer[part] = ~(bits[row[part]] & within[group[part]]).any(axis=1)
    return answer
