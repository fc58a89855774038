"""Mechanisms on small universes, enumerated: evidence on the propositions.

A universe has a few individuals, and a database is a set of n of them. A mechanism gives each database a weight for
every output, as whole numbers with a common sum, so that all comparisons are exact. The intruder knows the universe, n,
and some rows of the database, and holds all databases with these rows for equally likely. This is the model of Zhao,
Shang and Liu, "Secure k-anonymization linked with differential identifiability", sections 2 and 3, for an intruder who
knows all rows but one; their propositions are checked for other intruders too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

Mechanism = tuple[tuple[int, ...], ...]
"""A row of weights for each database, one weight for each output."""


@dataclass(frozen=True)
class Universe:
    """The databases of ``rows`` among ``individuals``."""

    individuals: int
    rows: int

    @cached_property
    def databases(self) -> list[tuple[int, ...]]:
        """Return all databases."""
        return list(itertools.combinations(range(self.individuals), self.rows))

    @property
    def m(self) -> int:
        """Return the number of candidates for the unknown individual."""
        return self.individuals - self.rows + 1

    def worlds(self, known: int) -> list[list[int]]:
        """Return the databases that remain possible for each set of known rows."""
        return [
            [number for number, database in enumerate(self.databases) if set(rows) <= set(database)]
            for rows in itertools.combinations(range(self.individuals), known)
        ]

    def suspects(self, known: int) -> list[list[list[int]]]:
        """Return, for each world and unknown individual, the databases with it."""
        return [
            [
                [position for position, number in enumerate(world) if person in self.databases[number]]
                for person in range(self.individuals)
                if person not in rows
            ]
            for rows, world in zip(
                itertools.combinations(range(self.individuals), known), self.worlds(known), strict=True
            )
        ]

    @cached_property
    def positions(self) -> dict[int, list[tuple[list[int], list[list[int]]]]]:
        """Return worlds with their suspects, by the number of known rows."""
        return {known: list(zip(self.worlds(known), self.suspects(known), strict=True)) for known in range(self.rows)}


def universes(individuals: int) -> list[Universe]:
    """Return all universes of up to a number of individuals."""
    return [Universe(size, rows) for size in range(2, individuals + 1) for rows in range(1, size)]


def worst_posterior(universe: Universe, mechanism: Mechanism, known: int | None = None) -> Fraction:
    """Return the highest probability of an individual, given rows and output.

    By default all rows but one are known: then it is the ρ of differential identifiability.
    """
    best, total = 0, 1
    outputs = list(zip(*mechanism, strict=True))
    for world, suspects in universe.positions[universe.rows - 1 if known is None else known]:
        for output in outputs:
            weights = [output[number] for number in world]
            whole = sum(weights)
            if whole:
                likely = max(sum(weights[position] for position in positions) for positions in suspects)
                if likely * total > best * whole:
                    best, total = likely, whole
    return Fraction(best, total)


def pairwise_bound(universe: Universe, mechanism: Mechanism) -> Fraction | None:
    """Return the largest ratio of an output's likelihoods for two candidates.

    None where an output is possible for some candidate and impossible for another.
    """
    bound = Fraction(1)
    for world in universe.worlds(universe.rows - 1):
        for output in zip(*mechanism, strict=True):
            weights = [output[number] for number in world]
            if any(weights):
                if not all(weights):
                    return None
                bound = max(bound, Fraction(max(weights), min(weights)))
    return bound


def deterministic_mechanisms(universe: Universe) -> Iterator[Mechanism]:
    """Yield every mechanism without chance, up to the names of its outputs."""
    size = len(universe.databases)

    def extend(labels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if len(labels) == size:
            yield labels
            return
        for label in range(max(labels, default=-1) + 2):
            yield from extend((*labels, label))

    for labels in extend(()):
        yield tuple(tuple(int(label == output) for output in range(max(labels) + 1)) for label in labels)


def two_output_mechanisms(universe: Universe, parts: int) -> Iterator[Mechanism]:
    """Yield every mechanism of two outputs with chances of n/parts."""
    for first in itertools.product(range(parts + 1), repeat=len(universe.databases)):
        yield tuple((weight, parts - weight) for weight in first)


def mixture(first: Mechanism, second: Mechanism, chance: Fraction) -> Mechanism:
    """Return the mechanism that gives the output of one of two others.

    That of the first with probability ``chance``.
    """
    one, two = chance.numerator * sum(second[0]), (chance.denominator - chance.numerator) * sum(first[0])
    return tuple(
        tuple(one * a + two * b for a, b in itertools.zip_longest(row, other, fillvalue=0))
        for row, other in zip(first, second, strict=True)
    )


def both(first: Mechanism, second: Mechanism) -> Mechanism:
    """Return the mechanism with the independent outputs of two others."""
    return tuple(tuple(a * b for a in row for b in other) for row, other in zip(first, second, strict=True))


def post_process(mechanism: Mechanism, kernel: Sequence[Sequence[int]]) -> Mechanism:
    """Return the mechanism with outputs replaced at random.

    ``kernel[i][j]`` is the weight with which output i becomes output j.
    """
    return tuple(
        tuple(sum(weight * line[j] for weight, line in zip(row, kernel, strict=True)) for j in range(len(kernel[0])))
        for row in mechanism
    )


def posterior_is_mean(universe: Universe, first: Mechanism, second: Mechanism, chance: Fraction) -> bool:
    """Return whether posteriors of a mixture are the means of its parts'.

    The proof of Proposition 3 assumes it for every output.
    """
    mixed = mixture(first, second, chance)
    for world in universe.worlds(universe.rows - 1):
        for one, two, mean in zip(*(list(zip(*part, strict=True)) for part in (first, second, mixed)), strict=False):
            totals = [sum(column[number] for number in world) for column in (one, two, mean)]
            if all(totals):
                for number in world:
                    parts = chance * Fraction(one[number], totals[0]) + (1 - chance) * Fraction(two[number], totals[1])
                    if parts != Fraction(mean[number], totals[2]):
                        return False
    return True


def has_negative_correlation(universe: Universe, first: Mechanism, second: Mechanism) -> bool:
    """Return whether two outputs are negatively correlated.

    The correlation is over the candidates. The proof of Proposition 5 replaces the mean of a product by the product of
    means, which is too small only there.
    """
    for world in universe.worlds(universe.rows - 1):
        for one in zip(*first, strict=True):
            for two in zip(*second, strict=True):
                product = sum(one[number] * two[number] for number in world)
                if product and product * len(world) < sum(one[n] for n in world) * sum(two[n] for n in world):
                    return True
    return False
