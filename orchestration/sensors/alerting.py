"""Dagster's sensors that alert: on a run that failed, and on a night without publication.

Both are active while the daemon runs. A run reports its own failure (orchestration/lifecycle/session.py).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from multiprocessing import active_children

import dagster as dg

from orchestration.alerts.sending import tell_if_stale
from orchestration.lifecycle.reporting import report_end
from orchestration.runs.dead_runs import end_dead_runs
from orchestration.runs.jobs import COMMAND
from orchestration.runs.refresh_errors import explain_events, was_interrupted
from orchestration.settings.environment import HomeSettings

SECONDS_BETWEEN_LOOKS = 600
TIME_TO_START = timedelta(minutes=1)
"""Dagster marks a run as started a moment before its process starts."""


def alerting_sensors(settings: HomeSettings, job: dg.UnresolvedAssetJobDefinition) -> list[dg.SensorDefinition]:
    """Return both; the job is started again if a run suspects damage."""
    status = dg.DefaultSensorStatus.STOPPED if settings.is_dev else dg.DefaultSensorStatus.RUNNING

    @dg.run_failure_sensor(
        name="alert_on_failure",
        default_status=status,
        request_job=job,
        description="Alert when a run died, and start the refresh once more after one that may have met a damaged"
        " file. Any other run that failed has reported it.",
    )
    def alert_on_failure(context: dg.RunFailureSensorContext) -> dg.RunRequest | None:
        run = context.dagster_run
        if context.get_step_failure_events():
            if settings.home.damage_suspected.exists() and COMMAND not in run.tags:
                return dg.RunRequest(run_key=run.run_id)
            return None
        events = [context.failure_event]
        if not was_interrupted(events):
            message = explain_events(events, run.run_id, settings.home, reads_checks=False)
            report_end(settings, context.log.warning, message, run.run_id)
        return None

    @dg.sensor(
        name="alert_on_stale_night",
        minimum_interval_seconds=SECONDS_BETWEEN_LOOKS,
        default_status=status,
        description="Alert once when the newest publication is older than FAULTLINE_FRESHNESS_HOURS, and mark dead runs"
        " as failed: the queue waits for them.",
    )
    def alert_on_stale_night(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        # Sensors run in the code server, and each run that the daemon started is its child process.
        if not active_children():
            end_dead_runs(context.instance, settings.home, unchanged_since=datetime.now(UTC) - TIME_TO_START)
        found = tell_if_stale(settings, context.log.warning)
        return dg.SkipReason(found.line if found else "the newest publication is young enough")

    return [alert_on_failure, alert_on_stale_night]
