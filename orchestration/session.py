"""The row of a run in ops.runs, and the lock of the home for assets that somebody chose in the web UI.

A refresh takes the lock itself (`orchestration/refresh/run.py`) and uses only `recorded`. A run of chosen assets is no
refresh: it publishes nothing, and its row is deleted at its end. The rows that it wrote to ops.checks and
ops.cluster_failures stay, and after an interruption its row in ops.runs stays as failed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import dagster as dg
import duckdb

from assets.warehouse import Warehouse
from orchestration.dbt.processes import end_started
from orchestration.environment import HomeSettings
from orchestration.home import Home, code_version
from orchestration.publication.folders import remove_leftovers, was_published
from orchestration.upkeep.dead_runs import end_runs_of_refreshes
from orchestration.upkeep.healing import heal, remove_scratch
from orchestration.upkeep.lock import RefreshLock
from orchestration.upkeep.permissions import private_files


def session_of_chosen_assets(settings: HomeSettings) -> dg.ResourceDefinition:
    """Build the resource that gives a run of chosen assets the home for itself."""

    def hold(context: dg.InitResourceContext) -> Iterator[None]:
        home, run_id = settings.home, context.run.run_id if context.run else "no-run"
        with private_files(), RefreshLock(home.lock_file):
            heal(home, logging.getLogger(__name__).warning)
            if context.instance is not None:
                end_runs_of_refreshes(context.instance, home)
            with recorded(home, run_id) as file:
                yield
            with file.writing() as con:
                con.execute("delete from ops.runs where run_id = ?", [run_id])

    return dg.ResourceDefinition(hold, config_schema={})


@contextmanager
def recorded(home: Home, run_id: str) -> Iterator[Warehouse]:
    """Open a run's row in ops.runs and clean up after a killed run; at the end the row fails unless it was published.

    The working file is given, for what is noted of the run later.
    """
    file = Warehouse(path=str(home.working_file))
    with file.writing() as con:
        remove_leftovers(home)
        remove_scratch(home)
        mark_unpublished_run_as_failed(con, home)
        con.execute(
            "update ops.runs set status = 'failed', ended_at = started_at, message = 'stopped without an end'"
            " where status = 'running'"
        )
        con.execute("insert into ops.runs values (?, ?, null, 'running', ?, null)", [run_id, _now(), code_version()])
    try:
        yield file
    finally:
        end_started()
        with file.writing() as con:
            con.execute(
                "update ops.runs set status = 'failed', ended_at = ? where run_id = ? and status = 'running'",
                [_now(), run_id],
            )


def mark_unpublished_run_as_failed(con: duckdb.DuckDBPyConnection, home: Home) -> None:
    """Mark the last run as failed if it was killed after it recorded its publication and before readers saw it."""
    last = con.execute("select run_id from ops.published order by rowid desc limit 1").fetchone()
    if last is None or was_published(home, last[0]):
        return
    con.execute(
        "update ops.runs set status = 'failed', message = 'stopped before its publication was finished'"
        " where run_id = ?",
        [last[0]],
    )
    con.execute("delete from ops.published where run_id = ?", [last[0]])


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
