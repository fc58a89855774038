"""Top-down partitioning: groups are cut along one attribute at a time.

Cuts are made as long as every part meets the models. A cut of a group along an attribute has one part per child of the
group's closest common ancestor, or, for an ordered attribute, one part below and one above a value. Parts that fail the
models are pooled. If the pool fails too, single rows are borrowed from parts that stay valid without them: those that
bring the pool nearest to the models, then those that widen it least, then those of the largest part. If that is not
enough, the pool takes in the smallest valid part. Of all attributes, the cut of least resulting loss is made, and all
parts, the pool too, are cut further.

Section 5.2 of Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models for privacy preserving data
publishing", 2008, for any number of attributes; without borrowing (`strict`) and with ordered attributes it is the
greedy multidimensional partitioning of LeFevre, DeWitt and Ramakrishnan, "Mondrian multidimensional k-anonymity", 2006.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.rules import add, clear, deficit, meets
from shoal.methods.local.kernels.regions import (
    LEVEL,
    Space,
    common_ancestor,
    cost_with,
    extent_cost,
    include,
    region_cost,
    unite,
)

MAX_THRESHOLDS = 64  # values at which a cut of an ordered attribute is tried in one group
MAX_LENDERS = 2048  # rows examined for one row to borrow; all rows where none of these helps
MAX_PASSES = 100_000  # practically no limit: every pass cuts some group
MIN_GAIN = 1e-9  # of the loss of one row: a smaller gain is rounding


class CutScratch(NamedTuple):
    """Working memory of one thread, for groups of up to n items.

    slot : int64 (nodes + 1,), zero between calls
    part, order : int64 (n,), the part of each piece of a group, and the pieces by part
    start : int64 (parts + 2,), the start of each part in `order`
    size : int64 (parts,);  good : bool (parts,);  extent : int32 (parts, q, 2), the regions of parts
    region : int32 (3, q, 2), that of the pool, a temporary one, that of the group
    lent : int64 (n,), the number of rows of each piece that go to the pool although their part is good
    open : int64 (q + 1,), the attributes in which the group's rows differ; the last element is their number
    """

    slot: np.ndarray
    part: np.ndarray
    order: np.ndarray
    start: np.ndarray
    size: np.ndarray
    good: np.ndarray
    extent: np.ndarray
    region: np.ndarray
    open: np.ndarray
    lent: np.ndarray


def make_cut_scratch(space: Space, items: int) -> CutScratch:
    """Allocate working memory for groups of up to `items` items."""
    parts = min(items, space.forest.shape[1]) + 2
    return CutScratch(
        np.zeros(space.forest.shape[1] + 1, np.int64),
        np.zeros(items, np.int64),
        np.zeros(items, np.int64),
        np.zeros(parts + 2, np.int64),
        np.zeros(parts, np.int64),
        np.zeros(parts, np.bool_),
        np.zeros((parts, len(space.ordered), 2), np.int32),
        np.zeros((3, len(space.ordered), 2), np.int32),
        np.zeros(len(space.ordered) + 1, np.int64),
        np.zeros(items, np.int64),
    )


@njit(**INNER)
def _widen(forest, ordered, regions, g, values, row, fields):
    """Widen the region g by a row in some attributes.

    fields : int64, the attributes; the last element is their number
    """
    for f in range(fields[-1]):
        j = fields[f]
        value = values[row, j]
        low = regions[g, j, 0]
        if low == value and regions[g, j, 1] == value:
            continue
        if low < 0:
            regions[g, j, 0] = value
            regions[g, j, 1] = value
        elif ordered[j]:
            regions[g, j, 0] = min(low, value)
            regions[g, j, 1] = max(regions[g, j, 1], value)
        elif forest[forest[LEVEL, low], value] != low:
            low = common_ancestor(forest, low, value)
            regions[g, j, 0] = low
            regions[g, j, 1] = low


@njit(**INNER)
def _sort_by_part(scratch, pieces, parts):
    """Sort pieces by their part: scratch.order and scratch.start."""
    part, order = scratch.part, scratch.order
    start = scratch.start
    start[: parts + 2] = 0
    for i in range(pieces):
        start[part[i] + 2] += 1
    for p in range(parts):
        start[p + 2] += start[p + 1]
    for i in range(pieces):
        position = start[part[i] + 1]
        order[position] = i
        start[part[i] + 1] = position + 1


@njit(**INNER)
def _assign_parts(setting, scratch, item, count, low, high, j, threshold):
    """Assign every piece to its part in a cut along attribute j.

    Returns the number of parts. Writes scratch.part, scratch.size and scratch.extent. Children are numbered in order of
    first appearance.
    """
    forest, ordered, values = setting.space.forest, setting.space.ordered, setting.values
    slot, part, size, extent, fields = scratch.slot, scratch.part, scratch.size, scratch.extent, scratch.open
    level = 0 if ordered[j] else forest[LEVEL, scratch.region[2, j, 0]] - 1
    parts = 0
    for i in range(low, high):
        value = values[item[i], j]
        child = (0 if value <= threshold else 1) if ordered[j] else forest[level, value]
        if slot[child] == 0:
            size[parts] = 0
            extent[parts] = -1
            parts += 1
            slot[child] = parts
        p = slot[child] - 1
        part[i - low] = p
        size[p] += count[i]
        _widen(forest, ordered, extent, p, values, item[i], fields)
    if ordered[j]:
        slot[:2] = 0
    else:
        for i in range(low, high):
            slot[forest[level, values[item[i], j]]] = 0
    return parts


@njit(**INNER)
def _bits(size, whole):
    """Return the contribution of a part to the entropy of a cut, in bits."""
    return size * np.log2(whole / size) if size > 0 else 0.0


@njit(**INNER)
def _evaluate_parts(setting, tally, scratch, item, count, low, high, parts, whole):
    """Evaluate the parts of a cut; return its loss and its entropy in bits.

    scratch.good marks the parts that meet the rules. Without a good part the loss is infinite.
    """
    space, rules, columns = setting.space, setting.rules, setting.columns
    forest, ordered = space.forest, space.ordered
    if len(rules.rule_headers) > 0:
        _sort_by_part(scratch, high - low, parts)
    counters, size_of, extent, region = tally.counter, scratch.size, scratch.extent, scratch.region
    start, order, is_good = scratch.start, scratch.order, scratch.good
    region[0] = -1
    pooled = 0
    good = 0
    loss = 0.0
    bits = 0.0
    for p in range(parts):
        size = size_of[p]
        fine = size >= rules.least[0]
        if fine and len(rules.rule_headers) > 0:
            for i in range(start[p], start[p + 1]):
                position = low + order[i]
                add(counters, columns, item[position], count[position])
            fine = meets(rules, tally)
            clear(counters)
        is_good[p] = fine
        if fine:
            good += 1
            loss += size * region_cost(space, extent, p)
            bits += _bits(size, whole)
        else:
            pooled += size
            unite(forest, ordered, region, 0, extent, p)
    if good == 0 or (good == 1 and pooled == 0):
        return np.inf, 1.0
    if pooled > 0:
        # a pool that is too small will borrow rows; the sizes of the other parts are not adjusted
        pooled_rows = max(pooled, rules.least[0])
        loss += pooled_rows * region_cost(space, region, 0)
        bits += _bits(pooled_rows, whole)
    return loss, max(bits, 1e-9)


@njit(**INNER)
def _fill_pool(setting, tally, scratch, item, count, low, parts):
    """Count the rows of all parts that are not good in the tally."""
    order, start, is_good = scratch.order, scratch.start, scratch.good
    counters, columns = tally.counter, setting.columns
    for p in range(parts):
        if not is_good[p]:
            for i in range(start[p], start[p + 1]):
                position = low + order[i]
                add(counters, columns, item[position], count[position])


@njit(**INNER)
def _can_lend(setting, other, scratch, item, count, low, p, position):
    """Return whether part p meets the rules without one more row of a piece.

    position : the piece of that row
    """
    order, start, size_of, lent = scratch.order, scratch.start, scratch.size, scratch.lent
    counters, rules, columns = other.counter, setting.rules, setting.columns
    if size_of[p] - 1 < rules.least[0]:
        return False
    if len(rules.rule_headers) == 0:
        return True
    for i in range(start[p], start[p + 1]):
        at = low + order[i]
        left = count[at] - lent[at - low] - (1 if at == position else 0)
        if left > 0:
            add(counters, columns, item[at], left)
    fine = meets(rules, other)
    clear(counters)
    return fine


@njit(**INNER)
def _borrow_one(setting, tally, other, scratch, item, count, barred, low, parts, stride):
    """Borrow the row that helps the pool most; return whether there was one.

    tally : the pool, which gets the row;  barred : bool (pieces,), rows that cannot be lent
    """
    order, start, size_of, is_good = scratch.order, scratch.start, scratch.size, scratch.good
    region, lent = scratch.region, scratch.lent
    space, rules, values, columns = setting.space, setting.rules, setting.values, setting.columns
    counters, forest, ordered = tally.counter, space.forest, space.ordered
    before = deficit(rules, tally)
    while True:
        best = -1
        best_part = -1
        best_deficit = before
        best_cost = np.inf
        best_size = 0
        seen = 0
        for p in range(parts):
            if not is_good[p] or size_of[p] <= rules.least[0]:
                continue
            for i in range(start[p], start[p + 1]):
                seen += 1
                piece = order[i]
                position = low + piece
                if seen % stride != 0 or barred[piece] or lent[piece] >= count[position]:
                    continue
                after = before - 1.0
                if len(rules.rule_headers) > 0:
                    add(counters, columns, item[position], 1)
                    after = deficit(rules, tally)
                    add(counters, columns, item[position], -1)
                if after >= before or after > best_deficit:
                    continue
                cost = cost_with(space, region, 0, values, item[position])
                if after < best_deficit or cost < best_cost or (cost == best_cost and size_of[p] > best_size):
                    best, best_part, best_deficit, best_cost, best_size = piece, p, after, cost, size_of[p]
        if best < 0:
            return False
        if _can_lend(setting, other, scratch, item, count, low, best_part, low + best):
            lent[best] += 1
            size_of[best_part] -= 1
            add(counters, columns, item[low + best], 1)
            include(forest, ordered, region, 0, values, item[low + best])
            return True
        barred[best] = True


@njit(**INNER)
def _repair_pool(setting, tally, other, scratch, item, count, low, parts, pieces, strict):
    """Make the pool meet the rules by borrowing rows and taking in parts.

    Returns whether that worked. Afterwards scratch.good and scratch.lent describe the parts, and the tally is empty.
    """
    order, start, size_of, is_good = scratch.order, scratch.start, scratch.size, scratch.good
    region, lent = scratch.region, scratch.lent
    space, rules, values, columns = setting.space, setting.rules, setting.values, setting.columns
    counters, forest, ordered = tally.counter, space.forest, space.ordered
    region[0] = -1
    for p in range(parts):
        if not is_good[p]:
            for i in range(start[p], start[p + 1]):
                include(forest, ordered, region, 0, values, item[low + order[i]])
    _fill_pool(setting, tally, scratch, item, count, low, parts)
    barred = np.zeros(0 if strict else pieces, np.bool_)
    stride = max(1, pieces // MAX_LENDERS)
    while not meets(rules, tally):
        if not strict:
            if _borrow_one(setting, tally, other, scratch, item, count, barred, low, parts, stride):
                continue
            if stride > 1 and _borrow_one(setting, tally, other, scratch, item, count, barred, low, parts, 1):
                continue
        smallest = -1
        good = 0
        for p in range(parts):
            if is_good[p]:
                good += 1
                if smallest < 0 or size_of[p] < size_of[smallest]:
                    smallest = p
        if good < 2:
            clear(counters)
            return False
        is_good[smallest] = False
        for i in range(start[smallest], start[smallest + 1]):
            piece = order[i]
            left = count[low + piece] - lent[piece]
            if left > 0:
                add(counters, columns, item[low + piece], left)
                include(forest, ordered, region, 0, values, item[low + piece])
            lent[piece] = 0
    clear(counters)
    return True


@njit(**INNER)
def _thresholds(setting, tally, scratch, item, count, low, high, j, strict, whole, loss_now, by_bits):
    """Return the best cut of an ordered attribute.

    The result is (loss, bits, the largest code of the part below). Both parts must meet the rules, or, where rows can
    be borrowed, one of them.
    """
    space, rules, values, columns = setting.space, setting.rules, setting.values, setting.columns
    forest, ordered, counters = space.forest, space.ordered, tally.counter
    region, fields = scratch.region, scratch.open
    pieces = high - low
    codes = np.empty(pieces, np.int64)
    for i in range(pieces):
        codes[i] = values[item[low + i], j]
    order = np.argsort(codes, kind="mergesort")
    ends = np.empty(pieces, np.int64)  # a cut is after the piece ends[c] of the order
    cuts = 0
    for i in range(pieces - 1):
        if codes[order[i]] != codes[order[i + 1]]:
            ends[cuts] = i
            cuts += 1
    if cuts > MAX_THRESHOLDS:  # those that divide the rows most evenly
        chosen = 0
        rows = 0
        position = 0
        for c in range(cuts):
            while position <= ends[c]:
                rows += count[low + order[position]]
                position += 1
            if rows * (MAX_THRESHOLDS + 1) >= whole * (chosen + 1):
                ends[chosen] = ends[c]
                chosen = min(chosen + 1, MAX_THRESHOLDS)
        cuts = chosen
    loss = np.zeros(cuts)
    below = np.zeros(cuts, np.int64)
    fine = np.zeros(cuts, np.int64)
    for side in range(2):
        region[1] = -1
        rows = 0
        position = 0 if side == 0 else pieces - 1
        for step in range(cuts):
            c = step if side == 0 else cuts - 1 - step
            while (position <= ends[c]) if side == 0 else (position > ends[c]):
                at = low + order[position]
                _widen(forest, ordered, region, 1, values, item[at], fields)
                rows += count[at]
                add(counters, columns, item[at], count[at])
                position += 1 if side == 0 else -1
            if meets(rules, tally):
                fine[c] += 1
            if side == 0:
                below[c] = rows
            loss[c] += max(rows, rules.least[0]) * region_cost(space, region, 1)
        clear(counters)
    best = -1
    best_rate = 0.0
    for c in range(cuts):
        if fine[c] == 2 or (fine[c] == 1 and not strict):
            bits = max(_bits(below[c], whole) + _bits(whole - below[c], whole), 1e-9)
            rate = (loss_now - loss[c]) / (bits if by_bits else 1.0)
            if rate > best_rate:
                best, best_rate = c, rate
    if best < 0:
        return np.inf, 1.0, np.int64(-1)
    bits = max(_bits(below[best], whole) + _bits(whole - below[best], whole), 1e-9)
    return loss[best], bits, codes[order[ends[best]]]


@njit(**INNER)
def _best_cut(setting, tally, scratch, item, count, low, high, barred, strict, by_bits):
    """Return the attribute to cut along and, if it is ordered, the threshold.

    The attribute is -1 where no cut pays.
    """
    space = setting.space
    forest, ordered, region, fields = space.forest, space.ordered, scratch.region, scratch.open
    whole = 0
    for i in range(low, high):
        whole += count[i]
    cost = 0.0
    fields[-1] = 0
    for j in range(region.shape[1]):
        low_end, high_end = region[2, j, 0], region[2, j, 1]
        if low_end != high_end or (not ordered[j] and forest[LEVEL, low_end] > 0):
            fields[fields[-1]] = j
            fields[-1] += 1
            cost += extent_cost(space, j, low_end, high_end)
    loss_now = whole * cost
    best = -1
    best_rate = 0.0
    best_parts = 0
    best_threshold = np.int64(-1)
    for f in range(fields[-1]):
        j = fields[f]
        if barred[j]:
            continue
        threshold = np.int64(-1)
        parts = 2
        if ordered[j]:
            loss, bits, threshold = _thresholds(
                setting, tally, scratch, item, count, low, high, j, strict, whole, loss_now, by_bits
            )
        else:
            parts = _assign_parts(setting, scratch, item, count, low, high, j, -1)
            loss, bits = _evaluate_parts(setting, tally, scratch, item, count, low, high, parts, whole)
        gain = loss_now - loss
        if gain <= MIN_GAIN:
            continue
        rate = gain / bits if by_bits else gain
        if rate > best_rate * (1.0 + 1e-12) or (rate >= best_rate * (1.0 - 1e-12) and parts < best_parts):
            best, best_rate, best_parts, best_threshold = j, rate, parts, threshold
    return best, best_threshold


@njit(**INNER)
def _make_cut(setting, tally, other, scratch, item, count, low, high, strict, by_bits):
    """Assign parts for the best cut that leaves all parts and the pool good.

    Returns the number of parts, 0 where no cut pays. scratch.good and scratch.lent describe the pool: parts that are
    not good, and rows lent by those that are.
    """
    forest, ordered, values = setting.space.forest, setting.space.ordered, setting.values
    region, lent, is_good = scratch.region, scratch.lent, scratch.good
    pieces = high - low
    region[2] = -1
    for i in range(low, high):
        include(forest, ordered, region, 2, values, item[i])
    barred = np.zeros(values.shape[1], np.bool_)
    while True:
        j, threshold = _best_cut(setting, tally, scratch, item, count, low, high, barred, strict, by_bits)
        if j < 0:
            return 0
        parts = _assign_parts(setting, scratch, item, count, low, high, j, threshold)
        _sort_by_part(scratch, pieces, parts)
        _evaluate_parts(setting, tally, scratch, item, count, low, high, parts, 1.0)
        lent[:pieces] = 0
        bad = False
        for p in range(parts):
            bad |= not is_good[p]
        if not bad or _repair_pool(setting, tally, other, scratch, item, count, low, parts, pieces, strict):
            return parts
        barred[j] = True


@njit(**INNER)
def _write_parts(scratch, item, count, low, parts, target, filled, ends, made):
    """Write the pieces of good parts, then those of the pool, to `target`.

    Returns (filled, made).
    target : int64 (2, capacity)
    ends : int64, gets the end of each group that is made, from ends[made + 1] on
    """
    start, order, lent, is_good = scratch.start, scratch.order, scratch.lent, scratch.good
    for p in range(parts):
        if is_good[p]:
            for i in range(start[p], start[p + 1]):
                left = count[low + order[i]] - lent[order[i]]
                if left > 0:
                    target[0, filled] = item[low + order[i]]
                    target[1, filled] = left
                    filled += 1
            made += 1
            ends[made] = filled
    pooled = filled
    for p in range(parts):
        for i in range(start[p], start[p + 1]):
            stays = lent[order[i]] if is_good[p] else count[low + order[i]]
            if stays > 0:
                target[0, filled] = item[low + order[i]]
                target[1, filled] = stays
                filled += 1
    if filled > pooled:
        made += 1
        ends[made] = filled
    return filled, made


@njit(**FROM_PYTHON)
def cut_groups(setting, tally, other, scratch, item, count, start, strict, by_bits, max_passes):
    """Cut groups until no cut pays, or `max_passes` times.

    item, count : int64 (pieces,), rows of an item;  start : int64 (groups + 1,), the pieces of each group
    strict : whether the rows of an item stay together;  by_bits : whether the decrease of the loss is divided by the
        entropy of the cut, instead of taking the least loss
    Every group must meet the rules, and no group may have two pieces of an item. Returns item, count, start of the
    resulting groups, which satisfy the same. An item whose rows are divided has several pieces. Cost: pieces times
    attributes squared, for every pass.
    """
    open_groups = np.ones(len(start) - 1, np.bool_)
    while max_passes > 0 and open_groups.any():
        max_passes -= 1
        groups = len(start) - 1
        capacity = 2 * len(item) + 2  # every piece can be divided between its part and the pool
        target = np.empty((2, capacity), np.int64)
        ends = np.zeros(capacity + groups + 1, np.int64)
        was_cut = np.zeros(capacity + groups, np.bool_)
        filled = 0
        made = 0
        for g in range(groups):
            low, high = start[g], start[g + 1]
            parts = 0
            if open_groups[g]:
                parts = _make_cut(setting, tally, other, scratch, item, count, low, high, strict, by_bits)
            if parts > 0:
                before = made
                filled, made = _write_parts(scratch, item, count, low, parts, target, filled, ends, made)
                was_cut[before:made] = True
            else:
                for i in range(low, high):
                    target[0, filled] = item[i]
                    target[1, filled] = count[i]
                    filled += 1
                made += 1
                ends[made] = filled
        item, count = target[0, :filled].copy(), target[1, :filled].copy()
        start, open_groups = ends[: made + 1].copy(), was_cut[:made].copy()
    return item, count, start
