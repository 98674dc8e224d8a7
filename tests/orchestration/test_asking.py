"""The page with the SQL box: what it answers, what it refuses, and that it gives up in time."""

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import duckdb
import pytest

from orchestration.environment import UI_TOKEN
from orchestration.home import PROJECT
from orchestration.ui.asking import MAX_ROWS, Asking
from orchestration.ui.guard import Guard, Rules
from orchestration.ui.ready_questions import READY_QUESTIONS
from orchestration.ui.tokens import Token

TOKEN = Token("correct-horse-battery-staple")
ENDLESS = "select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = 7"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def app(small_home):
    return Asking(small_home.published_file, max_seconds=20.0)


def request(app, address, sql=None, *, headers=(), leave_after=None):
    """Send one request; return status, headers and body."""
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
    asyncio.run(app(scope, receive, send))
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


def test_only_one_select_on_the_file_is_answered(app):
    for sql in (
        "create table t (a int)", "select 1; select 2", "", "drop table marts.fct_attempts",
        "from read_csv('/etc/passwd')", "copy (select 1) to '/tmp/faultline_out'", "attach 'x.duckdb'",
        "select nothing", "set enable_external_access = true", "pragma database_list; select 1",
    ):  # fmt: skip
        for address in ("/answer", "/answer.csv"):
            status, _, body = request(app, address, sql)
            assert status == 400, sql
            assert json.loads(body)["error"]


def test_a_question_without_end_is_given_up_and_the_next_is_answered(small_home):
    app = Asking(small_home.published_file, max_seconds=0.5)
    started = time.monotonic()
    status, _, body = request(app, "/answer", ENDLESS)
    assert status == 400
    assert "no answer within 0.5 seconds" in json.loads(body)["error"]
    assert time.monotonic() - started < 10
    assert request(app, "/answer", "select 1")[0] == 200


def test_a_reader_who_leaves_ends_the_question(app):
    started = time.monotonic()
    assert request(app, "/answer", ENDLESS, leave_after=0.3)[0] == 400
    assert time.monotonic() - started < 10


def test_tables_are_listed_with_what_a_row_is(app):
    tables = {table["name"]: table for table in json.loads(request(app, "/tables")[2])}
    assert tables["marts.fct_attempts"]["grain"] == "attempt"


def test_the_page_loads_nothing_from_elsewhere(app):
    status, headers, body = request(app, "/")
    assert status == 200
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert set(re.findall(r'(?:src|href)="([^"]*)"', body)) == {"/ask.css", "/ask.js", "/answer.csv", "data:,"}
    for name in READY_QUESTIONS:
        assert name in body
    assert request(app, "/ask.js")[1]["content-type"].startswith("text/javascript")
    assert request(app, "/ask.css")[0] == 200
    assert request(app, "/../orchestration/ui/guard.py")[0] == 404


def test_the_script_writes_answers_as_text():
    script = (PROJECT / "orchestration/ui/templates/ask.js").read_text(encoding="utf-8")
    assert "textContent" in script
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in script


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


def test_every_ready_question_is_one_select():
    con = duckdb.connect()
    for sql in READY_QUESTIONS.values():
        (statement,) = con.extract_statements(sql)
        assert statement.type.name == "SELECT"


def cpu_ticks(pid):
    """Return how much a process has computed, in hundredths of a second."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])


def test_the_command_serves_until_ctrl_c(small_home):
    environment = {name: value for name, value in os.environ.items() if name != UI_TOKEN}
    code = "import sys; from orchestration.cli import main; sys.argv[0] = 'faultline'; main()"
    command = [sys.executable, "-c", code, "serve", "--home", str(small_home.root), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT, env=environment) as process:
        address, _, token = process.stdout.readline().strip().partition("?token=")
        assert process.stdout.readline() == "stop with Ctrl-C\n"
        server = http.client.HTTPConnection("127.0.0.1", urlsplit(address).port, timeout=30)
        server.request("GET", "/answer?sql=select%2042", headers={"Authorization": f"Bearer {token}"})
        assert json.load(server.getresponse())["rows"] == [[42]]
        server.request("GET", "/answer?sql=select%2042")
        refused = server.getresponse()
        assert refused.status == 401
        assert b"faultline serve" in refused.read()
        server.close()
        idle = cpu_ticks(process.pid)
        server.request("GET", f"/answer?sql={quote(ENDLESS)}", headers={"Authorization": f"Bearer {token}"})
        while cpu_ticks(process.pid) < idle + 20:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(30) == 130
        finally:
            process.kill()
