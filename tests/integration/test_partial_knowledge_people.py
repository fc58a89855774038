"""Partial knowledge of one row of a person, counted in people.

The intruder knows few columns. Results are compared with the definition.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import PlanError
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.models import MODELS as MODELS_BY_NAME
from shoal.models.base import AllOf
from shoal.models.by_people import as_people_models
from shoal.models.partial_knowledge import KnowsColumns, LooselyKnown
from shoal.plan.plan import Plan
from shoal.schema import Column, Flat, Role, Schema
from shoal.table import read_frequency_set
from shoal.table.people import number_people
from shoal.verification.independent import differences
from shoal.verification.original import count_source_labels
from shoal.verification.verify import _evaluate_people_again, check_relation, read_source_people
from tests.builders.people_models import MODELS
from tests.builders.people_models import SCHEMA as ONE_COLUMN
from tests.reference import known as slow

NAMES = ("a", "b", "c")
SCHEMA = Schema(
    {
        "who": Column(Role.PERSON),
        **{name: Column(Role.QUASI_IDENTIFIER, Flat()) for name in NAMES},
        "secret": ONE_COLUMN.columns["secret"],
    }
)
CELL = st.sampled_from("pq")
ROW = st.tuples(
    st.sampled_from([None, *"uvwxyz"]),
    CELL,
    CELL,
    CELL,
    st.sampled_from([None, "a", "b", "c", "d"]),
    st.integers(0, 31),
)


@pytest.fixture(scope="module")
def engine():
    with DuckDBEngine() as opened:
        yield opened


def released_of(rows):
    """Return the rows with some cells hidden.

    The last number of a row says which; most rows hide none.
    """
    return [["*" if row[5] >> j & 1 and row[5] >> 3 == 0 else row[1 + j] for j in range(3)] for row in rows]


def table_of(rows, cells, owners):
    columns = {"who": owners, **{name: [row[j] for row in cells] for j, name in enumerate(NAMES)}}
    return pa.table({**columns, "secret": pa.array([row[4] for row in rows], pa.string())})


def evaluate_both_ways(engine, rows, part):
    """Return the verdicts of the model and of the verification on a part."""
    people = [[*row[1:4]] for row in rows]
    frame = table_of(rows, people, pa.array([row[0] for row in rows], pa.string()))
    source = number_people(engine, engine.read(Source(frame=frame)), SCHEMA.person).table
    # rows without a name are numbered after those with one, in the engine's order; here in row order
    numbers = numbers_of(rows)
    numbered = engine.read(Source(frame=table_of(rows, people, pa.array(numbers))))
    released = engine.read(Source(frame=table_of(rows, released_of(rows), pa.array(numbers))))
    assert sorted(engine.to_arrow(source)["who"].to_pylist()) == sorted(numbers)
    frequencies = read_frequency_set(engine, numbered, SCHEMA)
    model = as_people_models(AllOf((part,)))
    labels = [(*dictionary.text, None) for dictionary in frequencies.quasi]
    positions = released.positions((*NAMES, "secret", "who"))
    counted = engine.frequencies(released, positions)
    found = check_relation(engine, released, SCHEMA, model, None, counted, frequencies, labels)
    everybody = read_source_people(engine, numbered, SCHEMA, model)
    own = _evaluate_people_again(counted, released, SCHEMA, model, everybody, count_source_labels(frequencies, labels))
    return found.models[0], own.evaluations[0]


def numbers_of(rows):
    names = sorted({row[0] for row in rows if row[0] is not None})
    unnamed = iter(range(len(names), len(names) + len(rows)))
    return [next(unnamed) if row[0] is None else names.index(row[0]) for row in rows]


def expected(rows, sets, holds, least):
    """Return the expected verdict and the fewest candidate people of a row."""
    owner, released = numbers_of(rows), released_of(rows)
    has = {
        person: {row[4] for row, one in zip(rows, owner, strict=True) if one == person} - {None}
        for person in set(owner)
    }
    fewest, good = len(has), True
    for chosen in sets:
        groups = slow.groups(released, owner, chosen)
        good = good and all(holds(sorted(set(group)), has, sorted(has)) for group in groups)
        for row in rows:
            candidates = sorted(set(slow.owners_of(row[1:4], released, owner, chosen)))
            good = good and holds(candidates, has, sorted(has))
            fewest = min(fewest, len(candidates))
    return good and fewest >= least, fewest


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=16), known=st.integers(1, 3), name=st.sampled_from(sorted(MODELS)))
def test_known_columns_by_people_match_the_definition(engine, rows, known, name):
    model, holds = MODELS[name]
    parts = {
        LooselyKnown(model, known): slow.up_to(range(3), known),
        KnowsColumns(model, ("c", "a")): slow.up_to((0, 2), 2),
    }
    for part, sets in parts.items():
        found, opinion = evaluate_both_ways(engine, rows, part)
        good, fewest = expected(rows, sets, holds, getattr(model, "k", 1))
        assert (found.holds, found.counts) == (good, "people")
        assert found.effective["people_per_person"] == fewest
        assert differences(opinion, part, found.holds, found.effective) == []


def test_rows_of_one_person_are_no_crowd():
    """Five equal rows of one person: enough rows for k = 3, but one person."""
    rows = [("u", "p", "p", "p", "a", 31)] * 5 + [(person, "q", "q", "q", "a", 31) for person in "vwx"]
    with DuckDBEngine() as engine:
        found, opinion = evaluate_both_ways(engine, rows, LooselyKnown(shoal.models.KAnonymity(3), 1))
    assert not found.holds
    assert not opinion.holds
    assert found.effective == {"k": 1, "people_per_person": 1}


def test_trajectory_anonymity_takes_no_known():
    with pytest.raises(PlanError, match="all columns of several rows"):
        LooselyKnown(MODELS_BY_NAME["trajectory-anonymity"](k=3), 2)


def visits(people=60, rows=240):
    import numpy as np

    random = np.random.default_rng(4)
    owners = random.integers(0, people, rows)
    columns = {name: [str(v) for v in random.geometric(0.45, rows)] for name in NAMES}
    secret = random.choice(list("abcd"), rows).tolist()
    return pa.table({"who": [f"p{w}" for w in owners], **columns, "secret": secret})


@pytest.mark.parametrize(
    "method",
    [shoal.methods.HiddenCells(), shoal.methods.LocalSuppression(), shoal.methods.FullDomain()],
    ids=lambda method: method.name,
)
@pytest.mark.parametrize("name", ["k", "l", "t"])
def test_partial_knowledge_releases_protect_people(method, name):
    model, _ = MODELS[name]
    table = visits()
    models = (LooselyKnown(shoal.models.KAnonymity(4), 2), *(() if name == "k" else (LooselyKnown(model, 2),)))
    release = shoal.anonymize(table, Plan(SCHEMA, models, method))
    assert "who" not in release.table.column_names
    assert {model["counts"] for model in release.figures["models"]} == {"people"}
    assert {model["judged_by"] for model in release.figures["models"]} == {"the model and the independent verification"}
    assert release.figures["models"][0]["effective"]["people_per_person"] >= 4
    # whatever the order of the rows: no visible pair is that of fewer than four rows
    cells = [list(row) for row in zip(*(release.table[name].to_pylist() for name in NAMES), strict=True)]
    assert all(len(group) >= 4 for chosen in slow.up_to(range(3), 2) for group in slow.groups(cells, cells, chosen))
