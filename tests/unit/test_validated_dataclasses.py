"""Every public dataclass validates and converts all its fields.

No field is left out.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import pkgutil
import random
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pytest
from annotated_types import Ge

import shoal
from shoal.errors import HierarchyError, InfeasibleError, InputError, PlanError, ShoalError
from shoal.methods import METHODS
from shoal.models import MODELS
from shoal.plan.coerce import parse_model
from shoal.plan.plan import Plan
from shoal.runtime.annotations import constraint_of
from shoal.runtime.validation import Number, Validated, build_from_section, exact_number
from shoal.schema import (
    Categories,
    Column,
    Role,
    Schema,
)
from tests.builders.declared_classes import TINY, VALIDATED


class Strange:
    """An object that raises on any access."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__
    __index__ = __float__ = __iter__ = __len__ = __str__


DEEP: list[Any] = []
for _ in range(2000):
    DEEP = [DEEP]

WRONG: list[Any] = [
    True, -1, 0, 1, 2.5, 10**400, -(10**400), 2**63, math.nan, math.inf, -math.inf, 1e308, 5e-324, "", "bogus", "nan",
    "inf", "1e999999999", "1/0", "1" * 5000, "\0", "\ud800", b"bytes", object(), Strange(), [], [[]], DEEP, [1, 2, 3],
    ["a"], [None], {}, {"a": 1}, {"a": math.inf}, {"a": math.nan}, {"a": -1}, {"a": "x"}, {"a": [2, 1]}, {"a": []},
    {1: 1}, {"b": 1}, {"name": "refine"}, {"name": "auto", "methods": 5}, {"a", "b"}, Decimal("nan"), Decimal("inf"),
    Decimal("1e-400"), Fraction(1, 10**400), np.float32(1), np.array([1, 2]), Role, None, (1, 2), Path("x"), len,
]  # fmt: skip

ANYTHING = ("frame", "data")
"""Fields for a table of any kind: a table that cannot be read is reported on reading."""

RESULTS = {
    "AllOf", "Answer", "Apart", "Assessment", "AttackResult", "AttackReport", "Booking", "Bound", "ByCell", "ByGroup",
    "ByLevel", "ByPattern", "Certificate", "CheckResult", "ColumnLabels", "Comparison", "Condition", "Counts", "Crowds",
    "Dictionary", "Domain", "Draft", "Engine", "Entry", "Explanation", "Exploration", "Format", "FrequencySet", "Grid",
    "Groups",
    "Guarantee", "Histogram", "Judgement", "Ladder", "Marked", "MethodFacts", "NumberedPeople", "Opinion", "Options",
    "Page", "Problem", "Profile", "Release", "ReleaseVerification", "RiskReport",
    "Sensitive", "Summary", "Status", "Verdict", "Writing",
}  # fmt: skip
"""Made by shoal and returned, or internal; never passed to it."""


def public_dataclasses() -> set[type]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = [getattr(shoal, name) for name in shoal.__all__]
    for module in pkgutil.iter_modules(shoal.__path__, "shoal."):
        if module.ispkg and module.name not in ("shoal.cli", "shoal.papers", "shoal.kernels.cache", "shoal.datasets"):
            package = importlib.import_module(module.name)
            found += [getattr(package, name) for name in getattr(package, "__all__", ())]
    return {kind for kind in found if inspect.isclass(kind) and dataclasses.is_dataclass(kind)}


def fields_of(kind: type) -> list[str]:
    return [part.name for part in dataclasses.fields(kind) if part.init]


EVERY_FIELD = [(kind, name) for kind in VALIDATED for name in fields_of(kind)]


def name_of(case: Any) -> str:
    return case.__name__ if inspect.isclass(case) else str(case)


def test_every_public_input_dataclass_is_validated() -> None:
    unvalidated = {kind for kind in public_dataclasses() if not issubclass(kind, Validated)}
    assert {kind.__name__ for kind in unvalidated} <= RESULTS
    listed = {kind for kind in public_dataclasses() if issubclass(kind, Validated)}
    assert {kind.__name__ for kind in listed - set(VALIDATED)} <= {"AllOf", "PartialKnowledge", "Method", "Model"}


