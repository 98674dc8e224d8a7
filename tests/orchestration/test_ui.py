"""A real `faultline ui`: hostile requests change nothing, the token gives access, and its processes end together."""

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import websockets.sync.client
from websockets.exceptions import InvalidStatus

from orchestration.home import Home
from orchestration.instance import prepare_storage
from orchestration.ui.guard import Guard, Rules
from orchestration.ui.serving import _instance, _webserver, _write_workspace
from orchestration.ui.tokens import Token
from tests.patience import PATIENCE_SECONDS

FAULTLINE = [sys.executable, "-c", "from orchestration.cli import main; main()"]
REPOSITORY = '{repositoryLocationName: "orchestration.definitions", repositoryName: "__repository__"}'
STATE = f"""{{
    schedulesOrError(repositorySelector: {REPOSITORY}) {{
        ... on Schedules {{ results {{ name scheduleState {{ id selectorId status }} }} }}
    }}
    runsOrError {{ ... on Runs {{ results {{ runId }} }} }}
    assetsOrError {{ ... on AssetConnection {{ nodes {{ assetMaterializations(limit: 1) {{ runId }} }} }} }}
}}"""
DAEMONS = "{ instance { daemonHealth { allDaemonStatuses { daemonType required healthy } } } }"
LAUNCH = """mutation {
    launchRun(executionParams: {
        selector: {repositoryLocationName: "orchestration.definitions", repositoryName: "__repository__",
                   jobName: "refresh"},
        runConfigData: {resources: {dbt: {config: {dbt_executable: "%s"}}}}
    }) { __typename }
}"""


