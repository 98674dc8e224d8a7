"""A page with an SQL box over the published file: what it serves, and the limits of rows and time of an answer.

It is a plain ASGI application behind the same guard as the web UI. Everything is asked by GET: the guard lets no other
request through that is not for Dagster, and nothing here changes anything.
"""

from __future__ import annotations

import asyncio
import io
import json
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import duckdb
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from orchestration.reading.catalogue import list_tables
from orchestration.reading.published import ReadingError, one_line, published
from orchestration.reading.query import ask, write_csv
from orchestration.ui.guard import Guard, Receive, Rules, Scope, Send
from orchestration.ui.ready_questions import READY_QUESTIONS
from orchestration.ui.serving import Address, Parts, run_server
from orchestration.values import plain

TEMPLATES = Path(__file__).parent / "templates"
MAX_ROWS = 1_000
"""Rows of an answer that the page shows."""
MAX_CSV_ROWS = 100_000
MAX_SECONDS = 30.0
SECONDS_BETWEEN_INTERRUPTIONS = 0.05
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
FILES = {"/ask.js": "text/javascript", "/ask.css": "text/css"}


class Asking:
    """The application.

    Parameters
    ----------
    path
        The published file; it is opened anew for each question, so that each sees what is published then.
    max_seconds
        After which a question is given up.
    """

    def __init__(self, path: Path, max_seconds: float = MAX_SECONDS) -> None:
        self.path = path
        self.max_seconds = max_seconds
        # One question at a time: connections of a process share DuckDB's settings, which the first one locks.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="question")
        self._asked: list[duckdb.DuckDBPyConnection] = []
        self._answers: list[Future[str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            return
        address = scope["path"]
        if address == "/":
            await _respond(send, 200, "text/html", _page())
        elif address in FILES:
            await _respond(send, 200, FILES[address], (TEMPLATES / address[1:]).read_text(encoding="utf-8"))
        elif address == "/tables":
            await self._answer(lambda con: _json([asdict(table) for table in list_tables(con)]), receive, send)
        elif address in {"/answer", "/answer.csv"}:
            sql = parse_qs(scope["query_string"].decode("latin-1")).get("sql", [""])[0]
            is_csv = address.endswith(".csv")
            make = _csv_of if is_csv else _rows_of
            await self._answer(lambda con: make(con, sql), receive, send, "text/csv" if is_csv else "application/json")
        else:
            await _respond(send, 404, "text/plain", "there is nothing here\n")

    def close(self) -> None:
        """End what is being answered; the process could not end before."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        while not all(answer.done() for answer in self._answers):
            self._interrupt()
            time.sleep(SECONDS_BETWEEN_INTERRUPTIONS)

    async def _answer(
        self,
        make: Callable[[duckdb.DuckDBPyConnection], str],
        receive: Receive,
        send: Send,
        kind: str = "application/json",
    ) -> None:
        """Ask in a thread, and interrupt DuckDB when time is up or the reader has left."""
        future = self._thread.submit(self._read, make)
        self._answers = [answer for answer in self._answers if not answer.done()] + [future]
        answer = asyncio.wrap_future(future)
        leaving = asyncio.ensure_future(_until_left(receive))
        either: set[asyncio.Future[Any]] = {answer, leaving}
        done, _ = await asyncio.wait(either, timeout=self.max_seconds, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if answer not in done and not future.cancel():
            while not future.done():
                self._interrupt()
                await asyncio.sleep(SECONDS_BETWEEN_INTERRUPTIONS)
        try:
            text = await answer
        except asyncio.CancelledError:
            await _respond(send, 503, "application/json", _error("another question is being answered; ask again"))
        except duckdb.InterruptException:
            said = f"no answer within {self.max_seconds:g} seconds; ask for less, or use `faultline query`"
            await _respond(send, 400, "application/json", _error(said))
        except (ReadingError, duckdb.Error) as error:
            await _respond(send, 400, "application/json", _error(one_line(error)))
        else:
            await _respond(send, 200, kind, text)

    def _read(self, make: Callable[[duckdb.DuckDBPyConnection], str]) -> str:
        with published(self.path) as con:
            self._asked.append(con)
            try:
                return make(con)
            finally:
                self._asked.remove(con)

    def _interrupt(self) -> None:
        for con in tuple(self._asked):
            with suppress(duckdb.ConnectionException):  # It may have been closed just now.
                con.interrupt()


def serve_questions(path: Path, address: Address, rules: Rules, announce: Callable[[str], None]) -> None:
    """Serve until told to end; `announce` gets the link."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with address.listening() as listener, closing(Asking(path)) as asking:
        announce(address.link(listener))
        run_server(Guard(asking, rules), listener, Parts())


def _rows_of(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    started = time.monotonic()
    cursor = ask(con, sql)
    names = [column[0] for column in cursor.description or []]
    rows = cursor.fetchmany(MAX_ROWS + 1)
    return _json({
        "columns": names,
        "rows": rows[:MAX_ROWS],
        "is_cut": len(rows) > MAX_ROWS,
        "seconds": round(time.monotonic() - started, 3),
    })  # fmt: skip


def _csv_of(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    cursor = ask(con, sql)
    names = [column[0] for column in cursor.description or []]
    out = io.StringIO()
    write_csv(names, islice(iter(cursor.fetchone, None), MAX_CSV_ROWS), out)
    return out.getvalue()


def _page() -> str:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("ask.html.j2").render(questions=READY_QUESTIONS, max_rows=MAX_ROWS)


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _error(message: str) -> str:
    return json.dumps({"error": message})


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _respond(send: Send, status: int, kind: str, text: str) -> None:
    body = text.encode("utf-8", "replace")
    headers = [
        (b"content-type", f"{kind}; charset=utf-8".encode()),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", POLICY.encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
    ]
    if kind == "text/csv":
        headers.append((b"content-disposition", b'attachment; filename="answer.csv"'))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
