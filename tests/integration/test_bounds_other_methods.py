"""Lower bounds of methods other than plain local recoding.

Partial knowledge, loose stars, patterns, rows of people, and a choice of methods. Each bound is compared with all
releases of its kind on small tables.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.bounds.partial_knowledge import least_loss_partial_knowledge
from shoal.bounds.recodings import least_recoding_loss, local_measure
from shoal.methods.local.lower_bounds import all_levels
from shoal.methods.local.suppression_search import with_stars
from shoal.models import KAnonymity, KnowsColumns, LooselyKnown, PSensitive, partial_knowledge_models
from tests.builders.bounds import LEAVES, MODELS, optimum, small_problem


def expanded(problem):
    """Codes and secrets row by row."""
    row = np.repeat(np.arange(len(problem.frequencies.count)), problem.frequencies.count)
    return problem.frequencies.codes[row], problem.frequencies.secrets[row, 0]


def patterns(rows, columns):
    """All combinations of hidden cells, bool (combinations, rows, columns)."""
    bits = np.arange(1 << (rows * columns))[:, None] >> np.arange(rows * columns) & 1
    return bits.astype(bool).reshape(-1, rows, columns)


def least_by_hiding(problem, measure, levels):
    """Return the least loss of all levels and hidden cells.

    Every group of every set of columns must meet its model.
    """
    codes, secret = expanded(problem)
    hidden = patterns(*codes.shape)
    best = np.inf
    for node in itertools.product(*levels):
        at_node = list(enumerate(zip(problem.ladders, node, strict=True)))
        lifted = np.stack([ladder.codes[at][codes[:, a]] for a, (ladder, at) in at_node])
        cost = np.stack(
            [measure.level_cost(ladder, at, a)[lifted[a]] for a, (ladder, at) in at_node],
            axis=1,
        )
        fine = np.ones(len(hidden), bool)
        for part in partial_knowledge_models(problem.model):
            for chosen in part.sets(problem.names):
                shows = ~hidden[:, :, list(chosen)].any(axis=2)
                same = (lifted[list(chosen)][:, :, None] == lifted[list(chosen)][:, None, :]).all(axis=0)
                if isinstance(part.of, PSensitive):
                    distinct = sum(((shows & (secret == value)) @ same) > 0 for value in range(4))
                    fine &= ~(shows & (distinct < part.of.p)).any(axis=1)
                else:
                    fine &= ~(shows & (shows @ same.astype(int) < part.of.k)).any(axis=1)
        if fine.any():
            lost = np.where(hidden, measure.weight, cost).sum(axis=(1, 2))
            best = min(best, lost[fine].min())
    return best / len(codes)


PARTIAL_KNOWLEDGE = {
    "known 1": (LooselyKnown(KAnonymity(2), 1),),
    "known 2": (LooselyKnown(KAnonymity(2), 2),),
    "known 2, k = 3": (LooselyKnown(KAnonymity(3), 2),),
    "known 2, p = 2": (LooselyKnown(KAnonymity(2), 2), LooselyKnown(PSensitive(2), 2)),
    "keys": (KnowsColumns(KAnonymity(2), ("place", "kind")), KnowsColumns(KAnonymity(3), ("kind", "size"))),
    "key of all": (KnowsColumns(KAnonymity(2), ("place", "kind", "size")),),
}


@pytest.mark.parametrize("name", PARTIAL_KNOWLEDGE)
@pytest.mark.parametrize("stars", [True, False])
def test_no_hidden_cells_lose_less_than_the_bound(name, stars):
    rng = np.random.default_rng([stars, *name.encode()])
    tight = 0
    for _ in range(12 if stars else 5):
        problem = small_problem(rng, PARTIAL_KNOWLEDGE[name], rows=int(rng.integers(3, 6)))
        if stars:
            problem = with_stars(problem)
        loss = "precision" if stars else str(rng.choice(["ncp", "precision"]))
        measure = local_measure(loss, problem.frequencies, problem.ladders, {"kind": float(rng.choice([1.0, 3.0]))})
        levels = all_levels(problem.ladders)
        if not stars:  # fewer nodes: some levels are not allowed
            levels = [sorted({int(rng.integers(0, len(some))), len(some) - 1}) for some in levels]
        given = (measure, problem.frequencies, problem.ladders, partial_knowledge_models(problem.model), problem.names)
        least = least_loss_partial_knowledge(*given, levels)
        best = least_by_hiding(problem, measure, levels)
        assert 0 <= least <= best * (1 + 1e-12)
        tight += 0 < least >= best * (1 - 1e-9)
    assert tight


@pytest.mark.parametrize("k", [2, 3])
def test_no_loose_suppression_has_fewer_stars_than_the_bound(k):
    rng = np.random.default_rng(k)
    some = tight = 0
    for _ in range(25):
        problem = with_stars(small_problem(rng, (KAnonymity(k),), rows=5))
        codes, _ = expanded(problem)
        hidden = patterns(*codes.shape)
        same = codes[:, None, :] == codes[None, :, :]
        can_be = np.stack([(hidden[:, i, None, :] | same[i]).all(axis=2) for i in range(len(codes))], axis=1)
        fine = (can_be.sum(axis=2) >= k).all(axis=1) & (can_be.sum(axis=1) >= k).all(axis=1)
        measure = local_measure("precision", problem.frequencies, problem.ladders, {})
        best = (hidden[fine] * measure.weight).sum(axis=(1, 2)).min() / len(codes)
        given = (measure, problem.frequencies, problem.ladders, problem.model, ["ancestor"] * 3, [None] * 3)
        least = least_recoding_loss(*given, whole=True, effort=0)
        assert least <= best * (1 + 1e-12)
        some += best > 0
        tight += 0 < least >= best * (1 - 1e-9)
        columns = {name: [str(code) for code in codes[:, a]] for a, name in enumerate(LEAVES)}
        schema = shoal.schema.Schema({name: shoal.Column(shoal.Role.QUASI_IDENTIFIER) for name in LEAVES})
        plan = shoal.Plan(schema, (KAnonymity(k),), shoal.methods.LocalSuppression(missing="loose"))
        bound = shoal.anonymize(pa.table(columns), plan).figures["bound"]
        assert bound["lower_bound"] == pytest.approx(least)
        assert bound["loss"] >= best * (1 - 1e-9)
    assert tight > some // 10


@pytest.mark.parametrize("name", ["k", "k3", "p", "entropy"])
def test_no_patterns_lose_less_than_the_bound(name):
    """Compare with all partitions, of all rows or not.

    Groups publish a column at one level or as `*`.
    """
    rng = np.random.default_rng([4, *name.encode()])
    tight = 0
    for number in range(16):
        problem = small_problem(rng, MODELS[name], rows=int(rng.integers(3, 7)))
        measure = local_measure("ncp", problem.frequencies, problem.ladders, {})
        whole = bool(number % 2)
        at = [int(rng.integers(0, 2)), 0, int(rng.integers(0, 3))]
        levels = [sorted({level, ladder.height}) for level, ladder in zip(at, problem.ladders, strict=True)]
        given = (measure, problem.frequencies, problem.ladders, problem.model, ["ancestor"] * 3, [None] * 3)
        least = least_recoding_loss(*given, whole=whole, effort=0, levels=levels)
        best = optimum(_at_levels(problem, levels), measure, ["ancestor"] * 3, whole)
        assert least <= best * (1 + 1e-12)
        tight += np.isfinite(best) and 0 < least >= best * (1 - 1e-9)
    assert tight


def _at_levels(problem, levels):
    """Restrict the hierarchies of a problem to some levels.

    The labels cover the same values.
    """
    from dataclasses import replace

    ladders = tuple(
        replace(
            ladder, **{part: tuple(getattr(ladder, part)[at] for at in some) for part in ("labels", "codes", "share")}
        )
        for ladder, some in zip(problem.ladders, levels, strict=True)
    )
    return replace(problem, ladders=ladders)


def census(rows=300):
    from shoal.datasets.census import census_table

    names = ("age", "education", "sex", "occupation")
    columns = {name: shoal.Column(shoal.Role.QUASI_IDENTIFIER) for name in names}
    columns["age"] = shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Widths((5, 10, 20)))
    return census_table(rows, seed=3).select(list(names)), shoal.schema.Schema(columns)


METHODS = {
    "hidden-cells": (shoal.methods.HiddenCells(), (LooselyKnown(KAnonymity(4), 2),)),
    "hidden-cells at levels": (shoal.methods.HiddenCells(levels={"age": 2}), (LooselyKnown(KAnonymity(4), 2),)),
    "stars for few": (shoal.methods.LocalSuppression(), (LooselyKnown(KAnonymity(4), 2),)),
    "anti-unification": (shoal.methods.AntiUnification(), (KAnonymity(4),)),
    "anti-unification, all rows": (
        shoal.methods.AntiUnification(keep_rest=True, patterns="model-aware"),
        (KAnonymity(4),),
    ),
    "loose stars": (shoal.methods.LocalSuppression(missing="loose"), (KAnonymity(4),)),
    "auto": (shoal.methods.Auto(), (KAnonymity(4),)),
    "auto for few": (shoal.methods.Auto(), (LooselyKnown(KAnonymity(4), 2),)),
    "auto, levels": (shoal.methods.Auto(methods=("full-domain",), suppression=0.1), (KAnonymity(4),)),
    "auto, levels for few": (shoal.methods.Auto(methods=("full-domain",)), (LooselyKnown(KAnonymity(4), 2),)),
}


@pytest.mark.parametrize("name", METHODS)
def test_certificate_has_a_bound(name):
    """The bound is below the loss.

    The loss is the one that the certificate has under its own measures.
    """
    table, schema = census()
    method, models = METHODS[name]
    release = shoal.anonymize(table, shoal.Plan(schema, models, method))
    bound = release.figures["bound"]
    assert 0 < bound["lower_bound"] <= bound["loss"]
    if bound["measure"].startswith("precision"):
        stars = sum(column.to_pylist().count("*") for column in release.table.columns)
        assert bound["loss"] == pytest.approx(stars / (release.table.num_rows * 4))
    for measure, least in bound.get("reported", {}).items():
        assert 0 < least <= release.utility[measure]


def test_overlapping_patterns_have_no_bound():
    table, schema = census()
    plan = shoal.Plan(schema, (KAnonymity(4),), shoal.methods.AntiUnification(patterns="overlapping"))
    assert "bound" not in shoal.anonymize(table, plan).figures


@pytest.mark.parametrize("known_rows", [2, None])
def test_no_suppression_by_people_loses_less_than_the_bound(known_rows):
    """Compare with all levels and all choices of suppressed rows.

    After them every group has k people.
    """
    from shoal.io.engines.base import Source
    from shoal.io.engines.duckdb import DuckDBEngine
    from shoal.table import read_frequency_set

    columns = {
        "who": shoal.Column(shoal.Role.PERSON),
        "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Widths((10, 30))),
        "sex": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
    }
    schema, random, compared = shoal.schema.Schema(columns), np.random.default_rng(7), 0
    for _ in range(6):
        table = pa.table(
            {
                "who": pa.array(random.integers(0, 4, 7)),
                "age": pa.array(random.choice([21, 24, 33, 47], 7)),
                "sex": pa.array(random.choice(["f", "m"], 7)),
            }
        )
        models, method = (
            (shoal.models.TrajectoryAnonymity(2, known_rows),),
            shoal.methods.FactsSuppression(suppression=1.0),
        )
        try:
            bound = shoal.anonymize(table, shoal.Plan(schema, models, method)).figures["bound"]
        except shoal.errors.InfeasibleError:
            continue
        with DuckDBEngine() as engine:
            plain = shoal.schema.Schema({**columns, "who": shoal.Column(shoal.Role.SENSITIVE)})
            found = read_frequency_set(engine, engine.read(Source(frame=table)), plain)
        ladders = found.ladders(plain)
        measure = local_measure("ncp", found, ladders, {})
        row = np.repeat(np.arange(len(found.count)), found.count)
        codes, owner = found.codes[row], found.secrets[row, 0]
        best = np.inf
        for node in itertools.product(*(range(ladder.height + 1) for ladder in ladders)):
            at_node = list(enumerate(zip(ladders, node, strict=True)))
            lifted = np.stack([ladder.codes[at][codes[:, a]] for a, (ladder, at) in at_node], axis=1)
            cost = sum(measure.level_cost(ladder, at, a)[lifted[:, a]] for a, (ladder, at) in at_node)
            for included in itertools.product((False, True), repeat=len(row)):
                included = np.asarray(included)
                people = {}
                for label, person in zip(map(tuple, lifted[included].tolist()), owner[included].tolist(), strict=True):
                    people.setdefault(label, set()).add(person)
                if people and min(map(len, people.values())) >= 2:
                    best = min(best, (cost[included].sum() + (~included).sum() * measure.weight.sum()) / len(row))
        assert bound["lower_bound"] <= best * (1 + 1e-12) <= bound["loss"] * (1 + 1e-9)
        compared += bound["lower_bound"] > 0
    assert compared
