"""View models: the template context of each step of the page.

Nothing is computed here: each function selects from a project what the template of its step displays.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup
from starlette.requests import Request

from shoal.errors import ShoalError
from shoal.render.html import prose, text
from shoal.web.checklist import checklist_of
from shoal.web.cliff_view import cliff_of
from shoal.web.exposure_view import exposure_of
from shoal.web.pictures import draw_heat_map, draw_lattice, minimal_nodes, sparkline
from shoal.web.plan_edits import classes_to_text, hierarchy_to_text
from shoal.web.projects import PLAN_FILE, Project
from shoal.web.question_views import GRIDS, grid_fields, grid_methods, questions
from shoal.web.request_values import parse_count
from shoal.web.review_views import recipient_of, review_of, review_step
from shoal.web.runs import Run
from shoal.web.translations import TEXTS, translate

EQUAL = 1e-9
"""Relative difference up to which a loss and its bound are the same figure."""
FILE_KINDS = {
    "certificate.json": "certificate",
    "report.html": "report",
    ".internal.html": "internal",
    ".recoding": "recoding",
    PLAN_FILE: "plan",
}
HIERARCHY_KINDS = ("intervals", "cuts", "dates", "prefix", "order", "tree", "table", "csv", "flat")
COMMON_MODELS = ("k-anonymity", "l-diversity", "t-closeness", "p-plus-alpha-sensitive", "trajectory-anonymity")
"""Models that are offered first."""
INITIAL_PARAMETERS = {"k": 5, "l": 2, "p": 2, "alpha": 0.5, "t": 0.3, "delta": 1.0, "beta": 1.0}
"""Initial parameters of a model that is added."""
SORT_ORDERS = ("alone", "table", "role")
MAX_HEAT_MAP_COLUMNS = 24
"""Of more columns than this, those whose associations changed most are drawn."""
MAX_CHARTS = 12
"""Columns drawn at once, those with the largest loss first; the others are folded."""
MAX_BARS_PER_CHART = 12
"""Bars of a column's distribution displayed at once; the rest is folded."""


def current_result(project: Project, key: str) -> dict[str, Any] | None:
    """Return the latest result, or partial result, of the current plan.

    Return None if there is none. The profile (``look``) depends on the source alone, so it stays valid when the plan
    changes.
    """
    run = project.latest.get(key)
    if run is None or run.known is None or (key != "look" and project.plan_digests.get(key) != project.digest):
        return None
    return run.known


def _columns_of(project: Project) -> dict[str, dict[str, Any]]:
    given = project.document().get("columns", {})
    return {name: dict(section) for name, section in given.items() if isinstance(section, Mapping)}


def _columns_with_role(project: Project, role: str) -> list[str]:
    return [name for name, section in _columns_of(project).items() if section.get("role") == role]


def failure_message(run: Run | None) -> dict[str, Any] | None:
    """Return the error of a failed run, or None."""
    return run.error if run is not None and run.error is not None and run.state == "failed" else None


# -- table and columns -------------------------------------------------------------------------------


