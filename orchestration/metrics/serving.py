"""Answer Prometheus over HTTP, behind the same guard as the web UI: the right Host, and a token."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import sys
from collections.abc import Callable

import duckdb

from orchestration.environment import HomeSettings
from orchestration.metrics.collecting import exposition
from orchestration.read_commands.published import ReadingError, one_line
from orchestration.ui.guard import App, Guard, Receive, Rules, Scope, Send
from orchestration.ui.serving import Address, Parts, run_server

PATH = "/metrics"
FORMAT = b"text/plain; version=1.0.0; charset=utf-8"


def serve_metrics(settings: HomeSettings, address: Address, rules: Rules, announce: Callable[[str], None]) -> None:
    """Serve until told to end; each request reads the home anew. `announce` gets the address of the metrics."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with address.listening() as listener:
        announce(f"{address.link(listener).rstrip('/')}{PATH}")
        run_server(Guard(metrics_app(settings), rules), listener, Parts())


def metrics_app(settings: HomeSettings) -> App:
    """Build the application, which knows one address."""

    async def answer(scope: Scope, _: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        status, kind, body = 404, b"text/plain", b"there is nothing here\n"
        if scope["path"] == PATH:
            try:
                status, kind, body = 200, FORMAT, await asyncio.to_thread(exposition, settings)
            except (ReadingError, duckdb.Error, sqlite3.Error, OSError) as error:
                status, body = 503, f"{one_line(error)}\n".encode()
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return answer
