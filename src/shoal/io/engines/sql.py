"""SQL statements that engines share; no other module builds SQL.

The columns of a table are called c0, c1, ... in SQL, whatever the user calls them: names and values are data and never
become code. If a literal is needed, :func:`literal` quotes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence


def column(position: int) -> str:
    """Return the SQL name of the column at a position."""
    return f"c{position}"


def columns(positions: Iterable[int]) -> str:
    """Return the column names for a list in a statement."""
    return ", ".join(map(column, positions))


def positions(names: Iterable[str]) -> list[int]:
    """Return the positions of those names that are of columns.

    >>> positions(["c0", "low", "c12"])
    [0, 12]
    """
    return [int(name[1:]) for name in names if re.fullmatch(r"c\d+", name)]


def renumbered(query: str, keep: Sequence[int]) -> str:
    """Select a recoded table with renumbered columns and the hidden column k."""
    names = ", ".join(f"{column(position)} AS {column(new)}" for new, position in enumerate(keep))
    return f"SELECT {names}, k FROM ({query})"


def literal(text: str) -> str:
    """Return a string literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def hex_literal(text: str) -> str:
    """Return a text literal made of its UTF-8 bytes.

    It is for dialects in which a backslash or a brace within quotes has a meaning.
    """
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _same(left: str, right: str, positions: Iterable[int]) -> str:
    """Return a null-safe equality: a missing value matches only missing."""
    return " AND ".join(f"{left}.{column(p)} IS NOT DISTINCT FROM {right}.{column(p)}" for p in positions) or "TRUE"


def frequencies(table: str, positions: Sequence[int]) -> str:
    """Select the distinct combinations of some columns with their counts."""
    if not positions:
        return f"SELECT count(*) AS n FROM {table}"
    return f"SELECT {columns(positions)}, count(*) AS n FROM {table} GROUP BY {columns(positions)}"


def extent(counted: str, text: Sequence[int]) -> str:
    """Count combinations (n) and the bytes of their text columns (b)."""
    lengths = " + ".join(f"coalesce(octet_length({column(position)}), 0)" for position in text) or "0"
    return f"SELECT count(*) AS n, sum(CAST({lengths} AS BIGINT)) AS b FROM {counted}"


def count_distinct(table: str, positions: Sequence[int]) -> str:
    """Count non-missing cells (n<i>) and distinct values (d<i>) per column."""
    cells = (
        f"count({column(position)}) AS n{position}, count(DISTINCT {column(position)}) AS d{position}"
        for position in positions
    )
    return f"SELECT {', '.join(cells)} FROM {table}"


def distinct_values(counted: str, positions: Sequence[int]) -> str:
    """Estimate the number of values of each column, under its own name."""
    return f"SELECT {', '.join(f'approx_count_distinct({c}) AS {c}' for c in map(column, positions))} FROM {counted}"


def line_checks(quote: str) -> tuple[str, ...]:
    """Return checks of text lines: NUL bytes, valid UTF-8, open quotes.

    A line end is within quotes if and only if the number of quotes before it is odd. If every line has an even number
    of quotes, no line end is.
    """
    left = f"length(line) - length(replace(line, {hex_literal(quote)}, ''))"
    return (
        f"coalesce(bool_or(contains(line, {hex_literal(chr(0))})), FALSE) AS nul",
        "coalesce(bool_and(is_valid_utf8(line)), TRUE) AS utf8",
        f"coalesce(bool_or(({left}) % 2 = 1), FALSE) AS open",
    )


def projected(table: str, positions: Sequence[int], hidden: bool) -> str:
    """Select some columns, renumbered, and the hidden column k if present."""
    names = [f"{column(position)} AS {column(new)}" for new, position in enumerate(positions)]
    return f"SELECT {', '.join([*names, 'k'] if hidden else names)} FROM {table}"


def relabelled(table: str, count: int, position: int, labels: str, hidden: bool) -> str:
    """Replace the values of one column by labels (v, label).

    ``count`` is the number of columns. The hidden column k is kept if present.
    """
    names = [f"l.label AS {name}" if name == column(position) else f"t.{name}" for name in map(column, range(count))]
    cells = ", ".join([*names, "t.k"] if hidden else names)
    return f"SELECT {cells} FROM {table} AS t LEFT JOIN {labels} AS l ON t.{column(position)} = l.v"


