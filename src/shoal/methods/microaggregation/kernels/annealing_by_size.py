"""Annealing of groups with a minimum size only, several times faster.

Proposals are those of the module annealing. Without rules on sensitive values a group is its members and their mean, of
k to 2k records: a larger one would be split. So members are stored in a table, means are stored instead of sums, and
records are padded to whole vectors. Sums over attributes are computed in four written-out parts, so that vector
instructions round as scalar ones do.

Dense parts of a table freeze at a lower temperature than sparse ones. Each record has its own temperature, the
common one times `scale`, so that all parts are active at the same time.

Annealing of a whole table leaves every part at a random local optimum. So a few neighbouring groups can be annealed by
themselves, and stay unchanged unless they lose less (large neighbourhood search: Shaw, "Using constraint programming
and local search methods to solve vehicle routing problems", 1998).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.microaggregation.kernels.annealing import next_random

LANES = 4
_DISSOLVE, _CREATE, _MOVE = 0.03, 0.06, 0.5  # cumulative probabilities of the kinds of proposals
_MAX_COST_OVER_HEAT = 37.0  # above the negative logarithm of every random number


class SizedPartition(NamedTuple):
    """Groups of the n records of a table, each of k to 2k records or empty.

    points : float64 (n, w), w a multiple of four; padding attributes are zero
    group : int32 (n,);  slot : int32 (n,), the position of a record among the members of its group
    sizes : int64 (G,);  means : float64 (G, w);  members : int32 (G, 2k), the first `sizes` of each count
    free : int64 (G + 1,), a stack of the groups without records; the last element is its height
    shares : float64 (2k + 2,), 1 / size
    """

    points: np.ndarray
    group: np.ndarray
    slot: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    members: np.ndarray
    free: np.ndarray
    shares: np.ndarray


def pad(points: np.ndarray) -> np.ndarray:
    """Pad records with zeros to whole vectors, float64 (n, w)."""
    padded = np.zeros((len(points), -(-points.shape[1] // LANES) * LANES))
    padded[:, : points.shape[1]] = points
    return padded


@njit(**INNER)
def _describe(points, group, groups, k):
    """Build the partition from the group of each record.

    No group may have more than 2k records.
    """
    records, width = points.shape
    capacity = max(groups, records // k)
    sized = SizedPartition(
        points,
        group.copy(),
        np.zeros(records, np.int32),
        np.zeros(capacity, np.int64),
        np.zeros((capacity, width)),
        np.zeros((capacity, 2 * k), np.int32),
        np.zeros(capacity + 1, np.int64),
        np.ones(2 * k + 2),
    )
    for size in range(1, 2 * k + 2):
        sized.shares[size] = 1.0 / size
    for row in range(records):
        _enter(sized, row, group[row])
    for g in range(capacity - 1, -1, -1):
        if sized.sizes[g] == 0:
            sized.free[sized.free[-1]] = g
            sized.free[-1] += 1
    return sized


@njit(**INNER)
def _squared_distance(points, row, means, g):
    """Return the squared distance from a record to a mean."""
    a = b = c = d = 0.0
    for j in range(0, points.shape[1], LANES):
        p = points[row, j] - means[g, j]
        q = points[row, j + 1] - means[g, j + 1]
        r = points[row, j + 2] - means[g, j + 2]
        s = points[row, j + 3] - means[g, j + 3]
        a += p * p
        b += q * q
        c += r * r
        d += s * s
    return (a + b) + (c + d)


@njit(**INNER)
def _cost_of_swapping(sized, row, other):
    """Return the rise of SSE when two records of different groups swap."""
    points, means = sized.points, sized.means
    a, b = sized.group[row], sized.group[other]
    dot0 = dot1 = dot2 = dot3 = 0.0
    square0 = square1 = square2 = square3 = 0.0
    for j in range(0, points.shape[1], LANES):
        p = points[other, j] - points[row, j]
        q = points[other, j + 1] - points[row, j + 1]
        r = points[other, j + 2] - points[row, j + 2]
        s = points[other, j + 3] - points[row, j + 3]
        dot0 += p * (means[b, j] - means[a, j])
        dot1 += q * (means[b, j + 1] - means[a, j + 1])
        dot2 += r * (means[b, j + 2] - means[a, j + 2])
        dot3 += s * (means[b, j + 3] - means[a, j + 3])
        square0 += p * p
        square1 += q * q
        square2 += r * r
        square3 += s * s
    dot = (dot0 + dot1) + (dot2 + dot3)
    square = (square0 + square1) + (square2 + square3)
    return 2.0 * dot - square * (sized.shares[sized.sizes[a]] + sized.shares[sized.sizes[b]])


@njit(**INNER)
def _cost_of_joining(sized, row, g):
    """Return the rise of SSE when an unassigned record joins g.

    The group may be empty.
    """
    size = sized.sizes[g]
    return size * sized.shares[size + 1] * _squared_distance(sized.points, row, sized.means, g) if size else 0.0


@njit(**INNER)
def _gain_of_leaving(sized, row):
    """Return the fall of SSE when a record leaves its group of several."""
    g = sized.group[row]
    size = sized.sizes[g]
    return size * sized.shares[size - 1] * _squared_distance(sized.points, row, sized.means, g)


@njit(**INNER)
def _enter(sized, row, g):
    """Add an unassigned record to group g."""
    points, means = sized.points, sized.means
    size = sized.sizes[g]
    share = sized.shares[size + 1]
    for j in range(points.shape[1]):
        means[g, j] += (points[row, j] - means[g, j]) * share if size else points[row, j] - means[g, j]
    sized.members[g, size], sized.slot[row] = row, size
    sized.sizes[g] = size + 1
    sized.group[row] = g


@njit(**INNER)
def _leave(sized, row):
    """Remove a record from its group; the caller frees an empty group."""
    points, means, g = sized.points, sized.means, sized.group[row]
    size = sized.sizes[g] - 1
    if size:
        share = sized.shares[size]
        for j in range(points.shape[1]):
            means[g, j] += (means[g, j] - points[row, j]) * share
    last = sized.members[g, size]
    sized.members[g, sized.slot[row]], sized.slot[last] = last, sized.slot[row]
    sized.sizes[g] = size


@njit(**INNER)
def _swap(sized, row, other):
    """Swap two records of different groups."""
    points, means, slot = sized.points, sized.means, sized.slot
    a, b = sized.group[row], sized.group[other]
    share_a, share_b = sized.shares[sized.sizes[a]], sized.shares[sized.sizes[b]]
    for j in range(points.shape[1]):
        step = points[other, j] - points[row, j]
        means[a, j] += step * share_a
        means[b, j] -= step * share_b
    sized.members[a, slot[row]], sized.members[b, slot[other]] = other, row
    slot[row], slot[other] = slot[other], slot[row]
    sized.group[row], sized.group[other] = b, a


@njit(**INNER)
def _undo(sized, moved, origin, count):
    """Return the first `count` records to their origins, the last one first."""
    for i in range(count - 1, -1, -1):
        _leave(sized, moved[i])
        _enter(sized, moved[i], origin[i])


@njit(**INNER)
def _try_dissolve(sized, near, g, limit, moved, origin):
    """Dissolve a group if that costs at most `limit`.

    Its records join the groups of their nearest records that are not full.
    """
    size, max_size = sized.sizes[g], sized.members.shape[1]
    cost = 0.0
    for i in range(size):
        moved[i], origin[i] = sized.members[g, i], g
        cost -= _squared_distance(sized.points, moved[i], sized.means, g)
    for i in range(size):
        row = moved[i]
        least, target = np.inf, -1
        for j in range(near.shape[1]):
            other = sized.group[near[row, j]]
            if other != g and sized.sizes[other] < max_size:
                joining = _cost_of_joining(sized, row, other)
                if joining < least:
                    least, target = joining, other
        cost += least
        if cost > limit:
            _undo(sized, moved, origin, i)
            return
        _leave(sized, row)
        _enter(sized, row, target)
    sized.free[sized.free[-1]] = g
    sized.free[-1] += 1


@njit(**INNER)
def _try_create(sized, near, k, row, limit, moved, origin):
    """Form a group around a record if that costs at most `limit`.

    It takes near records from groups of more than k records.
    """
    if sized.free[-1] == 0 or sized.sizes[sized.group[row]] <= k:
        return
    new = sized.free[sized.free[-1] - 1]
    count, cost = 0, 0.0
    for i in range(-1, near.shape[1]):
        candidate = row if i < 0 else near[row, i]
        source = sized.group[candidate]
        if source == new or sized.sizes[source] <= k:
            continue
        cost += _cost_of_joining(sized, candidate, new) - _gain_of_leaving(sized, candidate)
        _leave(sized, candidate)
        _enter(sized, candidate, new)
        moved[count], origin[count] = candidate, source
        count += 1
        if count == k:
            break
    if count == k and cost <= limit:
        sized.free[-1] -= 1
    else:
        _undo(sized, moved, origin, count)


@njit(**INNER)
def _is_accepted(cost, heat, state):
    """Return whether a change is accepted, with probability exp(-cost / heat).

    No logarithm is computed for a change that is certainly rejected.
    """
    return cost <= 0.0 or (cost < _MAX_COST_OVER_HEAT * heat and cost <= -heat * np.log(1.0 - next_random(state)))


@njit(**INNER)
def _anneal(sized, near, scale, k, temperatures, steps, seed):
    """Anneal groups in place; parameters as for `anneal_sized`."""
    first, last = temperatures
    state = np.array([seed], np.uint64)
    records, max_size = len(sized.group), sized.members.shape[1]
    moved, origin = np.empty(2 * k, np.int64), np.empty(2 * k, np.int64)
    temperature = first
    for step in range(steps):
        if step % 256 == 0:
            temperature = first * (last / first) ** (step / steps)
        row = int(next_random(state) * records)
        source = sized.group[row]
        kind = next_random(state)
        if kind < _CREATE:
            limit = -temperature * scale[row] * np.log(1.0 - next_random(state))
            if kind >= _DISSOLVE:
                _try_create(sized, near, k, row, limit, moved, origin)
            elif sized.sizes[source] == k:
                _try_dissolve(sized, near, source, limit, moved, origin)
            continue
        depth = next_random(state)
        other = near[row, int(near.shape[1] * depth * depth)]
        target = sized.group[other]
        if target == source:
            continue
        heat = temperature * min(scale[row], scale[other])
        if kind < _MOVE and sized.sizes[source] > k and sized.sizes[target] < max_size:
            cost = _cost_of_joining(sized, row, target) - _gain_of_leaving(sized, row)
            if _is_accepted(cost, heat, state):
                _leave(sized, row)
                _enter(sized, row, target)
            continue
        # any other member: the record should end up near the drawn neighbour
        drawn = int(next_random(state) * (sized.sizes[target] - 1))
        other = sized.members[target, drawn + (drawn >= sized.slot[other])]
        if _is_accepted(_cost_of_swapping(sized, row, other), heat, state):
            _swap(sized, row, other)


@njit(**FROM_PYTHON)
def anneal_sized(points, group, groups, near, scale, k, temperatures, steps, seed):
    """Return the groups of records after annealing, int32 (n,).

    Parameters
    ----------
    points : float64 (n, w), padded
    group : int32 (n,), below `groups`; each of k to 2k records or empty
    near : int32 (n, m), the nearest records of each, nearest first; m at least 1
    scale : float64 (n,), by which each record's temperature is multiplied
    k : at least 2
    temperatures : (first, last), in units of SSE
    steps : number of proposed changes
    seed : any integer

    Cost: d per step, and m k d for at most a tenth of them.
    """
    sized = _describe(points, group, groups, k)
    _anneal(sized, near, scale, k, temperatures, steps, seed)
    return sized.group


@njit(**INNER)
def _squares(points, group, groups):
    """Compute the SSE of groups; means come first, so nothing cancels."""
    means = np.zeros((groups, points.shape[1]))
    sizes = np.zeros(groups)
    for row in range(len(group)):
        sizes[group[row]] += 1.0
        for j in range(points.shape[1]):
            means[group[row], j] += points[row, j]
    for g in range(groups):
        for j in range(points.shape[1]):
            means[g, j] /= max(sizes[g], 1.0)
    total = 0.0
    for row in range(len(group)):
        total += _squared_distance(points, row, means, group[row])
    return total


@njit(**FROM_PYTHON)
def anneal_region(points, group, groups, k, wanted, heats, steps, seed):
    """Anneal the groups of a few records; keep them unless they lose less.

    Returns int32 (n,). Parameters as for `anneal_sized`, but the `wanted` nearest records are searched for here, and
    the
    temperatures are in units of the mean squared distance of a record to its mean. Cost: n² d, and d per step.
    """
    records = len(points)
    near = np.empty((records, min(wanted, records - 1)), np.int32)
    for row in range(records):
        distance = np.empty(records)
        for other in range(records):
            distance[other] = _squared_distance(points, row, points, other)
        distance[row] = np.inf
        near[row] = np.argsort(distance, kind="mergesort")[: near.shape[1]]
    before = _squares(points, group, groups)
    heat = before / records
    if heat == 0.0:
        return group
    temperatures = (heats[0] * heat, heats[1] * heat)
    sized = _describe(points, group, groups, k)
    _anneal(sized, near, np.ones(records), k, temperatures, steps, seed)
    return sized.group if _squares(points, sized.group, len(sized.sizes)) < before else group
