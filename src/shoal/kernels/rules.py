"""Compiled evaluation of models on groups, from sizes and value counts.

The models are rules (:mod:`shoal.table.rules`), written as plain arrays so that compiled code can evaluate them
while groups grow and change. The values of sensitive attribute a are the columns offsets[a] to offsets[a + 1]. A
missing value is in no column: it counts in the size only, and a group without a known value of an attribute fails every
rule on it.

A group's counts are stored in one of two ways, and the rules read both:

* dense: one number per column (`shortfall`, `holds`), if many groups are stored at once and change row by row;
* sparse: a tally of one group at a time (`deficit`, `meets`), which lists the columns that were counted, so that a
  verdict costs as many steps as the group has distinct values, not as many as the column has.

Figures are floating point, and a bound counts as met within 1e-12 of it: for a decision, the exact models must assess
the result. A search that must be right at every group requests a verdict (`verdict`), which states where floating point
cannot decide, and has the models assess those groups alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER
from shoal.table.rules import (
    CATEGORIES,
    DISCLOSURE,
    DISTINCT,
    ENTROPY,
    EQUAL,
    FIRST_TABLE_COMPARISON,
    HIERARCHICAL,
    ORDERED,
    RECURSIVE,
    SHARE,
    WEIGHT,
    Rule,
)

BOUND_TOLERANCE = 1e-12
UNDECIDED_MARGIN = 1e-9  # relative distance from a bound within which only whole numbers can decide
HOLDS, FAILS, UNSURE = 0, 1, 2


KIND, ATTRIBUTE, FIRST, LAST, WHOLE, AT, KNOWN, PRESENT = range(8)  # the columns of `Rules.rule_headers`
OWNER, TOTALS, LABELS = range(3)  # the rows of `Rules.values`: labels of rule r are in row LABELS + r
_FOUND, _ROWS, _WORK, _OTHER, _STACK, _ABOVE = range(6)  # the rows of a workspace


class Rules(NamedTuple):
    """Models as arrays.

    There are few arrays, because every call that is not inlined passes each array in seven words.

    least : int64 (1,), the smallest group
    offsets : int64 (attributes + 1,), the columns of each attribute; the last one is the number of columns
    rule_headers : int64 (rules, 8): KIND, ATTRIBUTE and its columns from FIRST to LAST, WHOLE, the start of the rule's
        part of `rule_data` (AT), the rows of the table with a known value (KNOWN), and its distinct values (PRESENT)
    real : float64 (rules,), see :class:`shoal.table.rules.Rule`
    values : int64 (2 + rules, columns): the attribute of each column (OWNER), rows of the table with each value
        (TOTALS), and for each rule its labels
    rule_data : int64, see :class:`shoal.table.rules.Rule`
    """

    least: np.ndarray
    offsets: np.ndarray
    rule_headers: np.ndarray
    real: np.ndarray
    values: np.ndarray
    rule_data: np.ndarray


class RuleEvaluator(NamedTuple):
    """The rules with a workspace to evaluate them, int64 (6, columns).

    Threads share rules, never a workspace.
    """

    rules: Rules
    workspace: np.ndarray


class Tally(NamedTuple):
    """Counts of one group.

    counter : int64 (3, columns + 1): row 0 has the rows of each column, and at the end those of the group; row 1 the
        counted columns, in order of appearance, and at the end their number; row 2 is 1 for counted columns
    """

    counter: np.ndarray
    workspace: np.ndarray


def make_rules(least: int, totals: Sequence[np.ndarray], rules: Sequence[tuple[int, Rule]]) -> Rules:
    """Convert rules to arrays.

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
    rule_headers = np.zeros((len(rules), PRESENT + 1), np.int64)
    rule_data = [np.zeros(0, np.int64)]
    for number, (attribute, rule) in enumerate(rules):
        first, last, counts = offsets[attribute], offsets[attribute + 1], totals[attribute]
        at = sum(map(len, rule_data))
        rule_headers[number] = rule.kind, attribute, first, last, rule.whole, at, counts.sum(), np.count_nonzero(counts)
        if rule.labels is not None:
            values[LABELS + number, first:last] = rule.labels
        if rule.rule_data is not None:
            rule_data.append(rule.rule_data)
    return Rules(
        least=np.array([least], np.int64),
        offsets=offsets,
        rule_headers=rule_headers,
        real=np.array([rule.real for _, rule in rules], np.float64),
        values=values,
        rule_data=np.concatenate(rule_data).astype(np.int64),
    )


