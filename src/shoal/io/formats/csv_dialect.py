"""The format of a CSV file, detected from its beginning or given.

Values are not guessed: every cell is read as text, so that zip code 01234 stays 01234. Only an empty cell is missing
unless the plan names further markers.
"""

from __future__ import annotations

import codecs
import csv
import io
import mmap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, MaxLen, MinLen

from shoal.errors import InputError, TableError
from shoal.runtime.marks import NOT_IN_PLAN
from shoal.runtime.validation import Validated

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 18
MAX_COLUMNS = 16_384
"""As many as a sheet has; with more, every step would take hours."""
SAMPLE_RECORDS = 500
ENCODINGS = {  # Python's name: the engine's name
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8",
    "ascii": "utf-8",
    "iso8859-1": "latin-1",
    "cp1252": "cp1252",
    "utf-16": "utf-16",
    "utf-16-le": "utf-16",
}
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"
"""Bytes that no text in cp1252 contains."""
NOT_CONTROLS = bytes(byte for byte in range(256) if not 0x80 <= byte <= 0x9F)
NOT_UNDEFINED = bytes(byte for byte in range(256) if byte not in UNDEFINED)
COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")  # gzip, Zstandard, zip


@dataclass(frozen=True)
class CsvFormat(Validated):
    """The known properties of a CSV file; ``None`` means: detect it.

    Attributes
    ----------
    delimiter, quote, header, encoding
        As the names say; encodings are utf-8, utf-16, latin-1 and cp1252.
    missing
        Texts that stand for a missing value, in addition to the empty cell.
    trim
        Whether blanks around a cell are dropped.
    names
        Column names in file order; from the header, or ``column1``, ``column2``, ... without one.
    skip
        Number of blank lines before the first record.
    rename
        Whether duplicate column names are numbered: ``name``, ``name_2``, ...
    decimal, thousands
        The separators of numbers: 1.234,5 has a decimal comma and a point between thousands. They are read as 1234.5 in
        the columns where all values are numbers of this kind.

    Examples
    --------
    >>> import shoal
    >>> shoal.CsvOptions(delimiter=";", missing=("?", "n/a"), decimal=",").delimiter
    ';'
    """

    delimiter: Annotated[str, MinLen(1), MaxLen(1)] | None = None
    quote: Annotated[str, MinLen(1), MaxLen(1)] | None = None
    header: bool | None = None
    encoding: str | None = None
    missing: tuple[str, ...] = ()
    trim: bool = False
    names: tuple[str, ...] = ()
    skip: Annotated[int, Ge(0), NOT_IN_PLAN] = 0
    rename: bool = False
    decimal: Literal[".", ","] | None = None
    thousands: Literal[".", ",", " ", "'"] | None = None
    fault: ClassVar[type[InputError]] = TableError

    def __post_init__(self) -> None:
        for name, sign in (("delimiter", self.delimiter), ("quote", self.quote)):
            if sign is not None and (len(sign) != 1 or sign in "\r\n\0"):
                raise TableError("files.sign-not-one-character", option=name, found=sign)
        if self.delimiter is not None and self.delimiter == (self.quote or '"'):
            raise TableError("files.delimiter-is-quote", found=self.delimiter)
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            raise TableError("files.decimal-is-thousands", found=self.thousands)

    @property
    def foreign_numbers(self) -> bool:
        """Return whether numbers are written in another form than 1234.5."""
        return self.decimal == "," or self.thousands is not None


RELEASED = CsvFormat(delimiter=",", quote='"', header=True, encoding="utf-8")
"""The format in which shoal writes."""


