"""Publication of sensitivity categories instead of sensitive values.

The values are replaced before any other step, so that models, methods, the release and its verification all refer to
the published table: p distinct values of it are p distinct categories.

Sun, Wang, Truta, Li and Li, "(p+, α)-sensitive k-anonymity: a new enhanced privacy protection model", 2008, section 3.
"""

from __future__ import annotations

from shoal.io.engines.base import Engine, Relation
from shoal.schema import Schema


def publish_categories(engine: Engine, table: Relation, schema: Schema) -> Relation:
    """Replace values by categories in the columns that publish them.

    Missing values remain missing. Costs one count of each such column. Raises if a value is in no category.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    maps = {}
    for name in schema.sensitive:
        column = schema.columns[name]
        if column.publish == "values" or column.categories is None:
            continue
        (position,) = table.positions((name,))
        values = pc.drop_null(engine.frequencies(table, (position,)).column(f"c{position}").combine_chunks())
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        texts = pc.cast(values, pa.string()).to_pylist()
        known = [text for text in texts if column.key(text) is not None]
        found = dict(zip(known, column.categories.bind(known, name, column.key).tolist(), strict=True))
        labels = [column.categories.name(found[text]) if text in found else None for text in texts]
        maps[position] = pa.table({"v": values, "label": pa.array(labels, pa.string())})
    if not maps:
        return table
    return engine.recode_by_level(table, range(len(table.columns)), maps, {}, None)
