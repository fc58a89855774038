"""Harmless values: models, their second definitions and slow ones agree."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import PlanError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models import (
    AlphaK,
    BetaLikeness,
    DeltaDisclosure,
    LDiversity,
    PAlphaSensitive,
    PPlusAlphaSensitive,
    PSensitive,
    TCloseness,
    combine,
)
from shoal.models.by_people import ByPeople
from shoal.schema import Categories, Column, Role, Schema
from shoal.table import read_frequency_set
from shoal.table.rules import WEIGHT
from shoal.verification.independent import (
    count_groups,
    differences,
    evaluate_people,
    judge,
    list_sensitive_columns,
)
from shoal.verification.verify import read_source_people
from tests.reference import harmless as slow

VALUES = ("no", "none", "flu", "hiv", "cancer")
CLASSES = (("hiv", "cancer"), ("none", "flu"), ("no",))
HARMLESS = frozenset({"no", "none"})

MODELS = {
    PSensitive(2): lambda g, h, e: slow.distinct(g, h, 2),
    PSensitive(3): lambda g, h, e: slow.distinct(g, h, 3),
    LDiversity(2): lambda g, h, e: slow.distinct(g, h, 2),
    LDiversity(2, "recursive", 1.5): lambda g, h, e: slow.recursive(g, h, Fraction(3, 2), 2),
    LDiversity(1, "recursive", 0.5): lambda g, h, e: slow.recursive(g, h, Fraction(1, 2), 1),
    PAlphaSensitive(2, 1.5): lambda g, h, e: slow.distinct(g, h, 2) and slow.weight(g, h, CLASSES) >= Fraction(3, 2),
    PPlusAlphaSensitive(2, 1): lambda g, h, e: slow.categories(g, h, 2, CLASSES) and slow.weight(g, h, CLASSES) >= 1,
    AlphaK(0.5, 2): lambda g, h, e: slow.alpha_k(g, h, Fraction(1, 2), 2),
    TCloseness(0.25): lambda g, h, e: slow.closeness(g, h, e, Fraction(1, 4)),
    DeltaDisclosure(0.7, "ignored"): lambda g, h, e: slow.delta(g, h, e, 0.7),
    BetaLikeness(0.5): lambda g, h, e: slow.beta(g, h, e, Fraction(1, 2), enhanced=False),
    BetaLikeness(0.5, "enhanced"): lambda g, h, e: slow.beta(g, h, e, Fraction(1, 2), enhanced=True),
}

ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 7), st.one_of(st.none(), st.sampled_from(VALUES))),
    min_size=1,
    max_size=24,
)
COLUMN = Column(Role.SENSITIVE, categories=Categories(CLASSES), harmless=("No", "none"))
APPLIES = {"unknown": HARMLESS, "not applicable": HARMLESS | {None}}


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine() as opened:
        yield opened


def read(engine, rows):
    return engine.read(
        Source(
            frame=pa.table(
                {
                    "group": pa.array([row[0] for row in rows], pa.int64()),
                    "who": pa.array([row[1] for row in rows], pa.int64()),
                    "secret": pa.array([row[2] for row in rows], pa.string()),
                }
            )
        )
    )


def reference_groups(rows, missing, *, people):
    """Return the groups as lists of members' values, and everybody's."""

    def values(cells):
        return {cell for cell in cells if cell is not None or missing == "not applicable"}

    of_person = {row[1]: values(other[2] for other in rows if other[1] == row[1]) for row in rows}
    numbers = sorted({row[0] for row in rows})
    if people:
        groups = [[of_person[u] for u in sorted({row[1] for row in rows if row[0] == g})] for g in numbers]
        return groups, list(of_person.values())
    return [[values([row[2]]) for row in rows if row[0] == g] for g in numbers], [values([row[2]]) for row in rows]


@settings(max_examples=120)
@given(rows=ROWS, missing=st.sampled_from(sorted(APPLIES)))
def test_models_with_harmless_values_match_definitions(engine, rows, missing):
    schema = Schema({"group": Column(Role.QUASI_IDENTIFIER), "who": Column(Role.DROP)})
    schema = Schema({**schema.columns, "secret": replace(COLUMN, missing=missing)})
    table = read(engine, rows)
    frequencies = read_frequency_set(engine, table, schema)
    groups, everybody = reference_groups(rows, missing, people=False)
    _, found = frequencies.group(frequencies.codes, [d.size for d in frequencies.quasi])
    positions = table.positions(("group", "secret"))
    counted = engine.frequencies(table, positions)
    cells = {"secret": (positions[1], counted.column(f"c{positions[1]}"), counted.column("n"))}
    sensitive = list_sensitive_columns(cells, schema)
    own = judge(count_groups(counted, positions[:1], sensitive), sensitive, list(MODELS))
    for opinion, (model, holds) in zip(own.evaluations, MODELS.items(), strict=True):
        expected = [holds(group, APPLIES[missing], everybody) for group in groups]
        combine((model,)).check(frequencies.domains)
        verdict = model.assess(found)
        assert verdict.holds.tolist() == expected, model
        assert not differences(opinion, model, all(expected), verdict.effective), model


@settings(max_examples=120)
@given(rows=ROWS, missing=st.sampled_from(sorted(APPLIES)))
def test_models_by_people_with_harmless_values(engine, rows, missing):
    schema = Schema({"group": Column(Role.QUASI_IDENTIFIER), "who": Column(Role.PERSON)})
    schema = Schema({**schema.columns, "secret": replace(COLUMN, missing=missing)})
    people_of = sorted({row[1] for row in rows})
    rows = [(row[0], people_of.index(row[1]), row[2]) for row in rows]  # people are numbered
    numbered = read(engine, rows)
    frequencies = read_frequency_set(engine, numbered, schema)
    groups, everybody = reference_groups(rows, missing, people=True)
    _, found = frequencies.group(frequencies.codes, [d.size for d in frequencies.quasi])
    positions = numbered.positions(("group", "who"))
    people = read_source_people(engine, numbered, schema, combine(map(ByPeople, MODELS)))
    own = evaluate_people(
        engine.frequencies(numbered, positions), people, positions[:1], positions[1], schema, list(MODELS)
    )
    for opinion, (model, holds) in zip(own.evaluations, MODELS.items(), strict=True):
        expected = [holds(group, APPLIES[missing], everybody) for group in groups]
        verdict = ByPeople(model).assess(found)
        assert verdict.holds.tolist() == expected, model
        assert not differences(opinion, model, all(expected), verdict.effective), model


@settings(max_examples=120)
@given(rows=ROWS, missing=st.sampled_from(sorted(APPLIES)))
def test_declared_closure_with_harmless_values(engine, rows, missing):
    schema = Schema({"group": Column(Role.QUASI_IDENTIFIER), "who": Column(Role.DROP)})
    schema = Schema({**schema.columns, "secret": replace(COLUMN, missing=missing)})
    frequencies = read_frequency_set(engine, read(engine, rows), schema)
    number = frequencies.codes[:, 0].astype(np.int64)
    for model in MODELS:
        before = model.assess(frequencies.groups_of(number, int(number.max()) + 1)).holds
        after = model.assess(frequencies.groups_of(number // 2, int(number.max()) // 2 + 1)).holds
        for first in range(0, len(before) - 1, 2):
            pair = before[first : first + 2]
            if (model.closed_under_union and pair.all()) or (model.closed_under_superset and pair.any()):
                assert after[first // 2], model


def secret(values, **given):
    column = Column(Role.SENSITIVE, **given)
    return Schema({"secret": column}).domain("secret", values)


def test_one_harmful_value_gives_a_rule_for_compiled_searches():
    """With one harmful value a group needs one row with another."""
    yes_and_no, several = secret(["no", "yes"], harmless=("no",)), secret(["a", "b", "no"], harmless=("no",))
    for model in (PSensitive(2), LDiversity(2)):
        ((position, rule),) = model.bound_rules((yes_and_no,), [np.asarray([5, 5])])
        assert (position, rule.kind, rule.whole, rule.labels.tolist()) == (0, WEIGHT, 1, [1, 0])
        assert model.bound_rules((several,), [np.asarray([5, 5, 5])]) == []
        assert not model.has_exact_rules((yes_and_no,))
        assert model.has_exact_rules((secret(["no", "yes"]),))
    assert PSensitive(1).bound_rules((yes_and_no,), [np.asarray([5, 5])]) == []
    assert AlphaK(0.5, 2).bound_rules((several,), [np.asarray([5, 5, 5])]) == []


@pytest.mark.parametrize(
    "model",
    [
        LDiversity(2, "entropy"),
        TCloseness(0.2, "ordered"),
        TCloseness(0.2, "hierarchical"),
        DeltaDisclosure(1),
    ],
    ids=str,
)
def test_models_without_a_meaning_are_refused(model):
    table = pa.table({"age": [1, 1, 1, 1], "secret": ["no", "yes", "no", "yes"]})
    for keys in ({"harmless": ("no",)}, {"missing": "not applicable"}):
        column = {"secret": Column(Role.SENSITIVE, **keys)}
        with pytest.raises(PlanError) as caught:
            shoal.check(table, [model], quasi_identifiers=["age"], sensitive=column)
        assert caught.value.code == "models.harmless-not-possible"


def test_harmless_values_need_a_sensitive_column_and_a_value():
    for keys, code in (
        ({"role": Role.QUASI_IDENTIFIER, "harmless": ("no",)}, "columns.harmless-wrong-role"),
        ({"role": Role.OTHER, "missing": "not applicable"}, "columns.harmless-wrong-role"),
        ({"role": Role.SENSITIVE, "harmless": (" ",)}, "columns.harmless-missing"),
    ):
        with pytest.raises(PlanError) as caught:
            Column(**keys)
        assert caught.value.code == code
