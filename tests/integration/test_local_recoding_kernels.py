"""Kernels of local recoding against slow definitions.

Covers verdicts, regions, cuts, descent and matching.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.methods.base import Problem
from shoal.models import combine
from shoal.schema import Categories, Column, Role, Schema, Table, Tree
from shoal.table import read_frequency_set
from shoal.table.wildcard_matches import count_certain_candidates
from tests.reference import local_recoding as slow

TOWNS = {"a": ("a", "n", "*"), "b": ("b", "n", "*"), "c": ("c", "s", "*"), "d": ("d", "s", "*"), "e": ("e", "s", "*")}
JOBS = {"x": ("x", "*"), "y": ("y", "*"), "z": ("z", "*")}
COLOURS = {str(i): (str(i), str(i // 2), str(i // 4), "*") for i in range(8)}
HIERARCHIES = (TOWNS, JOBS, COLOURS)
SECRETS = ["u", "v", "w", "x"]
SCHEMA = Schema(
    {
        **{
            name: Column(Role.QUASI_IDENTIFIER, Table(tuple(paths.values())))
            for name, paths in zip(("place", "job", "colour"), HIERARCHIES, strict=True)
        },
        "secret": Column(
            Role.SENSITIVE,
            hierarchy=Tree({"1": ["u", "v"], "2": ["w", "x"]}),
            categories=Categories((("u",), ("v", "w"), ("x",))),
            order=tuple(SECRETS),
        ),
    }
)

MODELS = [
    (shoal.models.KAnonymity(2),),
    (shoal.models.KAnonymity(3), shoal.models.PSensitive(2)),
    (shoal.models.PAlphaSensitive(2, 1),),
    (shoal.models.PPlusAlphaSensitive(2, 1.5),),
    (shoal.models.LDiversity(3),),
    (shoal.models.LDiversity(1.7, "entropy"),),
    (shoal.models.LDiversity(2, "recursive", 2),),
    (shoal.models.TCloseness(0.43),),
    (shoal.models.TCloseness(0.37, "ordered"),),
    (shoal.models.TCloseness(0.41, "hierarchical"),),
    (shoal.models.AlphaK(0.7, 3),),
    (shoal.models.DeltaDisclosure(1.31),),
    (shoal.models.DeltaDisclosure(0.77, "ignored"),),
    (shoal.models.BetaLikeness(1.37),),
    (shoal.models.BetaLikeness(1.37, "enhanced"),),
]

ROWS = st.lists(
    st.tuples(*(st.sampled_from(sorted(paths)) for paths in HIERARCHIES), st.sampled_from([*SECRETS, None])),
    min_size=4,
    max_size=40,
)


def problem_of(rows, models):
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {name: pa.array(values, pa.string()) for name, values in zip(SCHEMA.columns, columns, strict=True)}
    )
    with DuckDBEngine() as engine:
        relation = engine.read(Source(frame=table))
        frequencies = read_frequency_set(engine, relation, SCHEMA)
        ladders = frequencies.ladders(SCHEMA, engine, relation)
    return Problem(frequencies, ladders, combine(models), schema=SCHEMA)


def groups_of(local, pieces):
    """The rows of each group, as text."""
    from shoal.methods.local.publish import share_out

    frequencies = local.problem.frequencies
    groups = [[] for _ in range(len(pieces.start) - 1)]
    for row, group, count in zip(*share_out(local, pieces), strict=True):
        values = tuple(d.text[c] for d, c in zip(frequencies.quasi, frequencies.codes[row], strict=True))
        secret = frequencies.secrets[row, 0]
        known = frequencies.sensitive[0].text[secret] if secret >= 0 else None
        groups[group] += [(*values, known)] * int(count)
    return groups


@pytest.mark.parametrize("models", MODELS, ids=lambda models: " & ".join(map(str, models)))
@settings(max_examples=40)
@given(rows=ROWS, seed=st.integers(0, 2**20))
def test_a_tally_agrees_with_the_exact_models(models, rows, seed):
    from shoal.kernels.rules import group_deficits, make_tally
    from shoal.methods.bind_rules import bind_rules, count_sensitive_values
    from shoal.methods.partition import form_groups

    problem = problem_of(rows, models)
    frequencies = problem.frequencies
    totals = count_sensitive_values(frequencies.domains, frequencies.secrets, frequencies.count)
    bound = bind_rules(problem.model, frequencies.domains, totals)
    rules, columns = bound.rules, bound.columns(frequencies.secrets)
    n = len(problem.frequencies.count)
    group = np.random.default_rng(seed).integers(0, max(1, n // 4), n)
    group = np.unique(group, return_inverse=True)[1].astype(np.int64)
    groups = int(group.max()) + 1
    deficits = group_deficits(rules, make_tally(rules), columns, problem.frequencies.count, group, groups)
    exact = problem.model.assess(form_groups(problem.frequencies, np.arange(n), group, problem.frequencies.count))
    assert ((deficits == 0) == exact.holds).all()


@settings(max_examples=60)
@given(rows=ROWS, seed=st.integers(0, 2**20))
def test_loss_of_a_partition_matches_its_labels(rows, seed):
    from shoal.methods.local.problem import Pieces, make_local_problem
    from shoal.methods.local.search import loss_of

    local = make_local_problem(problem_of(rows, MODELS[1]))
    n = len(local.count)
    group = np.sort(np.unique(np.random.default_rng(seed).integers(0, 5, n), return_inverse=True)[1])
    pieces = Pieces(
        np.arange(n, dtype=np.int64), local.count, np.searchsorted(group, np.arange(group[-1] + 2)).astype(np.int64)
    )
    expected = slow.loss([[row[:3] for row in part] for part in groups_of(local, pieces)], HIERARCHIES)
    assert loss_of(local, pieces) * len(rows) == pytest.approx(expected)


@settings(max_examples=60)
@given(rows=ROWS, k=st.integers(2, 4))
def test_strict_cuts_match_the_slow_search(rows, k):
    from shoal.methods.local.problem import make_local_problem
    from shoal.methods.local.search import cut_pieces

    if len(rows) < k:
        return
    local = make_local_problem(problem_of(rows, (shoal.models.KAnonymity(k),)))
    found = [
        [row[:3] for row in part]
        for part in groups_of(local, cut_pieces(local, local.whole(), strict=True, choose="loss"))
    ]
    table = [row[:3] for row in sorted(rows, key=lambda row: row[:3])]
    expected = slow.strict_top_down(table, HIERARCHIES, lambda group: len(group) >= k, k)
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


@pytest.mark.parametrize("models", MODELS, ids=lambda models: " & ".join(map(str, models)))
@settings(max_examples=25)
@given(rows=ROWS, strict=st.booleans())
def test_cuts_and_descent_keep_the_models_and_all_rows(models, rows, strict):
    from shoal.kernels.rules import group_deficits, make_tally
    from shoal.methods.local.problem import make_local_problem
    from shoal.methods.local.search import cut_pieces, loss_of, refine_pieces

    problem = problem_of(rows, models)
    local = make_local_problem(problem)
    whole = local.whole()
    setting = local.setting

    def deficits_of(pieces):
        groups = len(pieces.start) - 1
        columns = setting.columns[pieces.item]
        return group_deficits(setting.rules, make_tally(setting.rules), columns, pieces.count, pieces.group, groups)

    if deficits_of(whole).any():
        return
    pieces = cut_pieces(local, whole, strict=strict, choose="best")
    assert not deficits_of(pieces).any()
    refined = refine_pieces(local, pieces)
    assert not deficits_of(refined.pieces).any()
    assert loss_of(local, refined.pieces) <= loss_of(local, pieces) + 1e-12
    for found in (pieces, refined.pieces):
        assert (np.bincount(found.item, weights=found.count, minlength=len(local.count)) == local.count).all()
        for low, high in zip(found.start, found.start[1:], strict=False):
            assert len(set(found.item[low:high])) == high - low
    if strict:
        points = [Counter(row[:3] for row in group) for group in groups_of(local, pieces)]
        assert sum(map(len, points)) == len({row[:3] for row in rows})


SMALL_TABLES = st.lists(st.tuples(*(st.sampled_from(sorted(paths)) for paths in HIERARCHIES)), min_size=4, max_size=7)


@settings(max_examples=30)
@given(rows=SMALL_TABLES)
def test_refinement_is_near_the_optimum_of_tiny_tables(rows):
    """Never below the optimum, and not far above it.

    With so few rows it is never more than half the way from the optimum to one group.
    """
    from shoal.methods.local.problem import make_local_problem
    from shoal.methods.local.search import cut_pieces, loss_of, refine_pieces

    local = make_local_problem(problem_of([(*row, "u") for row in rows], (shoal.models.KAnonymity(2),)))
    found = loss_of(
        local, refine_pieces(local, cut_pieces(local, local.whole(), strict=False, choose="best")).pieces
    ) * len(rows)
    least = slow.least_loss(rows, HIERARCHIES, lambda group: len(group) >= 2)
    one_group = slow.loss([rows], HIERARCHIES)
    assert least - 1e-9 <= found <= (least + one_group) / 2 + 1e-9


@settings(max_examples=80)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("ab*"), st.sampled_from("xyz*"), st.sampled_from("12*")), min_size=1, max_size=25
    )
)
def test_rows_matching_for_any_value_of_wildcards(rows):
    distinct = sorted(set(rows))
    values = [sorted({row[j] for row in rows} - {"*"}) for j in range(3)]
    codes = np.asarray(
        [[-1 if v == "*" else values[j].index(v) for j, v in enumerate(row)] for row in distinct], np.int32
    )
    count = np.asarray([rows.count(row) for row in distinct], np.int64)
    expected = dict(zip(rows, slow.certain_rows(rows), strict=True))
    assert count_certain_candidates(codes, count).tolist() == [expected[row] for row in distinct]


def test_order_of_attributes_in_packed_keys():
    """The costliest attribute is first, the given last one at the end."""
    from shoal.methods.local.kernels.nearness import _packed

    one, two, three = (np.asarray(code, np.int64) for code in ([0, 0, 1, 1], [2, 1, 0, 2], [0, 1, 0, 1]))
    keys = [(1.0, 0, one, 2), (5.0, 1, two, 3), (2.0, 2, three, 2)]
    assert _packed(keys, last=1).tolist() == ((three * 2 + one) * 3 + two).tolist()
    assert _packed(keys, last=2).tolist() == ((two * 2 + one) * 2 + three).tolist()
    assert _packed([], last=0).tolist() == []
