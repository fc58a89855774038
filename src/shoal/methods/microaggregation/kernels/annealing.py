"""Simulated annealing of a partition, deterministic for a seed.

It finds less loss than descent. A step proposes that a random record moves to the group of another record, that two
records swap, that a group is dissolved, or that a new one is formed from near records that their groups can spare. It
is accepted if SSE falls, or else with probability exp(-ΔSSE / T) while the temperature T falls geometrically
(Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", 1983).

Groups may fail the model on the way, at a price: `penalty` for each unit of shortfall. So a partition with as
many groups as the model allows can be repaired and improved at once. With an infinite penalty a partition that
meets the model meets it after every step.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import holds
from shoal.methods.microaggregation.kernels.descent import cost_of_dissolving, undo_moves, update_shortfalls
from shoal.methods.microaggregation.kernels.partition import (
    cost_of_joining,
    cost_of_swapping,
    gain_of_leaving,
    move,
    pop_free_group,
    short_after_move,
    short_after_swap,
    swap,
)

_MAX_RING_STEPS = 16  # limit of the walk along a group's ring to a swap partner


class Partners(NamedTuple):
    """Sources of proposals.

    near : int32 (n, m), the nearest records of each, nearest first
    holders : int32, rows by sensitive value;  starts : int64 (columns + 1,), where each value's rows start
    """

    near: np.ndarray
    holders: np.ndarray
    starts: np.ndarray


def make_partners(columns: np.ndarray, near: np.ndarray, width: int) -> Partners:
    """Build partners from the records' histogram columns, int32 (n, s).

    `near` are their nearest records.
    """
    rows, attributes = np.nonzero(columns >= 0)
    values = columns[rows, attributes]
    order = np.argsort(values, kind="stable")
    starts = np.searchsorted(values[order], np.arange(width + 1)).astype(np.int64)
    return Partners(near, rows[order].astype(np.int32), starts)


@njit(**INNER)
def next_random(state):
    """Return the next number in [0, 1) of SplitMix64; state is uint64 (1,).

    Steele, Lea and Flood 2014.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    mixed = state[0]
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return float(mixed >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(**INNER)
def _price(penalty, change):
    """Return the cost of a change of the shortfall.

    An infinite penalty forbids a rise and ignores a fall.
    """
    if change == 0.0 or (penalty == np.inf and change < 0.0):
        return 0.0
    return penalty * change


@njit(**INNER)
def _propose_partner(partition, partners, row, state):
    """Propose another record, and whether it shares a sensitive value.

    Mostly a near one, sometimes any one or one with the same sensitive value.
    """
    near, columns = partners.near, partition.columns
    choice = next_random(state)
    if columns.shape[1] > 0 and choice < 0.25:
        column = columns[row, int(next_random(state) * columns.shape[1])]
        if column >= 0:
            start, stop = partners.starts[column], partners.starts[column + 1]
            return partners.holders[start + int(next_random(state) * (stop - start))], True
    if (choice < 0.35 and columns.shape[1] > 0) or near.shape[1] == 0:
        return np.int32(next_random(state) * len(partition.group)), False
    depth = next_random(state)
    return near[row, int(near.shape[1] * depth * depth)], False


@njit(**INNER)
def _try_move(partition, judge, row, target, penalty, limit):
    """Move a record if that costs at most `limit`."""
    source = partition.group[row]
    short = partition.short
    cost = cost_of_joining(partition, row, target) - gain_of_leaving(partition, row)
    if cost - _price(penalty, short[source] + short[target]) > limit:
        return
    short_source, short_target = short_after_move(partition, judge, row, target)
    change = short_source + short_target - short[source] - short[target]
    if cost + _price(penalty, change) <= limit:
        move(partition, row, target)
        short[source], short[target] = short_source, short_target


@njit(**INNER)
def _try_swap(partition, judge, row, other, penalty, limit):
    """Swap two records of different groups if that costs at most `limit`."""
    a, b = partition.group[row], partition.group[other]
    short = partition.short
    cost = cost_of_swapping(partition, row, other)
    if cost - _price(penalty, short[a] + short[b]) > limit:
        return
    short_a, short_b = short_after_swap(partition, judge, row, other)
    if cost + _price(penalty, short_a + short_b - short[a] - short[b]) <= limit:
        swap(partition, row, other)
        short[a], short[b] = short_a, short_b


@njit(**INNER)
def _try_dissolve(partition, judge, near, g, limit, members, origin):
    """Dissolve a group into its neighbours if that costs at most `limit`.

    None of the neighbours may fail the model.
    """
    size, short = partition.sizes[g], partition.short[g]
    cost = cost_of_dissolving(partition, near, g, members, origin)
    if cost == np.inf:
        return
    targets = partition.group[members[:size]]
    if not update_shortfalls(partition, judge, targets, size) or cost > limit:
        undo_moves(partition, members, origin, size)
        update_shortfalls(partition, judge, targets, size)
        partition.short[g] = short


@njit(**INNER)
def _try_create(partition, judge, near, row, limit, members, origin):
    """Form a group around a record if that costs at most `limit`.

    It takes near records that their groups can spare.
    """
    new = pop_free_group(partition)
    if new < 0:
        return
    size, cost = 0, 0.0
    for i in range(-1, near.shape[1]):
        candidate = row if i < 0 else near[row, i]
        source = partition.group[candidate]
        if source == new or partition.sizes[source] <= judge.rules.least[0]:
            continue
        change = cost_of_joining(partition, candidate, new) - gain_of_leaving(partition, candidate)
        move(partition, candidate, new)
        if not holds(judge, partition.sizes[source], partition.histograms[source]):
            move(partition, candidate, source)
            if partition.sizes[new] == 0:
                return
            continue
        members[size], origin[size] = candidate, source
        size += 1
        cost += change
        if holds(judge, size, partition.histograms[new]):
            if cost > limit:
                break
            partition.short[new] = 0.0
            return
    if size > 0:
        undo_moves(partition, members, origin, size)
    else:
        partition.free[-1] += 1  # no record moved: push the group back onto the stack


@njit(**FROM_PYTHON)
def anneal(partition, judge, partners, temperatures, penalty, steps, seed):
    """Anneal a partition in place.

    Parameters
    ----------
    partition, judge, partners : see there
    temperatures : (first, last), in units of SSE
    penalty : price of a unit of shortfall, in units of SSE; infinite: groups that meet the model always will
    steps : number of proposed changes
    seed : any integer

    Cost: d + values of the sensitive attributes, per step.
    """
    first, last = temperatures
    state = np.array([seed], np.uint64)
    records = len(partition.group)
    members = np.empty(max(partners.near.shape[1] + 2, 4 * judge.rules.least[0] + 8), np.int64)
    origin = np.empty_like(members)
    temperature = first
    for step in range(steps):
        if step % 256 == 0:
            temperature = first * (last / first) ** (step / steps)
        row = int(next_random(state) * records)
        source = partition.group[row]
        limit = -temperature * np.log(1.0 - next_random(state))
        kind = next_random(state)
        if kind < 0.01:
            if partition.sizes[source] <= judge.rules.least[0] + 1:
                _try_dissolve(partition, judge, partners.near, source, limit, members, origin)
            continue
        if kind < 0.02:
            _try_create(partition, judge, partners.near, row, limit, members, origin)
            continue
        other, same_value = _propose_partner(partition, partners, row, state)
        target = partition.group[other]
        if target == source:
            continue
        may_leave = partition.sizes[source] > (judge.rules.least[0] if penalty == np.inf else 1)
        if kind < 0.5 and may_leave and not same_value:
            _try_move(partition, judge, row, target, penalty, limit)
        else:
            if not same_value:
                for _ in range(int(next_random(state) * min(_MAX_RING_STEPS, partition.sizes[target]))):
                    other = partition.after[other]
            _try_swap(partition, judge, row, other, penalty, limit)
