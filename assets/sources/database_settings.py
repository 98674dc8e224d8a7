"""Settings of the whole database, for as long as something runs; those of one connection are set where they are needed.

What runs side by side shares them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb


@contextmanager
def one_thread(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Have every connection use one thread inside, its own.

    A query that numbers rows is one long task. Where another thread takes it, the client keeps asking for one of its
    own without a pause, which costs as much as the task (measured); so it does while a transaction is committed.
    """
    ((threads,),) = con.execute("select current_setting('threads')").fetchall()
    con.execute("set threads = 1")
    try:
        yield
    finally:
        with suppress(duckdb.Error):
            con.execute(f"set threads = {int(threads)}")


@contextmanager
def joins_as_written(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Leave the sides of joins as they are written inside: the second is held in memory, so it is the smaller one.

    DuckDB has no idea of the number of lines before it has read a file, and may hold all of them. The order of several
    joins is left to it: without that step DuckDB 1.5 crashes at as-of joins.
    """
    con.execute("set disabled_optimizers = 'build_side_probe_side'")
    try:
        yield
    finally:
        with suppress(duckdb.Error):
            con.execute("reset disabled_optimizers")
