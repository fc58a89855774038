"""Count the rows of the original by their labels in a release.

Releases are compared with the original where people are looked up in it: for partial knowledge, where a label may stand
for any value, and for pattern sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shoal.errors import TableError
from shoal.table import FrequencySet
from shoal.verification.independent import WrittenTable, count_written_rows, read_texts

Cells = tuple[str | None, ...]


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
