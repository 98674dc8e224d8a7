"""Ctrl-C while DuckDB computes: the query is interrupted within a second, without a traceback.

Python handles a signal between two of its own instructions, and a query is a single instruction. So a command runs in a
thread, while the main thread waits for its result or for the signal.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import duckdb

Result = TypeVar("Result")

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells: 128 plus the number of the signal."""
PATIENCE_SECONDS = 0.5
_interruptible_connections: set[duckdb.DuckDBPyConnection] = set()


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Handle SIGTERM, from systemd or a container's end, like Ctrl-C: undo unfinished work, and say so in a line."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def interruptible(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Register a connection: Ctrl-C interrupts its queries."""
    _interruptible_connections.add(con)
    try:
        yield
    finally:
        _interruptible_connections.discard(con)


def run_interruptibly(call: Callable[[], Result], *, is_patient: bool = False) -> Result:
    """Run a call in a thread; on Ctrl-C interrupt its queries and raise `KeyboardInterrupt`.

    Parameters
    ----------
    call
        The function to run.
    is_patient
        After Ctrl-C, wait until the call has ended. Otherwise the process ends at once, which is safe for a call that
        only reads.
    """
    running = ThreadPoolExecutor(max_workers=1).submit(call)
    try:
        return running.result()
    except KeyboardInterrupt:
        for con in tuple(_interruptible_connections):
            con.interrupt()
        if not wait([running], None if is_patient else PATIENCE_SECONDS).done:
            os._exit(INTERRUPTED)
        raise
