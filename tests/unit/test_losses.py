"""Losses of a certificate, recomputed from original and released rows."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InfeasibleError
from shoal.utility.loss import weighted_sums

COUNTRIES = {"America": ["USA", "Canada"], "Asia": ["China", "Japan", "India"]}
PATHS = (
    {leaf: (leaf, region, "*") for region, leaves in COUNTRIES.items() for leaf in leaves},
    {letter: (letter, "*") for letter in "xyz"},
)
METHODS = [
    *(
        {"name": "levels", "levels": {"country": a, "letter": b}, "suppression": 1.0}
        for a in range(3)
        for b in range(2)
    ),
    {"name": "full-domain", "suppression": 0.4},
    {"name": "mondrian"},
    {"name": "top-down"},
    {"name": "refine"},
]


def published(label, paths, value):
    """Return a label's level and how many declared values it covers."""
    level = paths[value].index(label)
    return level, sum(label in path for path in paths.values())


def slow_losses(before, after):
    """Compute the losses by their definition.

    ``after`` maps the numbers of released rows to what they show; the others are suppressed.
    """
    rows, heights = len(before), [len(next(iter(paths.values()))) - 1 for paths in PATHS]
    levels, shares = ([[0.0] * rows for _ in PATHS] for _ in range(2))
    for i, row in enumerate(before):
        for j, paths in enumerate(PATHS):
            level, covered = published(after[i][j] if i in after else "*", paths, row[j])
            levels[j][i] = level
            shares[j][i] = (covered / len(paths) - 1 / len(paths)) / (1 - 1 / len(paths))
    sizes = Counter(after.values())
    left = rows - len(after)
    return {
        "distortion_ratio": sum(map(sum, levels)) / rows / sum(heights),
        "precision": sum(sum(part) / rows / top for part, top in zip(levels, heights, strict=True)) / len(PATHS),
        "ncp": math.prod(1 + sum(part) / rows for part in shares) ** (1 / len(PATHS)) - 1,
        "discernibility": sum(size**2 for size in sizes.values()) + left * rows,
        "average_group_size": len(after) / len(sizes),
    }


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(PATHS[0])), st.sampled_from("xyz")), min_size=4, max_size=25),
    st.sampled_from(METHODS),
)
def test_losses_of_a_certificate_match_the_reference(before, method):
    table = pa.table(
        {"country": [row[0] for row in before], "letter": [row[1] for row in before], "row": range(len(before))}
    )
    plan = {
        "columns": {
            "country": {"role": "quasi-identifier", "hierarchy": {"tree": COUNTRIES}},
            "letter": {"role": "quasi-identifier", "hierarchy": {"tree": {"*": list("xyz")}}},
            "row": {"role": "other"},
        },
        "models": [{"name": "k-anonymity", "k": 2}],
        "method": method,
    }
    try:
        release = shoal.anonymize(table, plan)
    except InfeasibleError:
        return
    columns = release.table.to_pydict()
    after = {row: (a, b) for row, a, b in zip(columns["row"], columns["country"], columns["letter"], strict=True)}
    expected = slow_losses(before, after)
    assert {name: release.utility[name] for name in expected} == pytest.approx(expected)


def test_sums_are_added_row_by_row():
    """To the last bit, on any number of cores."""
    random = np.random.default_rng(0)
    count, values = random.integers(1, 50, 30_000), random.random((30_000, 3))
    total = np.zeros(3)
    for rows, value in zip(count, values, strict=True):
        total += rows * value
    assert weighted_sums(count, values).tolist() == total.tolist()
