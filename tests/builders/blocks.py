"""Models and a table for microaggregation in blocks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import shoal
from shoal.schema import Column, Role, Schema, Tree
from tests.reference import models as slow_models

MODELS = {
    "k": ((shoal.models.KAnonymity(3),), lambda group, groups: True),
    "p": (
        (shoal.models.KAnonymity(3), shoal.models.PSensitive(2)),
        lambda group, groups: slow_models.p_sensitive(group, 2),
    ),
    "entropy l": (
        (shoal.models.KAnonymity(3), shoal.models.LDiversity(1.5, "entropy")),
        lambda group, groups: slow_models.entropy_diverse(group, 1.5),
    ),
    "t": (
        (shoal.models.KAnonymity(3), shoal.models.TCloseness(0.45)),
        lambda group, groups: (
            slow_models.t_distance(group, groups, slow_models.equal_cost) <= slow_models.Fraction("0.45")
        ),
    ),
}


def mixed_table(rows, seed, skewed=False):
    """Numbers with ties and gaps, a place in a hierarchy, and a secret.

    The secret may follow the numbers. Notes name the rows.
    """
    random = np.random.default_rng(seed)
    x = random.normal(size=rows).round(1) + 0.0  # no negative zeros
    secret = random.choice(list("abcd"), rows, p=[0.5, 0.3, 0.1, 0.1])
    if skewed:
        secret = np.where(x < 0.5, "a", secret)
    gaps = random.random(rows) < 0.1
    return pa.table(
        {
            "x": pa.array([None if gap else value for gap, value in zip(gaps, x.tolist(), strict=True)]),
            "y": random.integers(0, 30, rows),
            "place": random.choice(list("pqrs"), rows),
            "secret": pa.array([None if i % 17 == 0 else s for i, s in enumerate(secret.tolist())]),
            "note": [f"note {i}" for i in range(rows)],
        }
    )


SCHEMA = Schema(
    {
        "x": Column(Role.QUASI_IDENTIFIER),
        "y": Column(Role.QUASI_IDENTIFIER),
        "place": Column(Role.QUASI_IDENTIFIER, Tree({"north": ["p", "q"], "south": ["r", "s"]})),
        "secret": Column(Role.SENSITIVE),
        "note": Column(Role.OTHER),
    }
)
