"""Delete old runs from Dagster's history: a night adds 7 MB to it, however small the clusters are.

A run is deleted with its events and its output. Dagster's daemon deletes the ticks of schedule and sensors (`retention`
in dagster.yaml). Nothing that is published comes from this history.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dagster import DagsterInstance

KEPT_DAYS = 90
MAX_AT_ONCE = 100
"""Deleting a run takes up to 0.2 s; the first night after years leaves the rest for later nights."""


def delete_old_runs(instance: DagsterInstance, days: int, running: str) -> int:
    """Delete the runs that started more than some days ago, and return their number.

    An error here fails no refresh; the next one tries again.

    Parameters
    ----------
    instance
        Dagster's storage. The home's lock is held, so that no other run is in progress.
    days
        How long a run is kept.
    running
        The id of the current run; it stays.
    """
    from dagster import DagsterError, RunsFilter
    from sqlalchemy.exc import SQLAlchemyError

    from orchestration.history import EventHistory

    before = datetime.now(UTC) - timedelta(days=days)
    try:
        records = instance.get_run_records(RunsFilter(created_before=before), limit=MAX_AT_ONCE, ascending=True)
        old = [record.dagster_run.run_id for record in records if record.dagster_run.run_id != running]
        for run_id in old:
            # Delete the run itself last: until then, a later night finds it again.
            instance.compute_log_manager.delete_logs(prefix=[run_id])
            instance.delete_run(run_id)
        if old and isinstance(instance.event_log_storage, EventHistory):
            instance.event_log_storage.give_back_space()
    except (OSError, SQLAlchemyError, DagsterError) as error:
        why = " ".join(str(error).split())
        logging.getLogger(__name__).warning("old runs of Dagster's history could not be deleted: %s", why)
        return 0
    return len(old)
