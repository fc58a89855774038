"""Propositions and example of Zhao, Shang and Liu.

"Secure k-anonymization linked with differential identifiability".
"""

from __future__ import annotations

from fractions import Fraction

from shoal.budget.arithmetic import bound_from_rho, compose, compose_as_in_paper
from shoal.papers.page import Section

TITLE = "(k, ρ)-anonymization and differential identifiability (Zhao, Shang, Liu)"


def sections() -> list[Section]:
    """Return the propositions, the composition, and the example.

    The example is that of section 3.1. All of it is arithmetic.
    """
    return [_propositions(), _composition(), _extreme_value()]


def _propositions() -> Section:
    return Section(
        "Propositions 1 to 5",
        ("proposition", "holds", "remark"),
        [
            ("1, 2", "yes", "for an intruder who knows all rows but one; not for one who knows less"),
            ("3 (mixtures)", "yes", "the proof must weigh by the outcome: p·P1(R) / (p·P1(R) + (1-p)·P2(R))"),
            ("4 (post-processing)", "yes", "the proof must sum over the outcomes that are mapped together"),
            ("5 (composition)", "no", "false for a general second mechanism; true, and sharper, for one bounded "
             "pairwise: odds(ρ) = odds(ρ1) · E2"),
        ],
        "Checked by enumerating every small universe with exact fractions (tests/reference/identifiability.py).",
    )  # fmt: skip


def _composition() -> Section:
    rows = []
    for rho, m, query in (
        ("1/20", 10_000, "1/2500"),
        ("1/20", 10_000, "19/40015"),
        ("1/10", 100, "1/50"),
        ("1/3", 9, "1/5"),
    ):
        ours = compose(Fraction(rho), bound_from_rho(Fraction(query), m))
        rows.append((rho, f"{m:,}", query, compose_as_in_paper(Fraction(rho), Fraction(query), m), ours))
    return Section(
        "Proposition 5: a release of ρ1 and then a question of ρ2",
        ("ρ1", "m", "ρ2", "paper: ρ1·ρ2·m", "repaired"),
        rows,
        "The repaired figure is attained by some mechanism, so it cannot be improved; the paper's is larger "
        "and so still safe "
        "where the second mechanism is bounded pairwise.",
    )


def _extreme_value() -> Section:
    crowd = 15
    return Section(
        "Section 3.1: the one income above 200K",
        ("what the intruder sees", "probability of finding the person"),
        [
            (f"a group of {crowd} with a public interval [0, 500K]", Fraction(1, crowd)),
            (f"a group of {crowd} published as [50K, 210K], whose end is someone's income", Fraction(1)),
        ],
        "An interval that is computed from the data ends at someone's value. The audits `extreme values` and "
        "`locality` of "
        "`shoal attack` look for this; grids that are declared beforehand pass them.",
    )
