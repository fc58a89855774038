"""Lower bounds are never above the best possible loss.

Compared with all partitions of small tables, for every model.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.bounds.bound import Bound, rounded_down
from shoal.bounds.kernels.cells import LatticeCells, least_costs, make_cell_scratch, price_rises
from shoal.bounds.kernels.nearest import make_boxes, nearest_row_distances
from shoal.bounds.recodings import least_recoding_loss, local_measure, recoding_loss
from shoal.errors import ShoalError
from shoal.methods import Mondrian, Refine, TopDown
from shoal.methods.microaggregation.lower_bounds import min_squares_per_row
from shoal.models import (
    KAnonymity,
)
from shoal.schema import Column, Role, Schema, Tree
from tests.builders.bounds import LEAVES, MODELS, SCHEMA, optimum, small_problem
from tests.builders.errors import has_code
from tests.reference import bounds as slow


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("loss", ["ncp", "granularity", "distortion-ratio", "precision"])
def test_no_recoding_loses_less_than_the_bound(name, loss):
    """Compare with all partitions.

    The bound is not trivial: it equals the optimum in some tables.
    """
    rng = np.random.default_rng([len(loss), *name.encode()])
    reached = 0
    for _ in range(12):
        problem = small_problem(rng, MODELS[name], rows=int(rng.integers(3, 7)))
        weights = {"place": float(rng.choice([1.0, 2.0, 0.0]))}
        measure = local_measure(loss, problem.frequencies, problem.ladders, weights)
        label_kinds = ["ancestor", "ancestor", str(rng.choice(["ancestor", "range"]))]
        for whole in (True, False):
            given = (measure, problem.frequencies, problem.ladders, problem.model, label_kinds, [None] * 3)
            alone, bound, sharper = (least_recoding_loss(*given, whole=whole, effort=effort) for effort in (0, 1, 4))
            best = optimum(problem, measure, label_kinds, whole)
            assert alone <= bound <= sharper <= best + 1e-15, (name, loss, whole)
            reached += best < np.inf and bound >= best * (1 - 1e-9) and best > 0
    if name in ("k", "p"):
        assert reached > 0


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("need", [1, 2, 3])
def test_no_microaggregation_loses_less_than_the_bound(k, need):
    """Compare with all partitions.

    Groups need some values, numbers may be missing, and the search for near rows may be cut short.
    """
    rng = np.random.default_rng([k, need])
    reached = 0
    for _ in range(40):
        rows = int(rng.integers(max(k, 3), 8))
        numbers = np.round(rng.normal(size=(rows, int(rng.integers(1, 3)))) * 3)
        numbers[rng.random(numbers.shape) < (0.1 if rng.random() < 0.4 else 0.0)] = np.nan
        mark = rng.integers(-1 if rng.random() < 0.3 else 0, 4, rows)
        centre = np.nan_to_num(np.nanmean(np.where(np.isnan(numbers).all(axis=0), 0.0, numbers), axis=0))
        points = np.where(np.isnan(numbers), centre, numbers)

        def loss(chosen, numbers=numbers, centre=centre):
            own = numbers[slow.members(chosen)]
            hidden = np.isnan(own).any(axis=0)
            return sum(
                float(np.nansum((column - centre[j]) ** 2)) if hidden[j] else slow.squares(column[:, None])
                for j, column in enumerate(own.T)
            )

        def may_be(chosen, mark=mark):
            own = slow.members(chosen)
            return len(own) >= k and len(set(mark[own].tolist()) - {-1}) >= need

        best = slow.least_partition((1 << rows) - 1, loss, may_be)
        bounds = [float(min_squares_per_row(points, k, [(mark, need)]).sum())]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("shoal.methods.microaggregation.lower_bounds.EXTRA_NEIGHBOURS", -2)
            bounds.append(float(min_squares_per_row(points, k, [(mark, need)]).sum()))
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("shoal.methods.microaggregation.lower_bounds.MAX_NEIGHBOURS", 1)
            bounds.append(float(min_squares_per_row(points, k, [(mark, need)]).sum()))
        assert max(bounds) <= best + 1e-9
        assert bounds[1] <= bounds[0] + 1e-9 or best == np.inf
        reached += 0 < best < np.inf and bounds[0] > best * 0.999
    assert need > 1 or reached > 0


def test_numbers_published_as_missing_add_loss():
    table = pa.table({"x": [1.0, 2.0, 10.0, None, 30.0, 31.0]})
    schema = Schema({"x": Column(Role.QUASI_IDENTIFIER)})
    release = shoal.anonymize(table, shoal.Plan(schema, (KAnonymity(2),), shoal.methods.Mdav()))
    known = np.asarray([1.0, 2.0, 10.0, 30.0, 31.0])
    published = release.table["x"].to_pylist()
    expected = sum(
        min((x - y) ** 2 for y in published if y is not None) if x != 10.0 else (x - known.mean()) ** 2 for x in known
    )
    assert published.count(None) == 2
    assert release.utility["sse_sst"] == pytest.approx(expected / ((known - known.mean()) ** 2).sum())
    assert 0 < release.figures["bound"]["lower_bound"] <= release.utility["sse_sst"]


def random_cells(rng):
    """Cells of a random table.

    Codes of one to three columns with random nested levels, and a rule or none.
    """
    columns, items = int(rng.integers(1, 4)), int(rng.integers(1, 12))
    lifts, costs = [], []
    for _ in range(columns):
        leaves = int(rng.integers(1, 5))
        levels, price = [np.arange(leaves)], [np.zeros(leaves)]
        while len(set(levels[-1].tolist())) > 1:
            merged = np.sort(rng.integers(0, max(1, levels[-1].max()), levels[-1].max() + 1))
            levels.append(np.unique(merged, return_inverse=True)[1][levels[-1]])
            price.append(np.zeros(leaves))
            for leaf in range(leaves):  # a coarser label never costs less
                above = levels[-1][leaf]
                price[-1][above] = max(price[-1][above], price[-2][levels[-2][leaf]])
            price[-1] += rng.random()
        lifts.append(levels)
        costs.append(price)
    codes = np.stack([rng.integers(0, len(levels[0]), items) for levels in lifts], axis=1).astype(np.int32)
    count, least = rng.integers(1, 4, items), int(rng.integers(1, 5))
    marks = rng.integers(-1, 3, (int(rng.integers(0, 3)), items))
    adds = rng.random(len(marks)) < 0.5
    marks[adds] = np.maximum(marks[adds], 0)
    needs = rng.integers(1, 4, len(marks))
    at = np.zeros((columns, max(map(len, lifts))), np.int64)
    offset = 0
    for a, levels in enumerate(lifts):
        for level in range(len(levels)):
            at[a, level] = offset
            offset += len(levels[0])
    cells = LatticeCells(
        np.ascontiguousarray(codes.T), count, np.concatenate([x for y in lifts for x in y]).astype(np.int32), at,
        np.concatenate([x for y in costs for x in y]), np.asarray([len(y) - 1 for y in lifts]),
        max(len(y[0]) for y in lifts), least, marks.astype(np.int64), needs, adds,
    )  # fmt: skip

    def holds(inside):
        return all(
            (sum(count[i] * mark[i] for i in inside) if add else len({mark[i] for i in inside} - {-1})) >= need
            for mark, add, need in zip(marks, adds, needs, strict=True)
        )

    return cells, codes, lifts, costs, holds


def test_least_costs_equal_reference():
    rng = np.random.default_rng(7)
    for _ in range(300):
        cells, codes, lifts, costs, holds = random_cells(rng)
        found, left = least_costs(cells, make_cell_scratch(cells), 99.0, 10**6)
        expected = slow.least_costs(codes, cells.copies, lifts, costs, cells.least, holds)
        assert left > 0
        assert np.allclose(found, np.minimum(expected, 99.0), rtol=1e-12)


@pytest.mark.parametrize("trials", [8, 200])  # the smaller number is quick without the compiler too
def test_prices_rise_until_a_cell_is_full(trials):
    """Raise prices until a cell is full and never further.

    In no open cell do the dearest rows cost more than the cell; every row with a stopped price is in a full cell.
    """
    rng = np.random.default_rng(8)
    rose = 0
    for _ in range(trials):
        cells, codes, lifts, costs, holds = random_cells(rng)
        scratch = make_cell_scratch(cells)
        top = float(sum(levels[-1].max() for levels in costs))
        price, _ = least_costs(cells, scratch, top, 10**6)
        before = price.copy()
        furthest = np.where(price > 0, top - price, 0.0)
        for _ in range(60):
            rise, _ = price_rises(cells, scratch, price, furthest, 10**7)
            rise[rise < 1e-12] = 0.0
            price, furthest = price + rise, np.where(rise > 0, np.maximum(top - price - rise, 0.0), 0.0)
        full = price >= top - 1e-9
        for node in np.ndindex(*(len(levels) for levels in lifts)):
            lifted = [tuple(int(lifts[a][level][row[a]]) for a, level in enumerate(node)) for row in codes]
            for cell in set(lifted):
                inside = [i for i, own in enumerate(lifted) if own == cell]
                if cells.copies[inside].sum() < cells.least or not holds(inside):
                    continue
                limit = cells.least * sum(costs[a][level][cell[a]] for a, level in enumerate(node))
                dearest = np.sort(np.repeat(price[inside], cells.copies[inside]))[::-1][: cells.least].sum()
                assert dearest <= limit + 1e-9
                full[inside] |= dearest >= limit - 1e-6
        assert full.all()
        rose += bool((price > before + 1e-6).any())
    assert rose > trials // 10


@pytest.mark.parametrize("others", [1, 2, 7, 40])
def test_nearest_rows_equal_all_pairs(others):
    """Compare with the distances of all pairs.

    Each row counts as often as it occurs in the table; some tables have too small a number of rows.
    """
    rng = np.random.default_rng(others)
    for _ in range(10):
        points = rng.integers(0, 9, (int(rng.integers(1, 60)), 2)) / 4
        points, count = np.unique(points, axis=0, return_counts=True)
        top = np.asarray([1.0, 9.0])
        boxes, order = make_boxes(points, count)
        found = np.zeros(len(points))
        nearest_row_distances(boxes, top, others, found)
        for position, row in enumerate(order):
            away = np.repeat(np.minimum(np.abs(points - points[row]), top).sum(axis=1), count)
            nearest = np.sort(away)[1:]  # the first is the row itself
            assert found[position] == (nearest[others - 1] if len(nearest) >= others else np.inf)


def test_excessive_work_is_reported_and_divided():
    rng = np.random.default_rng(9)
    problem = small_problem(rng, MODELS["k"])
    measure = local_measure("ncp", problem.frequencies, problem.ladders, {})
    given = (measure, problem.frequencies, problem.ladders, problem.model, ["ancestor"] * 3, [None] * 3)
    undivided = least_recoding_loss(*given, whole=True)
    cells, *_ = random_cells(rng)
    assert least_costs(cells, make_cell_scratch(cells), 1.0, 0)[1] < 0
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("shoal.bounds.recodings.STEPS", 12)
        patched.setattr("shoal.bounds.recodings.STEPS_PER_ITEM", 0)
        divided = least_recoding_loss(*given, whole=True)
    assert 0 <= divided <= undivided


def test_loss_of_a_bound_is_that_of_the_published_groups():
    rng = np.random.default_rng(10)
    for method in (TopDown(), TopDown("distortion-ratio"), Mondrian(ranges="exact"), Refine(loss="granularity")):
        problem = small_problem(rng, MODELS["k"], rows=40)
        recoding = method.decide(problem)
        bound = method.lower_bound(problem, recoding)
        label_kinds = ["ancestor"] * 3
        measure = local_measure(method.loss, problem.frequencies, problem.ladders, method.weights)
        assert bound.loss == pytest.approx(
            recoding_loss(measure, problem.frequencies, problem.ladders, recoding, label_kinds)
        )
        assert 0 <= bound.lower_bound <= bound.loss
        if (facts := recoding.facts.to_dict()).get("loss_after") is not None:
            assert bound.loss == pytest.approx(facts["loss_after"], rel=1e-12)


def test_bound_is_rounded_down():
    assert rounded_down(0.3) < 0.3
    assert rounded_down(-1e-20) == 0.0
    assert Bound("ncp", 0.5, rounded_down(0.5)).optimal
    assert not Bound("ncp", 0.5 + 1e-10, rounded_down(0.5)).optimal


def test_bound_above_the_loss_is_an_error():
    assert Bound("ncp", 0.5, 0.5 * (1 + 1e-10)).to_dict()["lower_bound"] == 0.5  # by rounding alone
    with pytest.raises(ShoalError, check=has_code("verification.loss-below-bound")):
        Bound("ncp", 0.5, 0.500001).to_dict()
    with pytest.raises(ShoalError):
        Bound("ncp", 0.0, 1e-9).to_dict()


# -- bounds in certificates --------------------------------------------------------------------------------------------

REGION_SCHEMA = Schema({"place": Column(Role.QUASI_IDENTIFIER, Tree({"north": list("abcd"), "south": list("efgh")}))})


def test_optimum_is_reported_as_proven():
    table = pa.table({"place": list("abcdefgh")})
    release = shoal.anonymize(table, shoal.Plan(REGION_SCHEMA, (KAnonymity(4),), Refine()))
    assert release.search["optimal"] is True
    assert release.figures["bound"]["loss"] == pytest.approx(3 / 7)
    assert "no release of this kind can lose less: this is proven" in " ".join(str(release).split())


def test_gap_is_reported_and_rounded_down():
    """Report a lower bound that is never above the proven one.

    One of eight is in the north: three of the south must be generalized with it, or the group of all.
    """
    table = pa.table({"place": list("eeeeeeea")})
    quick = shoal.anonymize(table, shoal.Plan(REGION_SCHEMA, (KAnonymity(4),), TopDown())).figures["bound"]
    assert quick["lower_bound"] == pytest.approx(1 / 8)  # each row by itself: takes no longer than the cutting
    release = shoal.anonymize(table, shoal.Plan(REGION_SCHEMA, (KAnonymity(4),), TopDown(quality="good")))
    bound = release.figures["bound"]
    assert bound["loss"] == quick["loss"] == pytest.approx(0.5)
    assert bound["lower_bound"] == pytest.approx(0.5)
    assert release.to_dict()["lower_bound"] == bound["lower_bound"]
    certificate = {"bound": {"measure": "ncp", "loss": 0.5, "lower_bound": 0.17999, "optimal": False}}
    assert "no release of this kind can lose less than 0.1799." in " ".join(
        shoal.results.release.bound_sentences(certificate)
    )


def test_reported_geometric_mean_has_a_bound():
    rng = np.random.default_rng(11)
    columns = {name: [str(rng.choice(leaves)) for _ in range(60)] for name, leaves in LEAVES.items()}
    schema = Schema({name: SCHEMA.columns[name] for name in LEAVES})
    release = shoal.anonymize(pa.table(columns), shoal.Plan(schema, (KAnonymity(3),), Refine()))
    assert 0 < release.figures["bound"]["reported"]["ncp"] <= release.utility["ncp"]


def test_suppressed_row_loses_nothing_in_a_constant_column():
    table = pa.table({"x": ["a"] * 40 + ["b"] * 40 + ["c"], "same": ["u"] * 81})
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER) for name in ("x", "same")})
    start = {"name": "full-domain", "suppression": 0.1}
    release = shoal.anonymize(table, shoal.Plan(schema, (KAnonymity(5),), Refine(start=start)))
    bound = release.figures["bound"]
    assert release.figures["suppressed"] == 1
    assert bound["loss"] == pytest.approx(1 / 81 / 2)
    assert 0 < bound["reported"]["ncp"] <= release.utility["ncp"]


def test_blocks_have_no_bound():
    numbers = pa.table({"x": [float(i * i) for i in range(60)]})
    schema = Schema({"x": Column(Role.QUASI_IDENTIFIER)})
    for block, has_bound in ((None, True), (60, True), (20, False)):  # blocks may be on several machines
        release = shoal.anonymize(numbers, shoal.Plan(schema, (KAnonymity(2),), shoal.methods.Mdav(block=block)))
        assert ("bound" in release.figures) is has_bound
