"""Who may ask: a token, exchanged for a cookie; the right Host and Origin; bodies that end; a strict content policy.

A plain ASGI application around another one, since Starlette's own middleware would buffer streams. It refuses before
anything of the page is asked:

    foreign Host (a name that was made to point here)             421
    a request that another site, or another port, has caused      403
    a change (anything but GET) without this page's own Origin    403
    neither cookie nor token                                      401
    a body that is too long, or does not come                     413, 408 (raised here, answered by the API)
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

__all__ = ["POLICY", "REPORT_POLICY", "Guard", "TooLong", "TooSlow"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self'; base-uri 'none'"
"""The report carries its style in itself; it runs nothing and is shown in a frame that may do nothing."""

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # no-referrer would make browsers send `Origin: null` with the page's own changes
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
BODY = 1_000_000
"""So many bytes may a request have that is no upload."""


class TooLong(Exception):
    """The body is longer than it may be."""


class TooSlow(Exception):
    """The body does not come."""


@dataclass
class Guard:
    """The application behind a guard.

    Attributes
    ----------
    hosts
        What a Host header may say, port included.
    largest
        So many bytes may an upload have; uploads are requests to ``/api/uploads``.
    patience
        So many seconds may go by between two parts of a body.
    sessions
        Who has shown the token: what is in their cookies.
    """

    app: Application
    token: str
    hosts: frozenset[str]
    cookie: str
    secure: bool = False
    largest: int = 2_000_000_000
    patience: float = 20.0
    sessions: set[str] = field(default_factory=set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or pass on with the session's name in ``scope["session"]``."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no WebSocket is spoken here
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
        if refusal is None and _given_token(scope) is not None and scope["path"] == "/" and scope["method"] == "GET":
            await self._exchange(_given_token(scope) or "", answer)
            return
        if refusal is None:
            session = self._session(headers)
            if session is None:
                refusal = (401, "Open the link that shoal serve has printed: it holds the token.")
            else:
                scope["session"] = session
        if refusal is not None:
            await _tell(answer, *refusal)
            return
        await self.app(scope, self._bounded(scope, headers, receive), answer)

    def _refuse(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host", "").lower() not in self.hosts:
            return 421, "This server answers to its own name only."
        caused_by = headers.get("sec-fetch-site", "none")
        to_the_link = scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
        # other ports of this machine are the same site to a browser, and none of ours
        if caused_by not in ("none", "same-origin") and not (scope["method"] == "GET" and to_the_link):
            return 403, "Another site has caused this request."
        origin = headers.get("origin")
        own = {f"{'https' if self.secure else 'http'}://{host}" for host in self.hosts}
        if origin is not None and origin.lower() not in own:
            return 403, "The request comes from another page."
        by_token = "authorization" in headers
        if origin is None and scope["method"] not in ("GET", "HEAD") and not by_token:
            return 403, "A change must say which page it comes from (Origin)."
        return None

    def _session(self, headers: dict[str, str]) -> str | None:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind:
            return "token" if kind.lower() == "bearer" and self._is_token(given) else None
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return None
        if found is None:
            return None
        # every one is compared, and each in a time that tells nothing
        matching = [one for one in self.sessions if hmac.compare_digest(one.encode(), found.value.encode())]
        return matching[0] if matching else None

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.strip().encode(), self.token.encode())

    async def _exchange(self, given: str, send: Send) -> None:
        """The token for a cookie: the link is of no use to scripts, other sites or the history's readers."""
        if not self._is_token(given):
            await _tell(send, 401, "The token is not this server's. Open the link that shoal serve has printed.")
            return
        session = secrets.token_urlsafe(32)
        self.sessions.add(session)
        cookie = f"{self.cookie}={session}; HttpOnly; SameSite=Strict; Path=/{'; Secure' if self.secure else ''}"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    def _bounded(self, scope: Scope, headers: dict[str, str], receive: Receive) -> Receive:
        most = self.largest if scope["path"] == "/api/uploads" else BODY
        held = 0
        ended = False

        async def bounded() -> Message:
            nonlocal held, ended
            if ended:  # what may still come is that the other side has gone, which may take as long as it likes
                return await receive()
            if int(headers.get("content-length", "0") or 0) > most:
                raise TooLong
            try:
                message = await asyncio.wait_for(receive(), self.patience)
            except TimeoutError:
                raise TooSlow from None
            held += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            if held > most:
                raise TooLong
            return message

        return bounded


def _given_token(scope: Scope) -> str | None:
    found = parse_qs(scope["query_string"].decode("latin-1")).get("token")
    return found[0] if found else None


async def _tell(send: Send, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
