"""Count the rows of the original by their labels in a release.

Releases are compared with the original where people are looked up in it: for partial knowledge, where a label may stand
for any value, and for pattern sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from shoal.errors import TableError
from shoal.schema import Schema
from shoal.table import FrequencySet
from shoal.verification.independent import WrittenTable, class_keys, count_written_rows, read_texts

Cells = tuple[str | None, ...]
Rows = frozenset[tuple[tuple[Hashable, ...], int]]
"""The rows of a person: combinations of values with their numbers."""


def count_source_labels(
    source: FrequencySet,
    labels: Sequence[Sequence[str | None]],
    original: WrittenTable | None = None,
    classes: Sequence[Sequence[str | None]] = (),
) -> Counter[Cells]:
    """Count the rows of the source by label; empty text is missing.

    ``labels[j]`` are the labels of the codes of column j, ``classes`` the texts of the codes of sensitive columns, if
    they are counted too; the last code is missing. ``original`` is the file of the source: it is read anew, and only
    the labels of its values are those of the decision. Without it, the rows are those that the engine has counted.
    """
    texts = [[text or None for text in column] for column in labels]
    if original is not None:
        return _read_labels(original, source, texts, bool(classes))
    texts += [[text or None for text in column] for column in classes]
    codes = [*source.codes.T.tolist(), *(source.secrets.T.tolist() if classes else ())]
    cells = [[text[code] for code in column] for text, column in zip(texts, codes, strict=True)]
    found: Counter[Cells] = Counter()
    for index, count in enumerate(source.count.tolist()):
        found[tuple([column[index] for column in cells])] += count
    return found


def _read_labels(
    original: WrittenTable, source: FrequencySet, labels: Sequence[Sequence[str | None]], with_sensitive: bool
) -> Counter[Cells]:
    """Count the rows of the source by label, from a reading of the file.

    Raises if the readers find other values or another number of rows.
    """
    label_of = [
        {text or None: label for text, label in zip((*dictionary.text, None), column, strict=False)}
        for dictionary, column in zip(source.quasi, labels, strict=True)
    ]
    spellings = source.spellings if with_sensitive else ()
    label_of += [{text or None: text or None for text in (*part.written.text, None)} for part in spellings]
    quasi = [original.columns.index(dictionary.name) for dictionary in source.quasi]
    others = [original.columns.index(part.written.name) for part in spellings]
    counted = count_written_rows(original, quasi, others)
    cells = [read_texts(counted.column(f"c{position}")) for position in (*quasi, *others)]
    if any(not known.keys() >= set(texts) for texts, known in zip(cells, label_of, strict=True)):
        raise TableError("source.read-with-other-values", reader=original.reader)
    found: Counter[Cells] = Counter()
    for texts, rows in zip(zip(*cells, strict=True), counted.column("n").to_pylist(), strict=True):
        found[tuple([known[text] for text, known in zip(texts, label_of, strict=True)])] += rows
    if found.total() != source.rows:
        raise TableError(
            "source.read-with-other-rows", reader=original.reader, found=source.rows, recounted=found.total()
        )
    return found


def require_same_people(original: WrittenTable, source: FrequencySet, schema: Schema) -> None:
    """Raise unless the people of the source have the rows that its file says.

    The file is read anew, and people are told apart by the names in it: as many people must have the same rows as the
    engine has counted. The numbers that the engine gave them are not compared, only who shares one. ``schema`` is that
    of the plan, with all columns that name a person.
    """
    quasi = [original.columns.index(dictionary.name) for dictionary in source.quasi]
    sensitive = [part.name for part in source.sensitive[:-1]]  # the last one are the people
    others = [original.columns.index(name) for name in sensitive]
    people = [original.columns.index(name) for name in schema.person]
    counted = count_written_rows(original, quasi, (*others, *people))
    is_exact = [schema.columns[name].exact for name in sensitive]
    cells = [read_texts(counted.column(f"c{position}")) for position in (*quasi, *others)]
    names = [class_keys(read_texts(counted.column(f"c{position}")), False) for position in people]
    found = _rows_of_people(
        zip(*names, strict=True), _with_classes(cells, len(quasi), is_exact), counted.column("n").to_pylist()
    )
    texts = [[text or None for text in (*dictionary.text, None)] for dictionary in (*source.quasi, *source.sensitive)]
    codes = [*source.codes.T.tolist(), *source.secrets.T.tolist()]
    coded = [[text[code] for code in column] for text, column in zip(texts, codes, strict=True)]
    expected = _rows_of_people(
        ((number,) for number in coded[-1]), _with_classes(coded[:-1], len(quasi), is_exact), source.count.tolist()
    )
    if found != expected:
        raise TableError("source.read-with-other-people", reader=original.reader)


def _with_classes(
    cells: Sequence[Sequence[str | None]], quasi: int, is_exact: Sequence[bool]
) -> list[Sequence[Hashable]]:
    """Replace sensitive values by what their spellings have in common."""
    return [*cells[:quasi], *map(class_keys, cells[quasi:], is_exact)]


def _rows_of_people(
    names: Iterable[tuple[Hashable, ...]], cells: Sequence[Sequence[Hashable]], counts: Sequence[int]
) -> Counter[Rows]:
    """Count the people with each set of rows.

    A row in which a name is missing is a person of its own.
    """
    rows_of: dict[Hashable, Counter[tuple[Hashable, ...]]] = {}
    found: Counter[Rows] = Counter()
    for name, row, count in zip(names, zip(*cells, strict=True), counts, strict=True):
        if None in name:
            found[frozenset([(row, 1)])] += count
        else:
            rows_of.setdefault(name, Counter())[row] += count
    for rows in rows_of.values():
        found[frozenset(rows.items())] += 1
    return found