def detect(path: Path, given: CsvFormat) -> CsvFormat:
    """Detect what the user left open, and read the column names."""
    head = _read_head(path)
    if not head:
        raise TableError("files.empty", file=path.name)
    if head.startswith(COMPRESSED):
        raise TableError("files.compressed", file=path.name)
    encoding = _encoding_of(path, head, given.encoding)
    if encoding != "utf-16":
        _refuse_nul(path)
    complete = len(head) < SAMPLE_BYTES
    sample = _decode(path, head, encoding, complete)
    quote = given.quote or '"'
    delimiter = given.delimiter or _delimiter_of(sample, quote, complete)
    records = _records(sample, delimiter, quote, complete)
    if not records:
        raise TableError("files.no-record", file=path.name)
    if len(records[0]) > MAX_COLUMNS or (len(records) == 1 and not complete):
        raise TableError("files.too-many-columns", file=path.name, columns=MAX_COLUMNS, bytes=SAMPLE_BYTES)
    header = _has_header(records) if given.header is None else given.header
    if header:
        refuse_carriage_returns(records[0], TableError)
    names = given.names or (
        tuple(name.strip() if given.trim else name for name in records[0])
        if header
        else tuple(f"column{position}" for position in range(1, len(records[0]) + 1))
    )
    if len(names) != len(records[0]):
        raise TableError("files.names-do-not-fit", file=path.name, columns=len(records[0]), names=len(names))
    if given.rename:
        names = rename_duplicates(names)
    skip = _blank_lines(sample)
    return replace(given, delimiter=delimiter, quote=quote, header=header, encoding=encoding, names=names, skip=skip)


def refuse_carriage_returns(names: Sequence[str], error: type[InputError]) -> None:
    """Raise if a header of a CSV would have a carriage return in a name.

    The engine takes it for the end of the header, in quotes too, and reads no row.
    """
    found = [position for position, name in enumerate(names, 1) if "\r" in name]
    if found:
        raise error(
            f"No column name in a CSV may contain a carriage return; that of column {found[0]} of {len(names)} does. "
            f"Rename the column, or use Parquet."
        )