def _make_workspace(rules: Rules) -> np.ndarray:
    """Allocate a workspace; _WORK and _OTHER are zero between calls."""
    width = max(int(rules.offsets[-1]), len(rules.rule_data), int(rules.values[LABELS:].max(initial=0)) + 1) + 1
    return np.zeros((_ABOVE + 1, width), np.int64)


def make_evaluator(rules: Rules) -> RuleEvaluator:
    """Build an evaluator of groups by some rules, for one thread."""
    return RuleEvaluator(rules, _make_workspace(rules))


def make_tally(rules: Rules) -> Tally:
    """Build an empty tally for some rules."""
    return Tally(np.zeros((3, rules.offsets[-1] + 1), np.int64), _make_workspace(rules))


def columns_of(codes: np.ndarray, rules: Rules) -> np.ndarray:
    """Return the columns of sensitive values, int32 (n, attributes).

    They are computed from codes; -1 is a missing value.
    """
    return np.ascontiguousarray(np.where(codes < 0, -1, codes + rules.offsets[:-1]), dtype=np.int32)


def value_counts(columns: np.ndarray, rules: Rules) -> np.ndarray:
    """Count the rows, int32 (n, attributes), of each value, int64 (columns,)."""
    return np.bincount(columns[columns >= 0], minlength=int(rules.offsets[-1])).astype(np.int64)


# -- one rule ----------------------------------------------------------------------------------------
# First the group's values of the rule's attribute are written to the workspace: the columns that have rows, and counts.


@njit(**INNER, forceinline=True)
def _collect_columns(workspace, counts, first, last):
    """Collect the columns from `first` to `last` that have rows.

    Returns their number, and the sum of their rows.
    """
    found = known = 0
    for column in range(first, last):
        rows = counts[column]
        workspace[_FOUND, found] = column  # written unconditionally: cheaper than a branch misprediction
        workspace[_ROWS, found] = rows
        known += rows
        found += rows > 0
    return found, known


@njit(**INNER)
def _collect_listed_columns(workspace, counts, columns, owner, attribute):
    """Collect the columns of a tally's list that belong to an attribute."""
    found = known = 0
    for i in range(columns[-1]):
        column = columns[i]
        rows = counts[column]
        if rows > 0 and owner[column] == attribute:
            workspace[_FOUND, found] = column
            workspace[_ROWS, found] = rows
            known += rows
            found += 1
    return found, known


@njit(**INNER)
def _categories(workspace, labels, found):
    """Count the distinct labels of the group."""
    different = 0
    for i in range(found):
        mark = labels[workspace[_FOUND, i]]
        if mark >= 0 and workspace[_WORK, mark] == 0:
            workspace[_WORK, mark] = 1
            workspace[_STACK, different] = mark
            different += 1
    for i in range(different):
        workspace[_WORK, workspace[_STACK, i]] = 0
    return different


@njit(**INNER)
def _weight(workspace, labels, found):
    """Return the sum of the labels of the group's rows."""
    total = 0
    for i in range(found):
        total += workspace[_ROWS, i] * labels[workspace[_FOUND, i]]
    return total


@njit(**INNER)
def _largest_count(workspace, found):
    """Return the rows of the most frequent value."""
    largest = 0
    for i in range(found):
        largest = max(largest, workspace[_ROWS, i])
    return largest


@njit(**INNER)
def _recursive(workspace, found, whole, real, signed):
    """Return the relative excess of the most frequent value over its bound.

    The bound is that of (c, l)-diversity. If signed, the result is negative below the bound.
    """
    ordered = np.sort(workspace[_ROWS, :found])
    tail = 0
    for i in range(found - whole + 1):
        tail += ordered[i]
    largest = ordered[found - 1]
    if signed:
        return (largest - real * tail) / (largest + 1.0)
    if largest < real * tail * (1.0 - BOUND_TOLERANCE):
        return 0.0
    return (largest - real * tail + 1.0) / (largest + 1.0)


