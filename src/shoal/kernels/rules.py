"""Whether a group meets the models, from its size and how often it holds each sensitive value.

The models are rules (:mod:`shoal.table.rules`), written as plain arrays so that compiled code can evaluate them
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

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.table.rules import (
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

NEAR = 1e-12
CLOSE = 1e-9  # of a bound, and of what it is compared with: nearer than this only whole numbers can tell
HOLDS, FAILS, UNSURE = 0, 1, 2


KIND, ATTRIBUTE, FIRST, LAST, WHOLE, AT, KNOWN, PRESENT = range(8)  # the columns of `Rules.heads`
OWNER, TOTALS, LABELS = range(3)  # the rows of `Rules.values`: labels of rule r are in row LABELS + r
_FOUND, _ROWS, _WORK, _OTHER, _STACK, _ABOVE = range(6)  # the rows of a desk


class Rules(NamedTuple):
    """Models as arrays: few of them, because every call that is not inlined hands over each array in seven words.

    least : int64 (1,), the smallest group
    offsets : int64 (attributes + 1,), the columns of each attribute; the last one is how many columns there are
    heads : int64 (rules, 8): KIND, ATTRIBUTE and its columns from FIRST to LAST, WHOLE, where the rule's part of
        `lines` begins (AT), the rows of the table that have a value (KNOWN), and its different values (PRESENT)
    real : float64 (rules,), see :class:`shoal.table.rules.Rule`
    values : int64 (2 + rules, columns): the attribute of each column (OWNER), rows of the table with each value
        (TOTALS), and for each rule its labels
    lines : int64, see :class:`shoal.table.rules.Rule`
    """

    least: np.ndarray
    offsets: np.ndarray
    heads: np.ndarray
    real: np.ndarray
    values: np.ndarray
    lines: np.ndarray


class Judge(NamedTuple):
    """The rules with a desk to evaluate them on, int64 (6, room); threads share rules, never a desk."""

    rules: Rules
    desk: np.ndarray


class Tally(NamedTuple):
    """Counts of one group.

    book : int64 (3, columns + 1): row 0 has the rows of each column, and at the end those of the group; row 1 the
        columns that were counted, in order of appearance, and at the end how many they are; row 2 tells by 1 which
    """

    book: np.ndarray
    desk: np.ndarray


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
    values = np.zeros((LABELS + len(rules), int(offsets[-1])), np.int64)
    values[OWNER] = np.repeat(np.arange(len(sizes)), sizes)
    values[TOTALS] = np.concatenate([np.zeros(0, np.int64), *totals])
    heads = np.zeros((len(rules), PRESENT + 1), np.int64)
    lines = [np.zeros(0, np.int64)]
    for number, (attribute, rule) in enumerate(rules):
        first, last, counts = offsets[attribute], offsets[attribute + 1], totals[attribute]
        at = sum(map(len, lines))
        heads[number] = rule.kind, attribute, first, last, rule.whole, at, counts.sum(), np.count_nonzero(counts)
        if rule.labels is not None:
            values[LABELS + number, first:last] = rule.labels
        if rule.lines is not None:
            lines.append(rule.lines)
    return Rules(
        least=np.array([least], np.int64),
        offsets=offsets,
        heads=heads,
        real=np.array([rule.real for _, rule in rules], np.float64),
        values=values,
        lines=np.concatenate(lines).astype(np.int64),
    )


def _make_desk(rules: Rules) -> np.ndarray:
    """Room to evaluate some rules; _WORK and _OTHER are zero between calls."""
    room = max(int(rules.offsets[-1]), len(rules.lines), int(rules.values[LABELS:].max(initial=0)) + 1) + 1
    return np.zeros((_ABOVE + 1, room), np.int64)


def make_judge(rules: Rules) -> Judge:
    """A judge of groups by some rules, for one thread."""
    return Judge(rules, _make_desk(rules))


def make_tally(rules: Rules) -> Tally:
    """An empty tally for some rules."""
    return Tally(np.zeros((3, rules.offsets[-1] + 1), np.int64), _make_desk(rules))


def columns_of(codes: np.ndarray, rules: Rules) -> np.ndarray:
    """The columns of sensitive values, int32 (n, attributes), from their codes; -1 where a value is missing."""
    return np.ascontiguousarray(np.where(codes < 0, -1, codes + rules.offsets[:-1]), dtype=np.int32)


def value_counts(columns: np.ndarray, rules: Rules) -> np.ndarray:
    """How many of some rows, int32 (n, attributes), have each value, int64 (columns,)."""
    return np.bincount(columns[columns >= 0], minlength=int(rules.offsets[-1])).astype(np.int64)


# -- one rule ----------------------------------------------------------------------------------------
# First the group's values of the rule's attribute are laid out on the desk: the columns that have rows, and how many.


@njit(**INNER, forceinline=True)
def _lay_out(desk, counts, first, last):
    """Lay out the columns from `first` to `last` that have rows; returns how many, and the rows of all of them."""
    found = known = 0
    for column in range(first, last):
        rows = counts[column]
        desk[_FOUND, found] = column  # written in any case: cheaper than to guess wrongly what comes
        desk[_ROWS, found] = rows
        known += rows
        found += rows > 0
    return found, known


@njit(**INNER)
def _lay_out_listed(desk, counts, columns, owner, attribute):
    """The same of those columns in a tally's list that an attribute owns."""
    found = known = 0
    for i in range(columns[-1]):
        column = columns[i]
        rows = counts[column]
        if rows > 0 and owner[column] == attribute:
            desk[_FOUND, found] = column
            desk[_ROWS, found] = rows
            known += rows
            found += 1
    return found, known


