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
from shoal.schema import Categories, Column, Role, Schema, Tree, Widths
from tests.reference import models as slow

SECRETS = ["u", "v", "w", "x"]
CLASSES = (("u",), ("v", "w"), ("x",))
TREE = {"north": ["a", "b"], "south": ["c", "d", "e"]}
PATHS = {"u": ("u", "1", "*"), "v": ("v", "1", "*"), "w": ("w", "2", "*"), "x": ("x", "2", "*")}

METHODS = {
    "levels": shoal.methods.Levels({"age": 3, "place": 1}, suppression=0.6),
    "full-domain": shoal.methods.FullDomain(suppression=0.2),
    "full-domain without suppression": shoal.methods.FullDomain(loss="entropy"),
    "mdav": shoal.methods.Mdav(k=3),
    "k-first": shoal.methods.KFirst(k=3),
    "p-first": shoal.methods.PFirst(k=3, effort=200),
    "mdav in blocks": shoal.methods.Mdav(k=3, block=12),
    "p-first in blocks": shoal.methods.PFirst(k=3, block=12, effort=200),
    "top-down": shoal.methods.TopDown(),
    "mondrian": shoal.methods.Mondrian(publish={"age": "range"}),
    "relaxed mondrian": shoal.methods.Mondrian(strict=False, publish={"age": "centroid"}),
    "switching": shoal.methods.Switching(),
    "refine": shoal.methods.Refine(start=shoal.methods.FullDomain()),
    "local-suppression": shoal.methods.LocalSuppression(),
    "anti-unification": shoal.methods.AntiUnification(patterns="model-aware", keep_rest=True),
}

MODELS = {
    "k": ((shoal.models.KAnonymity(3),), lambda group, table: len(group) >= 3),
    "p": (
        (shoal.models.KAnonymity(3), shoal.models.PSensitive(2)),
        lambda group, table: len(group) >= 3 and slow.p_sensitive(group, 2),
    ),
    "p, alpha": (
        (shoal.models.KAnonymity(2), shoal.models.PAlphaSensitive(2, 1)),
        lambda group, table: len(group) >= 2 and slow.p_alpha(group, 2, 1, CLASSES),
    ),
    "p+, alpha": (
        (shoal.models.KAnonymity(2), shoal.models.PPlusAlphaSensitive(2, 1.5)),
        lambda group, table: len(group) >= 2 and slow.p_plus_alpha(group, 2, 1.5, CLASSES),
    ),
    "distinct l": ((shoal.models.LDiversity(3),), lambda group, table: slow.distinct_diverse(group, 3)),
    "entropy l": ((shoal.models.LDiversity(1.7, "entropy"),), lambda group, table: slow.entropy_diverse(group, 1.7)),
    "recursive l": (
        (shoal.models.LDiversity(2, "recursive", 2),),
        lambda group, table: slow.recursive_diverse(group, 2, 2),
    ),
    "t equal": (
        (shoal.models.KAnonymity(2), shoal.models.TCloseness(0.4)),
        lambda group, table: slow.t_distance(group, table, slow.equal_cost) <= slow.Fraction("0.4"),
    ),
    "t ordered": (
        (shoal.models.KAnonymity(2), shoal.models.TCloseness(0.35, "ordered")),
        lambda group, table: slow.t_distance(group, table, slow.ordered_cost(SECRETS)) <= slow.Fraction("0.35"),
    ),
    "t hierarchical": (
        (shoal.models.KAnonymity(2), shoal.models.TCloseness(0.4, "hierarchical")),
        lambda group, table: slow.t_distance(group, table, slow.tree_cost(PATHS)) <= slow.Fraction("0.4"),
    ),
    "alpha, k": ((shoal.models.AlphaK(0.7, 3),), lambda group, table: slow.alpha_k(group, 0.7, 3)),
    "delta": (
        (shoal.models.KAnonymity(2), shoal.models.DeltaDisclosure(2)),
        lambda group, table: slow.delta_disclosed(group, table, 2, False),
    ),
    "beta": (
        (shoal.models.KAnonymity(2), shoal.models.BetaLikeness(1.5)),
        lambda group, table: slow.beta_like(group, table, 1.5, False),
    ),
}

SCHEMA = Schema(
    {
        "name": Column(Role.IDENTIFIER),
        "age": Column(Role.QUASI_IDENTIFIER, Widths((5, 20))),
        "place": Column(Role.QUASI_IDENTIFIER, Tree(TREE)),
        "secret": Column(
            Role.SENSITIVE,
            hierarchy=Tree({"1": ["u", "v"], "2": ["w", "x"]}),
            categories=Categories(CLASSES),
            order=tuple(SECRETS),
        ),
        "note": Column(Role.OTHER),
    }
)


def table_of(rows, seed):
    random = np.random.default_rng(seed)
    gaps = seed % 2 == 1

    def with_gaps(values, share):
        return [None if gaps and random.random() < share else value for value in values]

    return pa.table(
        {
            "name": [f"person {i}" for i in range(rows)],
            "age": pa.array(with_gaps([int(a) for a in random.integers(20, 60, rows)], 0.1), pa.int64()),
            "place": pa.array(with_gaps(random.choice(list("abcde"), rows).tolist(), 0.1), pa.string()),
            "secret": pa.array(
                with_gaps(random.choice(SECRETS, rows, p=[0.4, 0.3, 0.2, 0.1]).tolist(), 0.05), pa.string()
            ),
            "note": [f"note {i % 7}" for i in range(rows)],
        }
    )


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
    except shoal.PlanError as error:
        # a method that cannot satisfy a model refuses it before any work, and names one that can
        assert "cannot keep" in str(error)
        assert "full-domain" in str(error)
        return
    try:
        release = shoal.anonymize(table, plan)
    except shoal.InfeasibleError as error:
        # one group of all rows must fail as well, unless the method cannot reach it
        everyone = [row["secret"] for row in table.to_pylist()]
        assert method == "levels" or not holds(everyone, [everyone]), error
        assert str(error)
        return
    released = release.table
    assert released.column_names == ["age", "place", "secret", "note"]
    certificate = release.certificate
    assert certificate["rows"] == rows
    assert certificate["released"] == released.num_rows
    assert certificate["suppressed"] == rows - released.num_rows
    groups = groups_in(released)
    assert certificate["groups"] == len(groups)
    assert certificate["smallest_group"] == min(map(len, groups))
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
    with pytest.raises(shoal.InfeasibleError):
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
    assert release.certificate["groups"] == 1