def replaced(table: str, count: int, cells: Mapping[int, str]) -> str:
    """Replace some of the ``count`` columns of a table by expressions."""
    names = map(column, range(count))
    listed = (f"{cells[position]} AS {name}" if position in cells else name for position, name in enumerate(names))
    return f"SELECT {', '.join(listed)} FROM {table}"


def positive_zero(position: int) -> str:
    """Return a floating-point column with -0.0 replaced by 0.0."""
    name = column(position)
    return f"CASE WHEN {name} = 0 THEN abs({name}) ELSE {name} END"


def signed_zeros(table: str, positions: Sequence[int], text: str) -> str:
    """Return whether floating-point columns contain -0.0.

    The results have the names of the columns. ``text`` is the type of text.
    """
    signed = (f"CASE WHEN {c} = 0 THEN CAST({c} AS {text}) LIKE '-%' ELSE FALSE END" for c in map(column, positions))
    cells = (
        f"coalesce(bool_or({sign}), FALSE) AS {column(position)}"
        for position, sign in zip(positions, signed, strict=True)
    )
    return f"SELECT {', '.join(cells)} FROM {table}"


_BLANKS = literal("".join(sign for sign in map(chr, range(1, 0x3001)) if sign.isspace()))


def _is_text(kind: str) -> bool:
    """Return whether a column's values are compared as text.

    Its type is text, or is not one that a statement may name.
    """
    return kind == "VARCHAR" or not re.fullmatch(r"[A-Z][A-Z0-9_ ]*(\([0-9, ]*\))?", kind)


def _value(cell: str, kind: str) -> str:
    """Return a cell for comparison: text in canonical form, without blanks."""
    return f"nfc_normalize(trim(CAST({cell} AS VARCHAR), {_BLANKS}))" if _is_text(kind) else cell


def _read(text: str, kind: str) -> str:
    """Convert a declared text to a type; NULL if it is no value, or NaN."""
    if _is_text(kind):
        return _value(text, kind)
    read = f"TRY_CAST(trim({text}, {_BLANKS}) AS {kind})"
    return f"CASE WHEN NOT isnan({read}) THEN {read} END" if kind in ("FLOAT", "DOUBLE") else read


def declared(texts: str, kinds: Mapping[int, str]) -> str:
    """Convert declared texts (columns c<i>, row number i) to column types.

    NULL stands for a text that is no value of its type.
    """
    cells = [f"{_read(column(position), kind)} AS {column(position)}" for position, kind in kinds.items()]
    return f"SELECT {', '.join(['i', *cells])} FROM {texts}"


def declared_again(wanted: str, positions: Sequence[int]) -> str:
    """Select declared values as text, with the first row of equal values."""
    texts = [f"CAST({column(p)} AS VARCHAR) AS {column(p)}" for p in positions]
    same = f"min(i) OVER (PARTITION BY {columns(positions)})" if positions else "i"
    return f"SELECT {', '.join([*texts, f'{same} AS same'])} FROM {wanted} ORDER BY i"


def _wanted(wanted: str, kinds: Mapping[int, str]) -> str:
    """Join the rows t that have the values of a row of ``wanted``.

    Values are compared in the type of each column. It is the equality by which :func:`declared_again` distinguishes
    values, so a row has the values of at most one row of ``wanted``.
    """
    same = [f"{_value(f't.{column(p)}', kind)} IS NOT DISTINCT FROM w.{column(p)}" for p, kind in kinds.items()]
    return f"JOIN {wanted} AS w ON {' AND '.join(same) or 'TRUE'}"


def count_matching(table: str, wanted: str, kinds: Mapping[int, str], times: str = "1") -> str:
    """Count the rows that have the values of each row i of ``wanted``.

    Rows of ``wanted`` without a match are left out. Every row counts ``times``: once, or n times if the table is one of
    combinations with their counts.
    """
    return f"SELECT w.i AS i, CAST(sum({times}) AS BIGINT) AS n FROM {table} AS t {_wanted(wanted, kinds)} GROUP BY w.i"


