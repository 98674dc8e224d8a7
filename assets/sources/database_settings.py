"""Temporary settings of the whole database. Settings of one connection are set where they are needed.

Everything that runs in parallel shares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb

from assets.warehouse import one_value


@contextmanager
def one_thread(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let every connection use only its own thread inside.

    A query that numbers rows is one long task. If another thread takes it, the client polls for a task without pause,
    which costs as much as the task (measured). The same happens while a transaction is committed.
    """
    threads = one_value(con, "select current_setting('threads')")
    con.execute("set threads = 1")
    try:
        yield
    finally:
        with suppress(duckdb.Error):
            con.execute(f"set threads = {int(threads)}")


@contextmanager
def joins_as_written(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Keep the sides of joins as written inside: the second, which is held in memory, is the smaller one.

    DuckDB does not know the number of lines before it has read a file, and may hold all of them. It still orders
    several joins itself: without that step DuckDB 1.5 crashes at as-of joins.
    """
    con.execute("set disabled_optimizers = 'build_side_probe_side'")
    try:
        yield
    finally:
        with suppress(duckdb.Error):
            con.execute("reset disabled_optimizers")
