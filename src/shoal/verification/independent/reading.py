"""Read a written release again, without the engine that wrote it.

The original is read in the same way where people are looked up in it. A CSV is read by Python's csv module, or by Arrow
if it is large; a Parquet file by Arrow, and so are folders of parts and frames that are handed back. Other formats are
read by :mod:`shoal.verification.independent.formats`. All rows are read, in batches that are counted one by one. Empty
cells of a CSV are missing. A server counts the rows of its tables itself, by the texts of their cells.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import VerificationError
from shoal.runtime.lazy_dataclass import dataclass
from shoal.verification.independent.folding import published_form, without_apostrophe
from shoal.verification.independent.formats import READERS, read_other_format

if TYPE_CHECKING:
    import pyarrow as pa

PYTHON_CSV, ARROW, POSTGRES, ENGINE = "Python's csv module", "Arrow", "PostgreSQL", "the engine"
READER_NAMES = frozenset({PYTHON_CSV, ARROW, POSTGRES, *(form.name for form in READERS.values())})
"""Readers of a release for the independent verification."""

MAX_BYTES_FOR_PYTHON = 1 << 17
"""Size of a CSV up to which Python's csv module reads it; no cell exceeds the limit of that module then."""

BLOCK_BYTES = 16 << 20
"""Bytes of a CSV that Arrow reads at once; no record may be longer."""

PLAIN_FORMATS = (".csv", ".parquet")
BATCH_ROWS = 1 << 17
MAX_UNMERGED_ROWS = 1 << 22
"""Number of combinations of different batches after which they are merged."""

PLAIN_TEXT = "^[!-~]([ -~]*[!-~])?$"
"""Texts that are already in canonical form."""


@dataclass(frozen=True)
class WrittenTable:
    """A file or folder of parts, with the columns that it must have.

    ``delimiter`` and ``quote`` are those of an original. ``skips_blank_lines`` says whether an empty line is no record.
    ``labelled`` are columns whose codes stand for their labels, in formats that have labels. ``has_apostrophes`` says
    that an apostrophe was put before texts that spreadsheets would evaluate.
    """

    path: Path
    columns: tuple[str, ...]
    delimiter: str = ","
    quote: str = '"'
    skips_blank_lines: bool = False
    labelled: tuple[str, ...] = ()
    has_apostrophes: bool = False

    @property
    def reader(self) -> str:
        """The name of the reader of this file."""
        if self.path.suffix.lower() in READERS:
            return READERS[self.path.suffix.lower()].name
        is_small = self.path.is_file() and self.path.stat().st_size <= MAX_BYTES_FOR_PYTHON
        return PYTHON_CSV if self.path.suffix.lower() == ".csv" and is_small else ARROW

    @property
    def parts(self) -> list[Path]:
        """The files: one, or those of a folder."""
        return sorted(self.path.iterdir()) if self.path.is_dir() else [self.path]


@dataclass(frozen=True)
class ReturnedFrame:
    """A frame that is handed back to the user, as Arrow."""

    table: pa.Table
    reader: str = ARROW

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.table.column_names)


@dataclass(frozen=True)
class ServerTable:
    """A table of a server, which groups and counts its rows itself.

    Attributes
    ----------
    count
        Function that takes names of columns and yields batches: the text of each cell, and the number of rows (n).
    floating
        Columns of floating-point numbers.
    """

    columns: tuple[str, ...]
    reader: str
    count: Callable[[Sequence[str]], Iterator[pa.RecordBatch]]
    floating: frozenset[str] = frozenset()


IndependentTable = WrittenTable | ReturnedFrame | ServerTable
"""What the independent verification reads itself."""


