"""Exact verification of identifiability on small universes.

``worst_posterior`` states ρ-differential identifiability by its definition: for every D' of n - 1 known individuals,
every output R and every candidate t, the probability of t given R and D', with a uniform prior over the candidates.
``explore`` follows every sequence of random choices of a sampler and adds up exact probabilities.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction

Outcomes = dict[Hashable, Fraction]
Mechanism = Callable[[tuple[int, ...]], Outcomes]


class SeededSource:
    """Reproducible random bits for tests.

    Never for a release: the source of the package has no seed.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def below(self, limit: int) -> int:
        return self.random.randrange(limit)

    def randbytes(self, size: int) -> bytes:
        return self.random.randbytes(size)


# ---- every random choice of a sampler
# -------------------------------------------------------------------------


class _Exhausted(Exception):
    def __init__(self, limit: int) -> None:
        self.limit = limit


class _ScriptedSource:
    def __init__(self, choices: Sequence[int]) -> None:
        self.choices = iter(choices)

    def below(self, limit: int) -> int:
        if limit == 1:
            return 0
        for choice in self.choices:
            return choice
        raise _Exhausted(limit)

    def randbytes(self, size: int) -> bytes:
        return bytes(self.below(256) for _ in range(size))


def explore(program: Callable[[_ScriptedSource], Hashable], least: Fraction) -> tuple[Outcomes, Fraction]:
    """Return the exact probability of each outcome, and the remainder.

    Branches with a probability below ``least`` are not followed.
    """
    outcomes: Outcomes = {}
    left = Fraction(0)
    pending: list[tuple[tuple[int, ...], Fraction]] = [((), Fraction(1))]
    while pending:
        choices, weight = pending.pop()
        if weight < least:
            left += weight
            continue
        try:
            outcome = program(_ScriptedSource(choices))
        except _Exhausted as exhausted:
            share = weight / exhausted.limit
            pending.extend(((*choices, choice), share) for choice in range(exhausted.limit))
        else:
            outcomes[outcome] = outcomes.get(outcome, Fraction(0)) + weight
    return outcomes, left


# ---- the definition, by enumeration
# ---------------------------------------------------------------------------


def worlds(universe: Sequence[int], n: int) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """Yield every D' of n - 1 individuals with the candidates for the n-th."""
    for known in itertools.combinations(universe, n - 1):
        yield known, [individual for individual in universe if individual not in known]


def worst_posterior(universe: Sequence[int], n: int, mechanism: Mechanism) -> Fraction:
    """Return the highest probability of identification, n - 1 rows known."""
    worst = Fraction(0)
    for known, candidates in worlds(universe, n):
        likelihoods = [mechanism(tuple(sorted((*known, candidate)))) for candidate in candidates]
        for output in set().union(*likelihoods):
            column = [likelihood.get(output, Fraction(0)) for likelihood in likelihoods]
            worst = max(worst, max(column) / sum(column))
    return worst


def worst_uninformed_posterior(universe: Sequence[int], n: int, mechanism: Mechanism) -> Fraction:
    """Return the highest probability of identification with no row known.

    The intruder knows n and the universe.
    """
    databases = list(itertools.combinations(universe, n))
    likelihoods = [mechanism(database) for database in databases]
    worst = Fraction(0)
    for output in set().union(*likelihoods):
        total = sum(likelihood.get(output, Fraction(0)) for likelihood in likelihoods)
        for individual in universe:
            inside = sum(
                likelihood.get(output, Fraction(0))
                for database, likelihood in zip(databases, likelihoods, strict=True)
                if individual in database
            )
            worst = max(worst, inside / total)
    return worst


def both(first: Mechanism, second: Mechanism) -> Mechanism:
    """Return the mechanism with the independent outputs of two others."""

    def mechanism(database: tuple[int, ...]) -> Outcomes:
        one, two = first(database), second(database)
        return {(a, b): p * q for a, p in one.items() for b, q in two.items()}

    return mechanism


def mixture(chance: Fraction, first: Mechanism, second: Mechanism) -> Mechanism:
    """Return the mixture of two mechanisms.

    It gives the output of the first with probability ``chance``, else that of the second.
    """

    def mechanism(database: tuple[int, ...]) -> Outcomes:
        outcomes: Outcomes = {}
        for weight, part in ((chance, first(database)), (1 - chance, second(database))):
            for output, probability in part.items():
                outcomes[output] = outcomes.get(output, Fraction(0)) + weight * probability
        return outcomes

    return mechanism


