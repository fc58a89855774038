"""Estimates of population uniques from sample uniques.

The input is always the sizes of the table's groups. Of n rows in u groups, c_i is the number of groups of i rows; the
population has N people, and π = n/N of them are in the table.

* **Zayatz** takes the table's group sizes for the population's: Zayatz, "Estimation of the percent of unique population
  elements on a microdata file using the sample", 1991.
* **SNB**, slide negative binomial: F = 1 + X for X negative binomial (α, β), in K groups (Shlosser's estimate). The
  expected c_1 and c_2 give α and β. Chen and Keller-McNulty, "Estimation of identification disclosure risk in
  microdata", Journal of Official Statistics 14, 1998; K: Haas and Stokes, JASA 93, 1998.
* **Pitman**: group sizes from the two-parameter (θ, α) sampling formula, fitted by maximum likelihood. Hoshino,
  "Applying Pitman's sampling formula to microdata disclosure risk assessment", Journal of Official Statistics 17, 2001.
* **Dankar**'s rule chooses among them: Pitman for π <= 0.1, else the smaller of Zayatz and SNB. Dankar, El Emam,
  Neisa and Roffey, "Estimating the re-identification risk of clinical data sets", BMC Medical Informatics 12, 2012.

An estimate that does not exist (SNB often has none) is None, never a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError

Sizes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Uniqueness:
    """Sample uniques, and estimates of the population uniques.

    Attributes
    ----------
    sample_uniques
        Rows that are alone in their group.
    fraction
        π, the part of the population that is in the table.
    zayatz, snb, pitman, dankar
        Estimated numbers of unique people; None where the estimator has none.
    chosen
        The estimator that Dankar's rule chose.
    correct_match
        The probability that a unique match with a unique row is correct (the DIS score of Skinner and Elliot).
    """

    rows: int
    sample_uniques: int
    fraction: float
    zayatz: float
    snb: float | None
    pitman: float
    dankar: float
    chosen: str
    correct_match: float

    def to_dict(self) -> dict[str, float | int | str | None]:
        """Return the estimates for JSON, with shares of rows and population."""
        people = self.rows / self.fraction
        return {
            "sample_uniques": self.sample_uniques,
            "sample_uniques_share": self.sample_uniques / self.rows,
            "sampling_fraction": self.fraction,
            "population_uniques_zayatz": self.zayatz,
            "population_uniques_snb": self.snb,
            "population_uniques_pitman": self.pitman,
            "population_uniques": self.dankar,
            "population_uniques_share": self.dankar / people,
            "estimator": self.chosen,
            "correct_match": self.correct_match,
        }


def population_uniques(sizes: Sizes, fraction: float) -> Uniqueness:
    """Compute all estimates, and choose one by Dankar's rule.

    Parameters
    ----------
    sizes
        int64 (g,): rows of each group.
    fraction
        π, above 0 and at most 1. At 1 the table is the population, and the sample's uniques are its uniques.

    Examples
    --------
    >>> answer = population_uniques(np.array([1] * 50 + [2] * 20 + [5] * 10), 0.05)
    >>> answer.chosen, round(answer.dankar)
    ('pitman', 84)
    """
    if not 0 < fraction <= 1:
        raise PlanError("check.sampling-fraction-out-of-range", found=fraction)
    sizes = np.asarray(sizes, np.int64)
    uniques = int((sizes == 1).sum())
    by_zayatz = zayatz(sizes, fraction)
    by_snb = slide_negative_binomial(sizes, fraction)
    by_pitman = pitman(sizes, fraction)
    if fraction <= 0.1:
        chosen, estimate = "pitman", by_pitman
    elif by_snb is None or by_zayatz < by_snb:
        chosen, estimate = "zayatz", by_zayatz
    else:
        chosen, estimate = "snb", by_snb
    return Uniqueness(
        int(sizes.sum()),
        uniques,
        fraction,
        by_zayatz,
        by_snb,
        by_pitman,
        estimate,
        chosen,
        dis_score(sizes, fraction),
    )


def dis_score(sizes: Sizes, fraction: float) -> float:
    """Return the probability that a unique match is correct (DIS score).

    It is π c_1 / (π c_1 + 2 (1 - π) c_2), and 0 where no row is unique.

    Skinner and Elliot, "A measure of disclosure risk for microdata", Journal of the Royal Statistical Society B 64,
    2002: numerator and denominator are unbiased for the unique rows, and for the people who share their values.

    >>> dis_score(np.array([1, 1, 1, 1, 2, 2, 2]), 0.5)
    0.4
    """
    ones, twos = int((sizes == 1).sum()), int((sizes == 2).sum())
    return fraction * ones / (fraction * ones + 2 * (1 - fraction) * twos) if ones else 0.0


def zayatz(sizes: Sizes, fraction: float) -> float:
    """Return Zayatz's estimate of the population uniques.

    It is the sum over unique rows of Pr(unique in the population), scaled up by 1/π.

    >>> round(zayatz(np.array([1, 1, 1, 2, 2, 4]), 0.5), 4)
    3.2192
    """
    rows = int(sizes.sum())
    people = max(round(rows / fraction), rows)
    size, groups = np.unique(sizes, return_counts=True)
    if size[0] != 1:
        return 0.0
    # Pr(one of i is drawn) when n of N are drawn without replacement
    drawn = np.asarray([_drawn_once(int(i), rows, people) for i in size])
    unique = groups[0] * drawn[0] / (groups @ drawn)
    return float(groups[0] * unique / fraction)


def _drawn_once(size: int, rows: int, people: int) -> float:
    """Return i · C(N-i, n-1) / C(N, n)."""
    if people - size < rows - 1:
        return 0.0
    log = (
        math.lgamma(people - size + 1) - math.lgamma(rows) - math.lgamma(people - size - rows + 2)
        - math.lgamma(people + 1) + math.lgamma(rows + 1) + math.lgamma(people - rows + 1)
    )  # fmt: skip
    return size * math.exp(log)


def shlosser(sizes: Sizes, fraction: float) -> float:
    """Return Shlosser's estimate of the number of groups in the population.

    The form is the one that Haas and Stokes recommend.
    """
    size, groups = np.unique(sizes, return_counts=True)
    i, c = size.astype(np.float64), groups.astype(np.float64)
    q = fraction
    ones = float(c[i == 1].sum())
    upper = (i * q**2 * (1 - q**2) ** (i - 1)) @ c
    lower = ((1 - q) ** i * ((1 + q) ** i - 1)) @ c
    left = ((1 - q) ** i) @ c
    once = (i * q * (1 - q) ** (i - 1)) @ c
    if not ones or lower <= 0 or once <= 0:
        return float(len(sizes))
    return float(len(sizes) + ones * (upper / lower) * (left / once) ** 2)


def slide_negative_binomial(sizes: Sizes, fraction: float) -> float | None:
    """Return the SNB estimate K β^α of the population uniques.

    None where no α > 0 and 0 < β < 1 give the expected c_1 and c_2. Where several (α, β) do, the largest estimate is
    taken.
    """
    ones, twos = int((sizes == 1).sum()), int((sizes == 2).sum())
    if not ones:
        return 0.0
    if fraction == 1:
        return float(ones)
    if not twos:
        return None
    groups = shlosser(sizes, fraction)
    return max((groups * beta**alpha for alpha, beta in fit_snb(ones, twos, groups, fraction)), default=None)


def fit_snb(ones: float, twos: float, groups: float, fraction: float) -> list[tuple[float, float]]:
    """Return all (α, β) with the expected c_1 and c_2 of K SNB groups.

    0 < π < 1. With d = (1 - π)(1 - β), the ratio of the two expectations does not depend on K and gives α for each β as
    the positive root of a quadratic. The remaining equation in β is solved by finding sign changes on a grid and
    bisecting.
    """

    def alpha(beta: float) -> float:
        d = (1 - fraction) * (1 - beta)
        ratio = 2 * (twos / ones) * (1 - d) / (fraction * (1 - beta))
        linear = 2 - d - ratio * d
        root = math.sqrt(linear**2 + 4 * d * ratio * (1 - d))
        # the form without cancellation
        return 2 * ratio * (1 - d) / (linear + root) if linear > 0 else (root - linear) / (2 * d)

    def excess(beta: float) -> float:
        a, d = alpha(beta), (1 - fraction) * (1 - beta)
        log = math.log(groups * fraction) + a * math.log(beta / (1 - d)) + math.log1p(a * d / (1 - d))
        return log - math.log(ones)

    grid = [1 / (1 + math.exp(16 - 0.08 * step)) for step in range(401)]  # β from 1e-7 to 1 - 1e-7
    signs = [excess(beta) for beta in grid]
    roots = [
        _bisect(excess, low, high)
        for low, high, left, right in zip(grid[:-1], grid[1:], signs[:-1], signs[1:], strict=True)
        if left == 0 or left * right < 0
    ]
    return [(alpha(beta), beta) for beta in roots]


def pitman(sizes: Sizes, fraction: float) -> float:
    """Return the expected population uniques under Pitman's formula.

    They are N Γ(θ+1) Γ(θ+α+N-1) / (Γ(θ+α) Γ(θ+N)), at the maximum likelihood (θ, α).

    Hoshino gives its limit Γ(θ+1)/Γ(θ+α) N^α; this is exact for every N, and for α = 0 it is Ewens' formula. The
    likelihood is maximized by bisection: for each α the θ where its derivative is 0, and then the α.
    """
    rows, groups = int(sizes.sum()), len(sizes)
    people = max(rows / fraction, float(rows))
    if not (sizes == 1).any():
        return 0.0
    if groups == rows:  # the likelihood is monotone up to α = 1, where everyone is unique
        return people
    theta, alpha = fit_pitman(sizes)
    log = (
        math.log(people) + math.lgamma(theta + 1) + math.lgamma(theta + alpha + people - 1)
        - math.lgamma(theta + alpha) - math.lgamma(theta + people)
    )  # fmt: skip
    return min(math.exp(log), people)


def fit_pitman(sizes: Sizes) -> tuple[float, float]:
    """Return the maximum likelihood (θ, α), 0 <= α < 1, in time g log g.

    At least one group must have one row, and one must have more.
    """
    rows, groups = int(sizes.sum()), len(sizes)
    size, times = np.unique(sizes[sizes > 1], return_counts=True)

    def theta(alpha: float) -> float:
        if groups == 1:
            return -alpha

        def slope(t: float) -> float:
            first = (_digamma(t / alpha + groups) - _digamma(t / alpha + 1)) / alpha if alpha else (groups - 1) / t
            return first - (_digamma(t + rows) - _digamma(t + 1))

        low = -alpha + 1e-12 * (1 + alpha)
        high = 1.0
        while slope(high) > 0:
            high *= 4
            if high > 1e15:
                break
        return _bisect(slope, low if alpha else 1e-12, high)

    def climb(alpha: float) -> float:
        t = theta(alpha)
        # Σ i / (θ + iα) = (u - 1)/α - θ/α Σ 1/(θ + iα)
        first = (groups - 1) / alpha - t / alpha**2 * (_digamma(t / alpha + groups) - _digamma(t / alpha + 1))
        inner = sum(
            int(count) * (_digamma(int(value) - alpha) - _digamma(1 - alpha))
            for value, count in zip(size, times, strict=True)
        )
        return float(first - inner)

    least = 1e-6
    if climb(least) <= 0:
        return theta(0.0), 0.0
    alpha = _bisect(climb, least, 1 - 1e-12)
    return theta(alpha), alpha


def _bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function changes its sign, to the last bits."""
    sign = function(low) > 0
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if (function(middle) > 0) == sign:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _digamma(x: float) -> float:
    """Return ψ(x) for x > -1, x ≠ 0.

    It uses recurrence and the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18).
    """
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    y = 1 / (x * x)
    tail = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    return shift + math.log(x) - 0.5 / x - tail
