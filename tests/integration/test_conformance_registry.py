"""Conformance of all registered parts, by :mod:`shoal.testing`.

What is tried is taken from the registries, so that nothing registered is left out.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import ClassVar

import numpy as np
import pytest

from shoal.budget import Ledger
from shoal.budget.methods import PopulationGrid, SampledGrid
from shoal.errors import PlanError
from shoal.io.engines import ENGINES
from shoal.io.formats import FORMATS
from shoal.methods import METHODS, FactsSuppression, Levels, PFirst
from shoal.methods.partition import PartitionMethod
from shoal.models import MODELS, KAnonymity, PSensitive
from shoal.models.base import Assessment, Condition, SensitiveModel
from shoal.pipeline.run import anonymize
from shoal.plan.plan import Plan
from shoal.runtime.validation import build_from_section
from shoal.schema import HIERARCHIES, Calendar, Cuts, Flat, Intervals, Ordered, Prefix, Table, Tree, Widths
from shoal.testing import (
    PEOPLE_SCHEMA,
    SCHEMA,
    Case,
    check_definition,
    check_format,
    check_hierarchy,
    check_method,
    check_model,
    method_cases,
    sample_models,
    table_of,
)
from shoal.verification.independent.definitions import DEFINITIONS
from tests.builders import grids
from tests.builders.errors import has_code

WITH_PARAMETERS = {
    "levels": Levels({"age": 3, "place": 1}, suppression=0.6),
    "facts-suppression": FactsSuppression(suppression=0.7),
    "p-first": PFirst(effort=100),
}
"""Methods that need parameters for the test tables, or are slow without."""
GRIDS = {"population-grid", "sampled-grid"}
HIERARCHIES_TRIED = {
    "flat": (Flat(), ["a", "b"]),
    "csv": (Table((("USA", "America"), ("Canada", "America"), ("India", "Asia"))), ["USA", "Canada", "India"]),
    "tree": (Tree({"America": ["USA", "Canada"], "Asia": ["India"]}), ["USA", "Canada", "India"]),
    "prefix": (Prefix(length=5), ["14248", "14207"]),
    "prefix of lengths": (Prefix((1, 3), 5), ["14248", "14207"]),
    "order": (Ordered((2,), ("low", "mid", "high")), ["low", "mid", "high"]),
    "intervals": (Widths((5, 10), bottom=20), ["27", "28", "41"]),
    "cuts": (Cuts(((30, 40), (40,))), ["27", "35", "41"]),
    "intervals of ends": (Intervals((((0, 30), (30, float("inf"))),)), ["27", "41"]),
    "dates": (Calendar(("month", "year"), "%d.%m.%Y"), ["29.02.2024", "01.03.2024"]),
}


@pytest.mark.parametrize("name", sorted(set(METHODS.first_party()) - GRIDS))
def test_method(name):
    method = WITH_PARAMETERS.get(name) or build_from_section(METHODS, {"name": name}, "method")
    check_method(method, cases=method_cases(tables=((60, 1),)))


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_grid(name, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger", m=10**6, k=2, delta_limit="0.9")
    levels = {"age": 2, "town": 1}
    method = {
        "population-grid": PopulationGrid(20, ledger, levels, universe=1000),
        "sampled-grid": SampledGrid(k=20, ledger=ledger, levels=levels, beta="1/2", bound=2),
    }[name]
    check_method(method, cases=[Case("people", (), grids.SCHEMA, grids.people(800))])


@pytest.mark.parametrize("model", sample_models(), ids=lambda model: model.name)
def test_model(model):
    methods = ("facts-suppression",) if model.requires_people else ("full-domain", "mdav", "mondrian")
    check_model(model, methods=methods)


@pytest.mark.parametrize("model", [one for one in sample_models() if not one.requires_people], ids=lambda one: one.name)
def test_second_definition_of_a_model(model):
    check_definition(model)


@pytest.mark.parametrize("kind", HIERARCHIES_TRIED)
def test_hierarchy(kind):
    check_hierarchy(*HIERARCHIES_TRIED[kind])


@pytest.mark.parametrize("name", [name for name in FORMATS.first_party() if FORMATS[name].module is not None])
def test_format(tmp_path, name):
    form = FORMATS[name]
    if any(find_spec(package) is None for package in form.packages):
        pytest.skip(f"the extra {form.extra!r} is not installed")
    check_format(replace(form, suffixes=(".xlsx",) if name == "excel" else form.suffixes), tmp_path)


def test_everything_registered_is_tried():
    # models of a population need one: tests/unit/test_population_models.py tries them and their definitions
    populations = {name for name in MODELS.first_party() if MODELS[name].needs_population}
    samples = {model.name for model in sample_models()}
    assert samples | populations == set(MODELS.first_party()) == set(DEFINITIONS.first_party())
    kinds = {type(hierarchy) for hierarchy, _ in HIERARCHIES_TRIED.values()}
    assert kinds >= {HIERARCHIES[name] for name in HIERARCHIES.first_party()}
    assert set(ENGINES.first_party()) == {"duckdb", "spark"}, "an engine is compared with DuckDB in the system lane"


class Refuses(PartitionMethod):
    """Refuse every plan."""

    name = "refuses"

    def check(self, schema, model):
        raise PlanError("no")


class OneGroup(PartitionMethod):
    """Return one group of all rows."""

    name = "one-group"

    def partition(self, problem):
        return problem.frequencies.count * 0


CALLS = itertools.count()


class Counting(PartitionMethod):
    """Return groups that change from call to call."""

    name = "counting"

    def partition(self, problem):
        return (problem.frequencies.codes[:, 0] + next(CALLS)) // 7


def test_a_method_that_supports_no_plan_is_found():
    with pytest.raises(AssertionError, match="supports at least one"):
        check_method(Refuses(), cases=method_cases(tables=((60, 1),)))


def test_one_group_is_a_valid_partition():
    check_method(OneGroup(), cases=method_cases((KAnonymity(3),), ((60, 1),)))


def test_a_method_with_memory_is_found():
    with pytest.raises(AssertionError, match="the same release"):
        check_method(Counting(), cases=method_cases((KAnonymity(3),), ((200, 2),)))


def test_a_partition_of_a_wrong_shape_is_refused():
    class Short(OneGroup):
        def partition(self, problem):
            return super().partition(problem)[1:]

    with pytest.raises(PlanError, match="one whole number of at least 0 for each"):
        check_method(Short(), cases=method_cases((KAnonymity(3),), ((60, 1),)))


@dataclass(frozen=True)
class Enough(SensitiveModel):
    """At least ``rows`` known values in a group, with a fault by choice."""

    rows: int = 3
    column: str | None = None
    name: ClassVar[str] = "enough"
    smallest: ClassVar[int] = 1
    accepts_missing: ClassVar[bool] = False

    @property
    def least(self):
        return self.smallest

    def assess_column(self, groups, histogram):
        holds = (histogram.known >= self.rows) | (self.accepts_missing & (histogram.known == 0))
        return Assessment(holds, (Condition.of("rows", np.where(holds, self.rows, 0), self.rows, holds),))


def test_a_wrong_least_size_is_found():
    check_model(Enough(), methods=("mondrian",))
    with pytest.raises(AssertionError, match="least size"):
        check_model(type("TooLarge", (Enough,), {"smallest": 6})(), methods=("mondrian",))


def test_a_model_that_missing_values_help_is_found():
    with pytest.raises(AssertionError, match="missing values never help"):
        check_model(type("Missing", (Enough,), {"accepts_missing": True})(), methods=("mondrian",))


@pytest.mark.parametrize("fault", ["strict", "missing"])
def test_a_definition_that_differs_in_a_group_is_found(monkeypatch, fault):
    own = DEFINITIONS["p-sensitive"]

    def judge(model, column):
        def evaluate(size, values):
            holds = len(values) > model.p if fault == "strict" else not values or len(values) >= model.p
            return holds, (len(values),)

        return evaluate

    monkeypatch.setitem(DEFINITIONS.own, "p-sensitive", replace(own, judge=judge))
    with pytest.raises(AssertionError, match=r"agree on every group|whether it holds"):
        check_definition(PSensitive(2))


def test_a_model_of_rows_is_refused_where_people_are_counted():
    with pytest.raises(PlanError, check=has_code("models.counts-rows-only")):
        Plan(PEOPLE_SCHEMA, (Enough(),))


def test_equal_labels_are_one_group_in_the_losses():
    class Rows(PartitionMethod):
        """Return a group for each combination."""

        name = "rows"

        def partition(self, problem):
            return np.arange(len(problem.frequencies.count))

    release = anonymize(table_of(200, 2), Plan(SCHEMA, (KAnonymity(3),), Rows()))
    labels = zip(*(release.table.column(name).to_pylist() for name in SCHEMA.quasi_identifiers), strict=True)
    sizes = Counter(labels).values()
    assert release.utility["discernibility"] == sum(size**2 for size in sizes)
