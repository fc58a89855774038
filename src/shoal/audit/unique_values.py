"""Rows that a single published column singles out."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from shoal.io.engines import open_engine
from shoal.io.engines.base import EngineSettings, Source


def count_unique_values(table: Source, columns: Sequence[str], engine: EngineSettings | None = None) -> dict[str, int]:
    """Count the rows with a value of their own, for each column.

    A missing value is no value that somebody could know.
    """
    found = {}
    with open_engine(engine, time_zone=table.time_zone) as opened:
        relation = opened.cache(opened.read(table))
        for position, name in enumerate(relation.columns):
            if name in columns:
                counted = opened.frequencies(relation, [position])
                alone = pc.and_(pc.equal(counted.column("n"), 1), pc.is_valid(counted.column(0)))
                found[name] = int(pc.sum(alone).as_py() or 0)
    return found
