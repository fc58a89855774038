"""How Spark reads files and directories: which files there are, what their columns are called, and what could go wrong.

Spark reads more than it should: it invents rows where a quoted cell has a line end, replaces what is no UTF-8, and
fills columns that a file lacks with missing values. So the files are looked at before, and refused where the other
engine would refuse them.
"""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import TableError
from shoal.io.engines import sql
from shoal.io.engines.base import Source, check_names
from shoal.io.formats import format_of
from shoal.io.formats.csv_dialect import CsvFormat, detect, same_header, surely_named
from shoal.io.formats.partitioned import common_schema, refuse_double

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["open_files"]

FORMATS = ("parquet", "csv")
ENCODINGS = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1", "cp1252": "windows-1252"}


def open_files(
    spark: SparkSession, path: Path, source: Source
) -> tuple[DataFrame, tuple[str, ...], tuple[str, ...], bool]:
    """A frame over a file or directory, the names of its columns, and the texts that stand for missing values.

    Last comes whether the names are known to be names (see :class:`shoal.io.engines.base.Relation`).

    The folders of a partitioned directory (``year=2024/``) become columns of text after those of the files.
    """
    if "://" in str(path) or ":/" in str(path):
        raise TableError(
            "The source must be a path of a file system that the driver and the executors share, not a URL. Read it "
            "with Spark, and give the frame to shoal.anonymize."
        )
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not a name of a file"
        raise TableError(f"File {str(path)!r} cannot be read: {reason}. Check the path.") from None
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise TableError(f"The source {str(path)!r} must be a file or a directory; copy it to a file first.")
    if path.is_file() and (found := format_of(path, source.format)).name not in FORMATS:
        raise TableError(f"Spark reads CSV and Parquet; {path.name!r} is {found.title}. Use the engine duckdb for it.")
    if source.csv.foreign_numbers:
        raise TableError("Spark reads no decimal commas or thousands separators. Use the engine duckdb.")
    form = _format(path, source.format)
    files = [path] if path.is_file() else _files(path, form)
    folders = [file.relative_to(path).parts[:-1] for file in files] if path.is_dir() else [()]
    partitioned = _partitioned(path, folders)
    reader = spark.read.option("recursiveFileLookup", path.is_dir() and not partitioned)
    if path.is_dir():
        reader = reader.option("pathGlobFilter", f"*.{form}")
    place = _escaped(path.resolve())
    if form == "parquet":
        names = tuple(common_schema(files).names)
        check_names(names, named=True)
        if len({name.lower() for name in names}) < len(names) and spark.conf.get("spark.sql.caseSensitive") != "true":
            raise TableError("Columns differ in nothing but case; set spark.sql.caseSensitive to true in this session.")
        frame = reader.parquet(place)
        if not partitioned:
            # no selectExpr: in an expression Spark would put a setting in place of ${name}
            frame = frame.select(*(_column(name) for name in names))
        refuse_double(names, partitioned)
        return frame, tuple(frame.columns), source.csv.missing, True
    csv_form = _csv_form(files, source.csv)
    frame = _open_csv(spark, reader, place, csv_form, path, form)
    names = (*csv_form.names, *frame.columns[len(csv_form.names) :])
    refuse_double(csv_form.names, partitioned)
    return frame, names, ("", *source.csv.missing), surely_named(source.csv, csv_form)


def _format(path: Path, given: str | None) -> str:
    form = given or path.suffix.removeprefix(".").lower()
    if form in FORMATS:
        return form
    if path.is_dir():
        for form in FORMATS:
            if next(_visible(path, form), None) is not None:
                return form
        raise TableError(f"Directory {str(path)!r} holds no file that ends in .parquet or .csv.")
    return "csv"


def _visible(path: Path, form: str) -> Any:
    """Files of a directory that Spark looks at: it skips names that begin with a dot or an underscore."""
    return (
        file
        for file in path.rglob(f"*.{form}")
        if not any(part.startswith(".") or (part.startswith("_") and "=" not in part)
                   for part in file.relative_to(path).parts)
    )  # fmt: skip


def _files(path: Path, form: str) -> list[Path]:
    files = sorted(_visible(path, form))
    if not files:
        raise TableError(f"Directory {str(path)!r} holds no file that ends in .{form}.")
    return files


def _partitioned(path: Path, folders: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The columns that are kept in the names of folders; they must be the same for all files."""
    keys = {tuple(part.partition("=")[0] if "=" in part else "" for part in parts) for parts in folders}
    if not any(name for parts in keys for name in parts):
        return ()
    if len(keys) > 1 or "" in next(iter(keys)):
        raise TableError(
            f"Directory {str(path)!r} is partitioned in more than one way; every file must stand in folders of the "
            f"same columns (name=value)."
        )
    return next(iter(keys))


def _csv_form(files: Sequence[Path], given: CsvFormat) -> CsvFormat:
    """How the files are written, found in the first; the others must have the same header."""
    form = detect(files[0], given)
    if form.encoding not in ENCODINGS:
        raise TableError(f"Spark cannot read {form.encoding} text; convert the file to UTF-8 first.")
    same_header(files, form)
    return form


def _open_csv(spark: SparkSession, reader: Any, place: str, form: CsvFormat, path: Path, suffix: str) -> DataFrame:
    from pyspark.sql.types import StringType, StructField, StructType

    quote = form.quote or '"'
    lines = spark.read.option("recursiveFileLookup", path.is_dir())
    if path.is_dir():
        lines = lines.option("pathGlobFilter", f"*.{suffix}")
    text = lines.text(place).toDF("line")
    (seen,) = text.selectExpr(*sql.line_checks(quote)).collect()
    if seen["nul"]:
        raise TableError("A file of the source holds a NUL byte; a text table cannot. Remove it.")
    if form.encoding == "utf-8" and not seen["utf8"]:
        raise TableError('A file of the source is not UTF-8 text. Set its encoding, for example encoding = "latin-1".')
    schema = StructType([StructField(f"file column {number}", StringType()) for number in range(len(form.names))])
    frame: DataFrame = (
        reader.schema(schema)
        .options(
            header=bool(form.header), sep=form.delimiter or ",", quote=quote, escape=quote, mode="FAILFAST",
            encoding=ENCODINGS[form.encoding or "utf-8"], enforceSchema=True, unescapedQuoteHandling="RAISE_ERROR",
            # a record is checked whole, even where few of its columns are looked at
            columnPruning=False,
            # where a quote is open at the end of a line, files cannot be cut at line ends
            multiLine=bool(seen["open"]),
        )
        .csv(place)
    )  # fmt: skip
    return frame


def _column(name: str) -> Any:
    from pyspark.sql.functions import col

    return col("`" + name.replace("`", "``") + "`")


def _escaped(path: Path) -> str:
    """A path in which nothing is a wildcard to Spark."""
    return "".join(f"\\{sign}" if sign in "*?[]{}\\" else sign for sign in str(path))
