"""Sensitive demands on the rows that can be a person's.

Every model binds the rows that show the same labels and the rows that can be a person's. Releases are compared with the
definition, person by person.
"""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.methods.local import hidden_cells_search
from shoal.models import KeySet, LooselyKnown
from shoal.schema import Column, Role, Schema
from shoal.table import person_crowds
from shoal.table.column_subsets import SubsetCounter
from tests.builders.conformance import MODELS, SECRETS
from tests.builders.partial_knowledge import NAMES, coded, evaluate_both_ways, schema_of
from tests.builders.people_models import MODELS as PEOPLE_MODELS
from tests.builders.people_models import SCHEMA as ONE_COLUMN
from tests.reference import known as slow

PATIENTS = [("20", "A", "HIV")] * 2 + [
    ("20", "B", "flu"),
    ("20", "B", "cancer"),
    ("30", "A", "flu"),
    ("30", "A", "cancer"),
]
METHODS = {
    "hidden-cells": shoal.methods.HiddenCells(),
    "local-suppression": shoal.methods.LocalSuppression(),
    "full-domain": shoal.methods.FullDomain(),
}


def patients_table(rows):
    return pa.table({name: [row[j] for row in rows] for j, name in enumerate(("age", "zip", "disease"))})


@pytest.mark.parametrize("method", sorted(METHODS))
def test_candidates_have_different_diseases(method):
    """(20, A) are homogeneous: to hide their age leaves two rows, both HIV."""
    schema = Schema(
        {
            "age": Column(Role.QUASI_IDENTIFIER),
            "zip": Column(Role.QUASI_IDENTIFIER),
            "disease": Column(Role.SENSITIVE),
        }
    )
    models = (shoal.models.KAnonymity(2), shoal.models.PSensitive(2))
    plan = shoal.Plan(schema, models, METHODS[method], keys=(KeySet(("age", "zip"), reading="loose"),))
    release = shoal.anonymize(patients_table(PATIENTS), plan)
    released = list(zip(*(release.table[name].to_pylist() for name in ("age", "zip")), strict=True))
    diseases = release.table["disease"].to_pylist()
    sets = slow.up_to((0, 1), 2)
    level = release.figures["levels"]
    people = [tuple(row[j] if level[name] == 0 else "*" for j, name in enumerate(("age", "zip"))) for row in PATIENTS]
    assert slow.person_to_rows(people, released, diseases, sets, lambda crowd, _: len(set(crowd)) >= 2)
    assert slow.row_to_people(released, diseases, sets, lambda group, _: len(set(group)) >= 2)
    (sensitive,) = [one for one in release.figures["models"] if one["name"] == "p-sensitive"]
    assert sensitive["holds"]
    assert sensitive["effective"]["p"] == 2


def test_both_verdicts_refuse_rows_of_one_disease():
    people = [list(row[:2]) for row in PATIENTS]
    released = [["*", "A"]] * 2 + people[2:]
    secrets = ["u", "u", "v", "w", "v", "w"]
    found, opinion = evaluate_both_ways(people, released, secrets, LooselyKnown(shoal.models.PSensitive(2), 2))
    assert (found.holds, found.enough_candidates, found.effective["p"]) == (False, False, 1)
    assert (found.failing_groups, found.failing_crowds) == (1, 1)
    assert found.failing.tolist() == [True, False, False, False, False]  # one entry for both rows
    assert (opinion.holds, opinion.effective["p"]) == (False, 1)


def test_check_of_such_a_release_is_incomplete():
    rows = [("*", "A", "HIV")] * 2 + PATIENTS[2:]
    answer = shoal.check(
        patients_table(rows),
        ["p-sensitive p=2 known=2 reading=loose"],
        quasi_identifiers=["age", "zip"],
        sensitive=["disease"],
    ).to_dict()
    assert answer["holds"]
    assert not answer["complete"]
    assert answer["models"][0]["facts"]["person_to_rows"] == "not to be told from the release alone"


def test_visible_people_are_decided_by_the_release_alone():
    """The candidates of p, none of them uncertain, have too much of one value."""
    rows = [("p", "q", "u"), ("p", "q", "v"), ("*", "q", "u"), ("p", "*", "u"), ("r", "s", "v"), ("r", "s", "u")]
    models = ["alpha-k k=2 alpha=0.7 known=2 reading=loose"]
    answer = shoal.check(
        patients_table(rows), models, quasi_identifiers=["age", "zip"], sensitive=["disease"]
    ).to_dict()
    assert (answer["holds"], answer["complete"]) == (False, True)
    facts = answer["models"][0]["facts"]
    assert (facts["row_to_people"], facts["person_to_rows"]) == (True, False)


@st.composite
def tables(draw):
    rows = draw(st.integers(4, 30))
    columns = draw(st.integers(1, 3))
    label = st.sampled_from("ppqr")
    cells = [[draw(label) for _ in range(columns)] for _ in range(rows)]
    return cells, [draw(st.sampled_from(SECRETS)) for _ in range(rows)]


def released_cells(release, names):
    return list(zip(*(release.table[name].to_pylist() for name in names), strict=True))


