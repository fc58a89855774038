"""Record linkage by distance, for perturbed or microaggregated numbers.

The intruder has the original numbers of some people and links each to the nearest released row. Equal released rows, as
in a microaggregated group, are indistinguishable: of the c rows at the nearest point one is chosen at random, so that a
correct point counts as 1/c of a correct link.

Domingo-Ferrer and Torra, "Disclosure risk assessment in statistical data protection", Journal of Computational and
Applied Mathematics 164, 2004; Pagliuca and Seri, 1999. Columns are standardized by the original's mean and deviation.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.errors import TableError
from shoal.risk.attacks import AttackResult
from shoal.utility.numeric import nearest_points


def distance_linkage(
    original: npt.NDArray[np.float64], released: npt.NDArray[np.float64], *, aligned: bool = False
) -> AttackResult:
    """Link every original row to the nearest released one.

    Parameters
    ----------
    original, released
        float64 (n, d) and (m, d): the same columns in the same order, without missing values.
    aligned
        Whether row i of both is the same person. Then correct links are counted. Otherwise they cannot be, and
        ``exposed`` is an upper bound: the people whose nearest point is one row only.

    Cost: n times the distinct released rows times d.

    Examples
    --------
    >>> original = np.array([[1.0], [2.0], [10.0], [11.0]])
    >>> distance_linkage(original, np.array([[1.5], [1.5], [10.5], [10.5]]), aligned=True).figures["expected_right"]
    2.0
    """
    if original.ndim != 2 or released.ndim != 2 or original.shape[1] != released.shape[1] or not len(released):
        raise TableError("attack.tables-differ")
    if aligned and len(original) != len(released):
        raise TableError("attack.tables-not-aligned", original=len(original), released=len(released))
    if not (np.isfinite(original).all() and np.isfinite(released).all()):
        raise TableError("attack.distance-needs-numbers")
    scale = original.std(axis=0, ddof=1) if len(original) > 1 else np.ones(original.shape[1])
    scale = np.where(scale > 0, scale, 1.0)
    points, point_of_row, crowd = np.unique(released, axis=0, return_inverse=True, return_counts=True)
    point_of_row = point_of_row.reshape(-1)
    n = len(original)
    nearest_rows = np.zeros(n, np.int64)
    own = np.zeros(n, np.bool_)
    for low, tied in nearest_points(original, points, scale):
        part = slice(low, low + len(tied))
        nearest_rows[part] = tied @ crowd
        if aligned:
            own[part] = tied[np.arange(len(tied)), point_of_row[part]]
    chance = 1 / nearest_rows
    alone = nearest_rows == 1
    exposed = int((alone & own).sum()) if aligned else int(alone.sum())
    right = float(chance[own].sum()) if aligned else float(chance.sum())
    return AttackResult(
        "distance linkage",
        "which row is theirs",
        None,
        n,
        exposed,
        n / len(released),
        {
            "expected_right" if aligned else "expected_right_at_most": right,
            "smallest_crowd": int(nearest_rows.min()),
            "columns": original.shape[1],
        },
    )
