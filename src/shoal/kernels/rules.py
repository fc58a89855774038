"""Whether a group meets the models, from its size and how often it holds each sensitive value.

The models are rules (:mod:`shoal.encoding.rules`), written as plain arrays so that compiled code can evaluate them
while groups grow and change. The values of sensitive attribute a are the columns offsets[a] to offsets[a + 1]. A value
that is missing is in no column: it counts in the size and nowhere else, and a group with no known value of an attribute
fails every rule on it.

A group's counts are kept in one of two ways, and the rules read both:

* dense: one number per column (`shortfall`, `holds`), where many groups are kept at once and change row by row;
* sparse: a tally of one group at a time (`lack`, `meets`), which lists the columns that were counted, so that a verdict
  costs as many steps as the group has different values, not as many as the column has.

Figures are floating point, and a bound counts as met within 1e-12 of it: who uses them for a decision has the exact
models assess the result. A search that must be right at every group asks for a verdict (`verdict`), which says where
floating point cannot tell, and has the models assess those groups alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.encoding.rules import (
    AGAINST_THE_TABLE,
    CATEGORIES,
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    EQUAL,
    HIERARCHICAL,
    ORDERED,
    RECURSIVE,
    SHARE,
    WEIGHT,
    Rule,
)
from shoal.kernels.options import FROM_PYTHON, INNER

NEAR = 1e-12
CLOSE = 1e-9  # of a bound, and of what it is compared with: nearer than this only whole numbers can tell
HOLDS, FAILS, UNSURE = 0, 1, 2


class Rules(NamedTuple):
    """Models as arrays.

    least : int64 (1,), the smallest group
    offsets : int64 (attributes + 1,), the columns of each attribute
    every : int64 (columns,), all columns in order
    owner : int64 (columns,), the attribute of each column
    totals : int64 (columns,), rows of the table with each value
    known, present : int64 (attributes,), rows of the table with a known value, and different values among them
    kind, attribute, whole : int64 (rules,);  real : float64 (rules,)
    label : int64 (rules, columns), see :class:`shoal.encoding.rules.Rule`
    at : int64 (rules,), where the rule's part of `lines` begins;  lines : int64
    """

    least: np.ndarray
    offsets: np.ndarray
    every: np.ndarray
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


class Desk(NamedTuple):
    """Room for one thread's arithmetic, zero between calls: work, other : int64 (room,); stack : int64 (2 room,)."""

    work: np.ndarray
    other: np.ndarray
    stack: np.ndarray


class Judge(NamedTuple):
    """The rules with a desk to evaluate them on; threads share rules, never a desk."""

    rules: Rules
    desk: Desk


class Tally(NamedTuple):
    """Counts of one group.

    book : int64 (3, columns + 1): row 0 has the rows of each column, and at the end those of the group; row 1 the
        columns that were counted, in order of appearance, and at the end how many they are; row 2 tells by 1 which
    """

    book: np.ndarray
    desk: Desk


def make_rules(least: int, totals: Sequence[np.ndarray], rules: Sequence[tuple[int, Rule]]) -> Rules:
    """Rules as arrays.

    Parameters
    ----------
    least : the smallest group
    totals : for each attribute, int64 (values,): rows of the table with each value
    rules : pairs of an attribute and a rule on it
    """
    sizes = [len(counts) for counts in totals]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    width = int(offsets[-1])
    label = np.zeros((len(rules), width), np.int64)
    at, lines = [], [np.zeros(0, np.int64)]
    for number, (attribute, rule) in enumerate(rules):
        if rule.labels is not None:
            label[number, offsets[attribute] : offsets[attribute + 1]] = rule.labels
        at.append(sum(map(len, lines)))
        if rule.lines is not None:
            lines.append(rule.lines)
    return Rules(
        least=np.array([least], np.int64),
        offsets=offsets,
        every=np.arange(width, dtype=np.int64),
        owner=np.repeat(np.arange(len(sizes)), sizes).astype(np.int64),
        totals=np.concatenate([np.zeros(0, np.int64), *totals]).astype(np.int64),
        known=np.array([counts.sum() for counts in totals], np.int64),
        present=np.array([np.count_nonzero(counts) for counts in totals], np.int64),
        kind=np.array([rule.kind for _, rule in rules], np.int64),
        attribute=np.array([attribute for attribute, _ in rules], np.int64),
        whole=np.array([rule.whole for _, rule in rules], np.int64),
        real=np.array([rule.real for _, rule in rules], np.float64),
        label=label,
        at=np.array(at, np.int64),
        lines=np.concatenate(lines).astype(np.int64),
    )


