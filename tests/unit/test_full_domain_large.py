"""Search of lattices that are too large for a complete search.

Covers evaluations of group sizes, boxes of nodes, and the results of one and two threads.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from benchmarks.wide_lattices import lightning, wide_table
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.methods import FullDomain
from shoal.methods.full_domain import exhaustive
from shoal.methods.full_domain.branch_and_bound import Sizes
from shoal.methods.full_domain.kernels import branch_and_bound
from shoal.methods.full_domain.lattice import NodeEvaluator
from shoal.runtime.threads import limit_threads
from tests.reference import full_domain as slow


@settings(max_examples=20)
@given(st.integers(0, 1000), st.integers(2, 9), st.data())
def test_group_sizes_by_keys(seed, least, data):
    """Rows in small groups by keys equal the reference and exact evaluation."""
    problem = wide_table(150, (6, 4, 9, 3), (2, 2, 3, 1), least, seed)
    measure = FullDomain().measure(problem)
    sizes, exact = Sizes(problem, measure, least), NodeEvaluator(problem, measure)
    for _ in range(6):
        node = tuple(data.draw(st.integers(0, ladder.height)) for ladder in problem.ladders)
        frequencies = problem.frequencies
        codes = [ladder.codes[level][frequencies.codes[:, a]] for a, (ladder, level) in
                 enumerate(zip(problem.ladders, node, strict=True))]  # fmt: skip
        small = sizes.small(np.asarray(node))
        assert small == slow.rows_in_small_groups(np.stack(codes, axis=1).tolist(), frequencies.count.tolist(), least)
        figures = exact.look(node, 150)
        assert figures.suppressed == small
        assert sizes.loss(small) == pytest.approx(figures.loss, abs=1e-12)


@settings(max_examples=60)
@given(st.data())
def test_boxes_cover_open_nodes_once(data):
    """Boxes cover every node once that is not below a failing node."""
    highest = tuple(data.draw(st.integers(0, 3)) for _ in range(data.draw(st.integers(1, 4))))
    node = st.tuples(*(st.integers(0, high) for high in highest))
    failed = data.draw(st.lists(node, max_size=5))
    known, rows = 0, np.zeros((8, len(highest)), np.int16)
    for one in failed:
        known = branch_and_bound.add_failed(rows, known, np.asarray(one))
        assert branch_and_bound.covers(rows, known, np.asarray(one))
    for one in itertools.product(*(range(high + 1) for high in highest)):
        assert branch_and_bound.covers(rows, known, np.asarray(one)) == (
            one not in slow.not_below([0] * len(one), highest, failed)
        )
    steps = np.asarray([data.draw(st.lists(st.integers(0, 5), min_size=5, max_size=5)) for _ in highest], float)
    parts = np.cumsum(steps, axis=1)
    best = data.draw(st.sampled_from([math.inf, 6.5, 12.5]))
    capacity = 4000
    boxes = branch_and_bound.NodeBoxes(
        np.zeros((capacity, len(highest)), np.int16),
        np.zeros((capacity, len(highest)), np.int16),
        np.zeros(capacity),
        np.arange(capacity, dtype=np.int32),
        np.ones(1, np.int64),
    )
    boxes.high[0] = highest
    boxes.bound[0] = branch_and_bound.bound_of(boxes.low[0], parts, branch_and_bound.ADDED)
    evaluated = set()

    def open_nodes():
        """Return open nodes and their bounds.

        They may be better than the best node, do not fail, and were not evaluated.
        """
        lost = {
            node: sum(parts[a, level] for a, level in enumerate(node))
            for node in slow.not_below([0] * len(highest), highest, failed) - evaluated
        }
        return {node: loss for node, loss in lost.items() if loss < best}

    status = branch_and_bound.MORE if boxes.bound[0] < best else branch_and_bound.DONE
    while status == branch_and_bound.MORE:
        status = branch_and_bound.tighten(boxes, rows, known, parts, branch_and_bound.ADDED, best, 3)
        covered = list(_inside(boxes))
        assert len(set(covered)) == len(covered)
        assert open_nodes().keys() <= set(covered)
        if status == branch_and_bound.LOOK:
            first = boxes.low[boxes.heap[0]].astype(np.int64)
            node = tuple(first.tolist())
            assert open_nodes()[node] == min(open_nodes().values())
            assert boxes.bound[boxes.heap[0]] == pytest.approx(open_nodes()[node], abs=1e-9)
            evaluated.add(node)
            branch_and_bound.split_first(boxes, first, 0.0, parts, branch_and_bound.ADDED, best)
            status = branch_and_bound.MORE
    assert status == branch_and_bound.DONE
    assert not open_nodes()


def _inside(boxes):
    for box in boxes.heap[: boxes.size[0]]:
        ranges = (range(low, high + 1) for low, high in zip(boxes.low[box], boxes.high[box], strict=True))
        yield from itertools.product(*ranges)


def test_full_box_table_ends_only_the_bound(monkeypatch):
    """Without space for boxes the bound stops, and the search goes on."""
    from shoal.methods.full_domain import branch_and_bound

    monkeypatch.setattr(exhaustive, "LARGEST_LATTICE", 0)
    monkeypatch.setattr(branch_and_bound, "MAX_BOXES", 12)
    problem = wide_table(300, (6, 4, 9, 3), (2, 2, 3, 1))
    method = FullDomain(suppression=0.02)
    found = exhaustive.find_optimum(problem, method.measure(problem), 0.02, *method.bounds(problem), 0.5)
    assert found.best is not None
    assert found.lower_bound <= found.best.loss


@pytest.mark.parametrize("threads", [1, 2])
@settings(max_examples=10)
@given(seed=st.integers(0, 1000), loss=st.sampled_from(["ncp", "precision", "entropy", "discernibility"]))
def test_one_thread_or_two_prove_the_same_optimum(threads, seed, loss):
    problem = wide_table(200, (6, 4, 9, 3, 5), (2, 2, 3, 1, 2), 4, seed)
    method = FullDomain(suppression=0.05, loss=loss)
    measure, bounds = method.measure(problem), method.bounds(problem)
    expected = exhaustive.find_optimum(problem, measure, 0.05, *bounds)
    with pytest.MonkeyPatch.context() as patch, limit_threads(threads):
        patch.setattr(exhaustive, "LARGEST_LATTICE", 0)
        found = exhaustive.find_optimum(problem, measure, 0.05, *bounds)
    assert found.proven
    assert expected.proven
    assert found.best.loss == pytest.approx(expected.best.loss, abs=1e-12)
    if loss != "discernibility":
        assert found.best.node == expected.best.node


def test_exception_of_the_bounding_thread_is_raised(monkeypatch):
    from shoal.methods.full_domain import branch_and_bound

    def fails(*_):
        raise MemoryError

    monkeypatch.setattr(exhaustive, "LARGEST_LATTICE", 0)
    monkeypatch.setattr(branch_and_bound, "tighten", fails)
    problem = wide_table(200, (6, 4), (2, 2))
    method = FullDomain()
    with pytest.raises(MemoryError):
        exhaustive.find_optimum(problem, method.measure(problem), 0.0, *method.bounds(problem))


def test_wide_lattice_against_best_first_search():
    """15 columns and 16 million nodes: not worse than best-first search."""
    problem = wide_table(
        600, (12, 9, 6, 5, 8, 7, 4, 10, 6, 3, 9, 5, 4, 3, 6), (3, 3, 2, 2, 3, 2, 2, 3, 2, 1, 3, 2, 1, 1, 2)
    )
    method = FullDomain(suppression=0.02)
    found = exhaustive.find_optimum(problem, method.measure(problem), 0.02, *method.bounds(problem), 1.5)
    assert found.nodes > exhaustive.LARGEST_LATTICE
    ((plain, _),) = lightning(problem, 0.02, [1.5])
    assert found.best.loss <= plain
    assert 0 < found.lower_bound <= found.best.loss
