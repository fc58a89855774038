"""The server: access control, API and pages on one socket.

It listens on the loopback interface unless another host is set.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import tomllib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoal.errors import InputError
from shoal.web.api import Api
from shoal.web.file_access import Database, database_of
from shoal.web.pages import Pages
from shoal.web.projects import Project, Projects
from shoal.web.runs import Runs
from shoal.web.security import Guard, Receive, Scope, Send

REQUEST_TIMEOUT_SECONDS = 15.0
"""Limit in seconds until a connection has sent a request."""
MAX_CONNECTIONS = 2_000


@dataclass(frozen=True)
class Settings:
    """Settings of the server.

    ``root`` is the folder that the page may access, ``projects`` the folder of the projects. ``certificate`` and
    ``key`` are the files of TLS. ``memory`` (bytes) and ``seconds`` limit each run, ``max_upload_bytes`` each upload.
    ``databases`` are those that plans may read (``env:NAME``), in addition to that of the plan that the server is
    started with. ``visitors`` are the names of people who each get a link of their own, and a folder of that name below
    the root; without names, whoever has the one link is the owner of the whole root.
    """

    root: Path
    projects: Path
    host: str = "127.0.0.1"
    port: int = 0
    api_only: bool = False
    token: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    memory: int | None = None
    seconds: float = 3600.0
    max_upload_bytes: int = 2_000_000_000
    databases: tuple[str, ...] = ()
    visitors: tuple[str, ...] = ()


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only."""
    return host in ("127.0.0.1", "::1", "localhost")


OWNER = ""
"""Name of the one visitor of a server without names."""


def build(settings: Settings, port: int, opened: Path | None = None) -> Guard:
    """Build the guarded application.

    ``opened`` is a table or a plan to start with.
    """
    runs = Runs(max_concurrent=max(1, (os.cpu_count() or 1)), seconds=settings.seconds, memory=settings.memory)
    started: list[tuple[Api, Project]] = []
    apps: dict[str, Starlette] = {}
    for visitor, projects in _projects_of_visitors(settings, opened).items():
        api = Api(projects, runs)
        first = None if opened is None else projects.open_path(opened)
        if first is not None:
            projects.note_table(first)
            started.append((api, first))
        pages = [] if settings.api_only else Pages(api, first).routes()
        apps[visitor] = Starlette(routes=[*api.routes(), *pages])
        apps[visitor].router.redirect_slashes = False

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        warming = asyncio.get_running_loop().create_task(runs.warm())
        if settings.api_only:  # the page asks for the recipient first
            for api, first in started:
                api.draft(first)
        yield
        warming.cancel()
        await runs.close()

    life = Starlette(lifespan=lifespan)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (life if scope["type"] == "lifespan" else apps[scope["visitor"]])(scope, receive, send)

    names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(settings.host) else {settings.host, socket.gethostname()}
    hosts = frozenset(f"{name.lower()}:{port}" for name in names)
    tokens = {visitor: settings.token or secrets.token_urlsafe(32) for visitor in apps}
    secure = settings.certificate is not None
    return Guard(app, tokens, hosts, f"shoal-{port}", secure, settings.max_upload_bytes)


def _projects_of_visitors(settings: Settings, opened: Path | None) -> dict[str, Projects]:
    """Return the projects of each visitor, below separate roots."""
    databases = frozenset({(database, None) for database in settings.databases} | _database_in(opened))
    root = settings.root.resolve()
    if not settings.visitors:
        return {OWNER: Projects(root, settings.projects.resolve(), databases=databases)}
    made = {}
    for visitor in settings.visitors:
        own = root / visitor
        if own.is_symlink() or (own.exists() and not own.is_dir()):
            raise InputError("page.visitor-folder-not-usable", visitor=visitor)
        own.mkdir(mode=0o700, exist_ok=True)
        made[visitor] = Projects(own, own / "shoal-projects", databases=databases)
    return made


def _database_in(opened: Path | None) -> set[Database]:
    """Return the database of the plan that the server is started with.

    Starting the server with a plan permits reading its database.
    """
    if opened is None or opened.suffix.lower() != ".toml":
        return set()
    with contextlib.suppress(OSError, ValueError, RecursionError):  # a faulty plan is reported when it is opened
        found = database_of(tomllib.loads(opened.read_text(encoding="utf-8-sig")))
        return set() if found is None else {found}
    return set()


class _TimeoutProtocol(H11Protocol):
    """HTTP protocol that closes a connection without a request in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(REQUEST_TIMEOUT_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        self._timer = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        else:
            self._wait()


def serve(settings: Settings, opened: Path | None, announce: Callable[[Mapping[str, str]], None]) -> None:
    """Serve until interrupted.

    ``announce`` is called with the link of each visitor once the socket accepts connections.
    """
    listener = _listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    guard = build(settings, port, opened)
    url_host = f"[{settings.host}]" if ":" in settings.host else settings.host
    scheme = "https" if settings.certificate else "http"
    config = uvicorn.Config(
        guard,
        http=_TimeoutProtocol,
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,  # the first address contains the token
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=32_768,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    announce({name: f"{scheme}://{url_host}:{port}/?token={token}" for name, token in guard.tokens.items()})
    uvicorn.Server(config).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
        return listener
    except OSError as error:
        raise InputError("page.port-not-available", port=port, host=host, reason=error.strerror) from None