def make_desk(rules: Rules) -> Desk:
    """Room to evaluate some rules."""
    room = max(len(rules.owner), len(rules.lines), int(rules.label.max(initial=0)) + 1) + 1
    return Desk(np.zeros(room, np.int64), np.zeros(room, np.int64), np.zeros(2 * room, np.int64))


def make_judge(rules: Rules) -> Judge:
    """A judge of groups by some rules, for one thread."""
    return Judge(rules, make_desk(rules))


def make_tally(rules: Rules) -> Tally:
    """An empty tally for some rules."""
    return Tally(np.zeros((3, len(rules.owner) + 1), np.int64), make_desk(rules))


def columns_of(codes: np.ndarray, rules: Rules) -> np.ndarray:
    """The columns of sensitive values, int32 (n, attributes), from their codes; -1 where a value is missing."""
    return np.ascontiguousarray(np.where(codes < 0, -1, codes + rules.offsets[:-1]), dtype=np.int32)


def value_counts(columns: np.ndarray, rules: Rules) -> np.ndarray:
    """How many of some rows, int32 (n, attributes), have each value, int64 (columns,)."""
    return np.bincount(columns[columns >= 0], minlength=len(rules.owner)).astype(np.int64)


# -- one rule ----------------------------------------------------------------------------------------
# Of `columns`, those from `first` to `last` are looked at; those of other attributes or without rows are passed over.


@njit(**INNER)
def _categories(rules, desk, rule, counts, columns, first, last):
    """How many different labels the group has."""
    work, stack, owner, label = desk.work, desk.stack, rules.owner, rules.label
    attribute = rules.attribute[rule]
    found = 0
    for i in range(first, last):
        column = columns[i]
        if owner[column] == attribute and counts[column] > 0:
            mark = label[rule, column]
            if mark >= 0 and work[mark] == 0:
                work[mark] = 1
                stack[found] = mark
                found += 1
    for i in range(found):
        work[stack[i]] = 0
    return found


@njit(**INNER)
def _recursive(rules, desk, rule, counts, columns, first, last, signed):
    """By how much the most frequent value exceeds (c, l)-diversity, as a part of it; if signed, also below 0."""
    stack, owner = desk.stack, rules.owner
    attribute = rules.attribute[rule]
    found = 0
    for i in range(first, last):
        column = columns[i]
        if owner[column] == attribute and counts[column] > 0:
            stack[found] = counts[column]
            found += 1
    ordered = np.sort(stack[:found])
    tail = 0
    for i in range(found - rules.whole[rule] + 1):
        tail += ordered[i]
    most = ordered[found - 1]
    if signed:
        return (most - rules.real[rule] * tail) / (most + 1.0)
    if most < rules.real[rule] * tail * (1.0 - NEAR):
        return 0.0
    return (most - rules.real[rule] * tail + 1.0) / (most + 1.0)