def table(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the table step: the first rows."""
    return {"look": current_result(project, "look")}


def columns(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the columns step: every column with its role.

    By default, columns that single out most rows come first.
    """
    from shoal.schema import Role

    look = current_result(project, "look")
    found = {column["name"]: column for column in (look or {}).get("columns", ())}
    listed: list[dict[str, Any]] = []
    for name, section in _columns_of(project).items():
        pairs = [pair for pair in (look or {}).get("pairs", ()) if name in pair["columns"]]
        best = max(pairs, key=lambda pair: pair["unique"], default=None)
        other = None if best is None else next(n for n in best["columns"] if n != name)
        role = str(section.get("role", ""))
        moved = "shift" if section.get("shift") else "first" if section.get("relative_to") else ""
        listed.append({"name": name, "role": role, "found": found.get(name), "best": best, "other": other,
                       "said": section, "moved": moved, "days": _days(section)})  # fmt: skip
    requested = request.query_params.get("sort", "")
    sort = requested if requested in SORT_ORDERS else "alone"
    roles = [str(role) for role in Role]
    if sort == "alone":  # by itself, then with the best second column
        listed.sort(key=lambda one: (-(one["found"] or {}).get("unique", 0), -(one["best"] or {}).get("unique", 0)))
    elif sort == "role":
        listed.sort(key=lambda one: roles.index(one["role"]) if one["role"] in roles else len(roles))
    role_counts = Counter(one["role"] for one in listed)
    return {"columns": listed, "role_counts": role_counts, "look": look, "roles": roles,
            "spark": sparkline, "sort": sort, "sorts": SORT_ORDERS,
            "people": bool(_columns_with_role(project, "person")), "first_time": not project.releases()}  # fmt: skip


def _days(section: Mapping[str, Any]) -> Any:
    shift = section.get("shift")
    return shift.get("days", "") if isinstance(shift, Mapping) else ""


# -- hierarchies -------------------------------------------------------------------------------------


def hierarchies(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the hierarchies step, for one column.

    It displays the hierarchy, or the classes of sensitive values, with the loss and the failing rows of every level.
    """
    given = _columns_of(project)
    names, sensitive = _columns_with_role(project, "quasi-identifier"), _columns_with_role(project, "sensitive")
    chosen = request.query_params.get("column", "")
    chosen = chosen if chosen in (*names, *sensitive) else ([*names, ""])[0]
    section = given.get(chosen, {})
    entry = section.get("hierarchy") or {"flat": True}
    kind, written = hierarchy_to_text(entry) if isinstance(entry, Mapping) else ("flat", "")
    classes = chosen in sensitive
    key = f"levels {chosen}"
    levels = current_result(project, key)
    steps = (levels or {}).get("levels", [])
    raw = steps[0].get("failing") if steps else None
    look = {c["name"]: c for c in (current_result(project, "look") or {}).get("columns", ())}
    return {
        "names": names, "secret": sensitive, "chosen": chosen, "kind": kind, "kinds": HIERARCHY_KINDS,
        "classes": classes, "published": section.get("publish", "values") if section.get("categories") else None,
        "order": "\n".join(map(str, section.get("order") or ())),
        "written": classes_to_text(section) if classes else written, "levels": levels, "raw": raw,
        "levels_failed": failure_message(project.latest.get(key)), "suits": (look.get(chosen) or {}).get("kind"),
        "widths": entry.get("intervals") if kind == "intervals" else None,
    }  # fmt: skip


# -- promise -----------------------------------------------------------------------------------------


def promise(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the promise step.

    It displays the models in words, the assumed knowledge of the intruder, and how many rows fail now.
    """
    from shoal.models import MODELS

    document = project.document()
    given = [model for model in _list(document, "models") if isinstance(model, Mapping)]
    keys = [key for key in _list(document, "keys") if isinstance(key, Mapping)]
    sensitive, quasi = _columns_with_role(project, "sensitive"), _columns_with_role(project, "quasi-identifier")
    people = bool(_columns_with_role(project, "person"))
    check = current_result(project, "check") or {}
    cards = []
    for position, model in enumerate(given):
        name = str(model.get("name", ""))
        fields = {key: value for key, value in model.items() if key not in ("name", "known")}
        verdicts = [one for one in check.get("models", ()) if _matches_model(one, name, model, sensitive)]
        against = f"against.{name}" if f"against.{name}" in TEXTS else "against.other"
        sentence, rest = _model_form(position, name, fields, sensitive, people, language)
        cards.append({"name": name, "sentence": sentence, "rest": rest, "against": against, "verdicts": verdicts,
                      "paper": _citation(name)})  # fmt: skip
    known_columns = next((model["known"] for model in given if "known" in model), None)
    limits = [position for position, model in enumerate(given) if model.get("name") != "trajectory-anonymity"]
    unbound = [{"set": ["models", position, "known"], "value": None} for position in limits]
    unkeyed = {"set": ["keys"], "value": None}
    first = {"columns": quasi[:2], "k": next((m["k"] for m in given if "k" in m), 5)}
    usual: list[dict[str, Any]] = []
    more: list[dict[str, Any]] = []
    there = {str(model.get("name")) for model in given}
    for name, kind in MODELS.items():
        of_a_column = any(f.name == "column" for f in dataclasses.fields(kind))
        about_one = len(sensitive) < 2 or not of_a_column
        if kind.needs_population is True and not document.get("population"):
            continue
        if (name == "trajectory-anonymity" and not people) or (name in there and about_one):
            continue
        if of_a_column and not sensitive:
            continue
        changes = [{"set": ["models", "+"], "value": _new_model(name, kind, sensitive, known_columns)}]
        about = _describe_model(name, sensitive, people, language)
        new = {"name": name, "about": about, "paper": _citation(name), "changes": json.dumps(changes)}
        (usual if name in COMMON_MODELS else more).append(new)
    return {
        "cards": cards, "usual": usual, "more": more, "quasi": quasi, "keys": keys, "people": people,
        "secret": sensitive,
        "knows": "keys" if keys else "few" if known_columns is not None else "all", "few": known_columns,
        "knows_all": json.dumps([*unbound, unkeyed]),
        "knows_few": json.dumps([unkeyed, *_known_changes(limits, min(3, max(1, len(quasi))))]),
        "knows_keys": json.dumps([*unbound, {"set": ["keys"], "value": [first]}]),
        "known_places": json.dumps(limits), "new_key": json.dumps([{"set": ["keys", "+"], "value": first}]),
        "drop_keys": json.dumps([unkeyed]), "has_models": bool(limits),
        "recipient": recipient_of(document, current_result(project, "look"), language),
        "cliff": cliff_of(project, _current_release(project), language),
    }  # fmt: skip


def _known_changes(positions: Sequence[int], value: int) -> list[dict[str, Any]]:
    return [{"set": ["models", position, "known"], "value": value} for position in positions]


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name, [])
    return found if isinstance(found, list) else []


def _matches_model(verdict: Mapping[str, Any], name: str, model: Mapping[str, Any], sensitive: Sequence[str]) -> bool:
    parameters, column = verdict.get("parameters", {}), model.get("column")
    return verdict.get("name") == name and parameters.get("column") in (
        None,
        column,
        *(sensitive if column is None else ()),
    )


def _citation(name: str) -> str:
    return TEXTS[f"paper.{name}"][0] if f"paper.{name}" in TEXTS else ""


def _describe_model(name: str, sensitive: Sequence[str], people: bool, language: str) -> str:
    """Describe a model in words, with its initial parameters."""

    def plain(match: re.Match[str]) -> str:
        part = match[1]
        if part == "unit":
            return translate("unit.people" if people else "unit.rows", language)
        if part == "column":
            return (
                sensitive[0] if sensitive else translate("promise.secret", language)
            )  # it begins with the first of them
        choices = _choices(name, part, ())
        return translate(f"choice.{choices[0]}", language) if choices else str(INITIAL_PARAMETERS.get(part, 2))

    words = translate(f"promise.{name}", language) if f"promise.{name}" in TEXTS else name
    return re.sub(r"\{(\w+)\}", plain, words)


def _model_form(
    position: int, name: str, fields: dict[str, Any], sensitive: Sequence[str], people: bool, language: str
) -> tuple[Markup, dict[str, Any]]:
    """Describe a model in words with input fields for its parameters.

    Return also the parameters that the sentence leaves out.
    """
    from shoal.models import MODELS

    known = {f.name: f.default for f in dataclasses.fields(MODELS[name])} if name in MODELS else {}
    words = translate(f"promise.{name}", language) if f"promise.{name}" in TEXTS else prose(name)
    rest = dict(fields)
    if fields.get("kind") == "recursive" or "c" in fields:
        words += " c = {c}."

    def field(match: re.Match[str]) -> str:
        part = match[1]
        if part == "unit":
            return translate("unit.people" if people else "unit.rows", language)
        value = rest.pop(part, known.get(part))
        if value is dataclasses.MISSING:
            value = None
        if part == "column" and len(sensitive) <= 1 and not value:
            return text(sensitive[0], 60) if sensitive else translate("promise.secret", language)
        return _input_field(position, part, value, _choices(name, part, sensitive), language)

    made = re.sub(r"\{(\w+)\}", field, words)
    return Markup(made), rest


def _choices(name: str, part: str, sensitive: Sequence[str]) -> Sequence[str] | None:
    if part == "column":
        return sensitive
    return {
        "kind": ("basic", "enhanced") if name == "beta-likeness" else ("distinct", "entropy", "recursive"),
        "distance": ("equal", "ordered", "hierarchical"),
        "absent": ("fails", "ignored"),
    }.get(part)


def _input_field(position: int, part: str, value: Any, choices: Sequence[str] | None, language: str) -> str:
    """Render an input field within a sentence."""
    label = translate(f"field.{part}", language) if f"field.{part}" in TEXTS else part
    way = prose(json.dumps(["models", position, part]), 200)
    common = f'id="model-{position}-{prose(part)}" aria-label="{prose(label)}" data-set="{way}"'
    if choices is not None:
        options = "".join(
            f'<option value="{prose(one, 600)}"{" selected" if one == value else ""}>'
            f"{prose(translate(f'choice.{one}', language) if f'choice.{one}' in TEXTS else one, 60)}</option>"
            for one in choices
        )
        return f"<select {common}>{options}</select>"
    whole = "1" if isinstance(value, int) and part in ("k", "l", "p", "known_rows") else "any"
    displayed = "" if value is None else prose(value)
    return f'<input type="number" step="{whole}" min="0" {common} value="{displayed}">'


def _new_model(name: str, model: Any, sensitive: Sequence[str], known_columns: int | None) -> dict[str, Any]:
    """Return the plan entry of a model that is added."""
    required = {
        f.name: INITIAL_PARAMETERS.get(f.name, 2) for f in dataclasses.fields(model) if f.default is dataclasses.MISSING
    }
    about = (
        {"column": sensitive[0]}
        if len(sensitive) > 1 and any(f.name == "column" for f in dataclasses.fields(model))
        else {}
    )
    from shoal.models.of_table import TableModel

    about_all = name == "trajectory-anonymity" or issubclass(model, TableModel)
    known = {"known": known_columns} if known_columns is not None and not about_all else {}
    return {"name": name, **required, **model.initial_parameters, **about, **known}


# -- run and explore ---------------------------------------------------------------------------------


def run(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the run step: the method and all releases."""
    from shoal.methods import METHODS
    from shoal.report.wording import method_sentence
    from shoal.table.method_facts import MethodFacts

    method = project.document().get("method") or {"name": "full-domain"}
    name = str(method.get("name"))
    fields = {field.name for field in dataclasses.fields(METHODS[name])} if name in METHODS else set()
    latest = project.latest.get("release")
    made = [(n, project.facts(n)) for n in reversed(project.releases())]
    listed = [one for one in ("auto", *METHODS) if one in METHODS and _needs_no_parameters(METHODS[one])]

    grids = grid_methods(project)

    def about(one: str) -> str:
        return translate(f"method.{one}", language) if f"method.{one}" in TEXTS else one

    return {
        "methods": {one: about(one) for one in listed},
        "grids": {one: {"about": about(one), "section": grids.get(one)} for one in GRIDS},
        "grid": grid_fields(method, language),
        "method": name,
        "about": about(name) if f"method.{name}" in TEXTS else method_sentence({"name": name}, MethodFacts()),
        "suppression": method.get("suppression") if "suppression" in fields else None,
        "leaves_out": "suppression" in fields,
        "seconds": method.get("time_limit"),
        "takes_time": "time_limit" in fields,
        "latest": None if latest is None else latest.to_dict(),
        "formats": output_formats(project.document()),
        "made": [
            {"number": n, "few": _partial_knowledge(facts), "proof": _proof_of_ncp(facts), **facts} for n, facts in made
        ],
        "digest": project.digest,
        "review": review_of(project),
    }


def output_formats(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the formats of a release, with the changes that choose each."""
    from shoal.errors import TableError
    from shoal.io.formats import FORMATS, require_packages, written_suffixes

    output = document.get("output")
    path = output.get("path") if isinstance(output, Mapping) else None
    if not isinstance(path, str):
        return []
    found = []
    for form in FORMATS.own.values():
        for suffix in written_suffixes(form):
            try:
                require_packages(form)
            except TableError:
                continue
            changes = [
                {"set": ["output", "path"], "value": f"{path[: len(path) - len(os.path.splitext(path)[1])]}{suffix}"}
            ]
            chosen = os.path.splitext(path)[1].lower() == suffix
            found.append({"title": f"{form.title} ({suffix})", "changes": json.dumps(changes), "chosen": chosen})
    return found


def _proof_of_ncp(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is proven about the loss that the page shows.

    ``optimal`` is ``ncp`` where no release of this kind has a smaller ncp, and ``other`` where that is proven of
    another measure: with weights, or a mean over columns. ``least`` is a lower bound of ncp, if one is known.
    """
    from shoal.results.release import minimized_measure

    lost, bound = facts.get("loss", {}).get("ncp"), facts.get("bound")
    if bound:
        least = bound.get("reported", {}).get("ncp")
        is_same = lost is not None and least is not None and lost <= least * (1 + EQUAL)
    else:
        is_same = not minimized_measure(facts.get("method", {}))
        least = facts.get("lower_bound") if is_same else None
    optimal = ("ncp" if is_same else "other") if facts.get("optimal") else None
    return {"optimal": optimal, "least": least if isinstance(least, float) and least <= 1 else None}


def _needs_no_parameters(method: Any) -> bool:
    """Return whether a method can be chosen by its name alone.

    Such a method has no required parameters, and hence no ledger.
    """
    return all(
        part.default is not dataclasses.MISSING or part.default_factory is not dataclasses.MISSING
        for part in dataclasses.fields(method)
    )


def explore(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the explore step: trials and the lattice."""
    from shoal.advice.explore import DEFAULT_METHODS
    from shoal.report.scatter import Point, scatter

    race, edge = project.latest.get("explore"), project.latest.get("minimal")
    own = (project.document().get("method") or {}).get("name", "full-domain")
    found = race.known if race is not None else None
    models = [model for model in _list(project.document(), "models") if isinstance(model, Mapping)]
    trials = (found or {}).get("trials", [])
    measure = (found or {}).get("measure", "ncp")
    takes = [json.dumps(_trial_changes(trial, models)) for trial in trials]
    points = [
        Point(
            _label(trial),
            trial["risk"],
            trial["loss"][measure],
            trial["efficient"],
            trial["chosen"],
            take,
            (trial.get("lower_bound") or {}).get(measure),
        )
        for trial, take in zip(trials, takes, strict=True)
        if trial["loss"] and trial["risk"] is not None and measure in trial["loss"]
    ]
    known = edge.result if edge is not None and edge.result is not None else None
    lattice = known["lattice"] if known else None
    minimal = known["minimal"] if known else []
    if lattice and not minimal:
        for node in minimal_nodes(lattice):
            levels_of = dict(zip(lattice["columns"], lattice["levels"][node], strict=True))
            minimal.append({"levels": levels_of, "loss": lattice["loss"][node], "groups": None})
    given = (project.document().get("method") or {}).get("levels")
    levels = given if isinstance(given, Mapping) else {}
    now = [levels.get(name, -1) for name in lattice["columns"]] if lattice else None
    draw = lattice is not None and len(lattice["levels"]) > 0
    return {
        "compared": [name for name in DEFAULT_METHODS if name != own],
        "own": own,
        "found": found if trials else None,
        "measure": measure,
        "lanes": (found or {}).get("lanes", []) if race is not None and race.state == "running" else [],
        "racing": race.id if race is not None and race.state == "running" else None,
        "stopped": bool(found and found.get("stopped")),
        "picture": Markup(scatter(points, measure)) if points else None,
        "takes": takes,
        "edge": known,
        "minimal": minimal[:30],
        "edge_takes": [json.dumps(_level_changes(one["levels"])) for one in minimal[:30]],
        "lattice": draw_lattice(lattice, now, translate("explore.lattice", language),
                                   lambda node: _level_changes(dict(zip(lattice["columns"], node, strict=True))))
        if lattice and draw else None,
    }  # fmt: skip


def _label(trial: Mapping[str, Any]) -> str:
    return ", ".join([trial["method"], *(f"{key} = {value}" for key, value in trial["parameters"].items())])


def _trial_changes(trial: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the changes that set the plan to the choices of a trial."""
    changes: list[dict[str, Any]] = [{"set": ["method"], "value": {"name": trial["method"], **trial["parameters"]}}]
    sizes = [model["k"] for model in models if type(model.get("k")) is int]
    if not trial["k"] or trial["k"] == max(sizes, default=None):
        return changes
    for position, model in enumerate(models):
        if "k" in model:
            changes.append({"set": ["models", position, "k"], "value": trial["k"]})
    return changes


def _level_changes(levels: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"set": ["method"], "value": {"name": "levels", "levels": dict(levels)}}]


# -- releases ---------------------------------------------------------------------------------------


def compare(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the compare step: before and after.

    It compares columns, pairs of columns, and a sample of rows.
    """
    view = _release_view(project, request, "compare")
    found = view["found"] or {}
    pairs = (found.get("pairs") or {}).get("associations", [])
    names = list(dict.fromkeys(name for pair in pairs for name in pair[:2]))
    change = {(one, other): after - before for one, other, before, after in pairs}
    if len(names) > MAX_HEAT_MAP_COLUMNS:
        moved = {n: sum(abs(v) for pair, v in change.items() if n in pair) for n in names}
        names = sorted(sorted(names, key=lambda n: -moved[n])[:MAX_HEAT_MAP_COLUMNS], key=names.index)
    before = {(one, other): first for one, other, first, _ in pairs}
    after = {(one, other): second for one, other, _, second in pairs}
    strongest = sorted(pairs, key=lambda pair: -abs(pair[3] - pair[2]))[:12]
    heats = [
        (
            translate(f"compare.{key}", language),
            draw_heat_map(names, values, translate(f"compare.{key}", language), key == "difference"),
        )
        for key, values in (("before", before), ("after", after), ("difference", change))
    ]
    columns = ((view["facts"] or {}).get("facts") or {}).get("columns", ())
    drawn = [column for column in columns if column["distribution"]]
    return view | {"heats": heats if len(names) > 1 else [], "heat_names": names, "most": strongest,
                   "bars": MAX_BARS_PER_CHART, "few": _partial_knowledge(view["facts"]), "multiples": MAX_CHARTS,
                   "drawn": sorted(drawn, key=lambda column: -(column["lost"] or 0))}  # fmt: skip


def _partial_knowledge(facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the least protection against partial knowledge, or None.

    ``known`` is the number of columns that the intruder knows, ``least`` the smallest group size that the models
    against intruders with known columns or key sets reach.
    """
    given = [(one.get("parameters") or {}, one.get("effective") or {}) for one in (facts or {}).get("models", ())]
    bound = [(parameters, found) for parameters, found in given if "known" in parameters or "keys" in parameters]
    sizes = [found.get("rows_per_person", found.get("k")) for _, found in bound]
    least = min((size for size in sizes if size is not None), default=None)
    if least is None:
        return None
    return {"known": max((parameters.get("known", 0) for parameters, _ in bound), default=0), "least": least}


def attack(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the attack step: sentences, then the table."""
    view = _release_view(project, request, "attack")
    facts = (view["facts"] or {}).get("facts") or {}
    known = [c["name"] for c in facts.get("columns", ()) if c["role"] == "quasi-identifier"]
    before = {(a["name"], a["column"]): a for a in (facts.get("before") or {}).get("attacks", ())}
    after = (facts.get("after") or {}).get("attacks", ())
    alone, alone_after = (
        next((band["rows"] for band in (facts.get(when) or {}).get("bands", ()) if band["high"] == 1), None)
        for when in ("before", "after")
    )
    pairs = [(one, before.get((one["name"], one["column"]))) for one in after]
    listed = known if len(known) <= 6 else [*known[:5], translate("attack.others", language, count=len(known) - 5)]
    partial = _partial_knowledge(view["facts"])
    return view | {"columns": listed, "known_count": len(known), "pairs": pairs, "alone": alone, "few": partial,
                   "alone_after": alone_after, "exposure": exposure_of(view["facts"], language),
                   "cliff": cliff_of(project, view["number"], language)}  # fmt: skip


def publish(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Return the context of the publish step.

    It lists the files, their kinds and their target, and the command with which a reader can check them.
    """
    view = _release_view(project, request, "publish")
    files = []
    if view["number"]:
        public = project.public_files(view["number"])
        for file in project.files(view["number"]):
            kind = next((word for end, word in FILE_KINDS.items() if file.name.endswith(end)), "table")
            for_others = file in public
            files.append({"name": file.name, "bytes": file.stat().st_size, "says": kind, "for_others": for_others})
    try:
        target = os.path.relpath(project.plan().output.path.parent, project.root)
    except (ShoalError, AttributeError):
        target = None
    here = os.path.relpath(project.folder, project.root)
    table = files[0]["name"] if files else ""
    return view | {"files": files, "place": target, "command": f"shoal release {here}/{PLAN_FILE}",
                   "check": f"shoal check {table} --plan {PLAN_FILE}",
                   "exposure": exposure_of(view["facts"], language),
                   "cliff": cliff_of(project, view["number"], language),
                   "checklist": checklist_of(project, view["facts"], view["number"], language) if files else None,
                   }  # fmt: skip


def _current_release(project: Project) -> int:
    """Return the latest release if it is of the current plan, otherwise 0."""
    made = project.releases()
    return made[-1] if made and project.facts(made[-1]).get("of") == project.digest else 0


def _release_view(project: Project, request: Request, action: str) -> dict[str, Any]:
    made = project.releases()
    requested = parse_count(request.query_params.get("release", ""))
    chosen = requested if requested in made else (made[-1] if made else 0)
    run = project.latest.get(f"{action} {chosen}")
    facts = project.facts(chosen) if chosen else None
    return {
        "made": made,
        "number": chosen,
        "facts": facts,
        "stale": facts is not None and facts.get("of") not in (None, project.digest),
        "found": run.known if run is not None else None,
        "finished": run is not None and run.result is not None,
        "asked": run is not None,
        "found_failed": failure_message(run),
    }


VIEW_MODELS: dict[str, Callable[[Project, Request, str], dict[str, Any]]] = {
    "table": table, "columns": columns, "hierarchies": hierarchies, "promise": promise,
    "review": review_step, "run": run,
    "explore": explore, "compare": compare, "attack": attack, "publish": publish,
    "questions": questions,
}  # fmt: skip
