"""Run jobs in parallel, each on a connection of its own: one per core, as far as memory allows.

Threads suffice, as DuckDB does nearly all of the work and does not hold Python's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack
from queue import SimpleQueue
from typing import TypeVar

import duckdb

from assets.sources.database_settings import one_thread
from assets.warehouse import second_connection

T = TypeVar("T")
MEMORY_OF_A_JOB = 900 * 1024**2
"""Share of DuckDB's limit, in bytes. A batch takes about four times its 256 MiB, and some of it may go to disk."""
SECONDS_BETWEEN_STOPS = 0.05
_UNITS = {"bytes": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5}


def jobs_at_once(con: duckdb.DuckDBPyConnection) -> int:
    """Return the number of jobs that the database has threads and memory for."""
    ((threads, limit),) = con.execute("select current_setting('threads'), current_setting('memory_limit')").fetchall()
    size, _, unit = limit.partition(" ")
    return max(1, min(threads, int(float(size) * 1024 ** _UNITS[unit]) // MEMORY_OF_A_JOB))


def run_side_by_side(
    con: duckdb.DuckDBPyConnection,
    jobs: Sequence[Callable[[duckdb.DuckDBPyConnection], T]],
    when_done: Callable[[T], object],
) -> None:
    """Run every job, and pass each result to `when_done`, one at a time and in the caller's thread.

    Parameters
    ----------
    con
        A writing connection, outside a transaction.
    jobs
        Each gets a connection. A single job gets `con` and all threads.
    when_done
        Called with the result as soon as a job has ended. It may use `con`.

    Raises
    ------
    BaseException
        The first error of a job, or what interrupted the caller; the other jobs are stopped first.
    """
    count = min(len(jobs), jobs_at_once(con))
    if count < 2:
        for job in jobs:
            when_done(job(con))
        return
    with ExitStack() as opened:
        opened.enter_context(one_thread(con))
        connections = [opened.enter_context(second_connection(con)) for _ in range(count)]
        free: SimpleQueue[duckdb.DuckDBPyConnection] = SimpleQueue()
        for connection in connections:
            free.put(connection)

        def run(job: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
            connection = free.get()
            try:
                return job(connection)
            finally:
                free.put(connection)

        pool = opened.enter_context(ThreadPoolExecutor(count, thread_name_prefix="reader"))
        running = [pool.submit(run, job) for job in jobs]
        try:
            for ended in as_completed(running):
                when_done(ended.result())
        except BaseException:
            _stop(running, connections)
            raise


def _stop(running: Sequence[Future[T]], connections: Sequence[duckdb.DuckDBPyConnection]) -> None:
    """Stop all jobs: each ends at its next statement, and its transaction is rolled back."""
    for job in running:
        job.cancel()
    while wait(running, SECONDS_BETWEEN_STOPS).not_done:
        for connection in connections:
            connection.interrupt()
