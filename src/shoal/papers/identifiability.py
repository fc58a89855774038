"""Propositions and example of Zhao, Shang and Liu.

"Secure k-anonymization linked with differential identifiability". Everything is computed: propositions by enumeration,
see :mod:`shoal.papers.small_universes`, and the example by releases of a small table.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from shoal.budget.arithmetic import bound_from_rho, compose, compose_as_in_paper
from shoal.budget.mechanisms import calibrate
from shoal.formatting import fixed, number
from shoal.methods import FullDomain, Method, Mondrian
from shoal.models import KAnonymity
from shoal.papers.page import Section
from shoal.papers.small_universes import (
    Mechanism,
    Universe,
    both,
    deterministic_mechanisms,
    has_negative_correlation,
    mixture,
    pairwise_bound,
    post_process,
    posterior_is_mean,
    two_output_mechanisms,
    universes,
    worst_posterior,
)
from shoal.pipeline.run import anonymize
from shoal.plan.plan import Plan
from shoal.risk.release_audits import extreme_values
from shoal.schema import Column, Hierarchy, Role, Schema, Widths

TITLE = "(k, ρ)-anonymization and differential identifiability (Zhao, Shang, Liu)"
INDIVIDUALS = 4
"""All universes of up to so many individuals are enumerated."""
CHANCES = (Fraction(1, 4), Fraction(1, 2))
RANDOM_PAIRS = 40


def sections() -> list[Section]:
    """Return the propositions, the composition, absence, and the example."""
    return [
        _propositions(), _release_and_question(), _random_mechanisms(), _counterexample(), _absence(), _extreme_value(),
    ]  # fmt: skip


@dataclass
class _Count:
    """Cases of a claim, and those in which it holds."""

    cases: int = 0
    true: int = 0

    def add(self, holds: bool) -> None:
        self.cases += 1
        self.true += holds

    def row(self, proposition: str, claim: str, remark: str = "") -> tuple[object, ...]:
        verdict = "always" if self.true == self.cases else "not always" if self.true else "never"
        return proposition, claim, number(self.cases), number(self.true), verdict, remark


def _mechanisms(universe: Universe) -> list[Mechanism]:
    """Return the mechanisms that are enumerated for a universe."""
    found = list(deterministic_mechanisms(universe))
    if universe.individuals <= 3:
        found += two_output_mechanisms(universe, 4)
    return found


def _random_maps(outputs: int) -> Iterator[list[tuple[int, int]]]:
    """Yield the random maps of outputs to two, with chances 0, 1/2 and 1."""
    for first in itertools.product(range(3), repeat=outputs):
        yield [(weight, 2 - weight) for weight in first]


def _propositions() -> Section:
    intruders = {rows: _Count() for rows in range(1, INDIVIDUALS)}
    mixed, mean, processed, composed, explained, repaired = (_Count() for _ in range(6))
    for universe in universes(INDIVIDUALS):
        mechanisms = _mechanisms(universe)
        rhos = [worst_posterior(universe, mechanism) for mechanism in mechanisms]
        for mechanism, rho in zip(mechanisms, rhos, strict=True):
            for unknown in range(1, universe.rows + 1):
                posterior = worst_posterior(universe, mechanism, universe.rows - unknown)
                intruders[unknown].add(posterior <= rho)
            for kernel in _random_maps(len(mechanism[0])):
                processed.add(worst_posterior(universe, post_process(mechanism, kernel)) <= rho)
        for (first, rho_1), (second, rho_2) in itertools.combinations(zip(mechanisms, rhos, strict=True), 2):
            for chance in CHANCES:
                mixed.add(worst_posterior(universe, mixture(first, second, chance)) <= max(rho_1, rho_2))
            joint = worst_posterior(universe, both(first, second))
            printed = joint <= compose_as_in_paper(rho_1, rho_2, universe.m)
            composed.add(printed)
            if not printed:
                explained.add(has_negative_correlation(universe, first, second))
            if universe.individuals <= 3:
                mean.add(posterior_is_mean(universe, first, second, CHANCES[0]))
                bound = pairwise_bound(universe, second)
                if bound is not None and bound > 1:
                    repaired.add(joint <= compose(rho_1, bound))
    rows = [
        count.row(
            "1, 2", f"the ρ of all rows but one holds for an intruder with {unknown} unknown row{'s' * (unknown > 1)}"
        )
        for unknown, count in intruders.items()
    ]
    rows += [
        mixed.row("3", "a mixture of two mechanisms has at most the larger ρ"),
        mean.row("3, proof", "the posterior of a mixture is the mean of its parts' posteriors",
                 "the proof must weigh by the outcome: p·P1(R) / (p·P1(R) + (1-p)·P2(R))"),
        processed.row("4", "post-processing does not raise ρ", "the proof must sum over outcomes mapped together"),
        composed.row("5", "ρ of two mechanisms together is at most ρ1·ρ2·m"),
        explained.row("5, failures", "some outputs are negatively correlated over the candidates",
                      "the proof takes the mean of a product for the product of the means"),
        repaired.row("5, repaired", "odds(ρ) ≤ odds(ρ1) · E2, where the second is bounded pairwise by E2"),
    ]  # fmt: skip
    return Section(
        "Propositions 1 to 5, enumerated",
        ("proposition", "claim", "cases", "held in", "verdict", "remark"),
        rows,
        f"All universes of up to {INDIVIDUALS} individuals with databases of any size; all mechanisms without chance, "
        f"up to the names of outputs, and for up to 3 individuals all mechanisms of two outputs whose chances are "
        f"multiples of 1/4; all pairs of them; mixtures of 1/4 and 1/2; all maps to two outputs with chances 0, 1/2 "
        f"and 1. The arithmetic is exact.",
    )


def _release_and_question() -> Section:
    rows = []
    for rho, m, query in (
        ("1/20", 10_000, "1/2500"),
        ("1/20", 10_000, "19/40015"),
        ("1/10", 100, "1/50"),
        ("1/3", 9, "1/5"),
    ):
        ours = compose(Fraction(rho), bound_from_rho(Fraction(query), m))
        rows.append((rho, number(m), query, compose_as_in_paper(Fraction(rho), Fraction(query), m), ours))
    return Section(
        "Proposition 5: a release of ρ1 and then a question of ρ2",
        ("ρ1", "m", "ρ2", "paper: ρ1·ρ2·m", "repaired"),
        rows,
        "The repaired figure is attained by some mechanism, so it cannot be improved. The paper's is larger, and so "
        "still safe where the second mechanism is bounded pairwise by the E of its ρ2, as shoal's questions are.",
    )


def _random_mechanisms() -> Section:
    """Check Proposition 5 as printed on random mechanisms with full support."""
    universe, dice = Universe(9, 1), random.Random(5)
    rows: list[tuple[object, ...]] = []
    failures: list[str] = []
    for largest in (2, 20, 1000):
        count = _Count()
        correlated = {True: _Count(), False: _Count()}
        for _ in range(RANDOM_PAIRS):
            pair = []
            for _ in range(2):
                weights = [[dice.randint(1, largest) for _ in range(4)] for _ in universe.databases]
                pair.append(tuple(tuple(w * _others(weights, line) for w in line) for line in weights))
            rho_1, rho_2 = (worst_posterior(universe, mechanism) for mechanism in pair)
            joint, printed = worst_posterior(universe, both(*pair)), compose_as_in_paper(rho_1, rho_2, universe.m)
            count.add(joint <= printed)
            correlated[joint <= printed].add(has_negative_correlation(universe, *pair))
            if joint > printed:
                failures.append(
                    f"{fixed(float(joint), 3)} against {fixed(float(printed), 3)} (weights up to {largest})"
                )
        figures = (count.true, correlated[True].true, count.cases - count.true, correlated[False].true)
        rows.append((f"1 to {largest}", count.cases, *figures))
    failed, explained = (sum(int(str(row[at])) for row in rows) for at in (4, 5))
    return Section(
        "Proposition 5 as printed, on random mechanisms",
        ("weights drawn from", "pairs of mechanisms", "held in", "of these negatively correlated", "failed in",
         "of these negatively correlated"),
        rows,
        f"Nine candidates, four outputs, every output possible for every candidate. Negatively correlated: some output "
        f"of the first and some of the second are, over the candidates. A failure requires it, as the proof shows "
        f"({explained} of {failed}); {sum(int(str(row[3])) for row in rows)} of the "
        f"{sum(int(str(row[2])) for row in rows)} pairs that hold have it too. Found by enumeration against ρ1·ρ2·m in "
        f"the failures: {'; '.join(failures) or 'none'}. The next table has larger ones.",
    )  # fmt: skip


def _others(weights: list[list[int]], line: list[int]) -> int:
    """Return the factor that gives all lines of weights the same sum."""
    product = 1
    for other in weights:
        product *= sum(other)
    return product // sum(line)


def _counterexample() -> Section:
    """Two partitions of 100 candidates that agree in one candidate only."""
    universe = Universe(100, 1)
    rows = []
    for truth in (Fraction(1), Fraction(999, 1000), Fraction(99, 100), Fraction(9, 10), Fraction(1, 2)):
        first = _named_blocks([candidate // 10 for candidate in range(100)], truth)
        second = _named_blocks([{0: 20, 20: 0}.get(candidate, candidate) // 20 for candidate in range(100)], truth)
        rhos = [worst_posterior(universe, mechanism) for mechanism in (first, second)]
        printed = compose_as_in_paper(rhos[0], rhos[1], universe.m)
        joint = worst_posterior(universe, both(first, second))
        verdict = "yes" if joint <= printed else "no"
        rows.append((truth, *(fixed(float(rho), 4) for rho in (*rhos, printed, joint)), verdict))
    return Section(
        "Proposition 5 as printed: blocks of 10 and blocks of 20 among 100 candidates",
        ("chance of the true block", "ρ1", "ρ2", "paper: ρ1·ρ2·m", "found by enumeration", "holds"),
        rows,
        "Two candidates have exchanged their blocks of 20, so that one of them is alone in both of its blocks. With "
        "the remaining chance any block is named. Impossible outputs are not the reason: with noise every output is "
        "possible for every candidate.",
    )


def _named_blocks(block: list[int], truth: Fraction) -> Mechanism:
    """Return the mechanism that names the block, or else any block."""
    size = max(block) + 1
    lie = (1 - truth) / size
    scale = (lie.denominator * truth.denominator) if lie else 1
    return tuple(tuple(int(scale * (lie + (truth if output == own else 0))) for output in range(size)) for own in block)


def _absence() -> Section:
    """Return an intruder's highest certainty that a person is absent."""
    universe = Universe(12, 4)
    mechanisms: dict[str, Mechanism] = {"two public blocks of 6": _histogram(universe)}
    for rho in ("1/5", "1/7"):
        noise = calibrate(bound_from_rho(rho, universe.m), 1)
        assert noise.ratio is not None
        mechanisms[f"noisy count of ρ = {rho}"] = _noisy_count(universe, noise.ratio)
    rows = []
    for name, mechanism in mechanisms.items():
        likeliest = Fraction(0)
        for world, suspects in universe.positions[universe.rows - 1]:
            for output in zip(*mechanism, strict=True):
                whole = sum(output[number] for number in world)
                if whole:
                    least = min(sum(output[world[p]] for p in positions) for positions in suspects)
                    likeliest = max(likeliest, 1 - Fraction(least, whole))
        prior = 1 - Fraction(1, universe.m)
        rows.append((name, universe.m, worst_posterior(universe, mechanism), prior, likeliest))
    return Section(
        "Section 3.4: how sure an intruder can be that a person is absent",
        ("mechanism", "m", "ρ", "absence before", "absence after, at most"),
        rows,
        "ρ bounds the probability that a person is the unknown row, and so bounds nothing about absence: a small ρ "
        "among many candidates means that everybody in particular is probably absent, and public blocks exclude "
        "whoever is in another block with certainty. The paper says so in its last paragraph.",
    )


