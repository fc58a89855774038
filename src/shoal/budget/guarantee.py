"""Guarantees of releases and answers, with assumptions and limits.

ρ alone misleads: ρ = 0.1 among a million candidates is ε = 11.6. So a guarantee always carries E, ε and m
with ρ, the assumptions under which it holds, and what it does not promise.

Source: Zhao, Shang and Liu, definitions 2 and 3, read with an intruder who knows every row but one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from shoal.budget.arithmetic import (
    Rational,
    bound_from_rho,
    check_crowd,
    check_integer,
    epsilon,
    format_fraction,
    rho_from_bound,
    round_up,
    sampled_factor,
    sampling_delta,
    to_fraction,
)
from shoal.budget.errors import ParameterError
from shoal.formatting import fixed, significant

_INTRUDER = "The intruder may know every row but one and the method with its parameters, not the random bits."
_CANDIDATES = (
    "At least m = {m} individuals could be the unknown one, and before the release the intruder holds them "
    "equally likely. A declared m that is too small is safe; one that is too large is not."
)
_ATTRIBUTES = (
    "Nothing is promised about attributes: what is true of a whole cell, or of people in general, can be "
    "learnt about a person without identifying the row."
)
_ABSENCE = (
    "Nothing is promised about absence: after the release it can be likelier, or where cells are published certain, "
    "that a particular person is not the unknown one."
)
_PRIOR = "An intruder who already suspects someone can pass rho: the odds grow by at most the factor E = {bound}."
_STRENGTH = "rho = {rho} is not a strong promise by itself: beside m = {m} it stands for epsilon = {epsilon}."

MAX_STATED_DIGITS = 5000
MIN_STATED_BOUND, MAX_STATED_RATE, MAX_STATED_CROWD = Fraction(1001, 1000), Fraction(99, 100), 10_000
"""Parameters of foreign certificates beyond which the exact δ would take too long."""


@dataclass(frozen=True)
class Guarantee:
    """The guarantee of a release or an answer.

    Attributes
    ----------
    kind
        ``population grid``, ``sampled grid`` or ``query``.
    rho
        The highest probability with which the intruder can identify the unknown individual.
    delta
        The probability that the guarantee of ρ fails; 0 if it never does.
    bound
        E: the factor by which the intruder's odds can grow from those of 1/m.
    m
        The number of individuals who could be the unknown one.
    k
        The size of the crowd; ρ ≤ 1/k.
    assumptions
        The conditions under which the guarantee holds, one sentence each.
    not_promised
        What the guarantee does not cover, one sentence each.
    parameters
        Declared numbers that give the figures together with m and k, as exact text.
    """

    kind: str
    rho: Fraction
    delta: Fraction
    bound: Fraction
    m: int
    k: int
    assumptions: tuple[str, ...]
    not_promised: tuple[str, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_crowd(self.rho, self.k)
        if not 0 <= self.delta < 1:
            raise ParameterError("budget.stated-delta-out-of-range", found=format_fraction(self.delta))

    @property
    def epsilon(self) -> float:
        """ε = ln E, for display."""
        return epsilon(self.bound)

    def figures(self) -> dict[str, float]:
        """Return the numbers to display, by their symbols in the papers."""
        rho, delta, bound = float(self.rho), float(self.delta), float(self.bound)
        return {"rho": rho, "delta": delta, "E": bound, "epsilon": self.epsilon, "m": self.m, "k": self.k}

    def to_dict(self) -> dict[str, object]:
        """Return the guarantee as plain values for JSON.

        Fractions are given as text and as decimals.

        Examples
        --------
        >>> plain = query_guarantee("1/20", m=1000, k=5).to_dict()
        >>> plain["rho"], plain["rho_exact"], plain["m"], plain["k"]
        (0.05, '1/20', 1000, 5)
        """
        return {
            "kind": self.kind,
            "rho": float(self.rho),
            "rho_exact": str(round_up(self.rho)),
            "delta": float(self.delta),
            "delta_exact": str(round_up(self.delta)),
            "E": float(self.bound),
            "E_exact": str(round_up(self.bound)),
            "epsilon": self.epsilon,
            "m": self.m,
            "k": self.k,
            "assumptions": list(self.assumptions),
            "not_promised": list(self.not_promised),
            **({"parameters": dict(self.parameters)} if self.parameters else {}),
        }


def population_guarantee(k: int, m: int) -> Guarantee:
    """Return the guarantee ρ = 1/k of a population grid; δ is 0.

    The counts of the universe must have been checked.

    Examples
    --------
    >>> population_guarantee(k=3, m=9).bound
    Fraction(4, 1)
    """
    k, m = check_integer(k, "k", 2), check_integer(m, "m", 2)
    rho = Fraction(1, k)
    bound = bound_from_rho(rho, m) if m > k else Fraction(1)
    return Guarantee(
        kind="population grid",
        rho=rho,
        delta=Fraction(0),
        bound=bound,
        m=m,
        k=k,
        assumptions=(
            _INTRUDER,
            f"Within a cell the intruder holds its candidates equally likely; there are at least k = {k} of "
            "them, because the declared counts of the universe are not larger than the true ones.",
            "The recoding was fixed without looking at the data, and everything published about a row is its cell.",
            "The order of the published rows says nothing.",
            "This is the only population release of this data set.",
        ),
        not_promised=(
            _ATTRIBUTES,
            _ABSENCE,
            "The cell of the unknown row becomes known. An intruder with reasons to suspect one person of a "
            "cell loses none of them: no factor bounds the odds against people of other cells.",
            _STRENGTH.format(rho=format_fraction(rho), m=m, epsilon=fixed(epsilon(bound), 2)),
        ),
    )


def sampled_guarantee(bound: Rational, k: int, beta: Rational, m: int, choice: Rational | None = None) -> Guarantee:
    """Return the guarantee of a sampled grid: ρ except with probability δ.

    Parameters
    ----------
    bound
        The E of the sampled release (its odds factor is E / (1 - β)).
    k
        Cells with fewer sampled rows are dropped; ρ must be at most 1/k.
    beta
        The sampling rate, 0 < β ≤ 1 - 1/E.
    m
        The number of individuals who could be the unknown one.
    choice
        The E that a private choice of the recoding spent; None if the recoding was declared.

    Examples
    --------
    >>> promise = sampled_guarantee(3, k=3, beta="1/4", m=39)
    >>> promise.rho, promise.delta, promise.bound
    (Fraction(2, 21), Fraction(1, 64), Fraction(4, 1))
    """
    factor = sampled_factor(bound, beta)
    recoding = "The recoding was fixed without looking at the data"
    if choice is not None:
        spent = to_fraction(choice, "choice")
        if spent <= 1:
            raise ParameterError("budget.choice-too-small", found=format_fraction(spent))
        factor *= spent
        recoding = (
            f"The recoding was chosen privately, with E = {format_fraction(spent)}, and the sample was drawn afterwards"
        )
    rho = rho_from_bound(factor, m)
    delta = sampling_delta(bound, k, beta)
    return Guarantee(
        kind="sampled grid",
        rho=rho,
        delta=delta,
        bound=factor,
        m=m,
        k=k,
        assumptions=(
            _INTRUDER,
            _CANDIDATES.format(m=m),
            f"Each row was kept independently with probability beta = {format_fraction(to_fraction(beta, 'beta'))}, "
            f"and which "
            "rows were kept is not known from elsewhere.",
            f"{recoding}; everything published about a row is its cell.",
            "Neither the number of rows dropped nor the number sampled is published, and the order of the "
            "rows says nothing.",
        ),
        not_promised=(
            _ATTRIBUTES,
            _ABSENCE,
            f"With probability up to delta = {significant(float(delta), 3)} over the sampling, a release lets the "
            "intruder pass rho.",
            _PRIOR.format(bound=format_fraction(factor)),
            _STRENGTH.format(rho=format_fraction(rho), m=m, epsilon=fixed(epsilon(factor), 2)),
        ),
        parameters={
            name: str(to_fraction(value, name))
            for name, value in (("bound", bound), ("beta", beta), ("choice", choice))
            if value is not None
        },
    )


def stated_guarantee(stated: Mapping[str, Any]) -> Guarantee | None:
    """Return the guarantee that follows from the parameters that are stated.

    None if parameters are not stated, or have values with which the exact figures would take too long. Raises
    ParameterError or LookupError for what no grid states.

    Examples
    --------
    >>> promise = sampled_guarantee(3, k=3, beta="1/4", m=39)
    >>> stated_guarantee(promise.to_dict()) == promise
    True
    """
    if stated["kind"] == "population grid":
        return population_guarantee(stated["k"], stated["m"])
    if stated["kind"] != "sampled grid":
        raise ParameterError("budget.kind-unknown")
    given = stated.get("parameters")
    if given is None or max(map(len, map(str, given.values()))) > MAX_STATED_DIGITS:
        return None
    bound, beta = to_fraction(given["bound"], "bound"), to_fraction(given["beta"], "beta")
    if bound < MIN_STATED_BOUND or beta > MAX_STATED_RATE or stated["k"] > MAX_STATED_CROWD:
        return None
    return sampled_guarantee(bound, stated["k"], beta, stated["m"], given.get("choice"))


def query_guarantee(rho: Rational, m: int, k: int) -> Guarantee:
    """Return the guarantee of one answer under ρ-differential identifiability.

    Examples
    --------
    >>> query_guarantee("1/10", m=100, k=5).bound
    Fraction(11, 1)
    """
    rho = to_fraction(rho, "rho")
    bound = bound_from_rho(rho, m)
    return Guarantee(
        kind="query",
        rho=rho,
        delta=Fraction(0),
        bound=bound,
        m=m,
        k=k,
        assumptions=(
            _INTRUDER,
            _CANDIDATES.format(m=m),
            "The number of rows, the ranges, the cells and the candidates of the query are public: "
            "declared, not taken from the data.",
            "All other answers and releases of this data set are booked in the same ledger.",
        ),
        not_promised=(
            _ATTRIBUTES,
            _ABSENCE,
            _PRIOR.format(bound=format_fraction(bound)),
            _STRENGTH.format(rho=format_fraction(rho), m=m, epsilon=fixed(epsilon(bound), 2)),
        ),
    )
