"""Publication of coarser values, and of values that no hierarchy covers.

Sensitive and other columns publish the labels of a level of their hierarchy where the plan says so. Values that a
hierarchy does not cover are hidden, taken for missing, or their rows left out, as the plan says. Both happen before any
other step, so that models, methods, the release and its verification all refer to the published table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import PlanError
from shoal.io.engines.base import Engine, Relation
from shoal.schema import TOP, Column, Role, Schema
from shoal.schema.bound_hierarchy import MissingFromHierarchy

COARSENED_ROLES = (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.OTHER)


def publish_coarser_values(engine: Engine, table: Relation, schema: Schema) -> tuple[Relation, int]:
    """Replace values by labels of their level, and treat unmatched values.

    Returns the table and the number of rows left out. Costs one count of each column that the plan says something
    about.
    """
    import pyarrow as pa

    maps: dict[int, Any] = {}
    suppressed: dict[int, list[Any]] = {}
    for name, column in schema.columns.items():
        if column.role not in COARSENED_ROLES or (column.levels is None and column.unmatched == "error"):
            continue
        (position,) = table.positions((name,))
        values, texts = _values(engine, table, position)
        unmatched = _unmatched(column, texts, name)
        if unmatched and column.unmatched == "suppress":
            suppressed[position] = [v for v, text in zip(values.to_pylist(), texts, strict=True) if text in unmatched]
        if column.levels is None and (not unmatched or column.unmatched == "suppress"):
            continue
        labels = _labels(column, texts, unmatched, name)
        maps[position] = pa.table({"v": values, "label": pa.array(labels, pa.string())})
    rows_left_out = 0
    for position, left_out in suppressed.items():
        counted = engine.frequencies(table, (position,))
        values, count = counted.column(f"c{position}").to_pylist(), counted.column("n").to_pylist()
        rows_left_out += sum(n for value, n in zip(values, count, strict=True) if value in left_out)
        kind = counted.column(f"c{position}").type
        dropped = pa.array(left_out, kind.value_type if pa.types.is_dictionary(kind) else kind)
        dropped_rows = pa.table({f"c{position}": dropped})
        table = engine.recode_by_level(table, range(len(table.columns)), {}, {}, dropped_rows)
    if maps:
        table = engine.recode_by_level(table, range(len(table.columns)), maps, {}, None)
    return table, rows_left_out


def _values(engine: Engine, table: Relation, position: int) -> tuple[Any, list[str]]:
    """Return the values of a column that are not missing, and their texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.drop_null(engine.frequencies(table, (position,)).column(f"c{position}").combine_chunks())
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values)))
    return values, pc.cast(values, pa.string()).to_pylist()


def _unmatched(column: Column, texts: Sequence[str], name: str) -> frozenset[str]:
    """Return the values that the hierarchy does not cover, or raise."""
    assert column.hierarchy is not None
    if not texts:
        return frozenset()
    try:
        column.hierarchy.bind(texts, False, column=name)
    except MissingFromHierarchy as error:
        if column.unmatched == "error":
            raise
        return frozenset(error.lacking)
    return frozenset()


def _labels(column: Column, texts: Sequence[str], unmatched: frozenset[str], name: str) -> list[str | None]:
    """Return the published label of each value."""
    assert column.hierarchy is not None
    known = [text for text in texts if text not in unmatched]
    found: dict[str, str | None] = dict(zip(known, known, strict=True))
    if column.levels is not None and known:
        bound = column.hierarchy.bind(known, False, column=name)
        if column.levels > bound.height:
            raise PlanError("columns.level-too-high", column=name, level=column.levels, height=bound.height)
        found = {
            text: bound.labels[column.levels][code]
            for text, code in zip(known, bound.codes[column.levels], strict=True)
        }
    hidden = None if column.unmatched == "missing" else TOP
    return [found.get(text, hidden) for text in texts]
