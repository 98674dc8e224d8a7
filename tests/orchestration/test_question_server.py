"""The page with the SQL box: what it answers, what it refuses, and that it gives up in time."""

import asyncio
import http.client
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from orchestration.environment import UI_TOKEN, HomeSettings
from orchestration.home import PROJECT
from orchestration.read_commands.pages import ready_questions
from orchestration.ui import question_server
from orchestration.ui.guard import Guard, Rules
from orchestration.ui.question import MAX_ROWS, Question
from orchestration.ui.question_server import Asking
from orchestration.ui.tokens import Token
from tests.patience import PATIENCE_SECONDS
from tests.report.browser import browser

TOKEN = Token("correct-horse-battery-staple")
ENDLESS = "select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = 7"
UNINTERRUPTIBLE = "select levenshtein(repeat('ab', 1000000), repeat('ba', 1000000))"
"""A single call of a function, which DuckDB does not interrupt."""
HOSTILE = "<img src=x onerror=alert(1)>"
HOSTILE_SQL = f"select '{HOSTILE}' as a"


@pytest.fixture
def app(small_home):
    return Asking(HomeSettings(small_home), max_seconds=PATIENCE_SECONDS)


def request(app, address, sql=None, **options):
    """Send one request; return status, headers and body."""
    return asyncio.run(requested(app, address, sql, **options))


async def requested(app, address, sql=None, *, headers=(), leave_after=None):
    sent = []

    async def receive():
        if leave_after is None:
            await asyncio.sleep(3600)
        await asyncio.sleep(leave_after)
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    query = b"" if sql is None else f"sql={quote(sql)}".encode()
    scope = {"type": "http", "method": "GET", "path": address, "query_string": query, "headers": list(headers)}
    await app(scope, receive, send)
    found = {key.decode(): value.decode() for key, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:]).decode()


def test_rows_come_with_names_and_time(app):
    status, _, body = request(
        app, "/answer", f"select 1 as a, null as b, '{HOSTILE}' as c, timestamp '2026-01-01' as d"
    )
    answer = json.loads(body)
    assert status == 200
    assert answer["columns"] == ["a", "b", "c", "d"]
    assert answer["rows"] == [[1, None, HOSTILE, "2026-01-01T00:00:00Z"]]
    assert not answer["is_cut"]


def test_an_answer_is_cut_and_says_so(app):
    answer = json.loads(request(app, "/answer", "from range(5000)")[2])
    assert len(answer["rows"]) == MAX_ROWS
    assert answer["is_cut"]


def test_csv_has_all_rows_and_quotes_formulas(app):
    status, headers, body = request(app, "/answer.csv", "select '=1+1' as a, range as b from range(3000)")
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="answer.csv"')
    lines = body.splitlines()
    assert lines[:2] == ["a,b", "'=1+1,0"]
    assert len(lines) == 3001


@pytest.mark.parametrize("address", ["/answer", "/answer.csv"])
@pytest.mark.parametrize("sql", ["create table t (a int)", "select 1; select 2", "from read_csv('/etc/passwd')"])
def test_only_one_select_on_the_file_is_answered(app, address, sql):
    status, _, body = request(app, address, sql)
    assert status == 400
    assert json.loads(body)["error"]


@pytest.mark.parametrize("sql", [ENDLESS, UNINTERRUPTIBLE])
def test_a_question_without_end_is_given_up(small_home, sql):
    app = Asking(HomeSettings(small_home), max_seconds=1)
    started = time.monotonic()
    status, _, body = request(app, "/answer", sql)
    assert status == 400
    assert "no answer within 1 seconds" in json.loads(body)["error"]
    assert time.monotonic() - started < PATIENCE_SECONDS
    assert app._running == set()


def test_a_question_without_end_keeps_nobody_from_asking(app):
    async def all_at_once():
        endless = [
            asyncio.ensure_future(requested(app, "/answer", UNINTERRUPTIBLE))
            for _ in range(question_server.AT_ONCE - 1)
        ]
        answer = await requested(app, "/answer", "select 42")
        waiting = [task.done() for task in endless]
        app.close()
        return answer, waiting, await asyncio.gather(*endless)

    answer, waiting, ended = asyncio.run(all_at_once())
    assert json.loads(answer[2])["rows"] == [[42]] and not any(waiting)
    assert [status for status, _, _ in ended] == [503] * (question_server.AT_ONCE - 1)


def test_too_many_questions_wait_for_their_turn(app, small_home, monkeypatch):
    monkeypatch.setattr(question_server, "AT_ONCE", 1)

    async def both(app):
        return await asyncio.gather(requested(app, "/answer", UNINTERRUPTIBLE), requested(app, "/answer", "select 1"))

    (_, _, first), (_, _, second) = asyncio.run(both(Asking(HomeSettings(small_home), max_seconds=1)))
    assert "no answer within 1 seconds" in json.loads(first)["error"]
    assert json.loads(second).get("rows") == [[1]] or "other questions are being answered" in second


def test_a_reader_who_leaves_ends_the_question(app):
    started = time.monotonic()
    assert request(app, "/answer", UNINTERRUPTIBLE, leave_after=1)[0] == 499
    assert time.monotonic() - started < PATIENCE_SECONDS
    assert app._running == set()


@pytest.mark.parametrize(
    "sql",
    [
        "select length(repeat('x', 3000000000))",
        "select repeat('x', 1000000) from range(3000)",
        "select list(range) from range(100000000)",
    ],
)
def test_a_question_has_a_limit_of_memory(app, sql):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    status, _, body = request(app, "/answer.csv", sql)
    assert (status, "needs more than 1,000 MB of memory" in body) == (400, True)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, 1_200_000)


