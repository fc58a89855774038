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


def hide_strictly(
    codes: Sequence[Sequence[int]],
    count: Sequence[int],
    cost: Sequence[float],
    sets: Sequence[Sequence[int]],
    k: int,
    passes: int,
) -> list[list[int | None]]:
    """Hide cells until all crowds of equal labels have k rows; None is hidden.

    ``codes`` are different combinations of ``count`` rows each. The search is that of
    :mod:`shoal.methods.local.strict_cells`, cell by cell.
    """
    cells: list[list[int | None]] = [list(row) for row in codes]
    numbers = range(len(codes))

    def small(known: Sequence[int]) -> set[int]:
        found: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
        for number in numbers:
            found[tuple(cells[number][j] for j in known)].append(number)
        return {number for crowd in found.values() if sum(count[i] for i in crowd) < k for number in crowd}

    while any(map(small, sets)):
        failures = [[0] * len(cost) for _ in numbers]
        stuck = []
        for known in sets:
            failing = small(known)
            for number in failing:
                for j in known:
                    failures[number][j] += cells[number][j] is not None
            if any(all(cells[number][j] is None for j in known) for number in failing):
                stuck.append(known)
        if any(map(any, failures)):
            for number in numbers:
                if any(failures[number]):
                    gain = [failed / price for failed, price in zip(failures[number], cost, strict=True)]
                    cells[number][gain.index(max(gain))] = None
            continue
        for known in stuck:
            if small(known):
                _join_cheapest(cells, count, cost, known)
    for _ in range(passes):
        for j in sorted(range(len(cost)), key=lambda j: -cost[j]):
            hidden = [number for number in numbers if cells[number][j] is None]
            weight: Counter[int] = Counter()
            for number in hidden:
                weight[codes[number][j]] += count[number]
            for label in sorted(weight, key=lambda label: (-weight[label], label)):
                chosen = {number for number in hidden if codes[number][j] == label}
                while chosen:
                    for number in chosen:
                        cells[number][j] = label
                    refused = {number for known in sets if j in known for number in small(known)}
                    if not refused:
                        break
                    for number in chosen:
                        cells[number][j] = None
                    if not chosen & refused:
                        break
                    chosen -= refused
    return cells


def _join_cheapest(
    cells: list[list[int | None]], count: Sequence[int], cost: Sequence[float], known: Sequence[int]
) -> None:
    """Hide all known cells of the crowd that loses least by it."""
    price: dict[tuple[int, ...], float] = defaultdict(float)
    for row, rows in zip(cells, count, strict=True):
        if any(row[j] is not None for j in known):
            label = tuple(float("inf") if row[j] is None else row[j] for j in known)
            price[label] += rows * sum(cost[j] for j in known if row[j] is not None)
    cheapest = min(price, key=lambda label: (price[label], label))
    for row in cells:
        if tuple(float("inf") if row[j] is None else row[j] for j in known) == cheapest:
            for j in known:
                row[j] = None
