"""The statements that engines share, and the only place where SQL is put together.

A table's columns are called c0, c1, ... in SQL, whatever the user calls them: names and values are data and
never become code. Where a literal cannot be avoided, :func:`literal` quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = [
    "column",
    "columns",
    "count_matching",
    "declared",
    "declared_again",
    "distinct_values",
    "extent",
    "few_of_each",
    "frequencies",
    "hex_literal",
    "line_checks",
    "literal",
    "places",
    "positive_zero",
    "projected",
    "recode_by_entry",
    "recode_by_group",
    "recode_by_level",
    "relabelled",
    "renumbered",
    "repeated",
    "repeats",
    "replaced",
    "sample",
    "signed_zeros",
    "sorted_rows",
    "told_apart",
    "total",
    "varying",
]


def column(place: int) -> str:
    """The SQL name of the column at a place."""
    return f"c{place}"


def columns(places: Iterable[int]) -> str:
    """Column names for a list of a statement."""
    return ", ".join(map(column, places))


def places(names: Iterable[str]) -> list[int]:
    """The places of those names that are of columns.

    >>> places(["c0", "low", "c12"])
    [0, 12]
    """
    return [int(name[1:]) for name in names if re.fullmatch(r"c\d+", name)]


def renumbered(query: str, keep: Sequence[int]) -> str:
    """A recoded table with its columns numbered anew, and the hidden column k."""
    names = ", ".join(f"{column(place)} AS {column(new)}" for new, place in enumerate(keep))
    return f"SELECT {names}, k FROM ({query})"


def literal(text: str) -> str:
    """A string literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def hex_literal(text: str) -> str:
    """A text by its UTF-8 bytes, for dialects in which a backslash or a brace within quotes has a meaning."""
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _same(left: str, right: str, places: Iterable[int]) -> str:
    """Null-safe equality: a missing value matches only missing."""
    return " AND ".join(f"{left}.{column(p)} IS NOT DISTINCT FROM {right}.{column(p)}" for p in places) or "TRUE"


def frequencies(table: str, places: Sequence[int]) -> str:
    """Distinct combinations of some columns with their counts."""
    if not places:
        return f"SELECT count(*) AS n FROM {table}"
    return f"SELECT {columns(places)}, count(*) AS n FROM {table} GROUP BY {columns(places)}"


def extent(counted: str, text: Sequence[int]) -> str:
    """How many combinations there are (n), and how many bytes their columns of text have (b)."""
    lengths = " + ".join(f"coalesce(octet_length({column(place)}), 0)" for place in text) or "0"
    return f"SELECT count(*) AS n, sum(CAST({lengths} AS BIGINT)) AS b FROM {counted}"


def repeats(table: str, places: Sequence[int]) -> str:
    """How many cells of each column are not missing (n<i>), and how many different values they have (d<i>)."""
    told = (f"count({column(place)}) AS n{place}, count(DISTINCT {column(place)}) AS d{place}" for place in places)
    return f"SELECT {', '.join(told)} FROM {table}"


def distinct_values(counted: str, places: Sequence[int]) -> str:
    """About how many values each column has, under its own name."""
    return f"SELECT {', '.join(f'approx_count_distinct({c}) AS {c}' for c in map(column, places))} FROM {counted}"


def line_checks(quote: str) -> tuple[str, ...]:
    """Of the lines of text files: whether one holds NUL, all are UTF-8, and a quote is open at the end of one.

    A line end is within quotes if and only if the quotes before it are odd in number; where every line has an even
    number of them, none is.
    """
    left = f"length(line) - length(replace(line, {hex_literal(quote)}, ''))"
    return (
        f"coalesce(bool_or(contains(line, {hex_literal(chr(0))})), FALSE) AS nul",
        "coalesce(bool_and(is_valid_utf8(line)), TRUE) AS utf8",
        f"coalesce(bool_or(({left}) % 2 = 1), FALSE) AS open",
    )


def projected(table: str, places: Sequence[int], hidden: bool) -> str:
    """Some columns of a table, numbered anew, and the hidden column k where it has one."""
    names = [f"{column(place)} AS {column(new)}" for new, place in enumerate(places)]
    return f"SELECT {', '.join([*names, 'k'] if hidden else names)} FROM {table}"


