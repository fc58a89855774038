"""Reference definitions for an intruder with partial knowledge.

Everything is evaluated row by row and set by set, from the definition.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

HIDDEN = "*"


def up_to(columns, max_columns):
    """List all sets of at most ``max_columns`` columns and the empty set."""
    return [chosen for size in range(max_columns + 1) for chosen in combinations(columns, size)]


def groups(released, secrets, chosen):
    """Group the sensitive values of rows by their labels on some columns.

    Rows with a hidden cell in these columns are left out.
    """
    found = {}
    for row, secret in zip(released, secrets, strict=True):
        if all(row[j] != HIDDEN for j in chosen):
            found.setdefault(tuple(row[j] for j in chosen), []).append(secret)
    return list(found.values())


def rows_of(person, released, chosen):
    """Count the released rows that match the known labels of a person."""
    return sum(all(row[j] in (person[j], HIDDEN) for j in chosen) for row in released)


def crowd_of(person, released, secrets, chosen):
    """List the sensitive values of the rows that can be a person's."""
    rows = zip(released, secrets, strict=True)
    return [secret for row, secret in rows if all(row[j] in (person[j], HIDDEN) for j in chosen)]


def owners_of(person, released, owner, chosen):
    """List the owners of rows that match the known labels of a person."""
    rows = zip(released, owner, strict=True)
    return [person_of_row for row, person_of_row in rows if all(row[j] in (person[j], HIDDEN) for j in chosen)]


def certain_rows_of(row, released, chosen):
    """Count the rows that match a row whatever its hidden cells are."""
    return sum(
        all(other[j] in ((HIDDEN,) if row[j] == HIDDEN else (row[j], HIDDEN)) for j in chosen) for other in released
    )


def row_to_people(released, secrets, sets, holds):
    """Return whether every group of every set of columns meets a model.

    ``holds`` evaluates the values of a group and of the table.
    """
    return all(holds(group, [secrets]) for chosen in sets for group in groups(released, secrets, chosen))


def person_to_rows(people, released, secrets, sets, holds):
    """Return whether the rows that can be a person's meet a model.

    It must hold for every person and set of columns. ``holds`` is as in :func:`row_to_people`.
    """
    return all(
        holds(crowd_of(person, released, secrets, chosen), [secrets])
        for chosen in sets
        for person in {tuple(person) for person in people}
    )


def fewest_rows(people, released, sets):
    """Return the least number of rows that match a person, over all sets."""
    return min(rows_of(person, released, chosen) for person in people for chosen in sets)


def hide_rare(rows, counts, sets, least, often, cost, *, noting, hiding):
    """Hide one cell in every row of a group that is too small, in place.

    Sets of columns are processed one by one; a group of set s is too small below least[s]; None is a hidden cell.
    Return which sets hold.
    """
    verdicts = []
    for s, chosen in enumerate(sets):
        visible = [tuple(row[column] for column in chosen) for row in rows]
        size = Counter()
        for values, count in zip(visible, counts, strict=True):
            size[values] += count
        rare = [None not in values and size[values] < least[s] for values in visible]
        verdicts.append(not any(rare))
        for i in (i for i, fails in enumerate(rare) if fails):
            if hiding:
                best = max(chosen, key=lambda column, i=i: (often[i][column] + 1) / cost[column])
                rows[i][best] = None
            for column in chosen:
                often[i][column] += noting
    return verdicts