def test_what_does_not_fit_into_memory_is_spilled_outside_the_publication(small_home, tmp_path, monkeypatch):
    spills, seen = tmp_path / "spills", set()
    spills.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spills))
    published = set(small_home.root.rglob("*"))

    async def watched():
        app = Asking(HomeSettings(small_home, memory_limit="128MB"), max_seconds=PATIENCE_SECONDS)
        answer = asyncio.ensure_future(
            requested(app, "/answer", "select md5(range::varchar) as a from range(3000000) order by a limit 1000000")
        )
        while not answer.done():
            seen.update(spills.rglob("*.tmp"))
            assert set(small_home.root.rglob("*")) == published
            await asyncio.sleep(0.02)
        return await answer

    status, _, body = asyncio.run(watched())
    assert status == 200, body
    assert seen and list(spills.iterdir()) == []


def test_an_error_in_sql_is_told_as_one(app):
    for sql, kind in (("select * from marts.no_such_table", "Catalog"), ("select 1 +", "Parser")):
        assert json.loads(request(app, "/answer", sql)[2])["error"].startswith(f"{kind} Error")


def test_tables_are_listed_with_what_a_row_is(app):
    tables = {table["name"]: table for table in json.loads(request(app, "/tables")[2])}
    assert tables["marts.fct_attempts"]["grain"] == "attempt"


def test_the_page_loads_nothing_from_elsewhere(app):
    status, headers, body = request(app, "/")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert set(re.findall(r'(?:src|href)="([^"]*)"', body)) == {"/ask.css", "/ask.js", "/answer.csv", "data:,"}
    assert len(ready_questions()) == 15
    for name in ready_questions():
        assert name in body
    assert request(app, "/ask.js")[1]["content-type"].startswith("text/javascript")
    assert request(app, "/ask.css")[0] == 200
    assert request(app, "/../orchestration/ui/guard.py")[0] == 404


def test_nobody_gets_in_without_the_token(app):
    guarded = Guard(app, Rules(TOKEN))
    host = (b"host", b"127.0.0.1:3001")
    assert request(guarded, "/answer", "select 1", headers=[host])[0] == 401
    bearer = (b"authorization", f"Bearer {TOKEN.value}".encode())
    assert request(guarded, "/answer", "select 1", headers=[host, bearer])[0] == 200
    elsewhere = (b"host", b"evil.example.org")
    assert request(guarded, "/answer", "select 1", headers=[elsewhere, bearer])[0] == 403
    from_a_page = (b"sec-fetch-site", b"cross-site")
    assert request(guarded, "/answer", "select 1", headers=[host, bearer, from_a_page])[0] == 403


def answering(pid):
    """List the processes that a process has started and that have computed for half a second."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ticks = {int(child): Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11] for child in children}
    return [child for child, used in ticks.items() if int(used) >= 50]


@contextmanager
def serving(home):
    """Run the command, and give the process and the address that it prints."""
    environment = {name: value for name, value in os.environ.items() if name != UI_TOKEN}
    code = "import sys; from orchestration.cli import main; sys.argv[0] = 'faultline'; main()"
    command = [sys.executable, "-c", code, "serve", "--home", str(home.root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=environment) as process:
        try:
            address = process.stdout.readline().strip()
            assert process.stdout.readline() == "stop with Ctrl-C\n"
            yield process, address
        finally:
            process.kill()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_the_command_serves_until_told_to_end(small_home, number, status):
    with serving(small_home) as (process, address):
        server = http.client.HTTPConnection("127.0.0.1", urlsplit(address).port, timeout=PATIENCE_SECONDS)
        bearer = {"Authorization": f"Bearer {address.partition('?token=')[2]}"}
        server.request("GET", "/answer?sql=select%2042", headers=bearer)
        assert json.load(server.getresponse())["rows"] == [[42]]
        server.request("GET", "/answer?sql=select%2042")
        refused = server.getresponse()
        assert refused.status == 401
        assert b"faultline serve" in refused.read()
        server.close()
        server.request("GET", f"/answer?sql={quote(UNINTERRUPTIBLE)}", headers=bearer)
        while not (found := answering(process.pid)):
            time.sleep(0.02)
        process.send_signal(number)
        assert process.wait(PATIENCE_SECONDS) == status
        assert not Path(f"/proc/{found[0]}").exists()


def test_the_page_shows_an_answer_as_text(small_home, tmp_path):
    with serving(small_home) as (_, address), browser(tmp_path / "profile") as tab:
        tab.send("Page.navigate", url=address)
        tab.wait("!!document.getElementById('tables')?.children.length")
        tab.run(f"document.getElementById('sql').value = {json.dumps(HOSTILE_SQL)}")
        tab.run("document.getElementById('question').requestSubmit()")
        tab.wait(f"document.querySelector('#answer tbody td')?.textContent === {json.dumps(HOSTILE)}")
        assert tab.run("document.images.length") == 0
        assert tab.problems == []


def test_a_question_ends_with_who_asked(small_home):
    question = Question(str(small_home.published_file), "rows", UNINTERRUPTIBLE, "/nowhere", 1_000_000_000, 1)
    command = [sys.executable, "-m", "orchestration.ui.question"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=PROJECT) as process:
        process.stdin.write(f"{json.dumps(asdict(question))}\n".encode())
        process.stdin.flush()
        while int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11]) < 50:
            time.sleep(0.02)
        process.stdin.close()
        try:
            assert process.wait(PATIENCE_SECONDS) == 1
        finally:
            process.kill()
