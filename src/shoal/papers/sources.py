"""Data sets of the papers, read from the folder SHOAL_DATA.

SHOAL_DATA is an environment variable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoal.datasets.patients import CATEGORIES
from shoal.papers.adult_hierarchies import HIERARCHIES
from shoal.schema import Column, Hierarchy, Role, Schema, read_table

if TYPE_CHECKING:
    import pyarrow as pa


MISSING_DATA_MESSAGE = (
    "Needs {origin}. This is not part of shoal. Put it into a folder, and name the folder in SHOAL_DATA."
)
ORIGINS = {
    "adult": "the files adult.data and adult.test of the UCI Machine Learning Repository",
    "hierarchies": "ARX's hierarchies of Adult as adult/hierarchies/arx/*.csv (they come with ARX's examples)",
    "census": "the CASC Census reference file as casc/census.csv (it comes with the R package sdcMicro)",
}
ADULT_COLUMNS = {
    "age": 0, "workclass": 1, "education": 3, "native-country": 13, "marital-status": 5, "race": 8, "sex": 9,
}  # fmt: skip
"""The quasi-identifiers in the order of Table 9 of the (p, α) paper, with their column numbers in the file."""


def data_folder() -> Path | None:
    """Return the folder of real data sets, or None."""
    folder = os.environ.get("SHOAL_DATA")
    return Path(folder) if folder and Path(folder).is_dir() else None


def missing_data(what: str) -> str:
    """Return the message for a data set that is not available."""
    return MISSING_DATA_MESSAGE.format(origin=ORIGINS[what])


def adult_file(name: str) -> Path | None:
    """Return a file of Adult, in the folder itself or in adult/, or None."""
    folder = data_folder()
    homes = () if folder is None else (folder / "adult", folder)
    return next((home / name for home in homes if (home / name).is_file()), None)


def adult(files: tuple[str, ...] = ("adult.data", "adult.test")) -> pa.Table | None:
    """Return the complete records of Adult, or None without its files.

    Both files have 45,222 of them.
    """
    import pyarrow as pa

    paths = [path for path in map(adult_file, files) if path is not None]
    if len(paths) < len(files):
        return None
    rows = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) == 15 and "?" not in cells:
                rows.append(cells)
    return pa.table({name: [row[index] for row in rows] for name, index in ADULT_COLUMNS.items()})


def with_condition(table: pa.Table, seed: int) -> pa.Table:
    """Add a health condition, drawn uniformly from the eight of the papers.

    The experiments of the papers do the same.
    """
    import pyarrow as pa

    values = [value for category in CATEGORIES.classes for value in category]
    draw = np.random.default_rng(seed).integers(0, len(values), table.num_rows)
    return table.append_column("condition", pa.array([values[code] for code in draw]))


def adult_schema(columns: tuple[str, ...] = tuple(ADULT_COLUMNS)) -> Schema:
    """Return the quasi-identifiers of Adult with the papers' heights.

    The condition is sensitive.
    """
    return _with_hierarchies({name: HIERARCHIES[name] for name in columns})


def arx_schema() -> Schema | None:
    """Return the same with ARX's hierarchies, or None without their files."""
    folder = data_folder()
    paths = {} if folder is None else {name: folder / "adult/hierarchies/arx" / f"{name}.csv" for name in ADULT_COLUMNS}
    if not paths or not all(path.is_file() for path in paths.values()):
        return None
    return _with_hierarchies({name: read_table(path) for name, path in paths.items()})


def _with_hierarchies(hierarchies: Mapping[str, Hierarchy]) -> Schema:
    quasi = {name: Column(Role.QUASI_IDENTIFIER, hierarchy) for name, hierarchy in hierarchies.items()}
    return Schema(quasi | {"condition": Column(Role.SENSITIVE, categories=CATEGORIES)})


def census() -> pa.Table | None:
    """Return the CASC Census table, or None without its file.

    It has six key attributes, and three confidential ones cut into 15 categories of equal width.
    """
    import pyarrow as pa
    import pyarrow.csv

    folder = data_folder()
    if folder is None or not (folder / "casc" / "census.csv").exists():
        return None
    table = pyarrow.csv.read_csv(folder / "casc" / "census.csv")
    columns = {name: table[name] for name in table.column_names[:6]}
    for name in table.column_names[6:9]:
        values = table[name].to_numpy().astype(float)
        cut = np.minimum((values - values.min()) / (values.max() - values.min()) * 15, 14).astype(int)
        columns[name] = pa.array(cut.astype(str))
    return pa.table(columns)