class Server:
    """A running web UI, with requests as programs and browsers send them."""

    def __init__(self, process, link):
        self.process = process
        self.port = int(re.search(r":(\d+)/", link)[1])
        self.token = re.search(r"token=(.+)", link)[1]
        self.host = f"127.0.0.1:{self.port}"
        self.bearer = {"Authorization": f"Bearer {self.token}"}

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()
        finally:
            connection.close()

    def query(self, text):
        headers = {**self.bearer, "Content-Type": "application/json"}
        status, _, answer = self.ask("POST", "/graphql", json.dumps({"query": text}), headers)
        assert status == 200, answer
        return json.loads(answer)["data"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    never = {"FAULTLINE_SCHEDULE": "0 0 29 2 *"}
    log = home / "stderr.txt"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [*FAULTLINE, "ui", "--home", str(home), "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=os.environ | never,
        )
    try:
        link = process.stdout.readline()
        assert link.startswith("http://127.0.0.1:"), (link, log.read_text())
        yield Server(process, link)
        assert "eprecat" not in log.read_text()
    finally:
        process.kill()
        process.wait()


def attacks(server, script):
    """Send requests that no page and no other user of the machine may send with success; `test_ui_guard` has more."""
    state = server.query(STATE)["schedulesOrError"]["results"][0]["scheduleState"]
    stop = f'mutation {{ stopRunningSchedule(id: "{state["id"]}") {{ __typename }} }}'
    launch = LAUNCH % script
    cookie = {"Cookie": server.ask("GET", f"/?token={server.token}")[1]["Set-Cookie"].partition(";")[0]}
    kind = {"Content-Type": "application/json"}
    for mutation in (stop, launch):
        path = "/graphql?query=" + re.sub(r"\s+", "%20", mutation).replace('"', "%22")
        body = json.dumps({"query": mutation})
        yield server.ask("GET", path, headers=cookie)
        yield server.ask("POST", "/graphql", body, kind)
        yield server.ask("POST", "/graphql", body, cookie | {"Content-Type": "text/plain"})
        yield server.ask("POST", "/graphql", body, cookie | kind | {"Origin": "https://evil.example"})
        yield server.ask("POST", "/graphql", body, server.bearer | kind | {"Host": "evil.example"})
    yield server.ask("POST", "/report_asset_materialization/raw/sacct", "{}", server.bearer | kind)


def test_hostile_requests_change_nothing(server, tmp_path):
    before = server.query(STATE)
    assert before["schedulesOrError"]["results"][0]["scheduleState"]["status"] == "RUNNING"
    proof = tmp_path / "proof"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\ntouch {proof}\n")
    script.chmod(0o755)
    answers = list(attacks(server, script))
    assert len(answers) == 11
    assert [status for status, _, _ in answers if not 400 <= status < 500] == []
    assert server.query(STATE) == before
    assert server.query(LAUNCH % script) == {"launchRun": {"__typename": "RunConfigValidationInvalid"}}
    assert server.query(STATE) == before
    assert not proof.exists()


def test_a_websocket_needs_the_token_and_the_own_site(server):
    address = f"ws://{server.host}/graphql"
    for headers, origin in (({}, None), (server.bearer, "https://evil.example")):
        with pytest.raises(InvalidStatus, match="403"):
            websockets.sync.client.connect(
                address, additional_headers=headers, origin=origin, subprotocols=["graphql-ws"]
            )
    with websockets.sync.client.connect(
        address, additional_headers=server.bearer, origin=f"http://{server.host}", subprotocols=["graphql-ws"]
    ) as opened:
        opened.send('{"type": "connection_init"}')
        assert json.loads(opened.recv(timeout=PATIENCE_SECONDS)) == {"type": "connection_ack"}


def test_the_token_opens_the_page(server):
    status, _, _ = server.ask("GET", "/")
    assert status == 401
    status, headers, _ = server.ask("GET", f"/?token={server.token}")
    assert (status, headers["Location"]) == (303, "/")
    status, headers, page = server.ask("GET", "/", headers={"Cookie": headers["Set-Cookie"].partition(";")[0]})
    assert (status, headers["X-Frame-Options"]) == (200, "DENY")
    assert page.startswith("<!DOCTYPE html>")
    assert server.ask("GET", "/healthz")[2] == "ok\n"


def test_the_token_may_change_things(server):
    selector = REPOSITORY[:-1] + ', scheduleName: "nightly_refresh"}'
    state = server.query(STATE)["schedulesOrError"]["results"][0]["scheduleState"]
    server.query(f'mutation {{ stopRunningSchedule(id: "{state["id"]}") {{ __typename }} }}')
    assert server.query(STATE)["schedulesOrError"]["results"][0]["scheduleState"]["status"] == "STOPPED"
    server.query(f"mutation {{ startSchedule(scheduleSelector: {selector}) {{ __typename }} }}")
    assert server.query(STATE)["schedulesOrError"]["results"][0]["scheduleState"]["status"] == "RUNNING"


def test_the_daemon_runs_the_schedule(server):
    deadline = time.monotonic() + PATIENCE_SECONDS
    ill = None
    while ill != set() and time.monotonic() < deadline:
        statuses = server.query(DAEMONS)["instance"]["daemonHealth"]["allDaemonStatuses"]
        ill = {status["daemonType"] for status in statuses if status["required"] and not status["healthy"]}
        time.sleep(0.2)
    assert ill == set()


def descendants(pid):
    children = [int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in _children(task)]
    return [pid, *(descendant for child in children for descendant in descendants(child))]


def _children(task):
    with suppress(FileNotFoundError):
        return (task / "children").read_text().split()
    return []


def listening(pids):
    """Return the local addresses, as the kernel writes them, on which processes listen for TCP."""
    sockets = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                sockets.add(str(descriptor.readlink()))
    rows = [line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/net/{file}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def test_only_the_guarded_port_listens_and_all_of_it_ends_together(server):
    pids = descendants(server.process.pid)
    commands = " ".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in pids).replace("\0", " ")
    assert listening(pids) == [f"0100007F:{server.port:04X}"]
    folder = Path(re.search(r"--socket (\S+)/code.sock", commands)[1])
    assert folder.stat().st_mode & 0o777 == 0o700
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=PATIENCE_SECONDS) == 0
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert not folder.exists()


@pytest.mark.filterwarnings("ignore:Error loading repository location")
def test_dagster_itself_is_read_only_too(tmp_path):
    home = Home.at(tmp_path)
    prepare_storage(home)
    token = Token("correct-horse-battery-staple")
    workspace = _write_workspace(tmp_path, tmp_path / "nobody.sock")
    body = json.dumps({"query": "{ permissions { permission value } }"}).encode()
    headers = {"host": "localhost", "content-type": "application/json", "authorization": f"Bearer {token.value}"}
    scope = {
        "type": "http", "method": "POST", "path": "/graphql", "query_string": b"", "root_path": "",
        "headers": [(key.encode(), value.encode()) for key, value in headers.items()],
    }  # fmt: skip
    sent = []

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(message):
        sent.append(message)

    rules = Rules(token, is_read_only=True)
    with _instance(home) as instance, _webserver(instance, workspace, rules) as app:
        asyncio.run(Guard(app, rules)(scope, receive, send))
    permissions = json.loads(sent[-1]["body"] or sent[-2]["body"])["data"]["permissions"]
    assert {permission["permission"] for permission in permissions if permission["value"]} == set()
    assert "launch_pipeline_execution" in {permission["permission"] for permission in permissions}
