"""Microaggregation through the pipeline.

Covers the paper's tables, mixed columns, missing values, strata and bad input.
"""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import shoal
from shoal.methods import Cbfs, KFirst, Mdav, PFirst, Univariate, VMdav
from shoal.schema import Column, Role, Schema, Tree


def quasi(**known):
    return Column(Role.QUASI_IDENTIFIER, **known)


def release(table, method, *models, sensitive=(), **columns):
    schema = Schema(
        {name: columns.get(name, quasi()) for name in table.column_names if name not in sensitive}
        | {name: Column(Role.SENSITIVE) for name in sensitive}
    )
    return shoal.anonymize(table, shoal.Plan(schema, models, method))


@pytest.fixture(scope="module")
def census(shared_data):
    """Six key attributes, and three confidential ones.

    These are cut into 15 categories of equal width.
    """
    table = pyarrow.csv.read_csv(shared_data / "casc" / "census.csv")
    columns = {name: table[name] for name in table.column_names[:6]}
    for name in table.column_names[6:9]:
        values = table[name].to_numpy().astype(float)
        cut = np.minimum((values - values.min()) / (values.max() - values.min()) * 15, 14).astype(int)
        columns[name] = pa.array(cut.astype(str))
    return pa.table(columns)


SECRET = ("TAXINC", "POTHVAL", "INTVAL")


@pytest.mark.parametrize(
    ("method", "k", "loss"),
    [(Mdav(), 3, 3.693), (Mdav(), 5, 6.350), (Mdav(), 10, 9.990), (Cbfs(), 3, 3.697), (Cbfs(), 7, 7.933)],
)
def test_known_losses_of_the_census(census, method, k, loss):
    found = release(census, method, shoal.models.KAnonymity(k), sensitive=SECRET)
    assert 100 * found.utility["sse_sst"] == pytest.approx(loss, abs=0.002)


@pytest.mark.parametrize(
    ("k", "p", "loss"),
    [
        (3, 3, 23.13), (5, 3, 23.28), (7, 3, 22.31), (10, 3, 23.13),
        (5, 5, 47.15), (7, 5, 47.15), (10, 5, 47.15), (7, 7, 57.63), (10, 7, 57.63), (10, 10, 100.0),
    ],
)  # fmt: skip
def test_table_2_of_the_paper(census, k, p, loss):
    """Table 2, which is cut to two decimals there.

    Rounding what is published to whole numbers costs next to nothing.
    """
    found = release(
        census, PFirst(refine=False), shoal.models.KAnonymity(k), shoal.models.PSensitive(p), sensitive=SECRET
    )
    assert 100 * found.utility["sse_sst"] == pytest.approx(loss, abs=0.0101)


@pytest.mark.parametrize(("p", "limit"), [(5, 25.0)])
def test_refinement_keeps_the_model_and_loses_far_less(census, p, limit):
    found = release(
        census, PFirst(effort=4000), shoal.models.KAnonymity(p), shoal.models.PSensitive(p), sensitive=SECRET
    )
    assert 100 * found.utility["sse_sst"] <= limit
    assert found.figures["models"][1]["effective"]["p"] >= p


def test_k_first_finds_the_size_of_the_paper(census):
    found = release(census, KFirst(), shoal.models.KAnonymity(5), shoal.models.PSensitive(5), sensitive=SECRET)
    assert 100 * found.utility["sse_sst"] == pytest.approx(58.86, abs=0.01)  # 58.85 in Table 1
    assert found.figures["method"]["group_size"] == 319
    assert found.figures["method"]["smallest_size"] is True


def test_k_first_skips_only_failing_sizes():
    random = np.random.default_rng(4)
    table = pa.table({"x": random.normal(size=60), "y": random.normal(size=60), "s": random.choice(list("aabc"), 60)})
    found = release(table, KFirst(), shoal.models.KAnonymity(3), shoal.models.PSensitive(3), sensitive=("s",))
    size = found.figures["method"]["group_size"]
    assert size > 3
    for smaller in range(3, size):
        worse = release(table, Mdav(k=smaller), shoal.models.KAnonymity(3), sensitive=("s",))
        check = shoal.check(worse.table, ["p-sensitive p=3"], quasi_identifiers=["x", "y"], sensitive=["s"])
        assert not check.holds


