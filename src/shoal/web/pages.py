"""The pages: what the API tells, drawn on the server; a little script of ours sends changes and puts in what is new."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from shoal.errors import ShoalError
from shoal.render.html import bar, number, percent, prose, text
from shoal.web.api import Api, language_of
from shoal.web.file_access import list_folder
from shoal.web.plan_edits import Place, locate
from shoal.web.projects import Project
from shoal.web.translations import LANGUAGES, STEPS, TEXTS, figure_in, say, say_error, say_sentence
from shoal.web.view_models import SHOWN, fresh

__all__ = ["Pages"]

HERE = Path(__file__).parent
SCRIPTS = ("app.js", "calls.js", "watch.js", "swap.js", "plan.js", "tree.js", "bins.js")


class Pages:
    """The pages over an API; ``first`` is the project that the server was started with."""

    def __init__(self, api: Api, first: Project | None = None) -> None:
        self.api = api
        self.first = first
        self.templates = {language: _templates(language) for language in LANGUAGES}

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
        from shoal.render.style import STYLE

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
        shown = {"files": files, "root": self.api.projects.root.name, "up": _up(files)}
        return self._page(request, "start.html", projects=self.api.projects.listed(session), **shown)

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
        language = language_of(request)
        if project.text:
            project.seen.add(step)
        common = self._common(project, step, language)
        if not project.text:
            return self._page(request, "drafting.html", **common)
        shown = SHOWN[step](project, request, language)
        return self._page(request, f"{step}.html", **{**common, **shown})

    def _page(self, request: Request, template: str, **shown: Any) -> Response:
        language = language_of(request)

        def said(key: str, **parts: object) -> str:
            return say(key, language, **parts)

        other = LANGUAGES[1 - LANGUAGES.index(language)]
        page = self.templates[language].get_template(template)
        own = {"error_in": partial(say_error, language=language), "word_in": partial(say_sentence, language=language)}
        answer = HTMLResponse(page.render(t=said, language=language, other=other, known=TEXTS, **own, **shown))
        if request.query_params.get("lang") in LANGUAGES:
            answer.set_cookie("shoal-language", language, samesite="strict", httponly=True)
        return answer

    # -- what every step shows ---------------------------------------------------------------------

    def _common(self, project: Project, step: str, language: str) -> dict[str, Any]:
        look, check = fresh(project, "look"), fresh(project, "check")
        error = project.error() if project.text else None
        place = None if error is None else locate(project.text, error)
        people = ((check or {}).get("people") or {}).get("total")
        busy = {run.id: run for run in project.latest.values() if run.state == "running"}
        return {
            "project": project.name,
            "step": step,
            "steps": [(name, self._mark(project, name, error, place)) for name in STEPS],
            "plan_text": project.text,
            "error": None if error is None else say_error(error, language),
            "fault": place,
            "sentence": self._sentence(project, error, check, language),
            "ahead": self._ahead(project, error, place, check),
            "bad": error is not None or bool(check and check.get("infeasible")),
            "rows": (look or check or {}).get("rows"),
            "people_counted": people,
            # what the page has to have found out: it asks for it when it is shown
            "wanted": []
            if error or not project.text
            else [n for n, r in (("look", look), ("check", check)) if r is None],
            "running": [run.to_dict() for run in busy.values()],
            "failed": [
                run.to_dict() for key, run in project.latest.items() if run.state == "failed" and _step_of(key) == step
            ],
        }

    def _mark(self, project: Project, step: str, error: str | None, place: Place | None) -> str:
        if error is not None and step in (("columns", "hierarchies", "promise") if place is None else (place.step,)):
            return "warning"
        if error is not None and step in ("columns", "hierarchies", "promise"):
            return "open"
        made = bool(project.releases())
        done = {
            # a draft is no decision: done is what somebody has looked at
            **dict.fromkeys(("table", "columns", "hierarchies", "promise"), made or step in project.seen),
            "run": made,
            "explore": fresh(project, "explore") is not None,
            "compare": any(key.startswith("compare") for key in project.latest),
            "attack": any(key.startswith("attack") for key in project.latest),
            "publish": project.published,
        }[step]
        return "done" if done else "open"

    def _ahead(
        self, project: Project, error: str | None, place: Place | None, check: Mapping[str, Any] | None
    ) -> str | None:
        """The step that comes next."""
        if not project.text or (error is not None and place is None):
            return None
        if error is not None and place is not None:
            return place.step
        if check is None:
            return None
        if check.get("infeasible") or check.get("refused"):
            fixed = (project.document().get("method") or {}).get("name") == "levels"
            return "explore" if fixed else "promise"  # where levels are chosen, the lattice shows which would do
        made = project.releases()
        current = bool(made) and project.facts(made[-1]).get("of") in (None, project.digest)
        # before a release, what it rests on; after it, what it lost and what it still tells
        way = ("compare", "attack", "publish") if current else ("columns", "promise", "run")
        return next((step for step in way if step not in project.seen), way[-1])

    def _sentence(self, project: Project, error: str | None, check: dict[str, Any] | None, language: str) -> str:
        """The heart of the page: where things stand."""
        if not project.text:
            run = project.latest.get("draft")
            if run is not None and run.error is not None:
                return say("state.draft_failed", language, why=say_error(run.error["text"], language))
            return say("state.drafting", language)
        if error is not None:
            return say("state.error", language, why=say_error(error, language))
        if check is None:
            return say("state.checking", language)

        def counted(count: int) -> str:
            return figure_in(number(count), language)

        def share(part: float) -> str:
            return figure_in(percent(part), language)

        rows = counted(check["rows"])
        said = [say("state.holds", language, rows=rows)]
        if check["failing_rows"]:
            part = share(check["failing_rows"] / check["rows"])
            said = [say("state.failing", language, failing=counted(check["failing_rows"]), rows=rows, part=part)]
        why = check.get("infeasible") or check.get("refused")
        found = check.get("rehearsal")
        if why:
            said.append(say("state.infeasible", language, why=say_error(why, language)))
        elif found:
            lost = (found.get("loss") or {}).get("ncp")
            shown = "?" if lost is None else share(lost)
            key = "state.sampled" if found.get("sampled") else "state.rehearsed"
            parts = {"released": counted(found["released"]), "rows": counted(found.get("rows") or 0)}
            said.append(say(key, language, lost=shown, groups=counted(found["groups"]), **parts))
        elif check.get("hard"):
            said.append(say("state.hard", language))
        else:
            said.append(say("state.rehearsing", language))
        made = project.releases()
        if made and project.facts(made[-1]).get("of") == project.digest:
            said.append(say("state.released", language, number=made[-1]))
        elif made:
            said.append(say("state.changed", language, number=made[-1]))
        return " ".join(said)


def _templates(language: str) -> Environment:
    loader = FileSystemLoader(HERE / "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    # whatever comes from data is bounded, shown in a direction of its own, and without signs that cannot be seen
    made.filters |= {
        "data": _data,
        "inside": _inside,
        "number": lambda value: figure_in(number(value), language),
        "percent": lambda value: figure_in(percent(value), language),
        "ticks": _ticks,
        "size": lambda count: figure_in(_size(count), language),
    }
    made.globals["bar"] = lambda share, kind: Markup(bar(share, kind))
    return made


def _data(value: object, most: int = 120) -> Markup:
    """Text from data, as an element of its own."""
    return Markup(text(value, most))


def _inside(value: object) -> Markup:
    """Text within a sentence or an attribute."""
    return Markup(prose(value, 600))


def _ticks(value: object) -> Markup:
    """A text of ours or an error's, with what stands between backticks as code."""
    parts = prose(value, 900).split("`")
    return Markup(
        "".join(f"<code>{part}</code>" if n % 2 and n < len(parts) - 1 else part for n, part in enumerate(parts))
    )


def _size(count: int) -> str:
    """A file's size as people read it.

    >>> _size(800), _size(2_516_935)
    ('800 B', '2.5 MB')
    """
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count} B"


def _step_of(key: str) -> str:
    """Where a run that failed is told of."""
    first = key.split()[0]
    # levels, comparisons and attacks tell of it in their own place
    return {"release": "run", "minimal": "explore", "explore": "explore", "look": "columns", "check": "promise"}.get(
        first, ""
    )


def _up(files: Mapping[str, Any]) -> str | None:
    return None if not files["path"] else files["path"].rpartition("/")[0]
