"""The guard before Dagster's web server: no hostile request passes, over HTTP or a websocket."""

import asyncio
import json

import pytest

from orchestration.ui.guard import MAX_BODY_BYTES, Guard, Rules
from orchestration.ui.tokens import Token

TOKEN = Token("correct-horse-battery-staple")
BEARER = ("authorization", f"Bearer {TOKEN.value}")
COOKIE = ("cookie", TOKEN.cookie(False).partition(";")[0])
HOST = ("host", "127.0.0.1:3000")
JSON = ("content-type", "application/json")
QUERY = json.dumps({"query": "{ version }"})
MUTATION = json.dumps({"query": 'mutation { stopRunningSchedule(id: "x") { __typename } }'})
BY_GET = "query=mutation{launchRun(executionParams:{})}"


class Behind:
    """The server behind the guard: it remembers what reached it, and reads it as a server would."""

    def __init__(self):
        self.reached = []
        self.read = []

    async def __call__(self, scope, receive, send):
        self.reached.append(scope)
        if scope["type"] == "http":
            message = await receive()
            self.read.append(message["body"])
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"ALLOWALL")]})
            await send({"type": "http.response.body", "body": b"behind"})
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            while (message := await receive())["type"] == "websocket.receive":
                self.read.append(message["text"])
                await send({"type": "websocket.send", "text": "seen"})
            await send({"type": "websocket.send", "text": "after the end"})


class Answer:
    """What the client got."""

    def __init__(self, messages):
        self.messages = messages
        start = next((m for m in messages if m["type"] == "http.response.start"), {"status": None, "headers": []})
        self.status = start["status"]
        self.headers = {key.decode(): value.decode() for key, value in start["headers"]}
        self.body = b"".join(m.get("body", b"") for m in messages if m["type"] == "http.response.body").decode()
        self.kinds = [m["type"] for m in messages]


def ask(scope, incoming, **rules):
    behind, sent = Behind(), []
    waiting = list(incoming)

    async def receive():
        return waiting.pop(0) if waiting else {"type": f"{scope['type']}.disconnect"}

    async def send(message):
        sent.append(message)

    asyncio.run(Guard(behind, Rules(TOKEN, **rules))(scope, receive, send))
    return Answer(sent), behind


def http(method, path, *headers, query="", body="", **rules):
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(key.encode(), value.encode("latin-1")) for key, value in headers],
    }
    half = len(body) // 2
    parts = [{"type": "http.request", "body": text.encode(), "more_body": True} for text in (body[:half], body[half:])]
    return ask(scope, [*parts, {"type": "http.request", "body": b"", "more_body": False}], **rules)


def websocket(path, *headers, messages=(), query="", **rules):
    scope = {
        "type": "websocket",
        "path": path,
        "query_string": query.encode(),
        "headers": [(key.encode(), value.encode()) for key, value in headers],
    }
    received = [{"type": "websocket.receive", "text": text} for text in messages]
    return ask(scope, [{"type": "websocket.connect"}, *received], **rules)


def post(*headers, body=QUERY, path="/graphql", **rules):
    return http("POST", path, HOST, BEARER, *headers, body=body, **rules)


def origin(value):
    return ("origin", value)


