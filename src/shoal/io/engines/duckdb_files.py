"""DuckDB statements that scan files; all options are explicit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from shoal.io.engines import sql
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.io.formats.partitioned import Parts

CSV_BUFFER_BYTES = 8_000_000
"""Bytes of a CSV that are read at once; DuckDB's default is four times as many for each thread. The longest record that
DuckDB accepts is a quarter of it."""


def scan_csv(files: Sequence[Path], form: CsvFormat, with_file: bool = False) -> str:
    """Scan CSV files as text cells c0, c1, ...

    ``with_file`` adds the column filename.
    """
    empty = sql.literal("")
    missing = ", ".join((empty, *map(sql.literal, form.missing)))
    signs = (form.delimiter or ",", form.quote or '"')
    quoted = any(sign in text for text in form.missing for sign in signs)
    types = ", ".join(f"'{sql.column(position)}': 'VARCHAR'" for position in range(len(form.names)))
    options = {
        "delim": form.delimiter or ",",
        "quote": form.quote or '"',
        "escape": form.quote or '"',
        "encoding": form.encoding or "utf-8",
    }
    given = ", ".join(f"{name} = {sql.literal(value)}" for name, value in options.items())
    scan = (
        f"read_csv([{_listed(files)}], auto_detect = false, columns = {{{types}}}, "
        f"header = {str(bool(form.header)).lower()}, skip = {form.skip}, nullstr = [{empty if quoted else missing}], "
        f"strict_mode = true, hive_partitioning = false, filename = {str(with_file).lower()}, "
        f"compression = 'none', buffer_size = {CSV_BUFFER_BYTES}, {given})"
    )
    cells = [sql.column(position) for position in range(len(form.names))]
    if form.trim or quoted:
        # `nullstr` compares cells before trimming, and takes no marker with a delimiter or a quote
        trimmed = [f"trim({name}, ' \t')" if form.trim else name for name in cells]
        cells = [
            f"CASE WHEN {cell} NOT IN ({missing}) THEN {cell} END AS {name}"
            for cell, name in zip(trimmed, cells, strict=True)
        ]
    return f"SELECT {', '.join([*cells, *(['filename'] if with_file else [])])} FROM {scan}"


def scan_parquet(
    runs: Sequence[tuple[Sequence[Path], pa.Schema]], names: Sequence[str], cells: str, with_file: bool = False
) -> str:
    """Scan Parquet files as cells c0, c1, ..., in the order of ``names``.

    The files of a run have the same schema; between runs types are widened. No column comes from the path: otherwise a
    folder age=3 would override the column age.
    """
    scans = [_scan_run(files, schema, names, with_file) for files, schema in runs]
    scan = scans[0] if len(scans) == 1 else f"({' UNION ALL '.join(f'SELECT * FROM {scan}' for scan in scans)})"
    return f"SELECT {cells}{', filename' if with_file else ''} FROM {scan}"


def _scan_run(files: Sequence[Path], schema: pa.Schema, names: Sequence[str], with_file: bool) -> str:
    """Scan files of one schema; a column of the type null has no type."""
    own = sql.columns(range(len(schema.names))) + (", filename" if with_file else "")
    scan = (
        f"read_parquet([{_listed(files)}], hive_partitioning = false, filename = {str(with_file).lower()}) AS t({own})"
    )
    if tuple(schema.names) == tuple(names) and not any(pa.types.is_null(part.type) for part in schema):
        return scan
    cells = []
    for position, name in enumerate(names):
        found = schema.names.index(name)
        cell = "NULL" if pa.types.is_null(schema.field(found).type) else sql.column(found)
        cells.append(f"{cell} AS {sql.column(position)}")
    return f"(SELECT {', '.join([*cells, *(['filename'] if with_file else [])])} FROM {scan})"


def folder_cells(query: str, width: int, parts: Parts) -> str:
    """Append the columns of folder names, as text, to a scan with file names."""
    files = ", ".join(sql.literal(str(file)) for file in parts.files)
    cells = [sql.column(position) for position in range(width)]
    for position in range(len(parts.keys)):
        values = ", ".join("NULL" if v[position] is None else sql.literal(str(v[position])) for v in parts.values)
        cells.append(f"CAST(map([{files}], [{values}])[filename] AS VARCHAR) AS {sql.column(width + position)}")
    return f"SELECT {', '.join(cells)} FROM ({query})"


def number_pattern(form: CsvFormat) -> str:
    """Return the pattern of numbers with these separators.

    They are the decimal and the thousands separator of the file.
    """
    point = re.escape(form.decimal or ".")
    between = "[ \u00a0\u202f]" if form.thousands == " " else re.escape(form.thousands or "")
    whole = rf"[0-9]{{1,3}}({between}[0-9]{{3}})+|[0-9]+" if between else "[0-9]+"
    return rf"[-+]?({whole})({point}[0-9]+)?"


def plain_number(cell: str, form: CsvFormat) -> str:
    """Convert such a number to one with a decimal point and nothing else."""
    for sign in " \u00a0\u202f" if form.thousands == " " else form.thousands or "":
        cell = f"replace({cell}, {sql.literal(sign)}, '')"
    return f"replace({cell}, {sql.literal(form.decimal or '.')}, '.')"


def _listed(files: Sequence[Path]) -> str:
    return ", ".join(sql.literal(_one_file(file)) for file in files)


def _one_file(path: Path) -> str:
    """Escape a path so that it has no wildcard: DuckDB reads [x] as x."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))