def _histogram(universe: Universe) -> Mechanism:
    """Return the mechanism that counts the rows of the first half."""
    half = universe.individuals // 2
    counts = [sum(person < half for person in database) for database in universe.databases]
    return tuple(tuple(int(count == value) for value in range(universe.rows + 1)) for count in counts)


def _noisy_count(universe: Universe, ratio: Fraction) -> Mechanism:
    """Return a count of the first third with geometric noise, cut at 0 and n."""
    third = universe.individuals // 3
    rows = []
    for database in universe.databases:
        count = sum(person < third for person in database)
        inner = [(1 - ratio) * ratio ** abs(value - count) for value in range(1, universe.rows)]
        rows.append([ratio**count, *inner, ratio ** (universe.rows - count)])
    scale = (ratio.denominator) ** (universe.rows + 1)
    return tuple(tuple(int(scale * weight) for weight in row) for row in rows)


INCOMES = (50, 55, 60, 62, 66, 70, 75, 81, 88, 94, 103, 120, 133, 150)
RICHEST = 210
POSSIBLE = range(210, 500, 10)


def _extreme_value() -> Section:
    rows = []
    for called, hierarchy, method in (
        ("interval from the least to the largest income", None, Mondrian(ranges="exact")),
        ("declared interval of 500K", Widths((500,)), FullDomain()),
    ):
        published = _released((*INCOMES, RICHEST), hierarchy, method)
        left = [income for income in POSSIBLE if _released((*INCOMES, income), hierarchy, method) == published]
        incomes = [*INCOMES, RICHEST]
        low, _, high = published[0].partition("..")
        lower, upper = ([int(end) if end.isdigit() else -1] * len(incomes) for end in (low, high))
        audit = extreme_values(incomes, lower, upper, [0] * len(incomes), len(incomes))
        rows.append((called, published[0], len(published), len(left), Fraction(1, len(left)), audit.flagged))
    return Section(
        "Section 3.1: the one income above 200K",
        (
            "published",
            "interval, in thousands",
            "rows of the group",
            "incomes above 200K that remain possible",
            "probability of the true one",
            "groups that the audit names",
        ),
        rows,
        f"A town of 15 is released with k = 15; the intruder knows that one income is above 200K. The release is "
        f"repeated with each of {len(POSSIBLE)} incomes in its place: those that give the same table remain possible. "
        f"An interval that is computed from the data ends at somebody's value. The audits `extreme values` and "
        f"`locality` of `shoal attack` look for this; grids that are declared beforehand pass them.",
    )


def _released(incomes: tuple[int, ...], hierarchy: Hierarchy | None, method: Method) -> list[str]:
    """Return the published incomes, in thousands, of a release with k = 15."""
    import pyarrow as pa

    schema = Schema({"income": Column(Role.QUASI_IDENTIFIER, hierarchy)})
    release = anonymize(pa.table({"income": incomes}), Plan(schema, (KAnonymity(15),), method))
    return [str(label) for label in release.table["income"].to_pylist()]
