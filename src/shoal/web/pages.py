"""HTML pages, rendered on the server from the data of the API.

A small script in the browser sends changes and replaces the parts of a page that are new.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from shoal.errors import LANGUAGES, ShoalError
from shoal.formatting import file_size, fixed, localized, number, percent
from shoal.render.html import bar, prose, text
from shoal.web.api import Api, language_of
from shoal.web.file_access import UPLOAD_SUFFIXES, list_folder
from shoal.web.plan_edits import PlanLocation, locate
from shoal.web.projects import Project
from shoal.web.review_views import recipient_choices, review_of
from shoal.web.translations import (
    STEP_GROUPS,
    STEPS,
    TEXTS,
    translate,
    translate_error,
    translate_sentence,
)
from shoal.web.view_models import VIEW_MODELS, current_result, failure_message

HERE = Path(__file__).parent
SCRIPTS = ("app.js", "calls.js", "watch.js", "swap.js", "plan.js", "tree.js", "bins.js", "questions.js")


class Pages:
    """Pages over an API.

    ``first`` is the project that the server was started with.
    """

    def __init__(self, api: Api, first: Project | None = None) -> None:
        self.api = api
        self.first = first
        self.templates = {language: _templates(language) for language in LANGUAGES}

    def routes(self) -> list[Route]:
        """List the routes of the pages and of their static files."""
        return [
            Route("/", self.start),
            Route("/p/{project}", self.begin),
            Route("/p/{project}/{step}", self.step),
            Route("/static/style.css", self.style),
            Route("/static/{file}", self.script),
            Route("/favicon.ico", self.icon),
        ]

    async def style(self, request: Request) -> Response:
        """Send the report's style sheet and the additions of the pages."""
        from shoal.render.style import STYLE

        return Response(STYLE + (HERE / "static" / "app.css").read_text(encoding="utf-8"), media_type="text/css")

    async def script(self, request: Request) -> Response:
        """Send one of the JavaScript modules."""
        name = request.path_params["file"]
        if name not in SCRIPTS:
            return Response(status_code=404)
        return FileResponse(HERE / "static" / name, media_type="text/javascript")

    async def icon(self, request: Request) -> Response:
        """Send the icon."""
        return FileResponse(HERE / "static" / "icon.svg", media_type="image/svg+xml")

    async def start(self, request: Request) -> Response:
        """Render the start page: choose a table, or open a project."""
        if self.first is not None:
            first, self.first = self.first, None  # only once: the start page must stay reachable
            return RedirectResponse(f"{request.scope['prefix']}/p/{first.name}/columns", 303)
        try:
            files = list_folder(self.api.projects.root, request.query_params.get("path", ""))
        except ShoalError:
            files = list_folder(self.api.projects.root, "")
        context = {
            "endings": UPLOAD_SUFFIXES,
            "files": files,
            "root": self.api.projects.root.name,
            "up": _parent_path(files),
        }
        return self._page(request, "start.html", projects=self._projects(), **context)

    def _projects(self) -> list[tuple[str, str]]:
        """List names and titles of the visitor's projects."""
        found = []
        for name in self.api.projects.list_names():
            with contextlib.suppress(LookupError):
                found.append((name, self.api.projects.get(name).title))
        return found

    async def begin(self, request: Request) -> Response:
        """Redirect to the columns of a project."""
        return RedirectResponse(f"{request.scope['prefix']}/p/{request.path_params['project']}/columns", 303)

    async def step(self, request: Request) -> Response:
        """Render one step of a project."""
        step = request.path_params["step"]
        try:
            project = self.api.project(request)
        except LookupError:
            return Response("There is no such project.", 404, media_type="text/plain")
        if step not in STEPS:
            return Response("There is no such step.", 404, media_type="text/plain")
        language = language_of(request)
        if project.text:
            project.visited_steps.add(step)
        common = self._common(project, step, language)
        if not project.text and project.table is not None and "draft" not in project.latest:
            return self._page(request, "recipient.html", project=project.name, recipients=recipient_choices(language))
        if not project.text:
            return self._page(request, "drafting.html", **common)
        try:
            view = VIEW_MODELS[step](project, request, language)
            return self._page(request, f"{step}.html", **{**common, **view})
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            if common["error"] is None:
                raise
            # values of other types than a step displays: the plan's error and its text remain
            return self._page(request, "drafting.html", **common)

    def _page(self, request: Request, template: str, **context: Any) -> Response:
        language = language_of(request)

        def translated(key: str, **parts: object) -> str:
            return translate(key, language, **parts)

        other = LANGUAGES[1 - LANGUAGES.index(language)]
        page = self.templates[language].get_template(template)
        own = {
            "error_in": partial(translate_error, language=language),
            "word_in": partial(translate_sentence, language=language),
            "path_prefix": request.scope["prefix"],
        }
        answer = HTMLResponse(page.render(t=translated, language=language, other=other, known=TEXTS, **own, **context))
        if request.query_params.get("lang") in LANGUAGES:
            answer.set_cookie(
                "shoal-language", language, path=f"{request.scope['prefix']}/", samesite="strict", httponly=True
            )
        return answer

    # -- context of every step ---------------------------------------------------------------------

    def _common(self, project: Project, step: str, language: str) -> dict[str, Any]:
        look, check = current_result(project, "look"), current_result(project, "check")
        error = project.error() if project.text else None
        location = None if error is None else locate(project.text, error)
        people = ((check or {}).get("people") or {}).get("total")
        busy = {run.id: run for run in project.latest.values() if run.state == "running"}
        return {
            "project": project.name,
            "title": project.title,
            "undoable": bool(project.earlier_texts()),
            "step": step,
            "steps": {name: self._step_status(project, name, error, location) for name in STEPS},
            "groups": STEP_GROUPS,
            "plan_text": project.text,
            "error": None if error is None else translate_error(error, language),
            "fault": location,
            "sentence": self._state_sentence(project, error, check, language),
            "ahead": self._next_step(project, error, location, check),
            "bad": error is not None or bool(check and check.get("infeasible")),
            "rows": (look or check or {}).get("rows"),
            "people_counted": people,
            # runs that the page starts when it is displayed
            "wanted": []
            if error or not project.text
            else [n for n, r in (("look", look), ("check", check)) if r is None],
            "running": [run.to_dict() for run in busy.values()],
            "failed": [
                run.to_dict() for key, run in project.latest.items() if run.state == "failed" and _step_of(key) == step
            ],
        }

    def _step_status(self, project: Project, step: str, error: ShoalError | None, location: PlanLocation | None) -> str:
        if error is not None and step in (
            ("columns", "hierarchies", "promise") if location is None else (location.step,)
        ):
            return "warning"
        if error is not None and step in ("columns", "hierarchies", "promise"):
            return "open"
        made = project.releases()
        current = made[-1] if made and project.facts(made[-1]).get("of") in (None, project.digest) else None
        reviewed = review_of(project)["status"] if step == "review" else None
        if reviewed == "changed":
            return "warning"
        done = {
            "review": reviewed == "reviewed",
            # a draft is no decision: a step is done once a user has visited it
            **dict.fromkeys(("table", "columns", "hierarchies", "promise"), step in project.visited_steps),
            # what was done for another plan is not done for this one
            "run": current is not None,
            "explore": current_result(project, "explore") is not None,
            "compare": f"compare {current}" in project.latest,
            "attack": f"attack {current}" in project.latest,
            "publish": current is not None and project.published,
            "questions": project.has_ledger,
        }[step]
        return "done" if done else "open"

    def _next_step(
        self, project: Project, error: ShoalError | None, location: PlanLocation | None, check: Mapping[str, Any] | None
    ) -> str | None:
        """Return the step to do next, or None."""
        if not project.text or (error is not None and location is None):
            return None
        if error is not None and location is not None:
            return location.step
        if check is None:
            return None
        if check.get("infeasible") or check.get("refused"):
            fixed = (project.document().get("method") or {}).get("name") == "levels"
            return "explore" if fixed else "promise"  # for chosen levels, the lattice displays which ones hold
        made = project.releases()
        current = bool(made) and project.facts(made[-1]).get("of") in (None, project.digest)
        # before a release its inputs, after it its loss and its risk
        unreviewed = review_of(project)["status"] in ("draft", "changed")
        before = ("columns", "promise", "review", "run") if unreviewed else ("columns", "promise", "run")
        way = ("compare", "attack", "publish") if current else before
        return next((step for step in way if step not in project.visited_steps), way[-1])

    def _state_sentence(
        self, project: Project, error: ShoalError | None, check: dict[str, Any] | None, language: str
    ) -> str:
        """Summarize the state of the project, for the top of the page."""
        if not project.text:
            run = project.latest.get("draft")
            if run is not None and run.error is not None:
                return translate("state.draft_failed", language, why=translate_error(run.error, language))
            return translate("state.drafting", language)
        if error is not None:
            return translate("state.error", language, why=translate_error(error, language))
        failure = failure_message(project.latest.get("check"))
        if check is None and failure and project.plan_digests.get("check") == project.digest:
            return translate("state.check_failed", language, why=translate_error(failure, language))
        if check is None:
            return translate("state.checking", language)

        def counted(count: int) -> str:
            return localized(number(count), language)

        def share(part: float) -> str:
            return localized(percent(part), language)

        rows = counted(check["rows"])
        made = project.releases()
        facts = project.facts(made[-1]) if made else {}
        if facts.get("of") == project.digest and "ncp" in (facts.get("loss") or {}):  # no estimate beside the truth
            figures = {"number": made[-1], "released": counted(facts["released"]), "lost": share(facts["loss"]["ncp"])}
            return translate("state.verified", language, rows=rows, **figures)
        sentences = [translate("state.holds", language, rows=rows)]
        if check["failing_rows"]:
            part = share(check["failing_rows"] / check["rows"])
            sentences = [
                translate("state.failing", language, failing=counted(check["failing_rows"]), rows=rows, part=part)
            ]
        why = check.get("infeasible") or check.get("refused")
        found = check.get("rehearsal")
        if why:
            sentences.append(translate("state.infeasible", language, why=translate_error(why, language)))
        elif found:
            lost = (found.get("loss") or {}).get("ncp")
            loss = "?" if lost is None else share(lost)
            key = "state.sampled" if found.get("sampled") else "state.rehearsed"
            parts = {"released": counted(found["released"]), "rows": counted(found.get("rows") or 0)}
            sentences.append(translate(key, language, lost=loss, groups=counted(found["groups"]), **parts))
        elif check.get("hard"):
            sentences.append(translate("state.hard", language))
        else:
            sentences.append(translate("state.rehearsing", language))
        if facts.get("of") == project.digest:
            sentences.append(translate("state.released", language, number=made[-1]))
        elif made:
            sentences.append(translate("state.changed", language, number=made[-1]))
        return " ".join(sentences)


