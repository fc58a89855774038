"""Models that count people, against independent definitions.

The definitions share no code with the package.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models.by_people import ByPeople
from shoal.schema import Column, Role, Schema
from shoal.table import read_frequency_set
from shoal.table.people import hitting_number
from shoal.verification.independent import differences, evaluate_people
from tests.builders.errors import has_code
from tests.builders.people_models import MODELS, ROWS, SCHEMA, TRIED, everybody_of, read, reference_groups
from tests.reference import people as slow
from tests.reference import unions


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine() as opened:
        yield opened


@settings(max_examples=50)
@given(rows=ROWS)
def test_models_by_people_match_definitions_and_verification(engine, rows):
    """Compare models by people with definitions and with verification."""
    table = read(engine, rows)
    frequencies = read_frequency_set(engine, table, SCHEMA)
    groups, people = reference_groups(rows)
    _, found = frequencies.group(frequencies.codes, [d.size for d in frequencies.quasi])
    looked_at = table.positions(("group", "who"))
    all_models = [model for model, _ in MODELS.values()]
    counted, everybody = engine.frequencies(table, looked_at), everybody_of(engine, table, all_models)
    own = evaluate_people(counted, everybody, looked_at[:1], looked_at[1], SCHEMA, all_models)
    sizes = [model for model in all_models if model.sizes_only]
    assert everybody_of(engine, table, sizes) is None
    alone = evaluate_people(counted, None, looked_at[:1], looked_at[1], SCHEMA, sizes)
    assert alone.evaluations == tuple(
        o for o, model in zip(own.evaluations, all_models, strict=True) if model.sizes_only
    )
    assert (alone.rows, alone.groups, alone.smallest) == (own.rows, own.groups, own.smallest)
    assert (own.rows, own.groups, own.smallest) == (len(rows), len(groups), min(map(len, groups.values())))
    for opinion, (name, (model, holds)) in zip(own.evaluations, MODELS.items(), strict=True):
        expected = [holds(group, people, list(people)) for group in groups.values()]
        verdict = ByPeople(model).assess(found)
        assert verdict.holds.tolist() == expected, name
        assert opinion.holds == all(expected), name
        assert not differences(opinion, model, all(expected), verdict.effective), name


@settings(max_examples=60)
@given(rows=ROWS, seed=st.integers(0, 2**20))
def test_superset_closure_by_people(engine, rows, seed):
    """Models closed under superset hold for unions with any group."""
    frequencies = read_frequency_set(engine, read(engine, rows), SCHEMA)
    random = np.random.default_rng(seed)
    number = np.unique(random.integers(0, 6, len(frequencies.count)), return_inverse=True)[1].astype(np.int64)
    for model, _ in MODELS.values():
        by_people = ByPeople(model)
        if not by_people.closed_under_superset:
            continue
        before = by_people.assess(frequencies.groups_of(number, number.max() + 1)).holds
        after = by_people.assess(frequencies.groups_of(number // 2, number.max() // 2 + 1)).holds
        for group in np.flatnonzero(before):
            assert after[group // 2]


def test_declared_closure_matches_counterexample_search():
    """Search counterexamples for every declared and undeclared closure.

    Nothing is claimed that has a counterexample, and nothing left unclaimed that has none (benchmarks/people.py).
    """
    groups = unions.trials(3000, seed=1)
    for name, model in TRIED.items():
        by_people = ByPeople(model)
        united, absorbed = unions.counterexamples(by_people, groups)
        assert by_people.closed_under_union == (united == 0), name
        assert by_people.closed_under_superset == (absorbed == 0), name


SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=4), max_size=7)


@given(sets=SETS, limit=st.integers(1, 4))
def test_hitting_number(sets, limit):
    """Find the fewest values of which everybody has at least one."""
    people = dict(enumerate(sets))
    expected = min(slow.values_needed(list(people), people), limit)
    known = {one for one in sets if one}
    assert hitting_number(known, limit) == expected


def test_shares_by_people_are_not_closed_under_union(engine):
    """Two groups with shares of one half unite to two thirds.

    a, x and b, x have shares of one half each; the union a, b, x has two thirds.
    """
    rows = [("a", "1", "h", None), ("x", "1", "o", None), ("b", "2", "h", None), ("x", "2", "o", None)]
    schema = Schema({**SCHEMA.columns, "secret": Column(Role.SENSITIVE)})
    frequencies = read_frequency_set(engine, read(engine, rows), schema)
    model = ByPeople(shoal.models.AlphaK(0.5, 2, "secret"))
    _, separate = frequencies.group(frequencies.codes, [2])
    assert model.assess(separate).holds.all()
    assert not model.assess(frequencies.groups_of(np.zeros(len(frequencies.count), np.int64), 1)).holds.any()
    assert not model.closed_under_union


@pytest.mark.parametrize("model", ["p-sensitive p=2", "l-diversity l=2", "p-alpha-sensitive p=2 alpha=1",
                                   "p-plus-alpha-sensitive p=2 alpha=1"])  # fmt: skip
def test_groups_with_more_values_than_required_are_released(model):
    """Count effective values no further than the required number.

    Both the model and verification do so; people have one value each here, and groups have more values than required.
    """
    values = ["a", "b", "c", "d"] * 2
    table = pa.table({"who": [str(n) for n in range(8)], "group": ["1"] * 4 + ["2"] * 4, "secret": values})
    columns = {name: column for name, column in SCHEMA.columns.items() if name != "other"}
    release = shoal.anonymize(table, shoal.Plan(Schema(columns), [model], method="levels"))
    assert release.figures["models"][0]["effective"].get("p", 2) == 2


def test_models_by_people_require_person_and_model_columns():
    """Require a person column, and other columns as models by rows do."""
    from shoal.errors import PlanError
    from shoal.schema.columns import Domain

    person, secret = Domain("who", 2, people=object()), Domain("secret", 2)
    ByPeople(shoal.models.PSensitive(2)).check((secret, person))
    ByPeople(shoal.models.KAnonymity(2)).check((person,))
    with pytest.raises(PlanError, check=has_code("models.no-person-column")):
        ByPeople(shoal.models.PSensitive(2)).check((secret,))
    with pytest.raises(PlanError, match="p-sensitive"):
        ByPeople(shoal.models.PSensitive(2)).check((person,))  # the person column is no sensitive value


def test_bound_rules_by_people_name_their_columns():
    """Rules on people name the person column, rules on values theirs."""
    from shoal.schema.columns import Domain
    from shoal.table.rules import DISTINCT

    domains = Domain("secret", 2), Domain("who", 9, people=object()), Domain("other", 2)
    totals = [np.ones(domain.size, np.int64) for domain in domains]
    rules = ByPeople(shoal.models.KAnonymity(3)).bound_rules(domains, totals)
    assert [(column, rule.kind, rule.whole) for column, rule in rules] == [(1, DISTINCT, 3)]
    rules = ByPeople(shoal.models.PSensitive(2, "other")).bound_rules(domains, totals)
    assert [column for column, rule in rules if rule.whole == 2][-1] == 2


def test_requires_people_is_passed_on():
    """ByPeople passes on that a model requires people."""
    assert ByPeople(shoal.models.TrajectoryAnonymity(3)).requires_people
    assert not ByPeople(shoal.models.KAnonymity(3)).requires_people
