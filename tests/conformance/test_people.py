"""The same demands on every method where a column says whose rows they are, on both engines.

Both must publish the same rows. Who has a row in which group is found by what is published beside the
quasi-identifiers, and asked of slow definitions: five visits of one patient are one patient. A method that cannot count
people says so when the plan is made.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.methods import METHODS, OWN
from shoal.runtime.validation import build_from_section
from shoal.schema import Widths
from tests.reference import known
from tests.reference import people as slow

pytestmark = pytest.mark.xdist_group("spark")

QUASI = ("age", "height")
BY_PEOPLE = (shoal.KAnonymity(4), shoal.PSensitive(2))
GIVEN = {
    "levels": {"levels": {"age": 2, "height": 1}, "suppression": 0.6},
    "full-domain": {"suppression": 0.2},
    "anti-unification": {"patterns": "model-aware", "keep_rest": True},
    "facts-suppression": {"suppression": 0.7},
    "mdav": {"k": 4},
    "cbfs": {"k": 4},
    "v-mdav": {"k": 4},
    "k-first": {"k": 4},
    "p-first": {"k": 4, "effort": 200},
    "auto": {"time_limit": 60},
}
"""What a method needs, or is tried with."""
REFUSED = {
    "population-grid": {"k": 5, "ledger": "ledger", "universe": 100},
    "sampled-grid": {"k": 5, "ledger": "ledger", "beta": "1/2", "bound": 4},
    "local-suppression": {"missing": "loose"},
    "anti-unification": {"patterns": "overlapping"},
}
TRIED = sorted(set(OWN) - {"population-grid", "sampled-grid"})
OTHERS = {
    "full-domain without suppression": shoal.FullDomain(loss="entropy"),
    "relaxed mondrian": shoal.Mondrian(strict=False, publish={"age": "centroid"}),
    "mdav in blocks": shoal.Mdav(k=4, block=12),
}
"""Methods of the same names that decide or publish in another way."""


def method_of(name):
    return OTHERS.get(name) or build_from_section(METHODS, {"name": name, **GIVEN.get(name, {})}, "method")


def models_of(name):
    if name == "hidden-cells":
        return (shoal.Known(shoal.KAnonymity(4), 1), shoal.Known(shoal.PSensitive(2), 1))
    return (shoal.TrajectoryAnonymity(3, 2),) if name == "facts-suppression" else BY_PEOPLE


def plan_of(name, method):
    quasi = QUASI[:1] if name == "univariate" else QUASI
    hierarchy = Widths((10, 50))
    columns = {
        "family": shoal.Column(shoal.Role.PERSON),
        "member": shoal.Column(shoal.Role.PERSON),
        **{name: shoal.Column(shoal.Role.QUASI_IDENTIFIER, hierarchy) for name in quasi},
        **({} if quasi == QUASI else {"height": shoal.Column(shoal.Role.DROP)}),
        "illness": shoal.Column(shoal.Role.SENSITIVE),
        "row": shoal.Column(shoal.Role.OTHER),
    }
    return shoal.Plan(shoal.Schema(columns), models_of(name), method, seed=3)


def table_of(rows):
    """Rows of people whom two columns name together; ten rows are nobody's."""
    random = np.random.default_rng(4)
    family, member = random.integers(0, 20, rows), random.integers(0, 3, rows)
    person = family * 3 + member
    return pa.table(
        {
            "family": pa.array(family, mask=np.arange(rows) < 10),
            "member": pa.array([f"m{number}" for number in member]),
            "age": random.integers(20, 60, 60)[person],
            "height": random.integers(150, 190, 60)[person],
            "illness": pa.array([f"i{number}" for number in random.integers(0, 6, rows)]),
            "row": np.arange(rows),
        }
    )


def owners(table):
    """Whose each row is, by its number: who has no name is a person alone."""
    return {r["row"]: r["row"] if r["family"] is None else (r["family"], r["member"]) for r in table.to_pylist()}


@pytest.mark.parametrize("name", [*TRIED, *OTHERS])
def test_both_engines_hide_people_among_people(spark, name):
    table = table_of(150)
    plan = plan_of(name, method_of(name))
    ours = shoal.anonymize(table, plan)
    theirs = shoal.anonymize(spark.createDataFrame(table).repartition(3), plan)
    assert theirs.table.toArrow().to_pylist() == ours.table.to_pylist()
    assert theirs.certificate.to_json() == ours.certificate.to_json()
    assert not names_in(json.loads(ours.certificate.to_json())["method"]) & {"family", "member"}
    released = ours.table.to_pylist()
    assert not {"family", "member"} & set(ours.table.column_names)
    assert ours.certificate["people"]["rows_without_person"] == 10
    assert Counter(row["row"] for row in released) <= Counter(range(150))
    holds(name, table, released, tuple(plan.schema.quasi_identifiers))


def names_in(content):
    """Every key of what is told, however deep."""
    if isinstance(content, list):
        return set().union(*map(names_in, content))
    return set(content).union(*map(names_in, content.values())) if isinstance(content, dict) else set()


def holds(name, table, released, quasi):
    """The promise, from its definition."""
    who = owners(table)
    held = defaultdict(set)
    for row in table.to_pylist():
        held[who[row["row"]]].add(row["illness"])
    labels = [(who[row["row"]], tuple(row[column] for column in quasi)) for row in released]
    if name == "facts-suppression":
        assert not slow.exposed_by_rows(labels, 2, 3)
        return
    groups = defaultdict(set)
    for person, label in labels:
        for chosen in known.up_to(range(len(quasi)), 1)[1:] if name == "hidden-cells" else [range(len(quasi))]:
            if name != "hidden-cells" or all(label[j] != "*" for j in chosen):
                groups[tuple(chosen), tuple(label[j] for j in chosen)].add(person)
    assert groups
    for group in groups.values():
        assert len(group) >= 4
        assert slow.p_sensitive(sorted(group, key=str), held, 2)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_count_people_says_so_when_the_plan_is_made(name):
    with pytest.raises(shoal.PlanError, match="cannot count people: "):
        plan_of(name, build_from_section(METHODS, {"name": name, **REFUSED[name]}, "method"))


def test_every_method_is_tried_or_refused():
    assert set(TRIED) | set(REFUSED) == set(OWN)