@pytest.mark.parametrize("method", [Mdav(), Cbfs(), VMdav(), PFirst(), KFirst(), Univariate(), Mdav(refine=True)])
@pytest.mark.parametrize(
    "model",
    [
        shoal.models.PSensitive(2),
        shoal.models.LDiversity(2, "entropy"),
        shoal.models.LDiversity(2, "recursive", 3),
        shoal.models.TCloseness(0.4),
        shoal.models.AlphaK(0.6, 3),
    ],
    ids=lambda model: f"{model.name}-{getattr(model, 'kind', '')}",
)
def test_other_models_instead_of_p_sensitivity(method, model):
    random = np.random.default_rng(1)
    table = pa.table(
        {"x": random.normal(size=80), "y": random.integers(0, 5, 80), "s": random.choice(list("abcd"), 80)}
    )
    found = release(table, method, shoal.models.KAnonymity(3), model, sensitive=("s",))
    assert all(verdict["holds"] for verdict in found.figures["models"])
    assert found.figures["suppressed"] == 0


def test_columns_keep_their_kind():
    table = pa.table(
        {
            "whole": [1, 2, 10, 12],
            "real": [0.5, 1.0, 9.0, 9.5],
            "text": ["3", "4", "30", "31"],
            "day": [datetime.date(2024, 1, d) for d in (1, 3, 20, 24)],
            "time": [datetime.datetime(2024, 1, 1, h) for h in (0, 2, 20, 22)],
            "name": ["a", "a", "b", "b"],
        }
    )
    released = release(table, Mdav(), shoal.models.KAnonymity(2)).table
    assert [part.type for part in released.schema] == [part.type for part in table.schema]
    assert released.slice(0, 1).to_pylist() == [
        {
            "whole": 2,
            "real": 0.75,
            "text": "4",
            "day": datetime.date(2024, 1, 2),
            "time": datetime.datetime(2024, 1, 1, 1),
            "name": "a",
        }
    ]


def test_published_statistics_of_groups():
    table = pa.table({"x": [1, 2, 6, 100, 101, 108], "place": ["a", "b", "a", "c", "d", "d"]})
    tree = quasi(hierarchy=Tree({"north": ["a", "b"], "south": ["c", "d"]}))
    medians = release(table, Mdav(publish={"x": "median"}), shoal.models.KAnonymity(3), place=tree).table.to_pylist()
    assert medians == [{"x": 2, "place": "north"}] * 3 + [{"x": 101, "place": "south"}] * 3
    exact = Mdav(publish={"x": "range", "place": "mode"}, ranges="exact")
    ranges = release(table, exact, shoal.models.KAnonymity(3), place=tree)
    assert {tuple(row.values()) for row in ranges.table.to_pylist()} == {("1..6", "a"), ("100..108", "d")}
    ranges = release(table, Mdav(publish={"x": "range", "place": "mode"}), shoal.models.KAnonymity(3), place=tree)
    assert {tuple(row.values()) for row in ranges.table.to_pylist()} == {("<8", "a"), (">=98", "d")}


def test_real_values_such_as_minus_999_are_values():
    table = pa.table({"x": [-999, -999, 5, 6]})
    assert release(table, Mdav(), shoal.models.KAnonymity(2)).table["x"].to_pylist() == [-999, -999, 6, 6]


def test_a_missing_number_is_not_guessed():
    table = pa.table({"x": pa.array([1.0, 2.0, None, None, 9.0, 9.0]), "y": [0, 0, 5, 5, 9, 9]})
    rows = release(table, Mdav(), shoal.models.KAnonymity(2)).table.to_pylist()
    assert rows == [{"x": None, "y": 5}] * 2 + [{"x": 1.5, "y": 0}] * 2 + [{"x": 9.0, "y": 9}] * 2
    lonely = pa.table({"x": pa.array([1.0, 2.0, None, 9.0]), "y": [0, 0, 9, 9]})
    assert release(lonely, Mdav(), shoal.models.KAnonymity(2)).table["x"].to_pylist() == [None, None, 1.5, 1.5]