@njit(**INNER)
def _ordered(workspace, labels, rule_data, found, known, rank_count, rows):
    """Return the earth mover's distance along an order.

    That is the sum over ranks of |group's - table's cumulative share| / (rank_count - 1). Between two values of the
    group, its cumulative count is constant and the table's rises, so that the sum over a stretch follows from running
    sums once the rank where they cross is found.
    """
    if rank_count < 2:
        return 0.0
    ranks = labels[workspace[_FOUND, :found]]
    order = np.argsort(ranks)
    reached = 0.0
    total = 0.0
    for step in range(found + 1):
        start = 0 if step == 0 else ranks[order[step - 1]]
        if step > 0:
            reached += workspace[_ROWS, order[step - 1]]
        stop = rank_count - 1 if step == found else min(ranks[order[step]], rank_count - 1)
        if stop <= start:
            continue
        level = reached * rows
        low, high = start, stop  # the first rank of the stretch where the table is above the group
        while low < high:
            middle = (low + high) // 2
            if float(rule_data[middle]) * known > level:
                high = middle
            else:
                low = middle + 1
        total += level * (low - start) - known * float(rule_data[rank_count + low] - rule_data[rank_count + start])
        total += known * float(rule_data[rank_count + stop] - rule_data[rank_count + low]) - level * (stop - low)
    return total / (known * rows * (rank_count - 1))


@njit(**INNER)
def _hierarchical(workspace, labels, rule_data, found, known, nodes, rows):
    """Return the earth mover's distance along a tree.

    At each node, the amount that moves between its children counts times the node's height.
    """
    for i in range(found):
        node = labels[workspace[_FOUND, i]]
        workspace[_WORK, node] = workspace[_ROWS, i]
        workspace[_STACK, i] = node
    total = 0.0
    height = 1
    while found > 0:
        above = 0
        for i in range(found):
            node = workspace[_STACK, i]
            parent = rule_data[node]
            surplus = workspace[_WORK, node] * rows - rule_data[2 * nodes + node] * known
            if parent >= 0:
                if workspace[_WORK, parent] == 0:
                    workspace[_ABOVE, above] = parent
                    above += 1
                workspace[_WORK, parent] += workspace[_WORK, node]
                if surplus > 0:
                    workspace[_OTHER, parent] += surplus
            height = max(height, rule_data[nodes + node])
            workspace[_WORK, node] = 0
        for i in range(above):
            node = workspace[_ABOVE, i]
            own = workspace[_WORK, node] * rows - rule_data[2 * nodes + node] * known
            more = workspace[_OTHER, node]
            workspace[_OTHER, node] = 0
            total += float(rule_data[nodes + node]) * float(min(more, more - own))
            workspace[_STACK, i] = node
        found = above
    return total / (float(known) * float(rows) * height)


@njit(**INNER)
def _entropy(workspace, found, known):
    """Return the entropy of the group's values."""
    total = 0.0
    for i in range(found):
        share = workspace[_ROWS, i] / known
        total -= share * np.log(share)
    return total


@njit(**INNER)
def _equal(workspace, totals, found, known, rows):
    """Return the distance with equal distances between values.

    That is the sum of the group's excess shares over the table's.
    """
    total = 0.0
    for i in range(found):
        total += max(0.0, workspace[_ROWS, i] / known - totals[workspace[_FOUND, i]] / rows)
    return total


@njit(**INNER)
def _disclosure(workspace, totals, found, known, rows, absent, real, signed):
    """Return the distance of the group from δ-disclosure privacy.

    The group must contain `absent` more values of the table.
    """
    worst = -np.inf if signed else 0.0
    for i in range(found):
        worst = max(worst, abs(np.log(workspace[_ROWS, i] / known / (totals[workspace[_FOUND, i]] / rows))))
    if signed:
        return float(absent) if absent > 0 else worst - real
    return absent + (max(worst - real, BOUND_TOLERANCE) if worst >= real else 0.0)


@njit(**INNER)
def _likeness(workspace, totals, found, known, rows, enhanced, real):
    """Return the largest excess of a value over its bound of β-likeness."""
    worst = -np.inf
    for i in range(found):
        outside = totals[workspace[_FOUND, i]] / rows
        limit = min(real, -np.log(outside)) if enhanced else real
        worst = max(worst, workspace[_ROWS, i] / known / outside - 1.0 - limit)
    return worst


