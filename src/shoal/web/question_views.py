"""View models of the ledger, of noisy questions, and of methods on a grid.

The forms of questions are built from :data:`shoal.budget.question_kinds.QUESTION_KINDS`, as the commands are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from starlette.requests import Request

from shoal.errors import InputError, PlanError, ShoalError
from shoal.formatting import localized, number, rounded_down
from shoal.web.ledgers import read_answers, read_ledger
from shoal.web.projects import Project
from shoal.web.translations import translate, translate_error

GRIDS = ("population-grid", "sampled-grid")
"""Methods that book each release in the ledger of the table."""
SUGGESTED_SHARE = Fraction(1, 10)
"""Part of the remaining budget that the form suggests for one question."""
CONDITION_FIELDS = 3
SAMPLED_GRID: dict[str, Any] = {"beta": "1/2", "bound": 2}
"""Initial parameters of a sampled grid."""


def parse_question(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question of declared types; raise if a part is missing.

    >>> parse_question({"kind": "count", "rho": "1/500", "where": [["smokes", "yes"]]})["parameters"]
    {'where': {'smokes': 'yes'}}
    """
    from shoal.budget.question_kinds import DEFAULTS, QUESTION_KINDS

    kind = QUESTION_KINDS.get(given.get("kind", ""))
    if kind is None:
        raise InputError("page.unknown-question", allowed=", ".join(QUESTION_KINDS))
    parameters = {}
    for name in ("rho", *kind.parameters):
        value = given.get(name) or DEFAULTS.get(name)
        if not value and name not in DEFAULTS:
            raise InputError("page.question-incomplete", parameter=name)
        if value:
            parameters[name] = value
    values, person = parameters.get("values", []), given.get("person")
    if not all(isinstance(value, str) for value in (*values, *(person or ()))):
        raise InputError("page.question-not-text")
    if "where" in kind.parameters:
        parameters["where"] = _conditions(given.get("where") or [])
    rho = parameters.pop("rho")
    rows = given.get("rows_per_person", 1)
    return {"kind": kind.name, "rho": rho, "parameters": parameters, "person": person, "rows_per_person": rows}


def _conditions(pairs: list[Any]) -> dict[str, str | None]:
    """Return conditions from pairs of a column and a text; empty is missing."""
    found: dict[str, str | None] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise InputError("page.question-not-text")
        column, value = pair
        if column in found:
            raise PlanError("command.condition-twice", column=column)
        found[column] = value or None
    return found


def questions(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the step: ledger, form, and answers."""
    from shoal.budget.question_kinds import QUESTION_KINDS

    plan, file = project.plan_or_none(), project.ledger_file
    columns = [] if plan is None else list(plan.columns)
    chosen = request.query_params.get("kind", "")
    kind = QUESTION_KINDS.get(chosen) or QUESTION_KINDS["count"]
    run = project.latest.get("query")
    view: dict[str, Any] = {
        "ledger": None, "ledger_error": None, "kinds": list(QUESTION_KINDS), "kind": kind.name,
        "parameters": kind.parameters, "columns": columns, "conditions": range(CONDITION_FIELDS),
        "people": () if plan is None else plan.schema.person, "answers": [], "answer": None,
        "question_failed": run.error if run is not None and run.state == "failed" else None,
    }  # fmt: skip
    if not project.has_ledger or file is None:
        return view
    try:
        status = read_ledger(file)
    except ShoalError as error:
        return view | {"ledger_error": translate_error(error, language)}
    answers = {answer["entry"]: answer for answer in read_answers(project.folder, file)}
    booked = [
        {**entry, "answer": answers.get(entry["number"]), "odds": one_in(entry["rho_after"], language)}
        for entry in reversed(status["bookings"])
    ]
    spent, left = status["epsilon"], status["remaining_epsilon"]
    latest = run.result if run is not None and run.state == "done" else None
    return view | {
        "ledger": status,
        "share": spent / (spent + left) if spent + left else 1.0,
        "suggested": _suggested(status, language),
        "booked": booked,
        "odds": one_in(status["rho"], language),
        "limit": one_in(status["rho_limit"], language),
        "answer": latest,
    }


def one_in(probability: float, language: str) -> str:
    """Describe a bound of a probability as "1 in N", with N rounded down.

    >>> one_in(0.05, "en"), one_in(1 / 33_333.5, "de")
    ('1 in 20', '1 zu 33.333')
    """
    count = math.floor(1 / probability + 1e-9)
    return translate("ledger.odds", language, count=localized(number(count), language))


def _suggested(status: Mapping[str, Any], language: str) -> dict[str, str] | None:
    """Return a share of the budget as ρ, with the noise of a count by it."""
    from shoal.budget.arithmetic import bound_from_rho
    from shoal.budget.mechanisms import calibrate, half_width

    if status["remaining_rho"] is None:
        return None
    m = status["m"]
    factor = status["remaining_E"] ** float(SUGGESTED_SHARE)
    rho = f"1/{math.ceil((m - 1 + factor) / factor)}"
    if not Fraction(1, m) < Fraction(rho) <= Fraction(status["remaining_rho"]):
        rho = rounded_down(status["remaining_rho"], 6)
    try:
        width = half_width(calibrate(bound_from_rho(rho, m), 1))
    except ShoalError:
        return None
    return {"rho": rho, "width": localized(number(width), language)}


def grid_methods(project: Project) -> dict[str, dict[str, Any]]:
    """Return the first plan section of each grid; empty without a ledger.

    Levels are declared by people, not taken from the data: they begin at 1. The population of a cell begins at 1, which
    is too small and therefore safe.
    """
    from shoal.budget.arithmetic import smallest_crowd

    plan, file = project.document(), project.ledger_file
    if not project.has_ledger or file is None:
        return {}
    try:
        status = read_ledger(file)
    except ShoalError:
        return {}
    names = [name for name, column in plan.get("columns", {}).items() if _is_quasi_identifier(column)]
    common = {"ledger": str(file), "levels": dict.fromkeys(names, 1)}
    found: dict[str, dict[str, Any]] = {
        "population-grid": {"name": "population-grid", "k": status["k"], "universe": 1, **common}
    }
    if status["remaining_delta"] > 0:
        crowd = smallest_crowd(SAMPLED_GRID["bound"], str(status["remaining_delta"]), beta=SAMPLED_GRID["beta"])
        found["sampled-grid"] = {"name": "sampled-grid", "k": crowd, **SAMPLED_GRID, **common}
    return found


def _is_quasi_identifier(column: Any) -> bool:
    return isinstance(column, Mapping) and column.get("role") == "quasi-identifier"


def grid_fields(method: Mapping[str, Any], language: str) -> list[dict[str, Any]]:
    """Return the fields of a grid's parameters: label, location and value."""
    if method.get("name") not in GRIDS:
        return []
    found = [
        {"label": translate(f"grid.{name}", language), "set": json.dumps(["method", name]), "value": method[name]}
        for name in ("k", "universe", "beta", "bound", "rho")
        if name in method
    ]
    levels = method.get("levels")
    for name, level in (levels if isinstance(levels, Mapping) else {}).items():
        label = translate("grid.level", language, column=name)
        found.append({"label": label, "set": json.dumps(["method", "levels", name]), "value": level})
    return found
