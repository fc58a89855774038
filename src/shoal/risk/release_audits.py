"""Audits of the making of a release: disclosure about single rows.

k-anonymity looks at the released table only. An intruder also knows how it was made. These audits examine the making:
whether the published values of a row depend on other rows (locality), whether published values are from the declared
grid, whether the end of an interval discloses a rare value, and which crowd remains in the intersection of two
releases.

They work on arrays: one entry for each row, published values as integer codes or text.

Sources: Zhao, Shang and Liu, section 3.1 (extreme values) and 3.4 (two crowds); Gehrke, Hay, Lui and Pass,
Crowd-blending privacy, 2012; Ganta, Kasiviswanathan and Smith, Composition attacks, KDD 2008 (intersection).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.budget.arithmetic import Rational, check_integer, format_fraction, to_fraction
from shoal.budget.errors import ParameterError

Columns = Sequence[NDArray[Any]]
"""Published table: one array for each column, rows in the order of the source."""


@dataclass(frozen=True)
class Locality:
    """Numbers of rows published in both runs, and of those that changed.

    Both are summed over all reruns.
    """

    compared: int
    changed: int

    @property
    def holds(self) -> bool:
        """Return whether no row's published values depended on other rows."""
        return self.changed == 0


def changed_rows(before: Columns, after: Columns) -> NDArray[np.bool_]:
    """Return the rows with different values in two published tables.

    The tables are aligned.

    A missing value equals a missing value.

    Examples
    --------
    >>> changed_rows([np.array(["2*", "3*"])], [np.array(["2*", "30"])]).tolist()
    [False, True]
    """
    if len(before) != len(after) or any(len(one) != len(two) for one, two in zip(before, after, strict=False)):
        raise ParameterError("compare.tables-not-aligned")
    changed = np.zeros(len(before[0]) if len(before) else 0, dtype=np.bool_)
    for one, two in zip(before, after, strict=True):
        differ = np.asarray(one != two, dtype=np.bool_)
        both_missing = np.asarray((one != one) & (two != two), dtype=np.bool_)  # NaN is unequal to itself
        changed |= differ & ~both_missing
    return changed


def locality(
    publish: Callable[[NDArray[np.int64]], tuple[Columns, NDArray[np.bool_]]],
    rows: int,
    generator: np.random.Generator,
    runs: int = 3,
    share: Rational = "4/5",
) -> Locality:
    """Rerun a method on random subsets, and count rows that change.

    This is the decisive audit. A public recoding publishes a row in the same way regardless of the other rows; a
    recoding that depends on the data, such as Mondrian's or MDAV's, lets the intruder infer which individual is in the
    table.

    Parameters
    ----------
    publish
        Takes row numbers in ascending order, runs the method on these rows alone, and returns for each of
        them the published values (an array for each column) and whether it was published at all.
    rows
        The number of rows of the table.
    generator
        Chooses the subsets; it need not be secret.
    runs
        The number of subsets.
    share
        The size of a subset, as a share of the rows.

    Examples
    --------
    >>> ages = np.array([23, 27, 31, 38, 44])
    >>> def decades(chosen):
    ...     return [ages[chosen] // 10], np.ones(len(chosen), dtype=bool)
    >>> def mean_age(chosen):
    ...     return [np.full(len(chosen), ages[chosen].mean())], np.ones(len(chosen), dtype=bool)
    >>> locality(decades, 5, np.random.default_rng(1)).holds
    True
    >>> locality(mean_age, 5, np.random.default_rng(1)).holds
    False
    """
    rows, runs, share = check_integer(rows, "rows", 1), check_integer(runs, "runs", 1), to_fraction(share, "share")
    if not 0 < share < 1:
        raise ParameterError("attack.share-out-of-range", found=format_fraction(share))
    everyone = np.arange(rows, dtype=np.int64)
    full, full_published = publish(everyone)
    compared = changed = 0
    for _ in range(runs):
        chosen = np.sort(generator.choice(everyone, size=max(1, int(share * rows)), replace=False))
        part, part_published = publish(chosen)
        both = full_published[chosen] & part_published
        differ = changed_rows([column[chosen] for column in full], part)
        compared += int(both.sum())
        changed += int((differ & both).sum())
    return Locality(compared, changed)


