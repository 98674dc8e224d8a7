"""A page with an SQL box over the published file: what it serves, and how many questions are answered at once.

It is a plain ASGI application behind the same guard as the web UI. Everything is asked by GET: the guard lets no other
request through that is not for Dagster, and nothing here changes anything.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from orchestration.environment import HomeSettings, bytes_of
from orchestration.home import PROJECT
from orchestration.read_commands.pages import ready_questions
from orchestration.ui.guard import Guard, Receive, Rules, Scope, Send
from orchestration.ui.question import MAX_ROWS, Question, Wanted
from orchestration.ui.serving import Address, Parts, run_server

TEMPLATES = Path(__file__).parent / "templates"
AT_ONCE = 4
"""Questions that are answered at the same time; others wait."""
MAX_SECONDS = 30.0
MAX_THREADS = 4
MIN_MEMORY_BYTES = 256_000_000
MAX_ANSWER_BYTES = 256_000_000
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
FILES = {"/ask.js": "text/javascript", "/ask.css": "text/css"}
WANTED: Mapping[str, Wanted] = {"/tables": "tables", "/answer": "rows", "/answer.csv": "csv"}


class NoAnswer(Exception):
    """A question without an answer: the status of HTTP, and a text that says why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Asking:
    """The application. Each question is answered by a process of its own, which is killed when time is up.

    Parameters
    ----------
    settings
        Name the published file, which is opened anew for each question, so that each sees what is published then. Half
        of the memory of a refresh is that of a question.
    max_seconds
        After which a question is given up.
    """

    def __init__(self, settings: HomeSettings, max_seconds: float = MAX_SECONDS) -> None:
        self.max_seconds = max_seconds
        self._path = settings.home.published_file
        self._memory_bytes = max(bytes_of(settings.memory_limit) // 2, MIN_MEMORY_BYTES)
        self._threads = min(settings.threads, MAX_THREADS)
        self._places = asyncio.Semaphore(AT_ONCE)
        self._running: set[subprocess.Popen[bytes]] = set()
        self._is_closed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            return
        address = scope["path"]
        if address == "/":
            await _respond(send, 200, "text/html", _page())
        elif address in FILES:
            await _respond(send, 200, FILES[address], (TEMPLATES / address[1:]).read_bytes())
        elif address in WANTED:
            sql = parse_qs(scope["query_string"].decode("latin-1")).get("sql", [""])[0]
            try:
                text = await self._answer_unless_left(WANTED[address], sql, receive)
            except NoAnswer as error:
                await _respond(send, error.status, "application/json", json.dumps({"error": str(error)}).encode())
            else:
                await _respond(send, 200, "text/csv" if address.endswith(".csv") else "application/json", text)
        else:
            await _respond(send, 404, "text/plain", b"there is nothing here\n")

    def close(self) -> None:
        """End what is being answered, at once."""
        self._is_closed = True
        for process in tuple(self._running):
            process.kill()

    async def _answer_unless_left(self, wants: Wanted, sql: str, receive: Receive) -> bytes:
        """Answer, or end the question when the reader has left."""
        answer = asyncio.ensure_future(self._answer_in_turn(wants, sql))
        leaving = asyncio.ensure_future(_until_left(receive))
        try:
            await asyncio.wait({answer, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                answer.cancel()
            return await answer
        except asyncio.CancelledError:
            raise NoAnswer(499, "nobody waits for the answer any more") from None
        finally:
            leaving.cancel()

    async def _answer_in_turn(self, wants: Wanted, sql: str) -> bytes:
        try:
            await asyncio.wait_for(self._places.acquire(), self.max_seconds)
        except TimeoutError:
            raise NoAnswer(503, f"{AT_ONCE} other questions are being answered; ask again") from None
        try:
            with TemporaryDirectory(prefix="faultline-", ignore_cleanup_errors=True) as folder:
                question = Question(str(self._path), wants, sql, folder, self._memory_bytes, self._threads)
                return await self._answer(question)
        finally:
            self._places.release()

    async def _answer(self, question: Question) -> bytes:
        """Start the process, and kill it when time is up or the reader has left."""
        if self._is_closed:
            raise NoAnswer(503, "the server is ending")
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestration.ui.question"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            cwd=PROJECT,
        )
        self._running.add(process)
        try:
            text, status = await asyncio.wait_for(asyncio.to_thread(_talk, process, question), self.max_seconds)
        except TimeoutError:
            said = f"no answer within {self.max_seconds:g} seconds; ask for less, or use `faultline query`"
            raise NoAnswer(400, said) from None
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
            self._running.discard(process)
        if len(text) > MAX_ANSWER_BYTES:
            raise NoAnswer(400, f"the answer is larger than {MAX_ANSWER_BYTES / 1e6:,.0f} MB; ask for less")
        if status == 1:
            raise NoAnswer(400, text.decode())
        if status != 0:
            said = "the server is ending" if self._is_closed else f"the question was killed ({status}); ask for less"
            raise NoAnswer(503, said)
        return text


def serve_questions(settings: HomeSettings, address: Address, rules: Rules, announce: Callable[[str], None]) -> None:
    """Serve until told to end; `announce` gets the link."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with address.listening() as listener, closing(Asking(settings)) as asking:
        announce(address.link(listener))
        run_server(Guard(asking, rules), listener, Parts(), at_end=asking.close)


def _talk(process: subprocess.Popen[bytes], question: Question) -> tuple[bytes, int]:
    """Put the question, and return what the process writes, as far as it is wanted, and its exit status."""
    asked, answered = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    # The process ends when `asked` is closed, so that stays open.
    with suppress(BrokenPipeError), asked, answered:
        asked.write(f"{json.dumps(asdict(question))}\n".encode())
        asked.flush()
        text = answered.read(MAX_ANSWER_BYTES + 1)
        if len(text) > MAX_ANSWER_BYTES:
            process.kill()
        return text, process.wait()
    return b"", process.wait()


def _page() -> bytes:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("ask.html.j2").render(questions=ready_questions(), max_rows=MAX_ROWS).encode()


async def _until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _respond(send: Send, status: int, kind: str, body: bytes) -> None:
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
