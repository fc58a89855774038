"""HTTP API of the server: projects, plans, runs with events, releases.

The pages use it too. :data:`ENDPOINTS` lists every endpoint; the routes and the OpenAPI document are built from it. An
invalid request gets status 422 and a sentence with advice; a resource that does not exist gets 404. Each visitor has an
API of their own over projects of their own.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from shoal import __version__
from shoal.errors import LANGUAGES, InputError, PlanError, ShoalError
from shoal.web.checklist import confirm_release, require_confirmed
from shoal.web.file_access import UPLOAD_SUFFIXES, check_archive, list_folder, sanitize_name, table_stem
from shoal.web.ledgers import create_ledger, read_answers, read_ledger, save_answer
from shoal.web.plan_edits import apply_changes, locate
from shoal.web.projects import Project, Projects, open_private
from shoal.web.question_views import parse_question
from shoal.web.request_values import parse_body, parse_count
from shoal.web.review_views import decision_names
from shoal.web.runs import Run, Runs
from shoal.web.security import REPORT_SECURITY_POLICY, TooLong, TooSlow
from shoal.web.translations import translate_error, translate_sentence

if TYPE_CHECKING:
    from shoal.plan.review import Recipient

ACTIONS = ("look", "check", "levels", "release", "explore", "minimal", "compare", "attack", "cliff", "find")
RELEASE_ACTIONS = ("compare", "attack", "cliff", "find")
"""Actions about one release."""
REPLACEABLE_ACTIONS = ("look", "check", "levels", "explore", "minimal")
"""Actions of which a new run makes the earlier one obsolete."""
COMPRESSION_SIGNATURES = (b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf")
PACKED_FORMATS = {
    ".gz": b"\x1f\x8b",
    ".zst": b"\x28\xb5\x2f\xfd",
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".ods"), b"PK\x03\x04"),
}
"""Ends of the names of compressed tables, with their first bytes."""
MAX_SIGNATURE_BYTES = max(map(len, COMPRESSION_SIGNATURES))
"""Number of leading bytes that identify a compressed file."""
DEFAULT_EXPLORATION_SECONDS = 30.0
MAX_EXPLORATION_SECONDS = 600.0
UNREADABLE_PATHS = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL)
"""Errors of a path that the request names, not of the server's disk."""
BODY_FIELDS = "shoal.body_fields"
"""Key of a request's scope: the declared fields of its JSON body."""
MIN_FREE_DISK_BYTES = 500_000_000
"""Disk space in bytes that an upload must leave free."""

Handler = Callable[["Api", Request], Awaitable[Response]]


def language_of(request: Request) -> str:
    """Return the visitor's chosen or preferred language, or English."""
    for given in (request.query_params.get("lang"), request.cookies.get("shoal-language")):
        if given in LANGUAGES:
            return str(given)
    first = request.headers.get("accept-language", "en")[:2].lower()
    return first if first in LANGUAGES else "en"