@pytest.mark.parametrize(("kind", "name"), EVERY_FIELD, ids=name_of)
def test_wrong_value_of_any_field_is_refused(kind: type, name: str) -> None:
    """Refuse strange objects, bytes and functions.

    Only errors of shoal are raised.
    """
    refused = 0
    for wrong in WRONG:
        try:
            kind(**{**VALIDATED[kind], name: wrong})
        except (InputError, InfeasibleError) as error:
            refused += 1
            assert len(str(error)) < 500
            continue
        assert (not isinstance(wrong, bytes) and wrong is not len) or name in ANYTHING
    assert refused >= 20 or name in ANYTHING


@pytest.mark.parametrize(("kind", "name"), EVERY_FIELD, ids=name_of)
def test_errors_describe_the_type_of_a_field(kind: type, name: str) -> None:
    if name in ANYTHING:
        return
    with pytest.raises(InputError) as caught:
        kind(**{**VALIDATED[kind], name: b"bytes"})
    assert f"{name!r} must be" in str(caught.value).replace(f"`{name}`", repr(name))
    assert "bytes'" not in str(caught.value)


def test_role_given_as_text() -> None:
    assert Column("identifier").role is Role.IDENTIFIER  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="'role' must be identifier, quasi-identifier, sensitive, other, "):
        Column("bogus")  # type: ignore[arg-type]


def test_identifier_role_as_text_is_not_published() -> None:
    table = pa.table({"name": ["Ann", "Bob"], "a": ["1", "1"]})
    schema = Schema({"name": Column("identifier"), "a": Column("quasi-identifier")})  # type: ignore[arg-type]
    released = shoal.anonymize(table, Plan(schema, (shoal.models.KAnonymity(2),), shoal.methods.Levels()))
    assert released.table.column_names == ["a"]


def test_lists_become_tuples_and_mappings_are_copied() -> None:
    weights = {"a": 2}
    method = shoal.methods.TopDown(weights=weights)
    weights["a"] = -5
    assert method.weights == {"a": 2}
    assert shoal.methods.AntiUnification(order=["<"]).order == ("<",)  # type: ignore[arg-type]
    assert Categories([["a"], ["b"]]).classes == (("a",), ("b",))  # type: ignore[arg-type]


def test_third_party_subclass_is_validated() -> None:
    @dataclasses.dataclass(frozen=True)
    class Mine(shoal.methods.Levels):
        often: Annotated[int, Ge(1)] = 1
        kind: Literal["a", "b"] = "a"

    assert Mine(often=3).often == 3
    for wrong in ({"often": 0}, {"often": True}, {"kind": "c"}, {"suppression": 2}):
        with pytest.raises(PlanError, match="must be"):
            Mine(**wrong)  # type: ignore[arg-type]


def test_numbers_are_exact() -> None:
    assert exact_number(0.1) == exact_number("1/10") == exact_number(Decimal("0.1")) == Fraction(1, 10)
    assert (
        shoal.models.TCloseness("1/4")
        == shoal.models.TCloseness(Fraction(1, 4))
        == shoal.models.TCloseness(Decimal("0.25"))
    )
    for wrong in (math.nan, "1e999999999", "-1e999999999", "1/0", "x", True, None, 10**400, Decimal("Infinity")):
        with pytest.raises(ValueError):  # noqa: PT011 - any
            exact_number(wrong)


def test_annotations_in_words() -> None:
    assert constraint_of(Annotated[Number, Ge(0)]).words == "a number of at least 0"
    assert constraint_of(tuple[str, ...] | None).words == "a list, each item text"


def test_errors_name_the_section_of_a_plan() -> None:
    with pytest.raises(PlanError, match=r"The method 'mdav': The parameter 'weights'.*whose entry 'age' is not"):
        build_from_section(METHODS, {"name": "mdav", "weights": {"age": math.inf}}, "method")
    with pytest.raises(PlanError, match="There is no model named a table"):
        build_from_section(MODELS, {"name": {}}, "model")


# -- fuzzing all parameters of models and methods ----------------------------------------------------------------

