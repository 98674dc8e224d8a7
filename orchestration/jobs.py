"""The main job, the schedule that runs it every night, and the job that rebuilds everything.

The schedule is on as soon as Dagster's daemon runs. A job is everything in one process, because one process at a time
may write the working file. Nothing is started where nothing is new.
"""

from __future__ import annotations

import dagster as dg

from orchestration.environment import HomeSettings
from orchestration.pull.clusters import clusters_to_pull
from orchestration.skipped_runs import FULL, reason_without_news

in_process = dg.in_process_executor.configured({}, config_schema={})
"""Runs every step in the process of the run, and takes no configuration from a run."""
_RETRIES = {"dagster/max_retries": "2", "dagster/retry_on_asset_or_op_failure": "false"}

refresh = dg.define_asset_job(
    "refresh",
    selection=dg.AssetSelection.all(),
    executor_def=in_process,
    description="Read what is new, build, fit, validate, write the report and publish. Ends at once if nothing is new.",
    tags=_RETRIES,
)
full_refresh = dg.define_asset_job(
    "full_refresh",
    selection=dg.AssetSelection.all(),
    executor_def=in_process,
    description="Read every file again and rebuild all, also where nothing is new.",
    tags={**_RETRIES, FULL: "true"},
)


def nightly(settings: HomeSettings) -> dg.ScheduleDefinition:
    """Build the schedule; it says why where it starts nothing. What a rollback has pinned then stays, too."""

    def due(_: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        # Where logs are fetched from Slurm, only the run can tell what is new.
        is_pulling = clusters_to_pull(settings.home.sources)
        reason = None if is_pulling else reason_without_news(settings.home)
        return dg.RunRequest() if reason is None else dg.SkipReason(reason)

    return dg.ScheduleDefinition(
        name="nightly_refresh",
        job=refresh,
        cron_schedule=settings.schedule,
        execution_timezone=settings.schedule_timezone,
        execution_fn=due,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Refresh the published warehouse and the report every night, unless nothing is new.",
    )