class Api:
    """Handlers of all endpoints, over the projects and runs of a server."""

    def __init__(self, projects: Projects, runs: Runs) -> None:
        self.projects = projects
        self.runs = runs

    def routes(self) -> list[Route]:
        """Build one route per endpoint."""
        return [Route(f"/api{e.path}", self._with_error_responses(e), methods=[e.method]) for e in ENDPOINTS]

    def _with_error_responses(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            try:
                request.scope[BODY_FIELDS] = endpoint.fields
                return await endpoint.handler(self, request)
            except LookupError:
                error, status = ShoalError("page.not-found"), 404
            except ShoalError as refusal:
                translated = translate_error(refusal, language_of(request))
                return JSONResponse({"error": translated, "kind": type(refusal).__name__}, 422)
            except TooLong:
                error, status = ShoalError("page.body-too-long"), 413
            except TooSlow:
                error, status = ShoalError("page.body-too-slow"), 408
            except OSError as fault:
                error, status = ShoalError("page.disk-error", reason=fault.strerror), 507
                if fault.errno in UNREADABLE_PATHS:
                    status = 422
            return JSONResponse({"error": translate_error(error, language_of(request))}, status)

        return respond

    def project(self, request: Request) -> Project:
        """Return the project named in the path."""
        return self.projects.get(request.path_params["project"])

    # -- projects ----------------------------------------------------------------------------------

    async def describe(self, request: Request) -> Response:
        """This document."""
        return JSONResponse(openapi())

    async def list_projects(self, request: Request) -> Response:
        """List the projects of this visitor."""
        return JSONResponse({"projects": self.projects.list_names()})

    async def make_project(self, request: Request) -> Response:
        """A project for a table or a plan below the root, or for a sample."""
        given = await _json_object(request)
        if "sample" in given:
            project = self.projects.open_sample(given["sample"])
        else:
            path = self.projects.root / given.get("path", "")
            project = await run_in_threadpool(self.projects.open_path, path)
        return self._created(project, given.get("draft", True))

    def _created(self, project: Project, draft: bool) -> Response:
        if not project.text:
            self.projects.note_table(project)
        run = self.draft(project) if draft else None
        return JSONResponse({"project": project.name, "run": run and run.id}, 201)

    async def start_draft(self, request: Request) -> Response:
        """Draft the plan of a project that has none, for a recipient."""
        from shoal.plan.review import Recipient

        given = await _json_object(request)
        recipient = Recipient(given["recipient"], given.get("signed", False)) if "recipient" in given else None
        run = self.draft(self.project(request), recipient)
        if run is None:
            raise InputError("page.already-drafted")
        return JSONResponse({"run": run.id}, 201)

    def draft(self, project: Project, recipient: Recipient | None = None) -> Run | None:
        """Start a run that drafts a plan, if the project has none yet."""
        running = project.latest.get("draft")
        if project.text or project.table is None or (running is not None and running.state == "running"):
            return None
        job = {
            "action": "draft",
            "table": str(project.table),
            "folder": str(project.folder),
            "root": str(self.projects.root),
            "recipient": None if recipient is None else asdict(recipient),
        }
        if project.table.parent == project.folder and not project.table.exists():
            job["sample"] = "census"

        def drafted(run: Run) -> None:
            """Save the plan before the charts are drawn.

            A large table is displayed as soon as its columns are profiled.
            """
            if not project.text and run.partial is not None:
                project.save(run.partial["plan"])
                project.plan_digests["look"] = project.digest
                self._remember(project, "look", run)

        return self._remember(project, "draft", self.runs.start(str(project.folder), job, project.log, drafted))

    async def list_files(self, request: Request) -> Response:
        """Folders and tables below the root."""
        return JSONResponse(list_folder(self.projects.root, request.query_params.get("path", "")))

    async def upload(self, request: Request) -> Response:
        """Upload a table as the request body, to a new project."""
        name = sanitize_name(request.query_params.get("name", ""), "table.csv")
        if not name.lower().endswith(UPLOAD_SUFFIXES):
            raise InputError("page.unknown-table-kind", allowed=", ".join(UPLOAD_SUFFIXES))
        project = self.projects.make(table_stem(name))
        project.table = project.folder / name
        try:
            await _receive(request, project.table)
            await run_in_threadpool(check_archive, project.table)
        except BaseException:
            self.projects.remove(project)
            raise
        return self._created(project, request.query_params.get("draft") != "no")

    async def state(self, request: Request) -> Response:
        """Return a project: plan, faults of the plan, releases and latest runs."""
        return JSONResponse(self.state_of(self.project(request)))

    def state_of(self, project: Project) -> dict[str, Any]:
        """Return the current state of a project."""
        return {
            "project": project.name,
            "plan": project.text,
            "error": None if (error := project.error()) is None else str(error),
            "releases": project.releases(),
            "runs": {action: run.to_dict() for action, run in project.latest.items()},
        }

    async def rename(self, request: Request) -> Response:
        """Give a project another title; its address stays."""
        project = self.project(request)
        project.rename((await _json_object(request)).get("title", ""))
        return JSONResponse({"project": project.name, "title": project.title})

    async def remove_project(self, request: Request) -> Response:
        """Delete a project with its releases and its copy of the table."""
        project = self.project(request)
        if (await _json_object(request)).get("name") != project.name:
            raise InputError("page.name-not-typed")
        for run in [run for run in self.runs.runs.values() if run.project == str(project.folder)]:
            await self.runs.cancel(run)
        await run_in_threadpool(self.projects.remove, project)
        return JSONResponse({"removed": project.name})

    async def remove_release(self, request: Request) -> Response:
        """Delete a release; what was handed out or written stays."""
        project, number = self.project(request), _number(request)
        project.release_folder(number)
        for action in RELEASE_ACTIONS:  # a later release may get the same number
            run = project.latest.pop(f"{action} {number}", None)
            if run is not None:
                await self.runs.cancel(run)
        await run_in_threadpool(project.remove_release, number)
        return JSONResponse({"removed": number})

    async def undo(self, request: Request) -> Response:
        """Take back the last change of the plan."""
        project = self.project(request)
        project.undo()
        return self._plan_response(project, language_of(request))

    # -- plans -------------------------------------------------------------------------------------

    async def read_plan(self, request: Request) -> Response:
        """The plan's text (TOML)."""
        return Response(self.project(request).text, media_type="text/plain")

    async def write_plan(self, request: Request) -> Response:
        """Replace the text of the plan; return whether it can run."""
        project = self.project(request)
        try:
            text = (await request.body()).decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("page.plan-not-utf-8") from None
        fault = project.save(text)
        if fault is not None:
            translated = translate_error(fault["error"], language_of(request))
            return JSONResponse({"error": translated, "line": fault["line"]}, 422)
        return self._plan_response(project, language_of(request))

    def _plan_response(self, project: Project, language: str) -> Response:
        """Return the plan, and why and in which line it cannot run."""
        error = project.error()
        location = None if error is None else locate(project.text, error)
        message = None if error is None else translate_error(error, language)
        return JSONResponse(
            {"plan": project.text, "error": message, "line": None if location is None else location.line}
        )

    async def change_plan(self, request: Request) -> Response:
        """Apply single changes to the plan; the rest of its text stays."""
        project = self.project(request)
        given = await _json_object(request)
        changes = given.get("changes")
        if not isinstance(changes, list) or not all(isinstance(change, dict) for change in changes):
            raise InputError("page.changes-not-a-list")
        if (
            any(change.get("pseudonym") or change.get("dates") == "shift" for change in changes)
            and project.lacks_pseudonym_key
        ):
            changes = [*changes, {"set": ["output", "pseudonym_key"], "value": project.ensure_pseudonym_key()}]
        project.save(apply_changes(project.text, changes, _suggested_hierarchies(project)))
        return self._plan_response(project, language_of(request))

    async def save_review(self, request: Request) -> Response:
        """Record a review of the plan that the page displayed.

        ``of`` is the SHA-256 of that plan's text, ``confirmed`` the decisions that were confirmed: all of them.
        """
        from shoal.plan.review import record_review

        project = self.project(request)
        given = await _json_object(request)
        plan = project.plan()
        if given.get("of") != project.digest:
            raise InputError("page.plan-changed-meanwhile")
        if missing := [name for name in decision_names(plan) if name not in given.get("confirmed", [])]:
            raise InputError("page.review-not-complete", missing=", ".join(missing))
        project.save(record_review(project.text, plan, given.get("by", ""), date.today()))
        return self._plan_response(project, language_of(request))

    # -- runs --------------------------------------------------------------------------------------

    async def start_run(self, request: Request) -> Response:
        """Start a run: look, check, release, explore, compare, attack, ..."""
        project = self.project(request)
        run = self.begin(project, await _json_object(request))
        return JSONResponse({"run": run.id}, 201)

    def begin(self, project: Project, given: dict[str, Any]) -> Run:
        """Start a run, or return a running one that does the same."""
        action = given.get("action", "")
        if action not in ACTIONS:
            raise InputError("page.unknown-action", allowed=", ".join(ACTIONS))
        project.plan()
        # the worker gets the text that was checked, not a file that may say something else when its turn has come
        job: dict[str, Any] = {"action": action, "plan": project.confinement(project.text)}
        key = action
        if action == "levels":
            job["column"] = given.get("column", "")
            key = f"levels {job['column']}"
        if action == "explore":
            job |= _exploration_options(given)
        folder: Path | None = None
        plan_digest = project.digest
        if action == "find":
            job["facts"] = _facts(given.get("facts", []))
        if action in RELEASE_ACTIONS and (action != "cliff" or given.get("release")):
            released = project.release_folder(given.get("release", 0))
            number = int(released.name)
            job |= {
                "plan": project.release_confinement(number),
                "released": str(released / project.facts(number)["output"]),
            }
            key = f"{action} {released.name}"
        elif action == "cliff":
            key = "cliff 0"
        version = project.digest if action in REPLACEABLE_ACTIONS or key == "cliff 0" else key
        running = project.latest.get(key)
        if running is not None and running.state == "running":
            if action != "find" and (project.plan_digests.get(key) == version or action not in REPLACEABLE_ACTIONS):
                return running
            self.cancel_in_background(running)
        if action == "release":
            folder, text = project.new_release()
            job["plan"] = project.confinement(text, folder)

        def finish(run: Run) -> None:
            if folder is not None and run.result is not None and run.state == "done":
                project.finish_release(folder, run.result, plan_digest)
            elif folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if action in ("release", "explore", "attack", "compare"):
                project.log(run)

        project.plan_digests[key] = version
        return self._remember(project, key, self.runs.start(str(project.folder), job, finish))

    def cancel_in_background(self, run: Run) -> None:
        """Cancel an obsolete run in a background task."""
        import asyncio

        task = asyncio.get_running_loop().create_task(self.runs.cancel(run))
        self.runs._tasks.add(task)
        task.add_done_callback(self.runs._tasks.discard)

    def _remember(self, project: Project, key: str, run: Run) -> Run:
        project.latest[key] = run
        return run

    def run(self, request: Request) -> Run:
        """Return the run named in the path."""
        run = self.runs.runs[request.path_params["run"]]
        if run.project != str(self.project(request).folder):
            raise LookupError
        return run

    async def read_run(self, request: Request) -> Response:
        """Return the state and the result of a run."""
        return JSONResponse(self.run(request).to_dict())

    async def cancel_run(self, request: Request) -> Response:
        """End a run; it leaves nothing."""
        run = self.run(request)
        await self.runs.cancel(run)
        return JSONResponse(run.to_dict())

    async def follow_run(self, request: Request) -> Response:
        """Stream the events of a run, from Last-Event-ID on."""
        run = self.run(request)
        after = parse_count(request.headers.get("last-event-id", "")) or 0
        language = language_of(request)

        async def events() -> AsyncIterator[str]:
            async for event in run.follow(after):
                data = {key: value for key, value in event.items() if key not in ("id", "event")}
                if "step" in data:
                    data["step"] = translate_sentence(data["step"], language)
                if data.get("error"):
                    data["error"] = {"kind": data["error"]["kind"], "text": translate_error(data["error"], language)}
                yield f"id: {event['id']}\nevent: {event['event']}\ndata: {json.dumps(data)}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    # -- ledger and questions ----------------------------------------------------------------------

    async def show_ledger(self, request: Request) -> Response:
        """The ledger of the table: budget spent and left, entries, answers."""
        project = self.project(request)
        file = project.ledger_file
        if not project.has_ledger or file is None:
            raise LookupError
        status = await run_in_threadpool(read_ledger, file)
        return JSONResponse({**status, "answers": read_answers(project.folder, file)})

    async def make_ledger(self, request: Request) -> Response:
        """Create the ledger of the table; m and k are fixed from then on."""
        project = self.project(request)
        given = await _json_object(request)
        source = project.plan().source
        file = project.ledger_file
        if file is None or source is None:
            raise PlanError("plan.no-source")
        if "m" not in given or "k" not in given:
            raise InputError("page.ledger-needs-m-and-k")
        await run_in_threadpool(create_ledger, file, source.path, given["m"], given["k"], project.name)
        return JSONResponse(await run_in_threadpool(read_ledger, file), 201)

    async def ask(self, request: Request) -> Response:
        """Ask a noisy question; it is booked before it is computed."""
        project = self.project(request)
        given = await _json_object(request)
        project.plan()
        file = project.ledger_file
        if not project.has_ledger or file is None:
            raise InputError("page.no-ledger")
        answers = read_answers(project.folder, file)
        job = {
            "action": "query",
            "plan": project.confinement(project.text),
            "head": answers[-1]["head"] if answers else None,
            "question": parse_question(given),
        }

        def finish(run: Run) -> None:
            if run.result is not None:  # booked and answered, even if somebody cancelled meanwhile
                save_answer(project.folder, file, run.result)
            project.log(run)

        run = self._remember(project, "query", self.runs.start(str(project.folder), job, finish))
        return JSONResponse({"run": run.id}, 201)

    # -- releases ----------------------------------------------------------------------------------

    async def read_release(self, request: Request) -> Response:
        """The figures of a release, and its files."""
        project, number = self.project(request), _number(request)
        return JSONResponse({**project.facts(number), "files": [file.name for file in project.files(number)]})

    async def download(self, request: Request) -> Response:
        """A file of a release; one for others after the checklist."""
        project, number = self.project(request), _number(request)
        file = {file.name: file for file in project.files(number)}[request.path_params["file"]]
        if file in project.public_files(number):
            require_confirmed(project, number)
        if file.suffix == ".html" and "download" not in request.query_params:
            return FileResponse(
                file, media_type="text/html", headers={"content-security-policy": REPORT_SECURITY_POLICY}
            )
        return FileResponse(file, media_type="application/octet-stream", filename=file.name)

    async def confirm(self, request: Request) -> Response:
        """Confirm what the requirements of a release do not cover."""
        project, number = self.project(request), _number(request)
        given = await _json_object(request)
        confirm_release(project, number, *(given.get(name, []) for name in ("points", "columns", "typed")))
        return JSONResponse({"confirmed": True}, 201)

    async def download_all(self, request: Request) -> Response:
        """The files of a release that are meant for others, as a zip."""
        project, number = self.project(request), _number(request)
        require_confirmed(project, number)
        return await run_in_threadpool(_zip_response, project.public_files(number), f"{project.name}-{number}.zip")

    async def publish(self, request: Request) -> Response:
        """Publish a release to the plan's [output], whole or not at all."""
        project, number = self.project(request), _number(request)
        given = await _json_object(request)
        return JSONResponse(
            {"written": await run_in_threadpool(_publish, project, number, bool(given.get("overwrite")))}
        )


def _publish(project: Project, number: int, overwrite: bool) -> list[str]:
    from shoal.io.publish import check_inputs, check_output, publish, staging

    plan = project.plan()
    if plan.output is None or plan.output.path is None:
        raise PlanError("plan.no-output")
    require_confirmed(project, number)
    table, *others = project.public_files(number)
    target = plan.output.path.with_name(table.name)
    project.check_target(target)
    for made_by in (plan, project.release_plan(number)):
        check_inputs(target, made_by.inputs)
    check_output(target, overwrite or plan.output.overwrite)
    # the certificate is published last: its presence marks a complete release
    others.sort(key=lambda file: file.name.endswith(".certificate.json"))
    with staging(target) as folder:
        staged = [
            (folder / f"{n}{file.suffix}", target.with_name(file.name)) for n, file in enumerate((table, *others))
        ]
        for file, (copy, _) in zip((table, *others), staged, strict=True):
            shutil.copyfile(file, copy)
        publish(staged[0], staged[1:], overwrite=overwrite or plan.output.overwrite)
    return [os.path.relpath(to, project.root) for _, to in staged]


def _zip_response(files: list[Path], name: str) -> Response:
    """Pack files into a temporary zip that is removed once it is sent."""
    handle, packed = tempfile.mkstemp(suffix=".zip")  # readable by the user only
    try:
        with os.fdopen(handle, "wb") as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in files:
                # the same release gives the same bytes: no time of the files
                entry = zipfile.ZipInfo(file.name)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with archive.open(entry, "w") as written, file.open("rb") as content:
                    shutil.copyfileobj(content, written)
    except BaseException:
        os.unlink(packed)
        raise
    return FileResponse(packed, media_type=BYTES, filename=name, background=BackgroundTask(os.unlink, packed))


async def _receive(request: Request, path: Path) -> None:
    """Stream a request body to a file.

    Content that is compressed where the name does not say so is refused, and so is a body that would use up the free
    space of the disk.
    """
    expected = [sign for ending, sign in PACKED_FORMATS.items() if path.name.lower().endswith(ending)]
    head = b""  # the body may arrive byte by byte
    with open(path, "xb", opener=open_private) as file:
        async for part in request.stream():
            head += part[: MAX_SIGNATURE_BYTES - len(head)]
            if head.startswith(tuple(sign for sign in COMPRESSION_SIGNATURES if sign not in expected)):
                raise InputError("page.table-packed")
            if shutil.disk_usage(path.parent).free - len(part) < MIN_FREE_DISK_BYTES:
                raise InputError("page.disk-full")
            await run_in_threadpool(file.write, part)
    if not head:
        raise InputError("table.empty")


def _suggested_hierarchies(project: Project) -> dict[str, Any]:
    run = project.latest.get("look")
    columns = run.known["columns"] if run is not None and run.known is not None else []
    return {column["name"]: column["hierarchy"] for column in columns}


def _exploration_options(given: dict[str, Any]) -> dict[str, Any]:
    methods, ks = given.get("methods", []), given.get("ks", [])
    if not all(isinstance(name, str) for name in methods) or not all(type(k) is int for k in ks):
        raise InputError("explore.methods-or-ks-not-valid")
    seconds = given.get("seconds") or DEFAULT_EXPLORATION_SECONDS
    if seconds < 0:
        raise InputError("explore.seconds-not-positive")
    return {"methods": methods, "ks": ks, "seconds": float(min(seconds, MAX_EXPLORATION_SECONDS))}


def _facts(given: list[Any]) -> list[list[str]]:
    """Return facts as pairs of a column and a value."""
    pairs = [pair for pair in given if isinstance(pair, list) and len(pair) == 2]
    if len(pairs) < len(given) or not all(isinstance(part, str) for pair in pairs for part in pair):
        raise InputError("page.facts-not-valid", most=3)
    return pairs


def _number(request: Request) -> int:
    number = parse_count(request.path_params["number"])
    if number is None:
        raise LookupError
    return number


async def _json_object(request: Request) -> dict[str, Any]:
    return parse_body(await request.body(), request.scope[BODY_FIELDS])


# -- endpoints and the OpenAPI document --------------------------------------------------------------


@dataclass(frozen=True)
class Endpoint:
    """One endpoint of the API.

    ``body`` is the JSON schema of the request body, or its media type where the body is not JSON.
    """

    method: str
    path: str
    handler: Handler
    body: dict[str, Any] | str | None = None
    media_type: str = "application/json"

    @property
    def fields(self) -> dict[str, dict[str, str]]:
        """The fields of a JSON body with their types."""
        return {} if self.body is None or isinstance(self.body, str) else self.body["properties"]


def _fields(**kinds: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": kind} for name, kind in kinds.items()}}


BYTES = "application/octet-stream"
ENDPOINTS = (
    Endpoint("GET", "/openapi.json", Api.describe),
    Endpoint("GET", "/projects", Api.list_projects),
    Endpoint("POST", "/projects", Api.make_project, _fields(path="string", sample="string", draft="boolean")),
    Endpoint("GET", "/files", Api.list_files),
    Endpoint("POST", "/uploads", Api.upload, BYTES),
    Endpoint("GET", "/projects/{project}", Api.state),
    Endpoint("PATCH", "/projects/{project}", Api.rename, _fields(title="string")),
    Endpoint("DELETE", "/projects/{project}", Api.remove_project, _fields(name="string")),
    Endpoint("POST", "/projects/{project}/undo", Api.undo),
    Endpoint("POST", "/projects/{project}/draft", Api.start_draft, _fields(recipient="string", signed="boolean")),
    Endpoint("GET", "/projects/{project}/plan", Api.read_plan, media_type="text/plain"),
    Endpoint("PUT", "/projects/{project}/plan", Api.write_plan, "text/plain"),
    Endpoint("PATCH", "/projects/{project}/plan", Api.change_plan, _fields(changes="array")),
    Endpoint(
        "POST", "/projects/{project}/review", Api.save_review, _fields(by="string", of="string", confirmed="array")
    ),
    Endpoint(
        "POST", "/projects/{project}/runs", Api.start_run,
        _fields(action="string", column="string", release="integer", methods="array", ks="array", seconds="number",
                facts="array"),
    ),
    Endpoint("GET", "/projects/{project}/runs/{run}", Api.read_run),
    Endpoint("DELETE", "/projects/{project}/runs/{run}", Api.cancel_run),
    Endpoint("GET", "/projects/{project}/runs/{run}/events", Api.follow_run, media_type="text/event-stream"),
    Endpoint("GET", "/projects/{project}/ledger", Api.show_ledger),
    Endpoint("POST", "/projects/{project}/ledger", Api.make_ledger, _fields(m="integer", k="integer")),
    Endpoint(
        "POST", "/projects/{project}/questions", Api.ask,
        _fields(kind="string", rho="string", column="string", lower="string", upper="string", step="string",
                values="array", where="array", person="array", rows_per_person="integer"),
    ),
    Endpoint("GET", "/projects/{project}/releases/{number}", Api.read_release),
    Endpoint("DELETE", "/projects/{project}/releases/{number}", Api.remove_release),
    Endpoint("GET", "/projects/{project}/releases/{number}/files/{file}", Api.download, media_type=BYTES),
    Endpoint(
        "POST", "/projects/{project}/releases/{number}/confirm", Api.confirm,
        _fields(points="array", columns="array", typed="array"),
    ),
    Endpoint("GET", "/projects/{project}/releases/{number}/zip", Api.download_all, media_type=BYTES),
    Endpoint("POST", "/projects/{project}/releases/{number}/publish", Api.publish, _fields(overwrite="boolean")),
)  # fmt: skip
QUERIES = {"/files": ["path"], "/uploads": ["name", "draft"]}


def openapi() -> dict[str, Any]:
    """Build the OpenAPI 3.1 document of the API."""
    paths: dict[str, Any] = {}
    for endpoint in ENDPOINTS:
        names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
        parameters = [{"name": n, "in": "path", "required": True, "schema": {"type": "string"}} for n in names]
        parameters += [{"name": n, "in": "query", "schema": {"type": "string"}} for n in QUERIES.get(endpoint.path, ())]
        status = (
            "201" if endpoint.method == "POST" and endpoint.path.split("/")[-1] not in ("publish", "undo") else "200"
        )
        operation: dict[str, Any] = {
            "operationId": endpoint.handler.__name__,
            "summary": (endpoint.handler.__doc__ or "").strip(),
            "parameters": parameters,
            "responses": {
                status: {"description": "Done.", "content": {endpoint.media_type: {}}},
                **{code: {"$ref": "#/components/responses/Refused"} for code in ("401", "403", "404", "422")},
            },
        }
        if isinstance(endpoint.body, str):
            operation["requestBody"] = {"required": True, "content": {endpoint.body: {"schema": {"type": "string"}}}}
        elif endpoint.body is not None:
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": endpoint.body}}}
        paths.setdefault(f"/api{endpoint.path}", {})[endpoint.method.lower()] = operation
    error = _fields(error="string", kind="string", line="integer") | {"required": ["error"]}
    return {
        "openapi": "3.1.0",
        "info": {"title": "shoal", "version": __version__, "description": "From a table to a verified release."},
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": error},
            "responses": {
                "Refused": {
                    "description": "Refused; the sentence says what to try.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
            },
        },
    }
