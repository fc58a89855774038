"""Reference implementation of microaggregation.

The compiled kernels must agree with it row by row. The rules that make a partition unique: squared Euclidean distance
in float64, added attribute by attribute in column order. The centroid of the remaining records is a running sum divided
by their count; records are subtracted in the order in which they leave. Farthest: largest distance, ties to the
smallest row. Nearest: by (distance, row). A group leaves seed first, then by (distance, row). Ungrouped-over records
join the group with the nearest centroid, ties to the group made first; centroids are sums in row order, before any
left-over record joins.
"""

import itertools
import math
import statistics
from collections import Counter

import numpy as np

DISTINCT, CATEGORIES, WEIGHT, ENTROPY, RECURSIVE, SHARE, EQUAL, ORDERED, HIERARCHICAL, DISCLOSURE, LIKENESS = range(11)


def squared_distances(points, query):
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total = total + (points[:, j] - query[j]) * (points[:, j] - query[j])
    return total


def running_sum(points):
    total = np.zeros(points.shape[1])
    for record in points:
        total = total + record
    return total


class Ungrouped:
    """The records that are in no group yet.

    numpy's argmin and argmax return the first, that is the smallest, row.
    """

    def __init__(self, points):
        self.points = points
        self.here = np.ones(len(points), bool)
        self.total = running_sum(points)

    @property
    def rows(self):
        return np.flatnonzero(self.here)

    def leave(self, row):
        self.here[row] = False
        self.total = self.total - self.points[row]

    def farthest(self, query):
        return np.argmax(np.where(self.here, squared_distances(self.points, query), -1.0))

    def nearest(self, query, among=None):
        among = self.rows if among is None else among
        return among[np.argmin(squared_distances(self.points[among], query))]

    def farthest_from_centroid(self):
        return self.farthest(self.total / self.here.sum())


def form_group(left, seed, k, group, label):
    left.leave(seed)
    group[seed] = label
    rows = left.rows
    distance = squared_distances(left.points[rows], left.points[seed])
    for row in rows[np.argsort(distance, kind="stable")][: k - 1]:
        left.leave(row)
        group[row] = label


def join_nearest(points, group, groups):
    if groups == 0:
        group[:] = 0
        return
    centroids = np.array([running_sum(points[group == g]) / np.sum(group == g) for g in range(groups)])
    for row in np.flatnonzero(group < 0):
        group[row] = np.argmin(squared_distances(centroids, points[row]))


def mdav(points, k):
    left, group, label = Ungrouped(points), np.full(len(points), -1, np.int32), 0
    while left.here.sum() >= 2 * k:
        paired = left.here.sum() >= 3 * k
        seed = left.farthest_from_centroid()
        form_group(left, seed, k, group, label)
        label += 1
        if paired:
            form_group(left, left.farthest(points[seed]), k, group, label)
            label += 1
    group[left.rows] = label
    return group


def cbfs(points, k):
    left, group, label = Ungrouped(points), np.full(len(points), -1, np.int32), 0
    while left.here.sum() >= k:
        form_group(left, left.farthest_from_centroid(), k, group, label)
        label += 1
    join_nearest(points, group, label)
    return group


def v_mdav(points, k, gamma):
    left, group, label = Ungrouped(points), np.full(len(points), -1, np.int32), 0
    centroid = running_sum(points) / len(points)
    while left.here.sum() >= k:
        form_group(left, left.farthest(centroid), k, group, label)
        while np.sum(group == label) < 2 * k - 1 and left.here.any():
            members = points[group == label]
            gap = np.min([squared_distances(points, member) for member in members], axis=0)
            row = min(left.rows, key=lambda row: (gap[row], row))
            others = [other for other in left.rows if other != row]
            alone = squared_distances(points, points[row])[others].min() if others else math.inf
            if not gap[row] < gamma * gamma * alone:
                break
            left.leave(row)
            group[row] = label
        label += 1
    join_nearest(points, group, label)
    return group


