"""What each step of the page shows: of a project, a dictionary for the step's template. Nothing is worked out here."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup
from starlette.requests import Request

from shoal.errors import ShoalError
from shoal.render.html import prose, text
from shoal.web.pictures import heat_map, lattice_picture, minimal_of, spark
from shoal.web.plan_edits import classes_to_text, hierarchy_to_text
from shoal.web.projects import PLAN, Project
from shoal.web.runs import Run
from shoal.web.translations import TEXTS, say

__all__ = ["SHOWN", "fresh"]

PAPERS = {"certificate.json": "certificate", "report.html": "report", ".recoding": "recoding", PLAN: "plan"}
KINDS = ("intervals", "cuts", "dates", "prefix", "order", "tree", "table", "csv", "flat")
USUAL = ("k-anonymity", "l-diversity", "t-closeness", "p-plus-alpha-sensitive", "trajectory-anonymity")
"""Conditions that are offered first."""
FIRST = {"k": 5, "l": 2, "p": 2, "alpha": 0.5, "t": 0.3, "delta": 1.0, "beta": 1.0}
"""What a condition asks for when it is added."""
SORTS = ("alone", "table", "role")
MOST_HEAT = 24
"""Of more columns than so many, those whose associations changed most are drawn."""
MOST_MULTIPLES = 12
"""So many columns are drawn at once, those that lost most; the others are folded."""
MOST_BARS = 12
"""Of a column's distribution, so many bars are shown at once; the rest is folded."""


def fresh(project: Project, key: str) -> dict[str, Any] | None:
    """What the latest run has found, or has so far, if it was asked of the plan as it is; looking needs the source."""
    run = project.latest.get(key)
    if run is None or run.known is None or (key != "look" and project.asked_of.get(key) != project.digest):
        return None
    return run.known


def _columns_of(project: Project) -> dict[str, dict[str, Any]]:
    given = project.document().get("columns", {})
    return {name: dict(section) for name, section in given.items() if isinstance(section, Mapping)}


def _of_role(project: Project, role: str) -> list[str]:
    return [name for name, section in _columns_of(project).items() if section.get("role") == role]


def error_of(run: Run | None) -> str | None:
    """Why a run failed, where it did."""
    return run.error["text"] if run is not None and run.error is not None and run.state == "failed" else None


# -- table and columns -------------------------------------------------------------------------------


def table(project: Project, request: Request, language: str) -> dict[str, Any]:
    """The first rows."""
    return {"look": fresh(project, "look")}


