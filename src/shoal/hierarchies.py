"""Builders of hierarchies: one function for each kind.

    from shoal.hierarchies import intervals, prefix, tree

They are the same kinds as in plan files: ``hierarchy = { intervals = [5, 10] }`` is ``intervals(5, 10)``.
:class:`Categories` are classes of values of a sensitive column, :class:`Shift` moves dates.
"""

from shoal.schema import Categories, Hierarchy, Shift
from shoal.schema.builders import cuts, dates, flat, intervals, levels_from, ordered, prefix, tree

__all__ = [
    "Categories",
    "Hierarchy",
    "Shift",
    "cuts",
    "dates",
    "flat",
    "intervals",
    "levels_from",
    "ordered",
    "prefix",
    "tree",
]