@njit(**INNER, forceinline=True)
def _rule_deficit(rules, workspace, rule, found, known, signed):
    """Return the distance of the collected group from meeting one rule.

    It is 0 if the rule holds, and about 1 for each missing value. If signed, a rule that holds gives its distance from
    failing, as a negative number or 0.
    """
    rule_headers = rules.rule_headers
    kind, whole = rule_headers[rule, KIND], rule_headers[rule, WHOLE]
    if kind == DISTINCT:
        if known == 0:
            return float(max(1, whole))
        return float(whole - found if signed else max(0, whole - found))
    return _other_rule_deficit(
        kind, whole, rules.real[rule], rule_headers[rule, KNOWN], rule_headers[rule, PRESENT],
        rules.values[TOTALS], rules.values[LABELS + rule], rules.rule_data[rule_headers[rule, AT] :],
        workspace, found, known, signed,
    )  # fmt: skip


@njit(**INNER)
def _other_rule_deficit(kind, whole, real, rows, present, totals, labels, rule_data, workspace, found, known, signed):
    """Return the deficit for rules other than DISTINCT."""
    if known == 0:
        return float(max(1, whole)) if kind == CATEGORIES else 1.0
    if kind == EQUAL:
        gap = _equal(workspace, totals, found, known, rows) - real
    elif kind == CATEGORIES:
        different = _categories(workspace, labels, found)
        return float(whole - different if signed else max(0, whole - different))
    elif kind == WEIGHT:
        weight = _weight(workspace, labels, found)
        return (whole - weight if signed else max(0, whole - weight)) / max(1, whole)
    elif kind == RECURSIVE:
        return _recursive(workspace, found, whole, real, signed)
    elif kind == DISCLOSURE:
        absent = present - found if whole == 1 else 0
        return _disclosure(workspace, totals, found, known, rows, absent, real, signed)
    elif kind == SHARE:
        gap = _largest_count(workspace, found) / known - real
    elif kind == ENTROPY:
        gap = np.log(real) - _entropy(workspace, found, known)
    elif kind == ORDERED:
        gap = _ordered(workspace, labels, rule_data, found, known, whole, float(rows)) - real
    elif kind == HIERARCHICAL:
        gap = _hierarchical(workspace, labels, rule_data, found, known, whole, rows) - real
    else:
        gap = _likeness(workspace, totals, found, known, rows, whole == 1, real)
    return gap if signed or gap > BOUND_TOLERANCE else 0.0


# -- dense counts ------------------------------------------------------------------------------------


@njit(**FROM_PYTHON)
def count_rows(columns, group, groups, width):
    """Return sizes and counts of a partition of rows.

    Sizes are int64 (groups,), counts int64 (groups, width); rows with group -1 are skipped.
    """
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
    """Add a row's known values `times` times to counts, int64 (columns,).

    -1 removes the row.
    """
    for a in range(columns.shape[1]):
        if columns[row, a] >= 0:
            counts[columns[row, a]] += times


@njit(**INNER, forceinline=True)
def _dense_deficit(evaluator, rule, counts):
    """Return the deficit of a group with these counts for one rule."""
    rules, workspace = evaluator.rules, evaluator.workspace
    found, known = _collect_columns(workspace, counts, rules.rule_headers[rule, FIRST], rules.rule_headers[rule, LAST])
    return _rule_deficit(rules, workspace, rule, found, known, False)


@njit(**FROM_PYTHON, forceinline=True)
def all_rules_met(evaluator, counts):
    """Return whether every rule holds, for any group size.

    Cost: the values of the rules' attributes.
    """
    for rule in range(len(evaluator.rules.rule_headers)):  # noqa: SIM110 (compiled code has no generators)
        if _dense_deficit(evaluator, rule, counts) > 0.0:
            return False
    return True


@njit(**FROM_PYTHON)
def holds(evaluator, size, counts):
    """Return whether a group meets the models.

    It has `size` rows and these counts, int64 (columns,).
    """
    return size >= evaluator.rules.least[0] and all_rules_met(evaluator, counts)


@njit(**FROM_PYTHON, forceinline=True)
def shortfall(evaluator, size, counts):
    """Return the distance of a group from meeting the models.

    That is the number of missing rows plus the deficit of each rule; 0 if all hold.
    """
    total = float(max(0, evaluator.rules.least[0] - size))
    for rule in range(len(evaluator.rules.rule_headers)):
        total += _dense_deficit(evaluator, rule, counts)
    return total


