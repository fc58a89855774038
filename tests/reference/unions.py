"""Random trials of whether a model is closed under union of groups.

Many small groups are evaluated at once in one table. Each trial has separate people, two groups of them that may share
some, and the union of both. A valid group with an invalid union is a counterexample: to ``closed_under_union`` where
both were valid, to ``closed_under_superset`` where the first was.
"""

import numpy as np

from shoal.schema import Domain, Ladder
from shoal.table import FrequencySet
from shoal.table.people import with_people

VALUES = 4
CATEGORY = np.asarray([0, 1, 1, 2], np.int32)


def tree():
    """Return a ladder with a and b below 1, c and d below 2."""
    codes = (np.arange(4, dtype=np.int32), np.asarray([0, 0, 1, 1], np.int32), np.zeros(4, np.int32))
    share = (np.full(4, 0.25), np.full(2, 0.5), np.ones(1))
    return Ladder((("a", "b", "c", "d"), ("1", "2"), ("*",)), codes, share)


def trials(number, seed):
    """Make the groups of ``number`` trials.

    Each trial has three consecutive groups: the first, the second, and their union.
    """
    random = np.random.default_rng(seed)
    people, rows = 5, 3
    person = np.arange(number * people)
    value = random.integers(-1, VALUES, (len(person), rows)).astype(np.int32)
    value[:, 1:] = np.where(random.random((len(person), rows - 1)) < 0.5, value[:, :1], value[:, 1:])
    member = random.random((len(person), 2)) < 0.55
    trial = person // people
    for side in (0, 1):  # a group is not empty
        first = person[::people] + random.integers(0, people, number)
        empty = np.bincount(trial, member[:, side], number) == 0
        member[first[empty], side] = True
    # every person has three rows with values, whatever groups the person is in
    entries, groups = [], []
    for side, which in enumerate((member[:, 0], member[:, 1], member.any(axis=1))):
        there = np.flatnonzero(which)
        entries.append(there)
        groups.append(trial[there] * 3 + side)
    owner, group = np.concatenate(entries), np.concatenate(groups)
    owner, group = np.repeat(owner, rows), np.repeat(group, rows)
    secrets = np.stack([value[owner, np.tile(np.arange(rows), len(owner) // rows)], owner.astype(np.int32)], axis=1)
    domains = (
        Domain("secret", VALUES, CATEGORY, 3, np.arange(VALUES), VALUES, tree()),
        Domain("who", len(person)),
    )
    table = FrequencySet((), (), domains, secrets[:, :0], secrets, np.ones(len(owner), np.int64))
    return with_people(table).groups_of(group, number * 3)


def counterexamples(model, groups):
    """Count counterexamples to closure under union and under superset.

    The first are invalid unions of two valid groups, the second of a valid group and any.
    """
    holds = model.assess(groups).holds.reshape(-1, 3)
    bad = ~holds[:, 2]
    return int((holds[:, 0] & holds[:, 1] & bad).sum()), int((holds[:, 0] & bad).sum())
