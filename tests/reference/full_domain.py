"""Reference implementation of full-domain generalization.

It enumerates every node of the lattice, with rows as tuples and losses as defined. A table is a list of
(quasi-identifier values, sensitive value); a hierarchy maps each value to its labels, level by level, the value itself
first and `*` last, and says which leaf values the domain has.
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
    for row, labels in enumerate(recode(table, hierarchies, node)):
        groups[labels].append(row)
    return dict(groups)


def suppress(table, groups, holds):
    """Drop failing groups until none fails.

    ``holds(values_of_group, all_groups)`` evaluates one group.
    """
    remaining = dict(groups)
    while True:
        values = {labels: [table[row][1] for row in rows_of_group] for labels, rows_of_group in remaining.items()}
        failing = [labels for labels in remaining if not holds(values[labels], list(values.values()))]
        if not failing:
            return remaining
        for labels in failing:
            del remaining[labels]


def loss(name, table, hierarchies, domains, node, remaining, gs=0.5):
    """Return the loss of a node by a measure.

    ``gs`` shifts the balance between generalized rows (0) and suppressed ones (1); it has no effect on measures by
    group.
    """
    rows = len(table)
    released_factor, suppressed_factor = min(1.0, 2 * (1 - gs)), min(1.0, 2 * gs)
    heights = [len(next(iter(h.values()))) - 1 for h in hierarchies]
    inside = {row for rows_of_group in remaining.values() for row in rows_of_group}
    if name == "discernibility":
        return sum(len(rows_of_group) ** 2 for rows_of_group in remaining.values()) + (rows - len(inside)) * rows
    if name == "average-class-size":
        return rows / (len(remaining) + (len(inside) < rows))
    if name == "height":
        return sum(node) / sum(heights)
    if name in ("precision", "distortion-ratio"):
        levels = [
            [
                released_factor * level if i in inside else suppressed_factor * top
                for level, top in zip(node, heights, strict=True)
            ]
            for i in range(rows)
        ]
        if name == "precision":
            return (
                sum(level / top for row in levels for level, top in zip(row, heights, strict=True)) / rows / len(node)
            )
        return sum(map(sum, levels)) / rows / sum(heights)
    per_column = []
    for j, (h, domain) in enumerate(zip(hierarchies, domains, strict=True)):
        total = least = highest = 0.0
        occurs = Counter(values[j] for values, _ in table)
        for i, (values, _) in enumerate(table):
            level = node[j] if i in inside else heights[j]
            covered = [leaf for leaf in domain if h[leaf][level] == h[values[j]][level]]
            if name == "ncp":
                total += (released_factor if i in inside else suppressed_factor) * len(covered) / len(domain)
                least += released_factor / len(domain)
                highest += 1
            else:
                total += math.log2(sum(occurs[leaf] for leaf in covered) / occurs[values[j]])
                highest += math.log2(rows / occurs[values[j]])
        per_column.append(max(0.0, (total - least) / (highest - least)) if highest > least else 0.0)
    if name == "ncp":
        return math.prod(x + 1 for x in per_column) ** (1 / len(per_column)) - 1
    return sum(per_column) / len(per_column)


def solutions(name, table, hierarchies, domains, holds, limit, gs=0.5):
    """Return every node that is a solution, with its loss."""
    heights = [len(next(iter(h.values()))) - 1 for h in hierarchies]
    found = {}
    for node in itertools.product(*(range(height + 1) for height in heights)):
        remaining = suppress(table, groups_at(table, hierarchies, node), holds)
        inside = sum(map(len, remaining.values()))
        if remaining and len(table) - inside <= limit:
            found[node] = loss(name, table, hierarchies, domains, node, remaining, gs)
    return found


def minimal(nodes):
    return sorted(
        node
        for node in nodes
        if not any(other != node and all(a <= b for a, b in zip(other, node, strict=True)) for other in nodes)
    )


def not_below(lowest, highest, failed):
    """Return the nodes of a lattice that are at or below none of some nodes."""
    nodes = itertools.product(*(range(low, high + 1) for low, high in zip(lowest, highest, strict=True)))
    return {node for node in nodes if not any(all(a <= b for a, b in zip(node, one, strict=True)) for one in failed)}


def rows_in_small_groups(codes, counts, least):
    """Count the rows in groups of fewer than ``least`` rows.

    Rows of a group have equal codes.
    """
    sizes = Counter()
    for labels, count in zip(codes, counts, strict=True):
        sizes[tuple(labels)] += count
    return sum(count for labels, count in zip(codes, counts, strict=True) if sizes[tuple(labels)] < least)