def test_strata_are_never_mixed():
    random = np.random.default_rng(0)
    table = pa.table({"x": random.normal(size=40), "region": ["n", "s"] * 20})
    rows = release(table, Mdav(strata=("region",)), shoal.models.KAnonymity(4)).table.to_pylist()
    assert sum(row["region"] == "n" for row in rows) == 20
    small = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "region": ["n", "n", "n", "s"]})
    with pytest.raises(shoal.errors.InfeasibleError, match="stratum"):
        release(small, Mdav(strata=("region",)), shoal.models.KAnonymity(2))


def test_weights_and_scales_matter():
    table = pa.table({"x": [0.0, 0.1, 1.0, 1.1], "y": [0.0, 1.0, 0.1, 1.1]})
    by_x = release(table, Mdav(weights={"x": 100.0}), shoal.models.KAnonymity(2)).table["x"].to_pylist()
    by_y = release(table, Mdav(weights={"y": 100.0}), shoal.models.KAnonymity(2)).table["y"].to_pylist()
    assert sorted(set(by_x)) == pytest.approx([0.05, 1.05])
    assert sorted(set(by_y)) == pytest.approx([0.05, 1.05])
    skewed = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 1e9], "y": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]})
    for scale in ("rank", "winsorised"):
        assert release(skewed, Mdav(scale=scale), shoal.models.KAnonymity(3)).figures["groups"] == 2


def test_univariate_is_the_optimum():
    import itertools

    values = [1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0, 30.0, 31.0]
    found = release(pa.table({"x": values}), Univariate(), shoal.models.KAnonymity(2)).utility["sse_sst"]
    best = np.inf
    for cuts in itertools.product([False, True], repeat=len(values) - 1):
        parts = np.split(np.asarray(values), np.flatnonzero(cuts) + 1)
        if min(map(len, parts)) >= 2:
            best = min(best, sum(float(((part - part.mean()) ** 2).sum()) for part in parts))
    total = float(((np.asarray(values) - np.mean(values)) ** 2).sum())
    assert found == pytest.approx(best / total)


@pytest.mark.parametrize(
    ("table", "models", "error"),
    [
        ({"x": [1.0, 2.0], "s": ["a", "b"]}, (shoal.models.KAnonymity(3),), shoal.errors.InfeasibleError),
        (
            {"x": [1.0, 2.0, 3.0], "s": ["a", "a", "a"]},
            (shoal.models.KAnonymity(2), shoal.models.PSensitive(2)),
            shoal.errors.InfeasibleError,
        ),
        ({"x": [1.0, float("inf")], "s": ["a", "b"]}, (shoal.models.KAnonymity(2),), shoal.errors.PlanError),
        ({"x": [1.0, 2.0], "s": ["a", "b"]}, (shoal.models.BetaLikeness(1),), shoal.errors.PlanError),
        (
            {"x": [1.0, 2.0], "s": ["a", "b"]},
            (shoal.models.KAnonymity(2), shoal.models.PSensitive(3)),
            shoal.errors.PlanError,
        ),
    ],
)
def test_bad_input(table, models, error):
    with pytest.raises(error):
        release(pa.table(table), PFirst(), *models, sensitive=("s",))


def test_degenerate_tables_are_right():
    constant = release(pa.table({"x": [5] * 6}), Mdav(), shoal.models.KAnonymity(2))
    assert constant.table["x"].to_pylist() == [5] * 6
    short = release(
        pa.table({"x": [1.0, 2.0, 3.0]}), Mdav(), shoal.models.KAnonymity(2)
    )  # fewer than 2k rows: one group
    assert short.table["x"].to_pylist() == [2.0] * 3
    gaps = release(
        pa.table({"x": pa.array([None] * 4, pa.float64()), "y": [1, 2, 8, 9]}), Mdav(), shoal.models.KAnonymity(2)
    )
    assert gaps.table["x"].to_pylist() == [None] * 4
    assert gaps.figures["groups"] == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Mdav(k=1),
        lambda: Mdav(scale="log"),
        lambda: Mdav(publish={"x": "sum"}),
        lambda: Mdav(weights={"x": 0}),
        lambda: VMdav(gamma=-1),
        lambda: PFirst(contributes="some"),
        lambda: KFirst(base="other"),
    ],
)
def test_impossible_parameters(make):
    with pytest.raises(shoal.errors.PlanError):
        make()
