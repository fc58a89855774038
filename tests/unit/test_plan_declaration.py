"""One declaration of a plan: reading, errors, schema and documentation."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from docs.making import plan_file

from shoal.errors import ShoalError, _catalogue
from shoal.methods import METHODS, Method
from shoal.models import MODELS, KeySet, Model, Scenario
from shoal.plan.json_schema import FILE, builtin, section_classes
from shoal.plan.output import Output
from shoal.plan.plan import Plan, plain
from shoal.plan.population import PopulationSource
from shoal.plan.review import Recipient, Review
from shoal.runtime.validation import DeclaredKey, keys_of
from shoal.schema import HIERARCHIES, Column, Hierarchy, Shift
from tests.builders.declared_classes import VALIDATED
from tests.reference.json_schema import holds

SCHEMA = json.loads(FILE.read_text(encoding="utf-8"))
FORMER_PLANS = json.loads((Path(__file__).parents[1] / "reference" / "former_plans.json").read_text(encoding="utf-8"))
"""Contents of plan files, and the values to which they were read before there was one declaration."""
WHOLE: dict[str, Any] = {
    "source": {"path": "p.csv"},
    "columns": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5]}},
        "seen": {"role": "other", "shift": {"days": 5}},
        "person": {"role": "person"},
    },
    "models": [{"name": "k-anonymity", "k": 2}],
    "keys": [{"columns": ["age"], "k": 3}],
    "method": {"name": "full-domain"},
    "output": {"path": "r.csv"},
    "engine": {"threads": 1},
    "population": {"path": "people.csv"},
    "recipient": {"kind": "public"},
    "review": {"status": "draft"},
}
LOCATIONS: dict[type, tuple[Any, ...]] = {
    Plan: (),
    Column: ("columns", "age"),
    Shift: ("columns", "seen", "shift"),
    KeySet: ("keys", 0),
    Scenario: ("scenarios", 0),
    Output: ("output",),
    PopulationSource: ("population",),
    Recipient: ("recipient",),
    Review: ("review",),
}
"""The place of an object of each class in the plan above."""


class Nothing:
    """A value that fits no annotation."""


def changed(where: tuple[Any, ...], value: Any = None, *, lacking: bool = False) -> dict[str, Any]:
    """Return the plan above with another value of one key, or without it."""
    made = inner = copy.deepcopy(WHOLE)
    if where[0] == "scenarios":
        made |= {"keys": [], "scenarios": [{"name": "neighbour", "columns": ["age"]}]}
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    if lacking:
        del inner[where[-1]]
    return made


def refusal(document: dict[str, Any]) -> ShoalError:
    with pytest.raises(ShoalError) as caught:
        Plan.from_dict(document)
    return caught.value


def declared() -> Iterator[tuple[tuple[Any, ...], DeclaredKey]]:
    """Yield every key of every section with the location of the section."""
    for kind in (Plan, *section_classes()):
        if kind not in (Model, Method, Hierarchy):
            where = LOCATIONS.get(kind) or (
                {"Source": ("source",), "EngineSettings": ("engine",)}.get(kind.__name__, ())
            )
            for part in keys_of(kind):
                yield where, part


DECLARED = list(declared())


def test_the_unchanged_plan_is_read():
    assert Plan.from_dict(WHOLE)


@pytest.mark.parametrize(("where", "part"), DECLARED, ids=lambda case: getattr(case, "key", str(case)))
def test_a_wrong_value_is_refused_with_its_key(where, part):
    error = refusal(changed((*where, part.key), Nothing()))
    assert (error.code, error.where) == ("plan.unusable-key", tuple(map(str, (*where, part.key))))
    assert "Nothing" in str(error)
    assert error.text("de") != str(error)


@pytest.mark.parametrize(
    ("where", "part"), [case for case in DECLARED if case[1].required], ids=lambda case: getattr(case, "key", str(case))
)
def test_a_lacking_key_is_named(where, part):
    error = refusal(changed((*where, part.key), lacking=True))
    assert (error.code, error.where) == ("plan.lacks-key", tuple(map(str, (*where, part.key))))


@pytest.mark.parametrize("where", sorted({where for where, _ in DECLARED}, key=str), ids=str)
def test_an_unknown_key_is_named(where):
    error = refusal(changed((*where, "unknown"), 1))
    assert (error.code, error.where) == ("plan.unknown-key", (*map(str, where), "unknown"))


NAMED = [
    *(("models", 0, name, kind) for name, kind in builtin(MODELS).items()),
    *(("keys", 0, "models", 0, name, kind) for name, kind in builtin(MODELS).items()),
    *(("method", name, kind) for name, kind in builtin(METHODS).items()),
]


@pytest.mark.parametrize("case", NAMED, ids=lambda case: f"{case[0]} {case[-2]}")
def test_parameters_of_models_and_methods_are_named(case):
    """Every wrong, unknown or lacking parameter has its code and its key."""
    *where, name, kind = case
    whole = {"name": name, **VALIDATED[kind]}

    def refused(section: Any) -> ShoalError:
        document = copy.deepcopy(WHOLE)
        if where[0] == "keys":
            document["keys"][0]["models"] = [section]
        else:
            document[where[0]] = [section] if where[0] == "models" else section
        return refusal(document)

    located = tuple(map(str, where))
    for part in keys_of(kind):
        wrong = refused({**whole, part.key: Nothing()})
        assert (wrong.code, wrong.where) == ("plan.part-not-usable", (*located, part.key))
        if part.required:
            lacking = refused({key: value for key, value in whole.items() if key != part.key})
            assert (lacking.code, lacking.where) == ("plan.parameter-missing", (*located, part.key))
    unknown = refused({**whole, "unknown": 1})
    assert (unknown.code, unknown.where) == ("plan.unknown-parameter", (*located, "unknown"))
    other = refused({**whole, "name": "unknown"})
    assert (other.code, other.where) == ("plan.unknown-name", (*located, "name"))


@pytest.mark.parametrize(("key", "kind"), builtin(HIERARCHIES).items(), ids=str)
def test_hierarchies_are_refused_with_their_key(key, kind):
    where = ("columns", "age", "hierarchy")
    for entry, inside in (
        ({key: Nothing()}, ()),
        ({key: True, "unknown": 1}, ("unknown",)),
        ({}, ()),
    ):
        error = refusal(changed(where, entry))
        assert error.where[: 3 + len(inside)] == (*where, *inside)
        assert error.code in _catalogue("en")
    good = {"intervals": [5], "prefix": True, "dates": ["year"]}
    for option in kind.options:
        error = refusal(changed(where, {key: good[key], option: Nothing()}))
        assert error.where == (*where, option)


def test_a_model_that_is_refused_as_a_whole_has_its_number():
    document = {**WHOLE, "models": [{"name": "k-anonymity", "k": 2}, {"name": "l-diversity", "l": 2, "c": 1}]}
    error = refusal(document)
    assert error.where[:2] == ("models", "1")


def test_faults_are_counted_and_keys_come_before_objects():
    document = copy.deepcopy(WHOLE)
    document["columns"]["age"]["pseudonym"] = True
    document["seed"] = "x"
    document["engine"] = {"threads": 0}
    error = refusal(document)
    assert error.where == ("engine", "threads")
    assert "3 errors in total" in str(error)


# -- former plans ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(len(FORMER_PLANS)))
def test_former_plans_are_read_to_the_same_values(number):
    entry = FORMER_PLANS[number]
    plan = Plan.from_dict(entry["plan"], Path("data"))
    assert plain(plan.to_dict()) == entry["loaded"]
    assert Plan.from_dict(plan.to_dict()) == plan
    assert Plan.from_toml(plan.to_toml()) == plan
    assert holds(SCHEMA, entry["loaded"], SCHEMA)


def test_removed_parameters_warn_and_are_named():
    removed = {name: kind.removed_parameters for name, kind in METHODS.items() if kind.removed_parameters}
    assert removed
    for name, parameters in removed.items():
        for parameter in parameters:
            method = {"name": name, **VALIDATED[METHODS[name]]}
            document = {**WHOLE, "columns": {"a": "quasi-identifier"}, "keys": [], "method": {**method, parameter: 1}}
            with pytest.warns(DeprecationWarning, match=f"{parameter!r}.*Remove it"):
                read = Plan.from_dict(document)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert read == Plan.from_dict({**document, "method": method})


@pytest.mark.parametrize(
    ("section", "key", "texts"),
    [("output", "overwrite", ["true", "yes", "on", "1", "True"]), ("output", "report", ["false", "no", "off", "0"])],
)
def test_variables_stand_for_truth_values(section, key, texts, monkeypatch):
    for text in texts:
        monkeypatch.setenv("VALUE", text)
        made = Plan.from_dict(changed((section, key), "${VALUE}"))
        assert getattr(made.output, key) is (key == "overwrite")
    monkeypatch.setenv("VALUE", "perhaps")
    assert refusal(changed((section, key), "${VALUE}")).where == (section, key)


def test_variables_stand_for_threads_alone(monkeypatch):
    monkeypatch.setenv("VALUE", "2")
    assert Plan.from_dict(changed(("engine", "threads"), "${VALUE}")).engine.threads == 2
    assert refusal(changed(("seed",), "2")).where == ("seed",)
    assert refusal(changed(("keys", 0, "k"), "2")).where == ("keys", "0", "k")


# -- schema and documentation ----------------------------------------------------------------------------------------


def test_page_of_keys_is_current():
    assert plan_file.PAGE.read_text(encoding="utf-8") == plan_file.page(), "run: python -m docs.making.plan_file"


def test_every_key_is_described():
    for _, part in DECLARED:
        assert part.description, part.key
        assert f"| `{part.key}` |" in plan_file.page()


def test_schema_refuses_what_is_refused():
    """Compare the schema and the reader on wrong values of every key."""
    for where, part in DECLARED:
        for value in (-1, "\0", [], [[]], {}, {"unknown": 1}, 1.5, True):
            document = changed((*where, part.key), value)
            if (part.key, value) == ("method", {}):  # the default
                continue
            if not holds(SCHEMA, document, SCHEMA) and not isinstance(value, bool):
                with pytest.raises(ShoalError):
                    Plan.from_dict(document)
