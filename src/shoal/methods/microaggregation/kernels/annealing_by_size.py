"""Annealing of groups that are bound by their size alone: what the module annealing proposes, several times faster.

Without rules on sensitive values a group is its members and their mean, of k to 2k records: a larger one would be two.
So members stand in a table, means are kept instead of sums, and records are padded to whole vectors. Sums over
attributes are made in four parts, written out, so that vector instructions round as plain ones do.

Dense parts of a table freeze at a lower temperature than sparse ones. Each record has a temperature of its own, the
common one times `scale`, so that all parts are at work at the same time.

What is annealed as a whole is nowhere as good as it could be: every part comes out as chance has it. So a few
neighbouring groups can be annealed by themselves, and stay as they were unless they lose less (large neighbourhood
search: Shaw, "Using constraint programming and local search methods to solve vehicle routing problems", 1998).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.methods.microaggregation.kernels.annealing import next_random

LANES = 4
_DISSOLVE, _CREATE, _MOVE = 0.03, 0.06, 0.5  # up to where a random number says what is proposed
_HOPELESS = 37.0  # more than the logarithm of any random number


class Sized(NamedTuple):
    """Groups of the n records of a table, each of k to 2k records or of none.

    points : float64 (n, w), w a multiple of four; what is added to the attributes holds zeros
    group : int32 (n,);  place : int32 (n,), where a record stands among the members of its group
    sizes : int64 (G,);  means : float64 (G, w);  members : int32 (G, 2k), the first `sizes` of each count
    free : int64 (G + 1,), a stack of the groups without records; the last element is its height
    shares : float64 (2k + 2,), 1 / size
    """

    points: np.ndarray
    group: np.ndarray
    place: np.ndarray
    sizes: np.ndarray
    means: np.ndarray
    members: np.ndarray
    free: np.ndarray
    shares: np.ndarray


def pad(points: np.ndarray) -> np.ndarray:
    """The records with as many zeros as make whole vectors, float64 (n, w)."""
    padded = np.zeros((len(points), -(-points.shape[1] // LANES) * LANES))
    padded[:, : points.shape[1]] = points
    return padded


@njit(**INNER)
def _describe(points, group, groups, k):
    """Groups as they are kept here, from the group of each record; none may have more than 2k."""
    records, width = points.shape
    capacity = max(groups, records // k)
    sized = Sized(
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
def _apart(points, row, means, g):
    """Squared distance from a record to a mean."""
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
    """What SSE gains when two records of different groups change places."""
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
    """What SSE gains when a record that is in no group joins g, which may be empty."""
    size = sized.sizes[g]
    return size * sized.shares[size + 1] * _apart(sized.points, row, sized.means, g) if size else 0.0


@njit(**INNER)
def _gain_of_leaving(sized, row):
    """What SSE loses when a record leaves its group, which has others."""
    g = sized.group[row]
    size = sized.sizes[g]
    return size * sized.shares[size - 1] * _apart(sized.points, row, sized.means, g)


@njit(**INNER)
def _enter(sized, row, g):
    """A record that is in no group joins g."""
    points, means = sized.points, sized.means
    size = sized.sizes[g]
    share = sized.shares[size + 1]
    for j in range(points.shape[1]):
        means[g, j] += (points[row, j] - means[g, j]) * share if size else points[row, j] - means[g, j]
    sized.members[g, size], sized.place[row] = row, size
    sized.sizes[g] = size + 1
    sized.group[row] = g


@njit(**INNER)
def _leave(sized, row):
    """A record leaves its group; an empty group is left for the caller to free."""
    points, means, g = sized.points, sized.means, sized.group[row]
    size = sized.sizes[g] - 1
    if size:
        share = sized.shares[size]
        for j in range(points.shape[1]):
            means[g, j] += (means[g, j] - points[row, j]) * share
    last = sized.members[g, size]
    sized.members[g, sized.place[row]], sized.place[last] = last, sized.place[row]
    sized.sizes[g] = size


@njit(**INNER)
def _swap(sized, row, other):
    """Let two records of different groups change places."""
    points, means, place = sized.points, sized.means, sized.place
    a, b = sized.group[row], sized.group[other]
    share_a, share_b = sized.shares[sized.sizes[a]], sized.shares[sized.sizes[b]]
    for j in range(points.shape[1]):
        step = points[other, j] - points[row, j]
        means[a, j] += step * share_a
        means[b, j] -= step * share_b
    sized.members[a, place[row]], sized.members[b, place[other]] = other, row
    place[row], place[other] = place[other], place[row]
    sized.group[row], sized.group[other] = b, a


@njit(**INNER)
def _undo(sized, moved, origin, count):
    """The first `count` records return to their groups of origin, the last one first."""
    for i in range(count - 1, -1, -1):
        _leave(sized, moved[i])
        _enter(sized, moved[i], origin[i])


@njit(**INNER)
def _try_dissolve(sized, near, g, limit, moved, origin):
    """Dissolve a group into those of its records' nearest records that have room, if that costs at most `limit`."""
    size, room = sized.sizes[g], sized.members.shape[1]
    cost = 0.0
    for i in range(size):
        moved[i], origin[i] = sized.members[g, i], g
        cost -= _apart(sized.points, moved[i], sized.means, g)
    for i in range(size):
        row = moved[i]
        least, target = np.inf, -1
        for j in range(near.shape[1]):
            other = sized.group[near[row, j]]
            if other != g and sized.sizes[other] < room:
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
    """Form a group of a record and near ones that their groups can spare, if that costs at most `limit`."""
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
    """Whether a change is made: with probability exp(-cost / heat). What is surely refused costs no logarithm."""
    return cost <= 0.0 or (cost < _HOPELESS * heat and cost <= -heat * np.log(1.0 - next_random(state)))