HOSTILE = {
    # Without the secret.
    "no token": lambda: http("GET", "/", HOST),
    "a wrong token": lambda: http("GET", "/", HOST, ("authorization", "Bearer wrong")),
    "an empty token": lambda: http("GET", "/", HOST, ("authorization", "Bearer ")),
    "the token by another scheme": lambda: http("GET", "/", HOST, ("authorization", f"Basic {TOKEN.value}")),
    "a token beyond ASCII": lambda: http("GET", "/", HOST, ("authorization", "Bearer \xe9\xff")),
    "a wrong token in the address": lambda: http("GET", "/", HOST, query="token=wrong"),
    "an empty token in the address": lambda: http("GET", "/", HOST, query="token="),
    "the token in the address of a POST": lambda: http(
        "POST", "/graphql", HOST, JSON, query=f"token={TOKEN.value}", body=QUERY
    ),
    "the token itself as a cookie": lambda: http(
        "GET", "/", HOST, ("cookie", f"{COOKIE[1].partition('=')[0]}={TOKEN.value}")
    ),
    "a cookie of another token": lambda: http(
        "GET", "/", HOST, ("cookie", Token("another-token-of-another-day").cookie(False))
    ),
    "a cookie with another name": lambda: http("GET", "/", HOST, ("cookie", f"x={COOKIE[1].partition('=')[2]}")),
    "a query without a token": lambda: http("POST", "/graphql", HOST, JSON, body=QUERY),
    "a download of logs without a token": lambda: http("GET", "/logs/run/compute_logs/x.err", HOST),
    "a debug file without a token": lambda: http("GET", "/download_debug/run", HOST),
    "a script without a token": lambda: http("GET", "/_next/static/main.js", HOST),
    "the versions without a token": lambda: http("GET", "/server_info", HOST),
    # By GET.
    "a mutation by GET": lambda: http("GET", "/graphql", HOST, BEARER, query=BY_GET),
    "a mutation by GET with the cookie": lambda: http("GET", "/graphql", HOST, COOKIE, query=BY_GET),
    "a mutation by HEAD": lambda: http("HEAD", "/graphql", HOST, BEARER, query=BY_GET),
    "a mutation by GET with a slash": lambda: http("GET", "/graphql/", HOST, BEARER, query=BY_GET),
    "a mutation by GET with a line end": lambda: http("GET", "/graphql\n", HOST, BEARER, query=BY_GET),
    "a mutation by GET with two slashes": lambda: http("GET", "//graphql", HOST, BEARER, query=BY_GET),
    "a mutation by GET through a folder": lambda: http("GET", "/x/../graphql", HOST, BEARER, query=BY_GET),
    "a mutation by GET in capitals": lambda: http("GET", "/GraphQL", HOST, BEARER, query=BY_GET),
    "a mutation by GET that wants a page": lambda: http(
        "GET", "/graphql", HOST, BEARER, ("accept", "text/html"), query=BY_GET
    ),
    # From elsewhere.
    "a name made to point here": lambda: http("GET", "/", ("host", "evil.example:3000"), BEARER),
    "a name that begins well": lambda: http("GET", "/", ("host", "localhost.evil.example:3000"), BEARER),
    "a name that ends with a dot": lambda: http("GET", "/", ("host", "localhost.:3000"), BEARER),
    "a user in the host": lambda: http("GET", "/", ("host", "localhost:3000@evil.example"), BEARER),
    "a host with a line end": lambda: http("GET", "/", ("host", "localhost:3000\n"), BEARER, ("host", "x")),
    "an odd port": lambda: http("GET", "/", ("host", "localhost:3000x"), BEARER),
    "another address of the machine": lambda: http("GET", "/", ("host", "0.0.0.0:3000"), BEARER),
    "no host": lambda: http("GET", "/", BEARER),
    "two hosts": lambda: http("GET", "/", HOST, ("host", "evil.example"), BEARER),
    "an empty host": lambda: http("GET", "/", ("host", ""), BEARER),
    "a page of another site": lambda: post(JSON, origin("https://evil.example")),
    "a page without an origin": lambda: post(JSON, origin("null")),
    "a page of another port": lambda: post(JSON, origin("http://127.0.0.1:8080")),
    "a page of the default port": lambda: post(JSON, origin("http://127.0.0.1")),
    "a page of another name of this machine": lambda: post(JSON, origin("http://localhost:3000")),
    "a page of another scheme": lambda: post(JSON, origin("file://127.0.0.1:3000")),
    "a page of an extension": lambda: post(JSON, origin("chrome-extension://abcdef")),
    "an origin with a path": lambda: post(JSON, origin("http://127.0.0.1:3000/x")),
    "an origin with a user": lambda: post(JSON, origin("http://127.0.0.1:3000@evil.example")),
    "two origins": lambda: post(JSON, origin("http://127.0.0.1:3000"), origin("https://evil.example")),
    "a picture on another site": lambda: http(
        "GET", "/", HOST, COOKIE, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")
    ),
    "a script on another port": lambda: http(
        "GET", "/", HOST, COOKIE, ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")
    ),
    "a frame on another site": lambda: http(
        "GET", "/", HOST, COOKIE, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "iframe"),
    ),
    "a form sent from another site": lambda: post(
        JSON, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")
    ),
    # Not JSON.
    "a text": lambda: post(("content-type", "text/plain"), body=MUTATION),
    "a text that mentions JSON": lambda: post(("content-type", "text/plain; x=application/json"), body=MUTATION),
    "a form": lambda: post(("content-type", "application/x-www-form-urlencoded"), body=BY_GET),
    "a form with parts": lambda: post(("content-type", "multipart/form-data; boundary=x"), body="--x--"),
    "a query alone": lambda: post(("content-type", "application/graphql"), body="mutation { x }"),
    "no content type": lambda: post(body=MUTATION),
    "no content type and a query in the address": lambda: post(query=BY_GET),
    "two content types": lambda: post(JSON, ("content-type", "text/plain")),
    "two content types in one": lambda: post(("content-type", "application/json, text/plain")),
    # Not one request.
    "a list of requests": lambda: post(JSON, body=f"[{MUTATION}]"),
    "a persisted query": lambda: post(JSON, body='{"extensions": {"persistedQuery": {"sha256Hash": "x"}}}'),
    "a query that is no text": lambda: post(JSON, body='{"query": ["mutation { x }"]}'),
    "no JSON": lambda: post(JSON, body="query=x"),
    "an endless nesting": lambda: post(JSON, body="[" * 100_000),
    "an endless query": lambda: post(JSON, body=json.dumps({"query": "{ a " * 100_000})),
    "a query of many fields": lambda: post(JSON, body=json.dumps({"query": f"{{ {'a ' * 100_000} }}"})),
    "no GraphQL": lambda: post(JSON, body='{"query": "mutation {"}'),
    "a body without an end": lambda: post(JSON, body=" " * (MAX_BODY_BYTES + 1)),
    # Elsewhere than GraphQL.
    "a reported materialization": lambda: post(JSON, body="{}", path="/report_asset_materialization/raw/sacct"),
    "a reported check": lambda: post(JSON, body="{}", path="/report_asset_check/raw/sacct"),
    "a reported observation": lambda: post(JSON, body="{}", path="/report_asset_observation/raw/sacct"),
    "a POST to a page": lambda: post(JSON, path="/"),
    "a POST to GraphQL with a slash": lambda: post(JSON, path="/graphql/"),
    "a notebook of the disk": lambda: http("GET", "/notebook", HOST, BEARER, query="path=/home/x/y.ipynb"),
    "a notebook by its old path": lambda: http("GET", "/dagit/notebook", HOST, BEARER, query="path=/x.ipynb"),
    "a path with a null byte": lambda: http("GET", "/logs/x\x00.err", HOST, BEARER),
    "a path with backslashes": lambda: http("GET", "/logs/..\\..\\x", HOST, BEARER),
    "a path out of the folder": lambda: http("GET", "/logs/../../x.err", HOST, BEARER),
    **{
        f"the method {method}": lambda method=method: http(method, "/graphql", HOST, BEARER, JSON, body=QUERY)
        for method in ("PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY", "post", "get")
    },
    # On a read-only server.
    "a mutation": lambda: post(JSON, body=MUTATION, is_read_only=True),
    "a mutation among queries": lambda: post(
        JSON, body='{"query": "query a { version } mutation b { x }", "operationName": "a"}', is_read_only=True
    ),
    "a mutation after a comment": lambda: post(
        JSON, body=json.dumps({"query": "# query\n mutation{x}"}), is_read_only=True
    ),
    # By websocket.
    "a websocket without a token": lambda: websocket("/graphql", HOST),
    "a websocket with the token in its address": lambda: websocket("/graphql", HOST, query=f"token={TOKEN.value}"),
    "a websocket of another site": lambda: websocket("/graphql", HOST, COOKIE, origin("https://evil.example")),
    "a websocket of another port": lambda: websocket("/graphql", HOST, COOKIE, origin("http://127.0.0.1:8080")),
    "a websocket without an origin": lambda: websocket("/graphql", HOST, COOKIE, origin("null")),
    "a websocket to another name": lambda: websocket("/graphql", ("host", "evil.example:3000"), COOKIE),
    "a websocket elsewhere": lambda: websocket("/other", HOST, BEARER),
}  # fmt: skip


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_request_does_not_get_through(what):
    answer, behind = HOSTILE[what]()
    assert behind.reached == []
    if answer.status is None:
        assert answer.messages == [{"type": "websocket.close", "code": 1008}]
    else:
        assert 400 <= answer.status < 500
        assert "set-cookie" not in answer.headers
        assert TOKEN.value not in str(answer.messages)