@njit(**INNER)
def _ordered(rules, desk, rule, known, counts, columns, first, last):
    """The distance along an order: sum over places of |group's - table's cumulative share| / (places - 1).

    Between two values that the group holds, its cumulative count stands still and the table's rises, so that the
    sum over a stretch is known from running sums once the place where they cross is found.
    """
    stack, owner, label, lines = desk.stack, rules.owner, rules.label, rules.lines
    attribute = rules.attribute[rule]
    places = rules.whole[rule]
    if places < 2:
        return 0.0
    at = rules.at[rule]
    found = 0
    for i in range(first, last):
        column = columns[i]
        if owner[column] == attribute and counts[column] > 0:
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
            reached += counts[stack[order[step - 1]]]
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
def _hierarchical(rules, desk, rule, known, counts, columns, first, last):
    """The distance along a tree: at each node, what must move between its children, times the node's height."""
    work, other, stack = desk.work, desk.other, desk.stack
    owner, label, lines = rules.owner, rules.label, rules.lines
    attribute = rules.attribute[rule]
    at = rules.at[rule]
    nodes = rules.whole[rule]
    rows = rules.known[attribute]
    found = 0
    for i in range(first, last):
        column = columns[i]
        if owner[column] == attribute and counts[column] > 0:
            node = label[rule, column]
            work[node] = counts[column]
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
def _by_shares(rules, rule, known, counts, columns, first, last, signed):
    """How far the group is from meeting a rule on the shares of its values, one value after the other.

    If signed, a rule that holds gives how far from failing it is, as a negative number.
    """
    owner, totals = rules.owner, rules.totals
    attribute, kind = rules.attribute[rule], rules.kind[rule]
    whole, real = rules.whole[rule], rules.real[rule]
    rows = rules.known[attribute]
    total = 0.0
    worst = -np.inf if signed else 0.0
    found = 0
    for i in range(first, last):
        column = columns[i]
        if owner[column] != attribute or counts[column] == 0:
            continue
        found += 1
        share = counts[column] / known
        if kind == ENTROPY:
            total -= share * np.log(share)
            continue
        outside = totals[column] / rows
        if kind == EQUAL:
            total += max(0.0, share - outside)
        elif kind == DISCLOSURE:
            worst = max(worst, abs(np.log(share / outside)))
        else:
            limit = min(real, -np.log(outside)) if whole == 1 else real
            worst = max(worst, share / outside - 1.0 - limit)
    if kind == ENTROPY:
        gap = np.log(real) - total
        return gap if signed or gap > NEAR else 0.0
    if kind == EQUAL:
        return total - real if signed or total - real > NEAR else 0.0
    if kind == DISCLOSURE:
        absent = float(rules.present[attribute] - found) if whole == 1 else 0.0
        if signed:
            return absent if absent > 0.0 else worst - real
        return absent + (max(worst - real, NEAR) if worst >= real else 0.0)
    return worst if signed or worst > NEAR else 0.0


@njit(**INNER)
def _rule_lack(rules, desk, rule, counts, columns, first, last, signed):
    """How far the group is from meeting one rule: 0 where it holds, about 1 for each value that is wanting.

    If signed, a rule that holds gives how far from failing it is, as a negative number or 0.
    """
    owner, label = rules.owner, rules.label
    kind, attribute = rules.kind[rule], rules.attribute[rule]
    whole, real = rules.whole[rule], rules.real[rule]
    known = 0
    most = 0
    different = 0
    weight = 0
    for i in range(first, last):
        column = columns[i]
        count = counts[column]
        if count > 0 and owner[column] == attribute:
            known += count
            most = max(most, count)
            different += 1
            if kind == WEIGHT:
                weight += count * label[rule, column]
    if known == 0:
        return float(max(1, whole)) if kind in (DISTINCT, CATEGORIES) else 1.0
    if kind == DISTINCT:
        return float(whole - different if signed else max(0, whole - different))
    if kind == CATEGORIES:
        different = _categories(rules, desk, rule, counts, columns, first, last)
        return float(whole - different if signed else max(0, whole - different))
    if kind == WEIGHT:
        return (whole - weight if signed else max(0, whole - weight)) / max(1, whole)
    if kind == RECURSIVE:
        return _recursive(rules, desk, rule, counts, columns, first, last, signed)
    if kind == SHARE:
        excess = most / known - real
        return excess if signed or excess > NEAR else 0.0
    if kind == ORDERED:
        excess = _ordered(rules, desk, rule, known, counts, columns, first, last) - real
        return excess if signed or excess > NEAR else 0.0
    if kind == HIERARCHICAL:
        excess = _hierarchical(rules, desk, rule, known, counts, columns, first, last) - real
        return excess if signed or excess > NEAR else 0.0
    return _by_shares(rules, rule, known, counts, columns, first, last, signed)


# -- dense counts ------------------------------------------------------------------------------------


@njit(**FROM_PYTHON)
def count_rows(columns, group, groups, width):
    """Sizes, int64 (groups,), and counts, int64 (groups, width), of a partition of rows; group -1 is left out."""
    sizes = np.zeros(groups, np.int64)
    counts = np.zeros((groups, width), np.int64)
    for i in range(columns.shape[0]):
        if group[i] >= 0:
            sizes[group[i]] += 1
            for a in range(columns.shape[1]):
                if columns[i, a] >= 0:
                    counts[group[i], columns[i, a]] += 1
    return sizes, counts


@njit(**FROM_PYTHON)
def add_row(counts, columns, row, times):
    """Count a row's known values `times` times (-1 takes it out) in counts, int64 (columns,)."""
    for a in range(columns.shape[1]):
        if columns[row, a] >= 0:
            counts[columns[row, a]] += times


