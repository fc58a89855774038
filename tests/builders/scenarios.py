"""Releases judged in scenarios, by both verifications and by definition."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from shoal.io.engines.base import Source
from shoal.models import AllOf, InScenario
from shoal.models.by_people import ByPeople
from shoal.models.scenarios import assess_scenario
from shoal.schema import Categories, Column, Role, Schema, Tree
from shoal.table import read_frequency_set
from shoal.table.people import number_people
from shoal.verification.independent import evaluate_scenario, evaluate_scenario_by_people, list_sensitive_columns
from shoal.verification.verify import read_source_people
from tests.builders.partial_knowledge import ColumnPositions
from tests.reference import scenarios as slow

QUASI = ("a", "b", "c")
VALUES = ("u", "v", "w", "x")


def schema_of_rows(**further):
    """Three quasi-identifiers and two sensitive columns."""
    secret = Column(
        Role.SENSITIVE,
        hierarchy=Tree({"1": ["u", "v"], "2": ["w", "x"]}),
        categories=Categories((("u",), ("v", "w"), ("x",))),
        order=VALUES,
    )
    quasi = {name: Column(Role.QUASI_IDENTIFIER) for name in QUASI}
    return Schema({**further, **quasi, "secret": secret, "other": Column(Role.SENSITIVE)})


def judge_rows(rows, model, knowledge):
    """Return the verdicts of the model and of the independent verification.

    ``rows`` are tuples of the three labels and the two sensitive values.
    """
    schema, part = schema_of_rows(), InScenario(model, knowledge)
    names = (*schema.quasi_identifiers, *schema.sensitive)
    found = Counter(rows)
    columns = {f"c{j}": pa.array([row[j] for row in found], pa.string()) for j in range(len(names))}
    counted = pa.table({**columns, "n": pa.array(found.values(), pa.int64())})
    frequencies = read_frequency_set(None, ColumnPositions(), schema, ordered=False, counted=counted)
    positions = {name: j for j, name in enumerate(names)}
    sensitive = list_sensitive_columns(
        {name: (positions[name], counted.column(f"c{positions[name]}"), counted.column("n")) for name in names[3:]},
        schema,
    )
    return assess_scenario(frequencies, part), evaluate_scenario(counted, positions, sensitive, part)


def judge_people(engine, rows, model, knowledge, known_rows=1):
    """Return both verdicts where people are counted; rows begin with one."""
    schema = schema_of_rows(who=Column(Role.PERSON))
    names = tuple(schema.columns)
    table = pa.table({name: pa.array([row[j] for row in rows], pa.string()) for j, name in enumerate(names)})
    numbered = number_people(engine, engine.read(Source(frame=table)), schema.person).table
    part = InScenario(ByPeople(model, known_rows), knowledge)
    frequencies = read_frequency_set(engine, numbered, schema)
    positions = {name: numbered.positions((name,))[0] for name in names}
    counted = engine.frequencies(numbered, tuple(positions.values()))
    people = read_source_people(engine, numbered, schema, AllOf((part,)))
    opinion = evaluate_scenario_by_people(counted, people, positions, positions["who"], schema, part)
    return assess_scenario(frequencies, part), opinion


def holds_by_definition(rows, names, knowledge, column, holds):
    """Return whether every crowd of every set meets a definition.

    ``column`` is the sensitive column that the definition is about; None for sizes.
    """
    dicts = [dict(zip(names, row, strict=True)) for row in rows]
    return all(
        holds([dicts[number] for number in crowd], dicts)
        for known in slow.sets_of(knowledge.columns, knowledge.further, knowledge.plus)
        if column not in known
        for crowd in slow.crowds(dicts, known)
    )