@settings(max_examples=120, deadline=None)
@given(tables(), st.sampled_from(sorted(MODELS)), st.sampled_from(sorted(METHODS)), st.data())
def test_releases_bind_both_crowds(table, name, method, data):
    """Every model, method and knowledge on random small tables."""
    cells, secrets = table
    columns = range(len(cells[0]))
    names = NAMES[: len(columns)]
    models, holds = MODELS[name]
    keys: tuple[KeySet, ...] = ()
    if data.draw(st.booleans(), "known"):
        known = data.draw(st.integers(1, len(columns)), "m")
        models, sets = tuple(LooselyKnown(model, known) for model in models), slow.up_to(columns, known)
    else:
        chosen = data.draw(st.lists(st.sampled_from(columns), min_size=1, unique=True), "key set")
        keys, sets = (KeySet(tuple(names[j] for j in chosen), reading="loose"),), slow.up_to(chosen, len(chosen))
    source = pa.table({**{one: [row[j] for row in cells] for j, one in enumerate(names)}, "s": secrets})
    try:
        release = shoal.anonymize(source, shoal.Plan(schema_of(names), models, METHODS[method], keys=keys))
    except shoal.errors.InfeasibleError:
        assert not holds(secrets, [secrets]) or method == "full-domain"
        return
    released, values = released_cells(release, names), release.table["s"].to_pylist()
    level = release.figures["levels"]
    people = [["*" if level[one] else row[j] for j, one in enumerate(names)] for row in cells]
    assert slow.row_to_people(released, values, sets, holds)
    assert slow.person_to_rows(people, released, values, sets, holds)


PEOPLE_SCHEMA = Schema(
    {
        "who": Column(Role.PERSON),
        **{name: Column(Role.QUASI_IDENTIFIER) for name in "ab"},
        "secret": ONE_COLUMN.columns["secret"],
    }
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("stuvwxyz"), st.sampled_from("ppq"), st.sampled_from("ppq"), st.sampled_from("abcd")),
        min_size=6,
        max_size=24,
    ),
    st.sampled_from(sorted(PEOPLE_MODELS)),
    st.integers(1, 2),
)
def test_people_releases_bind_both_crowds(rows, name, known):
    """The same in people, from the decision: a release names no person."""
    model, holds = PEOPLE_MODELS[name]
    columns = ("who", "a", "b", "secret")
    source = pa.table({one: [row[j] for row in rows] for j, one in enumerate(columns)})
    plan = shoal.Plan(PEOPLE_SCHEMA, (LooselyKnown(model, known),), shoal.methods.HiddenCells(levels={"a": 0, "b": 0}))
    decisions, original = [], hidden_cells_search.recode_cells

    def recorded(problem, table, levels, hidden, finished):
        decisions.append((problem, table, hidden))
        return original(problem, table, levels, hidden, finished)

    with patch.object(hidden_cells_search, "recode_cells", recorded):
        try:
            shoal.anonymize(source, plan)
        except shoal.errors.InfeasibleError:
            return
    (problem, table, hidden) = decisions[-1]
    texts = [dictionary.text for dictionary in problem.frequencies.quasi]
    labels_by_cells = {}
    for codes, hides in zip(table.codes.tolist(), hidden.tolist(), strict=True):
        cells = tuple(texts[j][code] for j, code in enumerate(codes))
        labels_by_cells[cells] = ["*" if hide else cell for cell, hide in zip(cells, hides, strict=True)]
    released = [labels_by_cells[row[1:3]] for row in rows]
    owner = ["stuvwxyz".index(row[0]) for row in rows]
    has = {one: {row[3] for row, other in zip(rows, owner, strict=True) if other == one} for one in set(owner)}
    for chosen in slow.up_to((0, 1), known):
        for row in rows:
            crowd = sorted(set(slow.owners_of(row[1:3], released, owner, chosen)))
            assert holds(crowd, has, sorted(has))
        for group in slow.groups(released, owner, chosen):
            assert holds(sorted(set(group)), has, sorted(has))


@pytest.mark.parametrize("entries", [1, 7, 4_000_000])
def test_crowds_are_those_of_the_definition(entries, monkeypatch):
    """Whole histograms of all crowds, united in parts of any size."""
    monkeypatch.setattr(person_crowds, "MAX_HISTOGRAM_ENTRIES", entries)
    random = np.random.default_rng(entries)
    people = [list(row) for row in product("pqr", "pq")] * 4
    released = [["*" if random.random() < 0.3 else cell for cell in row] for row in people]
    secrets = random.choice(SECRETS, len(people)).tolist()
    schema = schema_of(NAMES[:2])
    frequencies, _, _, _ = coded(released, secrets, schema)
    code = [{label: number for number, label in enumerate(labels)} for labels in ("pqr*", "pq*")]
    texts = [dictionary.text for dictionary in frequencies.quasi]
    cells = np.asarray([[code[j][texts[j][one]] for j, one in enumerate(row)] for row in frequencies.codes.tolist()])
    published = SubsetCounter(cells, [3, 2], frequencies.count)
    known = SubsetCounter(
        np.asarray([[code[j][cell] for j, cell in enumerate(row)] for row in people]), [3, 2], np.ones(len(people), int)
    )
    found = person_crowds.find_person_crowds(published, known, (0, 1))
    totals = [np.zeros(4, np.int64)]
    seen = 0
    for part, groups in found.groups(frequencies, totals):
        histogram = groups.histograms[0]
        for index, person in enumerate(found.person[part]):
            expected = slow.crowd_of(people[person], released, secrets, (0, 1))
            start, end = histogram.start[index], histogram.start[index + 1]
            values = [frequencies.sensitive[0].text[value] for value in histogram.value[start:end]]
            got = dict(zip(values, histogram.count[start:end].tolist(), strict=True))
            assert got == {value: expected.count(value) for value in sorted(set(expected))}
            assert groups.size[index] == len(expected)
            seen += 1
    assert seen == 6
    alone = person_crowds.find_person_crowds(published, known, (0, 1), with_visible=False)
    hidden = {tuple(person) for person in people} - {tuple(row) for row in released}
    assert {tuple(people[person]) for person in alone.person} == hidden
