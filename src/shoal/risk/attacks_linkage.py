"""Linkage: lay an external table with names beside the release, and see what follows for each person in it.

The papers' example: the external Table 3 and the release Table 2 show that Rick and Rudy have cancer, though each of
them has two rows that may be his. A person is *identified* if one row only can be his, and *exposed* in a sensitive
column if all rows that can be his have the same value (or values of one category).

Where it is known whose rows they are, people are counted (:class:`Owned`): rows that are all one person's hide nobody,
and who has several rows in the external table is exposed if one of them exposes him.

Sun, Wang, Li and Truta, 2008, section 2; Sweeney, "k-anonymity: a model for protecting privacy", 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.risk.attacks import AttackResult
from shoal.risk.attacks_people import Crowds, Members
from shoal.risk.matching import Matches, PublishedGroups, match_people
from shoal.schema import Schema
from shoal.table.groups import Histogram
from shoal.utility.coded_tables import CodedColumn

__all__ = ["Owned", "covered_people", "crowd_sizes", "linkage", "population_counts"]

MOST_ROWS = 1000
"""So many row numbers of exposed people are listed at most."""
MOST_PAIRS = 20_000_000
"""Beyond so many pairs of a kind of person and somebody in its crowd, crowds are counted in rows."""


@dataclass(frozen=True)
class Owned:
    """Whose rows they are, as far as it is known.

    Attributes
    ----------
    person
        int64 (rows,): the number of the person of each row of the external table; None: each row is a person.
    members
        Who is in which group of the release, or can be; None: nobody knows, and crowds are counted in rows.
    """

    person: npt.NDArray[np.int64] | None = None
    members: Members | None = None


def covered_people(groups: int, matches: Matches, person: npt.NDArray[np.int64]) -> Members:
    """Who can be in which group: whoever has a row of the original that the group covers, closely or not.

    Every released row is one of these, so that a crowd has no more people than that.
    """
    pairs = np.unique(np.stack([matches.kind, person], axis=1), axis=0)
    start = np.searchsorted(pairs[:, 0], np.arange(len(matches.start)))
    owner, group = matches.owner, matches.group
    many = np.diff(start)[owner]
    found = pairs[_ranges(start[owner], many), 1]
    return Members.of(groups, np.repeat(group, many), found)


def linkage(
    published: PublishedGroups,
    people: Sequence[CodedColumn],
    schema: Schema,
    *,
    matches: Matches | None = None,
    owned: Owned | None = None,
) -> tuple[AttackResult, ...]:
    """Link people of an external table with the release by the quasi-identifiers that both have.

    The first result is about identity; for each sensitive column one about its value follows and, where it has
    categories, one about its category. ``exposed`` is counted by the closest groups, which is the papers' reading;
    ``certain`` in the figures counts only what holds whichever covering row is the person's.

    Of values: where the release says whose its rows are, all people of a crowd have one value in common, over all of
    their rows; else all rows of the crowd have the same value.
    """
    matches = match_people(published, people, schema) if matches is None else matches
    linked = _Linked(published, matches, owned or Owned())
    close, every = linked.crowd(closest=True), linked.crowd(closest=False)
    hits = np.divide(1.0, close, out=np.zeros(len(close)), where=close > 0)
    matched = linked.count(every > 0)
    results = [
        AttackResult(
            "linkage",
            "which row is theirs" if linked.by_rows else "which rows are theirs",
            None,
            linked.total,
            linked.count(close == 1),
            linked.total / linked.released,
            {
                "matched": matched,
                "certain": linked.count(every == 1),
                "expected_right": linked.best(hits),
                "smallest_crowd": int(close[every > 0].min()) if (every > 0).any() else 0,
                "crowds_in": "rows" if linked.by_rows else "people",
                "shared_columns": len(people),
            },
            _rows((close == 1)[matches.kind]),
            linked.counts,
        )
    ]
    for histogram in published.groups.histograms:
        results += _attribute(histogram, linked, matched)
    return tuple(results)


class _Linked:
    """The external table's rows beside the release, in rows or in people."""

    def __init__(self, published: PublishedGroups, matches: Matches, owned: Owned) -> None:
        self.published, self.matches, self.person = published, matches, owned.person
        members = owned.members
        self.pairs = {closest: None if members is None else _pairs(matches, members, closest) for closest in (0, 1)}
        if members is not None and (not members.people or any(pairs is None for pairs in self.pairs.values())):
            members = None  # too many to list, or nobody's row can be a released one
        self.members = members
        self.by_rows = members is None
        self.counts = "rows" if self.person is None else "people"
        self.total = len(matches.kind) if self.person is None else len(np.unique(self.person))
        self.released = published.groups.rows if members is None else members.people

    def pair(self, *, closest: bool) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Each kind with everybody in its crowd."""
        pairs = self.pairs[closest]
        assert pairs is not None
        return pairs

    def crowd(self, *, closest: bool) -> npt.NDArray[np.int64]:
        """For each kind, how many rows may be theirs, or how many people's rows; no more people than rows."""
        rows = crowd_sizes(self.published, self.matches, closest=closest)
        if self.by_rows:
            return rows
        return np.minimum(rows, np.bincount(self.pair(closest=closest)[0], minlength=len(rows)))

    def count(self, chosen: npt.NDArray[np.bool_]) -> int:
        """How many rows, or people with one of them, are of some kinds."""
        rows = chosen[self.matches.kind]
        return int(rows.sum()) if self.person is None else len(np.unique(self.person[rows]))

    def best(self, hits: npt.NDArray[np.float64]) -> float:
        """The sum over everybody, by the row that tells most."""
        rows = hits[self.matches.kind]
        if self.person is None:
            return float(rows.sum())
        most = np.zeros(int(self.person.max()) + 1)
        np.maximum.at(most, self.person, rows)
        return float(most.sum())


