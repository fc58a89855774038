"""Models that count people, with independent definitions."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
from hypothesis import strategies as st

import shoal
from shoal.io.engines.base import Source
from shoal.models import AllOf
from shoal.models.by_people import ByPeople
from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table.people import number_people
from shoal.verification.verify import read_source_people
from tests.reference import people as slow
from tests.reference.models import ordered_cost, tree_cost

CLASSES = (("a",), ("b", "c"), ("d",))
WEIGHT = {value: Fraction(position, 2) for position, values in enumerate(CLASSES) for value in values}
PATHS = {value: (value, branch, "*") for branch, values in (("1", "ab"), ("2", "cd")) for value in values}
CATEGORY = {value: position for position, values in enumerate(CLASSES) for value in values}
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
    return {person: {CATEGORY[value] for value in values} for person, values in people.items()}


MODELS = {
    "k": (shoal.models.KAnonymity(3), lambda g, p, e: len(g) >= 3),
    "p": (shoal.models.PSensitive(2, "secret"), lambda g, p, e: slow.p_sensitive(g, p, 2)),
    "p = 3": (shoal.models.PSensitive(3, "secret"), lambda g, p, e: slow.p_sensitive(g, p, 3)),
    "l": (shoal.models.LDiversity(2, column="secret"), lambda g, p, e: slow.p_sensitive(g, p, 2)),
    "p, alpha": (
        shoal.models.PAlphaSensitive(2, 1, "secret"),
        lambda g, p, e: slow.p_sensitive(g, p, 2) and slow.weight(g, p, WEIGHT.get) >= 1,
    ),
    "p+, alpha": (
        shoal.models.PPlusAlphaSensitive(2, 0.5, "secret"),
        lambda g, p, e: slow.p_sensitive(g, by_category(p), 2) and slow.weight(g, p, WEIGHT.get) >= Fraction(1, 2),
    ),
    "alpha, k": (shoal.models.AlphaK(0.5, 2, "secret"), lambda g, p, e: slow.alpha_k(g, p, Fraction(1, 2), 2)),
    "entropy l": (
        shoal.models.LDiversity(1.8, "entropy", column="secret"),
        lambda g, p, e: slow.entropy_diverse(g, p, 1.8),
    ),
    "recursive l": (
        shoal.models.LDiversity(2, "recursive", 2, "secret"),
        lambda g, p, e: slow.recursive_diverse(g, p, 2, 2),
    ),
    "t": (
        shoal.models.TCloseness(0.3, column="secret"),
        lambda g, p, e: slow.equal_distance(g, p, e) <= Fraction(3, 10),
    ),
    "ordered t": (
        shoal.models.TCloseness(0.2, "ordered", "secret"),
        lambda g, p, e: slow.moved(g, p, e, ordered_cost(list("abcd"))) <= Fraction(1, 5),
    ),
    "hierarchical t": (
        shoal.models.TCloseness(0.3, "hierarchical", "secret"),
        lambda g, p, e: slow.moved(g, p, e, tree_cost(PATHS)) <= Fraction(3, 10),
    ),
    "enhanced beta": (
        shoal.models.BetaLikeness(3, "enhanced", "secret"),
        lambda g, p, e: slow.beta_like(g, p, e, 3, enhanced=True),
    ),
    "beta": (shoal.models.BetaLikeness(1, column="secret"), lambda g, p, e: slow.beta_like(g, p, e, 1)),
    "delta": (shoal.models.DeltaDisclosure(1.5, column="secret"), lambda g, p, e: slow.delta_disclosed(g, p, e, 1.5)),
}


def read(engine, rows):
    """Read rows as a table with numbered people."""
    columns = zip(SCHEMA.columns, zip(*rows, strict=True), strict=True)
    table = pa.table({name: pa.array(column, pa.string()) for name, column in columns})
    return number_people(engine, engine.read(Source(frame=table)), SCHEMA.person).table


def everybody_of(engine, table, models):
    """Return the values of people for verification.

    They are read as far as some models need them.
    """
    return read_source_people(engine, table, SCHEMA, AllOf(tuple(map(ByPeople, models))))


def reference_groups(rows):
    """Return groups of people, and the values of everybody.

    A row without a name is a separate person.
    """
    groups, people = {}, {}
    for number, (person, group, secret, _) in enumerate(rows):
        person = person if person is not None else number
        groups.setdefault(group, {}).setdefault(person)
        people.setdefault(person, set())
        if secret is not None:
            people[person].add(secret)
    return {group: list(members) for group, members in sorted(groups.items())}, people


TRIED = {name: model for name, (model, _) in MODELS.items()} | {
    "delta": shoal.models.DeltaDisclosure(0.8, column="secret")
}