def relabelled(table: str, count: int, place: int, labels: str, hidden: bool) -> str:
    """The table, of so many columns, with labels (v, label) in place of the values of one, and the hidden column k."""
    names = [f"l.label AS {name}" if name == column(place) else f"t.{name}" for name in map(column, range(count))]
    shown = ", ".join([*names, "t.k"] if hidden else names)
    return f"SELECT {shown} FROM {table} AS t LEFT JOIN {labels} AS l ON t.{column(place)} = l.v"


def replaced(table: str, count: int, cells: Mapping[int, str]) -> str:
    """The table, which has so many columns, with some of them replaced by expressions."""
    names = map(column, range(count))
    listed = (f"{cells[place]} AS {name}" if place in cells else name for place, name in enumerate(names))
    return f"SELECT {', '.join(listed)} FROM {table}"


def positive_zero(place: int) -> str:
    """A column of floating point in which the zeros of both signs are 0.0."""
    name = column(place)
    return f"CASE WHEN {name} = 0 THEN abs({name}) ELSE {name} END"


def signed_zeros(table: str, places: Sequence[int], text: str) -> str:
    """Whether columns of floating point hold -0.0, under their own names; ``text`` is a type."""
    signed = (f"CASE WHEN {c} = 0 THEN CAST({c} AS {text}) LIKE '-%' ELSE FALSE END" for c in map(column, places))
    told = (f"coalesce(bool_or({sign}), FALSE) AS {column(place)}" for place, sign in zip(places, signed, strict=True))
    return f"SELECT {', '.join(told)} FROM {table}"


_BLANKS = literal("".join(sign for sign in map(chr, range(1, 0x3001)) if sign.isspace()))


def _is_text(kind: str) -> bool:
    """Whether a column's values are compared as text: its type is text, or is not one that a statement may name."""
    return kind == "VARCHAR" or not re.fullmatch(r"[A-Z][A-Z0-9_ ]*(\([0-9, ]*\))?", kind)


def _value(cell: str, kind: str) -> str:
    """A cell as it is compared: of text, the canonical form, without blanks around it."""
    return f"nfc_normalize(trim(CAST({cell} AS VARCHAR), {_BLANKS}))" if _is_text(kind) else cell


def _read(text: str, kind: str) -> str:
    """A declared text as a value of a type; NULL where it is none, or not a number."""
    if _is_text(kind):
        return _value(text, kind)
    read = f"TRY_CAST(trim({text}, {_BLANKS}) AS {kind})"
    return f"CASE WHEN NOT isnan({read}) THEN {read} END" if kind in ("FLOAT", "DOUBLE") else read


def declared(texts: str, kinds: Mapping[int, str]) -> str:
    """Declared texts (columns c<i>, numbered i) as values of the types of their columns; NULL where one is none."""
    cells = [f"{_read(column(place), kind)} AS {column(place)}" for place, kind in kinds.items()]
    return f"SELECT {', '.join(['i', *cells])} FROM {texts}"


def declared_again(wanted: str, places: Sequence[int]) -> str:
    """Declared values as text, and for each row the number of the first row that has the same values."""
    texts = [f"CAST({column(p)} AS VARCHAR) AS {column(p)}" for p in places]
    same = f"min(i) OVER (PARTITION BY {columns(places)})" if places else "i"
    return f"SELECT {', '.join([*texts, f'{same} AS same'])} FROM {wanted} ORDER BY i"


def _wanted(wanted: str, kinds: Mapping[int, str]) -> str:
    """A join with the rows t that have the values of a row of ``wanted``, compared in the type of each column.

    It is the equality by which :func:`declared_again` tells values apart, so that a row has the values of one row of
    ``wanted`` at most.
    """
    same = [f"{_value(f't.{column(p)}', kind)} IS NOT DISTINCT FROM w.{column(p)}" for p, kind in kinds.items()]
    return f"JOIN {wanted} AS w ON {' AND '.join(same) or 'TRUE'}"


