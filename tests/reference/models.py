"""Reference definitions of all models, in exact fractions.

A group is a list of sensitive values (None is missing); a table is a list of groups. Nothing here is shared with the
package.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction


def known(group):
    return [value for value in group if value is not None]


def shares(values):
    return {value: Fraction(count, len(values)) for value, count in Counter(values).items()}


def k_anonymous(group, k):
    return len(group) >= k


def p_sensitive(group, p):
    return len(set(known(group))) >= p


def weight(value, classes):
    index = next(i for i, values in enumerate(classes) if value in values)
    return Fraction(index, len(classes) - 1)


def total_weight(group, classes):
    return sum((weight(value, classes) for value in known(group)), Fraction(0))


def p_alpha(group, p, alpha, classes):
    return p_sensitive(group, p) and total_weight(group, classes) >= Fraction(str(alpha))


def p_plus_alpha(group, p, alpha, classes):
    categories = {i for value in known(group) for i, values in enumerate(classes) if value in values}
    return len(categories) >= p and total_weight(group, classes) >= Fraction(str(alpha))


def distinct_diverse(group, ell):
    return len(set(known(group))) >= ell


def entropy_diverse(group, ell):
    """Evaluate exp(entropy) >= l exactly, as n^n >= l^n * prod c^c."""
    values = known(group)
    if not values:
        return False
    bound = Fraction(str(ell))
    product = math.prod(count**count for count in Counter(values).values())
    return Fraction(len(values)) ** len(values) >= bound ** len(values) * product


def recursive_diverse(group, c, ell):
    counts = sorted(Counter(known(group)).values(), reverse=True)
    tail = sum(counts[ell - 1 :])
    return tail > 0 and counts[0] < Fraction(str(c)) * tail


def largest_share(group):
    values = known(group)
    return max(shares(values).values()) if values else Fraction(1)


def alpha_k(group, alpha, k):
    return len(group) >= k and bool(known(group)) and largest_share(group) <= Fraction(str(alpha))


def earth_mover(inside, outside, cost):
    """Return the least cost of transport between two distributions.

    The algorithm uses successive cheapest augmenting paths.
    """
    supply = {value: inside.get(value, Fraction(0)) for value in outside}
    demand = dict(outside)
    flow = {}
    total = Fraction(0)
    while True:
        sources = [v for v in supply if supply[v] > 0]
        if not sources:
            return total
        # Bellman-Ford over the residual graph: forward arcs cost c, backward arcs of positive flow cost -c
        distance = {("s", v): Fraction(0) for v in sources}
        before = {}
        for _ in range(2 * len(outside) + 2):
            changed = False
            for a in outside:
                for b in outside:
                    if ("s", a) in distance:
                        new = distance["s", a] + cost(a, b)
                        if ("t", b) not in distance or new < distance["t", b]:
                            distance["t", b], before["t", b], changed = new, ("s", a), True
                    if ("t", b) in distance and flow.get((a, b), 0) > 0:
                        new = distance["t", b] - cost(a, b)
                        if ("s", a) not in distance or new < distance["s", a]:
                            distance["s", a], before["s", a], changed = new, ("t", b), True
            if not changed:
                break
        target = min((b for b in outside if demand[b] > 0 and ("t", b) in distance), key=lambda b: distance["t", b])
        path, node = [], ("t", target)
        while node in before:
            path.append((before[node], node))
            node = before[node]
        amount = min([supply[node[1]], demand[target]] + [flow[a2[1], a1[1]] for a1, a2 in path if a1[0] == "t"])
        for start, end in path:
            if start[0] == "s":
                flow[start[1], end[1]] = flow.get((start[1], end[1]), Fraction(0)) + amount
            else:
                flow[end[1], start[1]] -= amount
        supply[node[1]] -= amount
        demand[target] -= amount
        total += amount * distance["t", target]


def t_distance(group, table, cost):
    values = known(group)
    if not values:
        return math.inf  # nothing is known: no t is large enough
    everyone = [value for other in table for value in known(other)]
    return earth_mover(shares(values), shares(everyone), cost)


def equal_cost(a, b):
    return Fraction(int(a != b))


def ordered_cost(order):
    span = len(order) - 1
    return lambda a, b: Fraction(abs(order.index(a) - order.index(b)), span) if span else Fraction(0)


def tree_cost(paths):
    """Return the cost function of a tree: the level of the common ancestor.

    paths[value] = (value, parent, ..., root), all of one length.
    """
    height = len(next(iter(paths.values()))) - 1

    def cost(a, b):
        level = next(i for i in range(height + 1) if paths[a][i:] == paths[b][i:])
        return Fraction(level, height)

    return cost


def delta_disclosed(group, table, delta, ignore_absent):
    values = known(group)
    if not values:
        return False
    inside, outside = shares(values), shares([v for other in table for v in known(other)])
    for value, share in outside.items():
        if value not in inside:
            if ignore_absent:
                continue
            return False
        if not abs(math.log(inside[value] / share)) < float(delta):
            return False
    return True


def beta_like(group, table, beta, enhanced):
    values = known(group)
    if not values:
        return False
    outside = shares([v for other in table for v in known(other)])
    for value, share in shares(values).items():
        gain = (share - outside[value]) / outside[value]
        if gain > Fraction(str(beta)) or (enhanced and gain > 0 and float(gain) > -math.log(outside[value])):
            return False
    return True
