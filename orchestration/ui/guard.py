"""The guard in front of Dagster's web server: only requests with the token reach it.

Dagster's server has no users, accepts any Host and Origin, and executes mutations sent by GET. The guard is a plain
ASGI middleware that knows only a few paths of Dagster, and refuses everything unexpected. It does not parse GraphQL:
whoever has the token may change things, unless Dagster itself is read-only (webserver.py).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from orchestration.ui.tokens import Token

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HEALTH = "/healthz"
GRAPHQL = "/graphql"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
MAX_BODY_BYTES = 4 * 1024 * 1024
POLICY_VIOLATION = 1008
"""The status code with which the guard closes a websocket."""
NOTEBOOKS = re.compile(r"/(dagit/)?notebook/*", re.IGNORECASE)
"""Paths that show any notebook on the disk; Faultline has no notebooks."""

_AUTHORITY = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?", re.ASCII)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/]+)", re.ASCII)
_ODD_PATH = re.compile(r"[\x00-\x1f\x7f\\]|^(?!/)|^//|/\.\.?(/|$)")
_OWN_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_COMMON_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
}
SIGN_IN = (
    "<!doctype html><title>Faultline</title><p>This page needs the token that <code>faultline ui</code> printed when "
    'it started: open that address.<p>If you have just done so from a link on another page, <a href="/">go on</a>.'
)


class Refused(Exception):
    """A request that the guard refuses.

    Parameters
    ----------
    status
        The HTTP status.
    reason
        One sentence for the client.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Rules:
    """The requests that the guard passes on.

    Attributes
    ----------
    token
        The token that every request needs.
    hosts
        Allowed names in the header Host, in lower case, without a port. With DNS rebinding, a page of another site
        sends that site's name.
    """

    token: Token
    hosts: frozenset[str] = LOOPBACK


class Guard:
    """An ASGI application that passes allowed requests on to another one."""

    def __init__(self, app: App, rules: Rules) -> None:
        self.app = app
        self.rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection; an unknown type of connection ends with an error."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, _hardened(send))
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            raise RuntimeError(f"no rule for connections of type {scope['type']!r}")

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            _check_path(scope["path"])
            _check_method(scope)
            if scope["path"] == HEALTH:
                await _respond(send, 200, "ok\n")
                return
            self._check_site(scope)
            without_token = self._address_without_token(scope)
            if without_token is not None:
                await self._sign_in(scope, send, without_token)
                return
            self._check_credentials(scope)
            if scope["method"] == "POST":
                _check_content_type(scope)
                receive = await _limited_body(receive)
        except Refused as refused:
            is_unknown = refused.status == 401
            page = SIGN_IN if is_unknown else refused.reason + "\n"
            await _respond(send, refused.status, page)
            return
        await self.app(_without_secrets(scope), receive, send)

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] != GRAPHQL:
                raise Refused(403, "there is no websocket here")
            self._check_site(scope)
            self._check_credentials(scope)
        except Refused:
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            return
        await self.app(_without_secrets(scope), receive, send)

    def _check_site(self, scope: Scope) -> None:
        """Refuse requests from pages of another site, or of another server on this machine."""
        host = _AUTHORITY.fullmatch(_only(scope, b"host").lower())
        if host is None or host["name"] not in self.rules.hosts:
            raise Refused(403, "the header Host names another server; see --allowed-host")
        origin = _only(scope, b"origin", needed=False).lower()
        if origin and not _is_same_place(origin, host):
            raise Refused(403, "the request comes from a page of another site")
        if _only(scope, b"sec-fetch-site", needed=False) in {"cross-site", "same-site"}:
            navigates = _only(scope, b"sec-fetch-mode", needed=False) == "navigate"
            is_whole_page = _only(scope, b"sec-fetch-dest", needed=False) == "document"
            if not (navigates and is_whole_page and scope.get("method") == "GET"):
                raise Refused(403, "the request comes from a page of another site")

    def _check_credentials(self, scope: Scope) -> None:
        token = self.rules.token
        if any(token.is_in_header(value) for value in _all(scope, b"authorization")):
            return
        if any(token.is_in_cookies(value) for value in _all(scope, b"cookie")):
            return
        raise Refused(401, "the token is missing or wrong")

    def _address_without_token(self, scope: Scope) -> str | None:
        """Return the address without its token; None if the address has no token."""
        if scope["method"] == "POST":
            return None
        parameters = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        others = [(name, value) for name, value in parameters if name != "token"]
        if len(others) == len(parameters):
            return None
        query = f"?{urlencode(others)}" if others else ""
        return quote(scope["path"], safe="/~") + query

    async def _sign_in(self, scope: Scope, send: Send, address: str) -> None:
        """Exchange a token in the address for a cookie, so that no history, log or Referer has it."""
        parameters = parse_qsl(scope["query_string"].decode("latin-1"))
        headers = [(b"location", address.encode())]
        if any(name == "token" and self.rules.token.equals(value) for name, value in parameters):
            is_encrypted = _only(scope, b"x-forwarded-proto", needed=False) == "https"
            headers.append((b"set-cookie", self.rules.token.cookie(is_encrypted).encode()))
        else:
            self._check_credentials(scope)
        await _respond(send, 303, "", headers)


