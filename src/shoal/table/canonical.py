"""Quasi-identifiers in canonical form, before anything is counted.

Values that count as equal must be equal byte for byte in the published CSV, typed table or frame, and values that
differ there must count as different. Text has the form of :func:`shoal.schema.spelling.canonical`. Of the two zeros of
floating point, which every engine treats as equal, the positive one is published. NaN is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.io.engines.base import DistributedTable, Engine, Relation
from shoal.schema import Schema
from shoal.schema.spelling import canonical
from shoal.table.frequency_set import Dictionary, encode_column

if TYPE_CHECKING:
    import pyarrow as pa

FLOATS = ("FLOAT", "DOUBLE")
PLAIN_TEXT = "^[!-~]([ -~]*[!-~])?$"
"""Texts that are already in canonical form, as most are."""


def _floats(table: Relation, schema: Schema) -> list[int]:
    return [position for position in table.positions(schema.quasi_identifiers) if table.types[position] in FLOATS]


def normalize_negative_zero(engine: Engine, table: Relation, schema: Schema) -> Relation:
    """Replace -0.0 by 0.0 in the quasi-identifiers."""
    positions = _floats(table, schema)
    return engine.without_signed_zeros(table, positions) if positions else table


def negative_zero_as_text(engine: Engine, table: Relation, schema: Schema) -> Relation:
    """Convert quasi-identifiers that contain -0.0 to text.

    They are then counted by their written form.
    """
    positions = _floats(table, schema)
    signed = engine.signed_zeros(table, positions) if positions else []
    return engine.as_text(table, signed) if signed else table


def canonical_text(engine: Engine, table: Relation, dictionaries: Sequence[Dictionary]) -> Relation:
    """Convert the quasi-identifiers, with these values, to canonical form.

    Return the same relation if they already are; otherwise the cost is one join per column that changes.
    """
    import pyarrow as pa

    maps = {}
    for dictionary in dictionaries:
        if not _is_text(dictionary.values) or _is_plain(dictionary.values):
            continue
        labels = [canonical(text) for text in dictionary.text]
        if any(label != text for label, text in zip(labels, dictionary.text, strict=True)):
            maps[dictionary.position] = pa.table({"v": dictionary.values, "label": pa.array(labels, pa.string())})
    return engine.recode_by_level(table, range(len(table.columns)), maps, {}, None) if maps else table


def canonical_text_distributed(engine: Engine, table: Relation, counted: DistributedTable, schema: Schema) -> Relation:
    """Apply :func:`canonical_text` to a distributed table.

    The values of a column are collected only if one of them is not in canonical form.
    """
    dictionaries = []
    for name, position in zip(schema.quasi_identifiers, table.positions(schema.quasi_identifiers), strict=True):
        if table.types[position] == "VARCHAR" and any(counted.gather(_HasNoncanonicalText(position))):
            dictionaries.append(encode_column(counted.values(position).column(f"c{position}"), name, position)[0])
    return canonical_text(engine, table, dictionaries)


class _HasNoncanonicalText:
    """Test whether a partition has a text that is not in canonical form."""

    def __init__(self, position: int) -> None:
        self.position = position

    def __call__(self, part: pa.Table) -> bool:
        values = part.column(f"c{self.position}").unique().to_pylist()
        return any(text is not None and canonical(text) != text for text in values)


def _is_plain(values: pa.Array) -> bool:
    """Return whether all values are plain ASCII and need no conversion.

    Plain means visible ASCII characters, with blanks only between them. The test is one vectorized match.
    """
    import pyarrow.compute as pc

    return pc.all(pc.match_substring_regex(values, PLAIN_TEXT)).as_py() is not False


def _is_text(values: pa.Array) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))