def read_frame(frame: Any, quasi: Sequence[str], sensitive: Sequence[str]) -> ReturnedFrame | None:
    """Read a pandas, Polars or Arrow frame by Arrow.

    None for other objects, and for types that readers show in different ways: quasi-identifiers must be texts or whole
    numbers, sensitive columns may be floating-point numbers too.
    """
    import pyarrow as pa

    try:
        if isinstance(frame, pa.Table):
            table = frame
        elif type(frame).__module__.split(".")[0] == "pandas":
            table = pa.Table.from_pandas(frame, preserve_index=False)
        elif type(frame).__module__.split(".")[0] == "polars" and hasattr(frame, "to_arrow"):  # not a lazy frame
            table = frame.to_arrow()
        else:
            return None
    except (pa.ArrowException, TypeError, ValueError):
        return None
    if not all(_is_plain(table.schema.field(name).type) for name in quasi):
        return None
    kinds = [table.schema.field(name).type for name in sensitive]
    return ReturnedFrame(table) if all(_is_plain(kind) or pa.types.is_floating(kind) for kind in kinds) else None


def _is_plain(kind: pa.DataType) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind))


def is_readable(path: Path) -> bool:
    """Return whether a release has a format that is read here."""
    suffix = path.suffix.lower()
    return suffix in PLAIN_FORMATS or (suffix in READERS and path.is_file())


def is_plain_file(path: Path) -> bool:
    """Return whether a path is one CSV or Parquet file."""
    return path.suffix.lower() in PLAIN_FORMATS and path.is_file()


def has_plain_types(path: Path, columns: Sequence[str]) -> bool:
    """Return whether columns of a Parquet file are texts or whole numbers.

    Every reader shows these alike. The cells of a CSV are texts.
    """
    if path.suffix.lower() != ".parquet":
        return True
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    return all(_is_plain(schema.field(name).type) for name in columns)


def count_written_rows(written: IndependentTable, quasi: Sequence[int], others: Sequence[int]) -> pa.Table:
    """Count the combinations of some columns of a written table (c<i>, n).

    ``quasi`` are the positions of quasi-identifiers, which are counted in canonical form.
    """
    counted = count_rows_up_to(written, quasi, others, None)
    assert counted is not None
    return counted


def count_rows_up_to(
    written: IndependentTable, quasi: Sequence[int], others: Sequence[int], limit: int | None
) -> pa.Table | None:
    """Count combinations like ``count_written_rows``; None if above a limit."""
    import pyarrow as pa

    positions = [*quasi, *(position for position in others if position not in quasi)]
    try:
        return _count_rows(written, positions, quasi, limit)
    except (csv.Error, UnicodeError, pa.ArrowException):  # their messages may quote data
        raise VerificationError("verification.not-readable-again", reader=written.reader) from None


def read_cells(written: WrittenTable, names: Sequence[str], quasi: Sequence[str]) -> list[list[Any]]:
    """Read the cells of some columns of a written table, row by row.

    Those of ``quasi`` are in canonical form. Cells are texts, or numbers of a format that has them.
    """
    import pyarrow as pa

    positions = [written.columns.index(name) for name in names]
    cells: list[list[Any]] = [[] for _ in names]
    try:
        for batch in _batches(written, positions):
            for name, column, own in zip(names, batch, cells, strict=True):
                encoded = _comparable(column, name in quasi).dictionary_encode()
                values = [*encoded.dictionary.to_pylist(), None]
                own += [values[index] for index in encoded.indices.fill_null(len(values) - 1).to_pylist()]
    except (csv.Error, UnicodeError, pa.ArrowException):  # their messages may quote data
        raise VerificationError("verification.not-readable-again", reader=written.reader) from None
    if not cells[0]:
        raise VerificationError("verification.no-rows")
    return cells


