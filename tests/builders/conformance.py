"""Methods, models and tables that every method is tested with."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

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
    """Random rows of the schema; an odd seed gives missing values."""
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


def round_numbers(content):
    """Round all numbers of nested content to nine digits."""
    if isinstance(content, dict):
        return {key: round_numbers(value) for key, value in content.items()}
    if isinstance(content, list):
        return [round_numbers(value) for value in content]
    return float(f"{content:.9g}") if isinstance(content, float) else content