FRIENDLY = {
    "a page": lambda: http("GET", "/runs", HOST, COOKIE),
    "a page among other cookies": lambda: http("GET", "/", HOST, ("cookie", f"a=b; {COOKIE[1]}; c=d")),
    "a page by a link on another site": lambda: http(
        "GET", "/", HOST, COOKIE, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ),
    "a script of the page": lambda: http(
        "GET", "/_next/x.js", HOST, COOKIE, ("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "no-cors")
    ),
    "the head of a page": lambda: http("HEAD", "/", HOST, COOKIE),
    "a program": lambda: http("GET", "/", HOST, BEARER),
    "a program of Jupyter's way": lambda: http("GET", "/", HOST, ("authorization", f"token {TOKEN.value}")),
    "a program beside a proxy's password": lambda: http("GET", "/", HOST, ("authorization", "Basic eDp5"), BEARER),
    "a query": lambda: post(JSON),
    "a query of the page": lambda: http(
        "POST", "/graphql", HOST, COOKIE, JSON, origin("http://127.0.0.1:3000"), body=QUERY
    ),
    "a query with a charset": lambda: post(("content-type", "Application/JSON; charset=utf-8")),
    "a mutation": lambda: post(JSON, body=MUTATION),
    "a query of a read-only server": lambda: post(JSON, is_read_only=True),
    "the name of this machine": lambda: http("GET", "/", ("host", "LocalHost:3000"), BEARER),
    "the address of version 6": lambda: http(
        "POST", "/graphql", ("host", "[::1]:3000"), BEARER, JSON, origin("http://[::1]:3000"), body=QUERY
    ),
    "a port that ssh forwards": lambda: http(
        "POST", "/graphql", ("host", "localhost:9999"), BEARER, JSON, origin("http://localhost:9999"), body=QUERY
    ),
    "a host that is allowed": lambda: http(
        "POST", "/graphql", ("host", "faultline.example.org"), BEARER, JSON, origin("https://faultline.example.org"),
        body=QUERY, hosts=frozenset({"faultline.example.org"}),
    ),
    "a download of logs": lambda: http("GET", "/logs/run/compute_logs/x.err", HOST, COOKIE),
}  # fmt: skip


@pytest.mark.parametrize("what", FRIENDLY)
def test_a_request_with_the_token_gets_through_unchanged(what):
    answer, behind = FRIENDLY[what]()
    assert answer.status == 200
    assert answer.body == "behind"
    if behind.reached[0]["method"] == "POST":
        assert json.loads(behind.read[0])["query"]


def test_what_gets_through_carries_no_secret():
    _, behind = http("GET", "/", HOST, COOKIE, BEARER, ("accept", "text/html"))
    assert behind.reached[0]["headers"] == [(b"host", b"127.0.0.1:3000"), (b"accept", b"text/html")]


def test_no_page_can_be_framed():
    answer, _ = http("GET", "/", HOST, COOKIE)
    assert answer.headers["x-frame-options"] == "DENY"
    assert [key for key, _ in answer.messages[0]["headers"]].count(b"x-frame-options") == 1


def test_the_token_of_the_address_becomes_a_cookie():
    answer, behind = http("GET", "/runs/a b", HOST, query=f"x=1&token={TOKEN.value}&y=%26")
    assert behind.reached == []
    assert (answer.status, answer.headers["location"]) == (303, "/runs/a%20b?x=1&y=%26")
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    assert attributes == ["Path=/", "HttpOnly", "SameSite=Strict"]
    assert TOKEN.value not in cookie
    answer, behind = http("GET", "/runs", HOST, ("cookie", cookie))
    assert answer.status == 200


def test_the_cookie_of_an_encrypted_connection_stays_on_such():
    answer, _ = http("GET", "/", HOST, ("x-forwarded-proto", "https"), query=f"token={TOKEN.value}")
    assert answer.headers["set-cookie"].endswith("; Secure")


def test_an_old_token_in_the_address_does_not_end_a_session():
    answer, _ = http("GET", "/", HOST, COOKIE, query="token=old")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "set-cookie" not in answer.headers


def test_a_person_without_the_token_is_told_where_to_find_it():
    answer, _ = http("GET", "/", HOST)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "faultline ui" in answer.body


def test_health_needs_no_token_and_tells_nothing_else():
    answer, behind = http("GET", "/healthz", ("host", "10.0.0.7:3000"), query="token=x")
    assert (answer.status, answer.body, behind.reached) == (200, "ok\n", [])


START = json.dumps({"type": "start", "id": "1", "payload": {"query": "subscription { x }"}})


def test_a_websocket_with_the_token_works():
    messages = ['{"type": "connection_init"}', START]
    for credential in (COOKIE, BEARER):
        answer, behind = websocket("/graphql", HOST, credential, origin("http://127.0.0.1:3000"), messages=messages)
        assert behind.read == messages
        assert answer.kinds[:3] == ["websocket.accept", "websocket.send", "websocket.send"]


@pytest.mark.parametrize(
    "message",
    [
        json.dumps({"type": "start", "payload": {"query": "mutation { x }"}}),
        json.dumps({"type": "start", "payload": {"query": "subscription a { x } mutation b { x }"}}),
        json.dumps({"type": "start", "payload": {"query": "{"}}),
        json.dumps({"type": "start", "payload": {}}),
        json.dumps({"type": "start"}),
        json.dumps([json.loads(START)]),
        "mutation { x }",
    ],
)
def test_a_mutation_in_a_websocket_ends_it(message):
    answer, behind = websocket("/graphql", HOST, BEARER, messages=[START, message, START])
    assert behind.read == [START]
    assert answer.messages[-1] == {"type": "websocket.close", "code": 1008}


def test_the_start_and_the_end_of_the_server_get_through():
    _, behind = ask({"type": "lifespan"}, [{"type": "lifespan.startup"}])
    assert [scope["type"] for scope in behind.reached] == ["lifespan"]


def test_a_connection_of_an_unknown_kind_is_refused():
    with pytest.raises(RuntimeError, match="no rule"):
        ask({"type": "webtransport", "path": "/", "headers": []}, [])
