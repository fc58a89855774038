"""Attack of an intruder with a list of everybody in the table.

Where labels overlap, as with suppressed cells that fit everything, k rows that fit a person are not k rows that can be
the person's: other people must have some of them (Gionis, Mazza and Tassa, "k-anonymization revisited", ICDE 2008). The
intruder knows certain columns of everybody, and assigns all people to rows (:mod:`shoal.risk.assignments`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from shoal.models import Model, PartialKnowledge
from shoal.models.partial_knowledge import LooselyKnown
from shoal.risk.assignments import find_possible
from shoal.risk.attacks import AttackResult
from shoal.risk.matching import PublishedGroups, match_people
from shoal.schema import Schema
from shoal.table import Groups
from shoal.table.groups import group_keys, sum_by
from shoal.utility.coded_tables import CodedColumn

MAX_LISTS = 50
"""Maximum number of sets of columns that are examined, spread evenly over all."""
MAX_MATCHES = 2_000_000
"""Number of pairs of a kind of person and a group that fits beyond which a set is not examined."""


def known_lists(models: Sequence[Model], names: Sequence[str]) -> tuple[list[tuple[tuple[int, ...], int]], int]:
    """Return the columns that a list can have with the k required, and all.

    The columns are those of key sets, and sets of as many as are known, at most :data:`MAX_LISTS` of these; the number
    of all such sets is the second result. Without models of partial knowledge a list has all columns.
    """
    wanted: dict[tuple[int, ...], int] = {}
    for model in models:
        if isinstance(model, PartialKnowledge) and model.least > 1:
            for chosen in model.widest(names):
                wanted[chosen] = max(wanted.get(chosen, 0), model.least)
    if not any(isinstance(model, PartialKnowledge) for model in models):
        wanted[tuple(range(len(names)))] = max((model.least for model in models), default=0)
    sizes = {model.known for model in models if isinstance(model, LooselyKnown)}
    listed = sorted(one for one in wanted.items() if len(one[0]) in sizes)
    others = sorted(one for one in wanted.items() if len(one[0]) not in sizes)
    return [*others, *listed[:: -(-len(listed) // MAX_LISTS) or 1]], len(wanted)


def list_linkage(
    published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema, models: Sequence[Model], least: int
) -> AttackResult | None:
    """Count the people with fewer than k possible rows, given a list.

    ``people`` are all rows of the original. ``least`` is k where no model has one. None if there are fewer people than
    rows, if no assignment fits, or if all sets are too large to examine.
    """
    lists, total = known_lists(models, published.names)
    by_name = {column.name: column for column in people}
    left_out = len(people[0].code) - published.groups.rows
    if left_out < 0:
        return None
    exposed = single = below = np.zeros(len(people[0].code), np.bool_)
    fewest, examined, largest = len(people[0].code), 0, 0
    for chosen, needed in lists:
        k = needed if needed > 1 else least
        columns = [by_name[published.names[j]] for j in chosen if published.names[j] in by_name]
        if len(columns) < len(chosen):
            continue
        found = _possible_rows(_project(published, chosen), columns, schema, left_out)
        if found is None:
            continue
        fitting, possible = found
        examined, largest = examined + 1, max(largest, k)
        exposed, single, below = exposed | (possible < k), single | (possible == 1), below | (fitting < k)
        fewest = min(fewest, int(possible.min()))
    if not examined:
        return None
    figures = {
        "k": largest,
        "exactly_one": int(single.sum()),
        "below_k_without_a_list": int(below.sum()),
        "fewest_possible_rows": fewest,
        "lists_examined": examined,
        "lists": total,
    }
    return AttackResult(
        "list of everybody", "fewer than k possible rows", None, len(exposed), int(exposed.sum()), 0.0, figures
    )


def _project(published: PublishedGroups, chosen: Sequence[int]) -> PublishedGroups:
    """Return the groups of some columns, without sensitive values."""
    columns = list(chosen)
    codes = published.codes[:, columns]
    number, count = group_keys(codes, [len(published.labels[j]) for j in columns])
    first = np.zeros(count, np.int64)
    first[number] = np.arange(len(number))
    return replace(
        published,
        names=tuple(published.names[j] for j in columns),
        labels=tuple(published.labels[j] for j in columns),
        codes=codes[first],
        groups=Groups(np.asarray(sum_by(number, published.groups.size, count))),
    )


def _possible_rows(
    published: PublishedGroups, people: Sequence[CodedColumn], schema: Schema, left_out: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Count the fitting and the possible rows of each person.

    People without a row of the release have one of ``left_out`` other rows, which fit everybody.
    """
    matches = match_people(published, people, schema)
    kinds, rows = len(matches.start) - 1, published.groups.size
    if len(matches.group) > MAX_MATCHES:
        return None
    owner, group = matches.owner, matches.group
    if left_out:
        owner = np.concatenate([owner, np.arange(kinds)])
        group = np.concatenate([group, np.full(kinds, len(rows))])
        order = np.argsort(owner, kind="stable")
        owner, group, rows = owner[order], group[order], np.r_[rows, left_out]
    start = np.searchsorted(owner, np.arange(kinds + 1))
    count = np.bincount(matches.kind, minlength=kinds)
    possible = find_possible(count, rows, start, group)
    if possible is None:
        return None
    amount = np.where(group < len(published.groups.size), rows[group], 0)
    fitting = sum_by(owner, amount, kinds)
    possible_rows = sum_by(owner, np.where(possible, amount, 0), kinds)
    return fitting[matches.kind], possible_rows[matches.kind]
