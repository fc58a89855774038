"""Models that count people, against definitions that share nothing with the package."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.encoding import read_frequency_set
from shoal.engines.base import Source
from shoal.engines.duckdb import DuckDBEngine
from shoal.models.people import ByPeople
from shoal.schema import Categories, Column, Role, Schema, Tree
from tests.reference import people as slow

CLASSES = (("a",), ("b", "c"), ("d",))
WEIGHT = {value: Fraction(place, 2) for place, values in enumerate(CLASSES) for value in values}
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
    "beta": (shoal.BetaLikeness(1, column="secret"), lambda g, p, e: slow.beta_alike(g, p, e, 1)),
    "delta": (shoal.DeltaDisclosure(1.5, column="secret"), lambda g, p, e: slow.delta_disclosed(g, p, e, 1.5)),
}


def counted(rows):
    """The frequency set of the rows, and the same told slowly: groups of people, and what everybody has."""
    table = pa.table(
        {
            name: pa.array(column, pa.string())
            for name, column in zip(SCHEMA.columns, zip(*rows, strict=True), strict=True)
        }
    )
    with DuckDBEngine() as engine:
        frequencies = read_frequency_set(engine, engine.read(Source(frame=table)), SCHEMA)
    groups, people = {}, {}
    for number, (who, group, secret, _) in enumerate(rows):
        who = who if who is not None else number  # nobody is named: a person of its own
        groups.setdefault(group, {}).setdefault(who)
        people.setdefault(who, set())
        if secret is not None:
            people[who].add(secret)
    return frequencies, {group: list(members) for group, members in sorted(groups.items())}, people


@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=60)
@given(rows=ROWS)
def test_a_model_by_people_is_its_definition(model, rows):
    asked, holds = MODELS[model]
    frequencies, groups, people = counted(rows)
    _, found = frequencies.group(frequencies.codes, [d.size for d in frequencies.quasi])
    expected = [holds(group, people, list(people)) for group in groups.values()]
    assert ByPeople(asked).assess(found).holds.tolist() == expected


@settings(max_examples=40)
@given(rows=ROWS, seed=st.integers(0, 2**20))
def test_what_absorbs_by_people_survives_any_union(rows, seed):
    frequencies, _, _ = counted(rows)
    random = np.random.default_rng(seed)
    fine = random.integers(0, 6, len(frequencies.count))
    for asked, _ in MODELS.values():
        model = ByPeople(asked)
        if not model.absorbs:
            continue
        number = np.unique(fine, return_inverse=True)[1].astype(np.int64)
        before = model.assess(frequencies.groups_of(number, number.max() + 1)).holds
        joined = number // 2
        after = model.assess(frequencies.groups_of(joined, joined.max() + 1)).holds
        for group in np.flatnonzero(before):
            assert after[group // 2]
