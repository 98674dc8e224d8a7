"""The guard in front of Dagster's web server, as a table of requests; a read-only server's mutations; tokens."""

import asyncio
import json
from itertools import product
from types import SimpleNamespace

import pytest
from dagster_graphql.schema import create_schema
from graphql import get_named_type, is_leaf_type

from orchestration.runs.instance import open_storage, prepare_storage
from orchestration.settings.environment import UI_TOKEN
from orchestration.settings.home import Home
from orchestration.ui.guard import LOOPBACK, MAX_BODY_BYTES, Guard, Rules
from orchestration.ui.serving import _write_workspace
from orchestration.ui.tokens import Token, WeakToken
from orchestration.ui.webserver import web_application

TOKEN = Token("correct-horse-battery-staple")
NAME, _, VALUE = TOKEN.cookie(False).partition(";")[0].partition("=")
BEARER = f"authorization: Bearer {TOKEN.value}"
COOKIE = f"cookie: {NAME}={VALUE}"
HOST = "host: 127.0.0.1:3000"
JSON = "content-type: application/json"
MUTATION = "query=mutation{launchRun(executionParams:{})}"
OTHER_HOSTS = [
    "evil.example:3000", "localhost.evil.example:3000", "localhost.:3000", "localhost:3000@evil.example",
    "localhost:3000x", "0.0.0.0:3000", "",
]  # fmt: skip
OTHER_ORIGINS = [
    "https://evil.example", "null", "http://127.0.0.1:8080", "http://127.0.0.1", "http://localhost:3000",
    "file://127.0.0.1:3000", "chrome-extension://abcdef", "http://127.0.0.1:3000/x", "http://127.0.0.1:3000@evil.example",
]  # fmt: skip
OTHER_SITES = ["sec-fetch-site: cross-site", "sec-fetch-site: same-site"]
LINKED = ["sec-fetch-site: cross-site", "sec-fetch-mode: navigate", "sec-fetch-dest: document"]
GOOD = "0123456789abcdef0123456789abcdef"
REACHED, ACCEPTED, CLOSED = 200, 101, 1008


def connect(scope, incoming, behind=None):
    """Send messages through a guard to a server that reads them, or to `behind`; return what each side got."""
    got = SimpleNamespace(sent=[], reached=[], read="", status=ACCEPTED, headers={}, body=b"")

    async def receive():
        return incoming.pop(0) if incoming else {"type": f"{scope['type']}.disconnect", "code": 1000}

    async def send(message):
        got.sent.append(message)
        got.status = message.get("status") or message.get("code") or got.status
        got.headers |= {key.decode(): value.decode() for key, value in message.get("headers", [])}
        got.body += message.get("body", b"")

    async def server(scope, receive, send):
        got.reached.append(scope)
        if scope["type"] == "http":
            while part := (await receive()).get("body"):
                got.read += part.decode()
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"ALLOWALL")]})
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            got.read = (await receive())["text"]

    asyncio.run(Guard(behind or server, Rules(TOKEN, LOOPBACK | {"a.example.org"}))(scope, receive, send))
    return got


