"""Record linkage of an external table with names to the release.

The papers' example: the external Table 3 and the release Table 2 show that Rick and Rudy have cancer, though each of
them has two candidate rows. A person is *identified* if there is one candidate row only, and *exposed* in a sensitive
column if all candidate rows have the same value (or values of one category).

Where the owners of rows are known, people are counted (:class:`RowOwners`): rows that all belong to one person do not
protect, and a person with several rows in the external table is exposed if one of them is.

Sun, Wang, Li and Truta, 2008, section 2; Sweeney, "k-anonymity: a model for protecting privacy", 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.risk.attacks import AttackResult, guessed_harmful, label_harmless
from shoal.risk.attacks_people import GroupedPeople, Members
from shoal.risk.matching import Matches, PublishedGroups, match_people
from shoal.schema import Schema
from shoal.table.groups import Histogram
from shoal.utility.coded_tables import CodedColumn

MAX_LISTED_ROWS = 1000
"""Maximum number of listed row numbers of exposed people."""
MAX_PAIRS = 20_000_000
"""Number of pairs of a kind of person and a candidate beyond which crowds are counted in rows."""


@dataclass(frozen=True)
class RowOwners:
    """Owners of rows, as far as they are known.

    Attributes
    ----------
    person
        int64 (rows,): the number of the person of each row of the external table; None: each row is a person.
    members
        The actual or possible members of the groups of the release; None: unknown, and crowds are counted in rows.
    """

    person: npt.NDArray[np.int64] | None = None
    members: Members | None = None


def covered_people(groups: int, matches: Matches, person: npt.NDArray[np.int64]) -> Members:
    """Return the possible members of groups: people with a covered row.

    The rows are those of the original; closeness plays no part. Every released row belongs to one of these people, so a
    crowd has no more people.
    """
    pairs = np.unique(np.stack([matches.kind, person], axis=1), axis=0)
    start = np.searchsorted(pairs[:, 0], np.arange(len(matches.start)))
    owner, group = matches.owner, matches.group
    counts = np.diff(start)[owner]
    found = pairs[_ranges(start[owner], counts), 1]
    return Members.from_pairs(groups, np.repeat(group, counts), found)


def linkage(
    published: PublishedGroups,
    people: Sequence[CodedColumn],
    schema: Schema,
    *,
    matches: Matches | None = None,
    row_owners: RowOwners | None = None,
) -> tuple[AttackResult, ...]:
    """Link people of an external table to the release by quasi-identifiers.

    The tables are linked by the quasi-identifiers that both have. The first result is about identity; for each
    sensitive column one about its value follows and, where it has categories, one about its category. ``exposed`` is
    counted by the closest groups, which is the papers' reading; ``certain`` in the figures counts only what holds for
    every covering row.

    For values: where the release has a person column, all people of a crowd share one value, over all of their rows;
    otherwise all rows of the crowd have the same value.
    """
    matches = match_people(published, people, schema) if matches is None else matches
    linked = _Linked(published, matches, row_owners or RowOwners())
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
                "expected_right": linked.sum_highest(hits),
                "smallest_crowd": int(close[every > 0].min()) if (every > 0).any() else 0,
                "crowds_in": "rows" if linked.by_rows else "people",
                "shared_columns": len(people),
            },
            _row_numbers((close == 1)[matches.kind]),
            linked.counts,
        )
    ]
    for histogram in published.groups.histograms:
        results += _attribute_disclosure(histogram, linked, matched)
    return tuple(results)


class _Linked:
    """External rows linked to the release, counted in rows or in people."""

    def __init__(self, published: PublishedGroups, matches: Matches, row_owners: RowOwners) -> None:
        self.published, self.matches, self.person = published, matches, row_owners.person
        members = row_owners.members
        self.pairs = {closest: None if members is None else _pairs(matches, members, closest) for closest in (0, 1)}
        if members is not None and (not members.people or any(pairs is None for pairs in self.pairs.values())):
            members = None  # too many to list, or no released row has a candidate
        self.members = members
        self.by_rows = members is None
        self.counts = "rows" if self.person is None else "people"
        self.total = len(matches.kind) if self.person is None else len(np.unique(self.person))
        self.released = published.groups.rows if members is None else members.people

    def pair(self, *, closest: bool) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return each kind paired with every person of its crowd."""
        pairs = self.pairs[closest]
        assert pairs is not None
        return pairs

    def crowd(self, *, closest: bool) -> npt.NDArray[np.int64]:
        """Return the number of candidate rows, or people, of each kind.

        There are no more people than rows.
        """
        rows = crowd_sizes(self.published, self.matches, closest=closest)
        if self.by_rows:
            return rows
        return np.minimum(rows, np.bincount(self.pair(closest=closest)[0], minlength=len(rows)))

    def count(self, chosen: npt.NDArray[np.bool_]) -> int:
        """Count the rows, or the people with a row, of some kinds."""
        rows = chosen[self.matches.kind]
        return int(rows.sum()) if self.person is None else len(np.unique(self.person[rows]))

    def sum_highest(self, hits: npt.NDArray[np.float64]) -> float:
        """Add up the highest value of each person over his or her rows."""
        rows = hits[self.matches.kind]
        if self.person is None:
            return float(rows.sum())
        highest = np.zeros(int(self.person.max()) + 1)
        np.maximum.at(highest, self.person, rows)
        return float(highest.sum())


