"""A seeded generator of hospital visits, one to sixty per patient.

A typical patient has a small number of visits for acute conditions. One in four has a chronic condition, visits often,
and usually for that condition; the number of visits is realistically uneven. Sex, year of birth and region belong to
the patient; month, department and condition belong to the visit. There are about four visits per patient on average.
No row is about a real person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


QUASI_IDENTIFIERS = ("sex", "birth_year", "region", "month", "department")
SENSITIVE = "condition"
MAX_VISITS = 60
CHRONIC_SHARE = 0.25
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
    """Generate the visits of some patients, in random order.

    >>> visits = visits_table(100)
    >>> len(set(visits.column("patient").to_pylist()))
    100
    """
    import pyarrow as pa

    # each block has a separate random stream, so that a longer table has the patients of a shorter one
    blocks = [
        _block(first, min(BLOCK, people - first), np.random.default_rng([seed, number]))
        for number, first in enumerate(range(0, max(people, 1), BLOCK))
    ]
    return pa.concat_tables(blocks).combine_chunks()


def _block(first: int, people: int, random: np.random.Generator) -> pa.Table:
    import pyarrow as pa

    chronic = random.random(people) < CHRONIC_SHARE
    frequency = np.where(chronic, random.lognormal(1.9, 0.8, people), random.lognormal(0.62, 0.75, people))
    number = np.clip(frequency.astype(np.int64), 1, MAX_VISITS)
    person = np.repeat(np.arange(people), number)
    person = person[random.permutation(len(person))]
    own = _uneven(random, len(_CHRONIC), people)
    with_own = chronic[person] & (random.random(len(person)) < 0.8)
    condition = np.where(with_own, own[person], len(_CHRONIC) + _uneven(random, len(_ACUTE), len(person)))
    names = np.asarray(_CHRONIC + _ACUTE)
    usual = np.asarray([_DEPARTMENT_OF.get(name, 0) for name in names])[condition]
    elsewhere = random.random(len(person)) < 0.15
    department = np.where(elsewhere, random.integers(0, len(_DEPARTMENTS), len(person)), usual)
    month = _FIRST_MONTH + random.integers(0, _MONTHS, people)[person] + random.geometric(0.15, len(person)) - 1
    month = np.minimum(month, _FIRST_MONTH + _MONTHS - 1)
    birth = np.clip(random.normal(np.where(chronic, 1960, 1978), 18, people), 1925, 2019).astype(np.int64)
    regions = np.asarray([f"{100 + 7 * number}" for number in range(_REGIONS)])
    patient = [f"P{first + one:07}" for one in range(people)]
    return pa.table(
        {
            "patient": pa.array(np.asarray(patient)[person]),
            "sex": pa.array(np.asarray(["female", "male"])[random.integers(0, 2, people)][person]),
            "birth_year": pa.array(birth[person]),
            "region": pa.array(regions[_uneven(random, _REGIONS, people)][person]),
            "month": pa.array(np.asarray(_dates())[month - _FIRST_MONTH]),
            "department": pa.array(np.asarray(_DEPARTMENTS)[department]),
            "condition": pa.array(names[condition]),
        }
    )


def _dates() -> list[str]:
    """Return the first days of the months."""
    return [f"{month // 12}-{month % 12 + 1:02}-01" for month in range(_FIRST_MONTH, _FIRST_MONTH + _MONTHS)]


def _uneven(random: np.random.Generator, kinds: int, rows: int) -> npt.NDArray[np.int64]:
    """Draw numbers below ``kinds``; smaller ones are more frequent."""
    weight = 1 / (1 + np.arange(kinds))
    return np.searchsorted(np.cumsum(weight) / weight.sum(), random.random(rows), side="right")
