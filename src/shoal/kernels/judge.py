"""Whether a group meets a model, from its size and the histogram of its confidential values.

A judge is a list of rules, all of which must hold, written as plain arrays so that compiled code can evaluate it
while groups grow and change. The state of a group is its size and one row of counts, int64 (columns,): the values
of confidential attribute a own the columns offsets[a] to offsets[a + 1]. A value that is missing is in no column:
it counts in the size and nowhere else, and a group with no known value of an attribute fails every rule on it.

| rule | holds where |
|---|---|
| DISTINCT | at least `whole` distinct values (p-sensitivity, distinct l-diversity) |
| CATEGORIES | values of at least `whole` distinct labels (p+-sensitivity); label -1 counts for nothing |
| WEIGHT | the labels of all known records add up to at least `whole` (α, in whole units) |
| ENTROPY | entropy of the known values at least log(`real`) (entropy l-diversity) |
| RECURSIVE | r1 < `real` × (r_l + ... + r_m), l = `whole`, r sorted falling (recursive (c, l)-diversity) |
| CLOSENESS | half the sum of |share in the group - share in the table| at most `real` (t-closeness, equal distance) |
| SHARE | no value has more than the share `real` of the known records (α of (α, k)-anonymity) |

ENTROPY, CLOSENESS and SHARE compare with a tolerance of 1e-12, so that a bound met exactly is met.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.options import FROM_PYTHON, INNER

DISTINCT, CATEGORIES, WEIGHT, ENTROPY, RECURSIVE, CLOSENESS, SHARE = range(7)

_TOLERANCE = 1e-12


class Rule(NamedTuple):
    """One condition on one confidential attribute; `labels` are int64 per value: categories or weights."""

    kind: int
    attribute: int
    whole: int = 0
    real: float = 0.0
    labels: np.ndarray | None = None


class Judge(NamedTuple):
    """A model as arrays.

    least : int64 (1,), the minimum group size k
    offsets : int64 (attributes + 1,), the columns of each confidential attribute
    totals : int64 (columns,), records of the table with each value
    kind, attribute, whole : int64 (rules,)
    real : float64 (rules,)
    label : int64 (rules, columns)
    """

    least: np.ndarray
    offsets: np.ndarray
    totals: np.ndarray
    kind: np.ndarray
    attribute: np.ndarray
    whole: np.ndarray
    real: np.ndarray
    label: np.ndarray


def make_judge(codes: np.ndarray, k: int, rules: list[Rule]) -> Judge:
    """A judge of groups of at least k records that meet all the rules.

    Parameters
    ----------
    codes : int32 (n, s), the confidential values of the table; -1 is missing. s may be 0.
    k : the minimum group size
    rules : conditions on the attributes 0 to s - 1
    """
    attributes = codes.shape[1]
    values = [int(codes[:, a].max(initial=-1)) + 1 for a in range(attributes)]
    for rule in rules:
        if rule.labels is not None:
            values[rule.attribute] = max(values[rule.attribute], len(rule.labels))
    offsets = np.concatenate([[0], np.cumsum(values)]).astype(np.int64)
    totals = np.zeros(offsets[-1], np.int64)
    for a in range(attributes):
        known = codes[codes[:, a] >= 0, a]
        totals[offsets[a] : offsets[a + 1]] = np.bincount(known, minlength=values[a])
    label = np.zeros((len(rules), offsets[-1]), np.int64)
    for i, rule in enumerate(rules):
        if rule.labels is not None:
            start = offsets[rule.attribute]
            label[i, start : start + len(rule.labels)] = rule.labels
            label[i, start + len(rule.labels) : offsets[rule.attribute + 1]] = -1 if rule.kind == CATEGORIES else 0
    return Judge(
        least=np.array([k], np.int64),
        offsets=offsets,
        totals=totals,
        kind=np.array([rule.kind for rule in rules], np.int64),
        attribute=np.array([rule.attribute for rule in rules], np.int64),
        whole=np.array([rule.whole for rule in rules], np.int64),
        real=np.array([rule.real for rule in rules], np.float64),
        label=label,
    )


def p_sensitive(codes: np.ndarray, k: int, p: int) -> Judge:
    """The judge of p-sensitive k-anonymity: p distinct values of every confidential attribute."""
    return make_judge(codes, k, [Rule(DISTINCT, a, whole=p) for a in range(codes.shape[1])])


def histogram_columns(codes: np.ndarray, judge: Judge) -> np.ndarray:
    """The histogram column of each confidential value, int32 (n, s); -1 where the value is missing."""
    columns = codes + judge.offsets[:-1].astype(np.int32)
    return np.ascontiguousarray(np.where(codes < 0, -1, columns), dtype=np.int32)


@njit(**FROM_PYTHON)
def count_records(columns, group, groups, width):
    """Sizes, int64 (groups,), and histograms, int64 (groups, width), of a partition; group -1 is left out."""
    sizes = np.zeros(groups, np.int64)
    histograms = np.zeros((groups, width), np.int64)
    for i in range(columns.shape[0]):
        if group[i] >= 0:
            sizes[group[i]] += 1
            for a in range(columns.shape[1]):
                if columns[i, a] >= 0:
                    histograms[group[i], columns[i, a]] += 1
    return sizes, histograms


@njit(**FROM_PYTHON)
def add_record(histogram, columns, row, times):
    """Add a record's known values to a histogram `times` times (-1 takes it out)."""
    for a in range(columns.shape[1]):
        if columns[row, a] >= 0:
            histogram[columns[row, a]] += times


