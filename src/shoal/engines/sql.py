"""The statements that engines share, and the only place where SQL is put together.

A table's columns are called c0, c1, ... in SQL, whatever the user calls them: names and values are data and
never become code. Where a literal cannot be avoided, :func:`literal` quotes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

__all__ = ["column", "columns", "frequencies", "literal", "recode_by_group", "recode_by_level", "sorted_rows"]


def column(place: int) -> str:
    """The SQL name of the column at a place."""
    return f"c{place}"


def columns(places: Iterable[int]) -> str:
    """Column names for a list of a statement."""
    return ", ".join(map(column, places))


def literal(text: str) -> str:
    """A string literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def _same(left: str, right: str, places: Iterable[int]) -> str:
    """Null-safe equality: a missing value matches only missing."""
    return " AND ".join(f"{left}.{column(p)} IS NOT DISTINCT FROM {right}.{column(p)}" for p in places) or "TRUE"


def frequencies(table: str, places: Sequence[int]) -> str:
    """Distinct combinations of some columns with their counts."""
    if not places:
        return f"SELECT count(*) AS n FROM {table}"
    return f"SELECT {columns(places)}, count(*) AS n FROM {table} GROUP BY {columns(places)}"


def recode_by_level(
    table: str,
    keep: Sequence[int],
    maps: Mapping[int, str],
    constants: Mapping[int, str],
    suppressed: tuple[str, Sequence[int]] | None,
) -> str:
    """Replace columns by their labels, one join per column, and drop suppressed combinations.

    ``maps`` gives for a column the relation (v, label) that recodes it, ``constants`` the one label of a
    column that is fully generalized. ``suppressed`` is a relation of combinations as published that are to
    be left out, and the columns it has.
    """
    output = []
    joins = []
    for place in keep:
        name = column(place)
        if place in constants:
            output.append(f"{literal(constants[place])} AS {name}")
        elif place in maps:
            joins.append(f"LEFT JOIN {maps[place]} AS m{place} ON t.{name} IS NOT DISTINCT FROM m{place}.v")
            output.append(f"m{place}.label AS {name}")
        else:
            output.append(f"t.{name} AS {name}")
    recoded = f"SELECT {', '.join(output)} FROM {table} AS t {' '.join(joins)}"
    if suppressed is None:
        return recoded
    relation, places = suppressed
    return f"SELECT r.* FROM ({recoded}) AS r ANTI JOIN {relation} AS s ON {_same('r', 's', places)}"


def recode_by_group(
    table: str,
    keep: Sequence[int],
    key: Sequence[int],
    assignment: str,
    labels: str,
    recoded: Sequence[int],
    split: bool,
) -> str:
    """Give every row the labels of its group; rows without a group are left out.

    ``assignment`` has the key's columns, a group number g and, where identical rows go to different groups
    (``split``), the range (low, high] of row numbers among them. Identical rows are numbered in the order of
    all their other columns, so that the numbering depends on the content alone.
    """
    rest = [place for place in keep if place not in key]
    order = columns(rest) or columns(key)
    source = table
    if split:
        source = f"(SELECT *, row_number() OVER (PARTITION BY {columns(key)} ORDER BY {order}) AS rn FROM {table})"
    between = " AND t.rn > a.low AND t.rn <= a.high" if split else ""
    output = ", ".join(f"{'l' if place in recoded else 't'}.{column(place)} AS {column(place)}" for place in keep)
    return (
        f"SELECT {output} FROM {source} AS t JOIN {assignment} AS a ON {_same('t', 'a', key)}{between} "
        f"JOIN {labels} AS l ON a.g = l.g"
    )


def sorted_rows(table: str, places: Sequence[int]) -> str:
    """All rows in an order that depends on nothing but their content."""
    order = ", ".join(f"{column(place)} NULLS FIRST" for place in places)
    return f"SELECT {columns(places)} FROM {table} ORDER BY {order}"