def _check_path(path: str) -> None:
    if _ODD_PATH.search(path):
        raise Refused(400, "the path of the address is malformed")
    if NOTEBOOKS.fullmatch(path):
        raise Refused(404, "there are no notebooks here")


def _check_method(scope: Scope) -> None:
    """Allow GET except for GraphQL, and POST for GraphQL only: other endpoints would report materializations."""
    method, is_graphql = scope["method"], scope["path"].rstrip("/").lower() == GRAPHQL
    if method == "POST":
        if scope["path"] != GRAPHQL:
            raise Refused(405, "only GraphQL takes POST requests")
    elif method not in {"GET", "HEAD"}:
        raise Refused(405, f"{method} is not allowed")
    elif is_graphql:
        raise Refused(405, "GraphQL is answered to POST requests only")


def _check_content_type(scope: Scope) -> None:
    """Require JSON: a page of another site may send forms and plain text without a preflight, but not JSON."""
    media_type, _, _ = _only(scope, b"content-type", needed=False).partition(";")
    if media_type.strip().lower() != "application/json":
        raise Refused(415, "a request has the content type application/json")


async def _limited_body(receive: Receive) -> Receive:
    """Read the body up to the limit; return a `receive` that returns it again."""
    body = b""
    is_complete = False
    while not is_complete:
        message = await receive()
        if message["type"] != "http.request":
            raise Refused(400, "the request ended early")
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise Refused(413, f"a request has at most {MAX_BODY_BYTES:,} bytes")
        is_complete = not message.get("more_body")
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return unread.pop() if unread else await receive()

    return receive_again


def _is_same_place(origin: str, host: re.Match[str]) -> bool:
    parts = _ORIGIN.fullmatch(origin)
    place = _AUTHORITY.fullmatch(parts["authority"]) if parts else None
    if parts is None or place is None:
        return False
    default = "443" if parts["scheme"] == "https" else "80"
    return (place["name"], place["port"] or default) == (host["name"], host["port"] or default)


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _only(scope: Scope, name: bytes, needed: bool = True) -> str:
    """Return the value of a header that occurs once; of two, the server behind might read the other one."""
    values = _all(scope, name)
    if len(values) > 1 or (needed and not values):
        raise Refused(400, f"the header {name.decode()} stands {len(values)} times")
    return values[0].strip() if values else ""


def _without_secrets(scope: Scope) -> Scope:
    """Return a request without its credentials, which the server behind could log."""
    kept = [(key, value) for key, value in scope["headers"] if key.lower() not in {b"authorization", b"cookie"}]
    return {**scope, "headers": kept}


def _hardened(send: Send) -> Send:
    """Add the headers that keep other sites from framing a page or reading an answer."""

    async def send_hardened(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(key, value) for key, value in message.get("headers", []) if key.lower() not in _COMMON_HEADERS]
            message = {**message, "headers": [*kept, *_COMMON_HEADERS.items()]}
        await send(message)

    return send_hardened


async def _respond(send: Send, status: int, text: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = text.encode()
    kind = b"text/html" if text.startswith("<") else b"text/plain"
    own = [(b"content-type", kind + b"; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        own.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": [*own, *_OWN_HEADERS, *(headers or [])]})
    await send({"type": "http.response.body", "body": body})