@njit(**INNER)
def _categories(desk, labels, found):
    """How many different labels the group has."""
    different = 0
    for i in range(found):
        mark = labels[desk[_FOUND, i]]
        if mark >= 0 and desk[_WORK, mark] == 0:
            desk[_WORK, mark] = 1
            desk[_STACK, different] = mark
            different += 1
    for i in range(different):
        desk[_WORK, desk[_STACK, i]] = 0
    return different


@njit(**INNER)
def _weight(desk, labels, found):
    """What the labels of the group's rows add up to."""
    total = 0
    for i in range(found):
        total += desk[_ROWS, i] * labels[desk[_FOUND, i]]
    return total


@njit(**INNER)
def _most(desk, found):
    """The rows of the most frequent value."""
    most = 0
    for i in range(found):
        most = max(most, desk[_ROWS, i])
    return most


@njit(**INNER)
def _recursive(desk, found, whole, real, signed):
    """By how much the most frequent value exceeds (c, l)-diversity, as a part of it; if signed, also below 0."""
    ordered = np.sort(desk[_ROWS, :found])
    tail = 0
    for i in range(found - whole + 1):
        tail += ordered[i]
    most = ordered[found - 1]
    if signed:
        return (most - real * tail) / (most + 1.0)
    if most < real * tail * (1.0 - NEAR):
        return 0.0
    return (most - real * tail + 1.0) / (most + 1.0)


@njit(**INNER)
def _ordered(desk, labels, lines, found, known, places, rows):
    """The distance along an order: sum over places of |group's - table's cumulative share| / (places - 1).

    Between two values that the group holds, its cumulative count stands still and the table's rises, so that the
    sum over a stretch is known from running sums once the place where they cross is found.
    """
    if places < 2:
        return 0.0
    ranks = labels[desk[_FOUND, :found]]
    order = np.argsort(ranks)
    reached = 0.0
    total = 0.0
    for step in range(found + 1):
        start = 0 if step == 0 else ranks[order[step - 1]]
        if step > 0:
            reached += desk[_ROWS, order[step - 1]]
        stop = places - 1 if step == found else min(ranks[order[step]], places - 1)
        if stop <= start:
            continue
        level = reached * rows
        low, high = start, stop  # the first place of the stretch where the table is above the group
        while low < high:
            middle = (low + high) // 2
            if float(lines[middle]) * known > level:
                high = middle
            else:
                low = middle + 1
        total += level * (low - start) - known * float(lines[places + low] - lines[places + start])
        total += known * float(lines[places + stop] - lines[places + low]) - level * (stop - low)
    return total / (known * rows * (places - 1))


