"""The same requirements for every method and model, on random tables.

A release must meet its models (checked with slow definitions that share no code with the package), lose no row that it
does not report, leave sensitive and other columns unchanged, publish only labels of the hierarchies, and be
deterministic. If no release is possible, an error reports it.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import shoal
from tests.builders.conformance import METHODS, MODELS, SCHEMA, table_of


def groups_in(table):
    groups = defaultdict(list)
    for row in table.to_pylist():
        groups[row["age"], row["place"]].append(row["secret"])
    return list(groups.values())


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("rows", "seed"), [(60, 1), (200, 2)])
def test_release(method, model, rows, seed):
    models, holds = MODELS[model]
    table = table_of(rows, seed)
    try:
        plan = shoal.Plan(SCHEMA, models, METHODS[method], seed=seed)
    except shoal.errors.PlanError as error:
        # a method that cannot satisfy a model refuses it before any work, and names one that can
        assert "does not support" in str(error)
        assert "full-domain" in str(error)
        return
    try:
        release = shoal.anonymize(table, plan)
    except shoal.errors.InfeasibleError as error:
        # one group of all rows must fail as well, unless the method cannot reach it
        everyone = [row["secret"] for row in table.to_pylist()]
        assert method == "levels" or not holds(everyone, [everyone]), error
        assert str(error)
        return
    released = release.table
    assert released.column_names == ["age", "place", "secret", "note"]
    figures = release.figures
    assert figures["rows"] == rows
    assert figures["released"] == released.num_rows
    assert figures["suppressed"] == rows - released.num_rows
    groups = groups_in(released)
    assert figures["groups"] == len(groups)
    assert figures["smallest_group"] == min(map(len, groups))
    for group in groups:
        assert holds(group, groups)
    # columns published in addition to the quasi-identifiers come from the source, row by row
    before = Counter((row["secret"], row["note"]) for row in table.to_pylist())
    after = Counter((row["secret"], row["note"]) for row in released.to_pylist())
    assert after <= before
    assert shoal.anonymize(table, plan).table.equals(released)


@pytest.mark.parametrize("method", METHODS)
def test_no_release_of_fewer_rows_than_k(method):
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(6),), METHODS[method])
    with pytest.raises(shoal.errors.InfeasibleError):
        shoal.anonymize(table_of(5, 0), plan)


@pytest.mark.parametrize("method", METHODS)
def test_row_order_does_not_matter(method):
    table = table_of(120, 1)
    shuffled = table.take(np.random.default_rng(5).permutation(120))
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(3),), METHODS[method])
    assert shoal.anonymize(table, plan).table.equals(shoal.anonymize(shuffled, plan).table)


@pytest.mark.parametrize("method", METHODS)
def test_one_value_everywhere(method):
    table = pa.table(
        {"name": list("abcd"), "age": [30] * 4, "place": ["a"] * 4, "secret": ["u", "v", "w", "x"], "note": [""] * 4}
    )
    release = shoal.anonymize(
        table, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4), shoal.models.PSensitive(4)), METHODS[method])
    )
    assert release.figures["groups"] == 1