def have_same_rows(one: IndependentTable, other: IndependentTable, names: Sequence[str]) -> bool:
    """Return whether two tables have the same rows, as often, in some columns."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = []
    for table, sign in ((one, 1), (other, -1)):
        positions = [table.columns.index(name) for name in names]
        counted = count_written_rows(table, (), positions)
        cells = [counted.column(f"c{position}").cast(pa.string()) for position in positions]
        parts.append(pa.table([*cells, pc.multiply(counted.column("n"), sign)], _names(range(len(names)))))
    return not pc.any(pc.not_equal(_merge(parts).column("n"), 0)).as_py()


def _count_rows(
    written: IndependentTable, positions: Sequence[int], quasi: Sequence[int], limit: int | None
) -> pa.Table | None:
    import pyarrow as pa

    parts: list[pa.Table] = []
    unmerged = 0
    for batch in _batches(written, positions, quasi):
        if isinstance(written, WrittenTable) and written.has_apostrophes:
            batch = list(map(_without_apostrophes, batch))
        cells, counts = batch[: len(positions)], batch[len(positions) :]
        columns = [_comparable(column, position in quasi) for position, column in zip(positions, cells, strict=True)]
        counts = counts or [pa.repeat(pa.scalar(1, pa.int64()), len(columns[0]))]
        counted = pa.table([*columns, *counts], _names(positions))
        parts.append(_merge([counted]))
        unmerged += parts[-1].num_rows
        if unmerged > MAX_UNMERGED_ROWS:
            parts, unmerged = [_merge(parts)], 0
            if limit is not None and parts[0].num_rows > limit:
                return None
    if not parts:
        raise VerificationError("verification.no-rows")
    return _merge(parts)


def _names(positions: Sequence[int]) -> list[str]:
    return [*(f"c{position}" for position in positions), "n"]


def _merge(parts: Sequence[pa.Table]) -> pa.Table:
    """Add the counts of equal combinations."""
    import pyarrow as pa

    whole = pa.concat_tables(parts)
    names = whole.column_names[:-1]
    encoded = [whole.column(name).combine_chunks().dictionary_encode() for name in names]
    keyed = pa.table([*(column.indices for column in encoded), whole.column("n")], whole.column_names)
    found = keyed.group_by(names, use_threads=False).aggregate([("n", "sum")])
    cells = [
        column.dictionary.take(found.column(name).combine_chunks()) for name, column in zip(names, encoded, strict=True)
    ]
    return pa.table([*cells, found.column("n_sum")], whole.column_names)


def _comparable(column: pa.Array, is_quasi: bool) -> pa.Array:
    """Convert a column to values that are equal if they are shown equal.

    Floating-point numbers become text: quasi-identifiers with the sign of zero and NaN, sensitive values without.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_floating(kind):
        if not is_quasi:
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, kind), pc.add(column, pa.scalar(0.0, kind)))
        return column.cast(pa.string())
    if pa.types.is_large_string(kind):
        return _canonical(column.cast(pa.string())) if is_quasi else column.cast(pa.string())
    return _canonical(column) if is_quasi and pa.types.is_string(kind) else column


def _without_apostrophes(column: pa.Array) -> pa.Array:
    """Remove the apostrophe from texts that have one before a formula."""
    import pyarrow as pa

    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        return column
    encoded = column.dictionary_encode()
    texts = pa.array([without_apostrophe(text) for text in encoded.dictionary.to_pylist()], column.type)
    return texts.take(encoded.indices)