# ---- mechanisms as exact distributions
# ------------------------------------------------------------------------


def constant(database: tuple[int, ...]) -> Outcomes:
    return {"nothing": Fraction(1)}


def grid(cell_of: Callable[[int], int]) -> Mechanism:
    """Publish the cell of every row."""
    return lambda database: {tuple(sorted(map(cell_of, database))): Fraction(1)}


def two_sided_geometric(ratio: Fraction, value: int, lowest: int, highest: int) -> Outcomes:
    """Return the distribution of a value plus noise, clamped to a window.

    Clamping is post-processing: the ends collect the tails.
    """
    outcomes: Outcomes = {}
    for output in range(lowest, highest + 1):
        if lowest < output < highest:
            outcomes[output] = (1 - ratio) / (1 + ratio) * ratio ** abs(output - value)
        else:
            distance = abs(output - value)
            # Pr[z ≥ d] = q^d / (1 + q) for d ≥ 1, and 1/(1 + q) for d = 0
            outcomes[output] = ratio**distance / (1 + ratio)
    return outcomes


def geometric_count(ratio: Fraction, meets: Callable[[int], bool], window: int) -> Mechanism:
    return lambda database: two_sided_geometric(ratio, sum(map(meets, database)), -window, len(database) + window)


def geometric_histogram(ratio: Fraction, cell_of: Callable[[int], int], cells: int, window: int) -> Mechanism:
    def mechanism(database: tuple[int, ...]) -> Outcomes:
        counts = Counter(map(cell_of, database))
        each = [two_sided_geometric(ratio, counts[cell], -window, len(database) + window) for cell in range(cells)]
        return {
            tuple(output for output, _ in combination): math.prod(probability for _, probability in combination)
            for combination in itertools.product(*(outcomes.items() for outcomes in each))
        }

    return mechanism


def permute_and_flip(ratio: Fraction, cell_of: Callable[[int], int], cells: int) -> Mechanism:
    """Publish a cell with many rows.

    A cell with d rows less than the fullest is accepted with probability ratio^d when visited.
    """

    def mechanism(database: tuple[int, ...]) -> Outcomes:
        counts = Counter(map(cell_of, database))
        best = max(counts.values())
        coin = [ratio ** (best - counts[cell]) for cell in range(cells)]
        outcomes: Outcomes = {cell: Fraction(0) for cell in range(cells)}
        for order in itertools.permutations(range(cells)):
            reached = Fraction(1, math.factorial(cells))
            for cell in order:
                outcomes[cell] += reached * coin[cell]
                reached *= 1 - coin[cell]
        return outcomes

    return mechanism


# ---- data-dependent methods on one numeric attribute
# ----------------------------------------------------------


def mondrian_groups(values: Sequence[int], k: int) -> list[list[int]]:
    """Return Mondrian's groups of positions.

    It cuts at the median while both halves have k rows.
    """

    def cut(positions: list[int]) -> list[list[int]]:
        positions = sorted(positions, key=lambda position: (values[position], position))
        if len(positions) < 2 * k:
            return [positions]
        middle = len(positions) // 2
        return cut(positions[:middle]) + cut(positions[middle:])

    return cut(list(range(len(values))))


def mdav_groups(values: Sequence[int], k: int) -> list[list[int]]:
    """Return MDAV's groups of positions.

    It takes k rows around the row farthest from the mean, then k rows around the row farthest from that.
    """
    rest, groups = list(range(len(values))), []

    def nearest(position: int) -> list[int]:
        return sorted(rest, key=lambda other: (abs(values[other] - values[position]), other))[:k]

    def farthest(center: Fraction) -> int:
        return max(rest, key=lambda position: (abs(values[position] - center), -position))

    while len(rest) >= 2 * k:
        start = farthest(Fraction(sum(values[position] for position in rest), len(rest)))
        group = nearest(start)
        groups.append(group)
        rest = [position for position in rest if position not in group]
        if len(rest) >= 2 * k:
            group = nearest(farthest(Fraction(values[start])))
            groups.append(group)
            rest = [position for position in rest if position not in group]
    return [*groups, rest] if rest else groups


def mondrian(k: int) -> Mechanism:
    """Publish the interval from the least to the largest value of each group."""

    def mechanism(database: tuple[int, ...]) -> Outcomes:
        groups = mondrian_groups(database, k)
        return {tuple(sorted((database[group[0]], database[group[-1]], len(group)) for group in groups)): Fraction(1)}

    return mechanism


