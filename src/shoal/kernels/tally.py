"""Whether a group meets the models, from the sensitive values it holds, without looking at those it lacks.

A tally counts the values of one group at a time. What a verdict costs depends on how many different values the group
holds, not on how many the column has, so that small groups are cheap however rich the column is. All models of shoal
are covered; each is one or more rules:

| rule | holds where |
|---|---|
| DISTINCT | at least `whole` different values |
| CATEGORIES | values of at least `whole` different labels |
| WEIGHT | the labels of all known rows add up to at least `whole` |
| ENTROPY | the entropy of the known values is at least log(`real`) |
| RECURSIVE | r1 < `real` (r_l + r_(l+1) + ...), l = `whole`, counts r falling |
| SHARE | no value has a larger share than `real` |
| EQUAL, ORDERED, HIERARCHICAL | the earth mover's distance to the table is at most `real` |
| DISCLOSURE | |log(share / share in the table)| < `real`; `whole` = 1 asks for every value of the table |
| LIKENESS | share / share in the table - 1 <= `real`; `whole` = 1 takes the smaller of that and -log(share) |

Figures are floating point and a bound counts as met within 1e-12 of it: who uses a tally for a decision has the exact
models assess the result. Missing values are in no column of the tally, and a group that knows no value of an attribute
fails every rule on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.kernels.regions import Space

__all__ = ["Rules", "Setting", "Tally", "add", "clear", "lack", "make_tally", "meets"]

DISTINCT, CATEGORIES, WEIGHT, ENTROPY, RECURSIVE, SHARE, EQUAL, ORDERED, HIERARCHICAL, DISCLOSURE, LIKENESS = range(11)

NEAR = 1e-12


class Rules(NamedTuple):
    """Models as arrays. The values of sensitive attribute a are columns of their own, numbered through.

    least : int64 (1,), the smallest group
    owner : int64 (columns,), the attribute of each column
    totals : int64 (columns,), rows of the table with each value
    known, present : int64 (attributes,), rows of the table with a known value, and different values among them
    kind, attribute, whole : int64 (rules,);  real : float64 (rules,)
    label : int64 (rules, columns), category, weight, place in the order or leaf of the tree, by rule
    at : int64 (rules,), where the rule's part of `lines` begins
    lines : int64; ORDERED: rows of the table up to each place, then their running sums (places, places + 1);
        HIERARCHICAL: parent (-1 for the root), level and rows of the table of each node (3 × nodes)
    """

    least: np.ndarray
    owner: np.ndarray
    totals: np.ndarray
    known: np.ndarray
    present: np.ndarray
    kind: np.ndarray
    attribute: np.ndarray
    whole: np.ndarray
    real: np.ndarray
    label: np.ndarray
    at: np.ndarray
    lines: np.ndarray


class Tally(NamedTuple):
    """Counts of one group.

    book : int64 (3, columns + 1): row 0 has the rows of each column, and at the end those of the group; row 1 the
        columns that were counted, in order of appearance, and at the end how many they are; row 2 tells by 1 which
    work, other : int64 (columns or nodes or labels,), scratch that is zero between calls
    stack : int64, scratch
    """

    book: np.ndarray
    work: np.ndarray
    other: np.ndarray
    stack: np.ndarray


class Setting(NamedTuple):
    """What a search works on, and never changes.

    space : the attributes and what their extents cost (:class:`shoal.kernels.regions.Space`)
    rules : the models
    values : int32 (n, q), per item its leaves, or codes where an attribute is ordered
    columns : int32 (n, s), per item the tally's columns of its sensitive values, -1 where missing
    """

    space: Space
    rules: Rules
    values: np.ndarray
    columns: np.ndarray


def make_tally(rules: Rules) -> Tally:
    """An empty tally for some rules."""
    width = len(rules.owner)
    room = max(width, len(rules.lines), int(rules.label.max(initial=0)) + 1) + 1
    return Tally(
        np.zeros((3, width + 1), np.int64),
        np.zeros(room, np.int64),
        np.zeros(room, np.int64),
        np.zeros(2 * room, np.int64),
    )


@njit(**INNER)
def clear(book):
    """Empty the book of a tally. Cost: the columns that it holds."""
    for i in range(book[1, -1]):
        column = book[1, i]
        book[0, column] = 0
        book[2, column] = 0
    book[0, -1] = 0
    book[1, -1] = 0


@njit(**INNER)
def add(book, columns, row, times):
    """Count a row of `columns`, int32 (n, attributes), `times` times; a negative number takes it out."""
    book[0, -1] += times
    for a in range(columns.shape[1]):
        column = columns[row, a]
        if column >= 0:
            if book[2, column] == 0:
                book[2, column] = 1
                book[1, book[1, -1]] = column
                book[1, -1] += 1
            book[0, column] += times


@njit(**INNER)
def _distinct(rules, tally, attribute):
    book, owner = tally.book, rules.owner
    found = 0
    for i in range(book[1, -1]):
        column = book[1, i]
        if owner[column] == attribute and book[0, column] > 0:
            found += 1
    return found


@njit(**INNER)
def _categories(rules, tally, rule):
    book, work, stack, owner, label = tally.book, tally.work, tally.stack, rules.owner, rules.label
    found = 0
    attribute = rules.attribute[rule]
    for i in range(book[1, -1]):
        column = book[1, i]
        if owner[column] == attribute and book[0, column] > 0:
            mark = label[rule, column]
            if work[mark] == 0:
                work[mark] = 1
                stack[found] = mark
                found += 1
    for i in range(found):
        work[stack[i]] = 0
    return found


@njit(**INNER)
def _recursive(rules, tally, rule):
    """By how much the most frequent value exceeds (c, l)-diversity, as a part of it."""
    book, stack, owner = tally.book, tally.stack, rules.owner
    attribute = rules.attribute[rule]
    found = 0
    for i in range(book[1, -1]):
        column = book[1, i]
        if owner[column] == attribute and book[0, column] > 0:
            stack[found] = book[0, column]
            found += 1
    counts = np.sort(stack[:found])
    tail = 0
    for i in range(found - rules.whole[rule] + 1):
        tail += counts[i]
    most = counts[found - 1]
    if most < rules.real[rule] * tail * (1.0 - NEAR):
        return 0.0
    return (most - rules.real[rule] * tail + 1.0) / (most + 1.0)


@njit(**INNER)
def _ordered(rules, tally, rule, known):
    """The distance along an order: sum over places of |group's - table's cumulative share| / (places - 1).

    Between two values that the group holds, its cumulative count stands still and the table's rises, so that the
    sum over a stretch is known from running sums once the place where they cross is found.
    """
    book, stack, owner, label, lines = tally.book, tally.stack, rules.owner, rules.label, rules.lines
    attribute = rules.attribute[rule]
    places = rules.whole[rule]
    if places < 2:
        return 0.0
    at = rules.at[rule]
    found = 0
    for i in range(book[1, -1]):
        column = book[1, i]
        if owner[column] == attribute and book[0, column] > 0:
            stack[found] = column
            found += 1
    ranks = np.empty(found, np.int64)
    for i in range(found):
        ranks[i] = label[rule, stack[i]]
    order = np.argsort(ranks)
    rows = float(rules.known[attribute])
    reached = 0.0
    total = 0.0
    for step in range(found + 1):
        start = 0 if step == 0 else ranks[order[step - 1]]
        if step > 0:
            reached += book[0, stack[order[step - 1]]]
        stop = places - 1 if step == found else min(ranks[order[step]], places - 1)
        if stop <= start:
            continue
        level = reached * rows
        low, high = start, stop  # the first place of the stretch where the table is above the group
        while low < high:
            middle = (low + high) // 2
            if float(lines[at + middle]) * known > level:
                high = middle
            else:
                low = middle + 1
        sums = at + places
        total += level * (low - start) - known * float(lines[sums + low] - lines[sums + start])
        total += known * float(lines[sums + stop] - lines[sums + low]) - level * (stop - low)
    return total / (known * rows * (places - 1))


@njit(**INNER)
def _hierarchical(rules, tally, rule, known):
    """The distance along a tree: at each node, what must move between its children, times the node's height."""
    book, work, other, stack = tally.book, tally.work, tally.other, tally.stack
    owner, label, lines = rules.owner, rules.label, rules.lines
    attribute = rules.attribute[rule]
    at = rules.at[rule]
    nodes = rules.whole[rule]
    rows = rules.known[attribute]
    found = 0
    for i in range(book[1, -1]):
        column = book[1, i]
        if owner[column] == attribute and book[0, column] > 0:
            node = label[rule, column]
            work[node] = book[0, column]
            stack[found] = node
            found += 1
    total = 0.0
    height = 1
    room = len(stack) // 2
    while found > 0:
        above = 0
        for i in range(found):
            node = stack[i]
            parent = lines[at + node]
            surplus = work[node] * rows - lines[at + 2 * nodes + node] * known
            if parent >= 0:
                if work[parent] == 0:
                    stack[room + above] = parent
                    above += 1
                work[parent] += work[node]
                if surplus > 0:
                    other[parent] += surplus
            height = max(height, lines[at + nodes + node])
            work[node] = 0
        for i in range(above):
            node = stack[room + i]
            own = work[node] * rows - lines[at + 2 * nodes + node] * known
            more = other[node]
            other[node] = 0
            total += float(lines[at + nodes + node]) * float(min(more, more - own))
            stack[i] = node
        found = above
    return total / (float(known) * float(rows) * height)


