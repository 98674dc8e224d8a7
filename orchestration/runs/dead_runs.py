"""Dead runs that Dagster still lists as unfinished: with one run at a time, its queue waits for them for ever.

Their process was killed, or could not write how they ended. The run of a command lives while its process holds the
home's lock. A run that Dagster's daemon started lives as long as its process, a child of the code server of
`faultline ui`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

import dagster as dg
from sqlalchemy.exc import SQLAlchemyError

from orchestration.runs.jobs import COMMAND
from orchestration.settings.home import Home
from orchestration.upkeep.lock import free_of_refresh

UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""Without queued runs, which have no process yet."""
REASON = "ended without a report: its process was killed, the machine went down, or its outcome could not be written"


def end_runs_of_commands(
    instance: dg.DagsterInstance, home: Home, *, but: str = "", unchanged_since: datetime | None = None
) -> None:
    """Mark unfinished runs of commands as failed; no other process may hold the home's lock, so none of them lives.

    An error here fails no refresh; the next one tries again.

    Parameters
    ----------
    instance, home
        Dagster's storage, and the home.
    but
        The run of this process.
    unchanged_since
        Only runs whose state is at least as old: a command takes the lock a moment after its run begins.
    """
    of = dg.RunsFilter(tags={COMMAND: "true"}, statuses=UNFINISHED, updated_before=unchanged_since)
    if _end(instance, of, lambda run: run.run_id != but):
        home.unfinished_run.unlink(missing_ok=True)


def end_dead_runs(instance: dg.DagsterInstance, home: Home, *, unchanged_since: datetime | None = None) -> None:
    """Mark every unfinished run as failed; no process may be running one that the daemon started.

    Parameters
    ----------
    instance, home
        Dagster's storage, and the home, whose lock this process does not hold.
    unchanged_since
        Only runs whose state is at least as old. None: all.
    """
    with free_of_refresh(home.lock_file) as holder:
        if holder is None:
            end_runs_of_commands(instance, home, unchanged_since=unchanged_since)
    of = dg.RunsFilter(statuses=UNFINISHED, updated_before=unchanged_since)
    if _end(instance, of, lambda run: COMMAND not in run.tags) and holder is None:
        home.unfinished_run.unlink(missing_ok=True)


def _end(instance: dg.DagsterInstance, of: dg.RunsFilter, is_dead: Callable[[dg.DagsterRun], bool]) -> bool:
    try:
        for run in instance.get_runs(of):
            if is_dead(run):
                instance.report_run_failed(run, REASON)
    except (OSError, SQLAlchemyError, dg.DagsterError) as error:
        why = " ".join(str(error).split())
        logging.getLogger(__name__).warning("runs that died could not be marked as failed: %s", why)
        return False
    return True
