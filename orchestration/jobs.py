"""The main job, and the schedule that runs it every night: on as soon as Dagster's daemon runs.

The job is everything in one process, because one process at a time may write the working file.
"""

from __future__ import annotations

import dagster as dg

from orchestration.environment import HomeSettings
from orchestration.publication.folders import pinned_publication
from orchestration.publication.freshness import is_up_to_date

in_process = dg.in_process_executor.configured({}, config_schema={})
"""Runs every step in the process of the run, and takes no configuration from a run."""

refresh = dg.define_asset_job(
    "refresh",
    selection=dg.AssetSelection.all(),
    executor_def=in_process,
    description="Read what is new, build, fit, validate, write the report and publish.",
    tags={"dagster/max_retries": "2", "dagster/retry_on_asset_or_op_failure": "false"},
)


def nightly(settings: HomeSettings) -> dg.ScheduleDefinition:
    """Build the schedule; what a rollback has pinned stays until there is something new."""
    home = settings.home

    def is_due(_: dg.ScheduleEvaluationContext) -> bool:
        return pinned_publication(home) is None or not is_up_to_date(home)

    return dg.ScheduleDefinition(
        name="nightly_refresh",
        job=refresh,
        cron_schedule=settings.schedule,
        execution_timezone=settings.schedule_timezone,
        should_execute=is_due,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Refresh the published warehouse and the report every night.",
    )
