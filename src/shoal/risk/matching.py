"""Match the people of a table with the released groups that cover them.

A group covers a person if, in every shared quasi-identifier, its label covers the person's value
(:mod:`shoal.utility.labels`). Where groups overlap, as in Table 2 of the papers (142** and 1424*), several groups cover
a person. There are two readings. If *every* covering row may be the person's, conclusions are certain. The papers read
the *closest* group: a covering group is discarded if another covering group lies within it in every column.
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
from shoal.utility.coded_tables import CodedColumn, TableReader
from shoal.utility.labels import Labels, read_labels

CHUNK_BITS = 1 << 27
MAX_GROUPS_FOR_NESTING = 1 << 16
"""Number of groups beyond which nesting is not examined: every covering group counts as closest."""


@dataclass(frozen=True)
class PublishedGroups:
    """Groups of a released table and their labels.

    Attributes
    ----------
    names
        The quasi-identifiers.
    labels
        ``labels[j]``: the distinct labels of column j (None: missing).
    codes
        int32 (g, q): the code of the label that each group shows.
    groups
        Sizes and histograms of sensitive values.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str | None, ...], ...]
    codes: npt.NDArray[np.int32]
    groups: Groups


def read_groups(tables: TableReader, data: Any, schema: Schema) -> PublishedGroups:
    """Group a released table by quasi-identifiers, with one aggregation."""
    if not schema.quasi_identifiers:
        raise PlanError("columns.no-quasi-identifier")
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
    """Groups that cover each distinct kind of person.

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
        """Kind of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def match_people(published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema) -> Matches:
    """Match people, given by quasi-identifiers, with their covering groups.

    The people have some or all of the quasi-identifiers. Cost: for each kind of person one bit per group and column,
    and for each match one bit per group.
    """
    columns = [published.names.index(column.name) for column in people]
    if not columns:
        raise PlanError("attack.no-shared-quasi-identifier", quasi_identifiers=", ".join(map(repr, published.names)))
    codes = np.stack([column.code for column in people], axis=1)
    kind, _ = group_keys(codes, [len(column.values) for column in people])
    distinct = codes[np.unique(kind, return_index=True)[1]]
    groups = len(published.codes)
    read = [
        read_labels(published.labels[position], column.values, schema.columns[column.name].hierarchy, column.name)
        for column, position in zip(people, columns, strict=True)
    ]
    group_labels = [published.codes[:, position] for position in columns]
    covering = [_covering_groups(one, code) for one, code in zip(read, group_labels, strict=True)]
    within = _within(read, group_labels)
    starts, found, closest = [0], [], []
    for bits in _chunks(distinct, covering, groups):
        row, group = np.nonzero(np.unpackbits(bits, axis=1, count=groups))
        found.append(group)
        closest.append(_is_closest(row, group, bits, within))
        starts += (np.cumsum(np.bincount(row, minlength=len(bits))) + starts[-1]).tolist()
    return Matches(kind, np.asarray(starts, np.int64), np.concatenate(found).astype(np.int64), np.concatenate(closest))


def _covering_groups(read: Labels, group_labels: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """Return bits (values, g / 8): the groups that cover each value."""
    by_label = read.bits()
    step = max(1, CHUNK_BITS // 8 // max(len(group_labels), len(read.labels)))
    parts = [
        np.packbits(np.unpackbits(by_label[low : low + step], axis=1)[:, group_labels], axis=1)
        for low in range(0, len(by_label), step)
    ]
    return np.concatenate(parts)


def _within(read: list[Labels], group_labels: list[npt.NDArray[np.int32]]) -> npt.NDArray[np.uint8] | None:
    """Return bits (g, g / 8): the groups strictly within each group.

    A group is strictly within another if it lies within it in every column, and not the other within it. None where no
    label lies within another, so that no group can, and where there are too many groups to examine.
    """
    groups = len(group_labels[0])
    if groups > MAX_GROUPS_FOR_NESTING or not any(one.overlap for one in read):
        return None
    nested = [one.within if one.overlap else np.eye(len(one.labels), dtype=np.bool_) for one in read]
    inner = np.full((groups, -(-groups // 8)), 255, np.uint8)  # bit [g, h]: h lies within g
    outer = inner.copy()
    for one, code in zip(nested, group_labels, strict=True):
        inner &= _packed(one.T, code)[code]
        outer &= _packed(one, code)[code]
    return np.asarray(inner & ~outer, np.uint8)


def _packed(related: npt.NDArray[np.bool_], code: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """Return bits (labels, g / 8): the groups with a label related to each.

    Bits past the last group are 0.
    """
    step = max(1, CHUNK_BITS // 8 // len(code))
    return np.concatenate(
        [np.packbits(related[low : low + step][:, code], axis=1) for low in range(0, len(related), step)]
    )


def _chunks(
    distinct: npt.NDArray[np.int32], covering: list[npt.NDArray[np.uint8]], groups: int
) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield bits (kinds, g / 8): the groups that cover a part of the kinds."""
    step = max(1, CHUNK_BITS // max(groups, 1))
    for low in range(0, len(distinct), step):
        part = distinct[low : low + step]
        bits = covering[0][part[:, 0]]
        for j in range(1, len(covering)):
            bits = bits & covering[j][part[:, j]]
        yield bits


def _is_closest(
    row: npt.NDArray[np.int64],
    group: npt.NDArray[np.int64],
    bits: npt.NDArray[np.uint8],
    within: npt.NDArray[np.uint8] | None,
) -> npt.NDArray[np.bool_]:
    """Return for each match whether no group within it covers the same person."""
    result = np.ones(len(row), np.bool_)
    if within is None:
        return result
    several = np.bincount(row, minlength=len(bits))[row] > 1
    where = np.flatnonzero(several & np.asarray(within.any(axis=1))[group])
    step = max(1, CHUNK_BITS // 8 // max(bits.shape[1], 1))
    for low in range(0, len(where), step):
        part = where[low : low + step]
        result[part] = ~(bits[row[part]] & within[group[part]]).any(axis=1)
    return result