@njit(**INNER)
def _missing_distinct(histogram, start, stop, wanted):
    """How many of the `wanted` distinct values are missing."""
    found = 0
    for column in range(start, stop):
        if histogram[column] > 0:
            found += 1
    return max(0, wanted - found)


@njit(**INNER)
def _missing_categories(histogram, label, start, stop, wanted):
    """How many of the `wanted` distinct labels are missing."""
    found = 0
    for column in range(start, stop):
        if histogram[column] > 0 and label[column] >= 0:
            new = True
            for other in range(start, column):
                if histogram[other] > 0 and label[other] == label[column]:
                    new = False
                    break
            if new:
                found += 1
                if found == wanted:
                    return 0
    return wanted - found


@njit(**INNER)
def _missing_weight(histogram, label, start, stop, wanted):
    """The share of the `wanted` weight that is missing, 0 to 1."""
    weight = 0
    for column in range(start, stop):
        weight += histogram[column] * label[column]
    return max(0, wanted - weight) / max(1, wanted)


@njit(**INNER)
def _missing_entropy(histogram, start, stop, known, least):
    """How far the entropy is below log(least)."""
    entropy = 0.0
    for column in range(start, stop):
        if histogram[column] > 0:
            share = histogram[column] / known
            entropy -= share * np.log(share)
    gap = np.log(least) - entropy
    return gap if gap > _TOLERANCE else 0.0


@njit(**INNER)
def _recursive_excess(histogram, start, stop, level, factor):
    """The share by which the most frequent value exceeds (c, l)-diversity; positive even where just reached."""
    tail = 0
    for column in range(start, stop):
        tail += histogram[column]
    bound, bound_column = 2**62, -1
    for _ in range(level - 1):  # take away the l - 1 largest counts, ties in column order
        largest, found = -1, -1
        for column in range(start, stop):
            count = histogram[column]
            if (count < bound or (count == bound and column > bound_column)) and count > largest:
                largest, found = count, column
        if found < 0:
            break
        tail -= largest
        bound, bound_column = largest, found
    most = 0
    for column in range(start, stop):
        most = max(most, histogram[column])
    if most < factor * tail:
        return 0.0
    return (most - factor * tail + 1.0) / (most + 1.0)


@njit(**INNER)
def _excess_distance(histogram, totals, start, stop, known, most):
    """How far the distance between the distributions of the group and of the table exceeds `most`."""
    table = 0
    for column in range(start, stop):
        table += totals[column]
    distance = 0.0
    for column in range(start, stop):
        distance += abs(histogram[column] / known - totals[column] / table)
    excess = distance / 2.0 - most
    return excess if excess > _TOLERANCE else 0.0


@njit(**INNER)
def _excess_share(histogram, start, stop, known, most):
    """How far the share of the most frequent value exceeds `most`."""
    excess = 0.0
    for column in range(start, stop):
        excess = max(excess, histogram[column] / known - most)
    return excess if excess > _TOLERANCE else 0.0


@njit(**FROM_PYTHON)
def rule_shortfall(judge, rule, histogram):
    """How far a group is from meeting one rule: 0 exactly where it holds, about 1 per value that is missing.

    histogram : int64 (columns,), not changed. Cost: the values of the rule's attribute (squared for CATEGORIES).
    """
    kind = judge.kind[rule]
    whole, real = judge.whole[rule], judge.real[rule]
    start, stop = judge.offsets[judge.attribute[rule]], judge.offsets[judge.attribute[rule] + 1]
    known = 0
    for column in range(start, stop):
        known += histogram[column]
    if known == 0:
        return float(max(1, whole)) if kind in (DISTINCT, CATEGORIES) else 1.0
    if kind == DISTINCT:
        return float(_missing_distinct(histogram, start, stop, whole))
    if kind == CATEGORIES:
        return float(_missing_categories(histogram, judge.label[rule], start, stop, whole))
    if kind == WEIGHT:
        return _missing_weight(histogram, judge.label[rule], start, stop, whole)
    if kind == ENTROPY:
        return _missing_entropy(histogram, start, stop, known, real)
    if kind == RECURSIVE:
        return _recursive_excess(histogram, start, stop, whole, real)
    if kind == CLOSENESS:
        return _excess_distance(histogram, judge.totals, start, stop, known, real)
    return _excess_share(histogram, start, stop, known, real)


