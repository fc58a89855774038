"""A seeded generator of linked tables in the shape of OMOP's CDM.

There are five tables: person, visit_occurrence, condition_occurrence, drug_exposure and measurement. The last three
hang on visits. A person has about twenty rows in all, unevenly: one in five is chronically ill, visits often, and
mostly for the same conditions. Codes have chapters, so that they can be generalized: ``E11`` is in chapter ``E``. No
row is about a real person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

CHRONIC_SHARE = 0.2
CODES_PER_CHAPTER = 20
CHAPTERS = "ABCDEFGHIJKLMN"
DRUG_CHAPTERS = "ABCDGHJLMNPRSV"
MEASUREMENTS = 30
FIRST_YEAR, YEARS = 2018, 6
PROVIDERS = 400
ROOT = "person"
LINKS = {
    "visit_occurrence": ("person", "person_id"),
    "condition_occurrence": ("visit_occurrence", "visit_occurrence_id"),
    "drug_exposure": ("visit_occurrence", "visit_occurrence_id"),
    "measurement": ("visit_occurrence", "visit_occurrence_id"),
}
"""The parent of each table, and the column that refers to it."""

Whole = npt.NDArray[np.int64]


def omop_tables(people: int, seed: int = 0) -> dict[str, pa.Table]:
    """Generate the linked tables of some people.

    >>> tables = omop_tables(50)
    >>> sorted(tables)
    ['condition_occurrence', 'drug_exposure', 'measurement', 'person', 'visit_occurrence']
    >>> tables["person"].num_rows
    50
    """
    import pyarrow as pa

    random = np.random.default_rng(seed)
    chronic = random.random(people) < CHRONIC_SHARE
    born = np.clip(random.normal(1968, 22, people).astype(np.int64), 1925, 2017)
    person = pa.table({
        "person_id": np.arange(people) + 1,
        "gender_concept_id": random.choice([8507, 8532], people),
        "year_of_birth": born,
        "race_concept_id": random.choice([8527, 8516, 8515, 0], people, p=[0.75, 0.12, 0.08, 0.05]),
        "location_id": _skewed(random, people, 40),
    })  # fmt: skip
    visits = np.clip(random.lognormal(np.where(chronic, 1.9, 0.9), 0.6), 0, 40).astype(np.int64)
    owner = np.repeat(np.arange(people), visits)
    month = random.integers(0, 12 * YEARS, len(owner))
    visit = pa.table({
        "visit_occurrence_id": np.arange(len(owner)) + 1,
        "person_id": owner + 1,
        "visit_concept_id": random.choice([9202, 9201, 9203], len(owner), p=[0.8, 0.12, 0.08]),
        "visit_start_date": _dates(month, random.integers(1, 29, len(owner))),
        "provider_id": _skewed(random, len(owner), PROVIDERS),
    })  # fmt: skip
    usual = _skewed(random, people, len(CHAPTERS) * CODES_PER_CHAPTER)
    events = {}
    for name, mean, key, codes in (
        ("condition_occurrence", 1.5, "condition", _names(CHAPTERS)),
        ("drug_exposure", 1.2, "drug", _names(DRUG_CHAPTERS)),
        ("measurement", 1.8, "measurement", np.asarray([f"M{number:02d}" for number in range(MEASUREMENTS)])),
    ):
        at = np.repeat(np.arange(len(owner)), random.poisson(mean, len(owner)))
        code = _skewed(random, len(at), len(codes))
        same = chronic[owner[at]] & (random.random(len(at)) < 0.6)
        code = np.where(same, usual[owner[at]] % len(codes), code)
        columns = {
            f"{name}_id": np.arange(len(at)) + 1,
            "person_id": owner[at] + 1,
            "visit_occurrence_id": at + 1,
            f"{key}_source_value": codes[code],
        }
        if key == "measurement":
            columns["value_as_number"] = np.round(random.lognormal(3, 0.5, len(at)), 1)
        events[name] = pa.table(columns)
    return {"person": person, "visit_occurrence": visit, **events}


def _skewed(random: np.random.Generator, count: int, values: int) -> Whole:
    """Draw numbers, of which small ones are far more frequent."""
    weight = 1 / (np.arange(values) + 2.0)
    return random.choice(values, count, p=weight / weight.sum()).astype(np.int64)


def _names(chapters: str) -> npt.NDArray[np.str_]:
    """Return codes, interleaved so that every chapter has frequent ones."""
    return np.asarray([f"{chapter}{number:02d}" for number in range(CODES_PER_CHAPTER) for chapter in chapters])


def _dates(month: Whole, day: Whole) -> pa.Array:
    import pyarrow as pa

    first = np.datetime64(f"{FIRST_YEAR}-01") + month
    return pa.array(first.astype("datetime64[D]") + (day - 1))