def total(
    table: str,
    position: int,
    scale: float,
    ends: tuple[int, int],
    wanted: str,
    kinds: Mapping[int, str],
    times: str = "1",
) -> str:
    """Sum a column over the rows that match ``wanted``, in whole steps.

    ``wanted`` has one row. A value is multiplied by ``scale``, rounded (half to even) and clipped; one that is no
    number counts as 0. Every row counts ``times``, as in :func:`count_matching`.
    """
    number = f"TRY_CAST(CAST(t.{column(position)} AS VARCHAR) AS DOUBLE)"
    known = f"CASE WHEN isnan({number}) THEN 0 ELSE coalesce({number}, 0) END"
    steps = f"round_even({known} * CAST({scale!r} AS DOUBLE), 0)"
    clipped = f"least(greatest({steps}, CAST({ends[0]:d} AS DOUBLE)), CAST({ends[1]:d} AS DOUBLE))"
    return f"SELECT sum(CAST({clipped} AS HUGEINT) * {times}) FROM {table} AS t {_wanted(wanted, kinds)}"


def varying(table: str, owner: int, positions: Sequence[int], digest: str) -> str:
    """Count owners of several rows (n), and those with varying values (d<i>).

    Values are compared by the engine's function ``digest``, which returns a number for a missing value too. That is
    faster than comparing the values themselves.
    """
    numbers = ", ".join(f"{digest}({column(position)}) AS h{position}" for position in positions)
    cells = (
        f"CASE WHEN min(h{position}) = max(h{position}) THEN 0 ELSE 1 END AS v{position}" for position in positions
    )
    by_owner = (
        f"SELECT {', '.join(cells)} FROM (SELECT {column(owner)}, {numbers} FROM {table}) GROUP BY {column(owner)} "
        "HAVING count(*) > 1"
    )
    return f"SELECT count(*) AS n, {', '.join(f'sum(v{p}) AS d{p}' for p in positions)} FROM ({by_owner})"


def count_unique_owners(table: str, owner: int, positions: Sequence[int]) -> str:
    """Count owners of several rows (n) with values that no other owner has."""
    least = ", ".join(f"min({column(position)}) AS {column(position)}" for position in positions)
    by_owner = f"SELECT count(*) AS rows_of_it, {least} FROM {table} GROUP BY {column(owner)}"
    alone = f"SELECT max(rows_of_it) AS most FROM ({by_owner}) GROUP BY {columns(positions)} HAVING count(*) = 1"
    return f"SELECT count(*) AS n FROM ({alone}) WHERE most > 1"


def limit_rows_per_person(table: str, count: int, key: Sequence[int], owners: str, limit: int) -> str:
    """Select at most ``limit`` rows of each owner g of ``owners``.

    ``count`` is the number of columns; the ``key`` columns identify the owner. The selected rows depend only on how
    many rows the owner has: neither on their content nor on the rows of others. Rows are numbered within their owner in
    the order of the source, and the numbers are shuffled. Rows without an owner are kept.
    """
    numbered = f"(SELECT *, row_number() OVER () AS r FROM {table})"
    owned = (
        f"SELECT t.*, a.g AS g, row_number() OVER (PARTITION BY a.g ORDER BY t.r) AS place FROM {numbered} AS t "
        f"LEFT JOIN {owners} AS a ON {_same('t', 'a', key)}"
    )
    shuffled = f"SELECT *, row_number() OVER (PARTITION BY g ORDER BY hash(place), place) AS turn FROM ({owned})"
    return f"SELECT {columns(range(count))} FROM ({shuffled}) WHERE g IS NULL OR turn <= {limit:d}"


def recode_by_level(
    table: str,
    keep: Sequence[int],
    maps: Mapping[int, str],
    ranked: Sequence[int],
    constants: Mapping[int, str],
    suppressed: tuple[str, Sequence[int]] | None,
    quote: Callable[[str], str] = literal,
) -> str:
    """Replace columns by labels, one join each, and drop suppressed rows.

    ``maps`` gives for a column the relation (v, label) that recodes it, ``constants`` the one label of a column that is
    fully generalized. Maps of the ``ranked`` columns have a rank too; the sum of ranks becomes the hidden column k, by
    which rows are sorted. ``suppressed`` is a relation of published combinations that are dropped, and its columns.
    ``quote`` writes a text literal in the engine's dialect.
    """
    output = [(" + ".join(f"m{position}.rank" for position in ranked) or "CAST(0 AS BIGINT)") + " AS k"]
    joins = []
    for position in keep:
        name = column(position)
        if position in constants:
            output.append(f"{quote(constants[position])} AS {name}")
        elif position in maps:
            joins.append(f"LEFT JOIN {maps[position]} AS m{position} ON t.{name} IS NOT DISTINCT FROM m{position}.v")
            output.append(f"m{position}.label AS {name}")
        else:
            output.append(f"t.{name} AS {name}")
    recoded = f"SELECT {', '.join(output)} FROM {table} AS t {' '.join(joins)}"
    if suppressed is None:
        return recoded
    relation, positions = suppressed
    return f"SELECT r.* FROM ({recoded}) AS r ANTI JOIN {relation} AS s ON {_same('r', 's', positions)}"