def _attribute(histogram: Histogram, linked: _Linked, matched: int) -> list[AttackResult]:
    classes: list[tuple[str, npt.NDArray[np.int32]]] = [("the value", np.arange(histogram.domain.size, dtype=np.int32))]
    if histogram.domain.category is not None:
        classes.append(("the category", histogram.domain.category))
    results = []
    for learns, label in classes:
        same, certain = (_same(histogram, label, linked, closest=closest) for closest in (True, False))
        results.append(
            AttackResult(
                "linkage",
                learns,
                histogram.domain.name,
                linked.total,
                linked.count(same),
                matched * _commonest_share(histogram, label, linked),
                {"matched": matched, "certain": linked.count(certain)},
                _rows(same[linked.matches.kind]),
                linked.counts,
            )
        )
    return results


def _same(
    histogram: Histogram, label: npt.NDArray[np.int32], linked: _Linked, *, closest: bool
) -> npt.NDArray[np.bool_]:
    """For each kind of person, whether all who can be it have one class of values in common."""
    sets = None if linked.members is None else linked.members.sets.get(histogram.domain.name)
    if sets is None:
        return np.asarray(_distinct(histogram, label, linked.matches, closest=closest) == 1)
    kind, person = linked.pair(closest=closest)
    crowds = Crowds(kind, person, len(linked.matches.start) - 1, sets).by(label)
    return np.asarray((crowds.people > 0) & (crowds.most == crowds.people))


def _commonest_share(histogram: Histogram, label: npt.NDArray[np.int32], linked: _Linked) -> float:
    """The part of the table's rows, or people, that have its commonest class of values."""
    sets = None if linked.members is None else linked.members.sets.get(histogram.domain.name)
    if sets is None:
        totals = np.bincount(label, weights=histogram.total.astype(np.float64))
        return float(totals.max(initial=0)) / max(int(histogram.total.sum()), 1)
    everybody = np.arange(len(sets.size))
    crowds = Crowds(np.zeros(len(everybody), np.int64), everybody, 1, sets).by(label)
    return float(crowds.most[0]) / max(int(crowds.people[0]), 1)


def _pairs(
    matches: Matches, members: Members, closest: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Each kind with everybody who is in one of its groups; None where these are too many to look at."""
    owner, group = matches.owner, matches.group
    if closest:
        owner, group = owner[matches.closest], group[matches.closest]
    many = np.diff(members.start)[group]
    if int(many.sum()) > MOST_PAIRS:
        return None
    key = np.repeat(owner, many) * members.width + members.person[_ranges(members.start[group], many)]
    key.sort()  # np.unique puts them into a hash table first, which takes ten times as long
    key = key[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else key
    return key // members.width, key % members.width


def _ranges(start: npt.NDArray[np.int64], many: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """So many numbers from each start on."""
    return np.repeat(start, many) + np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)


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
    entry = _ranges(histogram.start[group], many)
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
