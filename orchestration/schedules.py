"""The nightly refresh: 02:00 in the configured timezone, on as soon as the daemon runs."""

from __future__ import annotations

import dagster as dg

from orchestration.environment import Settings
from orchestration.jobs import refresh
from orchestration.publication.folders import pinned_publication
from orchestration.refresh.freshness import is_up_to_date


def nightly(settings: Settings) -> dg.ScheduleDefinition:
    """Build the schedule; what a rollback has pinned stays until there is something new."""
    home = settings.home

    def is_due(_: dg.ScheduleEvaluationContext) -> bool:
        return pinned_publication(home) is None or not is_up_to_date(home)

    return dg.ScheduleDefinition(
        name="nightly_refresh",
        job=refresh,
        cron_schedule=settings.cron,
        execution_timezone=settings.timezone,
        should_execute=is_due,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Refresh the published warehouse and the report every night.",
    )
