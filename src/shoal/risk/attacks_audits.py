"""The audits of how a release was made, as attacks: locality, declared grid, extreme values, two releases together.

The audits themselves are in :mod:`shoal.risk.release_audits`; here they are fed from tables, the original among
them. A person's group in a release is the closest one that covers them; people whom several groups cover, or none, are
left out and counted.

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
from shoal.utility.labels import number_of, read_label

__all__ = ["audit_extremes", "audit_grid", "audit_intersection", "audit_locality", "group_of_people"]


def group_of_people(
    published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema, matches: Matches | None = None
) -> npt.NDArray[np.int64]:
    """int64 (people,): the one closest group of each person; -1 where none or several cover them.

    ``matches`` saves matching the people anew, here and below.
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
    """Rows that publish a value which is no label of the declared hierarchy, bound to the original's values.

    A label that is not declared was made from the data, and its ends are somebody's values.
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
    """bool (labels,): labels of a column that its hierarchy does not declare; None where it does not fit the column."""
    known = [value for value in column.values if value is not None]
    try:
        ladder = schema.ladder(column.name, known, len(known) < len(column.values))
    except HierarchyError:
        return None
    declared: set[object] = {TOP, *(label for labels in ladder.labels for label in labels)}
    labels = published.labels[published.names.index(column.name)]
    # label by label the rule of the audit, which counts a column's rows; a row counts once for all its columns here
    return np.asarray([label not in declared for label in labels], np.bool_)


def audit_extremes(
    published: PublishedGroups,
    people: Sequence[CodedColumn],
    schema: Schema,
    k: int,
    matches: Matches | None = None,
) -> AttackResult:
    """People in groups that publish an interval whose end fewer than k of their rows attain.

    Only intervals that the hierarchy does not declare are looked at: the ends of declared ones are nobody's value.
    """
    group = group_of_people(published, people, schema, matches)
    sure = np.flatnonzero(group >= 0)
    sure = sure[np.argsort(group[sure], kind="stable")]
    begin = np.searchsorted(group[sure], np.arange(published.groups.count + 1))
    flagged = np.zeros(published.groups.count, np.bool_)
    columns = 0
    for column in people:
        place = published.names.index(column.name)
        strange = _undeclared(published, column, schema)
        ends = [_ends(label) for label in published.labels[place]]
        wanted = [end is not None and (strange is None or bool(strange[j])) for j, end in enumerate(ends)]
        columns += any(wanted)
        numbers = np.asarray([np.nan if value is None else number_of(value) for value in column.values], np.float64)
        for one in np.flatnonzero(np.asarray(wanted, np.bool_)[published.codes[:, place]] & ~flagged):
            end = ends[published.codes[one, place]]
            mine = numbers[column.code[sure[begin[one] : begin[one + 1]]]]
            if end is None or not len(mine):
                continue
            low, high = (np.full(len(mine), side) for side in end)
            flagged[one] = not extreme_values(mine, low, high, np.zeros(len(mine), np.int64), k).holds
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
    """People whom two releases of the same rows, laid together, leave in a crowd of fewer than k."""
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
    """Rerun the method on parts of the original, and count rows whose published values depend on the other rows.

    Parameters
    ----------
    original
        A PyArrow table.
    anonymize
        Anonymizes a table that has a further column, to be published as it is, which is named by
        :func:`row_column`; returns a PyArrow table.
    """
    import pyarrow as pa

    from shoal.errors import InfeasibleError

    marker = row_column(original.column_names)
    shown = [name for name in original.column_names if name in schema.quasi_identifiers]

    def publish(chosen: npt.NDArray[np.int64]) -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.bool_]]:
        part = original.take(pa.array(chosen)).append_column(marker, pa.array(chosen))
        columns = [np.full(len(chosen), "", object) for _ in shown]
        there = np.zeros(len(chosen), np.bool_)
        try:
            released = anonymize(part)
        except InfeasibleError:  # this part cannot be published: nothing to compare
            return columns, there
        rows = np.asarray(released.column(marker).to_pylist(), np.int64)
        place = np.searchsorted(chosen, rows)
        there[place] = True
        for column, name in zip(columns, shown, strict=True):
            column[place] = np.asarray(["" if v is None else str(v) for v in released.column(name).to_pylist()], object)
        return columns, there

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
    """A name for a column of row numbers that the table does not have."""
    name = "row number"
    while name in names:
        name += "'"
    return name