@njit(**FROM_PYTHON)
def failing_groups(evaluator, sizes, counts):
    """Return the groups that do not meet the models, bool (groups,)."""
    failing = np.empty(len(sizes), np.bool_)
    for g in range(len(sizes)):
        failing[g] = not holds(evaluator, sizes[g], counts[g])
    return failing


@njit(**FROM_PYTHON)
def want_values(evaluator, counts, lacking, wanted):
    """Mark the values that bring a group closer to the models.

    They are marked in `wanted`, bool (columns,), overwritten. DISTINCT needs values the group does not have, CATEGORIES
    values of labels it does not have, WEIGHT values with a weight, rules that compare with the table values rarer than
    there, the other rules all but the most frequent values. Only rules that fail need values; but unless `lacking`,
    DISTINCT and CATEGORIES mark new values even when they hold (Algorithm 2 of the paper on p-sensitive
    microaggregation, interpreted so that its Table 2 is reproduced).
    """
    wanted[:] = False
    rules = evaluator.rules
    for rule in range(len(rules.rule_headers)):
        kind, table = rules.rule_headers[rule, KIND], rules.rule_headers[rule, KNOWN]
        first, last = rules.rule_headers[rule, FIRST], rules.rule_headers[rule, LAST]
        labels = rules.values[LABELS + rule]
        always = not lacking and (kind in (DISTINCT, CATEGORIES))
        if not always and _dense_deficit(evaluator, rule, counts) == 0.0:
            continue
        if kind == CATEGORIES:
            _want_categories(counts, labels, first, last, wanted)
            continue
        known, largest = 0, 0
        for column in range(first, last):
            known += counts[column]
            largest = max(largest, counts[column])
        for column in range(first, last):
            if kind == DISTINCT:
                wanted[column] |= counts[column] == 0
            elif kind == WEIGHT:
                wanted[column] |= labels[column] > 0
            elif kind >= FIRST_TABLE_COMPARISON:
                wanted[column] |= counts[column] * table < rules.values[TOTALS, column] * known or known == 0
            else:
                wanted[column] |= counts[column] < largest or known == 0


@njit(**INNER)
def _want_categories(counts, label, first, last, wanted):
    """Mark the values with a label that the group does not have."""
    for column in range(first, last):
        new = label[column] >= 0
        for other in range(first, last):
            if counts[other] > 0 and label[other] == label[column]:
                new = False
        wanted[column] |= new


def max_group_count(rules: Rules, totals: np.ndarray, rows: int) -> int:
    """Return an upper bound on the number of groups.

    It follows from sizes and distinct values; a partition with as many groups may not exist. `totals`, int64
    (columns,), counts each value over the `rows` rows. G groups need k·G rows and, for DISTINCT and CATEGORIES, Σ_v
    min(count_v, G) ≥ p·G values. Cost: log n times the values.
    """
    limit = rows // max(1, int(rules.least[0]))
    for head, label in zip(rules.rule_headers, rules.values[LABELS:], strict=True):
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
def clear(counter):
    """Empty the counter of a tally. Cost: the columns that it contains."""
    for i in range(counter[1, -1]):
        column = counter[1, i]
        counter[0, column] = 0
        counter[2, column] = 0
    counter[0, -1] = 0
    counter[1, -1] = 0


@njit(**INNER)
def add(counter, columns, row, times):
    """Add a row `times` times; a negative number removes it.

    The row is one of `columns`, int32 (n, attributes).
    """
    counter[0, -1] += times
    for a in range(columns.shape[1]):
        column = columns[row, a]
        if column >= 0:
            if counter[2, column] == 0:
                counter[2, column] = 1
                counter[1, counter[1, -1]] = column
                counter[1, -1] += 1
            counter[0, column] += times


@njit(**INNER, forceinline=True)
def _tally_deficit(rules, tally, rule, signed):
    """Return the deficit of the group in the tally for one rule."""
    counter, workspace = tally.counter, tally.workspace
    found, known = _collect_listed_columns(
        workspace, counter[0], counter[1], rules.values[OWNER], rules.rule_headers[rule, ATTRIBUTE]
    )
    return _rule_deficit(rules, workspace, rule, found, known, signed), known


@njit(**INNER)
def meets(rules, tally):
    """Return whether the group in the tally meets all rules."""
    if tally.counter[0, -1] < rules.least[0]:
        return False
    for rule in range(len(rules.rule_headers)):  # noqa: SIM110 (compiled code has no generators)
        if _tally_deficit(rules, tally, rule, False)[0] > 0.0:
            return False
    return True


