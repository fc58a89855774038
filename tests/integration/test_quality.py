"""Quality of methods: more time for less loss.

Every quality meets the models, and a higher one loses no more.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import shoal
from shoal.bounds.recodings import local_measure
from shoal.datasets.census import census_table
from shoal.methods.local.brute_force import least_partition
from shoal.methods.local.neighbourhood_search import _joined, _neighbourhoods, regroup
from shoal.methods.local.problem import Pieces
from shoal.methods.local.search import loss_of
from shoal.pipeline.run import anonymize
from tests.builders.bounds import MODELS, optimum, small_problem
from tests.reference.bounds import least_partition as least_of_all
from tests.reference.bounds import members
from tests.reference.microaggregation import group_cost

SCHEMA = shoal.schema.Schema(
    {
        "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER, shoal.schema.Widths((5, 10, 20))),
        "education": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
        "sex": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
        "occupation": shoal.Column(shoal.Role.SENSITIVE),
    }
)


@pytest.fixture(scope="module")
def table():
    return census_table(400, seed=3).select(list(SCHEMA.columns))


@pytest.fixture
def reduced_work(monkeypatch):
    monkeypatch.setattr("shoal.methods.local.neighbourhood_search.WORK", {"good": 2_000, "best": 8_000})


@pytest.mark.parametrize(
    "models", [(shoal.models.KAnonymity(4),), (shoal.models.KAnonymity(4), shoal.models.PSensitive(3))], ids=str
)
@pytest.mark.parametrize(
    "make", [shoal.methods.TopDown, shoal.methods.Refine, shoal.methods.Mondrian, shoal.methods.LocalSuppression]
)
@pytest.mark.usefixtures("reduced_work")
def test_higher_quality_has_no_more_loss(table, make, models):
    found = {
        quality: anonymize(table, shoal.Plan(SCHEMA, models, make(quality=quality)))
        for quality in (None, "fast", "good", "best")
    }
    lost = {quality: release.figures["bound"]["loss"] for quality, release in found.items()}
    assert lost["fast"] == lost[None]
    assert lost["good"] <= lost["fast"] + 1e-12
    assert lost["best"] <= lost["good"] + 1e-12
    assert lost["best"] < lost["fast"] or make is shoal.methods.LocalSuppression  # its suppressions are minimal already
    assert found["fast"].table == found[None].table  # nothing changes unless quality is set
    for release in found.values():
        assert release.figures["bound"]["lower_bound"] <= release.figures["bound"]["loss"]
        assert all(model["holds"] for model in release.figures["models"])


@pytest.mark.usefixtures("reduced_work")
def test_seed_and_time_limit(table):
    """The same seed gives the same groups; a deadline ends the search."""
    plan = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4),), shoal.methods.Refine(quality="good"))
    assert anonymize(table, plan).table == anonymize(table, plan).table
    late = shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4),), shoal.methods.Refine(quality="best", time_limit=1e-9))
    assert all(model["holds"] for model in anonymize(table, late).figures["models"])


def test_regrouping_keeps_rows_without_more_loss():
    """Check regrouping piece by piece.

    Pieces that go into sets of groups come out of them, and no two sets share a group.
    """
    rng = np.random.default_rng(5)
    for name in ("k", "p", "entropy", "t-equal"):
        problem = small_problem(rng, MODELS[name], rows=60)
        local, pieces = shoal.methods.TopDown().partition(problem)
        near = np.tile(np.arange(len(local.count), dtype=np.int32), (len(local.count), 1))
        chosen, sets = _neighbourhoods(pieces, near, np.ones(len(pieces.start) - 1), rng)
        joined, item, owner = _joined(local, pieces, chosen, sets)
        there = chosen[pieces.group] >= 0
        assert joined.count.sum() == pieces.count[there].sum()
        assert (np.diff(owner) >= 0).all()
        assert (local.setting.values[item] == joined.setting.values).all()
        found = regroup(local, pieces, 6, seed=1)
        assert isinstance(found, Pieces)
        assert loss_of(local, found) <= loss_of(local, pieces) + 1e-12
        assert (np.bincount(found.item, weights=found.count) == local.count).all()


def test_quality_of_microaggregation(monkeypatch):
    monkeypatch.setattr("shoal.methods.microaggregation.points.MAX_PROPOSALS", 20_000)
    schema = shoal.schema.Schema({name: shoal.Column(shoal.Role.QUASI_IDENTIFIER) for name in ("age", "hours")})
    rng = np.random.default_rng(2)
    import pyarrow as pa

    table = pa.table({"age": rng.normal(size=150), "hours": rng.normal(size=150)})
    lost = {}
    for quality in (None, "fast", "good", "best"):
        plan = shoal.Plan(schema, (shoal.models.KAnonymity(4),), shoal.methods.Mdav(quality=quality))
        lost[quality] = anonymize(table, plan).utility["sse_sst"]
    refined = anonymize(
        table, shoal.Plan(schema, (shoal.models.KAnonymity(4),), shoal.methods.Mdav(refine=True))
    ).utility["sse_sst"]
    assert lost["fast"] == lost[None] > refined
    assert lost["good"] <= refined * 1.02  # another walk, five times as long
    assert lost["best"] <= lost["good"] * 1.02
    assert shoal.methods.PFirst(quality="fast").refines is False
    assert shoal.methods.PFirst().refines is True


@pytest.mark.parametrize(
    "models", [(shoal.models.KAnonymity(3),), (shoal.models.KAnonymity(2), shoal.models.PSensitive(2))]
)
def test_microaggregation_of_a_small_table_is_optimal(models):
    import pyarrow as pa

    schema = shoal.schema.Schema(
        {
            "age": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
            "hours": shoal.Column(shoal.Role.QUASI_IDENTIFIER),
            "illness": shoal.Column(shoal.Role.SENSITIVE),
        }
    )
    rng = np.random.default_rng(7)
    for _ in range(3):
        rows = 9
        numbers, illness = rng.normal(size=(rows, 2)), rng.integers(3, size=rows)
        table = pa.table({"age": numbers[:, 0], "hours": numbers[:, 1], "illness": [f"i{code}" for code in illness]})
        found = anonymize(table, shoal.Plan(schema, models, shoal.methods.Mdav(quality="good"))).utility["sse_sst"]
        points = (numbers - numbers.mean(axis=0)) / np.sqrt(2 * ((numbers - numbers.mean(axis=0)) ** 2).sum(axis=0))
        distinct = 2 if len(models) == 2 else 1

        def is_allowed(chosen, distinct=distinct, illness=illness):
            return len(members(chosen)) >= models[0].k and len(set(illness[members(chosen)])) >= distinct

        least = least_of_all(2**rows - 1, lambda chosen, points=points: group_cost(points[members(chosen)]), is_allowed)
        assert found == pytest.approx(least, rel=1e-9)


def test_auto_passes_quality_on():
    assert all(getattr(m, "quality", "best") == "best" for m in shoal.methods.Auto(quality="best").candidates)


def test_every_method_with_a_search_has_quality():
    methods = shoal.methods.METHODS
    without = {
        name
        for name in methods.first_party()
        if "quality" not in {part.name for part in dataclasses.fields(methods[name])}
    }
    assert without == {"levels", "population-grid", "sampled-grid"}


@pytest.mark.parametrize("name", ["levels", "full-domain"])
def test_plans_with_the_removed_parameter_are_read_with_a_warning(name):
    """Of the methods that had it without effect; others still use it."""
    plan = {
        "columns": {"a": "quasi-identifier"},
        "models": "k-anonymity k=2",
        "method": {"name": name, "quality": "good"},
    }
    if name == "levels":
        with pytest.warns(DeprecationWarning, match="has no parameter 'quality' any more"):
            assert shoal.Plan.from_dict(plan).method == shoal.methods.Levels()
    else:
        assert shoal.Plan.from_dict(plan).method.quality == "good"


def test_quality_of_hidden_cells(monkeypatch):
    """Higher quality tries more levels."""
    from shoal.methods.local import cell_levels

    tries = []
    plain = cell_levels.LevelChooser._try
    monkeypatch.setattr(cell_levels.LevelChooser, "_try", lambda self, at: tries.append(at) or plain(self, at))
    table = census_table(300, seed=3).select(["age", "education", "sex", "occupation"])
    columns = {name: shoal.Column(shoal.Role.QUASI_IDENTIFIER) for name in table.column_names}
    columns["age"] = SCHEMA.columns["age"]
    schema, models = shoal.schema.Schema(columns), (shoal.models.LooselyKnown(shoal.models.KAnonymity(4), 2),)
    made, released = {}, {}
    for quality in (None, "fast", "good", "best"):
        tries.clear()
        released[quality] = anonymize(table, shoal.Plan(schema, models, shoal.methods.HiddenCells(quality=quality)))
        made[quality] = len(tries)
    assert made["fast"] == 5 < made["good"] == made[None] <= made["best"]
    assert released["good"].table == released[None].table


def test_quality_of_anti_unification(table):
    """Higher quality forms patterns in more orders."""
    assert shoal.methods.AntiUnification(quality="best").orders == [("<", ">"), (">", "<"), ("<",), (">",)]
    assert shoal.methods.AntiUnification(order=(">",), quality="good").orders == [(">",)]
    lost = {}
    for quality in (None, "fast", "good", "best"):
        method = shoal.methods.AntiUnification(quality=quality, patterns="model-aware", indifferent=1)
        release = anonymize(table, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4),), method))
        lost[quality] = release.utility["ncp"]
    assert lost["fast"] == lost[None] >= lost["good"] >= lost["best"]
    single = shoal.methods.AntiUnification(order=(">",), patterns="model-aware", indifferent=1)
    other = anonymize(table, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4),), single)).utility["ncp"]
    assert lost["best"] <= other


def test_time_limits_of_large_lattices(monkeypatch, table):
    from shoal.methods.full_domain import exhaustive

    limits = []

    def stop(evaluator, suppression, lowest, highest, nodes, seconds):
        limits.append(seconds)
        raise shoal.errors.InfeasibleError("enough")

    monkeypatch.setattr(exhaustive, "LARGEST_LATTICE", 1)
    monkeypatch.setattr(exhaustive, "LargeSearch", stop)
    for method in (
        shoal.methods.FullDomain(),
        shoal.methods.FullDomain(quality="fast"),
        shoal.methods.FullDomain(quality="best"),
        shoal.methods.FullDomain(quality="best", time_limit=3),
    ):
        with pytest.raises(shoal.errors.InfeasibleError):
            anonymize(table, shoal.Plan(SCHEMA, (shoal.models.KAnonymity(4),), method))
    assert limits == [60.0, 10.0, 600.0, 3.0]


@pytest.mark.parametrize("name", MODELS)
def test_best_quality_of_small_tables_is_optimal(name):
    """Compare with all partitions, found by other means.

    Models that a union may break get a good partition, not necessarily the best.
    """
    rng = np.random.default_rng([6, *name.encode()])
    found = 0
    for _ in range(8):
        problem = small_problem(rng, MODELS[name], rows=int(rng.integers(4, 8)))
        method = shoal.methods.Refine(quality="best", loss=str(rng.choice(["ncp", "precision"])))
        measure = local_measure(method.loss, problem.frequencies, problem.ladders, {})
        best = optimum(problem, measure, ["ancestor"] * 3, True)
        try:
            recoding = method.decide(problem)
        except shoal.errors.InfeasibleError:
            continue
        lost = method.lower_bound(problem, recoding).loss
        assert lost >= best * (1 - 1e-9)
        if problem.model.closed_under_union:
            assert lost == pytest.approx(best)
            found += 1
    assert found or not problem.model.closed_under_union


def test_no_exact_search_of_larger_tables():
    problem = small_problem(np.random.default_rng(1), MODELS["k"], rows=13)
    assert least_partition(shoal.methods.TopDown().partition(problem)[0]) is None
