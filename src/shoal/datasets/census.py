"""A seeded generator of census-like tables of any size.

The tables have seven quasi-identifiers and an occupation. The columns, their values and rough shares are those of the
well-known Adult extract of the US census. Marital status depends on age, and occupation depends on education and sex,
so that groups are realistically uneven. No row is about a real person.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


QUASI_IDENTIFIERS = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
SENSITIVE = "occupation"
BLOCK = 500_000

_SEX = (("Male", 67), ("Female", 33))
_RACE = (("White", 860), ("Black", 94), ("Asian-Pac-Islander", 30), ("Amer-Indian-Eskimo", 9), ("Other", 7))
_MARITAL = ("Never-married", "Married", "Divorced", "Separated", "Widowed", "Spouse-absent", "Remarried")
_EDUCATION = tuple(
    zip(
        ("HS-grad", "Some-college", "Bachelors", "Masters", "Assoc-voc", "11th", "Assoc-acdm", "10th", "7th-8th",
         "Prof-school", "9th", "12th", "Doctorate", "5th-6th", "1st-4th", "Preschool"),
        (326, 221, 167, 54, 43, 35, 33, 27, 18, 18, 15, 13, 12, 9, 5, 2),
        strict=True,
    )
)  # fmt: skip
_WORK = (
    ("Private", 739), ("Self-emp-not-inc", 83), ("Local-gov", 69), ("State-gov", 42), ("Self-emp-inc", 36),
    ("Federal-gov", 31), ("Without-pay", 1),
)  # fmt: skip
_COUNTRIES = 41
_OCCUPATIONS = (
    "Prof-specialty", "Craft-repair", "Exec-managerial", "Adm-clerical", "Sales", "Other-service", "Machine-op",
    "Transport", "Handlers", "Farming", "Tech-support", "Protective", "House-service", "Armed-forces",
)  # fmt: skip


def census_table(rows: int, seed: int = 0) -> pa.Table:
    """Generate a table in memory.

    >>> census_table(3).num_rows
    3
    """
    import pyarrow as pa

    return pa.concat_tables(_blocks(rows, seed))


def write_census(path: Path, rows: int, seed: int = 0) -> None:
    """Write a generated table as Parquet, in constant memory.

    It is written block by block.
    """
    import pyarrow.parquet as pq

    writer = None
    try:
        for block in _blocks(rows, seed):
            writer = writer or pq.ParquetWriter(path, block.schema)
            writer.write_table(block)
    finally:
        if writer is not None:
            writer.close()


def _blocks(rows: int, seed: int) -> Iterator[pa.Table]:
    # each block has a separate random stream, so that a longer table begins like a shorter one
    for number, start in enumerate(range(0, max(rows, 1), BLOCK)):
        yield _block(min(BLOCK, rows - start), np.random.default_rng([seed, number]))


def _pick(random: np.random.Generator, weights: npt.NDArray[np.float64], rows: int) -> npt.NDArray[np.int64]:
    return np.searchsorted(np.cumsum(weights) / weights.sum(), random.random(rows), side="right")


def _block(rows: int, random: np.random.Generator) -> pa.Table:
    import pyarrow as pa

    def column(codes: npt.NDArray[np.int64], values: tuple[str, ...]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(values)).cast(pa.string())

    def weights(pairs: tuple[tuple[str, int], ...]) -> npt.NDArray[np.float64]:
        return np.asarray([share for _, share in pairs], np.float64)

    def values(pairs: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
        return tuple(value for value, _ in pairs)

    age = np.clip(17 + np.floor(random.gamma(2.6, 8.6, rows)), 17, 90).astype(np.int64)
    sex = _pick(random, weights(_SEX), rows)
    education = _pick(random, weights(_EDUCATION), rows)
    single = np.clip((45 - age) / 30, 0.05, 0.95)
    draw = random.random(rows)
    other = 1 + _pick(random, np.asarray([60.0, 18, 4, 4 + 6, 2, 1]), rows)
    marital = np.where(draw < single, 0, other)
    country = _pick(random, np.r_[912.0, 20.0, 60.0 / np.arange(2, _COUNTRIES)], rows)
    # occupation depends on education and sex: a rotation of the same decreasing shares
    falling = _pick(random, 1.0 / np.arange(1.0, len(_OCCUPATIONS) + 1) ** 0.6, rows)
    occupation = (falling + education // 3 + 2 * sex) % len(_OCCUPATIONS)
    return pa.table(
        {
            "sex": column(sex, values(_SEX)),
            "age": pa.array(age),
            "race": column(_pick(random, weights(_RACE), rows), values(_RACE)),
            "marital-status": column(marital, _MARITAL),
            "education": column(education, values(_EDUCATION)),
            "native-country": column(country, ("United-States", *(f"Country-{c:02d}" for c in range(1, _COUNTRIES)))),
            "workclass": column(_pick(random, weights(_WORK), rows), values(_WORK)),
            "occupation": column(occupation, _OCCUPATIONS),
        }
    )
