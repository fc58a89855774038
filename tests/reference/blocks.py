"""Reference implementation of the splitter and of joining its leaves."""

from __future__ import annotations


def leaf_of(forest, point, stratum):
    """Return the leaf of a point in the tree of its stratum."""
    node = forest.root[stratum]
    while forest.dimension[node] >= 0:
        below = point[forest.dimension[node]] <= forest.cut[node]
        node = forest.left[node] if below else forest.right[node]
    return forest.leaf[node]


def leaves_under(forest, node):
    """List the leaves below a node."""
    if forest.dimension[node] < 0:
        return [int(forest.leaf[node])]
    return leaves_under(forest, forest.left[node]) + leaves_under(forest, forest.right[node])


def join(forest, rows, holds, max_rows):
    """Return sets of leaves by the rule, node by node from the root."""

    def size(leaves):
        return sum(int(rows[leaf]) for leaf in leaves)

    def resolve(node):
        """Return the blocks under a node, and whether they meet the models.

        If they do not, there is one block.
        """
        leaves = leaves_under(forest, node)
        if forest.dimension[node] < 0 or size(leaves) <= max_rows:
            return [leaves], holds(leaves)
        left, left_holds = resolve(forest.left[node])
        right, right_holds = resolve(forest.right[node])
        if left_holds and right_holds:
            return left + right, True
        if left_holds or right_holds:
            weak, strong = (right, left) if left_holds else (left, right)
            side = forest.left[node] if left_holds else forest.right[node]
            chosen = border(node, side, left_holds)
            for block in strong:
                if chosen in block and holds(weak[0] + block):
                    return [other for other in strong if other is not block] + [weak[0] + block], True
        return [leaves], holds(leaves)

    def border(parent, node, from_right):
        while forest.dimension[node] >= 0:
            left, right = forest.left[node], forest.right[node]
            if forest.dimension[node] == forest.dimension[parent]:
                node = right if from_right else left
            else:
                node = left if size(leaves_under(forest, left)) <= size(leaves_under(forest, right)) else right
        return int(forest.leaf[node])

    return {frozenset(block) for root in forest.root for block in resolve(root)[0]}
