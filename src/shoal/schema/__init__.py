"""Columns of a table: roles, hierarchies and sensitivity categories."""

from collections.abc import Mapping

from shoal.runtime.registry import Registry
from shoal.schema.bound_hierarchy import TOP, Ladder
from shoal.schema.categories import Categories
from shoal.schema.columns import UNPUBLISHED, Column, Domain, Role, Schema, Shift
from shoal.schema.hierarchy import BaseHierarchy, Hierarchy
from shoal.schema.interval_hierarchies import Calendar, Cuts, Intervals, Widths
from shoal.schema.tree_hierarchies import Flat, Ordered, Prefix, Table, Tree, read_table

__all__ = [
    "HIERARCHIES",
    "TOP",
    "UNPUBLISHED",
    "BaseHierarchy",
    "Calendar",
    "Categories",
    "Column",
    "Cuts",
    "Domain",
    "Flat",
    "Hierarchy",
    "Intervals",
    "Ladder",
    "Ordered",
    "Prefix",
    "Role",
    "Schema",
    "Shift",
    "Table",
    "Tree",
    "Widths",
    "read_table",
]

BUILT_IN: dict[str, type[BaseHierarchy]] = {
    key: kind for kind in (Widths, Cuts, Prefix, Table, Tree, Calendar, Ordered, Flat) for key in kind.keys
}
HIERARCHIES: Mapping[str, type[BaseHierarchy]] = Registry(BUILT_IN, "shoal.hierarchies", BaseHierarchy)
"""Hierarchies by their key in a plan: the built-in ones, and those of installed packages."""
