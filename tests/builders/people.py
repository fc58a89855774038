"""Tables with several rows per person."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import shoal
from shoal.schema import Widths


def people_schema(*, pseudonym=False):
    """Schema of the table that ``people_of`` returns."""
    hierarchy = Widths((10, 50))
    return shoal.schema.Schema({
        "family": shoal.Column(shoal.Role.PERSON, pseudonym=pseudonym),
        "member": shoal.Column(shoal.Role.PERSON),
        "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER, hierarchy),
        "height": shoal.Column(shoal.Role.QUASI_IDENTIFIER, hierarchy),
        "illness": shoal.Column(shoal.Role.SENSITIVE),
    })  # fmt: skip


def people_of(rows):
    """Rows of people named by two columns; ten rows belong to no person."""
    random = np.random.default_rng(4)
    family, member = random.integers(0, 20, rows), random.integers(0, 3, rows)
    person = family * 3 + member
    unnamed = np.arange(rows) < 10
    return pa.table(
        {
            "family": pa.array(family, mask=unnamed),
            "member": pa.array([f"m{number}" for number in member]),
            "age": random.integers(20, 60, 60)[person],
            "height": random.integers(150, 190, 60)[person],
            "illness": pa.array([f"i{number}" for number in random.integers(0, 6, rows)]),
        }
    )


def visits(patients=60, seed=1):
    """Visits of patients, each with an illness."""
    random = np.random.default_rng(seed)
    often = random.integers(1, 8, patients)
    person = np.repeat(np.arange(patients), often)
    age, sex = random.integers(20, 60, patients)[person], random.integers(0, 2, patients)[person]
    chronic = random.integers(0, 5, patients)[person]
    illness = np.where(random.random(len(person)) < 0.6, chronic, random.integers(0, 5, len(person)))
    names = np.asarray(["flu", "asthma", "HIV", "cancer", "cough"])
    return pa.table(
        {
            "patient": pa.array([f"P{number:03}" for number in person]),
            "age": pa.array(age),
            "sex": pa.array(np.asarray(["f", "m"])[sex]),
            "illness": pa.array(names[illness]),
            "remark": pa.array(["-"] * len(person)),
        }
    )
