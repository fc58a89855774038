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
from collections.abc import AsyncIterator, Callable
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
from shoal.web.security import Guard

REQUEST_TIMEOUT_SECONDS = 15.0
"""Limit in seconds until a connection has sent a request."""
MAX_CONNECTIONS = 2_000


@dataclass(frozen=True)
class Settings:
    """Settings of the server.

    ``root`` is the folder that the page may access, ``projects`` the folder of the projects. ``certificate`` and
    ``key`` are the files of TLS. ``memory`` (bytes) and ``seconds`` limit each run, ``max_upload_bytes`` each upload.
    ``databases`` are those that plans may read (``env:NAME``), in addition to that of the plan that the server is
    started with.
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


def is_loopback(host: str) -> bool:
    """Return whether a host is reachable from this machine only."""
    return host in ("127.0.0.1", "::1", "localhost")


def build(settings: Settings, port: int, opened: Path | None = None) -> tuple[Guard, Projects]:
    """Build the guarded application and its projects.

    ``opened`` is a table or a plan to start with.
    """
    named = {(database, None) for database in settings.databases} | _database_in(opened)
    projects = Projects(settings.root.resolve(), settings.projects.resolve(), databases=frozenset(named))
    runs = Runs(max_concurrent=max(1, (os.cpu_count() or 1)), seconds=settings.seconds, memory=settings.memory)
    api = Api(projects, runs)
    first: Project | None = None if opened is None else projects.open_path(opened, None)
    pages = [] if settings.api_only else Pages(api, first).routes()

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        warming = asyncio.get_running_loop().create_task(runs.warm())
        if first is not None:
            api.draft(first)
        yield
        warming.cancel()
        await runs.close()

    app = Starlette(routes=[*api.routes(), *pages], lifespan=lifespan)
    app.router.redirect_slashes = False
    names = {"127.0.0.1", "localhost", "[::1]"} if is_loopback(settings.host) else {settings.host, socket.gethostname()}
    hosts = frozenset(f"{name.lower()}:{port}" for name in names)
    token = settings.token or secrets.token_urlsafe(32)
    secure = settings.certificate is not None
    # browsers send a cookie to all ports of a machine: include the port in its name
    return Guard(app, token, hosts, f"shoal-{port}", secure, settings.max_upload_bytes), projects


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


def serve(settings: Settings, opened: Path | None, announce: Callable[[str], None]) -> None:
    """Serve until interrupted.

    ``announce`` is called with the link once the socket accepts connections.
    """
    listener = _listen(settings.host, settings.port)
    port = listener.getsockname()[1]
    guard, _ = build(settings, port, opened)
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
    announce(f"{scheme}://{url_host}:{port}/?token={guard.token}")
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
        raise InputError(f"The port {port} of {host!r} cannot be had: {error.strerror}. Choose another.") from None
