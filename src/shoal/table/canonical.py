"""Quasi-identifiers in their canonical form, before anything is counted.

What counts as equal must be equal byte for byte in what is published, in a CSV as in a typed table or a frame, and what
differs there must count as different. Text has the form of :func:`shoal.schema.spelling.canonical`; of the two zeros of
floating point, which every engine holds for equal, the positive one is published; what is not a number is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.io.engines.base import Engine, Relation, Spread
from shoal.schema import Schema
from shoal.schema.spelling import canonical
from shoal.table.frequency_set import Dictionary, encode_column

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["canonical_text", "canonical_text_spread", "one_zero", "two_zeros"]

FLOATS = ("FLOAT", "DOUBLE")
PLAIN_TEXT = "^[!-~]([ -~]*[!-~])?$"
"""Texts that are in canonical form, as most are."""


def _floats(table: Relation, schema: Schema) -> list[int]:
    return [place for place in table.places(schema.quasi_identifiers) if table.types[place] in FLOATS]


def one_zero(engine: Engine, table: Relation, schema: Schema) -> Relation:
    """The table with 0.0 for -0.0 in its quasi-identifiers."""
    places = _floats(table, schema)
    return engine.without_signed_zeros(table, places) if places else table


def two_zeros(engine: Engine, table: Relation, schema: Schema) -> Relation:
    """The table with quasi-identifiers that hold -0.0 as text, so that they count as what a reader sees."""
    places = _floats(table, schema)
    signed = engine.signed_zeros(table, places) if places else []
    return engine.as_text(table, signed) if signed else table


def canonical_text(engine: Engine, table: Relation, dictionaries: Sequence[Dictionary]) -> Relation:
    """The table with its quasi-identifiers, of which these are the values, in canonical form.

    The same relation where they already are; otherwise one join per column that changes.
    """
    import pyarrow as pa

    maps = {}
    for dictionary in dictionaries:
        if not _is_text(dictionary.values) or _is_plain(dictionary.values):
            continue
        labels = [canonical(text) for text in dictionary.text]
        if any(label != text for label, text in zip(labels, dictionary.text, strict=True)):
            maps[dictionary.place] = pa.table({"v": dictionary.values, "label": pa.array(labels, pa.string())})
    return engine.recode_by_level(table, range(len(table.columns)), maps, {}, None) if maps else table


def canonical_text_spread(engine: Engine, table: Relation, counted: Spread, schema: Schema) -> Relation:
    """As :func:`canonical_text`, of a table that no one machine holds.

    The values of a column come here only where one of them is not in canonical form.
    """
    dictionaries = []
    for name, place in zip(schema.quasi_identifiers, table.places(schema.quasi_identifiers), strict=True):
        if table.types[place] == "VARCHAR" and any(counted.gather(_Strange(place))):
            dictionaries.append(encode_column(counted.values(place).column(f"c{place}"), name, place)[0])
    return canonical_text(engine, table, dictionaries)


class _Strange:
    """Whether a part of a table has a text in a column that is not in canonical form."""

    def __init__(self, place: int) -> None:
        self.place = place

    def __call__(self, part: pa.Table) -> bool:
        values = part.column(f"c{self.place}").unique().to_pylist()
        return any(text is not None and canonical(text) != text for text in values)


def _is_plain(values: pa.Array) -> bool:
    """Whether nothing is to be done, told at once: visible signs of ASCII, with blanks between them alone."""
    import pyarrow.compute as pc

    return pc.all(pc.match_substring_regex(values, PLAIN_TEXT)).as_py() is not False


def _is_text(values: pa.Array) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(values.type) or pa.types.is_large_string(values.type))
