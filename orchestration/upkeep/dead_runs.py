"""Runs that Dagster takes for unfinished although nothing runs them: with one run at a time, its queue waits for ever.

Their process was killed, or it could not write how they ended. The own run of a refresh lives while its process holds
the home's lock. A run that Dagster's daemon started lives while its process does, which is a child of the code server
of `faultline ui`.
"""

from __future__ import annotations

import logging
from datetime import datetime

import dagster as dg
from sqlalchemy.exc import SQLAlchemyError

from orchestration.home import Home
from orchestration.upkeep.lock import free_of_refresh

BUILD = "build"
"""Name of the job of all assets, which a refresh runs in its own process."""
UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]
"""Not those that are queued, which nothing has to run yet."""
REASON = "ended without a word: its process was killed, the machine went down, or how it ended could not be written"


def end_runs_of_refreshes(instance: dg.DagsterInstance, home: Home) -> None:
    """Mark unfinished runs of refreshes as failed. The caller holds the lock of the home, so that none of them lives.

    What goes wrong fails no refresh, and is tried again later.
    """
    if _end(instance, dg.RunsFilter(job_name=BUILD, statuses=UNFINISHED)):
        home.unfinished_run.unlink(missing_ok=True)


def end_dead_runs(instance: dg.DagsterInstance, home: Home, *, unchanged_since: datetime | None = None) -> None:
    """Mark every unfinished run as failed where no process runs any that the daemon started.

    Parameters
    ----------
    instance, home
        Dagster's storage, and the home, whose lock this process does not hold.
    unchanged_since
        Of the runs that the daemon started, only those whose state is as old as that. None: all.
    """
    with free_of_refresh(home.lock_file) as holder:
        if holder is None:
            end_runs_of_refreshes(instance, home)
    _end(instance, dg.RunsFilter(statuses=UNFINISHED, updated_before=unchanged_since), but=BUILD)


def _end(instance: dg.DagsterInstance, of: dg.RunsFilter, but: str = "") -> bool:
    try:
        for run in instance.get_runs(of):
            if run.job_name != but:
                instance.report_run_failed(run, REASON)
    except (OSError, SQLAlchemyError, dg.DagsterError) as error:
        why = " ".join(str(error).split())
        logging.getLogger(__name__).warning("runs that died could not be marked as failed: %s", why)
        return False
    return True
