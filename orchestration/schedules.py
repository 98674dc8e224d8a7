"""The nightly refresh: 02:00 in the configured timezone, on as soon as the daemon runs."""

from __future__ import annotations

import dagster as dg

from orchestration.jobs import refresh


def nightly(cron: str, timezone: str) -> dg.ScheduleDefinition:
    """Build the schedule.

    Parameters
    ----------
    cron, timezone
        A cron line and the IANA zone it is read in.
    """
    return dg.ScheduleDefinition(
        name="nightly_refresh",
        job=refresh,
        cron_schedule=cron,
        execution_timezone=timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Refresh the published warehouse and the report every night.",
    )
