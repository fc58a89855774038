"""People of five towns, for releases of grids."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.schema import Column, Role, Schema, Tree, Widths

AREAS = {"north": ["Ayr", "Bute"], "south": ["Cove", "Dell", "Esk"]}
SCHEMA = Schema(
    {
        "name": Column(Role.IDENTIFIER),
        "age": Column(Role.QUASI_IDENTIFIER, Widths((10, 20))),
        "town": Column(Role.QUASI_IDENTIFIER, Tree(AREAS)),
    }
)


def people(rows: int, seed: int = 1) -> pa.Table:
    """Random people of the towns."""
    random = np.random.default_rng(seed)
    towns = [town for area in AREAS.values() for town in area]
    return pa.table(
        {
            "name": [f"person {row}" for row in range(rows)],
            "age": random.integers(18, 80, rows),
            "town": [towns[index] for index in random.integers(0, 5, rows)],
        }
    )
