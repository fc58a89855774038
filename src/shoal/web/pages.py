"""The pages: what the API tells, drawn on the server; a little script of ours sends changes and puts in what is new."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from shoal.errors import ShoalError
from shoal.showing.markup import bar, number, percent, prose, text
from shoal.web.api import Api
from shoal.web.editing import hierarchy_to_text
from shoal.web.places import list_folder
from shoal.web.projects import PLAN, Project
from shoal.web.runs import Run
from shoal.web.texts import LANGUAGES, STEPS, TEXTS, say

__all__ = ["Pages"]

HERE = Path(__file__).parent
SCRIPTS = ("app.js", "calls.js", "watch.js", "swap.js")
PAPERS = {"certificate.json": "certificate", "report.html": "report", ".recoding": "recoding", PLAN: "plan"}
KINDS = ("intervals", "cuts", "dates", "prefix", "order", "tree", "table", "csv", "flat")
WORDS = ("k-anonymity", "l-diversity", "p-sensitive", "p-alpha-sensitive", "p-plus-alpha-sensitive", "t-closeness")
FIRST = {"k": 5, "l": 2, "p": 2, "alpha": 0.5, "t": 0.3, "delta": 1.0, "beta": 1.0}
"""What a condition asks for when it is added."""


class Pages:
    """The pages over an API; ``first`` is the project that the server was started with."""

    def __init__(self, api: Api, first: Project | None = None) -> None:
        self.api = api
        self.first = first
        loader = FileSystemLoader(HERE / "templates")
        self.templates = Environment(
            loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        # whatever comes from data is bounded, shown in a direction of its own, and without signs that cannot be seen
        self.templates.filters |= {
            "data": _data,
            "inside": _inside,
            "number": number,
            "percent": percent,
        }
        self.templates.globals["bar"] = lambda share, kind: Markup(bar(share, kind))

    def routes(self) -> list[Route]:
        """The pages, and the files that they are made of."""
        return [
            Route("/", self.start),
            Route("/p/{project}", self.begin),
            Route("/p/{project}/{step}", self.step),
            Route("/static/style.css", self.style),
            Route("/static/{file}", self.script),
            Route("/favicon.ico", self.icon),
        ]

    async def style(self, request: Request) -> Response:
        """The report's style, and what a page needs beyond it."""
        from shoal.showing.style import STYLE

        return Response(STYLE + (HERE / "static" / "app.css").read_text(encoding="utf-8"), media_type="text/css")

    async def script(self, request: Request) -> Response:
        """One of our modules."""
        name = request.path_params["file"]
        if name not in SCRIPTS:
            return Response(status_code=404)
        return FileResponse(HERE / "static" / name, media_type="text/javascript")

    async def icon(self, request: Request) -> Response:
        """A fish."""
        return FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")

    async def start(self, request: Request) -> Response:
        """Choose a table, or go on with a project."""
        session = request.scope["session"]
        if self.first is not None and self.first.owner in (None, session):
            first, self.first = self.first, None  # shown once: the way back to the choice must stay open
            first.owner = session
            return RedirectResponse(f"/p/{first.name}/columns", 303)
        try:
            files = list_folder(self.api.projects.root, request.query_params.get("path", ""))
        except ShoalError:
            files = list_folder(self.api.projects.root, "")
        return self._page(request, "start.html", files=files, projects=self.api.projects.listed(session), up=_up(files))

    async def begin(self, request: Request) -> Response:
        """A project, at its columns."""
        return RedirectResponse(f"/p/{request.path_params['project']}/columns", 303)

    async def step(self, request: Request) -> Response:
        """One step of the way."""
        step = request.path_params["step"]
        try:
            project = self.api.project(request)
        except LookupError:
            return Response("There is no such project.", 404, media_type="text/plain")
        if step not in STEPS:
            return Response("There is no such step.", 404, media_type="text/plain")
        language = _language(request)
        common = self._common(project, step, language)
        if not project.text:
            return self._page(request, "drafting.html", **common)
        shown = getattr(self, f"_{step}")(project, request, language)
        return self._page(request, f"{step}.html", **{**common, **shown})

    def _page(self, request: Request, template: str, **shown: Any) -> Response:
        language = _language(request)

        def said(key: str, **parts: object) -> str:
            return say(key, language, **parts)

        other = LANGUAGES[1 - LANGUAGES.index(language)]
        page = self.templates.get_template(template)
        answer = HTMLResponse(page.render(t=said, language=language, other=other, known=TEXTS, **shown))
        if request.query_params.get("lang") in LANGUAGES:
            answer.set_cookie("shoal-language", language, samesite="strict", httponly=True)
        return answer

    # -- what every step shows ---------------------------------------------------------------------

    def _common(self, project: Project, step: str, language: str) -> dict[str, Any]:
        look, check = self._fresh(project, "look"), self._fresh(project, "check")
        error = project.error() if project.text else None
        return {
            "project": project.name,
            "step": step,
            "steps": [(name, self._mark(project, name, error)) for name in STEPS],
            "plan_text": project.text,
            "error": error,
            "sentence": self._sentence(project, error, check, language),
            "bad": error is not None or bool(check and check.get("infeasible")),
            "rows": (look or check or {}).get("rows"),
            # what the page has to have found out: it asks for it when it is shown
            "wanted": []
            if error or not project.text
            else [n for n, r in (("look", look), ("check", check)) if r is None],
            "running": [run.to_dict() for run in project.latest.values() if run.state == "running"],
            "failed": [
                run.to_dict() for key, run in project.latest.items() if run.state == "failed" and _step_of(key) == step
            ],
        }

    def _fresh(self, project: Project, key: str) -> dict[str, Any] | None:
        """What the latest run has found, if it was asked of the plan as it is; looking needs only the source."""
        run = project.latest.get(key)
        if run is None or run.result is None or (key == "check" and project.asked_of.get(key) != project.digest):
            return None
        return run.result

    def _mark(self, project: Project, step: str, error: str | None) -> str:
        done = {
            "table": bool(project.text),
            "columns": bool(project.text) and error is None,
            "hierarchies": bool(project.text) and error is None,
            "promise": bool(project.text) and error is None,
            "run": bool(project.releases()),
            "explore": self._fresh(project, "explore") is not None,
            "compare": any(key.startswith("compare") for key in project.latest),
            "attack": any(key.startswith("attack") for key in project.latest),
            "publish": False,
        }[step]
        if error is not None and step in ("columns", "hierarchies", "promise"):
            return "warning"
        return "done" if done else "open"

    def _sentence(self, project: Project, error: str | None, check: dict[str, Any] | None, language: str) -> str:
        """The heart of the page: where things stand, and what to do next."""
        if not project.text:
            run = project.latest.get("draft")
            if run is not None and run.error is not None:
                return say("state.draft_failed", language, why=run.error["text"])
            return say("state.drafting", language)
        if error is not None:
            return say("state.error", language, why=error)
        if check is None:
            return say("state.checking", language)
        rows = number(check["rows"])
        said = [say("state.holds", language, rows=rows)]
        if check["failing_rows"]:
            said = [say("state.failing", language, failing=number(check["failing_rows"]), rows=rows)]
        why = check.get("infeasible") or check.get("refused")
        if why:
            said.append(say("state.infeasible", language, why=why))
        elif check.get("rehearsal"):
            found = check["rehearsal"]
            lost = (found.get("loss") or {}).get("ncp")
            parts = {"released": number(found["released"]), "groups": number(found["groups"])}
            shown = "?" if lost is None else percent(lost)
            said.append(say("state.rehearsed", language, lost=shown, **parts))
        if not why:
            ahead = "publish" if project.releases() else "run"
            said.append(say("state.next", language, step=say(f"step.{ahead}", language)))
        return " ".join(said)

    # -- the steps ---------------------------------------------------------------------------------

    def _table(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        return {"look": self._fresh(project, "look")}

    def _columns(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        from shoal.schema import Role

        look = self._fresh(project, "look")
        given = project.document().get("columns", {})
        found = {column["name"]: column for column in (look or {}).get("columns", ())}
        shown = []
        for name, section in given.items():
            column = found.get(name)
            role = str(section.get("role", "")) if isinstance(section, Mapping) else ""
            pairs = [pair for pair in (look or {}).get("pairs", ()) if name in pair["columns"]]
            best = max(pairs, key=lambda pair: pair["unique"], default=None)
            other = None if best is None else next(n for n in best["columns"] if n != name)
            shown.append({"name": name, "role": role, "found": column, "best": best, "other": other})
        # what singles out most is on top: by itself, then with the best second column
        shown.sort(key=lambda one: (-(one["found"] or {}).get("unique", 0), -(one["best"] or {}).get("unique", 0)))
        return {"columns": shown, "look": look, "roles": [str(role) for role in Role], "spark": _spark}

    def _hierarchies(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        given = project.document().get("columns", {})
        names = [n for n, s in given.items() if isinstance(s, Mapping) and s.get("role") == "quasi-identifier"]
        chosen = request.query_params.get("column", "")
        chosen = chosen if chosen in names else (names[0] if names else "")
        entry = given.get(chosen, {}).get("hierarchy") or {"flat": True}
        kind, written = hierarchy_to_text(entry) if isinstance(entry, Mapping) else ("flat", "")
        key = f"levels {chosen}"
        run = project.latest.get(key)
        fresh = run is not None and run.result is not None and project.asked_of.get(key) == project.digest
        return {
            "names": names, "chosen": chosen, "kind": kind, "written": written, "kinds": KINDS,
            "levels": run.result if run is not None and fresh else None, "levels_failed": _error(run),
        }  # fmt: skip

    def _promise(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        from shoal.models import MODELS
        from shoal.report.wording import model_sentence

        document = project.document()
        given = document.get("models", [])
        secret = [n for n, s in document.get("columns", {}).items() if s.get("role") == "sensitive"]
        check = self._fresh(project, "check") or {}
        cards = []
        for place, model in enumerate(given if isinstance(given, list) else ()):
            name = str(model.get("name", ""))
            parameters = {key: value for key, value in model.items() if key != "name"}
            verdicts = check.get("models", ())
            try:
                sentence = Markup(model_sentence({"name": name, "parameters": parameters}, secret))
            except (KeyError, ValueError, TypeError, IndexError):
                sentence = Markup(prose(name))
            against = f"against.{name}" if f"against.{name}" in TEXTS else "against.other"
            verdict = verdicts[place] if place < len(verdicts) else None
            takes_known = name in MODELS and "known" not in parameters
            cards.append({"name": name, "parameters": parameters, "sentence": sentence, "against": against,
                          "verdict": verdict, "takes_known": takes_known})  # fmt: skip
        new = {name: json.dumps(_first(name, model, secret)) for name, model in MODELS.items()}
        return {"cards": cards, "new": new, "usual": WORDS}

    def _run(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        from shoal.methods import METHODS

        method = project.document().get("method") or {"name": "full-domain"}
        latest = project.latest.get("release")
        return {
            "methods": [name for name in ("auto", *METHODS) if name in METHODS and _runs_alone(METHODS[name])],
            "method": method.get("name"),
            "suppression": method.get("suppression"),
            "leaves_out": any(f.name == "suppression" for f in _fields_of(METHODS.get(str(method.get("name"))))),
            "latest": None if latest is None else latest.to_dict(),
            "made": [{"number": n, **project.facts(n)} for n in reversed(project.releases())],
        }

    def _explore(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        from shoal.exploration import COMPARED
        from shoal.report.scatter import Point, scatter

        run, edge = project.latest.get("explore"), project.latest.get("minimal")
        found = run.result if run is not None else None
        points, trials = [], found["trials"] if found else []
        for trial in trials:
            if trial["loss"] and trial["risk"] is not None and found and found["measure"] in trial["loss"]:
                label = ", ".join(
                    [trial["method"], *(f"{key} = {value}" for key, value in trial["parameters"].items())]
                )
                loss = trial["loss"][found["measure"]]
                points.append(Point(label, trial["risk"], loss, trial["efficient"], trial["chosen"]))
        models = project.document().get("models", [])
        return {
            "compared": COMPARED,
            "found": found,
            "picture": Markup(scatter(points, found["measure"])) if found and points else None,
            "takes": [json.dumps(_taking(trial, models)) for trial in trials],
            "edge": edge.result if edge is not None else None,
            "edge_takes": [
                json.dumps(_taking_levels(one)) for one in (edge.result["minimal"] if edge and edge.result else [])
            ],
        }

    def _compare(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        shown = self._of_release(project, request, "compare")
        facts = (shown["facts"] or {}).get("facts") or {}
        return shown | {"changed": {column["name"] for column in facts.get("columns", ()) if column["lost"]}}

    def _attack(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        from shoal.report.wording import ATTACKS

        shown = self._of_release(project, request, "attack")
        facts = (shown["facts"] or {}).get("facts") or {}
        columns = [c["name"] for c in facts.get("columns", ()) if c["role"] == "quasi-identifier"]
        before = {(a["name"], a["column"]): a for a in (facts.get("before") or {}).get("attacks", ())}
        after = (facts.get("after") or {}).get("attacks", ())
        alone = next((band["rows"] for band in (facts.get("before") or {}).get("bands", ()) if band["high"] == 1), None)
        pairs = [(one, before.get((one["name"], one["column"]))) for one in after]
        return shown | {"columns": columns, "pairs": pairs, "alone": alone, "said": ATTACKS}

    def _publish(self, project: Project, request: Request, language: str) -> dict[str, Any]:
        shown = self._of_release(project, request, "publish")
        files = []
        if shown["number"]:
            for file in project.files(shown["number"]):
                says = next((word for end, word in PAPERS.items() if file.name.endswith(end)), "table")
                files.append({"name": file.name, "bytes": file.stat().st_size, "says": f"says.{says}"})
        try:
            place = os.path.relpath(project.plan().output.path.parent, project.root)
        except (ShoalError, AttributeError):
            place = None
        here = os.path.relpath(project.folder, project.root)
        return shown | {"files": files, "place": place, "command": f"shoal release {here}/{PLAN}"}

    def _of_release(self, project: Project, request: Request, action: str) -> dict[str, Any]:
        made = project.releases()
        asked = request.query_params.get("release", "")
        chosen = int(asked) if asked.isdigit() and int(asked) in made else (made[-1] if made else 0)
        run = project.latest.get(f"{action} {chosen}")
        return {
            "made": made,
            "number": chosen,
            "facts": project.facts(chosen) if chosen else None,
            "found": run.result if run is not None else None,
            "found_failed": _error(run),
        }


def _data(value: object, most: int = 120) -> Markup:
    """Text from data, as an element of its own."""
    return Markup(text(value, most))


def _inside(value: object) -> Markup:
    """Text within a sentence or an attribute."""
    return Markup(prose(value, 600))


def _step_of(key: str) -> str:
    """Where a run that failed is told of."""
    first = key.split()[0]
    return {"release": "run", "minimal": "explore", "look": "columns", "check": "promise"}.get(first, first)


def _error(run: Run | None) -> str | None:
    return run.error["text"] if run is not None and run.error is not None and run.state == "failed" else None


def _language(request: Request) -> str:
    for given in (request.query_params.get("lang"), request.cookies.get("shoal-language")):
        if given in LANGUAGES:
            return str(given)
    first = request.headers.get("accept-language", "en")[:2].lower()
    return first if first in LANGUAGES else "en"


def _up(files: Mapping[str, Any]) -> str | None:
    return None if not files["path"] else files["path"].rpartition("/")[0]


def _spark(shape: list[int]) -> Markup:
    """A small histogram; the figures stand beside it."""
    most = max(shape, default=0) or 1
    width = 120 / max(len(shape), 1)
    bars = "".join(
        f'<rect class="before" x="{n * width:.1f}" y="{28 - 28 * count / most:.1f}" width="{max(width - 1, 0.5):.1f}" '
        f'height="{28 * count / most:.1f}"/>'
        for n, count in enumerate(shape)
    )
    return Markup(f'<svg class="spark" viewBox="0 0 120 28" aria-hidden="true" focusable="false">{bars}</svg>')


def _fields_of(method: Any) -> tuple[Any, ...]:
    return () if method is None else dataclasses.fields(method)


def _runs_alone(method: Any) -> bool:
    """Whether a method can be chosen by its name: it needs nothing else to be said, and keeps no ledger."""
    return all(
        part.default is not dataclasses.MISSING or part.default_factory is not dataclasses.MISSING
        for part in dataclasses.fields(method)
    )


def _first(name: str, model: Any, secret: list[str]) -> dict[str, Any]:
    """A condition as it is when it is added."""
    asked = {f.name: FIRST.get(f.name, 2) for f in dataclasses.fields(model) if f.default is dataclasses.MISSING}
    about = (
        {"column": secret[0]} if len(secret) > 1 and any(f.name == "column" for f in dataclasses.fields(model)) else {}
    )
    return {"name": name, **asked, **about}


def _taking(trial: Mapping[str, Any], models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The changes that make a trial the plan."""
    changes: list[dict[str, Any]] = [{"set": ["method"], "value": {"name": trial["method"], **trial["parameters"]}}]
    for place, model in enumerate(models):
        if "k" in model and trial["k"]:
            changes.append({"set": ["models", place, "k"], "value": trial["k"]})
    return changes


def _taking_levels(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"set": ["method"], "value": {"name": "levels", "levels": dict(one["levels"])}}]