@dataclass(frozen=True)
class ExtremeValues:
    """Numbers of groups, and of groups with an interval end that identifies.

    An end identifies if at least one but fewer than k rows of the group attain it.
    """

    groups: int
    flagged: int

    @property
    def holds(self) -> bool:
        """Return whether no interval end is attained by fewer than k rows."""
        return self.flagged == 0


def extreme_values(values: ArrayLike, lower: ArrayLike, upper: ArrayLike, groups: ArrayLike, k: int) -> ExtremeValues:
    """Count groups with an interval end that fewer than k rows attain.

    A warning, not a proof: the end of a declared interval may be attained by chance. Ends that come from the data are
    values of individuals (section 3.1 of the paper: an income of 210K).

    Parameters
    ----------
    values
        The original numbers.
    lower, upper
        For each row the ends of the published interval.
    groups
        For each row the code of its group.

    Examples
    --------
    >>> extreme_values([50, 60, 210], [50, 50, 50], [210, 210, 210], [0, 0, 0], k=3).flagged
    1
    """
    k = check_integer(k, "k", 1)
    numbers = np.asarray(values)
    _, codes = np.unique(np.asarray(groups), return_inverse=True)
    size = int(codes.max()) + 1 if len(codes) else 0
    flagged = np.zeros(size, dtype=np.bool_)
    for ends in (np.asarray(lower), np.asarray(upper)):
        attained = np.bincount(codes[numbers == ends], minlength=size)
        flagged |= (attained > 0) & (attained < k)
    return ExtremeValues(size, int(flagged.sum()))


@dataclass(frozen=True)
class IntersectionSizes:
    """Number of rows that share each row's groups in both releases.

    Attributes
    ----------
    sizes
        The crowd that remains for each row.
    """

    sizes: NDArray[np.int64]

    @property
    def smallest(self) -> int:
        """Size of the smallest crowd; 0 for an empty table."""
        return int(self.sizes.min()) if len(self.sizes) else 0


def intersection(first: ArrayLike, second: ArrayLike) -> IntersectionSizes:
    """Return the crowd of each row in the intersection of two releases.

    Both releases are of the same rows.

    Parameters
    ----------
    first, second
        For each row the code of its group in each release, aligned.

    Examples
    --------
    >>> intersection([0, 0, 1, 1], [0, 1, 1, 1]).sizes.tolist()
    [1, 1, 2, 2]
    """
    one, two = np.asarray(first), np.asarray(second)
    if len(one) != len(two):
        raise ParameterError("compare.releases-of-other-rows")
    _, one = np.unique(one, return_inverse=True)
    _, two = np.unique(two, return_inverse=True)
    width = int(two.max()) + 1 if len(two) else 1
    _, pair, counts = np.unique(one.astype(np.int64) * width + two, return_inverse=True, return_counts=True)
    return IntersectionSizes(counts.astype(np.int64)[pair])


def expected_crowd(first: int, second: int, rows: int) -> Fraction:
    """Return the expected crowd in two independent random partitions.

    A person is in one group of each partition of N rows.

    E[r] = 1 + (c1 - 1)(c2 - 1) / (N - 1).

    Examples
    --------
    >>> expected_crowd(10, 10, 1000)
    Fraction(40, 37)
    """
    rows = check_integer(rows, "rows", 2)
    first, second = check_integer(first, "first", 1), check_integer(second, "second", 1)
    if max(first, second) > rows:
        raise ParameterError("compare.group-larger-than-table", rows=rows, found=max(first, second))
    return 1 + Fraction((first - 1) * (second - 1), rows - 1)