def ask(line, headers, body="", behind=None):
    """Send a request (`GET /path?query`), or open a websocket (`WS /path?query`) and send one message."""
    method, _, address = line.partition(" ")
    path, _, query = address.partition("?")
    pairs = [header.encode("latin-1").partition(b": ")[::2] for header in headers]
    scope = {"path": path, "query_string": query.encode(), "headers": pairs, "root_path": ""}
    if method == "WS":
        incoming = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": body}]
        return connect(scope | {"type": "websocket"}, incoming, behind)
    parts = [(body[: len(body) // 2], True), (body[len(body) // 2 :], True), ("", False)]
    incoming = [{"type": "http.request", "body": part.encode(), "more_body": is_more} for part, is_more in parts]
    return connect(scope | {"type": "http", "method": method}, incoming, behind)


DOORS = [
    # Status; requests; headers of all requests; headers to try one at a time with each request.
    (401, ["GET /", "GET /?token=", "GET /?token=wrong", "GET /logs/x", "GET /download_debug/x"], [HOST], []),
    (401, ["POST /graphql", f"POST /graphql?token={TOKEN.value}"], [HOST, JSON], []),
    (CLOSED, ["WS /graphql", f"WS /graphql?token={TOKEN.value}"], [HOST], []),
    (401, ["GET /"], [HOST], [
        "authorization: Bearer wrong", "authorization: Bearer ", "authorization: Bearer \xe9\xff",
        f"authorization: Basic {TOKEN.value}", f"cookie: {NAME}={TOKEN.value}", f"cookie: x={VALUE}",
        f"cookie: {Token(GOOD).cookie(False)}",
    ]),
    # A mutation by GET, by other methods, by odd paths.
    (405, [f"{method} /graphql{end}" for method in ("GET", "HEAD") for end in ("", "/")], [HOST, BEARER], []),
    (405, [f"GET /graphql?{MUTATION}", f"GET /GraphQL?{MUTATION}"], [HOST, COOKIE], ["accept: text/html", JSON]),
    (400, ["GET /graphql\n", "GET //graphql", "GET /x/../graphql", "GET graphql"], [HOST, BEARER], []),
    (405, [f"{method} /graphql" for method in ("PUT", "DELETE", "OPTIONS", "post", "get")], [HOST, BEARER, JSON], []),
    # DNS rebinding: another name that leads here.
    (403, ["GET /", "POST /graphql"], [BEARER, JSON], [f"host: {host}" for host in OTHER_HOSTS]),
    (CLOSED, ["WS /graphql"], [COOKIE], [f"host: {host}" for host in OTHER_HOSTS]),
    (400, ["GET /"], [BEARER], ["accept: text/html"]),
    (400, ["GET /", "POST /graphql"], [HOST, "host: evil.example", BEARER, JSON], []),
    # From a page of another site, of another port, or of an extension.
    (403, ["POST /graphql"], [HOST, COOKIE, JSON], [f"origin: {origin}" for origin in OTHER_ORIGINS]),
    (CLOSED, ["WS /graphql"], [HOST, COOKIE], [f"origin: {origin}" for origin in OTHER_ORIGINS]),
    (400, ["POST /graphql"], [HOST, COOKIE, JSON, "origin: http://127.0.0.1:3000", "origin: https://evil.example"], []),
    (403, ["GET /", "POST /graphql"], [HOST, COOKIE, JSON], OTHER_SITES),
    (CLOSED, ["WS /graphql"], [HOST, COOKIE], OTHER_SITES),
    (403, ["GET /"], [HOST, COOKIE, *LINKED[:2], "sec-fetch-dest: iframe"], []),
    (403, ["POST /graphql"], [HOST, COOKIE, JSON, *LINKED], []),
    # Not JSON, which a page of another site can send without asking.
    (415, ["POST /graphql", f"POST /graphql?{MUTATION}"], [HOST, COOKIE], [
        "content-type: text/plain", "content-type: text/plain; x=application/json", "content-type: application/graphql",
        "content-type: application/x-www-form-urlencoded", "content-type: multipart/form-data; boundary=x",
        "content-type: application/json, text/plain", "accept: application/json",
    ]),
    (400, ["POST /graphql"], [HOST, COOKIE, JSON, "content-type: text/plain"], []),
    # Other paths than GraphQL.
    (405, ["POST /", "POST /graphql/", "POST /report_asset_check/raw/sacct"], [HOST, BEARER, JSON], []),
    (404, ["GET /notebook?path=/x.ipynb", "GET /dagit/notebook?path=/x.ipynb"], [HOST, BEARER], []),
    (400, ["GET /logs/x\x00.err", "GET /logs/..\\..\\x", "GET /logs/../../x.err"], [HOST, BEARER], []),
    (CLOSED, ["WS /other"], [HOST, BEARER], []),
    # What people and programs need.
    (REACHED, ["GET /logs/x.err", "HEAD /"], [HOST], [COOKIE, BEARER, f"cookie: a=b; {NAME}={VALUE}; c=d"]),
    (REACHED, ["GET /"], [HOST, COOKIE, *LINKED], []),
    (REACHED, ["GET /_next/x.js"], [HOST, COOKIE, "sec-fetch-site: same-origin"], []),
    (REACHED, ["GET /"], [HOST, "authorization: Basic eDp5", BEARER], []),
    (REACHED, ["POST /graphql"], [HOST, BEARER], [JSON, "content-type: Application/JSON; charset=utf-8"]),
    (REACHED, ["GET /", "POST /graphql"], ["host: [::1]:3000", COOKIE, JSON], ["origin: http://[::1]:3000"]),
    (REACHED, ["GET /", "POST /graphql"], ["host: LocalHost:9999", COOKIE, JSON], ["origin: http://localhost:9999"]),
    (REACHED, ["POST /graphql"], ["host: a.example.org", COOKIE, JSON], ["origin: https://a.example.org"]),
    (ACCEPTED, ["WS /graphql"], ["host: a.example.org", COOKIE], ["origin: https://a.example.org"]),
    (ACCEPTED, ["WS /graphql"], [HOST], [COOKIE, BEARER]),
    (200, ["GET /healthz?token=x"], ["host: 10.0.0.7:3000"], []),
]  # fmt: skip


@pytest.mark.parametrize(("status", "lines", "headers", "ones"), DOORS)
def test_a_request_gets_its_status(status, lines, headers, ones):
    for line, one in product(lines, ones or [None]):
        got = ask(line, filter(None, [*headers, one]), "a body")
        assert got.status == status, (line, one)
        is_through = status in {REACHED, ACCEPTED} and "/healthz" not in line
        assert (len(got.reached), got.read) == ((1, "a body") if is_through else (0, ""))
        if not line.startswith("WS"):
            assert [value for key, value in got.sent[0]["headers"] if key == b"x-frame-options"] == [b"DENY"]
        assert "set-cookie" not in got.headers
        assert TOKEN.value not in str(got.sent)
        # The server behind could log the credentials.
        assert not {key for scope in got.reached for key, _ in scope["headers"]} & {b"cookie", b"authorization"}


def test_a_body_has_a_limit():
    for size, status in ((MAX_BODY_BYTES, REACHED), (MAX_BODY_BYTES + 1, 413)):
        assert ask("POST /graphql", [HOST, BEARER, JSON], " " * size).status == status


def test_the_token_of_the_address_becomes_a_cookie():
    assert b"open that address" in ask("GET /", [HOST]).body
    got = ask(f"GET /runs/a b?x=1&token={TOKEN.value}&y=%26", [HOST])
    assert (got.status, got.headers["location"], got.reached) == (303, "/runs/a%20b?x=1&y=%26", [])
    assert got.headers["set-cookie"] == f"{NAME}={VALUE}; Path=/; HttpOnly; SameSite=Strict"
    over_tls = ask(f"GET /?token={TOKEN.value}", [HOST, "x-forwarded-proto: https"]).headers
    assert over_tls["set-cookie"].endswith("; Secure")
    got = ask("GET /?token=old", [HOST, COOKIE])
    assert (got.status, got.headers["location"], "set-cookie" in got.headers) == (303, "/", False)


def test_a_connection_of_an_unknown_kind_does_not_get_through():
    with pytest.raises(RuntimeError, match="no rule"):
        connect({"type": "webtransport", "path": "/", "headers": []}, [])


def every_mutation():
    """Return a valid request for each mutation, without values: validation comes first."""
    for name, field in create_schema().graphql_schema.mutation_type.fields.items():
        variables = ", ".join(f"${key}: {argument.type}" for key, argument in field.args.items())
        arguments = ", ".join(f"{key}: ${key}" for key in field.args)
        selected = "" if is_leaf_type(get_named_type(field.type)) else "{ __typename }"
        yield f"mutation {variables and f'({variables})'} {{ {name}{arguments and f'({arguments})'} {selected} }}"


@pytest.mark.filterwarnings("ignore:Error loading repository location")
def test_a_read_only_server_executes_no_mutation(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    home = Home.at(tmp_path)
    prepare_storage(home)
    workspace = _write_workspace(tmp_path, tmp_path / "nobody.sock")
    with open_storage(home) as instance, web_application(instance, workspace, is_read_only=True) as dagster:
        for text in every_mutation():
            answer = json.loads(ask("POST /graphql", [HOST, BEARER, JSON], json.dumps({"query": text}), dagster).body)
            assert answer["data"] is None, text
            assert [error["message"] for error in answer["errors"]] == ["this server is read-only"], text
            start = {"type": "start", "id": "1", "payload": {"query": text}}
            got = ask("WS /graphql", [HOST, BEARER], json.dumps(start), dagster)
            assert [json.loads(message["text"])["type"] for message in got.sent[1:]] == ["error"], text
        answer = ask("POST /graphql", [HOST, BEARER, JSON], '{"query": "{ permissions { value } }"}', dagster).body
    assert (b"false" in answer, b"true" in answer) == (True, False)
    assert not (tmp_path / "user").exists()


def test_a_token_is_that_of_the_file_or_the_environment_or_new(tmp_path, monkeypatch):
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(f"{GOOD[::-1]}\n")
    monkeypatch.setenv(UI_TOKEN, GOOD)
    assert Token.choose(file) == Token(GOOD[::-1], is_given=True)
    # The variable is removed, whatever is taken.
    first, second = Token.choose(None), Token.choose(None)
    assert len({first.value, second.value, GOOD}) == 3
    assert (len(first.value), first.is_given) == (43, False)
    assert first.value not in f"{first!r} {first}"
    monkeypatch.setenv(UI_TOKEN, GOOD)
    assert Token.choose(None) == Token(GOOD, is_given=True)


@pytest.mark.parametrize(
    ("text", "mode"),
    [("", 0o600), ("short", 0o600), ("\xe4" * 30, 0o600), ("with spaces in it, though long", 0o600), (GOOD, 0o644)],
)
def test_a_weak_token_or_one_that_others_can_read_is_refused(tmp_path, text, mode):
    file = tmp_path / "token"
    with pytest.raises(WeakToken):
        Token.choose(file)
    file.write_text(text)
    file.chmod(mode)
    with pytest.raises(WeakToken):
        Token.choose(file)
