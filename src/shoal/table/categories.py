"""Publication of sensitivity categories, with or without the values.

Values are replaced before any other step, so that models, methods, the release and its verification all refer to the
published table: p distinct values of it are p distinct categories. Where both are published, the category is one more
column: a function of the published value, so that it discloses nothing beyond it. The models refer to the value.

Sun, Wang, Truta, Li and Li, "(p+, α)-sensitive k-anonymity: a new enhanced privacy protection model", 2008, section 3
and Table 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shoal.errors import ShoalError, VerificationError
from shoal.io.engines.base import Engine, Relation, require_columns
from shoal.schema import Column, Schema

if TYPE_CHECKING:
    import pyarrow as pa


def publish_categories(engine: Engine, table: Relation, schema: Schema) -> Relation:
    """Replace values by categories in the columns that publish only them.

    Missing values remain missing. Costs one count of each such column. Raises if a value is in no category.
    """
    names = {name: name for name in schema.sensitive if schema.columns[name].publish == "categories"}
    return _replace_values(engine, table, schema, names)


def add_categories(engine: Engine, table: Relation, schema: Schema) -> Relation:
    """Add the columns of categories, once the values are final.

    The costs and the treatment of values are those of :func:`publish_categories`.
    """
    added = schema.category_columns
    if added:
        table = engine.duplicate(table, table.positions(tuple(added)), tuple(added.values()))
    return _replace_values(engine, table, schema, added)


def _replace_values(engine: Engine, table: Relation, schema: Schema, names: Mapping[str, str]) -> Relation:
    """Replace values by categories.

    ``names`` has the column of each sensitive one.
    """
    if not names:
        return table
    positions = dict(zip(names, table.positions(tuple(names.values())), strict=True))
    maps = {
        position: _labels(engine, table, position, name, schema.columns[name]) for name, position in positions.items()
    }
    return engine.recode_by_level(table, range(len(table.columns)), maps, {}, None)


def _labels(engine: Engine, table: Relation, position: int, name: str, column: Column) -> pa.Table:
    """Return the category of each value in a column, as a table (v, label)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.drop_null(engine.frequencies(table, (position,)).column(f"c{position}").combine_chunks())
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    labels = _categories(pc.cast(values, pa.string()).to_pylist(), name, column)
    return pa.table({"v": values, "label": pa.array(labels, pa.string())})


def _categories(texts: list[str], name: str, column: Column) -> list[str | None]:
    """Return the published category of each value; None if it is missing."""
    assert column.categories is not None
    known = [text for text in texts if column.key(text) is not None]
    found = dict(zip(known, column.categories.bind(known, name, column.key).tolist(), strict=True))
    return [column.categories.name(found[text]) if text in found else None for text in texts]


def _key(column: Column, category: str | None) -> str | None:
    return None if category is None else column.key(category)


def require_categories(
    engine: Engine, released: Relation, schema: Schema, fault: type[ShoalError] = VerificationError
) -> None:
    """Raise unless added columns have the category of each released value.

    Costs one count of each pair of columns.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, added in schema.category_columns.items():
        require_columns(released, (name, added))
        positions = released.positions((name, added))
        pairs, column = engine.frequencies(released, positions), schema.columns[name]
        values, found = (pc.cast(pairs.column(f"c{at}"), pa.string()).to_pylist() for at in positions)
        known = [value for value in values if value is not None]
        wanted = dict(zip(known, _categories(known, name, column), strict=True))
        wrong = sum(
            _key(column, category) != _key(column, wanted.get(value))
            for value, category in zip(values, found, strict=True)
        )
        if wrong:
            raise fault("columns.category-differs", column=added, found=wrong)