@njit(**INNER)
def rule_lack(rules, tally, rule):
    """How far the group is from meeting one rule: 0 where it holds, about 1 for each value that is wanting."""
    book, owner, label, totals = tally.book, rules.owner, rules.label, rules.totals
    kind = rules.kind[rule]
    attribute = rules.attribute[rule]
    whole, real = rules.whole[rule], rules.real[rule]
    known = 0
    most = 0
    weight = 0
    for i in range(book[1, -1]):
        column = book[1, i]
        if owner[column] == attribute:
            known += book[0, column]
            most = max(most, book[0, column])
            if kind == WEIGHT:
                weight += book[0, column] * label[rule, column]
    if known == 0:
        return float(max(1, whole)) if kind in (DISTINCT, CATEGORIES) else 1.0
    if kind == DISTINCT:
        return float(max(0, whole - _distinct(rules, tally, attribute)))
    if kind == CATEGORIES:
        return float(max(0, whole - _categories(rules, tally, rule)))
    if kind == WEIGHT:
        return max(0, whole - weight) / max(1, whole)
    if kind == RECURSIVE:
        return _recursive(rules, tally, rule)
    if kind == SHARE:
        excess = most / known - real
        return excess if excess > NEAR else 0.0
    if kind == ORDERED:
        excess = _ordered(rules, tally, rule, known) - real
        return excess if excess > NEAR else 0.0
    if kind == HIERARCHICAL:
        excess = _hierarchical(rules, tally, rule, known) - real
        return excess if excess > NEAR else 0.0
    rows = rules.known[attribute]
    total = 0.0
    worst = 0.0
    found = 0
    for i in range(book[1, -1]):
        column = book[1, i]
        if owner[column] != attribute or book[0, column] == 0:
            continue
        found += 1
        share = book[0, column] / known
        outside = totals[column] / rows
        if kind == ENTROPY:
            total -= share * np.log(share)
        elif kind == EQUAL:
            total += max(0.0, share - outside)
        elif kind == DISCLOSURE:
            worst = max(worst, abs(np.log(share / outside)))
        else:
            limit = min(real, -np.log(outside)) if whole == 1 else real
            worst = max(worst, share / outside - 1.0 - limit)
    if kind == ENTROPY:
        gap = np.log(real) - total
        return gap if gap > NEAR else 0.0
    if kind == EQUAL:
        return total - real if total - real > NEAR else 0.0
    if kind == DISCLOSURE:
        absent = float(rules.present[attribute] - found) if whole == 1 else 0.0
        return absent + (max(worst - real, NEAR) if worst >= real else 0.0)
    return worst if worst > NEAR else 0.0