def recode_by_group(
    table: str,
    keep: Sequence[int],
    key: Sequence[int],
    assignment: str,
    labels: str,
    recoded: Sequence[int],
    split: bool,
) -> str:
    """Give every row the labels of its group; drop rows without a group.

    ``assignment`` has the key's columns, a group number g and, if identical rows go to different groups (``split``),
    the range (low, high] of row numbers among them. Identical rows are numbered in the order of all their other
    columns, so the numbering depends on the content alone.
    """
    source = _numbered(table, keep, key) if split else table
    between = " AND t.rn > a.low AND t.rn <= a.high" if split else ""
    output = ", ".join(
        f"{'l' if position in recoded else 't'}.{column(position)} AS {column(position)}" for position in keep
    )
    return (
        f"SELECT l.rank AS k, {output} FROM {source} AS t JOIN {assignment} AS a ON {_same('t', 'a', key)}{between} "
        f"JOIN {labels} AS l ON a.g = l.g"
    )


def recode_by_entry(table: str, keep: Sequence[int], key: Sequence[int], entries: str, recoded: Sequence[int]) -> str:
    """Give every row the labels of the entry for its key and number.

    It works as :func:`recode_by_group` with ``split``. ``entries`` has the key's columns, low and high, and l<i> for
    each of the ``recoded`` columns, which are in the order by which rows are sorted: k is a structure of them.
    """
    output = ", ".join(f"a.l{p} AS {column(p)}" if p in recoded else f"t.{column(p)} AS {column(p)}" for p in keep)
    cells = ", ".join(f"a.l{position}" for position in recoded)
    return (
        f"SELECT struct({cells}) AS k, {output} FROM {_numbered(table, keep, key)} AS t "
        f"JOIN {entries} AS a ON {_same('t', 'a', key)} AND t.rn > a.low AND t.rn <= a.high"
    )


def _numbered(table: str, keep: Sequence[int], key: Sequence[int]) -> str:
    """Number the rows (rn) of a table among those with the same key."""
    rest = [position for position in keep if position not in key]
    # explicit, since engines differ in the order of missing values
    order = ", ".join(f"{column(position)} NULLS LAST" for position in rest or key)
    return f"(SELECT *, row_number() OVER (PARTITION BY {columns(key)} ORDER BY {order}) AS rn FROM {table})"


def sample(table: str, count: int, rows: int) -> str:
    """Select ``rows`` rows by a hash of their content and number.

    ``count`` is the number of columns; rows with equal content are numbered. By content alone, identical rows would all
    be in or all be out, and a sample would look safer than its table.
    """
    listed = columns(range(count))
    numbered = f"SELECT *, row_number() OVER (PARTITION BY {listed} ORDER BY {column(0)}) AS rn FROM {table}"
    return f"SELECT {listed} FROM ({numbered}) ORDER BY xxhash64(rn, {listed}), {listed}, rn LIMIT {int(rows)}"


def repeated(
    rows: str, keep: Sequence[int], constants: Mapping[int, str], copies: str, quote: Callable[[str], str] = literal
) -> str:
    """Repeat each row n times, in order, and add columns with one label.

    k numbers the distinct rows. ``copies`` makes n rows of one, and ``quote`` writes a text, both in the engine's
    dialect.
    """
    cells = [f"{quote(constants[p])} AS {column(p)}" if p in constants else column(p) for p in keep]
    return f"SELECT k, {', '.join(cells)} FROM (SELECT *, {copies} AS copy FROM {rows})"


def sorted_rows(table: str, positions: Sequence[int], ranked: Sequence[int] = ()) -> str:
    """Select all rows in an order that depends only on their content.

    The hidden column k orders ``ranked``.
    """
    order = ["k"] if ranked else []
    order += [f"{column(position)} NULLS FIRST" for position in positions if position not in ranked]
    return f"SELECT {columns(positions)} FROM {table} ORDER BY {', '.join(order)}"