@njit(**INNER)
def deficit(rules, tally):
    """Return the distance of the group in the tally from meeting all rules.

    That is the number of missing rows plus the deficit of each rule.
    """
    total = float(max(0, rules.least[0] - tally.counter[0, -1]))
    for rule in range(len(rules.rule_headers)):
        total += _tally_deficit(rules, tally, rule, False)[0]
    return total


@njit(**INNER)
def verdict(rules, tally, slack):
    """Return the tally's verdict, and how many rows must leave the group.

    The verdict is HOLDS, FAILS or UNSURE. That many rows must leave before the group, or all parts into which it is
    split, can meet the rules, in a table with shares that differ from the known ones by at most `slack`, float64
    (attributes,); 0 if no number is known. If values or weights are missing it is all rows: what a group lacks, its
    parts lack. A distance or a share above its bound is convex: rows that stay pull the group no further than to the
    bound, and each that leaves no further than 1.
    """
    found = HOLDS
    leave = 0
    for rule in range(len(rules.rule_headers)):
        gap, known = _tally_deficit(rules, tally, rule, True)
        counted = rules.rule_headers[rule, KIND] in (DISTINCT, CATEGORIES, WEIGHT)  # in whole numbers
        if not counted and not abs(gap) > UNDECIDED_MARGIN * (1.0 + abs(gap) + abs(rules.real[rule])):
            if found == HOLDS:
                found = UNSURE
        elif gap > 0.0:
            found = FAILS
            leave = max(leave, _must_leave(rules, rule, gap, tally.counter[0, -1], known, slack))
    return found, leave


@njit(**INNER)
def _must_leave(rules, rule, gap, rows, known, slack):
    """Count the rows that must leave a group that fails a rule by `gap`.

    See :func:`verdict`.
    """
    kind, real = rules.rule_headers[rule, KIND], rules.real[rule]
    if known == 0 or kind in (DISTINCT, CATEGORIES, WEIGHT):
        return rows
    over = gap
    if kind in (EQUAL, ORDERED, HIERARCHICAL):
        over -= slack[rules.rule_headers[rule, ATTRIBUTE]]
    elif kind != SHARE:
        return 0
    if real >= 1.0:
        return 0
    return max(0, int(np.ceil(over * known / (1.0 - real) - 1e-6)))


@njit(**INNER)
def compare_with(rules, totals):
    """Set the table that groups are compared with, in place.

    `totals`, int64 (columns,), has its rows of each value.
    """
    rule_headers, rule_data = rules.rule_headers, rules.rule_data
    rules.values[TOTALS] = totals
    for rule in range(len(rule_headers)):
        first, last = rule_headers[rule, FIRST], rule_headers[rule, LAST]
        rule_headers[rule, KNOWN] = totals[first:last].sum()
        rule_headers[rule, PRESENT] = np.count_nonzero(totals[first:last])
        at, whole, labels = rule_headers[rule, AT], rule_headers[rule, WHOLE], rules.values[LABELS + rule]
        if rule_headers[rule, KIND] == ORDERED:
            rule_data[at : at + 2 * whole + 1] = 0
            for column in range(first, last):
                rule_data[at + labels[column]] += totals[column]
            for rank in range(whole):
                if rank > 0:
                    rule_data[at + rank] += rule_data[at + rank - 1]
                rule_data[at + whole + rank + 1] = rule_data[at + whole + rank] + rule_data[at + rank]
        elif rule_headers[rule, KIND] == HIERARCHICAL:
            rule_data[at + 2 * whole : at + 3 * whole] = 0
            for column in range(first, last):
                node = labels[column]
                while node >= 0:
                    rule_data[at + 2 * whole + node] += totals[column]
                    node = rule_data[at + node]


@njit(**FROM_PYTHON)
def group_deficits(rules, tally, columns, count, group, groups):
    """Return the deficit of each group, float64 (groups,).

    Rows of item i, int32 (n, attributes), are in group[i]. Cost: a counting sort of the items, and the cost of the
    verdicts.
    """
    counter = tally.counter
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
            add(counter, columns, order[i], count[order[i]])
        result[g] = deficit(rules, tally)
        clear(counter)
    return result