def columns(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Every column with its role; what singles out most is on top."""
    from shoal.schema import Role

    look = fresh(project, "look")
    found = {column["name"]: column for column in (look or {}).get("columns", ())}
    shown: list[dict[str, Any]] = []
    for name, section in _columns_of(project).items():
        pairs = [pair for pair in (look or {}).get("pairs", ()) if name in pair["columns"]]
        best = max(pairs, key=lambda pair: pair["unique"], default=None)
        other = None if best is None else next(n for n in best["columns"] if n != name)
        role = str(section.get("role", ""))
        moved = "shift" if section.get("shift") else "first" if section.get("relative_to") else ""
        shown.append({"name": name, "role": role, "found": found.get(name), "best": best, "other": other,
                      "said": section, "moved": moved, "days": _days(section)})  # fmt: skip
    asked = request.query_params.get("sort", "")
    sort = asked if asked in SORTS else "alone"
    roles = [str(role) for role in Role]
    if sort == "alone":  # by itself, then with the best second column
        shown.sort(key=lambda one: (-(one["found"] or {}).get("unique", 0), -(one["best"] or {}).get("unique", 0)))
    elif sort == "role":
        shown.sort(key=lambda one: roles.index(one["role"]) if one["role"] in roles else len(roles))
    return {"columns": shown, "look": look, "roles": roles, "spark": spark, "sort": sort, "sorts": SORTS,
            "people": bool(_of_role(project, "person")), "first_time": not project.releases()}  # fmt: skip


def _days(section: Mapping[str, Any]) -> Any:
    shift = section.get("shift")
    return shift.get("days", "") if isinstance(shift, Mapping) else ""


# -- hierarchies -------------------------------------------------------------------------------------


def hierarchies(project: Project, request: Request, language: str) -> dict[str, Any]:
    """One column's hierarchy, or its classes of sensitivity, with what every level costs and brings."""
    given = _columns_of(project)
    names, secret = _of_role(project, "quasi-identifier"), _of_role(project, "sensitive")
    chosen = request.query_params.get("column", "")
    chosen = chosen if chosen in (*names, *secret) else ([*names, ""])[0]
    section = given.get(chosen, {})
    entry = section.get("hierarchy") or {"flat": True}
    kind, written = hierarchy_to_text(entry) if isinstance(entry, Mapping) else ("flat", "")
    classes = chosen in secret
    key = f"levels {chosen}"
    levels = fresh(project, key)
    steps = (levels or {}).get("levels", [])
    raw = steps[0].get("failing") if steps else None
    look = {c["name"]: c for c in (fresh(project, "look") or {}).get("columns", ())}
    return {
        "names": names, "secret": secret, "chosen": chosen, "kind": kind, "kinds": KINDS, "classes": classes,
        "order": "\n".join(map(str, section.get("order") or ())),
        "written": classes_to_text(section) if classes else written, "levels": levels, "raw": raw,
        "levels_failed": error_of(project.latest.get(key)), "suits": (look.get(chosen) or {}).get("kind"),
        "widths": entry.get("intervals") if kind == "intervals" else None,
    }  # fmt: skip


# -- promise -----------------------------------------------------------------------------------------


def promise(project: Project, request: Request, language: str) -> dict[str, Any]:
    """The conditions in words, what is assumed of the intruder, and how many fail now."""
    from shoal.models import MODELS

    document = project.document()
    given = [model for model in _list(document, "models") if isinstance(model, Mapping)]
    keys = [key for key in _list(document, "keys") if isinstance(key, Mapping)]
    secret, quasi = _of_role(project, "sensitive"), _of_role(project, "quasi-identifier")
    people = bool(_of_role(project, "person"))
    check = fresh(project, "check") or {}
    cards = []
    for place, model in enumerate(given):
        name = str(model.get("name", ""))
        fields = {key: value for key, value in model.items() if key not in ("name", "known")}
        verdicts = [one for one in check.get("models", ()) if _speaks_of(one, name, model, secret)]
        against = f"against.{name}" if f"against.{name}" in TEXTS else "against.other"
        sentence, rest = _sentence_of(place, name, fields, secret, people, language)
        cards.append({"name": name, "sentence": sentence, "rest": rest, "against": against, "verdicts": verdicts,
                      "paper": _paper(name)})  # fmt: skip
    few = next((model["known"] for model in given if "known" in model), None)
    limits = [place for place, model in enumerate(given) if model.get("name") != "trajectory-anonymity"]
    unbound = [{"set": ["models", place, "known"], "value": None} for place in limits]
    unkeyed = {"set": ["keys"], "value": None}
    first = {"columns": quasi[:2], "k": next((m["k"] for m in given if "k" in m), 5)}
    usual: list[dict[str, Any]] = []
    more: list[dict[str, Any]] = []
    there = {str(model.get("name")) for model in given}
    for name, kind in MODELS.items():
        about_one = len(secret) < 2 or not any(f.name == "column" for f in dataclasses.fields(kind))
        if (name == "trajectory-anonymity" and not people) or (name in there and about_one):
            continue
        changes = [{"set": ["models", "+"], "value": _new(name, kind, secret, few)}]
        about = _about(name, secret, people, language)
        new = {"name": name, "about": about, "paper": _paper(name), "changes": json.dumps(changes)}
        (usual if name in USUAL else more).append(new)
    return {
        "cards": cards, "usual": usual, "more": more, "quasi": quasi, "keys": keys, "people": people, "secret": secret,
        "knows": "keys" if keys else "few" if few is not None else "all", "few": few,
        "knows_all": json.dumps([*unbound, unkeyed]),
        "knows_few": json.dumps([unkeyed, *_known(limits, min(3, max(1, len(quasi))))]),
        "knows_keys": json.dumps([*unbound, {"set": ["keys"], "value": [first]}]),
        "known_places": json.dumps(limits), "new_key": json.dumps([{"set": ["keys", "+"], "value": first}]),
        "drop_keys": json.dumps([unkeyed]), "has_models": bool(limits),
    }  # fmt: skip


def _known(places: Sequence[int], value: int) -> list[dict[str, Any]]:
    return [{"set": ["models", place, "known"], "value": value} for place in places]


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    found = document.get(name, [])
    return found if isinstance(found, list) else []


def _speaks_of(verdict: Mapping[str, Any], name: str, model: Mapping[str, Any], secret: Sequence[str]) -> bool:
    asked, column = verdict.get("parameters", {}), model.get("column")
    return verdict.get("name") == name and asked.get("column") in (None, column, *(secret if column is None else ()))


def _paper(name: str) -> str:
    return TEXTS[f"paper.{name}"][0] if f"paper.{name}" in TEXTS else ""


def _about(name: str, secret: Sequence[str], people: bool, language: str) -> str:
    """A condition in words, with what it asks for when it is added."""

    def plain(match: re.Match[str]) -> str:
        part = match[1]
        if part == "unit":
            return say("unit.people" if people else "unit.rows", language)
        if part == "column":
            return secret[0] if secret else say("promise.secret", language)  # it begins with the first of them
        choices = _choices(name, part, ())
        return say(f"choice.{choices[0]}", language) if choices else str(FIRST.get(part, 2))

    words = say(f"promise.{name}", language) if f"promise.{name}" in TEXTS else name
    return re.sub(r"\{(\w+)\}", plain, words)


def _sentence_of(
    place: int, name: str, fields: dict[str, Any], secret: Sequence[str], people: bool, language: str
) -> tuple[Markup, dict[str, Any]]:
    """A condition in words with its parameters as fields within, and the parameters that the words leave out."""
    from shoal.models import MODELS

    known = {f.name: f.default for f in dataclasses.fields(MODELS[name])} if name in MODELS else {}
    words = say(f"promise.{name}", language) if f"promise.{name}" in TEXTS else prose(name)
    rest = dict(fields)
    if fields.get("kind") == "recursive" or "c" in fields:
        words += " c = {c}."

    def field(match: re.Match[str]) -> str:
        part = match[1]
        if part == "unit":
            return say("unit.people" if people else "unit.rows", language)
        value = rest.pop(part, known.get(part))
        if value is dataclasses.MISSING:
            value = None
        if part == "column" and len(secret) <= 1 and not value:
            return text(secret[0], 60) if secret else say("promise.secret", language)
        return _field(place, part, value, _choices(name, part, secret), language)

    made = re.sub(r"\{(\w+)\}", field, words)
    return Markup(made), rest


def _choices(name: str, part: str, secret: Sequence[str]) -> Sequence[str] | None:
    if part == "column":
        return secret
    return {
        "kind": ("basic", "enhanced") if name == "beta-likeness" else ("distinct", "entropy", "recursive"),
        "distance": ("equal", "ordered", "hierarchical"),
        "absent": ("fails", "ignored"),
    }.get(part)


def _field(place: int, part: str, value: Any, choices: Sequence[str] | None, language: str) -> str:
    """An input within a sentence."""
    label = say(f"field.{part}", language) if f"field.{part}" in TEXTS else part
    way = prose(json.dumps(["models", place, part]), 200)
    common = f'id="model-{place}-{prose(part)}" aria-label="{prose(label)}" data-set="{way}"'
    if choices is not None:
        options = "".join(
            f'<option value="{prose(one, 600)}"{" selected" if one == value else ""}>'
            f"{prose(say(f'choice.{one}', language) if f'choice.{one}' in TEXTS else one, 60)}</option>"
            for one in choices
        )
        return f"<select {common}>{options}</select>"
    whole = "1" if isinstance(value, int) and part in ("k", "l", "p", "known_rows") else "any"
    shown = "" if value is None else prose(value)
    return f'<input type="number" step="{whole}" min="0" {common} value="{shown}">'


def _new(name: str, model: Any, secret: Sequence[str], few: int | None) -> dict[str, Any]:
    """A condition as it is when it is added."""
    asked = {f.name: FIRST.get(f.name, 2) for f in dataclasses.fields(model) if f.default is dataclasses.MISSING}
    about = (
        {"column": secret[0]} if len(secret) > 1 and any(f.name == "column" for f in dataclasses.fields(model)) else {}
    )
    known = {"known": few} if few is not None and name != "trajectory-anonymity" else {}
    return {"name": name, **asked, **about, **known}


# -- run and explore ---------------------------------------------------------------------------------


def run(project: Project, request: Request, language: str) -> dict[str, Any]:
    """The method, and all releases."""
    from shoal.methods import METHODS
    from shoal.report.wording import method_sentence
    from shoal.table.method_facts import MethodFacts

    method = project.document().get("method") or {"name": "full-domain"}
    name = str(method.get("name"))
    fields = {field.name for field in dataclasses.fields(METHODS[name])} if name in METHODS else set()
    latest = project.latest.get("release")
    made = [(n, project.facts(n)) for n in reversed(project.releases())]
    listed = [one for one in ("auto", *METHODS) if one in METHODS and _runs_alone(METHODS[one])]

    def about(one: str) -> str:
        return say(f"method.{one}", language) if f"method.{one}" in TEXTS else one

    return {
        "methods": {one: about(one) for one in listed},
        "method": name,
        "about": about(name) if f"method.{name}" in TEXTS else method_sentence({"name": name}, MethodFacts()),
        "suppression": method.get("suppression") if "suppression" in fields else None,
        "leaves_out": "suppression" in fields,
        "seconds": method.get("time_limit"),
        "takes_time": "time_limit" in fields,
        "latest": None if latest is None else latest.to_dict(),
        "made": [{"number": n, "few": _few(facts), **facts} for n, facts in made],
        "digest": project.digest,
    }


def _runs_alone(method: Any) -> bool:
    """Whether a method can be chosen by its name: it needs nothing else to be said, and keeps no ledger."""
    return all(
        part.default is not dataclasses.MISSING or part.default_factory is not dataclasses.MISSING
        for part in dataclasses.fields(method)
    )


def explore(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Methods that race, loss against risk, and the lattice."""
    from shoal.advice.explore import COMPARED
    from shoal.report.scatter import Point, scatter

    race, edge = project.latest.get("explore"), project.latest.get("minimal")
    found = race.known if race is not None else None
    models = [model for model in _list(project.document(), "models") if isinstance(model, Mapping)]
    trials = (found or {}).get("trials", [])
    measure = (found or {}).get("measure", "ncp")
    takes = [json.dumps(_taking(trial, models)) for trial in trials]
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
    shown = known["minimal"] if known else []
    if lattice and not shown:
        for place in minimal_of(lattice):
            levels_of = dict(zip(lattice["columns"], lattice["levels"][place], strict=True))
            shown.append({"levels": levels_of, "loss": lattice["loss"][place], "groups": None})
    given = (project.document().get("method") or {}).get("levels")
    levels = given if isinstance(given, Mapping) else {}
    now = [levels.get(name, -1) for name in lattice["columns"]] if lattice else None
    draw = lattice is not None and len(lattice["levels"]) > 0
    return {
        "compared": COMPARED,
        "found": found if trials else None,
        "measure": measure,
        "lanes": (found or {}).get("lanes", []) if race is not None and race.state == "running" else [],
        "racing": race.id if race is not None and race.state == "running" else None,
        "stopped": bool(found and found.get("stopped")),
        "picture": Markup(scatter(points, measure)) if points else None,
        "takes": takes,
        "edge": known,
        "minimal": shown[:30],
        "edge_takes": [json.dumps(_taking_levels(one["levels"])) for one in shown[:30]],
        "lattice": lattice_picture(lattice, now, say("explore.lattice", language),
                                   lambda node: _taking_levels(dict(zip(lattice["columns"], node, strict=True))))
        if lattice and draw else None,
    }  # fmt: skip


def _label(trial: Mapping[str, Any]) -> str:
    return ", ".join([trial["method"], *(f"{key} = {value}" for key, value in trial["parameters"].items())])


def _taking(trial: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The changes that make a trial the plan."""
    changes: list[dict[str, Any]] = [{"set": ["method"], "value": {"name": trial["method"], **trial["parameters"]}}]
    for place, model in enumerate(models):
        if "k" in model and trial["k"]:
            changes.append({"set": ["models", place, "k"], "value": trial["k"]})
    return changes


def _taking_levels(levels: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"set": ["method"], "value": {"name": "levels", "levels": dict(levels)}}]


# -- what a release is -------------------------------------------------------------------------------


def compare(project: Project, request: Request, language: str) -> dict[str, Any]:
    """Before and after: columns, pairs of columns, and a sample of rows."""
    shown = _of_release(project, request, "compare")
    found = shown["found"] or {}
    pairs = (found.get("pairs") or {}).get("associations", [])
    names = list(dict.fromkeys(name for pair in pairs for name in pair[:2]))
    change = {(one, other): after - before for one, other, before, after in pairs}
    if len(names) > MOST_HEAT:
        moved = {n: sum(abs(v) for pair, v in change.items() if n in pair) for n in names}
        names = sorted(sorted(names, key=lambda n: -moved[n])[:MOST_HEAT], key=names.index)
    before = {(one, other): first for one, other, first, _ in pairs}
    after = {(one, other): second for one, other, _, second in pairs}
    most = sorted(pairs, key=lambda pair: -abs(pair[3] - pair[2]))[:12]
    heats = [
        (say(f"compare.{key}", language), heat_map(names, values, say(f"compare.{key}", language), key == "difference"))
        for key, values in (("before", before), ("after", after), ("difference", change))
    ]
    columns = ((shown["facts"] or {}).get("facts") or {}).get("columns", ())
    drawn = [column for column in columns if column["distribution"]]
    return shown | {"heats": heats if len(names) > 1 else [], "heat_names": names, "most": most, "bars": MOST_BARS,
                    "few": _few(shown["facts"]), "multiples": MOST_MULTIPLES,
                    "drawn": sorted(drawn, key=lambda column: -(column["lost"] or 0))}  # fmt: skip


def _few(facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Where a release promises something to those who know few columns: how many, or sets, and how many rows fit."""
    given = [(one.get("parameters") or {}, one.get("effective") or {}) for one in (facts or {}).get("models", ())]
    bound = [(asked, found) for asked, found in given if "known" in asked or "keys" in asked]
    sizes = [found.get("rows_per_person", found.get("k")) for _, found in bound]
    least = min((size for size in sizes if size is not None), default=None)
    if least is None:
        return None
    return {"known": max((asked.get("known", 0) for asked, _ in bound), default=0), "least": least}


def attack(project: Project, request: Request, language: str) -> dict[str, Any]:
    """One sentence for each attack, large, and then the table."""
    shown = _of_release(project, request, "attack")
    facts = (shown["facts"] or {}).get("facts") or {}
    known = [c["name"] for c in facts.get("columns", ()) if c["role"] == "quasi-identifier"]
    before = {(a["name"], a["column"]): a for a in (facts.get("before") or {}).get("attacks", ())}
    after = (facts.get("after") or {}).get("attacks", ())
    alone, alone_after = (
        next((band["rows"] for band in (facts.get(when) or {}).get("bands", ()) if band["high"] == 1), None)
        for when in ("before", "after")
    )
    pairs = [(one, before.get((one["name"], one["column"]))) for one in after]
    listed = known if len(known) <= 6 else [*known[:5], say("attack.others", language, count=len(known) - 5)]
    few = _few(shown["facts"])
    return shown | {"columns": listed, "known_count": len(known), "pairs": pairs, "alone": alone, "few": few,
                    "alone_after": alone_after}  # fmt: skip


def publish(project: Project, request: Request, language: str) -> dict[str, Any]:
    """What will be written, where, what it says, and what a reader can check."""
    shown = _of_release(project, request, "publish")
    files = []
    if shown["number"]:
        for file in project.files(shown["number"]):
            says = next((word for end, word in PAPERS.items() if file.name.endswith(end)), "table")
            files.append({"name": file.name, "bytes": file.stat().st_size, "says": says})
    try:
        place = os.path.relpath(project.plan().output.path.parent, project.root)
    except (ShoalError, AttributeError):
        place = None
    here = os.path.relpath(project.folder, project.root)
    table = files[0]["name"] if files else ""
    return shown | {"files": files, "place": place, "command": f"shoal release {here}/{PLAN}",
                    "check": f"shoal check {table} --plan {PLAN}"}  # fmt: skip


def _of_release(project: Project, request: Request, action: str) -> dict[str, Any]:
    made = project.releases()
    asked = request.query_params.get("release", "")
    chosen = int(asked) if asked.isdigit() and int(asked) in made else (made[-1] if made else 0)
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
        "found_failed": error_of(run),
    }


SHOWN: dict[str, Callable[[Project, Request, str], dict[str, Any]]] = {
    "table": table, "columns": columns, "hierarchies": hierarchies, "promise": promise, "run": run,
    "explore": explore, "compare": compare, "attack": attack, "publish": publish,
}  # fmt: skip
