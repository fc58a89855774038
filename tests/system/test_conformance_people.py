"""Every method with rows counted by person, on both engines.

Both engines must publish the same rows. The people in each group are found by the columns published in addition to the
quasi-identifiers, and checked with slow definitions: five visits of one patient are one patient. A method that cannot
count people is refused when the plan is made.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

import shoal
from shoal.methods import METHODS
from shoal.runtime.validation import build_from_section
from shoal.schema import Widths
from tests.builders.certificates import statements
from tests.builders.people import people_of
from tests.reference import known
from tests.reference import people as slow

pytestmark = pytest.mark.xdist_group("spark")

QUASI = ("age", "height")
BY_PEOPLE = (shoal.models.KAnonymity(4), shoal.models.PSensitive(2))
PARAMETERS = {
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
"""Parameters that a method needs, or is tested with."""
REFUSED = {
    "population-grid": {"k": 5, "ledger": "ledger", "universe": 100},
    "sampled-grid": {"k": 5, "ledger": "ledger", "beta": "1/2", "bound": 4},
    "local-suppression": {"missing": "loose"},
    "anti-unification": {"patterns": "overlapping"},
}
TESTED = sorted(set(METHODS.first_party()) - {"population-grid", "sampled-grid"})
VARIANTS = {
    "full-domain without suppression": shoal.methods.FullDomain(loss="entropy"),
    "relaxed mondrian": shoal.methods.Mondrian(strict=False, publish={"age": "centroid"}),
    "mdav in blocks": shoal.methods.Mdav(k=4, block=12),
}
"""Variants of methods of the same name that decide or publish differently."""


def method_of(name):
    return VARIANTS.get(name) or build_from_section(METHODS, {"name": name, **PARAMETERS.get(name, {})}, "method")


def models_of(name):
    if name == "hidden-cells":
        return (
            shoal.models.LooselyKnown(shoal.models.KAnonymity(4), 1),
            shoal.models.LooselyKnown(shoal.models.PSensitive(2), 1),
        )
    return (shoal.models.TrajectoryAnonymity(3, 2),) if name == "facts-suppression" else BY_PEOPLE


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
    return shoal.Plan(shoal.schema.Schema(columns), models_of(name), method, seed=3)


def table_of(rows):
    """Rows of people, with their numbers."""
    return people_of(rows).append_column("row", pa.array(np.arange(rows)))


def owners(table):
    """Map each row's number to its person.

    A row without a name is a person with one row.
    """
    return {r["row"]: r["row"] if r["family"] is None else (r["family"], r["member"]) for r in table.to_pylist()}


@pytest.mark.parametrize("name", [*TESTED, *VARIANTS])
def test_both_engines_group_by_people(spark, name):
    table = table_of(150)
    plan = plan_of(name, method_of(name))
    ours = shoal.anonymize(table, plan)
    theirs = shoal.anonymize(spark.createDataFrame(table).repartition(3), plan)
    assert theirs.table.toArrow().to_pylist() == ours.table.to_pylist()
    assert statements(theirs) == statements(ours)
    assert not names_in(json.loads(ours.certificate.to_json())["method"]) & {"family", "member"}
    released = ours.table.to_pylist()
    assert not {"family", "member"} & set(ours.table.column_names)
    assert ours.figures["people"]["rows_without_person"] == 10
    assert Counter(row["row"] for row in released) <= Counter(range(150))
    assert_holds(name, table, released, tuple(plan.schema.quasi_identifiers))


def names_in(content):
    """Collect every key of nested content."""
    if isinstance(content, list):
        return set().union(*map(names_in, content))
    return set(content).union(*map(names_in, content.values())) if isinstance(content, dict) else set()


def assert_holds(name, table, released, quasi):
    """Check the guarantee by its definition."""
    owner = owners(table)
    illnesses = defaultdict(set)
    for row in table.to_pylist():
        illnesses[owner[row["row"]]].add(row["illness"])
    labels = [(owner[row["row"]], tuple(row[column] for column in quasi)) for row in released]
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
        assert slow.p_sensitive(sorted(group, key=str), illnesses, 2)


@pytest.mark.parametrize("name", REFUSED)
def test_methods_without_people_are_refused(name):
    """Refuse a method that cannot count people when the plan is made."""
    with pytest.raises(shoal.errors.PlanError, match="cannot count people: "):
        plan_of(name, build_from_section(METHODS, {"name": name, **REFUSED[name]}, "method"))


def test_every_method_is_tested_or_refused():
    assert set(TESTED) | set(REFUSED) == set(METHODS.first_party())
