"""Models that count people, against definitions that share nothing with the package."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models import AllOf
from shoal.models.by_people import ByPeople
from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table import read_frequency_set
from shoal.table.people import hitting_number, number_people
from shoal.verification.independent import differences, evaluate_people
from shoal.verification.verify import read_source_people
from tests.reference import people as slow
from tests.reference import unions
from tests.reference.models import ordered_cost, tree_cost

CLASSES = (("a",), ("b", "c"), ("d",))
WEIGHT = {value: Fraction(place, 2) for place, values in enumerate(CLASSES) for value in values}
PATHS = {value: (value, branch, "*") for branch, values in (("1", "ab"), ("2", "cd")) for value in values}
CATEGORY = {value: place for place, values in enumerate(CLASSES) for value in values}
SCHEMA = Schema(
    {
        "who": Column(Role.PERSON),
        "group": Column(Role.QUASI_IDENTIFIER),
        "secret": Column(
            Role.SENSITIVE,
            hierarchy=Tree({"1": ["a", "b"], "2": ["c", "d"]}),
            categories=Categories(CLASSES),
            order=("a", "b", "c", "d"),
        ),
        "other": Column(Role.SENSITIVE),
    }
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, "u", "v", "w", "x", "y", "z"]),
        st.sampled_from(["1", "2", "3"]),
        st.sampled_from([None, "a", "b", "c", "d"]),
        st.sampled_from(["m", "n", None]),
    ),
    min_size=1,
    max_size=24,
)


def by_category(people):
    return {who: {CATEGORY[value] for value in values} for who, values in people.items()}


MODELS = {
    "k": (shoal.KAnonymity(3), lambda g, p, e: len(g) >= 3),
    "p": (shoal.PSensitive(2, "secret"), lambda g, p, e: slow.p_sensitive(g, p, 2)),
    "p = 3": (shoal.PSensitive(3, "secret"), lambda g, p, e: slow.p_sensitive(g, p, 3)),
    "l": (shoal.LDiversity(2, column="secret"), lambda g, p, e: slow.p_sensitive(g, p, 2)),
    "p, alpha": (
        shoal.PAlphaSensitive(2, 1, "secret"),
        lambda g, p, e: slow.p_sensitive(g, p, 2) and slow.weight(g, p, WEIGHT.get) >= 1,
    ),
    "p+, alpha": (
        shoal.PPlusAlphaSensitive(2, 0.5, "secret"),
        lambda g, p, e: slow.p_sensitive(g, by_category(p), 2) and slow.weight(g, p, WEIGHT.get) >= Fraction(1, 2),
    ),
    "alpha, k": (shoal.AlphaK(0.5, 2, "secret"), lambda g, p, e: slow.alpha_k(g, p, Fraction(1, 2), 2)),
    "entropy l": (shoal.LDiversity(1.8, "entropy", column="secret"), lambda g, p, e: slow.entropy_diverse(g, p, 1.8)),
    "recursive l": (
        shoal.LDiversity(2, "recursive", 2, "secret"),
        lambda g, p, e: slow.recursive_diverse(g, p, 2, 2),
    ),
    "t": (shoal.TCloseness(0.3, column="secret"), lambda g, p, e: slow.equal_distance(g, p, e) <= Fraction(3, 10)),
    "ordered t": (
        shoal.TCloseness(0.2, "ordered", "secret"),
        lambda g, p, e: slow.moved(g, p, e, ordered_cost(list("abcd"))) <= Fraction(1, 5),
    ),
    "hierarchical t": (
        shoal.TCloseness(0.3, "hierarchical", "secret"),
        lambda g, p, e: slow.moved(g, p, e, tree_cost(PATHS)) <= Fraction(3, 10),
    ),
    "enhanced beta": (
        shoal.BetaLikeness(3, "enhanced", "secret"),
        lambda g, p, e: slow.beta_like(g, p, e, 3, enhanced=True),
    ),
    "beta": (shoal.BetaLikeness(1, column="secret"), lambda g, p, e: slow.beta_like(g, p, e, 1)),
    "delta": (shoal.DeltaDisclosure(1.5, column="secret"), lambda g, p, e: slow.delta_disclosed(g, p, e, 1.5)),
}


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine() as opened:
        yield opened


def read(engine, rows):
    columns = zip(SCHEMA.columns, zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(column, pa.string()) for name, column in columns})
    return number_people(engine, engine.read(Source(frame=table)), SCHEMA.person).table


def everybody_of(engine, table, models):
    """What people have, for the gate, as far as some models ask for it."""
    return read_source_people(engine, table, SCHEMA, AllOf(tuple(map(ByPeople, models))))


def told_slowly(rows):
    """Groups of people, and what everybody has; a row that names nobody is of a person of its own."""
    groups, people = {}, {}
    for number, (who, group, secret, _) in enumerate(rows):
        who = who if who is not None else number
        groups.setdefault(group, {}).setdefault(who)
        people.setdefault(who, set())
        if secret is not None:
            people[who].add(secret)
    return {group: list(members) for group, members in sorted(groups.items())}, people


@settings(max_examples=50)
@given(rows=ROWS)
def test_every_model_by_people_is_its_definition_and_the_gate_agrees(engine, rows):
    table = read(engine, rows)
    frequencies = read_frequency_set(engine, table, SCHEMA)
    groups, people = told_slowly(rows)
    _, found = frequencies.group(frequencies.codes, [d.size for d in frequencies.quasi])
    looked_at = table.positions(("group", "who"))
    asked_of_all = [asked for asked, _ in MODELS.values()]
    counted, everybody = engine.frequencies(table, looked_at), everybody_of(engine, table, asked_of_all)
    own = evaluate_people(counted, everybody, looked_at[:1], looked_at[1], SCHEMA, asked_of_all)
    sizes = [asked for asked in asked_of_all if asked.sizes_only]
    assert everybody_of(engine, table, sizes) is None
    alone = evaluate_people(counted, None, looked_at[:1], looked_at[1], SCHEMA, sizes)
    assert alone.evaluations == tuple(
        o for o, asked in zip(own.evaluations, asked_of_all, strict=True) if asked.sizes_only
    )
    assert (alone.rows, alone.groups, alone.smallest) == (own.rows, own.groups, own.smallest)
    assert (own.rows, own.groups, own.smallest) == (len(rows), len(groups), min(map(len, groups.values())))
    for opinion, (model, (asked, holds)) in zip(own.evaluations, MODELS.items(), strict=True):
        expected = [holds(group, people, list(people)) for group in groups.values()]
        verdict = ByPeople(asked).assess(found)
        assert verdict.holds.tolist() == expected, model
        assert opinion.holds == all(expected), model
        assert not differences(opinion, asked, all(expected), verdict.effective), model


@settings(max_examples=60)
@given(rows=ROWS, seed=st.integers(0, 2**20))
def test_what_absorbs_by_people_survives_any_union(engine, rows, seed):
    frequencies = read_frequency_set(engine, read(engine, rows), SCHEMA)
    random = np.random.default_rng(seed)
    number = np.unique(random.integers(0, 6, len(frequencies.count)), return_inverse=True)[1].astype(np.int64)
    for asked, _ in MODELS.values():
        model = ByPeople(asked)
        if not model.closed_under_superset:
            continue
        before = model.assess(frequencies.groups_of(number, number.max() + 1)).holds
        after = model.assess(frequencies.groups_of(number // 2, number.max() // 2 + 1)).holds
        for group in np.flatnonzero(before):
            assert after[group // 2]


TRIED = {name: asked for name, (asked, _) in MODELS.items()} | {"delta": shoal.DeltaDisclosure(0.8, column="secret")}


def test_what_is_declared_of_unions_is_what_a_search_finds():
    """Nothing is claimed that has a counterexample, and nothing left unclaimed that has none (benchmarks/people.py)."""
    groups = unions.trials(3000, seed=1)
    for name, asked in TRIED.items():
        model = ByPeople(asked)
        united, absorbed = unions.counterexamples(model, groups)
        assert model.closed_under_union == (united == 0), name
        assert model.closed_under_superset == (absorbed == 0), name


SETS = st.lists(st.frozensets(st.integers(0, 5), max_size=4), max_size=7)


@given(sets=SETS, most=st.integers(1, 4))
def test_the_fewest_values_that_everybody_has_one_of(sets, most):
    people = dict(enumerate(sets))
    expected = min(slow.values_needed(list(people), people), most)
    known = {one for one in sets if one}
    assert hitting_number(known, most) == expected


def test_shares_do_not_unite_by_people(engine):
    """a, x and b, x have shares of one half each; a, b, x together have two thirds."""
    rows = [("a", "1", "h", None), ("x", "1", "o", None), ("b", "2", "h", None), ("x", "2", "o", None)]
    schema = Schema({**SCHEMA.columns, "secret": Column(Role.SENSITIVE)})
    frequencies = read_frequency_set(engine, read(engine, rows), schema)
    model = ByPeople(shoal.AlphaK(0.5, 2, "secret"))
    _, apart = frequencies.group(frequencies.codes, [2])
    assert model.assess(apart).holds.all()
    assert not model.assess(frequencies.groups_of(np.zeros(len(frequencies.count), np.int64), 1)).holds.any()
    assert not model.closed_under_union


@pytest.mark.parametrize("model", ["p-sensitive p=2", "l-diversity l=2", "p-alpha-sensitive p=2 alpha=1",
                                   "p-plus-alpha-sensitive p=2 alpha=1"])  # fmt: skip
def test_people_who_have_one_value_each_are_released_where_groups_hold_more_values_than_asked(model):
    """What is told is counted no further than what is asked, by the model as by the gate."""
    values = ["a", "b", "c", "d"] * 2
    table = pa.table({"who": [str(n) for n in range(8)], "group": ["1"] * 4 + ["2"] * 4, "secret": values})
    columns = {name: column for name, column in SCHEMA.columns.items() if name != "other"}
    release = shoal.anonymize(table, shoal.Plan(Schema(columns), [model], method="levels"))
    assert release.certificate["models"][0]["effective"].get("p", 2) == 2


def test_a_model_by_people_needs_people_and_asks_of_the_other_columns_what_it_asks_by_rows():
    from shoal.errors import PlanError
    from shoal.schema.columns import Domain

    person, secret = Domain("who", 2, people=object()), Domain("secret", 2)
    ByPeople(shoal.PSensitive(2)).check((secret, person))
    ByPeople(shoal.KAnonymity(2)).check((person,))
    with pytest.raises(PlanError, match="no column of role person"):
        ByPeople(shoal.PSensitive(2)).check((secret,))
    with pytest.raises(PlanError, match="p-sensitive"):
        ByPeople(shoal.PSensitive(2)).check((person,))  # whose rows they are is no sensitive value


def test_a_search_is_told_of_people_by_their_column_and_of_values_by_theirs():
    from shoal.schema.columns import Domain
    from shoal.table.rules import DISTINCT

    domains = Domain("secret", 2), Domain("who", 9, people=object()), Domain("other", 2)
    totals = [np.ones(domain.size, np.int64) for domain in domains]
    told = ByPeople(shoal.KAnonymity(3)).bound_rules(domains, totals)
    assert [(place, rule.kind, rule.whole) for place, rule in told] == [(1, DISTINCT, 3)]
    told = ByPeople(shoal.PSensitive(2, "other")).bound_rules(domains, totals)
    assert [place for place, rule in told if rule.whole == 2][-1] == 2


def test_which_models_are_about_people_alone_is_not_lost_when_people_are_counted():
    assert ByPeople(shoal.TrajectoryAnonymity(3)).requires_people
    assert not ByPeople(shoal.KAnonymity(3)).requires_people
