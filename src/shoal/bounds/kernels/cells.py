"""Enumeration of the cells of a lattice, column by column.

A cell is the set of rows that share one label per column, each column at some level. Cells are found by refinement: all
rows are one part; the first column at some level divides it, the next column at some level divides its parts, and so
on, the finest level first. A part is abandoned as soon as no cell inside it can matter. If it has too few rows, or
fails a rule that is closed under supersets, all cells inside it fail. If its loss so far is no less than the best that
all of its rows have found elsewhere, no cell inside it is better. The rows of one part have the same labels so far, and
so the same loss.

Two questions are answered about the cells that can contain a group:

* `least_costs`: the cost of the cheapest cell that contains each row;
* `price_rises`: by how much the prices of rows can rise at once, such that in no cell the `least` dearest rows together
  exceed `least` times the cost of the cell. docs/bounds.md proves that such prices are a lower bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.bounds.kernels.heap import replace_largest
from shoal.kernels.options import FROM_PYTHON, INNER


class LatticeCells(NamedTuple):
    """Items, the hierarchies of their columns, and the rules of a group.

    codes : int32 (q, n), leaf codes;  copies : int64 (n,), rows of each item
    lift : int32, flat: `lift[at[a, level] + leaf]` is the code at that level;  at : int64 (q, levels)
    cost : float64, flat: `cost[at[a, level] + code]` is the loss of a row in the column where that code is published
    height : int64 (q,), the last level of each column;  width : the largest number of codes of a column
    least : the minimum number of rows;  marks : int64 (rules, n);  needs : int64 (rules,)
    adds : bool (rules,): whether the marks of all rows must sum to `needs`, or `needs` distinct marks >= 0 must occur
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


class CellScratch(NamedTuple):
    """Working memory: the parts at each depth, and counters per code.

    rows : int32 (q + 1, n);  start : int64 (q + 1, n + 1);  lost : float64 (q + 1, n)
    row_count : int64 (width,), zero between calls;  largest : float64 (width,), the largest ceiling of the code's items
    offset, touched : int64 (width,)
    seen : int64 (marks,), the last part that showed a mark;  top : float64 (least,), the dearest rows of a part
    """

    rows: np.ndarray
    start: np.ndarray
    lost: np.ndarray
    row_count: np.ndarray
    largest: np.ndarray
    offset: np.ndarray
    touched: np.ndarray
    seen: np.ndarray
    top: np.ndarray