@njit(**FROM_PYTHON)
def rules_hold(judge, histogram):
    """Whether every rule holds, whatever the group's size."""
    for rule in range(len(judge.kind)):  # noqa: SIM110 (compiled code has no generators)
        if rule_shortfall(judge, rule, histogram) > 0.0:
            return False
    return True


@njit(**FROM_PYTHON)
def holds(judge, size, histogram):
    """Whether a group of `size` records with this histogram, int64 (columns,), meets the model."""
    return size >= judge.least[0] and rules_hold(judge, histogram)


@njit(**FROM_PYTHON)
def shortfall(judge, size, histogram):
    """How far a group is from meeting the model: missing records plus the shortfall of each rule; 0 where it holds."""
    total = float(max(0, judge.least[0] - size))
    for rule in range(len(judge.kind)):
        total += rule_shortfall(judge, rule, histogram)
    return total


@njit(**FROM_PYTHON)
def failing_groups(judge, sizes, histograms):
    """Which groups do not meet the model, bool (groups,)."""
    failing = np.empty(len(sizes), np.bool_)
    for g in range(len(sizes)):
        failing[g] = not holds(judge, sizes[g], histograms[g])
    return failing


@njit(**FROM_PYTHON)
def want_values(judge, histogram, lacking, wanted):
    """Mark the values whose records bring a group nearer to the model, in `wanted`, bool (columns,), overwritten.

    DISTINCT wants values the group does not have, CATEGORIES values of labels it does not have, WEIGHT values
    with a weight, CLOSENESS values rarer than in the table, the other rules all but the most frequent values.
    Only rules that fail want anything; but unless `lacking`, DISTINCT and CATEGORIES want new values even when
    they hold (Algorithm 2 of the paper on p-sensitive microaggregation, read so that its Table 2 is reproduced).
    """
    wanted[:] = False
    for rule in range(len(judge.kind)):
        kind = judge.kind[rule]
        always = not lacking and (kind in (DISTINCT, CATEGORIES))
        if not always and rule_shortfall(judge, rule, histogram) == 0.0:
            continue
        start, stop = judge.offsets[judge.attribute[rule]], judge.offsets[judge.attribute[rule] + 1]
        if kind == CATEGORIES:
            _want_categories(histogram, judge.label[rule], start, stop, wanted)
            continue
        known, most, table = 0, 0, 0
        for column in range(start, stop):
            known += histogram[column]
            table += judge.totals[column]
            most = max(most, histogram[column])
        for column in range(start, stop):
            if kind == DISTINCT:
                wanted[column] |= histogram[column] == 0
            elif kind == WEIGHT:
                wanted[column] |= judge.label[rule, column] > 0
            elif kind == CLOSENESS:
                wanted[column] |= histogram[column] * table < judge.totals[column] * known or known == 0
            else:
                wanted[column] |= histogram[column] < most or known == 0


@njit(**INNER)
def _want_categories(histogram, label, start, stop, wanted):
    """Mark the values whose label the group does not have."""
    for column in range(start, stop):
        new = label[column] >= 0
        for other in range(start, stop):
            if histogram[other] > 0 and label[other] == label[column]:
                new = False
        wanted[column] |= new


def most_groups(judge: Judge, records: int) -> int:
    """The largest number of groups that sizes and distinct values allow; a partition with as many may not exist.

    G groups need k·G records and, for DISTINCT and CATEGORIES, Σ_v min(count_v, G) ≥ p·G values. Cost: log n
    times the values.
    """
    limit = records // max(1, int(judge.least[0]))
    for kind, attribute, whole, label in zip(judge.kind, judge.attribute, judge.whole, judge.label, strict=True):
        if kind not in (DISTINCT, CATEGORIES):
            continue
        span = slice(judge.offsets[attribute], judge.offsets[attribute + 1])
        counts = judge.totals[span]
        if kind == CATEGORIES:
            labels = label[span]
            counts = np.bincount(labels[labels >= 0], weights=counts[labels >= 0]).astype(np.int64)
        low, high = (
            0,
            limit,
        )  # Σ min(count, G) - p·G is concave in G and 0 at 0: once negative, always negative
        while low < high:
            middle = (low + high + 1) // 2
            if np.minimum(counts, middle).sum() >= whole * middle:
                low = middle
            else:
                high = middle - 1
        limit = low
    return limit
