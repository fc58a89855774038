"""Cells of a lattice, gone through column by column: what every row loses at least, and what rows lose together.

A cell is what rows share at one level per column. Cells are found by refining: all rows are one group, the first column
at some level divides it, the next column at some level divides its parts, and so on, the finest level first. A part is
left as soon as no cell inside it can matter: where it has too few rows, or fails a rule that every larger set of rows
would meet too if it did, all cells inside fail; and where what it has lost already is no less than what all of its rows
have found elsewhere, no cell inside is better. Rows of one part have the same labels so far, and so the same loss.

Two questions are asked of the cells that may hold a group:

* `least_costs`: the cheapest of those that hold a row;
* `rises`: by how much prices of rows can rise at once so that in no cell the `least` dearest rows together have a
  price above `least` times the cell's cost. Why such prices are a bound is in docs/bounds.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.bounds.kernels.heap import replace_largest
from shoal.kernels.options import FROM_PYTHON, INNER

__all__ = ["Cells", "least_costs", "make_room", "rises"]


class Cells(NamedTuple):
    """Items, the hierarchies of their columns, and what a set of rows must have to hold a group.

    codes : int32 (q, n), leaf codes;  copies : int64 (n,), rows of each item
    lift : int32, flat: `lift[at[a, level] + leaf]` is the code at that level;  at : int64 (q, levels)
    cost : float64, flat: `cost[at[a, level] + code]` is what a row loses in the column where that code is shown
    height : int64 (q,), the last level of each column;  width : the most codes that a column has
    least : the fewest rows;  marks : int64 (rules, n);  needs : int64 (rules,)
    adds : bool (rules,): whether the marks of all rows must add up to `needs`, or so many marks >= 0 must differ
    """

    codes: np.ndarray
    copies: np.ndarray
    lift: np.ndarray
    at: np.ndarray
    cost: np.ndarray
    height: np.ndarray
    width: int
    least: int
    marks: np.ndarray
    needs: np.ndarray
    adds: np.ndarray


class Room(NamedTuple):
    """Working memory: the parts at each depth, and per code what is counted of it.

    rows : int32 (q + 1, n);  start : int64 (q + 1, n + 1);  lost : float64 (q + 1, n)
    held : int64 (width,), zero between calls;  most : float64 (width,);  place, touched : int64 (width,)
    seen : int64 (marks,), the last part that showed a mark;  top : float64 (least,), the dearest rows of a part
    """

    rows: np.ndarray
    start: np.ndarray
    lost: np.ndarray
    held: np.ndarray
    most: np.ndarray
    place: np.ndarray
    touched: np.ndarray
    seen: np.ndarray
    top: np.ndarray


def make_room(cells: Cells) -> Room:
    """Working memory for some cells."""
    columns, items = cells.codes.shape
    return Room(
        np.empty((columns + 1, items), np.int32),
        np.zeros((columns + 1, items + 1), np.int64),
        np.zeros((columns + 1, max(items, 1))),
        np.zeros(cells.width, np.int64),
        np.zeros(cells.width),
        np.zeros(cells.width, np.int64),
        np.zeros(cells.width, np.int64),
        np.zeros(int(cells.marks.max(initial=0)) + 2, np.int64),
        np.zeros(max(cells.least, 1)),
    )


@njit(**INNER)
def _may_hold(cells, room, rows, low, high):
    """Whether the items rows[low:high] meet the rules."""
    for r in range(len(cells.needs)):
        found = np.int64(0)
        if cells.adds[r]:
            for i in range(low, high):
                found += cells.copies[rows[i]] * cells.marks[r, rows[i]]
        else:
            seen = room.seen
            seen[-1] += 1
            now = seen[-1]
            for i in range(low, high):
                mark = cells.marks[r, rows[i]]
                if mark >= 0 and seen[mark] != now:
                    seen[mark] = now
                    found += 1
                    if found >= cells.needs[r]:
                        break
        if found < cells.needs[r]:
            return False
    return True


@njit(**INNER)
def _least_rise(cells, room, rows, low, high, lost, price, rising):
    """How much the rising prices of a part's rows may rise at least, if its cells cost `lost` or more; and the most.

    rising : float64 (n,): how far each price may rise as far as is known, 0 where it stands still
    """
    top, count = room.top, cells.copies
    size = len(top)
    top[:] = 0.0
    movable = np.int64(0)
    furthest = 0.0
    for i in range(low, high):
        item = rows[i]
        if rising[item] > 0.0:
            movable += count[item]
            furthest = max(furthest, rising[item])
        for _ in range(min(count[item], size)):  # the dearest rows are kept, as numbers below 0
            if -price[item] >= top[0]:
                break
            replace_largest(top, -price[item])
    return (size * lost + top.sum()) / max(1, min(movable, size)), furthest


@njit(**INNER)
def _divide(cells, room, depth, groups, level, ceiling, price, together):
    """Divide the parts at a depth by the next column at a level; how many parts that can matter there are.

    ceiling : float64 (n,): a part matters where it has lost less than the largest ceiling of its items, or, with
        `together`, where prices may not rise as far as their ceilings
    """
    codes, count, lift, cost = cells.codes[depth], cells.copies, cells.lift, cells.cost
    held, most, place, touched = room.held, room.most, room.place, room.touched
    rows, start, lost = room.rows[depth], room.start[depth], room.lost[depth]
    new_rows, new_start, new_lost = room.rows[depth + 1], room.start[depth + 1], room.lost[depth + 1]
    at = cells.at[depth, level]
    made = 0
    new_start[0] = 0
    for g in range(groups):
        different = 0
        for i in range(start[g], start[g + 1]):
            item = rows[i]
            code = lift[at + codes[item]]
            if held[code] == 0:
                touched[different] = code
                different += 1
                most[code] = 0.0
                place[code] = 0
            held[code] += count[item]
            place[code] += 1
            most[code] = max(most[code], ceiling[item])
        first = made
        filled = new_start[made]
        for t in range(different):
            code = touched[t]
            items = place[code]
            place[code] = -1
            loss = lost[g] + cost[at + code]
            if held[code] >= cells.least and most[code] > (0.0 if together else loss):
                place[code] = filled
                filled += items
                new_lost[made] = loss
                made += 1
                new_start[made] = filled
            held[code] = 0
        if made == first:
            continue
        for i in range(start[g], start[g + 1]):
            item = rows[i]
            code = lift[at + codes[item]]
            if place[code] >= 0:
                new_rows[place[code]] = item
                place[code] += 1
        kept = first
        for part in range(first, made):
            low, high, loss = new_start[part], new_start[part + 1], new_lost[part]
            if not _may_hold(cells, room, new_rows, low, high):
                continue
            if together:
                rise, furthest = _least_rise(cells, room, new_rows, low, high, loss, price, ceiling)
                if rise >= furthest:
                    continue
            to = new_start[kept]
            if to != low:
                for i in range(high - low):
                    new_rows[to + i] = new_rows[low + i]
            new_lost[kept] = loss
            kept += 1
            new_start[kept] = to + high - low
        made = kept
    return made


@njit(**FROM_PYTHON)
def _visit(cells, room, found, price, together, budget):
    """Go through all cells that can matter, and note what they say in `found`; the work left, below 0: not all.

    found : float64 (n,), overwritten: with `together` how far prices may rise, else the least cost
    """
    columns, items = cells.codes.shape
    groups = np.zeros(columns + 1, np.int64)
    level = np.full(columns + 1, -1, np.int64)
    for i in range(items):
        room.rows[0, i] = i
    room.start[0, 0], room.start[0, 1] = 0, items
    room.lost[0, 0] = 0.0
    groups[0] = 1
    if cells.copies.sum() < cells.least or not _may_hold(cells, room, room.rows[0], 0, items):
        return budget
    depth = 0
    while depth >= 0:
        level[depth] += 1
        if level[depth] > cells.height[depth]:
            level[depth] = -1
            depth -= 1
            continue
        budget -= room.start[depth, groups[depth]]
        if budget < 0:
            return budget
        made = _divide(cells, room, depth, groups[depth], level[depth], found, price, together)
        if made == 0:
            continue
        if depth < columns - 1:
            depth += 1
            groups[depth] = made
            continue
        rows, start, lost = room.rows[columns], room.start[columns], room.lost[columns]
        for g in range(made):
            value = lost[g]
            if together:
                value, _ = _least_rise(cells, room, rows, start[g], start[g + 1], lost[g], price, found)
                value = max(value, 0.0)
            for i in range(start[g], start[g + 1]):
                found[rows[i]] = min(found[rows[i]], value)
    return budget


def least_costs(cells: Cells, room: Room, most: float, budget: int) -> tuple[np.ndarray, int]:
    """Of each item the cost of the cheapest cell that may hold a group, `most` where there is none; and the work left.

    Where the work left is below 0, not all cells were seen, and the costs are of no use.
    """
    found = np.full(len(cells.copies), most)
    return found, int(_visit(cells, room, found, found, False, budget))


def rises(cells: Cells, room: Room, price: np.ndarray, furthest: np.ndarray, budget: int) -> tuple[np.ndarray, int]:
    """How far the prices of items may rise at once, none further than `furthest`; and the work left, as above."""
    found = furthest.copy()
    return found, int(_visit(cells, room, found, price, True, budget))
