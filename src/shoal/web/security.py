"""Access control of the server: token, cookie, Host, Origin, body limits.

A plain ASGI application around another one, since Starlette's own middleware would buffer streams. It refuses a request
before the page sees it:

    foreign Host (a name that was made to point here)             421
    a request caused by another site or another port              403
    a change (anything but GET) without this page's own Origin    403
    neither this prefix's cookie nor a token                      401
    a body that is too long, or does not arrive                   413, 408 (raised here, answered by the API)

It also adds a strict content security policy to every response.

Browsers send a cookie to every port of a host, so another server on this machine would get a cookie of the whole host,
and could use it. Hence a session has a prefix: a random first part of every path. The cookie is for paths below that
prefix, and each is refused without the other. Another server is never asked for the prefix, so it gets neither, and a
prefix in the history of the browser is of no use without the cookie. (``__Host-`` and ``Secure`` do not tell ports
apart, and SameSite counts all ports of a host as one site.)
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
REPORT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'; base-uri 'none'"
)
"""The report contains its style; it runs no script and is displayed in a sandboxed frame."""

HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    # with no-referrer, browsers would send `Origin: null` with the page's own changes
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
MAX_BODY_BYTES = 1_000_000
"""Limit in bytes for the body of a request that is not an upload."""


class TooLong(Exception):
    """The request body exceeds its limit."""


class TooSlow(Exception):
    """The request body did not arrive in time."""


@dataclass(frozen=True)
class Session:
    """One browser that presented a token: its prefix, cookie and visitor."""

    prefix: str
    cookie: str
    visitor: str


@dataclass
class Guard:
    """Access control around an application.

    Attributes
    ----------
    tokens
        The token of each visitor.
    hosts
        Accepted values of the Host header, port included.
    largest
        Limit in bytes for an upload; uploads are requests to ``/api/uploads``.
    patience
        Limit in seconds between two parts of a body.
    sessions
        The sessions that have presented a token.
    """

    app: Application
    tokens: Mapping[str, str]
    hosts: frozenset[str]
    cookie: str
    secure: bool = False
    max_upload_bytes: int = 2_000_000_000
    body_timeout: float = 20.0
    sessions: list[Session] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on with its visitor and its prefix.

        ``scope["visitor"]`` says whose request it is, ``scope["prefix"]`` what all paths of its pages begin with.
        """
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # WebSockets are not supported
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                added = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in given]
                message["headers"] = [*message["headers"], *added]
            await send(message)

        refusal = self._refuse(scope, headers)
        if refusal is None and _query_token(scope) is not None and scope["path"] == "/" and scope["method"] == "GET":
            await self._exchange(_query_token(scope) or "", answer, _wants_page(headers))
            return
        if refusal is None:
            found = self._admit(scope, headers)
            if found is None:
                refusal = (401, "Open the link that shoal serve has printed: it holds the token.")
            else:
                scope = found
        if refusal is not None:
            await _send_error(answer, *refusal, as_page=_wants_page(headers))
            return
        await self.app(scope, self._bounded(scope, headers, receive), answer)

    def _refuse(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "").lower() not in self.hosts:
            return 421, "This server answers to its own name only."
        fetch_site = headers.get("sec-fetch-site", "none")
        is_entry_link = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        # to a browser, other ports of this machine are the same site, but they are other servers
        if fetch_site not in ("none", "same-origin") and not (scope["method"] == "GET" and is_entry_link):
            return 403, "Another site has caused this request."
        origin = headers.get("origin")
        allowed_origins = {f"{'https' if self.secure else 'http'}://{host}" for host in self.hosts}
        if origin is not None and origin.lower() not in allowed_origins:
            return 403, "The request comes from another page."
        by_token = "authorization" in headers
        if origin is None and scope["method"] not in ("GET", "HEAD") and not by_token:
            return 403, "A change must say which page it comes from (Origin)."
        return None

    def _admit(self, scope: Scope, headers: dict[str, str]) -> Scope | None:
        """Return the request as its visitor sends it; None without a right."""
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind:
            visitor = self._visitor(given) if kind.lower() == "bearer" else None
            return None if visitor is None else {**scope, "visitor": visitor, "prefix": ""}
        prefix, _, rest = scope["path"].removeprefix("/").partition("/")
        session = self._session(headers, prefix)
        if session is None:
            return None
        path = f"/{rest}"
        inner = {"path": path, "raw_path": path.encode(), "visitor": session.visitor, "prefix": f"/{session.prefix}"}
        return {**scope, **inner}

    def _session(self, headers: dict[str, str], prefix: str) -> Session | None:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        if found is None:
            return None
        # compare all sessions, each in constant time, so that the duration discloses nothing
        given = f"{prefix} {found.value}".encode()
        matching = [one for one in self.sessions if hmac.compare_digest(f"{one.prefix} {one.cookie}".encode(), given)]
        return matching[0] if matching else None

    def _visitor(self, given: str) -> str | None:
        """Return the visitor of a token; None for an unknown one."""
        sent = given.strip().encode()
        matching = [name for name, token in self.tokens.items() if hmac.compare_digest(sent, token.encode())]
        return matching[0] if matching else None

    async def _exchange(self, given: str, send: Send, as_page: bool) -> None:
        """Exchange the token for a prefix and its cookie.

        After that, the link is of no use to scripts, to other sites or to readers of the browser history.
        """
        visitor = self._visitor(given)
        if visitor is None:
            text = "The token is not this server's. Open the link that shoal serve has printed."
            await _send_error(send, 401, text, as_page=as_page)
            return
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), visitor)
        self.sessions.append(session)
        path = f"/{session.prefix}/"
        cookie = f"{self.cookie}={session.cookie}; HttpOnly; SameSite=Strict; Path=/{session.prefix}"
        cookie += "; Secure" if self.secure else ""
        headers = [(b"location", path.encode()), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _bounded(self, scope: Scope, headers: dict[str, str], receive: Receive) -> Receive:
        limit = self.max_upload_bytes if scope["path"] == "/api/uploads" else MAX_BODY_BYTES
        received = 0
        ended = False

        async def bounded() -> Message:
            nonlocal received, ended
            if ended:  # only a disconnect can follow, at any time
                return await receive()
            if int(headers.get("content-length", "0") or 0) > limit:
                raise TooLong
            try:
                message = await asyncio.wait_for(receive(), self.body_timeout)
            except TimeoutError:
                raise TooSlow from None
            received += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if received > limit:
                raise TooLong
            return message

        return bounded


def _query_token(scope: Scope) -> str | None:
    found = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return found[0] if found else None


def _wants_page(headers: Mapping[str, str]) -> bool:
    return "text/html" in headers.get("accept", "")


REFUSAL_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>shoal</title></head><body><h1>shoal</h1><p>{text}</p>
<p>If the server was started again, its link is a new one: it is in the terminal where <code>shoal serve</code> runs.
Your projects are kept.</p>
<p lang="de">Wenn der Server neu gestartet wurde, hat er einen neuen Link: Er steht im Terminal, in dem
<code>shoal serve</code> läuft. Ihre Projekte sind noch da.</p></body></html>
"""
"""Page for a browser that is refused."""


async def _send_error(send: Send, status: int, text: str, *, as_page: bool = False) -> None:
    body = (REFUSAL_PAGE.replace("{text}", text) if as_page else json.dumps({"error": text})).encode()
    kind = b"text/html; charset=utf-8" if as_page else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
