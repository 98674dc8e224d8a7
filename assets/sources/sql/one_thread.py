"""Run statements that need one thread without a second thread that waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import duckdb


@contextmanager
def one_thread(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Have DuckDB use one thread inside.

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
