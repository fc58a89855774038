"""Crowds of scenarios, and beliefs of an intruder with a list."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any


def sets_of(columns: Sequence[str], further: Sequence[str], plus: int) -> Iterator[tuple[str, ...]]:
    """Yield what an intruder may know: any columns, of the further ones few."""
    every = [*columns, *further]
    for size in range(len(every) + 1):
        for known in combinations(every, size):
            if len(set(known) - set(columns)) <= plus:
                yield known


def crowds(rows: Sequence[Mapping[str, Any]], known: Collection[str]) -> list[list[int]]:
    """Return the rows with the same labels, by their numbers."""
    found: dict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        found[tuple(row[name] for name in known)].append(number)
    return list(found.values())


def remaining(rows: Sequence[Mapping[str, Any]], sets: Collection[Collection[str]], k: int) -> list[Mapping[str, Any]]:
    """Leave small crowds out, one at a time, until none is small."""
    left = list(rows)
    while True:
        small = next((c for known in sets for c in crowds(left, known) if len(c) < k), None)
        if small is None:
            return left
        left = [row for number, row in enumerate(left) if number not in small]


def beliefs(people: Sequence[Any], rows: Sequence[Any], fits: Callable[[Any, Any], bool]) -> list[list[Fraction]]:
    """Return the probability of every row for every person.

    All assignments of everybody to a row of their own that fit are equally likely. They are counted by the rows that
    are taken: by the first people, and by the last.
    """
    size = len(people)
    edges = [[row for row in range(size) if fits(person, rows[row])] for person in people]
    before: list[Counter[int]] = [Counter({0: 1})]
    for person in range(size):
        before.append(Counter())
        for taken, ways in before[person].items():
            for row in edges[person]:
                if not taken >> row & 1:
                    before[person + 1][taken | 1 << row] += ways
    after: list[Counter[int]] = [Counter() for _ in range(size)] + [Counter({(1 << size) - 1: 1})]
    for person in reversed(range(size)):
        for taken in before[person]:
            for row in edges[person]:
                if not taken >> row & 1:
                    after[person][taken] += after[person + 1][taken | 1 << row]
    total = after[0][0]
    assert total, "everybody has a row"
    found = [[Fraction(0)] * size for _ in range(size)]
    for person in range(size):
        for taken, ways in before[person].items():
            for row in edges[person]:
                if not taken >> row & 1:
                    found[person][row] += Fraction(ways * after[person + 1][taken | 1 << row], total)
    return found