def rule_holds(rule, values, table):
    """Return whether a rule holds for the values of its attribute in a group.

    ``table`` are the values of all records.
    """
    known = [value for value in values if value >= 0]
    if not known:
        return False
    counts = Counter(known)
    sizes = sorted(counts.values(), reverse=True)
    if rule.kind == DISTINCT:
        return len(counts) >= rule.whole
    if rule.kind == CATEGORIES:
        return len({rule.labels[value] for value in known if rule.labels[value] >= 0}) >= rule.whole
    if rule.kind == WEIGHT:
        return sum(rule.labels[value] for value in known) >= rule.whole
    if rule.kind == ENTROPY:
        entropy = -sum(size / len(known) * math.log(size / len(known)) for size in sizes)
        return entropy >= math.log(rule.real) - 1e-12
    if rule.kind == RECURSIVE:
        return sizes[0] < rule.real * sum(sizes[rule.whole - 1 :])
    everywhere = Counter(value for value in table if value >= 0)
    total = sum(everywhere.values())
    rise = {value: size / len(known) / (everywhere[value] / total) for value, size in counts.items()}
    if rule.kind == DISCLOSURE:
        worst = max(abs(math.log(share)) for share in rise.values())
        return worst < rule.real and (rule.whole != 1 or len(counts) == len(everywhere))
    if rule.kind == LIKENESS:
        limits = {value: -math.log(everywhere[value] / total) if rule.whole == 1 else rule.real for value in counts}
        return all(rise[value] - 1 <= min(rule.real, limits[value]) + 1e-12 for value in counts)
    if rule.kind == EQUAL:
        gaps = [abs(counts[value] / len(known) - everywhere[value] / total) for value in everywhere]
        return sum(gaps) / 2 <= rule.real + 1e-12
    return sizes[0] / len(known) <= rule.real + 1e-12


def all_rules_met(rules, codes, rows):
    return all(rule_holds(rule, codes[rows, a], codes[:, a]) for a, rule in rules)


def contributes(rules, codes, members, row, lacking):
    """Return whether a record brings a group nearer to the failing rules.

    Unless ``lacking``, a record that adds any new value contributes too.
    """
    for attribute, rule in rules:
        table = codes[:, attribute]
        values = table[members]
        value = table[row]
        counts = Counter(v for v in values if v >= 0)
        failing = not rule_holds(rule, values, table)
        if value < 0 or not (failing or (not lacking and rule.kind in (DISTINCT, CATEGORIES))):
            continue
        if rule.kind == DISTINCT:
            helps = value not in counts
        elif rule.kind == CATEGORIES:
            helps = rule.labels[value] >= 0 and rule.labels[value] not in {rule.labels[v] for v in counts}
        elif rule.kind == WEIGHT:
            helps = rule.labels[value] > 0
        elif rule.kind >= EQUAL:
            known, total = sum(counts.values()), np.sum(table >= 0)
            helps = known == 0 or counts[value] * total < np.sum(table == value) * known
        else:
            helps = not counts or counts[value] < max(counts.values())
        if helps:
            return True
    return False


def grow_until(points, codes, k, rules, lacking):
    left, group, label = Ungrouped(points), np.full(len(points), -1, np.int32), 0
    while left.here.sum() >= k and all_rules_met(rules, codes, left.rows):
        seed = left.farthest_from_centroid()
        members = [seed]
        left.leave(seed)
        while not all_rules_met(rules, codes, members):
            useful = [row for row in left.rows if contributes(rules, codes, members, row, lacking)]
            members.append(left.nearest(points[seed], np.array(useful) if useful else None))
            left.leave(members[-1])
        while len(members) < k:
            members.append(left.nearest(points[seed]))
            left.leave(members[-1])
        group[members] = label
        label += 1
    join_nearest(points, group, label)
    return group


def group_cost(points):
    return float(((points - points.mean(axis=0)) ** 2).sum())


def loss(points, group):
    """Return 100 SSE / SST."""
    within = sum(group_cost(points[group == g]) for g in np.unique(group))
    return 100 * within / group_cost(points)


