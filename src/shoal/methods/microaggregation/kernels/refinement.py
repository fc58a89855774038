"""Refinement of a partition that meets a model, by descent and annealing.

The order is descent, annealing, descent.

A heuristic such as Algorithm 2 takes the outermost records first and does not optimize the rest. Refinement starts
from its partition twice: once as it is, and once, where the model has rules on sensitive values, from groups
of equal size, as many as the value counts allow, which come to meet the model during annealing. Both run
at the same time, and the better result is used.
"""

import numpy as np

from shoal.kernels.rules import Rules, make_evaluator, max_group_count, value_counts
from shoal.methods.microaggregation.kernels.annealing import anneal, make_partners
from shoal.methods.microaggregation.kernels.descent import NEAR_RECORDS, descend_partition, max_groups_by_size
from shoal.methods.microaggregation.kernels.mdav import cbfs
from shoal.methods.microaggregation.kernels.p_first import merge_failing
from shoal.methods.microaggregation.kernels.partition import (
    make_partition,
    nearest_records,
    number_by_first_record,
    within_squares,
)
from shoal.methods.microaggregation.kernels.unassigned import column_sums
from shoal.runtime.threads import parallel_map

_HEAT = 3.0  # the first temperature, in mean squared distances of a record to its centroid
_COOLING = 100.0  # ratio of the first temperature to the last
_MAX_PASSES = 50


def refine_partition(
    points: np.ndarray, columns: np.ndarray, rules: Rules, group: np.ndarray, steps: int, seed: int
) -> np.ndarray:
    """Return a partition with less loss in which every group meets the model.

    Parameters
    ----------
    points : float64 (n, d), C-contiguous, standardised by the caller
    columns : int32 (n, s), the rules' columns of the sensitive values; -1 is missing; s may be 0
    rules : the models
    group : int32 (n,), not changed; every group must meet the model
    steps : proposals of each of the two annealings; 0 is descent alone. A step takes less than a microsecond;
        2000 to 10,000 for each record are plenty.
    seed : the same seed gives the same result on every machine with the same arithmetic

    Returns
    -------
    int32 (n,): groups numbered by their first record. Its loss is never more than that of `group`.

    Examples
    --------
    >>> from shoal.kernels.rules import make_rules
    >>> points, none = np.array([[0.0], [9.0], [1.0], [8.0]]), np.empty((4, 0), np.int32)
    >>> refine_partition(points, none, make_rules(2, [], []), np.array([0, 0, 1, 1], np.int32), steps=0, seed=1)
    array([0, 1, 0, 1], dtype=int32)
    """
    near = nearest_records(points, NEAR_RECORDS)
    descended = _anneal_and_descend(points, columns, rules, group, near, 0, np.inf, seed)
    if steps == 0:
        return descended
    starts = [(descended, np.inf, seed)]
    groups = max_group_count(rules, value_counts(columns, rules), len(points))
    if len(rules.rule_headers) == 0:
        starts.append((descended, np.inf, seed + 1))
    elif groups > 1:
        total = column_sums((points - points.mean(axis=0)) ** 2).sum()
        equal = cbfs(points, -(-len(points) // groups))
        starts.append((equal, 0.5 * float(total) / groups, seed + 1))
    results = parallel_map(
        lambda start: _anneal_and_descend(points, columns, rules, start[0], near, steps, start[1], start[2]), starts
    )
    return min([descended, *results], key=lambda result: within_squares(points, result, int(result.max()) + 1))


def _anneal_and_descend(
    points: np.ndarray,
    columns: np.ndarray,
    rules: Rules,
    group: np.ndarray,
    near: np.ndarray,
    steps: int,
    penalty: float,
    seed: int,
) -> np.ndarray:
    """Anneal, merge groups that still fail, and descend.

    Groups can fail with a finite penalty only.
    """
    judge = make_evaluator(rules)
    capacity = max_groups_by_size(judge, len(points))
    partition = make_partition(points, columns, judge, group, capacity)
    heat = _HEAT * within_squares(points, group, int(group.max()) + 1) / len(points)
    if steps and heat > 0.0:
        partners = make_partners(partition.columns, near, int(rules.offsets[-1]))
        anneal(partition, judge, partners, (heat, heat / _COOLING), penalty, steps, seed)
    if penalty < np.inf:
        annealed = number_by_first_record(partition.group, len(partition.sizes))
        merged = merge_failing(points, partition.columns, judge, annealed)
        partition = make_partition(points, columns, judge, merged, capacity)
    descend_partition(partition, judge, near, _MAX_PASSES)
    return number_by_first_record(partition.group, len(partition.sizes))
