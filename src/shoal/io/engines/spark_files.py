"""Files and directories as Spark reads them, and checks before.

Spark accepts too much: it invents rows if a quoted cell has a line end, replaces invalid UTF-8, and fills columns that
a file lacks with missing values. So the files are checked first, and refused if the other engine would refuse them.
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
from shoal.io.formats.csv_dialect import CsvFormat, check_same_header, detect, has_reliable_names
from shoal.io.formats.partitioned import check_no_duplicates, common_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "csv")
ENCODINGS = {"utf-8": "UTF-8", "latin-1": "ISO-8859-1", "cp1252": "windows-1252"}


def open_files(
    spark: SparkSession, path: Path, source: Source
) -> tuple[DataFrame, tuple[str, ...], tuple[str, ...], bool]:
    """Open a file or directory as a frame.

    Returns the frame, the names of its columns, the texts that stand for missing values, and whether the names are
    known to be names (see :class:`shoal.io.engines.base.Relation`).

    The folders of a partitioned directory (``year=2024/``) become columns of text after those of the files.
    """
    if "://" in str(path) or ":/" in str(path):
        raise TableError("engine.spark-source-is-url")
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not a name of a file"
        raise TableError("source.not-readable", file=str(path), reason=reason) from None
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
        raise TableError("source.not-a-file", path=str(path))
    if path.is_file() and (found := format_of(path, source.format)).name not in FORMATS:
        raise TableError("engine.spark-format-not-read", file=path.name, format=found.title)
    if source.csv.foreign_numbers:
        raise TableError("engine.spark-number-style-not-read")
    form = _format(path, source.format)
    files = [path] if path.is_file() else _files(path, form)
    folders = [file.relative_to(path).parts[:-1] for file in files] if path.is_dir() else [()]
    partitioned = _partitioned(path, folders)
    reader = spark.read.option("recursiveFileLookup", path.is_dir() and not partitioned)
    if path.is_dir():
        reader = reader.option("pathGlobFilter", f"*.{form}")
    location = _escaped(path.resolve())
    if form == "parquet":
        names = tuple(common_schema(files, widen=False).names)
        check_names(names, named=True)
        if len({name.lower() for name in names}) < len(names) and spark.conf.get("spark.sql.caseSensitive") != "true":
            raise TableError("engine.spark-case-insensitive")
        frame = reader.parquet(location)
        if not partitioned:
            # not selectExpr: in an expression Spark would replace ${name} by a setting
            frame = frame.select(*(_column(name) for name in names))
        check_no_duplicates(names, partitioned)
        return frame, tuple(frame.columns), source.csv.missing, True
    csv_form = _csv_form(files, source.csv)
    frame = _open_csv(spark, reader, location, csv_form, path, form)
    names = (*csv_form.names, *frame.columns[len(csv_form.names) :])
    check_no_duplicates(csv_form.names, partitioned)
    return frame, names, ("", *source.csv.missing), has_reliable_names(source.csv, csv_form)


def _format(path: Path, given: str | None) -> str:
    form = given or path.suffix.removeprefix(".").lower()
    if form in FORMATS:
        return form
    if path.is_dir():
        for form in FORMATS:
            if next(_visible(path, form), None) is not None:
                return form
        raise TableError("files.spark-directory-without-table", directory=str(path))
    return "csv"


def _visible(path: Path, form: str) -> Any:
    """Return the files of a directory that Spark reads.

    It skips names that begin with a dot or an underscore.
    """
    return (
        file
        for file in path.rglob(f"*.{form}")
        if not any(part.startswith(".") or (part.startswith("_") and "=" not in part)
                   for part in file.relative_to(path).parts)
    )  # fmt: skip


def _files(path: Path, form: str) -> list[Path]:
    files = sorted(_visible(path, form))
    if not files:
        raise TableError("files.spark-directory-without-format", directory=str(path), format=form)
    return files


def _partitioned(path: Path, folders: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the columns of folder names; they must be equal for all files."""
    keys = {tuple(part.partition("=")[0] if "=" in part else "" for part in parts) for parts in folders}
    if not any(name for parts in keys for name in parts):
        return ()
    if len(keys) > 1 or "" in next(iter(keys)):
        raise TableError("files.spark-partitions-differ", directory=str(path))
    return next(iter(keys))


def _csv_form(files: Sequence[Path], given: CsvFormat) -> CsvFormat:
    """Detect the CSV format in the first file; the others must match it."""
    form = detect(files[0], given)
    if form.encoding not in ENCODINGS:
        raise TableError("engine.spark-encoding-not-read", encoding=form.encoding)
    check_same_header(files, form)
    return form


def _open_csv(spark: SparkSession, reader: Any, location: str, form: CsvFormat, path: Path, suffix: str) -> DataFrame:
    from pyspark.sql.types import StringType, StructField, StructType

    quote = form.quote or '"'
    lines = spark.read.option("recursiveFileLookup", path.is_dir())
    if path.is_dir():
        lines = lines.option("pathGlobFilter", f"*.{suffix}")
    text = lines.text(location).toDF("line")
    (seen,) = text.selectExpr(*sql.line_checks(quote)).collect()
    if seen["nul"]:
        raise TableError("files.spark-nul-byte")
    if form.encoding == "utf-8" and not seen["utf8"]:
        raise TableError("files.spark-not-utf8")
    schema = StructType([StructField(f"file column {number}", StringType()) for number in range(len(form.names))])
    frame: DataFrame = (
        reader.schema(schema)
        .options(
            header=bool(form.header), sep=form.delimiter or ",", quote=quote, escape=quote, mode="FAILFAST",
            encoding=ENCODINGS[form.encoding or "utf-8"], enforceSchema=True, unescapedQuoteHandling="RAISE_ERROR",
            # whole records are checked, even if only some columns are read
            columnPruning=False,
            # files cannot be split at line ends if a quote is open at one
            multiLine=bool(seen["open"]),
        )
        .csv(location)
    )  # fmt: skip
    return frame


def _column(name: str) -> Any:
    from pyspark.sql.functions import col

    return col("`" + name.replace("`", "``") + "`")


def _escaped(path: Path) -> str:
    """Escape a path so that it has no wildcard to Spark."""
    return "".join(f"\\{sign}" if sign in "*?[]{}\\" else sign for sign in str(path))
