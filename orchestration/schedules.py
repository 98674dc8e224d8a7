"""The nightly refresh: 02:00 in the configured timezone, on as soon as the daemon runs."""

from __future__ import annotations

import dagster as dg

from orchestration.home import Home
from orchestration.jobs import refresh
from orchestration.publication.folders import pinned_publication
from orchestration.refresh.freshness import is_up_to_date


def nightly(cron: str, timezone: str, home: Home) -> dg.ScheduleDefinition:
    """Build the schedule.

    Parameters
    ----------
    cron, timezone
        A cron line and the IANA zone it is read in.
    home
        The home; what a rollback has pinned in it stays until there is something new.
    """

    def is_due(_: dg.ScheduleEvaluationContext) -> bool:
        return pinned_publication(home) is None or not is_up_to_date(home)

    return dg.ScheduleDefinition(
        name="nightly_refresh",
        job=refresh,
        cron_schedule=cron,
        execution_timezone=timezone,
        should_execute=is_due,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Refresh the published warehouse and the report every night.",
    )