@njit(**INNER)
def meets(rules, tally):
    """Whether the group in the tally meets all rules."""
    book = tally.book
    if book[0, -1] < rules.least[0]:
        return False
    for rule in range(len(rules.kind)):  # noqa: SIM110 (compiled code has no generators)
        if rule_lack(rules, tally, rule) > 0.0:
            return False
    return True


@njit(**INNER)
def lack(rules, tally):
    """How far the group in the tally is from meeting all rules: rows that are wanting, and what each rule lacks."""
    book = tally.book
    total = float(max(0, rules.least[0] - book[0, -1]))
    for rule in range(len(rules.kind)):
        total += rule_lack(rules, tally, rule)
    return total


@njit(**FROM_PYTHON)
def lacks_of(rules, tally, columns, count, group, groups):
    """What each group lacks, float64 (groups,); rows of item i, int32 (n, attributes), are in group[i].

    Cost: a sort of the items by counting, and what the verdicts cost.
    """
    book = tally.book
    start = np.zeros(groups + 2, np.int64)
    for i in range(len(group)):
        start[group[i] + 2] += 1
    for g in range(groups):
        start[g + 2] += start[g + 1]
    order = np.empty(len(group), np.int64)
    for i in range(len(group)):
        order[start[group[i] + 1]] = i
        start[group[i] + 1] += 1
    result = np.empty(groups)
    for g in range(groups):
        for i in range(start[g], start[g + 1]):
            add(book, columns, order[i], count[order[i]])
        result[g] = lack(rules, tally)
        clear(book)
    return result
