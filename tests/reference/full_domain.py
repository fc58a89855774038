"""Full-domain generalization, slow and obvious: every node of the lattice, rows as tuples, losses as defined.

A table is a list of (quasi-identifier values, sensitive value); a hierarchy maps each value to its labels, level by
level, the value itself first and `*` last, and says which leaf values the domain has.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict


def recode(table, hierarchies, node):
    return [
        tuple(h[value][level] for h, value, level in zip(hierarchies, values, node, strict=True)) for values, _ in table
    ]


def groups_at(table, hierarchies, node):
    groups = defaultdict(list)
    for place, labels in enumerate(recode(table, hierarchies, node)):
        groups[labels].append(place)
    return dict(groups)


def suppress(table, groups, holds):
    """Drop failing groups until none fails; ``holds(values_of_group, all_groups)`` judges one group."""
    kept = dict(groups)
    while True:
        values = {labels: [table[place][1] for place in places] for labels, places in kept.items()}
        failing = [labels for labels in kept if not holds(values[labels], list(values.values()))]
        if not failing:
            return kept
        for labels in failing:
            del kept[labels]


def loss(name, table, hierarchies, domains, node, kept, gs=0.5):
    """``gs`` shifts the balance between generalized rows (0) and suppressed ones (1); not for measures by group."""
    rows = len(table)
    kept_factor, out_factor = min(1.0, 2 * (1 - gs)), min(1.0, 2 * gs)
    heights = [len(next(iter(h.values()))) - 1 for h in hierarchies]
    inside = {place for places in kept.values() for place in places}
    if name == "discernibility":
        return sum(len(places) ** 2 for places in kept.values()) + (rows - len(inside)) * rows
    if name == "average-class-size":
        return rows / (len(kept) + (len(inside) < rows))
    if name == "height":
        return sum(node) / sum(heights)
    if name in ("precision", "distortion-ratio"):
        levels = [
            [kept_factor * level if i in inside else out_factor * top for level, top in zip(node, heights, strict=True)]
            for i in range(rows)
        ]
        if name == "precision":
            return (
                sum(level / top for row in levels for level, top in zip(row, heights, strict=True)) / rows / len(node)
            )
        return sum(map(sum, levels)) / rows / sum(heights)
    per_column = []
    for j, (h, domain) in enumerate(zip(hierarchies, domains, strict=True)):
        total = least = most = 0.0
        occurs = Counter(values[j] for values, _ in table)
        for i, (values, _) in enumerate(table):
            level = node[j] if i in inside else heights[j]
            covered = [leaf for leaf in domain if h[leaf][level] == h[values[j]][level]]
            if name == "ncp":
                total += (kept_factor if i in inside else out_factor) * len(covered) / len(domain)
                least += kept_factor / len(domain)
                most += 1
            else:
                total += math.log2(sum(occurs[leaf] for leaf in covered) / occurs[values[j]])
                most += math.log2(rows / occurs[values[j]])
        per_column.append(max(0.0, (total - least) / (most - least)) if most > least else 0.0)
    if name == "ncp":
        return math.prod(x + 1 for x in per_column) ** (1 / len(per_column)) - 1
    return sum(per_column) / len(per_column)


def solutions(name, table, hierarchies, domains, holds, limit, gs=0.5):
    """Every node that is a solution, with its loss."""
    heights = [len(next(iter(h.values()))) - 1 for h in hierarchies]
    found = {}
    for node in itertools.product(*(range(height + 1) for height in heights)):
        kept = suppress(table, groups_at(table, hierarchies, node), holds)
        inside = sum(map(len, kept.values()))
        if kept and len(table) - inside <= limit:
            found[node] = loss(name, table, hierarchies, domains, node, kept, gs)
    return found


def minimal(nodes):
    return sorted(
        node
        for node in nodes
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in nodes)
    )


def not_below(lowest, highest, failed):
    """Every node of a lattice that is at or below none of some nodes."""
    nodes = itertools.product(*(range(low, high + 1) for low, high in zip(lowest, highest, strict=True)))
    return {node for node in nodes if not any(all(a <= b for a, b in zip(node, one, strict=True)) for one in failed)}


def rows_in_small_groups(codes, counts, least):
    """How many rows are in groups of fewer than ``least`` rows; rows of a group have equal codes."""
    sizes = Counter()
    for labels, count in zip(codes, counts, strict=True):
        sizes[tuple(labels)] += count
    return sum(count for labels, count in zip(codes, counts, strict=True) if sizes[tuple(labels)] < least)