@njit(**INNER)
def _hierarchical(desk, labels, lines, found, known, nodes, rows):
    """The distance along a tree: at each node, what must move between its children, times the node's height."""
    for i in range(found):
        node = labels[desk[_FOUND, i]]
        desk[_WORK, node] = desk[_ROWS, i]
        desk[_STACK, i] = node
    total = 0.0
    height = 1
    while found > 0:
        above = 0
        for i in range(found):
            node = desk[_STACK, i]
            parent = lines[node]
            surplus = desk[_WORK, node] * rows - lines[2 * nodes + node] * known
            if parent >= 0:
                if desk[_WORK, parent] == 0:
                    desk[_ABOVE, above] = parent
                    above += 1
                desk[_WORK, parent] += desk[_WORK, node]
                if surplus > 0:
                    desk[_OTHER, parent] += surplus
            height = max(height, lines[nodes + node])
            desk[_WORK, node] = 0
        for i in range(above):
            node = desk[_ABOVE, i]
            own = desk[_WORK, node] * rows - lines[2 * nodes + node] * known
            more = desk[_OTHER, node]
            desk[_OTHER, node] = 0
            total += float(lines[nodes + node]) * float(min(more, more - own))
            desk[_STACK, i] = node
        found = above
    return total / (float(known) * float(rows) * height)


@njit(**INNER)
def _entropy(desk, found, known):
    """The entropy of the group's values."""
    total = 0.0
    for i in range(found):
        share = desk[_ROWS, i] / known
        total -= share * np.log(share)
    return total


@njit(**INNER)
def _equal(desk, totals, found, known, rows):
    """The distance where all values are equally far apart: what the group has more of than the table."""
    total = 0.0
    for i in range(found):
        total += max(0.0, desk[_ROWS, i] / known - totals[desk[_FOUND, i]] / rows)
    return total


@njit(**INNER)
def _disclosure(desk, totals, found, known, rows, absent, real, signed):
    """How far the group is from δ-disclosure privacy, where it must hold `absent` more values of the table."""
    worst = -np.inf if signed else 0.0
    for i in range(found):
        worst = max(worst, abs(np.log(desk[_ROWS, i] / known / (totals[desk[_FOUND, i]] / rows))))
    if signed:
        return float(absent) if absent > 0 else worst - real
    return absent + (max(worst - real, NEAR) if worst >= real else 0.0)


@njit(**INNER)
def _likeness(desk, totals, found, known, rows, enhanced, real):
    """How far the value that gained most is above its bound of β-likeness."""
    worst = -np.inf
    for i in range(found):
        outside = totals[desk[_FOUND, i]] / rows
        limit = min(real, -np.log(outside)) if enhanced else real
        worst = max(worst, desk[_ROWS, i] / known / outside - 1.0 - limit)
    return worst


@njit(**INNER, forceinline=True)
def _rule_lack(rules, desk, rule, found, known, signed):
    """How far the group on the desk is from meeting one rule: 0 where it holds, about 1 for each value that is wanting.

    If signed, a rule that holds gives how far from failing it is, as a negative number or 0.
    """
    heads = rules.heads
    kind, whole = heads[rule, KIND], heads[rule, WHOLE]
    if kind == DISTINCT:
        if known == 0:
            return float(max(1, whole))
        return float(whole - found if signed else max(0, whole - found))
    return _other_lack(
        kind, whole, rules.real[rule], heads[rule, KNOWN], heads[rule, PRESENT],
        rules.values[TOTALS], rules.values[LABELS + rule], rules.lines[heads[rule, AT] :],
        desk, found, known, signed,
    )  # fmt: skip


