"""Ctrl-C while DuckDB computes: the question is dropped within a second, without a traceback.

Python hears a signal only between two of its own instructions, and DuckDB returns from a query when it is answered. So
a command asks in a thread, while the main thread waits for the answer or the signal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import duckdb

Answer = TypeVar("Answer")

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the number of the signal."""
PATIENCE_SECONDS = 0.5
_asked: set[duckdb.DuckDBPyConnection] = set()


@contextmanager
def interruptible(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let Ctrl-C stop what is asked of this connection."""
    _asked.add(con)
    try:
        yield
    finally:
        _asked.discard(con)


def heed_interruption(call: Callable[[], Answer], *, is_patient: bool = False) -> Answer:
    """Run a call in a thread, and raise `KeyboardInterrupt` when somebody presses Ctrl-C.

    Parameters
    ----------
    call
        What to run. Its connections are interrupted.
    is_patient
        Wait until it has ended. Otherwise the process ends without it, which is right for what only reads.
    """
    running = ThreadPoolExecutor(max_workers=1).submit(call)
    try:
        return running.result()
    except KeyboardInterrupt:
        for con in tuple(_asked):
            con.interrupt()
        if not wait([running], None if is_patient else PATIENCE_SECONDS).done:
            os._exit(INTERRUPTED)
        raise