def make_cell_scratch(cells: LatticeCells) -> CellScratch:
    """Allocate the working memory for some cells."""
    columns, items = cells.codes.shape
    return CellScratch(
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
def _meets_rules(cells, scratch, rows, low, high):
    """Return whether the items rows[low:high] meet the rules."""
    for r in range(len(cells.needs)):
        found = np.int64(0)
        if cells.adds[r]:
            for i in range(low, high):
                found += cells.copies[rows[i]] * cells.marks[r, rows[i]]
        else:
            seen = scratch.seen
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
def _least_rise(cells, scratch, rows, low, high, lost, price, rising):
    """Return the least possible rise of the prices of a part's rows.

    Assumes that its cells cost `lost` or more. Also returns the largest `rising` of the rows.
    rising : float64 (n,): upper bound of the rise of each price, 0 where it is fixed
    """
    top, count = scratch.top, cells.copies
    size = len(top)
    top[:] = 0.0
    movable = np.int64(0)
    furthest = 0.0
    for i in range(low, high):
        item = rows[i]
        if rising[item] > 0.0:
            movable += count[item]
            furthest = max(furthest, rising[item])
        for _ in range(min(count[item], size)):  # the heap has the dearest rows, as negative numbers
            if -price[item] >= top[0]:
                break
            replace_largest(top, -price[item])
    return (size * lost + top.sum()) / max(1, min(movable, size)), furthest


@njit(**INNER)
def _divide(cells, scratch, depth, groups, level, ceiling, price, for_prices):
    """Divide the parts at a depth by the next column at a level.

    Returns the number of resulting parts that can matter.
    ceiling : float64 (n,): a part matters if it has lost less than the largest ceiling of its items or, with
        `for_prices`, if its prices cannot rise up to their ceilings
    """
    codes, count, lift, cost = cells.codes[depth], cells.copies, cells.lift, cells.cost
    row_count, largest, offset, touched = scratch.row_count, scratch.largest, scratch.offset, scratch.touched
    rows, start, lost = scratch.rows[depth], scratch.start[depth], scratch.lost[depth]
    new_rows, new_start, new_lost = scratch.rows[depth + 1], scratch.start[depth + 1], scratch.lost[depth + 1]
    at = cells.at[depth, level]
    parts = 0
    new_start[0] = 0
    for g in range(groups):
        different = 0
        for i in range(start[g], start[g + 1]):
            item = rows[i]
            code = lift[at + codes[item]]
            if row_count[code] == 0:
                touched[different] = code
                different += 1
                largest[code] = 0.0
                offset[code] = 0
            row_count[code] += count[item]
            offset[code] += 1
            largest[code] = max(largest[code], ceiling[item])
        first = parts
        filled = new_start[parts]
        for t in range(different):
            code = touched[t]
            items = offset[code]
            offset[code] = -1
            loss = lost[g] + cost[at + code]
            if row_count[code] >= cells.least and largest[code] > (0.0 if for_prices else loss):
                offset[code] = filled
                filled += items
                new_lost[parts] = loss
                parts += 1
                new_start[parts] = filled
            row_count[code] = 0
        if parts == first:
            continue
        for i in range(start[g], start[g + 1]):
            item = rows[i]
            code = lift[at + codes[item]]
            if offset[code] >= 0:
                new_rows[offset[code]] = item
                offset[code] += 1
        retained = first
        for part in range(first, parts):
            low, high, loss = new_start[part], new_start[part + 1], new_lost[part]
            if not _meets_rules(cells, scratch, new_rows, low, high):
                continue
            if for_prices:
                rise, furthest = _least_rise(cells, scratch, new_rows, low, high, loss, price, ceiling)
                if rise >= furthest:
                    continue
            to = new_start[retained]
            if to != low:
                for i in range(high - low):
                    new_rows[to + i] = new_rows[low + i]
            new_lost[retained] = loss
            retained += 1
            new_start[retained] = to + high - low
        parts = retained
    return parts


@njit(**FROM_PYTHON)
def _visit(cells, scratch, found, price, for_prices, budget):
    """Visit all cells that can matter and update `found`.

    Returns the remaining budget; if it is negative, not all cells were visited.
    found : float64 (n,), overwritten: with `for_prices` the possible rise of each price, otherwise the least cost
    """
    columns, items = cells.codes.shape
    groups = np.zeros(columns + 1, np.int64)
    level = np.full(columns + 1, -1, np.int64)
    for i in range(items):
        scratch.rows[0, i] = i
    scratch.start[0, 0], scratch.start[0, 1] = 0, items
    scratch.lost[0, 0] = 0.0
    groups[0] = 1
    if cells.copies.sum() < cells.least or not _meets_rules(cells, scratch, scratch.rows[0], 0, items):
        return budget
    depth = 0
    while depth >= 0:
        level[depth] += 1
        if level[depth] > cells.height[depth]:
            level[depth] = -1
            depth -= 1
            continue
        budget -= scratch.start[depth, groups[depth]]
        if budget < 0:
            return budget
        made = _divide(cells, scratch, depth, groups[depth], level[depth], found, price, for_prices)
        if made == 0:
            continue
        if depth < columns - 1:
            depth += 1
            groups[depth] = made
            continue
        rows, start, lost = scratch.rows[columns], scratch.start[columns], scratch.lost[columns]
        for g in range(made):
            value = lost[g]
            if for_prices:
                value, _ = _least_rise(cells, scratch, rows, start[g], start[g + 1], lost[g], price, found)
                value = max(value, 0.0)
            for i in range(start[g], start[g + 1]):
                found[rows[i]] = min(found[rows[i]], value)
    return budget


def least_costs(cells: LatticeCells, scratch: CellScratch, highest: float, budget: int) -> tuple[np.ndarray, int]:
    """Return for each item the cost of the cheapest cell that can be a group.

    It is `highest` where there is none. Also returns the remaining budget; if it is negative, not all cells were
    visited and the costs are useless.
    """
    found = np.full(len(cells.copies), highest)
    return found, int(_visit(cells, scratch, found, found, False, budget))


def price_rises(
    cells: LatticeCells, scratch: CellScratch, price: np.ndarray, furthest: np.ndarray, budget: int
) -> tuple[np.ndarray, int]:
    """Return how far prices of items can rise at once, and the budget left.

    No price rises further than `furthest`. If the remaining budget is negative, the result is useless.
    """
    found = furthest.copy()
    return found, int(_visit(cells, scratch, found, price, True, budget))
