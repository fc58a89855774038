"""Audits of the making of a release, as attacks.

The audits are locality, declared grid, extreme values, and intersection of two releases. They are implemented in
:mod:`shoal.risk.release_audits`; here they are applied to tables, including the original. The group of a person in a
release is the closest one that covers him or her; people whom several groups cover, or none, are left out and counted.

Sources: Zhao, Shang and Liu, "Secure k-anonymization linked with differential identifiability", sections 3.1 and 3.4;
Gehrke, Hay, Lui and Pass, "Crowd-blending privacy", 2012; Ganta, Kasiviswanathan and Smith, "Composition attacks and
auxiliary information", KDD 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import HierarchyError
from shoal.risk.attacks import AttackResult
from shoal.risk.matching import Matches, PublishedGroups, match_people
from shoal.risk.release_audits import extreme_values, intersection, locality
from shoal.schema import TOP, Schema
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.labels import parse_number, read_label


def group_of_people(
    published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema, matches: Matches | None = None
) -> npt.NDArray[np.int64]:
    """Return the unique closest group of each person, int64 (people,).

    It is -1 where no group or several groups cover the person. ``matches`` avoids matching the people again, here and
    in the audits.
    """
    matches = match_people(published, people, schema) if matches is None else matches
    owner = matches.owner[matches.closest]
    kinds = len(matches.start) - 1
    number = np.bincount(owner, minlength=kinds)
    group = np.full(kinds, -1, np.int64)
    group[owner] = matches.group[matches.closest]
    group[number != 1] = -1
    return group[matches.kind]


def audit_grid(published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema) -> AttackResult:
    """Count rows that publish a label which the hierarchy does not declare.

    The hierarchy is bound to the values of the original. A label that is not declared was made from the data, and its
    ends are values of individuals.
    """
    off = np.zeros(published.groups.count, np.bool_)
    examined = 0
    for column in people:
        strange = _undeclared(published, column, schema)
        if strange is not None:
            examined += 1
            off |= strange[published.codes[:, published.names.index(column.name)]]
    return AttackResult(
        "declared grid",
        "values made from the data",
        None,
        published.groups.rows,
        int(published.groups.size[off].sum()),
        0.0,
        {"columns_examined": examined, "groups": int(off.sum())},
    )


def _undeclared(published: PublishedGroups, column: CodedColumn, schema: Schema) -> npt.NDArray[np.bool_] | None:
    """Return which labels of a column its hierarchy does not declare.

    bool (labels,); None where the hierarchy does not fit the column.
    """
    known = [value for value in column.values if value is not None]
    try:
        ladder = schema.ladder(column.name, known, len(known) < len(column.values))
    except HierarchyError:
        return None
    declared: set[object] = {TOP, *(label for labels in ladder.labels for label in labels)}
    labels = published.labels[published.names.index(column.name)]
    # by label, unlike the audit of one column: a row counts once over all its columns here
    return np.asarray([label not in declared for label in labels], np.bool_)


def audit_extremes(
    published: PublishedGroups,
    people: Sequence[CodedColumn],
    schema: Schema,
    k: int,
    matches: Matches | None = None,
) -> AttackResult:
    """Count people in groups with an interval end of fewer than k rows.

    Only intervals that the hierarchy does not declare are examined: the ends of declared ones are not made from the
    data.
    """
    group = group_of_people(published, people, schema, matches)
    sure = np.flatnonzero(group >= 0)
    sure = sure[np.argsort(group[sure], kind="stable")]
    begin = np.searchsorted(group[sure], np.arange(published.groups.count + 1))
    flagged = np.zeros(published.groups.count, np.bool_)
    columns = 0
    for column in people:
        position = published.names.index(column.name)
        strange = _undeclared(published, column, schema)
        ends = [_ends(label) for label in published.labels[position]]
        wanted = [end is not None and (strange is None or bool(strange[j])) for j, end in enumerate(ends)]
        columns += any(wanted)
        numbers = np.asarray([np.nan if value is None else parse_number(value) for value in column.values], np.float64)
        for one in np.flatnonzero(np.asarray(wanted, np.bool_)[published.codes[:, position]] & ~flagged):
            end = ends[published.codes[one, position]]
            members = numbers[column.code[sure[begin[one] : begin[one + 1]]]]
            if end is None or not len(members):
                continue
            low, high = (np.full(len(members), side) for side in end)
            flagged[one] = not extreme_values(members, low, high, np.zeros(len(members), np.int64), k).holds
    return AttackResult(
        "extreme values",
        f"an interval's end that fewer than {k} rows have",
        None,
        len(sure),
        int(published.groups.size[flagged].sum()),
        0.0,
        {"columns_with_intervals": columns, "groups": int(flagged.sum()), "left_out": len(group) - len(sure)},
    )


def _ends(label: str | None) -> tuple[float, float] | None:
    if label is None:
        return None
    region = read_label(label)
    if region.low is None or region.high is None or region.low == region.high:
        return None
    return region.low, region.high


def audit_intersection(
    published: PublishedGroups,
    other: PublishedGroups,
    people: Sequence[CodedColumn],
    schema: Schema,
    k: int,
    matches: Matches | None = None,
) -> AttackResult:
    """Count people in a crowd of fewer than k in the intersection of releases.

    Both releases are of the same rows.
    """
    one, two = group_of_people(published, people, schema, matches), group_of_people(other, people, schema)
    sure = (one >= 0) & (two >= 0)
    crowds = intersection(one[sure], two[sure])
    alone = published.groups.size[one[sure]] < k
    return AttackResult(
        "intersection",
        f"a crowd of fewer than {k}",
        None,
        int(sure.sum()),
        int((crowds.sizes < k).sum()),
        float(alone.sum()),
        {"smallest_crowd": crowds.smallest, "left_out": int((~sure).sum())},
    )


def audit_locality(
    original: Any, schema: Schema, anonymize: Callable[[Any], Any], seed: int = 0, runs: int = 3
) -> AttackResult:
    """Rerun a method on parts of the original, and count dependent rows.

    A row is dependent if its published values change with the other rows of the part.

    Parameters
    ----------
    original
        A PyArrow table.
    anonymize
        Anonymizes a table that has a further column, to be published unchanged, which is named by
        :func:`row_column`; returns a PyArrow table.
    """
    import pyarrow as pa

    from shoal.errors import InfeasibleError

    marker = row_column(original.column_names)
    names = [name for name in original.column_names if name in schema.quasi_identifiers]

    def publish(chosen: npt.NDArray[np.int64]) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.bool_]]:
        part = original.take(pa.array(chosen)).append_column(marker, pa.array(chosen))
        columns = [np.full(len(chosen), "", object) for _ in names]
        is_published = np.zeros(len(chosen), np.bool_)
        try:
            released = anonymize(part)
        except InfeasibleError:  # this part cannot be published, so there is nothing to compare
            return columns, is_published
        rows = np.asarray(released.column(marker).to_pylist(), np.int64)
        index = np.searchsorted(chosen, rows)
        is_published[index] = True
        for column, name in zip(columns, names, strict=True):
            column[index] = np.asarray(["" if v is None else str(v) for v in released.column(name).to_pylist()], object)
        return columns, is_published

    audit = locality(publish, original.num_rows, np.random.default_rng(seed), runs)
    return AttackResult(
        "locality",
        "something of other rows",
        None,
        audit.compared,
        audit.changed,
        0.0,
        {"runs": runs},
    )


def row_column(names: Sequence[str]) -> str:
    """Return a name for a column of row numbers that the table does not have."""
    name = "row number"
    while name in names:
        name += "'"
    return name