def count_matching(table: str, wanted: str, kinds: Mapping[int, str], times: str = "1") -> str:
    """How many rows have the values of each row (numbered i) of ``wanted``; those of which none has are left out.

    Every row counts ``times``: once, or n times where the table is one of combinations with their counts.
    """
    return f"SELECT w.i AS i, CAST(sum({times}) AS BIGINT) AS n FROM {table} AS t {_wanted(wanted, kinds)} GROUP BY w.i"


def total(
    table: str, place: int, scale: float, ends: tuple[int, int], wanted: str, kinds: Mapping[int, str], times: str = "1"
) -> str:
    """The sum of a column over the rows that have the values of the one row of ``wanted``, in whole steps.

    A value is multiplied by ``scale``, rounded (half to even) and clipped; one that is no number counts as 0. Every row
    counts ``times``, as in :func:`count_matching`.
    """
    number = f"TRY_CAST(CAST(t.{column(place)} AS VARCHAR) AS DOUBLE)"
    known = f"CASE WHEN isnan({number}) THEN 0 ELSE coalesce({number}, 0) END"
    steps = f"round_even({known} * CAST({scale!r} AS DOUBLE), 0)"
    clipped = f"least(greatest({steps}, CAST({ends[0]:d} AS DOUBLE)), CAST({ends[1]:d} AS DOUBLE))"
    return f"SELECT sum(CAST({clipped} AS HUGEINT) * {times}) FROM {table} AS t {_wanted(wanted, kinds)}"


def varying(table: str, owner: int, places: Sequence[int], digest: str) -> str:
    """Of the owners of several rows, how many there are (n), and how many have different values in a column (d<i>).

    Values are compared by what the engine's function ``digest`` makes of them, a number also where one is missing:
    quicker than by themselves.
    """
    numbers = ", ".join(f"{digest}({column(place)}) AS h{place}" for place in places)
    told = (f"CASE WHEN min(h{place}) = max(h{place}) THEN 0 ELSE 1 END AS v{place}" for place in places)
    by_owner = (
        f"SELECT {', '.join(told)} FROM (SELECT {column(owner)}, {numbers} FROM {table}) GROUP BY {column(owner)} "
        "HAVING count(*) > 1"
    )
    return f"SELECT count(*) AS n, {', '.join(f'sum(v{place}) AS d{place}' for place in places)} FROM ({by_owner})"


def told_apart(table: str, owner: int, places: Sequence[int]) -> str:
    """How many owners of several rows (n) have values in some columns that no other owner has."""
    least = ", ".join(f"min({column(place)}) AS {column(place)}" for place in places)
    by_owner = f"SELECT count(*) AS rows_of_it, {least} FROM {table} GROUP BY {column(owner)}"
    alone = f"SELECT max(rows_of_it) AS most FROM ({by_owner}) GROUP BY {columns(places)} HAVING count(*) = 1"
    return f"SELECT count(*) AS n FROM ({alone}) WHERE most > 1"


def few_of_each(table: str, count: int, key: Sequence[int], owners: str, most: int) -> str:
    """The table, of so many columns, with ``most`` rows at most of each owner g of ``owners``, told by the key.

    Which rows are kept depends on how many the owner has and on nothing else: neither on what they hold nor on the rows
    of others. Rows are numbered within their owner in the order of the source, and numbers are shuffled. Rows without
    an owner are kept.
    """
    numbered = f"(SELECT *, row_number() OVER () AS r FROM {table})"
    owned = (
        f"SELECT t.*, a.g AS g, row_number() OVER (PARTITION BY a.g ORDER BY t.r) AS place FROM {numbered} AS t "
        f"LEFT JOIN {owners} AS a ON {_same('t', 'a', key)}"
    )
    shuffled = f"SELECT *, row_number() OVER (PARTITION BY g ORDER BY hash(place), place) AS turn FROM ({owned})"
    return f"SELECT {columns(range(count))} FROM ({shuffled}) WHERE g IS NULL OR turn <= {most:d}"