@njit(**INNER)
def _other_lack(kind, whole, real, rows, present, totals, labels, lines, desk, found, known, signed):
    """The same for the rules that look at more than how many values there are."""
    if known == 0:
        return float(max(1, whole)) if kind == CATEGORIES else 1.0
    if kind == EQUAL:
        gap = _equal(desk, totals, found, known, rows) - real
    elif kind == CATEGORIES:
        different = _categories(desk, labels, found)
        return float(whole - different if signed else max(0, whole - different))
    elif kind == WEIGHT:
        weight = _weight(desk, labels, found)
        return (whole - weight if signed else max(0, whole - weight)) / max(1, whole)
    elif kind == RECURSIVE:
        return _recursive(desk, found, whole, real, signed)
    elif kind == DISCLOSURE:
        absent = present - found if whole == 1 else 0
        return _disclosure(desk, totals, found, known, rows, absent, real, signed)
    elif kind == SHARE:
        gap = _most(desk, found) / known - real
    elif kind == ENTROPY:
        gap = np.log(real) - _entropy(desk, found, known)
    elif kind == ORDERED:
        gap = _ordered(desk, labels, lines, found, known, whole, float(rows)) - real
    elif kind == HIERARCHICAL:
        gap = _hierarchical(desk, labels, lines, found, known, whole, rows) - real
    else:
        gap = _likeness(desk, totals, found, known, rows, whole == 1, real)
    return gap if signed or gap > NEAR else 0.0


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


@njit(**INNER, forceinline=True)
def _dense_lack(judge, rule, counts):
    """What a group with these counts lacks of one rule."""
    rules, desk = judge.rules, judge.desk
    found, known = _lay_out(desk, counts, rules.heads[rule, FIRST], rules.heads[rule, LAST])
    return _rule_lack(rules, desk, rule, found, known, False)


@njit(**FROM_PYTHON, forceinline=True)
def rules_hold(judge, counts):
    """Whether every rule holds, whatever the group's size. Cost: the values of the rules' attributes."""
    for rule in range(len(judge.rules.heads)):  # noqa: SIM110 (compiled code has no generators)
        if _dense_lack(judge, rule, counts) > 0.0:
            return False
    return True


@njit(**FROM_PYTHON)
def holds(judge, size, counts):
    """Whether a group of `size` rows with these counts, int64 (columns,), meets the models."""
    return size >= judge.rules.least[0] and rules_hold(judge, counts)


@njit(**FROM_PYTHON, forceinline=True)
def shortfall(judge, size, counts):
    """How far a group is from meeting the models: missing rows plus what each rule lacks; 0 where they hold."""
    total = float(max(0, judge.rules.least[0] - size))
    for rule in range(len(judge.rules.heads)):
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
    for rule in range(len(rules.heads)):
        kind, table = rules.heads[rule, KIND], rules.heads[rule, KNOWN]
        first, last = rules.heads[rule, FIRST], rules.heads[rule, LAST]
        labels = rules.values[LABELS + rule]
        always = not lacking and (kind in (DISTINCT, CATEGORIES))
        if not always and _dense_lack(judge, rule, counts) == 0.0:
            continue
        if kind == CATEGORIES:
            _want_categories(counts, labels, first, last, wanted)
            continue
        known, most = 0, 0
        for column in range(first, last):
            known += counts[column]
            most = max(most, counts[column])
        for column in range(first, last):
            if kind == DISTINCT:
                wanted[column] |= counts[column] == 0
            elif kind == WEIGHT:
                wanted[column] |= labels[column] > 0
            elif kind >= AGAINST_THE_TABLE:
                wanted[column] |= counts[column] * table < rules.values[TOTALS, column] * known or known == 0
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
    for head, label in zip(rules.heads, rules.values[LABELS:], strict=True):
        if head[KIND] not in (DISTINCT, CATEGORIES):
            continue
        counts = totals[head[FIRST] : head[LAST]]
        if head[KIND] == CATEGORIES:
            labels = label[head[FIRST] : head[LAST]]
            counts = np.bincount(labels[labels >= 0], weights=counts[labels >= 0]).astype(np.int64)
        low, high = 0, limit  # Σ min(count, G) - p·G is concave in G and 0 at 0: once negative, always negative
        while low < high:
            middle = (low + high + 1) // 2
            if np.minimum(counts, middle).sum() >= head[WHOLE] * middle:
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


