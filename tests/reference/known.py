"""What an intruder who knows few columns can find, row by row and set by set, as the definition says it."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

HIDDEN = "*"


def up_to(columns, most):
    """All sets of at most so many columns, the empty one too."""
    return [chosen for size in range(most + 1) for chosen in combinations(columns, size)]


def groups(released, secrets, chosen):
    """The sensitive values of the rows that show the same visible labels on some columns."""
    found = {}
    for row, secret in zip(released, secrets, strict=True):
        if all(row[j] != HIDDEN for j in chosen):
            found.setdefault(tuple(row[j] for j in chosen), []).append(secret)
    return list(found.values())


def rows_of(person, released, chosen):
    """How many released rows can be somebody's, whose labels are known."""
    return sum(all(row[j] in (person[j], HIDDEN) for j in chosen) for row in released)


def owners_of(person, released, owner, chosen):
    """Whose rows can be somebody's, whose labels are known."""
    rows = zip(released, owner, strict=True)
    return [who for row, who in rows if all(row[j] in (person[j], HIDDEN) for j in chosen)]


def certain_rows_of(row, released, chosen):
    """How many rows can be that of whoever is behind a row, whatever its hidden cells stand for."""
    return sum(
        all(other[j] in ((HIDDEN,) if row[j] == HIDDEN else (row[j], HIDDEN)) for j in chosen) for other in released
    )


def row_to_people(released, secrets, sets, holds):
    """Whether every group of every set meets a model: ``holds`` of a group's values and the table's."""
    return all(holds(group, [secrets]) for chosen in sets for group in groups(released, secrets, chosen))


def fewest_rows(people, released, sets):
    """The fewest rows that can be somebody's, over all sets."""
    return min(rows_of(person, released, chosen) for person in people for chosen in sets)


def hide_rare(rows, counts, sets, least, often, cost, *, noting, hiding):
    """Cells (None shows nothing) with one hidden in every row of a group below least[s], set by set, all in place.

    Returns which sets hold.
    """
    verdicts = []
    for s, chosen in enumerate(sets):
        shown = [tuple(row[column] for column in chosen) for row in rows]
        size = Counter()
        for values, count in zip(shown, counts, strict=True):
            size[values] += count
        rare = [None not in values and size[values] < least[s] for values in shown]
        verdicts.append(not any(rare))
        for i in (i for i, fails in enumerate(rare) if fails):
            if hiding:
                best = max(chosen, key=lambda column, i=i: (often[i][column] + 1) / cost[column])
                rows[i][best] = None
            for column in chosen:
                often[i][column] += noting
    return verdicts
