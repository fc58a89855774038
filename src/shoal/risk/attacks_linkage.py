"""Linkage: lay an external table with names beside the release, and see what follows for each person in it.

The papers' example: the external Table 3 and the release Table 2 show that Rick and Rudy have cancer, though each of
them has two rows that may be his. A person is *identified* if one row only can be his, and *exposed* in a sensitive
column if all rows that can be his have the same value (or values of one category).

Sun, Wang, Li and Truta, 2008, section 2; Sweeney, "k-anonymity: a model for protecting privacy", 2002.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.encoding.groups import Histogram
from shoal.risk.attacks import AttackResult
from shoal.risk.matching import Matches, PublishedGroups, match_people
from shoal.schema import Schema
from shoal.utility.tables import CodedColumn

__all__ = ["crowd_sizes", "linkage", "population_counts"]

MOST_ROWS = 1000
"""So many row numbers of exposed people are listed at most."""


def linkage(
    published: PublishedGroups,
    people: Sequence[CodedColumn],
    schema: Schema,
    *,
    matches: Matches | None = None,
) -> tuple[AttackResult, ...]:
    """Link people of an external table with the release by the quasi-identifiers that both have.

    The first result is about identity; for each sensitive column one about its value follows and, where it has
    categories, one about its category. ``exposed`` is counted by the closest groups, which is the papers' reading;
    ``certain`` in the figures counts only what holds whichever covering row is the person's.
    """
    matches = match_people(published, people, schema) if matches is None else matches
    number = len(matches.kind)
    crowd = crowd_sizes(published, matches, closest=True)
    every = crowd_sizes(published, matches, closest=False)
    matched = every > 0
    rows = published.groups.rows
    persons = matched[matches.kind]
    alone = (crowd == 1)[matches.kind]
    hits = np.divide(1.0, crowd, out=np.zeros(len(crowd)), where=crowd > 0)[matches.kind]
    results = [
        AttackResult(
            "linkage",
            "which row is theirs",
            None,
            number,
            int(alone.sum()),
            number / rows,
            {
                "matched": int(persons.sum()),
                "certain": int((every == 1)[matches.kind].sum()),
                "expected_right": float(hits.sum()),
                "smallest_crowd": int(crowd[matched].min()) if matched.any() else 0,
                "shared_columns": len(people),
            },
            _rows(alone),
        )
    ]
    for histogram in published.groups.histograms:
        results += _attribute(histogram, matches, int(persons.sum()))
    return tuple(results)


def _attribute(histogram: Histogram, matches: Matches, matched: int) -> list[AttackResult]:
    number = len(matches.kind)
    known = int(histogram.total.sum())
    what: list[tuple[str, npt.NDArray[np.int32], npt.NDArray[np.float64]]] = [
        ("the value", np.arange(histogram.domain.size, dtype=np.int32), histogram.total.astype(np.float64))
    ]
    if histogram.domain.category is not None:
        kinds = histogram.domain.category
        sums = np.bincount(kinds, weights=histogram.total.astype(np.float64), minlength=histogram.domain.categories)
        what.append(("the category", kinds, np.asarray(sums, np.float64)))
    results = []
    for learns, classes, totals in what:
        same = (_distinct(histogram, classes, matches, closest=True) == 1)[matches.kind]
        certain = (_distinct(histogram, classes, matches, closest=False) == 1)[matches.kind]
        results.append(
            AttackResult(
                "linkage",
                learns,
                histogram.domain.name,
                number,
                int(same.sum()),
                matched * float(totals.max(initial=0)) / max(known, 1),
                {"matched": matched, "certain": int(certain.sum())},
                _rows(same),
            )
        )
    return results


def _rows(chosen: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(row) + 1 for row in np.flatnonzero(chosen)[:MOST_ROWS])


def crowd_sizes(published: PublishedGroups, matches: Matches, *, closest: bool) -> npt.NDArray[np.int64]:
    """For each kind of person, how many released rows may be theirs."""
    weight = published.groups.size[matches.group] * (matches.closest if closest else 1)
    return np.bincount(matches.owner, weights=weight, minlength=len(matches.start) - 1).astype(np.int64)


def _distinct(
    histogram: Histogram, classes: npt.NDArray[np.int32], matches: Matches, *, closest: bool
) -> npt.NDArray[np.int64]:
    """For each kind of person, how many classes of sensitive values the rows that may be theirs have."""
    kinds = len(matches.start) - 1
    group, owner = matches.group, matches.owner
    if closest:
        group, owner = group[matches.closest], owner[matches.closest]
    many = histogram.distinct[group]
    entry = np.repeat(histogram.start[group], many) + (
        np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    )
    width = int(classes.max(initial=0)) + 1
    keys = np.unique(np.repeat(owner, many) * width + classes[histogram.value[entry]])
    return np.bincount(keys // width, minlength=kinds)


def population_counts(
    published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema
) -> npt.NDArray[np.float64]:
    """F_j: how many people of a population table each group covers, whatever other groups cover them too."""
    matches = match_people(published, people, schema)
    persons = np.bincount(matches.kind, minlength=len(matches.start) - 1)
    counts = np.bincount(matches.group, weights=persons[matches.owner], minlength=len(published.codes))
    return np.asarray(counts, np.float64)
