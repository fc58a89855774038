"""The full-domain search against brute force over every node.

Also against ARX's optima for Adult.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods import FullDomain, Problem
from shoal.methods.full_domain import exhaustive
from shoal.methods.full_domain.greedy import GreedySearch
from shoal.methods.full_domain.lattice import NodeEvaluator
from shoal.models import (
    AlphaK,
    DeltaDisclosure,
    KAnonymity,
    LDiversity,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
    combine,
)
from shoal.schema import Categories, Column, Role, Schema, Table, Widths
from shoal.table import read_frequency_set
from shoal.utility.measures import MEASURES
from tests.reference import full_domain as slow
from tests.reference import models as slow_models

LEAVES = ["a", "b", "c", "d", "e", "f"]
SECRETS = ["u", "v", "w", "x"]
CLASSES = (("u",), ("v", "w"), ("x",))


@st.composite
def hierarchies(draw):
    """Labels of every leaf, level by level.

    Each level is a coarsening of the one below; `*` is on top.
    """
    leaves = LEAVES[: draw(st.integers(2, 6))]
    columns = [list(leaves)]
    for level in range(draw(st.integers(0, 2))):
        names = sorted(set(columns[-1]))
        joined = {name: f"L{level}-{draw(st.integers(0, max(len(names) // 2, 1)))}" for name in names}
        columns.append([joined[name] for name in columns[-1]])
    columns.append(["*"] * len(leaves))
    return {leaf: tuple(column[i] for column in columns) for i, leaf in enumerate(leaves)}


@st.composite
def problems(draw):
    ladders = draw(st.lists(hierarchies(), min_size=1, max_size=3))
    row = st.tuples(st.tuples(*(st.sampled_from(sorted(h)) for h in ladders)), st.sampled_from(SECRETS))
    return ladders, draw(st.lists(row, min_size=2, max_size=24))


def bind(ladders, table, models):
    names = [f"q{j}" for j in range(len(ladders))]
    columns = {name: [values[j] for values, _ in table] for j, name in enumerate(names)}
    schema = Schema(
        {name: Column(Role.QUASI_IDENTIFIER, Table(tuple(h.values()))) for name, h in zip(names, ladders, strict=True)}
        | {"s": Column(Role.SENSITIVE, categories=Categories(CLASSES))}
    )
    with DuckDBEngine(threads=1) as engine:
        relation = engine.read(Source(frame=pa.table({**columns, "s": [secret for _, secret in table]})))
        frequencies = read_frequency_set(engine, relation, schema)
        return Problem(frequencies, frequencies.ladders(schema), combine(models))


MODELS = {
    "k": ((KAnonymity(3),), lambda group, table: len(group) >= 3),
    "k and p": (
        (KAnonymity(2), PSensitive(2)),
        lambda group, table: len(group) >= 2 and slow_models.p_sensitive(group, 2),
    ),
    "p alpha": ((PAlphaSensitive(2, 1),), lambda group, table: slow_models.p_alpha(group, 2, 1, CLASSES)),
    "p+ alpha": ((PPlusAlphaSensitive(2, 1.5),), lambda group, table: slow_models.p_plus_alpha(group, 2, 1.5, CLASSES)),
    "entropy": ((KAnonymity(2), LDiversity(1.8, "entropy")),
                lambda group, table: len(group) >= 2 and slow_models.entropy_diverse(group, 1.8)),
    "t": ((TCloseness(0.4),),
          lambda group, table: 10 * slow_models.t_distance(group, table, slow_models.equal_cost) <= 4),
    "alpha k": ((AlphaK(0.6, 2),), lambda group, table: slow_models.alpha_k(group, 0.6, 2)),
    "delta": ((DeltaDisclosure(1.5, "ignored"),),
              lambda group, table: slow_models.delta_disclosed(group, table, 1.5, True)),
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("measure", MEASURES)
@settings(max_examples=12)
@given(problems(), st.sampled_from([0, 0.1, 0.25, 0.5]))
def test_same_optimum_as_brute_force(model, measure, problem, suppression):
    ladders, table = problem
    models, holds = MODELS[model]
    bound = bind(ladders, table, models)
    method = FullDomain(loss=measure, suppression=suppression)
    lowest, highest = method.bounds(bound)
    found = exhaustive.find_optimum(bound, method.measure(bound), suppression, lowest, highest)
    limit = int(slow_models.Fraction(str(suppression)) * len(table))
    domains = [sorted(h) for h in ladders]
    expected = slow.solutions(measure, table, ladders, domains, holds, limit)
    if not expected:
        assert found.best is None
        return
    assert found.best is not None
    assert found.proven
    assert found.best.node in expected
    assert found.best.loss == pytest.approx(min(expected.values()), abs=1e-12)
    assert found.best.loss == pytest.approx(expected[found.best.node], abs=1e-12)


@pytest.mark.parametrize("measure", ["ncp", "precision", "distortion-ratio"])
@pytest.mark.parametrize("large", [False, True])
@settings(max_examples=40)
@given(
    problems(), st.sampled_from(["k", "k and p", "t"]), st.sampled_from([0.2, 0.5]), st.sampled_from([0, 0.2, 0.8, 1])
)
def test_same_optimum_with_other_costs_of_suppressed_rows(measure, large, problem, model, suppression, gs):
    ladders, table = problem
    models, holds = MODELS[model]
    bound = bind(ladders, table, models)
    method = FullDomain(loss=measure, suppression=suppression, gs=gs)
    lowest, highest = method.bounds(bound)
    with pytest.MonkeyPatch.context() as patch:
        if large:
            patch.setattr(exhaustive, "LARGEST_LATTICE", 0)
        found = exhaustive.find_optimum(bound, method.measure(bound), suppression, lowest, highest)
    limit = int(slow_models.Fraction(str(suppression)) * len(table))
    expected = slow.solutions(measure, table, ladders, [sorted(h) for h in ladders], holds, limit, gs)
    assert (found.best is None) == (not expected)
    if expected:
        assert found.proven
        assert found.best.loss == pytest.approx(min(expected.values()), abs=1e-12)
        assert found.best.loss == pytest.approx(expected[found.best.node], abs=1e-12)


def test_interrupted_search_has_a_valid_bound(monkeypatch):
    """Interrupt the search of a large lattice at every evaluation.

    The bound covers the nodes that were not evaluated.
    """
    random = np.random.default_rng(1)
    names = ("q0", "q1")
    schema = Schema({name: Column(Role.QUASI_IDENTIFIER, Widths((2, 4, 8))) for name in names})
    schema = Schema({**schema.columns, "s": Column(Role.SENSITIVE)})
    columns = {name: random.integers(0, 16, 40) for name in names}
    with DuckDBEngine(threads=1) as engine:
        relation = engine.read(Source(frame=pa.table({**columns, "s": random.choice(list("uvw"), 40)})))
        frequencies = read_frequency_set(engine, relation, schema)
    problem = Problem(frequencies, frequencies.ladders(schema), combine((TCloseness(0.3),)))
    method = FullDomain(suppression=0.1)
    bounds = method.bounds(problem)
    monkeypatch.setattr(exhaustive, "LARGEST_LATTICE", 0)
    best = exhaustive.find_optimum(problem, method.measure(problem), 0.1, *bounds)
    assert best.proven
    look = NodeEvaluator.look
    interrupted = 0
    for last in range(2, best.seen):

        def stop(evaluator, node, *bounds, last=last):
            if evaluator.seen == last:
                raise KeyboardInterrupt
            return look(evaluator, node, *bounds)

        monkeypatch.setattr(NodeEvaluator, "look", stop)
        try:
            found = exhaustive.find_optimum(problem, method.measure(problem), 0.1, *bounds, interruptible=True)
        except KeyboardInterrupt:  # no solution was found yet
            continue
        interrupted += 1
        assert found.lower_bound <= best.best.loss
        assert not found.proven or found.best.loss == best.best.loss
    assert interrupted


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=25)
@given(problems(), st.sampled_from([0, 0.2]))
def test_same_minimal_recodings_as_brute_force(model, problem, suppression):
    ladders, table = problem
    models, holds = MODELS[model]
    bound = bind(ladders, table, models)
    method = FullDomain(suppression=suppression)
    lowest, highest = method.bounds(bound)
    found = exhaustive.minimal_nodes(bound, method.measure(bound), suppression, lowest, highest)
    limit = int(slow_models.Fraction(str(suppression)) * len(table))
    expected = slow.solutions("ncp", table, ladders, [sorted(h) for h in ladders], holds, limit)
    assert [figures.node for figures in found] == slow.minimal(expected)
    for figures in found:
        assert figures.loss == pytest.approx(expected[figures.node], abs=1e-12)


@settings(max_examples=40)
@given(problems(), st.sampled_from(["k", "k and p", "t"]), st.sampled_from(["ncp", "entropy", "discernibility"]))
def test_finished_search_of_a_large_lattice_is_optimal(problem, model, measure):
    """Run the search for lattices that do not fit in memory on small ones."""
    ladders, table = problem
    models, holds = MODELS[model]
    bound = bind(ladders, table, models)
    method = FullDomain(loss=measure, suppression=0.2)
    lowest, highest = method.bounds(bound)
    evaluator = NodeEvaluator(bound, method.measure(bound))
    large = exhaustive.LargeSearch(evaluator, 0.2, lowest, highest, 1, None)
    large.run()
    limit = int(slow_models.Fraction("0.2") * len(table))
    expected = slow.solutions(measure, table, ladders, [sorted(h) for h in ladders], holds, limit)
    assert (large.best is None) == (not expected)
    if expected:
        assert large.best.loss == pytest.approx(min(expected.values()), abs=1e-12)
        assert large.remaining_bound() >= large.best.loss


@given(st.integers(1, 6), st.data())
def test_greedy_start_is_a_local_minimum(columns, data):
    """The start from the top is a solution with no solution one step below.

    Solutions are all nodes above some node or another, as with models that survive unions.
    """
    highest = tuple(data.draw(st.integers(0, 3)) for _ in range(columns))
    below = [tuple(data.draw(st.integers(0, high)) for high in highest) for _ in range(data.draw(st.integers(1, 4)))]
    losses = [np.cumsum([data.draw(st.integers(0, 9)) for _ in range(high + 1)]).astype(float) for high in highest]
    seen = {}

    def try_node(node):
        assert all(0 <= level <= high for level, high in zip(node, highest, strict=True))
        if any(all(a >= b for a, b in zip(node, one, strict=True)) for one in below):
            seen[node] = sum(losses[j][level] for j, level in enumerate(node))
        return seen.get(node)

    search = GreedySearch((0,) * columns, highest, losses, [loss.max() - loss for loss in losses])
    for _ in search.start(try_node, lambda: False):
        pass
    best = min(seen, key=lambda node: (seen[node], sum(node)))
    for j, level in enumerate(best):
        assert (
            level == 0
            or try_node((*best[:j], level - 1, *best[j + 1 :])) is None
            or losses[j][level] == losses[j][level - 1]
        )


def test_greedy_start_without_time_evaluates_only_the_top():
    search = GreedySearch((0, 0), (2, 2), [np.arange(3.0)] * 2, [np.arange(3.0)] * 2)
    seen = []
    assert list(search.start(lambda node: seen.append(node) or 1.0, bool))[-1] == (2, 2)
    assert set(seen) > {(2, 2)}
    late = []
    list(search.explore(lambda node: late.append(node) or 1.0, lambda: True))
    assert late == [(2, 2)]


@given(problems())
def test_level_bounds_are_respected(problem):
    ladders, table = problem
    bound = bind(ladders, table, (KAnonymity(2),))
    top = bound.ladders[0].height
    method = FullDomain(levels={"q0": (1, top)}, suppression=0.5)
    lowest, highest = method.bounds(bound)
    found = exhaustive.find_optimum(bound, method.measure(bound), 0.5, lowest, highest)
    assert found.best is None or 1 <= found.best.node[0] <= top
    fixed = FullDomain(levels={"q0": top}, suppression=1.0)
    lowest, highest = fixed.bounds(bound)
    assert lowest[0] == highest[0] == top


def test_aggregates_and_weights():
    ladders = [{"a": ("a", "*"), "b": ("b", "*")}, {"a": ("a", "*"), "b": ("b", "*")}]
    table = [(("a", "a"), "u"), (("a", "b"), "v"), (("b", "a"), "w"), (("b", "b"), "x")]
    bound = bind(ladders, table, (KAnonymity(2),))
    assert exhaustive.find_optimum(bound, FullDomain().measure(bound), 0, (0, 0), (1, 1)).best.node == (0, 1)
    heavy = FullDomain(weights={"q1": 2.0})
    assert exhaustive.find_optimum(bound, heavy.measure(bound), 0, (0, 0), (1, 1)).best.node == (1, 0)
    for aggregate, loss in {"sum": 1.0, "mean": 0.5, "maximum": 1.0, "geometric": 2**0.5 - 1}.items():
        measure = FullDomain(aggregate=aggregate).measure(bound)
        assert exhaustive.find_optimum(bound, measure, 0, (0, 0), (1, 1)).best.loss == pytest.approx(loss)


NAMES = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


def adult(folder, sensitive=(), extra=()):
    home = folder / "adult"
    files = {name: "salary" if name == "salary-class" else name for name in (*NAMES, *extra)}
    columns = {
        name: {"role": "quasi-identifier", "hierarchy": {"csv": str(home / "hierarchies" / "arx" / f"{file}.csv")}}
        for name, file in files.items()
    }
    for name in ("occupation", "salary-class"):
        if name not in columns:
            columns[name] = {"role": "sensitive" if name in sensitive else "other"}
    return {"source": {"path": str(home / "adult-arx.csv")}, "columns": columns}


# measured with ARX 3.9.2 on the same files: loss (gs 0.5, geometric mean), levels, suppressed records
ARX = [
    ([{"name": "k-anonymity", "k": 5}], 0, (0, 4, 0, 1, 3, 2, 2), 0.56439, 0),
    ([{"name": "k-anonymity", "k": 4}, {"name": "l-diversity", "l": 2}], 0, (0, 4, 1, 0, 2, 2, 2), 0.55383, 0),
    ([{"name": "k-anonymity", "k": 5}], 0.02, (0, 3, 0, 1, 2, 1, 1), 0.22600, 552),
    ([{"name": "k-anonymity", "k": 5}], 0.05, (0, 3, 0, 0, 1, 1, 1), 0.17081, 1458),
]


@pytest.mark.parametrize(("models", "suppression", "node", "loss", "suppressed"), ARX)
def test_optima_of_adult_equal_arx(shared_data, tmp_path, models, suppression, node, loss, suppressed):
    document = adult(shared_data, ("occupation",))
    document |= {
        "models": models,
        "method": {"name": "full-domain", "suppression": suppression},
        "output": {"path": str(tmp_path / "released.csv")},
    }
    figures = shoal.release(document).figures
    assert tuple(figures["levels"].values()) == node
    assert figures["loss"]["ncp"] == pytest.approx(loss, abs=1e-5)
    assert figures["suppressed"] == suppressed
    assert figures["method"]["optimal"] is True


def test_optimum_of_adult_with_nine_columns_equals_arx(shared_data, tmp_path):
    document = adult(shared_data, extra=("occupation", "salary-class"))
    document |= {"models": [{"name": "k-anonymity", "k": 5}], "output": {"path": str(tmp_path / "r.parquet")}}
    figures = shoal.release(document).figures
    assert figures["method"]["name"] == "full-domain"  # the default
    assert figures["loss"]["ncp"] == pytest.approx(0.57315, abs=1e-5)
    assert figures["method"]["lattice_nodes"] == 12960


def test_minimal_recodings_of_the_patients(tmp_path):
    """The finest recodings with groups of four, found by hand.

    Names are dropped.
    """
    from shoal.datasets.patients import FOLDER

    plan = shoal.Plan.read(FOLDER / "patients.toml")
    plan = shoal.Plan(plan.schema, (shoal.models.KAnonymity(4), shoal.models.PSensitive(2)), FullDomain(), plan.source)
    found = shoal.methods.full_domain.minimal_recodings(plan)
    assert [one.levels for one in found] == [{"age": 1, "country": 1, "zip": 2}]
    assert (found[0].groups, found[0].exposed_groups, found[0].exposed_rows) == (3, 2, 8)  # Table 5 of the papers
    strict = shoal.Plan(
        plan.schema, (shoal.models.KAnonymity(4), shoal.models.PPlusAlphaSensitive(2, 2)), FullDomain(), plan.source
    )
    assert all(one.exposed_rows == 0 for one in shoal.methods.full_domain.minimal_recodings(strict))


def test_section_6_similarity_attack(shared_data):
    """The claims of the paper for p = 2, k = 4, α = 2 on 45,222 rows.

    The sensitive column is drawn at random. The paper counts 21 / 30 / 28 minimal tables, 13 / 7 / 3 of them
    vulnerable. Its hierarchies are not published; a (2+, ·) table cannot be vulnerable, and with ours the other models
    leave no vulnerable table either.
    """
    import numpy as np

    from shoal.datasets.patients import CATEGORIES

    names = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
    positions = (0, 1, 3, 5, 8, 9, 13)
    rows = []
    for file in ("adult.data", "adult.test"):
        for line in (shared_data / "adult" / file).read_text().splitlines():
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) == 15 and "?" not in cells:
                rows.append([cells[position] for position in positions])
    assert len(rows) == 45222
    values = [value for category in CATEGORIES.classes for value in category]
    draw = np.random.default_rng(1).integers(0, len(values), len(rows))
    columns = {name: [row[j] for row in rows] for j, name in enumerate(names)}
    table = pa.table({**columns, "condition": [values[code] for code in draw]})
    home = shared_data / "adult" / "hierarchies" / "paper"
    schema = Schema(
        {name: Column(Role.QUASI_IDENTIFIER, shoal.schema.read_table(home / f"{name}.csv")) for name in names}
        | {"condition": Column(Role.SENSITIVE, categories=CATEGORIES)}
    )
    counts = {}
    for name, model in {
        "p": PSensitive(2),
        "p alpha": PAlphaSensitive(2, 2),
        "p+ alpha": PPlusAlphaSensitive(2, 2),
    }.items():
        found = shoal.methods.full_domain.minimal_recodings(
            shoal.Plan(schema, (KAnonymity(4), model), FullDomain()), table
        )
        counts[name] = (len(found), sum(one.exposed_groups > 0 for one in found))
    assert counts["p"][0] == 22
    assert 16 <= counts["p alpha"][0] <= 24  # 19.6 on average over 20 seeds
    assert 16 <= counts["p+ alpha"][0] <= 24
    assert [vulnerable for _, vulnerable in counts.values()] == [0, 0, 0]


def test_preloaded_kernels_are_those_of_the_search():
    """Runs in a separate process: other tests compile variants."""
    code = (
        "import shoal, pyarrow as pa\n"
        "from shoal.methods.full_domain import exhaustive\n"
        "from shoal.methods.full_domain.kernels import lattice as kernels\n"
        "called = [getattr(kernels, name) for name in ('next_open', 'rising_path', 'tag_box', 'roll_up',"
        " 'released_figures')]\n"
        "exhaustive.load_kernels()\n"
        "before = [len(kernel.signatures) for kernel in called]\n"
        "columns = {name: shoal.Column(shoal.Role.QUASI_IDENTIFIER) for name in 'ab'}\n"
        "method = shoal.methods.FullDomain(suppression=0.5)\n"
        "plan = shoal.Plan(shoal.schema.Schema(columns), (shoal.models.KAnonymity(2),), method)\n"
        "shoal.anonymize(pa.table({'a': list('xxyyz'), 'b': list('uvuvu')}), plan)\n"
        "assert before == [len(kernel.signatures) for kernel in called] == [1] * 5, before\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