def cheapest_cut(points, order, k):
    """Return the least cost of cutting an order into runs of k or more.

    Every cut is tried.
    """
    n, best = len(order), math.inf
    for pieces in range(1, n // k + 1):
        for cuts in itertools.combinations(range(1, n), pieces - 1):
            ends = [0, *cuts, n]
            if all(b - a >= k for a, b in itertools.pairwise(ends)):
                cost = sum(group_cost(points[order[a:b]]) for a, b in itertools.pairwise(ends))
                best = min(best, cost)
    return best


def nearest_point_next(points):
    """Return the path that always goes to the nearest unvisited record.

    It starts at the record farthest from the centroid.
    """
    left = Ungrouped(points)
    path = [left.farthest_from_centroid()]
    left.leave(path[0])
    while left.here.any():
        path.append(left.nearest(points[path[-1]]))
        left.leave(path[-1])
    return np.array(path)


def coordinates(values, scale):
    """Scale a column of numbers to coordinates.

    A row has the scaled number, and whether it is missing (None).
    """
    known = [value for value in values if value is not None]
    if scale == "rank":
        known = [sum(other < value for other in known) + known.count(value) / 2 for value in known]
    if scale == "winsorised":
        low, high = np.quantile(known, [0.01, 0.99])
        known = [min(max(value, low), high) for value in known]
    mean, deviation = statistics.fmean(known), statistics.stdev(known)
    scaled = iter(known)
    return [[0.0, 1.0] if value is None else [(next(scaled) - mean) / deviation, 0.0] for value in values]


class Chance:
    """SplitMix64, as fractions below 1."""

    def __init__(self, seed):
        self.state = seed

    def __call__(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % 2**64
        return ((mixed ^ (mixed >> 31)) >> 11) / 2**53


class GroupLists:
    """Groups as lists of their members.

    The last member takes the position of one that leaves. Costs are computed from the definition.
    """

    def __init__(self, points, group, groups, k):
        self.points, self.k = points, k
        self.seats = [[] for _ in range(max(groups, len(points) // k))]
        for row, g in enumerate(group):
            self.seats[g].append(row)
        self.free = [g for g in reversed(range(len(self.seats))) if not self.seats[g]]

    def of(self, row):
        return next(g for g, members in enumerate(self.seats) if row in members)

    def leave(self, row):
        members = self.seats[self.of(row)]
        last = members.pop()
        if last != row:
            members[members.index(row)] = last

    def move(self, row, g):
        self.leave(row)
        self.seats[g].append(row)

    def cost(self):
        return sum(group_cost(self.points[members]) for members in self.seats if members)

    def after(self, change, *what):
        """Return the cost of a change without making it."""
        before, saved = self.cost(), [list(members) for members in self.seats]
        change(*what)
        cost, self.seats = self.cost() - before, saved
        return cost

    def swap(self, row, other):
        a, b = self.of(row), self.of(other)
        here, there = self.seats[a].index(row), self.seats[b].index(other)
        self.seats[a][here], self.seats[b][there] = other, row


def anneal_sized(points, group, groups, near, scale, k, temperatures, steps, seed):
    """Simulate the kernel of this name step by step.

    The results agree unless a cost is on the boundary of acceptance.
    """
    seats, chance = GroupLists(points, group, groups, k), Chance(seed)
    first, last = temperatures

    def accepts(cost, heat):
        return cost <= 0 or (cost < 37 * heat and cost <= -heat * math.log(1 - chance()))

    def undo(moved, origin):
        for row, g in reversed(list(zip(moved, origin, strict=True))):
            seats.move(row, g)

    def dissolve(g, limit):
        members, cost, moved = list(seats.seats[g]), -group_cost(points[seats.seats[g]]), []
        for row in members:
            options = {}
            for other in near[row]:
                target = seats.of(other)
                if target != g and len(seats.seats[target]) < 2 * k:
                    there = seats.seats[target]
                    options.setdefault(target, group_cost(points[[*there, row]]) - group_cost(points[there]))
            cost += min(options.values(), default=math.inf)
            if cost > limit:
                undo(moved, [g] * len(moved))
                return
            seats.move(row, min(options, key=options.get))
            moved.append(row)
        seats.free.append(g)

    def create(row, limit):
        if not seats.free or len(seats.seats[seats.of(row)]) <= k:
            return
        new, before, moved, origin = seats.free[-1], seats.cost(), [], []
        for candidate in [row, *near[row]]:
            source = seats.of(candidate)
            if len(moved) < k and source != new and len(seats.seats[source]) > k:
                seats.move(candidate, new)
                moved.append(candidate)
                origin.append(source)
        if len(moved) == k and seats.cost() - before <= limit:
            seats.free.pop()
        else:
            undo(moved, origin)

    for step in range(steps):
        if step % 256 == 0:
            temperature = first * (last / first) ** (step / steps)
        row, kind = int(chance() * len(points)), chance()
        source = seats.of(row)
        if kind < 0.06:
            limit = -temperature * scale[row] * math.log(1 - chance())
            if kind >= 0.03:
                create(row, limit)
            elif len(seats.seats[source]) == k:
                dissolve(source, limit)
            continue
        other = near[row][int(len(near[row]) * chance() ** 2)]
        target = seats.of(other)
        if target == source:
            continue
        heat = temperature * min(scale[row], scale[other])
        if kind < 0.5 and len(seats.seats[source]) > k and len(seats.seats[target]) < 2 * k:
            if accepts(seats.after(seats.move, row, target), heat):
                seats.move(row, target)
            continue
        others = list(seats.seats[target])
        seat = int(chance() * (len(others) - 1))
        other = others[seat + (seat >= others.index(other))]
        if accepts(seats.after(seats.swap, row, other), heat):
            seats.swap(row, other)
    return np.array([seats.of(row) for row in range(len(points))], np.int32)
