"""Verify a set of overlapping patterns before it is written.

The groups are patterns and the rows are records of the source. Matching records are counted twice: by the codes of the
search, and by the labels of written patterns and of the original, both read again where they are files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.errors import VerificationError
from shoal.io.engines.base import Engine, Relation
from shoal.models import AllOf
from shoal.risk.patterns import WILDCARD_CODE, PatternExposure, expose_patterns
from shoal.schema import TOP, Ladder, Schema
from shoal.table import ByPattern, FrequencySet
from shoal.table.groups import group_keys
from shoal.verification.check import CheckResult, ModelVerdict
from shoal.verification.independent import (
    ENGINE,
    CountedPattern,
    IndependentTable,
    WrittenTable,
    count_patterns,
    count_written_rows,
    read_texts,
)
from shoal.verification.original import count_source_labels
from shoal.verification.written_texts import spell_as_written

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class PatternCheck(CheckResult):
    """Result for overlapping patterns: groups are patterns, rows are records.

    The rows are the records that match at least one pattern.
    """

    least: int
    exposure: PatternExposure

    @property
    def risk(self) -> dict[str, float]:
        """Disclosure by the patterns and by subtracting their supports.

        The highest risk is one over the smallest set of records that the supports can single out.
        """
        exposure = self.exposure
        return {
            "highest": 1 / int(exposure.cells.min()),
            "average": len(exposure.cells) / exposure.fitting,
            "records_in_cells_below_k": int(exposure.cells[exposure.cells < self.least].sum()),
            "patterns_below_k_own_records": int((exposure.own < self.least).sum()),
            "patterns_without_own_records": int((exposure.own == 0).sum()),
            "disclosed_records": exposure.disclosed,
        }


def verify_patterns(
    engine: Engine,
    released: Relation,
    source: FrequencySet,
    ladders: Sequence[Ladder],
    recoding: ByPattern,
    schema: Schema,
    model: AllOf,
    written: IndependentTable | None = None,
    original: WrittenTable | None = None,
) -> PatternCheck:
    """Verify a pattern set before it is written.

    At least as many records of the source must match each pattern as its support says, and at least k.

    The verification starts from the published table and the source. It asserts nothing else about the set, but measures
    what it discloses. In a CSV, empty text and missing values look the same, and so do a value `*` and a hidden value:
    both are read as a reader has to read them.

    ``written`` is the file of the set, or the frame that is handed back, and ``original`` the file of the source: the
    independent count reads both anew. Without them, it uses the engine's reading.
    """
    least = max(getattr(part, "k", 1) for part in model.parts)
    table = engine.to_arrow(released)
    codes, patterns = [], []
    for j, (dictionary, ladder, level) in enumerate(zip(source.quasi, ladders, recoding.levels, strict=True)):
        labels = ladder.labels[level]
        code_of, by_code = _same_text(labels)
        codes.append(by_code[ladder.codes[level][source.codes[:, j]]])
        code_of = {**code_of, TOP: WILDCARD_CODE}
        patterns.append([code_of.get(text, len(labels)) for text in _column_text(table, dictionary.name)])
    secrets, pattern_secrets = [], []
    for s, dictionary in enumerate(source.sensitive):
        class_texts = _column_text(table, dictionary.name)
        code_of, by_code = _same_text(spell_as_written((*dictionary.text, None), dictionary.values.type, class_texts))
        secrets.append(by_code[source.secrets[:, s]])  # -1, missing, is the last
        pattern_secrets.append([code_of.get(text, -1) for text in class_texts])
    rows, size = len(source.count), table.num_rows
    both = np.concatenate([_stack(secrets, rows), _stack(pattern_secrets, size)]) + 1
    classes, _ = group_keys(both, (both.max(axis=0, initial=0) + 1).tolist())
    stacked = _stack(codes, rows), _stack(patterns, size)
    exposure = expose_patterns(stacked[0], classes[:rows], source.count, stacked[1], classes[rows:])
    support = np.asarray([int(text or 0) for text in _column_text(table, recoding.support)], np.int64)
    bad = (support < least) | (support > exposure.support)
    if bad.any() or not size or exposure.fitting != recoding.count.sum():
        raise VerificationError(
            "verification.patterns-without-records",
            patterns=size,
            failing=int(bad.sum()),
            least=least,
            found=exposure.fitting,
            expected=int(recoding.count.sum()),
        )
    labels_of_patterns = zip(*(_column_text(table, dictionary.name) for dictionary in source.quasi), strict=True)
    found = Counter(zip(labels_of_patterns, support.tolist(), exposure.support.tolist(), strict=True))
    recounted = _count_again(engine, released, source, ladders, recoding, schema, written, original)
    if recounted != (found, exposure.fitting):
        raise VerificationError("verification.pattern-counts-differ", patterns=size)
    smallest = int(support.min())
    verdict = ModelVerdict("pattern-support", {"k": least}, True, {"k": smallest}, 0, 0)
    return PatternCheck(
        exposure.fitting,
        size,
        smallest,
        (verdict,),
        0,
        0,
        reading=ENGINE if written is None else written.reader,
        original_reading=ENGINE if original is None else original.reader,
        least=least,
        exposure=exposure,
    )


def _count_again(
    engine: Engine,
    released: Relation,
    source: FrequencySet,
    ladders: Sequence[Ladder],
    recoding: ByPattern,
    schema: Schema,
    written: IndependentTable | None,
    original: WrittenTable | None,
) -> tuple[Counter[CountedPattern], int]:
    """Count the records that match each pattern, and any, independently."""
    quasi = released.positions([dictionary.name for dictionary in source.quasi])
    sensitive = released.positions([dictionary.name for dictionary in source.sensitive])
    (support,) = released.positions((recoding.support,))
    if written is None:
        counted = engine.frequencies(released, (*quasi, *sensitive, support))
    else:
        counted = count_written_rows(written, quasi, (*sensitive, support))
    labels = [
        [ladder.labels[level][code] for code in ladder.codes[level].tolist()]
        for ladder, level in zip(ladders, recoding.levels, strict=True)
    ]
    classes = [
        spell_as_written((*dictionary.text, None), dictionary.values.type, read_texts(counted.column(f"c{position}")))
        for dictionary, position in zip(source.sensitive, sensitive, strict=True)
    ]
    records = count_source_labels(source, labels, original, classes)
    is_exact = [schema.columns[dictionary.name].exact for dictionary in source.sensitive]
    return count_patterns(counted, records, quasi, dict(zip(sensitive, is_exact, strict=True)), support, TOP)


def _column_text(table: pa.Table, name: str) -> list[str | None]:
    """Return a column of an Arrow table as text; empty text is missing."""
    import pyarrow as pa

    return [text or None for text in table.column(name).cast(pa.string()).to_pylist()]


def _same_text(labels: Sequence[str | None]) -> tuple[dict[str | None, int], npt.NDArray[np.int32]]:
    """Number texts: the code of each text, and for each label its text's code.

    Empty and missing text share a code.
    """
    code_of: dict[str | None, int] = {}
    return code_of, np.asarray([code_of.setdefault(label or None, len(code_of)) for label in labels], np.int32)


def _stack(columns: Sequence[Any], rows: int) -> npt.NDArray[np.int32]:
    return np.stack(columns, axis=1).astype(np.int32) if columns else np.zeros((rows, 0), np.int32)
