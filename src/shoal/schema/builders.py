"""Columns and hierarchies in a word each, for plans that are written in Python.

Plan(
    columns={
        "name": identifier(),
        "age": quasi(intervals(5, 10)),
        "zip": quasi(prefix()),
        "illness": sensitive(),
    },
    models="k-anonymity k=5",
)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from shoal.schema.categories import Categories
from shoal.schema.columns import Column, Role
from shoal.schema.interval_hierarchies import Calendar, Cuts, Widths
from shoal.schema.tree_hierarchies import Flat, Hierarchy, Ordered, Prefix, Table, Tree, read_table

__all__ = [
    "cuts", "dates", "drop", "flat", "identifier", "intervals", "levels_from", "ordered", "other", "person", "prefix",
    "quasi", "sensitive", "tree",
]  # fmt: skip

Unit = Literal["day", "month", "quarter", "year", "decade"]


# -- columns ---------------------------------------------------------------------------------------------------------


def quasi(hierarchy: Hierarchy | None = None) -> Column:
    """A quasi-identifier: what others may know of a person. Without a hierarchy it is shown or hidden.

    >>> quasi(intervals(5, 10)).hierarchy
    Widths(widths=(5, 10), origin=0, bottom=None, top=None)
    """
    return Column(Role.QUASI_IDENTIFIER, hierarchy)


def identifier(*, pseudonym: bool = False) -> Column:
    """What names a person: dropped, or replaced by a keyed pseudonym."""
    return Column(Role.IDENTIFIER, pseudonym=pseudonym)


def sensitive(
    *,
    order: Iterable[str] | None = None,
    categories: Categories | Iterable[Iterable[str]] | None = None,
    hierarchy: Hierarchy | None = None,
    publish: Literal["values", "categories"] = "values",
    exact: bool = False,
) -> Column:
    """What nobody should learn of a person; published, and watched over by models.

    Parameters
    ----------
    order
        All values from low to high, for t-closeness by order.
    categories
        Classes of values of like sensitivity, the most sensitive first.
    hierarchy
        For the hierarchical distance of t-closeness.
    publish
        Whether the values are published, or only their categories.
    exact
        Whether every spelling is a value of its own.
    """
    if categories is not None and not isinstance(categories, Categories):
        categories = Categories(tuple(tuple(values) for values in categories))
    listed = None if order is None else tuple(order)
    return Column(Role.SENSITIVE, hierarchy, categories, listed, publish, exact=exact)


def other() -> Column:
    """What tells nothing about anybody: published as it is."""
    return Column(Role.OTHER)


def person() -> Column:
    """Whose rows they are: never published, and models count people."""
    return Column(Role.PERSON)


def drop() -> Column:
    """What is not wanted: left out."""
    return Column(Role.DROP)


# -- hierarchies -----------------------------------------------------------------------------------------------------


def intervals(*widths: float, origin: float = 0, bottom: float | None = None, top: float | None = None) -> Widths:
    """Numbers become intervals, of one width per level.

    >>> intervals(5, 10).bind(["27", "41"], False).labels[1]
    ('25..29', '40..44')
    """
    return Widths(widths, origin, bottom, top)


def cuts(*levels: Sequence[float]) -> Cuts:
    """Numbers become the intervals between cut points, one list of points per level."""
    return Cuts(tuple(tuple(level) for level in levels))


def prefix(*masked: int, length: int | None = None) -> Prefix:
    """Codes lose characters from the right: one more at each level, or as many as is said."""
    return Prefix(masked or None, length)


def dates(*units: Unit, format: str | None = None) -> Calendar:
    """Dates become months, quarters, years, decades, or the units that are said."""
    return Calendar(units, format) if units else Calendar(format=format)


def tree(branches: Mapping[str, Any]) -> Tree:
    """Values become what stands above them: ``tree({"America": ["USA", "Canada"], "Asia": ["India"]})``."""
    return Tree(branches)


def ordered(*fanout: int, values: Iterable[str] | None = None) -> Ordered:
    """Neighbours in an order join first, so many at each level."""
    return Ordered(fanout, None if values is None else tuple(values))


def flat() -> Flat:
    """A value is shown or hidden."""
    return Flat()


def levels_from(file: Path | str) -> Table:
    """A hierarchy in ARX's CSV format: the value first, then its levels."""
    return read_table(Path(file))