def recode_by_level(
    table: str,
    keep: Sequence[int],
    maps: Mapping[int, str],
    ranked: Sequence[int],
    constants: Mapping[int, str],
    suppressed: tuple[str, Sequence[int]] | None,
    quote: Callable[[str], str] = literal,
) -> str:
    """Replace columns by their labels, one join per column, and drop suppressed combinations.

    ``maps`` gives for a column the relation (v, label) that recodes it, ``constants`` the one label of a column that
    is fully generalized. Maps of the ``ranked`` columns have a rank too; the sum of ranks becomes the hidden column k,
    by which rows are sorted. ``suppressed`` is a relation of combinations as published that are to
    be left out, and the columns it has. ``quote`` writes a text as the engine's dialect wants it.
    """
    output = [(" + ".join(f"m{place}.rank" for place in ranked) or "CAST(0 AS BIGINT)") + " AS k"]
    joins = []
    for place in keep:
        name = column(place)
        if place in constants:
            output.append(f"{quote(constants[place])} AS {name}")
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
    source = _numbered(table, keep, key) if split else table
    between = " AND t.rn > a.low AND t.rn <= a.high" if split else ""
    output = ", ".join(f"{'l' if place in recoded else 't'}.{column(place)} AS {column(place)}" for place in keep)
    return (
        f"SELECT l.rank AS k, {output} FROM {source} AS t JOIN {assignment} AS a ON {_same('t', 'a', key)}{between} "
        f"JOIN {labels} AS l ON a.g = l.g"
    )


def recode_by_entry(table: str, keep: Sequence[int], key: Sequence[int], entries: str, recoded: Sequence[int]) -> str:
    """Give every row what the entry of its key and number shows, as :func:`recode_by_group` does with ``split``.

    ``entries`` has the key's columns, low and high, and l<i> for each of the ``recoded`` columns, which are in the
    order by which rows are sorted: k is a structure of them.
    """
    output = ", ".join(f"a.l{p} AS {column(p)}" if p in recoded else f"t.{column(p)} AS {column(p)}" for p in keep)
    shown = ", ".join(f"a.l{place}" for place in recoded)
    return (
        f"SELECT struct({shown}) AS k, {output} FROM {_numbered(table, keep, key)} AS t "
        f"JOIN {entries} AS a ON {_same('t', 'a', key)} AND t.rn > a.low AND t.rn <= a.high"
    )


def _numbered(table: str, keep: Sequence[int], key: Sequence[int]) -> str:
    """The table with the number rn of each row among those that have the same key."""
    rest = [place for place in keep if place not in key]
    # said aloud, for engines differ in where they put missing values
    order = ", ".join(f"{column(place)} NULLS LAST" for place in rest or key)
    return f"(SELECT *, row_number() OVER (PARTITION BY {columns(key)} ORDER BY {order}) AS rn FROM {table})"


def sample(table: str, count: int, rows: int) -> str:
    """So many rows of a table, which has so many columns, chosen by their content and their number among equal ones.

    By content alone, rows that are alike would all be in or all be out, and a sample would look safer than its table.
    """
    listed = columns(range(count))
    numbered = f"SELECT *, row_number() OVER (PARTITION BY {listed} ORDER BY {column(0)}) AS rn FROM {table}"
    return f"SELECT {listed} FROM ({numbered}) ORDER BY xxhash64(rn, {listed}), {listed}, rn LIMIT {int(rows)}"


def repeated(
    rows: str, keep: Sequence[int], constants: Mapping[int, str], copies: str, quote: Callable[[str], str] = literal
) -> str:
    """Rows as often as each says (n), in their order, and columns that show one label; k numbers rows that differ.

    ``copies`` gives n rows in place of one, and ``quote`` writes a text, as the engine's dialect wants it.
    """
    cells = [f"{quote(constants[p])} AS {column(p)}" if p in constants else column(p) for p in keep]
    return f"SELECT k, {', '.join(cells)} FROM (SELECT *, {copies} AS copy FROM {rows})"


def sorted_rows(table: str, places: Sequence[int], ranked: Sequence[int] = ()) -> str:
    """All rows in an order that depends on nothing but their content; the hidden column k orders ``ranked``."""
    order = ["k"] if ranked else []
    order += [f"{column(place)} NULLS FIRST" for place in places if place not in ranked]
    return f"SELECT {columns(places)} FROM {table} ORDER BY {', '.join(order)}"
