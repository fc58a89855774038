"""Groups from counts of their sensitive values."""

from __future__ import annotations

import numpy as np

from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table.groups import Groups, histogram

VALUES = ("a", "b", "c", "d", "e", "f", "g", "h")
CLASSES = (("a", "b"), ("c",), ("d", "e"), ("f", "g", "h"))
TREE = {"x": ["a", "b"], "y": ["c", "d", "h"], "z": ["e", "f", "g"]}


def counted(*groups):
    """Return groups from counts of the values a, b, c, and so on.

    A further count is of missing values.
    """
    value_counts = [tuple(group[: len(VALUES)]) for group in groups]
    present = [j for j in range(len(VALUES)) if any(j < len(counts) and counts[j] for counts in value_counts)]
    column = Column(Role.SENSITIVE, hierarchy=Tree(TREE), categories=Categories(CLASSES), order=VALUES)
    domain = Schema({"s": column}).domain("s", [VALUES[j] for j in present])
    flat = [(g, present.index(j), c) for g, counts in enumerate(value_counts) for j, c in enumerate(counts) if c]
    owner, value, count = (np.asarray([entry[i] for entry in flat], np.int64) for i in range(3))
    found = histogram(owner, value.astype(np.int32), count, len(groups), domain)
    return Groups(np.asarray([sum(group) for group in groups], np.int64), (found,))