@njit(**INNER)
def _dense_lack(judge, rule, counts):
    """What a group with these counts lacks of one rule."""
    rules = judge.rules
    attribute = rules.attribute[rule]
    first, last = rules.offsets[attribute], rules.offsets[attribute + 1]
    return _rule_lack(rules, judge.desk, rule, counts, rules.every, first, last, False)


@njit(**FROM_PYTHON)
def rules_hold(judge, counts):
    """Whether every rule holds, whatever the group's size. Cost: the values of the rules' attributes."""
    for rule in range(len(judge.rules.kind)):  # noqa: SIM110 (compiled code has no generators)
        if _dense_lack(judge, rule, counts) > 0.0:
            return False
    return True


@njit(**FROM_PYTHON)
def holds(judge, size, counts):
    """Whether a group of `size` rows with these counts, int64 (columns,), meets the models."""
    return size >= judge.rules.least[0] and rules_hold(judge, counts)


@njit(**FROM_PYTHON)
def shortfall(judge, size, counts):
    """How far a group is from meeting the models: missing rows plus what each rule lacks; 0 where they hold."""
    total = float(max(0, judge.rules.least[0] - size))
    for rule in range(len(judge.rules.kind)):
        total += _dense_lack(judge, rule, counts)
    return total


@njit(**FROM_PYTHON)
def failing_groups(judge, sizes, counts):
    """Which groups do not meet the models, bool (groups,)."""
    failing = np.empty(len(sizes), np.bool_)
    for g in range(len(sizes)):
        failing[g] = not holds(judge, sizes[g], counts[g])
    return failing


@njit(**FROM_PYTHON)
def want_values(judge, counts, lacking, wanted):
    """Mark the values whose rows bring a group nearer to the models, in `wanted`, bool (columns,), overwritten.

    DISTINCT wants values the group does not have, CATEGORIES values of labels it does not have, WEIGHT values with a
    weight, rules that compare with the table values rarer than there, the other rules all but the most frequent values.
    Only rules that fail want anything; but unless `lacking`, DISTINCT and CATEGORIES want new values even when they
    hold (Algorithm 2 of the paper on p-sensitive microaggregation, read so that its Table 2 is reproduced).
    """
    wanted[:] = False
    rules = judge.rules
    for rule in range(len(rules.kind)):
        kind, attribute = rules.kind[rule], rules.attribute[rule]
        always = not lacking and (kind in (DISTINCT, CATEGORIES))
        if not always and _dense_lack(judge, rule, counts) == 0.0:
            continue
        first, last = rules.offsets[attribute], rules.offsets[attribute + 1]
        if kind == CATEGORIES:
            _want_categories(counts, rules.label[rule], first, last, wanted)
            continue
        known, most, table = 0, 0, rules.known[attribute]
        for column in range(first, last):
            known += counts[column]
            most = max(most, counts[column])
        for column in range(first, last):
            if kind == DISTINCT:
                wanted[column] |= counts[column] == 0
            elif kind == WEIGHT:
                wanted[column] |= rules.label[rule, column] > 0
            elif kind >= AGAINST_THE_TABLE:
                wanted[column] |= counts[column] * table < rules.totals[column] * known or known == 0
            else:
                wanted[column] |= counts[column] < most or known == 0


@njit(**INNER)
def _want_categories(counts, label, first, last, wanted):
    """Mark the values whose label the group does not have."""
    for column in range(first, last):
        new = label[column] >= 0
        for other in range(first, last):
            if counts[other] > 0 and label[other] == label[column]:
                new = False
        wanted[column] |= new


def most_groups(rules: Rules, totals: np.ndarray, rows: int) -> int:
    """The largest number of groups that sizes and distinct values allow; a partition with as many may not exist.

    `totals`, int64 (columns,), counts each value over the `rows` rows. G groups need k·G rows and, for DISTINCT and
    CATEGORIES, Σ_v min(count_v, G) ≥ p·G values. Cost: log n times the values.
    """
    limit = rows // max(1, int(rules.least[0]))
    for kind, attribute, whole, label in zip(rules.kind, rules.attribute, rules.whole, rules.label, strict=True):
        if kind not in (DISTINCT, CATEGORIES):
            continue
        span = slice(rules.offsets[attribute], rules.offsets[attribute + 1])
        counts = totals[span]
        if kind == CATEGORIES:
            labels = label[span]
            counts = np.bincount(labels[labels >= 0], weights=counts[labels >= 0]).astype(np.int64)
        low, high = 0, limit  # Σ min(count, G) - p·G is concave in G and 0 at 0: once negative, always negative
        while low < high:
            middle = (low + high + 1) // 2
            if np.minimum(counts, middle).sum() >= whole * middle:
                low = middle
            else:
                high = middle - 1
        limit = low
    return limit


