"""Short functions for columns and hierarchies of plans in Python.

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
from shoal.schema.hierarchy import Hierarchy
from shoal.schema.interval_hierarchies import Calendar, Cuts, Widths
from shoal.schema.tree_hierarchies import Flat, Ordered, Prefix, Table, Tree, read_table

Unit = Literal["day", "month", "quarter", "year", "decade"]


# -- columns ---------------------------------------------------------------------------------------------------------


def quasi(hierarchy: Hierarchy | None = None) -> Column:
    """A quasi-identifier: an attribute that an intruder may know.

    Without a hierarchy a value is either published or suppressed.

    >>> quasi(intervals(5, 10)).hierarchy
    Widths(widths=(5, 10), origin=0, bottom=None, top=None)
    """
    return Column(Role.QUASI_IDENTIFIER, hierarchy)


def identifier(*, pseudonym: bool = False) -> Column:
    """A direct identifier: dropped, or replaced by a keyed pseudonym."""
    return Column(Role.IDENTIFIER, pseudonym=pseudonym)


def sensitive(
    *,
    order: Iterable[str] | None = None,
    categories: Categories | Iterable[Iterable[str]] | None = None,
    hierarchy: Hierarchy | None = None,
    publish: Literal["values", "categories", "both"] = "values",
    exact: bool = False,
) -> Column:
    """A sensitive attribute: published, and protected by the models.

    Parameters
    ----------
    order
        All values from low to high, for the ordered distance of t-closeness.
    categories
        Classes of values of similar sensitivity, the most sensitive first.
    hierarchy
        The hierarchy for the hierarchical distance of t-closeness.
    publish
        Whether the values are published, or only their categories, or both.
    exact
        Whether every spelling is a separate value.
    """
    if categories is not None and not isinstance(categories, Categories):
        categories = Categories(tuple(tuple(values) for values in categories))
    listed = None if order is None else tuple(order)
    return Column(Role.SENSITIVE, hierarchy, categories, listed, publish, exact=exact)


def other() -> Column:
    """A non-confidential attribute: published unchanged."""
    return Column(Role.OTHER)


def person() -> Column:
    """The key of a person: never published, and models count people."""
    return Column(Role.PERSON)


def drop() -> Column:
    """A column that is not published."""
    return Column(Role.DROP)


# -- hierarchies -----------------------------------------------------------------------------------------------------


def intervals(*widths: float, origin: float = 0, bottom: float | None = None, top: float | None = None) -> Widths:
    """Generalize numbers to intervals of one width per level.

    >>> intervals(5, 10).bind(["27", "41"], False).labels[1]
    ('25..29', '40..44')
    """
    return Widths(widths, origin, bottom, top)


def cuts(*levels: Sequence[float]) -> Cuts:
    """Generalize numbers to intervals between cut points.

    There is one list of cut points per level.
    """
    return Cuts(tuple(tuple(level) for level in levels))


def prefix(*masked: int, length: int | None = None) -> Prefix:
    """Mask characters of codes from the right.

    One more character is masked at each level, or the given numbers of characters.
    """
    return Prefix(masked or None, length)


def dates(*units: Unit, format: str | None = None) -> Calendar:
    """Generalize dates to months, quarters, years and decades.

    Other units can be given.
    """
    return Calendar(units, format) if units else Calendar(format=format)


def tree(branches: Mapping[str, Any]) -> Tree:
    """Generalize values to their parents in a tree.

    Example: ``tree({"America": ["USA", "Canada"], "Asia": ["India"]})``.
    """
    return Tree(branches)


def ordered(*fanout: int, values: Iterable[str] | None = None) -> Ordered:
    """Group neighbouring values of an order, by a fan-out at each level."""
    return Ordered(fanout, None if values is None else tuple(values))


def flat() -> Flat:
    """Publish a value or suppress it."""
    return Flat()


def levels_from(file: Path | str) -> Table:
    """Read a hierarchy in ARX's CSV format: the value, then its levels."""
    return read_table(Path(file))