def _canonical(column: pa.Array) -> pa.Array:
    """Convert texts to canonical form; nothing but blanks is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = column.dictionary_encode()
    if pc.all(pc.match_substring_regex(encoded.dictionary, PLAIN_TEXT)).as_py() is not False:
        return column
    forms = pa.array([published_form(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return forms.take(encoded.indices)


def _batches(
    written: IndependentTable, positions: Sequence[int], quasi: Sequence[int] = ()
) -> Iterator[list[pa.Array]]:
    """Yield cells of some columns, and numbers of rows if counted."""
    if isinstance(written, ServerTable):
        return _server_batches(written, positions, quasi)
    if isinstance(written, ReturnedFrame):
        return (
            [batch.column(position) for position in positions]
            for batch in written.table.to_batches(BATCH_ROWS)
            if batch.num_rows
        )
    suffix = written.path.suffix.lower()
    if suffix in READERS:
        return _table_batches(written, positions)
    if written.reader == PYTHON_CSV:
        return _csv_rows(written, positions)
    read_part = _parquet_batches if suffix == ".parquet" else _csv_batches
    return itertools.chain.from_iterable(read_part(written, part, positions) for part in written.parts)


def _server_batches(written: ServerTable, positions: Sequence[int], quasi: Sequence[int]) -> Iterator[list[pa.Array]]:
    """Read the counts of a server; sensitive zeros are one, NaN is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = [written.columns[position] for position in positions]
    for batch in written.count(names):
        cells: list[pa.Array] = [column.cast(pa.string()) for column in batch.columns[:-1]]
        for index, (position, name) in enumerate(zip(positions, names, strict=True)):
            if name in written.floating and position not in quasi:
                cell = pc.if_else(pc.equal(cells[index], "NaN"), pa.scalar(None, pa.string()), cells[index])
                cells[index] = pc.if_else(pc.equal(cell, "-0"), pa.scalar("0"), cell)
        yield [*cells, batch.column(batch.num_columns - 1).cast(pa.int64())]


def _table_batches(written: WrittenTable, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
    """Read a workbook, survey file or database."""
    table = read_other_format(READERS[written.path.suffix.lower()], written.path, written.labelled)
    _require_header(written, table.column_names)
    for batch in table.to_batches(BATCH_ROWS):
        yield [batch.column(position) for position in positions]


def _require_header(written: WrittenTable, found: Sequence[str]) -> None:
    names = map(without_apostrophe, found) if written.has_apostrophes else found
    if tuple(names) != written.columns:
        raise VerificationError("verification.other-columns", found=len(found), expected=len(written.columns))


def _csv_rows(written: WrittenTable, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
    """Read a small CSV by Python's csv module."""
    import pyarrow as pa

    width = len(written.columns)
    with written.path.open(encoding="utf-8-sig", newline="") as file:
        # an empty line is a record with one empty cell
        records = csv.reader(file, strict=True, delimiter=written.delimiter, quotechar=written.quote)
        header, *rows = [record or [""] for record in records if record or not written.skips_blank_lines]
    _require_header(written, header)
    if any(len(row) != width for row in rows):
        raise VerificationError("verification.records-of-other-length")
    if rows:
        yield [pa.array([row[position] or None for row in rows], pa.string()) for position in positions]


def _csv_batches(written: WrittenTable, part: Path, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
    """Read a large CSV by Arrow, block by block."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with part.open(encoding="utf-8-sig", newline="") as file:
        records = csv.reader(file, strict=True, delimiter=written.delimiter, quotechar=written.quote)
        header = next(record for record in records if record or not written.skips_blank_lines)
    _require_header(written, header)
    names = [header[position] for position in positions]
    kinds: Any = dict.fromkeys(names, pa.string())
    with arrow_csv.open_csv(
        part,
        read_options=arrow_csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=arrow_csv.ParseOptions(
            delimiter=written.delimiter,
            quote_char=written.quote,
            newlines_in_values=True,
            ignore_empty_lines=written.skips_blank_lines,
        ),
        convert_options=arrow_csv.ConvertOptions(
            include_columns=names,
            column_types=kinds,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        ),
    ) as reader:
        for batch in reader:
            if batch.num_rows:
                yield [batch.column(number) for number in range(len(names))]


def _parquet_batches(written: WrittenTable, part: Path, positions: Sequence[int]) -> Iterator[list[pa.Array]]:
    """Read a Parquet file by Arrow, in the types that it states."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(part) as file:
        _require_header(written, file.schema_arrow.names)
        names = [file.schema_arrow.names[position] for position in positions]
        for batch in file.iter_batches(BATCH_ROWS, columns=names):
            yield [batch.column(batch.schema.get_field_index(name)) for name in names]