@njit(**INNER)
def _anneal(sized, near, scale, k, temperatures, steps, seed):
    """Anneal groups in place; parameters as for `anneal_sized`."""
    first, last = temperatures
    state = np.array([seed], np.uint64)
    records, room = len(sized.group), sized.members.shape[1]
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
        if kind < _MOVE and sized.sizes[source] > k and sized.sizes[target] < room:
            cost = _cost_of_joining(sized, row, target) - _gain_of_leaving(sized, row)
            if _is_accepted(cost, heat, state):
                _leave(sized, row)
                _enter(sized, row, target)
            continue
        # one of the others: the record is to be near this one
        seat = int(next_random(state) * (sized.sizes[target] - 1))
        other = sized.members[target, seat + (seat >= sized.place[other])]
        if _is_accepted(_cost_of_swapping(sized, row, other), heat, state):
            _swap(sized, row, other)


@njit(**FROM_PYTHON)
def anneal_sized(points, group, groups, near, scale, k, temperatures, steps, seed):
    """The groups of records after annealing, int32 (n,).

    Parameters
    ----------
    points : float64 (n, w), padded
    group : int32 (n,), below `groups`; each of k to 2k records or empty
    near : int32 (n, m), the nearest records of each, nearest first; m at least 1
    scale : float64 (n,), by which each record's temperature is multiplied
    k : at least 2
    temperatures : (first, last), in units of SSE
    steps : how many changes are proposed
    seed : any integer

    Cost: d a step, and m k d at a tenth of them at most.
    """
    sized = _describe(points, group, groups, k)
    _anneal(sized, near, scale, k, temperatures, steps, seed)
    return sized.group


@njit(**INNER)
def _squares(points, group, groups):
    """SSE of groups; means are computed first, so there is no cancellation."""
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
        total += _apart(points, row, means, group[row])
    return total


@njit(**FROM_PYTHON)
def anneal_region(points, group, groups, k, wanted, heats, steps, seed):
    """The groups of a few records, annealed and, where they do not lose less by that, as they were; int32 (n,).

    Parameters as for `anneal_sized`, but for the records' nearest, of which `wanted` are looked up here, and the
    temperatures, which are in units of the mean squared distance of a record to its mean. Cost: n² d, and d a step.
    """
    records = len(points)
    near = np.empty((records, min(wanted, records - 1)), np.int32)
    for row in range(records):
        distance = np.empty(records)
        for other in range(records):
            distance[other] = _apart(points, row, points, other)
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