def _attribute_disclosure(histogram: Histogram, linked: _Linked, matched: int) -> list[AttackResult]:
    classes: list[tuple[str, npt.NDArray[np.int32]]] = [("the value", np.arange(histogram.domain.size, dtype=np.int32))]
    if histogram.domain.category is not None:
        classes.append(("the category", histogram.domain.category))
    results = []
    for learns, values in classes:
        label, harmful = label_harmless(histogram.domain, values)
        same, certain = (
            _shares_one_class(histogram, label, harmful, linked, closest=closest) for closest in (True, False)
        )
        results.append(
            AttackResult(
                "linkage",
                learns,
                histogram.domain.name,
                linked.total,
                linked.count(same),
                matched * _commonest_share(histogram, label, harmful, linked),
                {"matched": matched, "certain": linked.count(certain)},
                _row_numbers(same[linked.matches.kind]),
                linked.counts,
            )
        )
    return results


def _shares_one_class(
    histogram: Histogram,
    label: npt.NDArray[np.int32],
    harmful: npt.NDArray[np.bool_],
    linked: _Linked,
    *,
    closest: bool,
) -> npt.NDArray[np.bool_]:
    """Return for each kind whether all candidates share one harmful class."""
    sets = None if linked.members is None else linked.members.sets.get(histogram.domain.name)
    if sets is None:
        return np.asarray(_count_classes(histogram, label, harmful, linked.matches, closest=closest) == 1)
    kind, person = linked.pair(closest=closest)
    everything = np.ones(histogram.domain.size, np.bool_)
    grouped = GroupedPeople(kind, person, len(linked.matches.start) - 1, sets, everything).with_labels(label, harmful)
    return np.asarray((grouped.people > 0) & (grouped.largest_count == grouped.people))


def _commonest_share(
    histogram: Histogram, label: npt.NDArray[np.int32], harmful: npt.NDArray[np.bool_], linked: _Linked
) -> float:
    """Return the share of rows, or people, of the commonest harmful class."""
    sets = None if linked.members is None else linked.members.sets.get(histogram.domain.name)
    if sets is None:
        totals = np.bincount(label, weights=histogram.total.astype(np.float64), minlength=len(harmful))
        return guessed_harmful(totals, harmful) / max(int(histogram.total.sum()), 1)
    everybody = np.arange(len(sets.size))
    everything, one_group = np.ones(histogram.domain.size, np.bool_), np.zeros(len(everybody), np.int64)
    grouped = GroupedPeople(one_group, everybody, 1, sets, everything).with_labels(label, harmful)
    commonest = int(grouped.largest_count[0])
    return (commonest if commonest >= int(grouped.harmless_count[0]) else 0) / max(int(grouped.people[0]), 1)


def _pairs(
    matches: Matches, members: Members, closest: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Pair each kind with every member of its groups; None if too many."""
    owner, group = matches.owner, matches.group
    if closest:
        owner, group = owner[matches.closest], group[matches.closest]
    counts = np.diff(members.start)[group]
    if int(counts.sum()) > MAX_PAIRS:
        return None
    key = np.repeat(owner, counts) * members.width + members.person[_ranges(members.start[group], counts)]
    key.sort()  # np.unique builds a hash table first, which takes ten times as long
    key = key[np.concatenate([[True], key[1:] != key[:-1]])] if len(key) else key
    return key // members.width, key % members.width


def _ranges(start: npt.NDArray[np.int64], length: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return ``length`` consecutive numbers from each start."""
    return np.repeat(start, length) + np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)


def _row_numbers(chosen: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(row) + 1 for row in np.flatnonzero(chosen)[:MAX_LISTED_ROWS])


def crowd_sizes(published: PublishedGroups, matches: Matches, *, closest: bool) -> npt.NDArray[np.int64]:
    """Return the number of candidate released rows of each kind of person."""
    weight = published.groups.size[matches.group] * (matches.closest if closest else 1)
    return np.bincount(matches.owner, weights=weight, minlength=len(matches.start) - 1).astype(np.int64)


def _count_classes(
    histogram: Histogram,
    classes: npt.NDArray[np.int32],
    harmful: npt.NDArray[np.bool_],
    matches: Matches,
    *,
    closest: bool,
) -> npt.NDArray[np.int64]:
    """Count the classes of sensitive values of each kind's candidate rows.

    A harmless class counts twice, as it never is the only one that is learned.
    """
    kinds = len(matches.start) - 1
    group, owner = matches.group, matches.owner
    if closest:
        group, owner = group[matches.closest], owner[matches.closest]
    counts = histogram.distinct[group]
    entry = _ranges(histogram.start[group], counts)
    width = int(classes.max(initial=0)) + 1
    keys = np.unique(np.repeat(owner, counts) * width + classes[histogram.value[entry]])
    return np.bincount(keys // width, weights=np.where(harmful[keys % width], 1, 2), minlength=kinds).astype(np.int64)


def population_counts(
    published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema
) -> npt.NDArray[np.float64]:
    """Count the people of a population table that each group covers (F_j).

    A person may be covered by several groups.
    """
    matches = match_people(published, people, schema)
    persons = np.bincount(matches.kind, minlength=len(matches.start) - 1)
    counts = np.bincount(matches.group, weights=persons[matches.owner], minlength=len(published.codes))
    return np.asarray(counts, np.float64)