# -- a tally -----------------------------------------------------------------------------------------


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
def meets(rules, tally):
    """Whether the group in the tally meets all rules."""
    book = tally.book
    if book[0, -1] < rules.least[0]:
        return False
    counts, columns = book[0], book[1]
    for rule in range(len(rules.kind)):
        if _rule_lack(rules, tally.desk, rule, counts, columns, 0, columns[-1], False) > 0.0:
            return False
    return True


@njit(**INNER)
def lack(rules, tally):
    """How far the group in the tally is from meeting all rules: rows that are wanting, and what each rule lacks."""
    book = tally.book
    counts, columns = book[0], book[1]
    total = float(max(0, rules.least[0] - counts[-1]))
    for rule in range(len(rules.kind)):
        total += _rule_lack(rules, tally.desk, rule, counts, columns, 0, columns[-1], False)
    return total


@njit(**INNER)
def verdict(rules, tally, slack):
    """Whether the group in the tally meets all rules, HOLDS, FAILS or UNSURE, and how many of its rows must leave it.

    So many rows must leave before the group, or all parts that it is cut into, can meet the rules, in a table whose
    shares differ from the known ones by at most `slack`, float64 (attributes,); 0 where no number is known. Where
    values or weights are wanting it is all rows: what a group lacks, its parts lack. A distance or a share above its
    bound is convex: rows that stay pull the group no further than to the bound, and each that leaves no further than 1.
    """
    book = tally.book
    counts, columns = book[0], book[1]
    found = HOLDS
    leave = 0
    for rule in range(len(rules.kind)):
        gap = _rule_lack(rules, tally.desk, rule, counts, columns, 0, columns[-1], True)
        counted = rules.kind[rule] in (DISTINCT, CATEGORIES, WEIGHT)  # in whole numbers
        if not counted and not abs(gap) > CLOSE * (1.0 + abs(gap) + abs(rules.real[rule])):
            if found == HOLDS:
                found = UNSURE
        elif gap > 0.0:
            found = FAILS
            leave = max(leave, _must_leave(rules, rule, gap, counts, columns, slack))
    return found, leave


@njit(**INNER)
def _must_leave(rules, rule, gap, counts, columns, slack):
    """How many rows must leave a group that fails a rule by `gap`, see :func:`verdict`."""
    kind, attribute, real = rules.kind[rule], rules.attribute[rule], rules.real[rule]
    known = 0
    for i in range(columns[-1]):
        if rules.owner[columns[i]] == attribute:
            known += counts[columns[i]]
    if known == 0 or kind in (DISTINCT, CATEGORIES, WEIGHT):
        return counts[-1]
    over = gap
    if kind in (EQUAL, ORDERED, HIERARCHICAL):
        over -= slack[attribute]
    elif kind != SHARE:
        return 0
    if real >= 1.0:
        return 0
    return max(0, int(np.ceil(over * known / (1.0 - real) - 1e-6)))


@njit(**INNER)
def compare_with(rules, totals):
    """Let the table that groups are compared with have these rows of each value, int64 (columns,), in place."""
    rules.totals[:] = totals
    for attribute in range(len(rules.known)):
        first, last = rules.offsets[attribute], rules.offsets[attribute + 1]
        rules.known[attribute] = totals[first:last].sum()
        rules.present[attribute] = np.count_nonzero(totals[first:last])
    lines = rules.lines
    for rule in range(len(rules.kind)):
        at, whole = rules.at[rule], rules.whole[rule]
        first, last = rules.offsets[rules.attribute[rule]], rules.offsets[rules.attribute[rule] + 1]
        if rules.kind[rule] == ORDERED:
            lines[at : at + 2 * whole + 1] = 0
            for column in range(first, last):
                lines[at + rules.label[rule, column]] += totals[column]
            for place in range(whole):
                if place > 0:
                    lines[at + place] += lines[at + place - 1]
                lines[at + whole + place + 1] = lines[at + whole + place] + lines[at + place]
        elif rules.kind[rule] == HIERARCHICAL:
            lines[at + 2 * whole : at + 3 * whole] = 0
            for column in range(first, last):
                node = rules.label[rule, column]
                while node >= 0:
                    lines[at + 2 * whole + node] += totals[column]
                    node = lines[at + node]


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
