"""Individual risk: probability of a correct link to a row of a sample.

Of F_j people of the population who share a row's quasi-identifiers, f_j are in the table. F_j is unknown. Given f_j,
it is modelled as negative binomial (f_j successes, each of probability p_j = f_j / F̂_j, where F̂_j is the sum of the
sampling weights), and the risk is the expectation of 1/F_j:

    r_j = E[1/F_j | f_j] = ∫₀¹ v^(f-1) / (1 + c v) dv,   c = (1 - p) / p

Benedetti and Franconi, "Statistical and technological solutions for controlled data dissemination", 1998; the closed
forms are in Capobianchi, Polettini and Lucarelli, "Strategy for the implementation of individual risk methodology into
SDC", 2001. The integral follows from their hypergeometric form p^f / f · ₂F₁(f, f; f+1; 1-p).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import PlanError

_SERIES_TERMS = 64  # where the series is used, its terms fall at least like 2^-n
_MIN_SERIES_ROWS = 40


def individual_risk(sample: npt.NDArray[np.int64], population: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the individual risk of each group.

    Parameters
    ----------
    sample
        int64 (g,): f_j, rows of the group.
    population
        float64 (g,): F̂_j, the estimated number of people that the group represents; at least f_j.

    Returns
    -------
    float64 (g,): between 1/F̂_j and 1/f_j. Time g.

    Examples
    --------
    The first table of the SDC practice guide's chapter on risk: weights 360, 215 and 152.

    >>> np.round(individual_risk(np.array([2, 1, 2]), np.array([360.0, 215.0, 152.0])), 4).tolist()
    [0.0054, 0.0251, 0.0126]
    """
    f = np.asarray(sample, np.float64)
    whole = np.asarray(population, np.float64)
    if len(f) != len(whole) or (f < 1).any() or not (whole >= f * (1 - 1e-12)).all():
        raise PlanError("attack.weights-below-one")
    p = np.minimum(f / whole, 1.0)
    risk = np.empty_like(f)
    # p/f · Σ n! / ((f+1)(f+2)...(f+n)) · (1-p)^n: all terms positive, fast for p >= 1/2 or large f
    series = (p >= 0.5) | (f >= _MIN_SERIES_ROWS)
    term = np.ones(int(series.sum()))
    total = term.copy()
    for n in range(1, _SERIES_TERMS + 1):
        term = term * n / (f[series] + n) * (1 - p[series])
        total += term
    risk[series] = p[series] / f[series] * total
    # else r_f = (1/(f-1) - r_(f-1)) / c from r_1 = ln(1 + c)/c: its error does not grow, for c > 1
    rest = ~series
    c = (1 - p[rest]) / p[rest]
    current = np.log1p(c) / c
    wanted = f[rest]
    result = current.copy()
    for step in range(2, _MIN_SERIES_ROWS):
        current = (1 / (step - 1) - current) / c
        result = np.where(wanted == step, current, result)
    risk[rest] = result
    return risk
