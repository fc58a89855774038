"""Grid releases: checks, sampling and the private choice of the recoding.

A public function g (the recoding) assigns each individual to a cell; the release publishes cells only. Two releases
have a proof. A *population grid* publishes every row's cell. Its guarantee holds if the declared universe has enough
individuals in each cell. A *sampled grid* samples each row with probability β and drops cells with fewer than k sampled
rows. Its guarantee holds except with probability δ, and needs no knowledge of the universe beyond m. Both hold against
an intruder who knows every row but one.

Two conditions are enforced here. The recoding must not be chosen by looking at the data, unless the choice is private
and booked. The number of dropped sampled rows must stay secret. A release also must not preserve the order of the
rows: sort it by cell.

Sources: Zhao, Shang and Liu, section 3.2; Li, Qardaji and Su, ASIACCS 2012; Bild, Kuhn and Prasser, SafePub,
PoPETs 2018 (private choice of the recoding).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.budget.arithmetic import Rational, check_integer
from shoal.budget.errors import ParameterError, RecodingNotPublicError, UniverseTooSmallError
from shoal.budget.guarantee import Guarantee, population_guarantee
from shoal.budget.mechanisms import best_of
from shoal.budget.sampling import RandomBits, sample_counts

PUBLIC_ORIGINS = ("declared", "private-choice")
"""The origins of a public recoding: a plan written without looking at the data, or a private, booked choice."""


def check_recoding_origin(origin: str) -> None:
    """Raise unless the recoding is public.

    Examples
    --------
    >>> check_recoding_origin("declared")
    """
    if origin not in PUBLIC_ORIGINS:
        raise RecodingNotPublicError("budget.recoding-chosen-from-data")


def population_grid_check(universe_counts: ArrayLike, rows: int, k: int) -> Guarantee:
    """Return the guarantee ρ = 1/k of publishing every row's cell, or raise.

    Every cell that has individuals at all must have at least n - 1 + k of them in the universe. Then at least k
    candidates share the cell of the unknown row, regardless of who the n - 1 known rows are. The rule must hold
    for all declared cells, occupied or not: a rule on the counts of the data would leak.

    Parameters
    ----------
    universe_counts
        For each cell, the declared number of individuals of the universe in it (from a census, for example).
    rows
        n, the number of rows of the table; public.
    k
        The size of the crowd.

    Examples
    --------
    >>> population_grid_check([6, 6], rows=4, k=3).rho
    Fraction(1, 3)
    """
    rows, k = check_integer(rows, "rows", 1), check_integer(k, "k", 2)
    counts = np.asarray(universe_counts)
    if counts.ndim != 1 or not len(counts) or counts.dtype.kind not in "iu" or int(counts.min()) < 0:
        raise ParameterError("budget.universe-counts-invalid")
    inhabited = counts[counts > 0]
    needed = rows - 1 + k
    small_cells = int((inhabited < needed).sum())
    if small_cells or not len(inhabited):
        smallest_count = int(inhabited.min()) if len(inhabited) else 0
        reachable = smallest_count - rows + 1
        advice = (
            f"With k = {reachable} it would hold. " if reachable >= 2 else "No k of 2 or more holds with these cells. "
        )
        raise UniverseTooSmallError(
            "budget.universe-too-small",
            needed=needed,
            small_cells=small_cells,
            cells=len(inhabited),
            smallest=smallest_count,
            advice=advice,
        )
    return population_guarantee(k=k, m=int(inhabited.sum(dtype=object)) - rows + 1)


def sampled_grid_counts(counts: ArrayLike, beta: Rational, k: int, source: RandomBits) -> NDArray[np.int64]:
    """Return the number of published rows of each cell of a sampled grid.

    It is 0 for a dropped cell. The number of rows that were sampled and then dropped must stay secret: publishing it
    voids the bound.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> sampled_grid_counts([2, 3], "1/2", 4, SystemSource()).tolist()
    [0, 0]
    """
    sizes, k = np.asarray(counts), check_integer(k, "k", 1)
    if sizes.ndim != 1 or (len(sizes) and (sizes.dtype.kind not in "iu" or int(sizes.min()) < 0)):
        raise ParameterError("budget.counts-invalid")
    sampled = sample_counts(sizes.astype(np.int64), beta, source)
    sampled[sampled < k] = 0
    return sampled


def drop_loss_sensitivity(k: int) -> int:
    """Return the sensitivity k of the loss of a grid release.

    The sensitivity is for replacing one individual. The loss adds, over the rows, a number in 0 .. 1 that depends on
    the row's cell only, or 1 for a row in a cell of fewer than k. Taking a row out of a cell of k drops the k - 1
    others; putting it elsewhere drops it too. SafePub's k - 1 is for adding or removing a row; replacing one can reach
    k.

    Examples
    --------
    >>> drop_loss_sensitivity(5)
    5
    """
    return check_integer(k, "k", 1)


def choose_recoding(scores: Sequence[int], sensitivity: int, bound: Rational, source: RandomBits) -> int:
    """Choose one of the declared recodings privately; return its position.

    Book ``bound`` before calling, and draw a fresh sample for the release itself.

    Parameters
    ----------
    scores
        One whole number for each candidate, larger is better: its negative loss, for example.
    sensitivity
        The largest change of one score when one individual is replaced; for a loss in whole units it is
        units · :func:`drop_loss_sensitivity`.
    bound
        The pairwise bound E that the choice may spend.

    Examples
    --------
    >>> from shoal.budget.sampling import SystemSource
    >>> choose_recoding([-10**6, 0], drop_loss_sensitivity(5), 4, SystemSource())
    1
    """
    return best_of(scores, sensitivity, bound, source)