COLUMNS = {
    "a": {"role": "quasi-identifier", "hierarchy": {"intervals": [2]}},
    "b": {"role": "quasi-identifier"},
    "s": {"role": "sensitive", "categories": [["p"], ["q"], ["r"]]},
}
QUICK_METHODS = ("levels", "full-domain", "auto")
"""Methods that need no kernels beyond those that every release loads: run, not only constructed."""


def mixed(rng: random.Random) -> Any:
    wrong = rng.choice(WRONG)
    return rng.choice([wrong, wrong, [wrong], {"a": wrong}, {"b": wrong, "a": wrong}])


def test_any_parameters_make_a_plan_or_are_refused() -> None:
    rng = random.Random(20240607)
    made = 0
    for known, section in ((METHODS, "method"), (MODELS, "models")):
        for name, kind in known.items():
            for field in fields_of(kind):
                for _ in range(30):
                    entry = {**VALIDATED[kind], "name": name, field: mixed(rng)}
                    document: dict[str, Any] = {"columns": COLUMNS, "models": [{"name": "k-anonymity", "k": 2}]}
                    document |= {section: entry if section == "method" else [entry]}
                    try:
                        plan = Plan.from_dict(document)
                    except (InputError, InfeasibleError):
                        continue
                    made += 1
                    assert Plan.from_dict(plan.to_dict()) == plan
    assert made > 50


def test_models_on_a_command_line_are_made_or_refused() -> None:
    words = ["", "nan", "inf", "-1", "0", "1", "2", "1e400", "1e-400", "1/0", "1/3", "x", "true", "[1]", "9" * 400, "∞"]
    for name, kind in MODELS.items():
        for field in fields_of(kind):
            for word in words:
                given = " ".join(f"{key}={value}" for key, value in {**VALIDATED[kind], field: word}.items())
                try:
                    parse_model(f"{name} {given}")
                except InputError:
                    continue


def test_accepted_models_run_without_internal_errors() -> None:
    numbers: list[Any] = [1, 2, 3, 0.5, 0, 2**53 - 1, 1e300, 1e-300, "1/3", "1e200", "1e-200", Fraction(1, 10**299)]
    for name, kind in MODELS.items():
        for field in fields_of(kind):
            for value in [*numbers, "s", "a", "entropy", "recursive", "enhanced", "ignored", "ordered"]:
                given = {**VALIDATED[kind], field: value, "name": name}
                given |= {"c": 2} if value == "recursive" else {}
                document = {"columns": COLUMNS, "models": [given], "method": {"name": "levels", "levels": {"a": 2}}}
                try:
                    plan = Plan.from_dict(document)
                    shoal.check(TINY, plan=plan)
                    shoal.anonymize(TINY, plan)
                except (InputError, InfeasibleError):
                    continue
                except ShoalError as error:
                    raise AssertionError(f"{name} {field} {value}") from error


def test_accepted_methods_run_without_internal_errors() -> None:
    rng = random.Random(7)
    for name in QUICK_METHODS:
        for field in fields_of(METHODS[name]):
            for wrong in [*WRONG, *(mixed(rng) for _ in range(20))]:
                method = {"name": name, "suppression": 1.0, field: wrong}
                if name == "auto":
                    method = {"methods": ["levels"], **method}
                document = {"columns": COLUMNS, "models": [{"name": "k-anonymity", "k": 2}], "method": method}
                try:
                    shoal.anonymize(TINY, document)
                except (InputError, InfeasibleError):
                    continue


def test_hierarchies_in_a_plan_are_made_or_refused() -> None:
    for kind in ("intervals", "cuts", "prefix", "csv", "table", "tree", "dates", "order", "flat"):
        for wrong in [*WRONG, *([one] for one in WRONG), *([[one]] for one in WRONG)]:
            for extra in ({}, {"length": wrong}, {"origin": wrong}, {"format": wrong}):
                section = {"role": "quasi-identifier", "hierarchy": {kind: wrong, **extra}}
                try:
                    Plan.from_dict({"columns": {"a": section}, "models": [{"name": "k-anonymity", "k": 2}]})
                except (PlanError, HierarchyError):
                    continue