def mdav(k: int) -> Mechanism:
    """Publish the mean of each group."""

    def mechanism(database: tuple[int, ...]) -> Outcomes:
        groups = mdav_groups(database, k)
        means = [(Fraction(sum(database[p] for p in group), len(group)), len(group)) for group in groups]
        return {tuple(sorted(means)): Fraction(1)}

    return mechanism


# ---- sampled grids
# --------------------------------------------------------------------------------------------


def binomial(n: int, chance: Fraction, successes: int) -> Fraction:
    return math.comb(n, successes) * chance**successes * (1 - chance) ** (n - successes)


def delta(bound: Fraction, k: int, beta: Fraction, last: int) -> Fraction:
    """Return δ by its definition, over n up to ``last``."""
    gamma = 1 - (1 - beta) / bound
    first = math.ceil(k / gamma - 1)
    return max(
        sum((binomial(n, beta, j) for j in range(n + 1) if j > gamma * n), Fraction(0)) for n in range(first, last + 1)
    )


def sampled_cells(sizes: Sequence[int], beta: Fraction, k: int, publish_dropped: bool) -> Outcomes:
    """Return the distribution of the published counts of a sampled grid.

    Counts are binomial, and 0 below k; with ``publish_dropped`` the number of dropped rows is published too.
    """
    outcomes: Outcomes = {}
    for drawn in itertools.product(*(range(size + 1) for size in sizes)):
        chance = math.prod((binomial(size, beta, j) for size, j in zip(sizes, drawn, strict=True)), start=Fraction(1))
        published = tuple(j if j >= k else 0 for j in drawn)
        output = (published, sum(drawn) - sum(published)) if publish_dropped else published
        outcomes[output] = outcomes.get(output, Fraction(0)) + chance
    return outcomes


def sampled_grid_posterior(
    cells: tuple[int, int], n: int, k: int, beta: Fraction, rho: Fraction, publish_dropped: bool = False
) -> tuple[Fraction, Fraction]:
    """Return the worst posterior within ρ, and the worst excess probability.

    The universe has two cells. Individuals of a cell are exchangeable, so D' is given by how many of its rows lie in
    each cell.
    """
    within, beyond = Fraction(0), Fraction(0)
    for first in range(max(0, n - 1 - cells[1]), min(cells[0], n - 1) + 1):
        known = (first, n - 1 - first)
        candidates = [cells[i] - known[i] for i in (0, 1)]
        likelihoods = [
            sampled_cells([known[i] + (i == world) for i in (0, 1)], beta, k, publish_dropped) for world in (0, 1)
        ]
        for world in (0, 1):
            if not candidates[world]:
                continue
            tail = Fraction(0)
            for output, likelihood in likelihoods[world].items():
                total = sum(candidates[i] * likelihoods[i].get(output, Fraction(0)) for i in (0, 1))
                if likelihood / total > rho:
                    tail += likelihood
                else:
                    within = max(within, likelihood / total)
            beyond = max(beyond, tail)
    return within, beyond


# ---- statistics
# -----------------------------------------------------------------------------------------------


def chi_square_passes(observed: Sequence[int], expected: Sequence[float]) -> bool:
    """Return whether counts fit probabilities at the level 0.001.

    The quantile is the approximation of Wilson and Hilferty.
    """
    total = sum(observed)
    statistic = sum((o - total * e) ** 2 / (total * e) for o, e in zip(observed, expected, strict=True))
    freedom = len(observed) - 1
    quantile = freedom * (1 - 2 / (9 * freedom) + 3.0902 * math.sqrt(2 / (9 * freedom))) ** 3
    return statistic <= quantile


def drop_loss(counts: Sequence[int], losses: Sequence[Fraction], k: int) -> Fraction:
    """Return the loss of a grid release.

    Each row has its cell's loss, or 1 if its cell has fewer than k rows.
    """
    return sum((count * (loss if count >= k else 1) for count, loss in zip(counts, losses, strict=True)), Fraction(0))


def recoding_score(counts: Sequence[int], losses: Sequence[float], k: int, units: int) -> int:
    """Return the score of a grid: minus the loss of its rows in whole units.

    A row in a cell of fewer than k rows loses 1.
    """
    each = [round(loss * units) if count >= k else units for count, loss in zip(counts, losses, strict=True)]
    return -sum(int(count) * unit for count, unit in zip(counts, each, strict=True))