@njit(**INNER, forceinline=True)
def _tally_lack(rules, tally, rule, signed):
    """What the group in the tally lacks of one rule."""
    book, desk = tally.book, tally.desk
    found, known = _lay_out_listed(desk, book[0], book[1], rules.values[OWNER], rules.heads[rule, ATTRIBUTE])
    return _rule_lack(rules, desk, rule, found, known, signed), known


@njit(**INNER)
def meets(rules, tally):
    """Whether the group in the tally meets all rules."""
    if tally.book[0, -1] < rules.least[0]:
        return False
    for rule in range(len(rules.heads)):  # noqa: SIM110 (compiled code has no generators)
        if _tally_lack(rules, tally, rule, False)[0] > 0.0:
            return False
    return True


@njit(**INNER)
def lack(rules, tally):
    """How far the group in the tally is from meeting all rules: rows that are wanting, and what each rule lacks."""
    total = float(max(0, rules.least[0] - tally.book[0, -1]))
    for rule in range(len(rules.heads)):
        total += _tally_lack(rules, tally, rule, False)[0]
    return total


@njit(**INNER)
def verdict(rules, tally, slack):
    """Whether the group in the tally meets all rules, HOLDS, FAILS or UNSURE, and how many of its rows must leave it.

    So many rows must leave before the group, or all parts that it is cut into, can meet the rules, in a table whose
    shares differ from the known ones by at most `slack`, float64 (attributes,); 0 where no number is known. Where
    values or weights are wanting it is all rows: what a group lacks, its parts lack. A distance or a share above its
    bound is convex: rows that stay pull the group no further than to the bound, and each that leaves no further than 1.
    """
    found = HOLDS
    leave = 0
    for rule in range(len(rules.heads)):
        gap, known = _tally_lack(rules, tally, rule, True)
        counted = rules.heads[rule, KIND] in (DISTINCT, CATEGORIES, WEIGHT)  # in whole numbers
        if not counted and not abs(gap) > CLOSE * (1.0 + abs(gap) + abs(rules.real[rule])):
            if found == HOLDS:
                found = UNSURE
        elif gap > 0.0:
            found = FAILS
            leave = max(leave, _must_leave(rules, rule, gap, tally.book[0, -1], known, slack))
    return found, leave


@njit(**INNER)
def _must_leave(rules, rule, gap, rows, known, slack):
    """How many of a group's rows must leave it where it fails a rule by `gap`, see :func:`verdict`."""
    kind, real = rules.heads[rule, KIND], rules.real[rule]
    if known == 0 or kind in (DISTINCT, CATEGORIES, WEIGHT):
        return rows
    over = gap
    if kind in (EQUAL, ORDERED, HIERARCHICAL):
        over -= slack[rules.heads[rule, ATTRIBUTE]]
    elif kind != SHARE:
        return 0
    if real >= 1.0:
        return 0
    return max(0, int(np.ceil(over * known / (1.0 - real) - 1e-6)))


@njit(**INNER)
def compare_with(rules, totals):
    """Let the table that groups are compared with have these rows of each value, int64 (columns,), in place."""
    heads, lines = rules.heads, rules.lines
    rules.values[TOTALS] = totals
    for rule in range(len(heads)):
        first, last = heads[rule, FIRST], heads[rule, LAST]
        heads[rule, KNOWN] = totals[first:last].sum()
        heads[rule, PRESENT] = np.count_nonzero(totals[first:last])
        at, whole, labels = heads[rule, AT], heads[rule, WHOLE], rules.values[LABELS + rule]
        if heads[rule, KIND] == ORDERED:
            lines[at : at + 2 * whole + 1] = 0
            for column in range(first, last):
                lines[at + labels[column]] += totals[column]
            for place in range(whole):
                if place > 0:
                    lines[at + place] += lines[at + place - 1]
                lines[at + whole + place + 1] = lines[at + whole + place] + lines[at + place]
        elif heads[rule, KIND] == HIERARCHICAL:
            lines[at + 2 * whole : at + 3 * whole] = 0
            for column in range(first, last):
                node = labels[column]
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