def rename_duplicates(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with a number after each duplicate.

    No number makes a name that exists already.

    >>> rename_duplicates(["score", "age", "score", "score_2", "score"])
    ('score', 'age', 'score_3', 'score_2', 'score_4')
    """
    taken, found, last = set(names), dict[str, None](), dict[str, int]()
    for name in names:
        new, number = name, last.get(name, 1)
        while new in found or (number > 1 and new in taken):
            number += 1
            new = f"{name}_{number}"
        found[new] = None
        last[name] = number
    return tuple(found)


def has_reliable_names(given: CsvFormat, found: CsvFormat) -> bool:
    """Return whether the names were given, or generated here.

    Those of a header may be a record that was taken for one.
    """
    return bool(given.names) or not found.header


def first_record(path: Path, form: CsvFormat) -> list[str]:
    """Return the first record of a file in a known format."""
    codec = "utf-8-sig" if form.encoding == "utf-8" else form.encoding
    try:
        with path.open(encoding=codec, newline="") as text:
            records = csv.reader(text, delimiter=form.delimiter or ",", quotechar=form.quote or '"')
            return next((record for record in records if record), [])
    except (OSError, UnicodeDecodeError, csv.Error):
        raise TableError("files.encodings-differ", file=path.name, encoding=form.encoding) from None


def check_same_header(files: Sequence[Path], form: CsvFormat) -> None:
    """Raise if files that are read as one table have different headers."""
    if not form.header or len(files) < 2:
        return
    first = first_record(files[0], form)
    differs = [file.name for file in files[1:] if first_record(file, form) != first]
    if differs:
        raise TableError("files.headers-differ", differing=len(differs), files=len(files), example=differs[0])


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(SAMPLE_BYTES)
    except OSError as error:
        raise TableError("files.not-readable", file=str(path), reason=error.strerror) from None


def _encoding_of(path: Path, head: bytes, given: str | None) -> str:
    """Return the encoding by the engine's name."""
    try:
        name = codecs.lookup(given).name if given else "utf-16" if head.startswith(codecs.BOM_UTF16_LE) else "utf-8"
    except LookupError:
        name = ""
    if name == "utf-16-be" or (head.startswith(codecs.BOM_UTF16_BE) and (not given or name == "utf-16")):
        raise TableError("files.big-endian-utf16", file=path.name)
    if name not in ENCODINGS:
        raise TableError("files.unknown-encoding", found=given)
    return ENCODINGS[name]


def _decode(path: Path, head: bytes, encoding: str, complete: bool) -> str:
    """Return the sample as text, without a character that its end cuts."""
    if encoding == "utf-16":
        head = head.removeprefix(codecs.BOM_UTF16_LE)
    codec = {"utf-8": "utf-8-sig", "utf-16": "utf-16-le"}.get(encoding, encoding)
    try:
        return codecs.getincrementaldecoder(codec)().decode(head, final=complete)
    except UnicodeDecodeError as error:
        raise TableError("files.wrong-encoding", file=path.name, encoding=encoding, position=error.start) from None


def is_cp1252(encoding: str | None) -> bool:
    """Return whether an encoding is cp1252, by whatever name."""
    try:
        return encoding is not None and codecs.lookup(encoding).name == "cp1252"
    except LookupError:
        return False


def detect_legacy_encoding(path: Path) -> str | None:
    """Return the encoding of a text file that is not UTF-8, else None.

    The result is cp1252 or latin-1, as spreadsheets write; None for UTF-8 and all other files. Bytes from 0x80 to 0x9f
    are quotes, dashes and the euro sign in cp1252, and control characters in latin-1, which do not occur in texts.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    other = high = undefined = False
    try:
        with path.open("rb") as file:
            part = file.read(SAMPLE_BYTES)
            if part.startswith((*COMPRESSED, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return None
            while part:
                high = high or part.translate(None, NOT_CONTROLS) != b""
                undefined = undefined or part.translate(None, NOT_UNDEFINED) != b""
                try:
                    if not other:
                        decoder.decode(part)
                except UnicodeDecodeError:
                    other = True
                part = file.read(SAMPLE_BYTES)
            if not other:
                decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        other = True
    except OSError:
        return None
    if not other:
        return None
    return "cp1252" if high and not undefined else "latin-1"


def _blank_lines(sample: str) -> int:
    """Count the blank lines before the first record.

    The engine would take the first of them for the header.
    """
    start = sample[: len(sample) - len(sample.lstrip("\r\n"))]
    return len(start.splitlines())


def _refuse_nul(path: Path) -> None:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        position = content.find(b"\0")
    if position >= 0:
        raise TableError("files.nul-byte", file=path.name, position=position)


def _records(sample: str, delimiter: str, quote: str, complete: bool) -> list[list[str]]:
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, quotechar=quote)
    records: list[list[str]] = []
    try:
        for record in reader:
            if record:
                records.append(record)
            if len(records) > SAMPLE_RECORDS:
                return records
    except csv.Error:
        return records
    # the last record of a truncated sample may be truncated
    return records if complete or len(records) < 2 else records[:-1]


def _delimiter_of(sample: str, quote: str, complete: bool) -> str:
    """Return the delimiter that gives most records the width of the first.

    The width must be more than one cell.
    """

    def score(delimiter: str) -> tuple[float, int]:
        records = _records(sample, delimiter, quote, complete)
        width = len(records[0]) if records else 0
        if width < 2:
            return (0.0, 0)
        return (sum(len(record) == width for record in records) / len(records), width)

    return max(DELIMITERS, key=score)  # max returns the first of equals: the comma


def _has_header(records: list[list[str]]) -> bool:
    """Return whether the first record is a header.

    It is none only if it has numbers in every column in which all other records have numbers.
    """
    first, rest = records[0], records[1:]
    if not rest:
        return True
    numeric = [
        position
        for position in range(len(first))
        if all(_is_number(record[position]) for record in rest if position < len(record) and record[position].strip())
        and any(position < len(record) and record[position].strip() for record in rest)
    ]
    return not (numeric and all(_is_number(first[position]) for position in numeric))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
