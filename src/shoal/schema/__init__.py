"""What the columns are: roles, hierarchies and their builders, sensitivity categories."""

from collections.abc import Mapping

from shoal.extensions import Extended
from shoal.schema.base import BaseHierarchy, Hierarchy
from shoal.schema.categories import Categories
from shoal.schema.columns import UNPUBLISHED, Column, Domain, Role, Schema, Shift
from shoal.schema.hierarchies import Flat, Ordered, Prefix, Table, Tree, read_table
from shoal.schema.ladder import TOP, Ladder
from shoal.schema.ranges import Calendar, Cuts, Intervals, Widths

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

OWN: dict[str, type[BaseHierarchy]] = {
    key: kind for kind in (Widths, Cuts, Prefix, Table, Tree, Calendar, Ordered, Flat) for key in kind.keys
}
HIERARCHIES: Mapping[str, type[BaseHierarchy]] = Extended(OWN, "shoal.hierarchies", BaseHierarchy)
"""Hierarchies by the key that a plan has for them: shoal's own, and those of installed packages."""
