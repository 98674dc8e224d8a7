"""A real `faultline ui`: the token gives access, one guarded port listens, and its processes end together."""

import json
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from orchestration.settings.home import Home
from tests.patience import PATIENCE_SECONDS
from tests.pipeline.pages import Pages

SCHEDULE = """{ schedulesOrError(repositorySelector: {
    repositoryLocationName: "orchestration.definitions", repositoryName: "__repository__"
}) { ... on Schedules { results { scheduleState { id selectorId status } } } } }"""
STOP = 'mutation { stopRunningSchedule(id: "%s") { __typename } }'
DAEMONS = "{ instance { daemonHealth { allDaemonStatuses { daemonType required healthy } } } }"


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    running = Pages(Home.at(tmp_path_factory.mktemp("home")))
    yield running
    running.process.kill()
    running.process.wait()


def test_only_the_token_and_only_from_the_own_site_changes_anything(pages):
    """`test_ui_guard` tests every rule; this shows that the guard is in front of the server and a mutation works."""

    def schedule():
        return pages.ask(SCHEDULE)["schedulesOrError"]["results"][0]["scheduleState"]

    state = schedule()
    status, headers, _ = pages.request("GET", f"/?token={pages.token}", {})
    assert (status, headers["Location"]) == (303, "/")
    cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
    status, headers, page = pages.request("GET", "/", cookie)
    assert (status, headers["X-Frame-Options"], page[:15]) == (200, "DENY", "<!DOCTYPE html>")
    stop, kind = json.dumps({"query": STOP % state["id"]}), {"Content-Type": "application/json"}
    for status, given in ((401, kind), (403, cookie | kind | {"Origin": "https://evil.example"})):
        assert pages.request("POST", "/graphql", given, stop)[0] == status
    assert (schedule(), state["status"]) == (state, "RUNNING")
    assert pages.request("POST", "/graphql", cookie | kind, stop)[0] == 200
    assert schedule()["status"] == "STOPPED"


def test_the_daemon_runs_the_schedule(pages):
    deadline, ill = time.monotonic() + PATIENCE_SECONDS, True
    while ill:
        assert time.monotonic() < deadline, ill
        statuses = pages.ask(DAEMONS)["instance"]["daemonHealth"]["allDaemonStatuses"]
        ill = [status for status in statuses if status["required"] and not status["healthy"]]
        time.sleep(0.2)


def descendants(pid):
    children = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError):
            children += (task / "children").read_text().split()
    return [pid, *(descendant for child in children for descendant in descendants(int(child)))]


def listening(pids):
    """Return the local addresses, as the kernel writes them, on which processes listen for TCP."""
    sockets = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                sockets.add(str(descriptor.readlink()))
    rows = [line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/net/{file}").read_text().splitlines()[1:]]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]


def test_only_the_guarded_port_listens_and_all_of_it_ends_together(pages):
    pids = descendants(pages.process.pid)
    commands = " ".join(Path(f"/proc/{pid}/cmdline").read_text() for pid in pids).replace("\0", " ")
    assert listening(pids) == [f"0100007F:{int(pages.port):04X}"]
    folder = Path(re.search(r"--socket (\S+)/code.sock", commands)[1])
    assert folder.stat().st_mode & 0o777 == 0o700
    pages.process.send_signal(signal.SIGTERM)
    assert pages.process.wait(timeout=PATIENCE_SECONDS) == 0
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert not folder.exists()
