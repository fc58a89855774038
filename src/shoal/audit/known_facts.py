"""Rows that are found by a number of known facts, before and after.

A fact is the value of a quasi-identifier. Before, a row is found if no other row has the same values; after, if one
released row can have them. The sets of facts are the most telling ones of the original: each adds to the one before it
the column that leaves most rows with few like them. All figures count rows, are for the owner, and are not published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.io.engines.base import Source
from shoal.plan.plan import Plan
from shoal.risk.exposure import SMALL_CROWD
from shoal.utility.coded_tables import CodedColumn, open_tables
from shoal.utility.labels import Labels, read_labels

MAX_FACTS = 6
MAX_SAMPLED_ROWS = 1_000
"""Rows of the original that are looked for in the release."""
MAX_COMPARISONS = 40_000_000
"""Pairs of an original row and a released combination that are compared for a set of facts."""
MAX_ROWS_OF_SEARCH = 100_000
"""Rows by which the most telling columns are chosen."""
MAX_OFFERED_VALUES = 60
MAX_TRIED_FACTS = 3

Codes = npt.NDArray[np.int64]


def measure_known_facts(original: Source, released: Source | None, plan: Plan) -> dict[str, Any]:
    """Measure how many rows are found by one, two, three, ... facts.

    ``sets`` lists the facts with the shares of rows that are ``alone`` and in crowds ``below`` :data:`SMALL_CROWD`,
    before and, if there is a release, after. ``sampled`` is the number of original rows that were looked for.
    ``offered`` are values of the columns that at least :data:`SMALL_CROWD` rows have.
    """
    with open_tables(plan.engine) as tables:
        names = [name for name in plan.schema.quasi_identifiers if released is None or name in tables.names(released)]
        before = tables.rows(original, names) if names else ()
        after = tables.rows(released, names) if released is not None and names else None
    if not before:
        return {"sets": [], "small": SMALL_CROWD, "rows": 0, "sampled": None, "offered": {}}
    rows = len(before[0].code)
    readings = None if after is None else _readings(before, after, plan)
    found, sampled = [], rows
    for chosen in identifying_sets([column.code.astype(np.int64) for column in before]):
        crowd = group_sizes([before[j].code.astype(np.int64) for j in chosen])
        entry: dict[str, Any] = {"columns": [names[j] for j in chosen], "before": _shares(crowd)}
        if after is not None and readings is not None:
            parts = [(before[j], after[j], readings[j]) for j in chosen]
            left = crowds_in_release(parts)
            sampled = min(sampled, len(left))
            entry["after"] = _shares(left)
        found.append(entry)
    offered = {column.name: _frequent_values(column) for column in before}
    sample = sampled if after is not None else None
    return {"sets": found, "small": SMALL_CROWD, "rows": rows, "sampled": sample, "offered": offered}


def count_matches(original: Source, released: Source, plan: Plan, facts: Mapping[str, str]) -> dict[str, int]:
    """Count the rows that can have some values, before and after."""
    if not facts or len(facts) > MAX_TRIED_FACTS or not set(facts) <= set(plan.schema.quasi_identifiers):
        raise InputError("page.facts-not-valid", most=MAX_TRIED_FACTS)
    with open_tables(plan.engine) as tables:
        before, after = tables.rows(original, list(facts)), tables.rows(released, list(facts))
    matched = np.ones(len(before[0].code), np.bool_)
    possible = np.ones(len(after[0].code), np.bool_)
    for column, published, reading in zip(before, after, _readings(before, after, plan), strict=True):
        value = facts[column.name]
        if value not in column.values:
            return {"before": 0, "after": 0}
        if not covers_original(column, published, reading):
            raise InputError("page.facts-not-comparable", column=column.name)
        code = column.values.index(value)
        matched &= column.code == code
        possible &= reading.covers[:, code][published.code]
    return {"before": int(matched.sum()), "after": int(possible.sum())}


def identifying_sets(columns: Sequence[Codes]) -> list[list[int]]:
    """List sets of 1, 2, ... columns that single out most, then all columns."""
    step = max(1, len(columns[0]) // MAX_ROWS_OF_SEARCH)
    searched = [column[::step] for column in columns]
    chosen: list[int] = []
    found = []
    while len(chosen) < min(MAX_FACTS, len(columns)):
        best, best_crowd = -1, (-1, -1)
        for j in range(len(columns)):
            if j not in chosen:
                crowd = group_sizes([searched[i] for i in (*chosen, j)])
                exposed = (int((crowd < SMALL_CROWD).sum()), int((crowd == 1).sum()))
                if exposed > best_crowd:
                    best, best_crowd = j, exposed
        chosen.append(best)
        found.append(list(chosen))
    return found if len(chosen) == len(columns) else [*found, list(range(len(columns)))]


def group_sizes(columns: Sequence[Codes]) -> Codes:
    """Return for each row the number of rows with the same codes."""
    key = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1].reshape(-1)
    return np.bincount(key)[key]


def crowds_in_release(parts: Sequence[tuple[CodedColumn, CodedColumn, Labels]]) -> Codes:
    """Count for original rows the released rows that can be theirs.

    Each part is a column of the original, of the release, and what its labels cover. Of many rows a sample is looked
    for. Where labels are no generalizations of the values, such as means, the released rows with equal labels count
    instead.
    """
    labels = np.stack([after.code for _, after, _ in parts], axis=1)
    combinations, inverse, count = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    if not all(covers_original(*part) for part in parts):
        return count[inverse.reshape(-1)]
    rows = len(parts[0][0].code)
    wanted = min(rows, MAX_SAMPLED_ROWS, max(50, MAX_COMPARISONS // len(combinations)))
    sample = np.unique(np.linspace(0, rows - 1, wanted).astype(np.int64))
    possible = np.ones((len(combinations), len(sample)), np.bool_)
    for j, (before, _, reading) in enumerate(parts):
        possible &= reading.covers[combinations[:, j]][:, before.code[sample]]
    return count @ possible


def covers_original(before: CodedColumn, after: CodedColumn, reading: Labels) -> bool:
    """Return whether labels can be generalizations of the original values.

    If they are, at least as many released rows can have a value as original rows have it, those left out aside.
    """
    left_out = len(before.code) - len(after.code)
    return bool((after.count @ reading.covers >= before.count - left_out).all())


def _readings(before: Sequence[CodedColumn], after: Sequence[CodedColumn], plan: Plan) -> list[Labels]:
    return [
        read_labels(published.values, column.values, plan.schema.columns[column.name].hierarchy, column.name)
        for column, published in zip(before, after, strict=True)
    ]


def _shares(crowd: Codes) -> dict[str, float]:
    """Return the shares of rows that are alone, and in small crowds.

    A crowd of nobody is not found: the row was left out.
    """
    total = max(1, len(crowd))
    found = crowd > 0
    return {
        "alone": float((crowd == 1).sum() / total),
        "below": float((found & (crowd < SMALL_CROWD)).sum() / total),
    }


def _frequent_values(column: CodedColumn) -> list[str]:
    order = np.argsort(-column.count, kind="stable")[:MAX_OFFERED_VALUES]
    known = [(column.values[code], column.count[code]) for code in order]
    return [value for value, count in known if value is not None and count >= SMALL_CROWD]