def _templates(language: str) -> Environment:
    loader = FileSystemLoader(HERE / "templates")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    # text from data is truncated, isolated in its writing direction, and stripped of invisible characters
    made.filters |= {
        "data": _data,
        "inside": _inside,
        "number": lambda value: localized(number(value), language),
        "fixed": lambda value: localized(fixed(value, 2), language),
        "percent": lambda value: localized(percent(value), language),
        "ticks": _ticks,
        "size": lambda count: localized(file_size(count), language),
    }
    made.globals["bar"] = lambda share, kind: Markup(bar(share, kind))
    return made


def _data(value: object, max_length: int = 120) -> Markup:
    """Escape a text from data as a separate element."""
    return Markup(text(value, max_length))


def _inside(value: object) -> Markup:
    """Escape a text within a sentence or an attribute."""
    return Markup(prose(value, 600))


def _ticks(value: object) -> Markup:
    """Escape a message; mark the text between backticks as code."""
    parts = prose(value, 900).split("`")
    return Markup(
        "".join(f"<code>{part}</code>" if n % 2 and n < len(parts) - 1 else part for n, part in enumerate(parts))
    )


def _step_of(key: str) -> str:
    """Return the step that displays the failure of a run."""
    first = key.split()[0]
    # levels, comparisons and attacks display their own failures
    return {"release": "run", "minimal": "explore", "explore": "explore", "look": "columns", "check": "promise"}.get(
        first, ""
    )


def _parent_path(files: Mapping[str, Any]) -> str | None:
    return None if not files["path"] else files["path"].rpartition("/")[0]
