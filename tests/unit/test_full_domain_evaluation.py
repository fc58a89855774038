"""Compiled evaluation of a node's groups against the models.

Also the predictions of a node for finer ones.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods import FullDomain, Problem
from shoal.methods.base import row_limit, suppress_failing
from shoal.methods.full_domain import exhaustive
from shoal.methods.full_domain.judging import GroupEvaluator
from shoal.methods.full_domain.lattice import NodeEvaluator
from shoal.models import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
    combine,
)
from shoal.schema import Categories, Column, Role, Schema, Table, Tree
from shoal.table import read_frequency_set, recode_codes

VALUES = ("a", "b", "c", "d", "e")
LEAVES = ("0", "1", "2", "3")
HIERARCHY = Table(tuple((leaf, "low" if leaf < "2" else "high", "*") for leaf in LEAVES))
SENSITIVE = Column(
    Role.SENSITIVE,
    hierarchy=Tree({"x": ["a", "b"], "y": ["c", "d", "e"]}),
    categories=Categories((("a", "b"), ("c",), ("d", "e"))),
    order=VALUES,
)
# bounds that small groups often meet exactly: floating point cannot decide there
MODELS = {
    "distinct": (LDiversity(2),),
    "entropy": (LDiversity(2, "entropy"),),
    "recursive": (LDiversity(2, "recursive", 1.5),),
    "share": (AlphaK(0.5, 2),),
    "third": (AlphaK("1/3", 2, "s"),),
    "equal": (TCloseness(0.25),),
    "equal and k": (KAnonymity(2), TCloseness(0.2, column="s")),
    "ordered": (TCloseness(0.25, "ordered"),),
    "hierarchical": (TCloseness(0.25, "hierarchical"),),
    "delta": (DeltaDisclosure(1.0, "ignored"),),
    "delta, all": (DeltaDisclosure(2.0, column="s"),),
    "beta": (BetaLikeness(1),),
    "beta, enhanced": (BetaLikeness(1, "enhanced"),),
    "p": (KAnonymity(2), PSensitive(2)),
    "p alpha": (PAlphaSensitive(2, 1.5),),
    "p+ alpha and t": (PPlusAlphaSensitive(2, 1, "s"), TCloseness(0.4, column="t")),
}
cells = st.one_of(st.none(), st.sampled_from(VALUES))
rows = st.tuples(st.sampled_from(LEAVES), st.sampled_from(LEAVES), st.sampled_from(VALUES), cells)
tables = st.lists(rows, min_size=2, max_size=30)


def bind(table, models):
    quasi = {name: Column(Role.QUASI_IDENTIFIER, HIERARCHY) for name in "pq"}
    schema = Schema({**quasi, "s": SENSITIVE, "t": SENSITIVE})
    columns = {name: pa.array([row[j] for row in table], pa.string()) for j, name in enumerate("pqst")}
    with DuckDBEngine(threads=1) as engine:
        frequencies = read_frequency_set(engine, engine.read(Source(frame=pa.table(columns))), schema)
        return Problem(frequencies, frequencies.ladders(schema), combine(models))


def by_the_models(problem, node):
    """Suppressed rows and sizes of the remaining groups.

    Evaluated by the models themselves.
    """
    frequencies = problem.frequencies
    inverse, groups = frequencies.group(*recode_codes(frequencies.codes, problem.ladders, node))
    _, rest = suppress_failing(frequencies, inverse, groups.count, problem.model)
    return frequencies.rows - rest.rows, rest.size


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=12)
@given(tables, st.sampled_from([0.0, 0.1, 0.3, 0.6]), st.randoms(use_true_random=False))
def test_evaluation_equals_the_models_in_any_order(name, table, suppression, random):
    problem = bind(table, MODELS[name])
    assert GroupEvaluator.supports(problem)
    limit = row_limit(suppression, len(table))
    nodes = list(itertools.product(range(3), repeat=2))
    expected = {node: by_the_models(problem, node) for node in nodes}
    method = FullDomain(loss="discernibility")
    evaluator = NodeEvaluator(problem, method.measure(problem))
    random.shuffle(nodes)
    for node in nodes:
        figures = evaluator.look(node, limit)
        left_out, sizes = expected[node]
        assert (figures.suppressed <= limit) == (left_out <= limit)
        if left_out <= limit:
            assert (figures.suppressed, figures.groups) == (left_out, len(sizes))
            assert figures.loss == float((sizes.astype(float) ** 2).sum()) + float(left_out) * len(table)
        finer = [one for one in nodes if all(a <= b for a, b in zip(one, node, strict=True))]
        if figures.certain > limit:
            assert all(expected[one][0] > limit for one in finer)
        else:
            assert all(expected[one][0] >= figures.certain for one in finer if expected[one][0] <= limit)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=6)
@given(tables, st.sampled_from([0.0, 0.1, 0.3]), st.sampled_from([0.2, 0.5, 0.8]))
def test_search_by_rules_equals_search_by_models(name, table, suppression, gs):
    problem = bind(table, MODELS[name])
    method = FullDomain(suppression=suppression, gs=gs)
    bounds = method.bounds(problem)
    found = exhaustive.find_optimum(problem, method.measure(problem), suppression, *bounds)
    minimal = exhaustive.minimal_nodes(problem, method.measure(problem), suppression, *bounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GroupEvaluator, "supports", lambda problem: False)
        expected = exhaustive.find_optimum(problem, method.measure(problem), suppression, *bounds)
        least = exhaustive.minimal_nodes(problem, method.measure(problem), suppression, *bounds)
    assert [one.node for one in minimal] == [one.node for one in least]
    assert [one.loss for one in minimal] == pytest.approx([one.loss for one in least], abs=1e-12)
    assert (found.best is None) == (expected.best is None)
    if found.best is not None:
        assert found.best.loss == pytest.approx(expected.best.loss, abs=1e-12)
        assert (found.proven, expected.proven) == (True, True)
        ties = math.isclose(found.best.loss, expected.best.loss, abs_tol=1e-12)
        assert found.best.node == expected.best.node or ties


def test_coarse_node_predicts_failing_finer_nodes():
    """One evaluation rules out all finer nodes.

    Half of the rows are one kind, half another: a node that separates them must suppress nearly all rows.
    """
    table = [(leaf, "0", "a" if leaf < "2" else "b", None) for leaf in LEAVES for _ in range(25)]
    problem = bind(table, (TCloseness(0.2, column="s"),))
    evaluator = NodeEvaluator(problem, FullDomain().measure(problem))
    assert evaluator.predicts_finer_failure
    # groups are at 0.5, shares may differ by 0.05 from the known ones: 50 (0.5 - 0.2 - 0.05) / 0.8, rounded up
    assert evaluator.look((1, 2), 5).certain == 16
    assert evaluator.look((2, 2), 5).certain == 0


def test_model_without_exact_rules_is_evaluated_directly():
    class Foreign(TCloseness):
        rules_are_exact = False

    problem = bind([("0", "0", "a", "a"), ("1", "1", "b", "b")], (KAnonymity(2), Foreign(0.5)))
    assert not GroupEvaluator.supports(problem)
    figures = NodeEvaluator(problem, FullDomain().measure(problem)).look((2, 2), 0)
    assert (figures.suppressed, figures.groups) == (0, 1)


def test_loss_above_the_limit_needs_no_histograms():
    random = np.random.default_rng(2)
    table = [(str(a), str(b), VALUES[c], None) for a, b, c in random.integers(0, 4, (60, 3))]
    problem = bind(table, (KAnonymity(3), LDiversity(2, column="s")))
    evaluator = NodeEvaluator(problem, FullDomain().measure(problem))
    plain = evaluator.look((1, 1), 60)
    assert 0 < plain.loss < math.inf
    assert evaluator.look((1, 1), 60, plain.loss).loss == plain.loss
    assert evaluator.look((2, 2), 60, plain.loss).loss == math.inf
