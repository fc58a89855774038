"""A seeded generator of visits to a hospital: several rows per patient, from one to sixty.

Most patients come a few times with something acute. One in four has a chronic condition, comes often, and mostly with
it; how often is uneven, as in life. Sex, year of birth and region are those of the patient; month, department and
condition are those of the visit. On average there are about four visits per patient. Nothing in it is about a real
person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CHRONIC_PART", "MOST_VISITS", "QUASI_IDENTIFIERS", "SENSITIVE", "visits_table"]

QUASI_IDENTIFIERS = ("sex", "birth_year", "region", "month", "department")
SENSITIVE = "condition"
MOST_VISITS = 60
CHRONIC_PART = 0.25
BLOCK = 100_000

_CHRONIC = ("diabetes", "asthma", "HIV", "cancer", "epilepsy", "hepatitis", "depression", "arthritis")
_ACUTE = ("flu", "fracture", "burn", "migraine", "gastritis", "pneumonia", "sprain", "allergy", "otitis", "anxiety")
_DEPARTMENTS = ("internal", "surgery", "emergency", "neurology", "oncology", "psychiatry")
_DEPARTMENT_OF = {
    "cancer": 4, "epilepsy": 3, "depression": 5, "fracture": 1, "burn": 2, "migraine": 3, "sprain": 2, "anxiety": 5,
}  # fmt: skip
_REGIONS = 40
_FIRST_MONTH, _MONTHS = 2019 * 12, 60


def visits_table(people: int, seed: int = 0) -> pa.Table:
    """The visits of so many patients, in an order that does not tell whose they are.

    >>> visits = visits_table(100)
    >>> len(set(visits.column("patient").to_pylist()))
    100
    """
    import pyarrow as pa

    # each block has a stream of its own, so that a longer table has the patients of a shorter one
    blocks = [
        _block(first, min(BLOCK, people - first), np.random.default_rng([seed, number]))
        for number, first in enumerate(range(0, max(people, 1), BLOCK))
    ]
    return pa.concat_tables(blocks).combine_chunks()


def _block(first: int, people: int, random: np.random.Generator) -> pa.Table:
    import pyarrow as pa

    chronic = random.random(people) < CHRONIC_PART
    often = np.where(chronic, random.lognormal(1.9, 0.8, people), random.lognormal(0.62, 0.75, people))
    number = np.clip(often.astype(np.int64), 1, MOST_VISITS)
    who = np.repeat(np.arange(people), number)
    who = who[random.permutation(len(who))]
    own = _uneven(random, len(_CHRONIC), people)
    with_own = chronic[who] & (random.random(len(who)) < 0.8)
    condition = np.where(with_own, own[who], len(_CHRONIC) + _uneven(random, len(_ACUTE), len(who)))
    names = np.asarray(_CHRONIC + _ACUTE)
    usual = np.asarray([_DEPARTMENT_OF.get(name, 0) for name in names])[condition]
    elsewhere = random.random(len(who)) < 0.15
    department = np.where(elsewhere, random.integers(0, len(_DEPARTMENTS), len(who)), usual)
    month = _FIRST_MONTH + random.integers(0, _MONTHS, people)[who] + random.geometric(0.15, len(who)) - 1
    month = np.minimum(month, _FIRST_MONTH + _MONTHS - 1)
    birth = np.clip(random.normal(np.where(chronic, 1960, 1978), 18, people), 1925, 2019).astype(np.int64)
    regions = np.asarray([f"{100 + 7 * number}" for number in range(_REGIONS)])
    patient = [f"P{first + one:07}" for one in range(people)]
    return pa.table(
        {
            "patient": pa.array(np.asarray(patient)[who]),
            "sex": pa.array(np.asarray(["female", "male"])[random.integers(0, 2, people)][who]),
            "birth_year": pa.array(birth[who]),
            "region": pa.array(regions[_uneven(random, _REGIONS, people)][who]),
            "month": pa.array(np.asarray(_dates())[month - _FIRST_MONTH]),
            "department": pa.array(np.asarray(_DEPARTMENTS)[department]),
            "condition": pa.array(names[condition]),
        }
    )


def _dates() -> list[str]:
    """The first days of the months."""
    return [f"{month // 12}-{month % 12 + 1:02}-01" for month in range(_FIRST_MONTH, _FIRST_MONTH + _MONTHS)]


def _uneven(random: np.random.Generator, kinds: int, rows: int) -> npt.NDArray[np.int64]:
    """Numbers below ``kinds``, the first ones more often."""
    weight = 1 / (1 + np.arange(kinds))
    return np.searchsorted(np.cumsum(weight) / weight.sum(), random.random(rows), side="right")
