"""pMSE: propensity score mean squared error of a release.

Rows of both tables are pooled, and a logistic regression predicts from which table each row is. If the release is as
good as the original, the model can only predict c, the share of released rows, for every row: the mean squared distance
of its predictions from c is 0, or about its expectation under no difference; at worst it is c (1 - c).

Woo, Reiter, Oganian and Karr, "Global measures of data utility for microdata masked for disclosure limitation", Journal
of Privacy and Confidentiality 1, 2009; the expectation: Snoke, Raab, Nowok, Dibben and Slavkovic, "General and specific
utility measures for synthetic data", JRSS A 181, 2018. Generalized values are drawn from the values that they cover, by
a seed; predictors are the cells of all columns (main effects).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.utility.label_distributions import ColumnReading, draw_rows

MAX_ROWS = 50_000
RIDGE = 1e-8


@dataclass(frozen=True)
class Propensity:
    """pMSE, its expectation without a difference, and their ratio.

    A ratio of 1 means that no difference is detected.
    """

    pmse: float
    expected: float
    worst: float

    @property
    def ratio(self) -> float:
        """pMSE over its expectation; 0 where the tables cannot differ."""
        return self.pmse / self.expected if self.expected else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return the figures for JSON."""
        return {"pmse": self.pmse, "expected": self.expected, "ratio": self.ratio, "worst": self.worst}


def propensity(columns: Sequence[ColumnReading], seed: int = 0) -> Propensity:
    """Fit the propensity model and compute its pMSE.

    Cost of a step: rows times pairs of columns, and all cells cubed. At most 50,000 rows of each table are used, drawn
    by the seed.
    """
    random = np.random.default_rng(seed)
    before_rows = _sample_rows(len(columns[0].original), random)
    after_rows = _sample_rows(len(columns[0].released), random)
    before = np.stack([column.original[before_rows] for column in columns], axis=1)
    after = draw_rows(columns, random, after_rows)
    cells = np.concatenate([before, after])
    from_release = np.r_[np.zeros(len(before)), np.ones(len(after))]
    share = len(after) / len(cells)
    predicted, parameters = fit_logistic(cells, from_release)
    pmse = float(((predicted - share) ** 2).mean())
    expected = (parameters - 1) * (1 - share) ** 2 * share / len(cells)
    return Propensity(pmse, expected, share * (1 - share))


def _sample_rows(rows: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
    if rows <= MAX_ROWS:
        return np.arange(rows, dtype=np.int64)
    return np.sort(random.choice(rows, MAX_ROWS, replace=False)).astype(np.int64)


def fit_logistic(cells: npt.NDArray[np.int32], outcome: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], int]:
    """Fit a logistic regression on cells; return predictions and size.

    The second result is the number of parameters. Predictors are a constant and, for each column, an indicator of every
    occurring cell but the first. The design matrix is never materialized: sums over rows are counts by cell and by pair
    of cells. Newton's steps are halved where the likelihood would fall; a tiny ridge keeps the weights of separable
    tables finite.

    >>> predicted, parameters = fit_logistic(np.array([[0], [0], [7], [7]], np.int32), np.array([0.0, 1, 1, 1]))
    >>> predicted.round(2).tolist(), parameters
    ([0.5, 0.5, 1.0, 1.0], 2)
    """
    coded = [np.unique(column, return_inverse=True) for column in cells.T]
    sizes = [len(present) for present, _ in coded]
    codes = [code.reshape(-1) for _, code in coded]
    start = 1 + np.cumsum([0, *sizes])
    free = np.ones(start[-1], np.bool_)
    free[start[:-1]] = False
    ridge = RIDGE * len(cells)
    weights = np.zeros(start[-1])
    predicted = np.full(len(cells), 0.5)
    likelihood = -np.inf
    for _ in range(100):
        gradient = _gradient(codes, sizes, outcome - predicted) - ridge * weights
        curvature = _curvature(codes, sizes, start, predicted * (1 - predicted)) + ridge * np.eye(start[-1])
        step = np.zeros_like(weights)
        step[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        size, before = 1.0, likelihood
        while True:
            tried = weights + size * step
            score = np.full(len(cells), tried[0])
            for column, code in enumerate(codes):
                score += tried[start[column] + code]
            likelihood = float(outcome @ score - np.logaddexp(0, score).sum() - ridge * (tried @ tried) / 2)
            if likelihood >= before or size < 1e-6:
                break
            size /= 2
        weights, predicted = tried, 1 / (1 + np.exp(-np.clip(score, -700, 700)))
        if likelihood - before < 1e-10 * (1 + abs(likelihood)):
            break
    return predicted, int(free.sum())


def _gradient(
    codes: Sequence[npt.NDArray[np.int64]], sizes: Sequence[int], rest: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    parts = [np.bincount(code, weights=rest, minlength=size) for code, size in zip(codes, sizes, strict=True)]
    return np.concatenate([[rest.sum()], *parts])


def _curvature(
    codes: Sequence[npt.NDArray[np.int64]],
    sizes: Sequence[int],
    start: npt.NDArray[np.int64],
    weight: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Return Σ weight · x xᵀ over rows.

    The first row and column, of the constant, are sums by cell; the others are sums by pair of cells.
    """
    whole = np.zeros((start[-1], start[-1]))
    whole[0, 0] = weight.sum()
    for i, (one, size) in enumerate(zip(codes, sizes, strict=True)):
        alone = np.bincount(one, weights=weight, minlength=size)
        mine = slice(start[i], start[i + 1])
        whole[0, mine] = whole[mine, 0] = alone
        whole[mine, mine] = np.diag(alone)
        for j in range(i):
            both = np.bincount(one * sizes[j] + codes[j], weights=weight, minlength=size * sizes[j])
            other = slice(start[j], start[j + 1])
            whole[mine, other] = both.reshape(size, sizes[j])
            whole[other, mine] = whole[mine, other].T
    return whole
