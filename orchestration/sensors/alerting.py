"""Dagster's sensors that alert: on a run that failed, and on a night without publication.

Both are on as soon as the daemon runs. `faultline refresh` tells of its own failures itself, also where a job runs it.
The sensor tells of a refresh that was killed, and of chosen assets that could not be made.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from multiprocessing import active_children

import dagster as dg

from orchestration.alerts.sending import tell_if_stale, tell_of_failure
from orchestration.environment import HomeSettings
from orchestration.failures import explain_events, was_interrupted_by
from orchestration.jobs import ENDED_BY_ITSELF
from orchestration.metrics.collecting import keep_metrics
from orchestration.upkeep.dead_runs import end_dead_runs
from orchestration.upkeep.lock import free_of_refresh

SECONDS_BETWEEN_LOOKS = 600
TIME_TO_START = timedelta(minutes=1)
"""Dagster says that a run starts a moment before its process does."""


def alerting_sensors(settings: HomeSettings) -> list[dg.SensorDefinition]:
    """Build both."""

    @dg.run_failure_sensor(
        name="alert_on_failure",
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Alert when a run failed of which no refresh has told.",
    )
    def alert_on_failure(context: dg.RunFailureSensorContext) -> None:
        events = [*context.get_step_failure_events(), context.failure_event]
        if was_interrupted_by(events) or any(_was_told(event) for event in events):
            return
        run_id = context.dagster_run.run_id
        with free_of_refresh(settings.home.lock_file) as holder:
            message = explain_events(events, run_id, settings.home, reads_checks=holder is None)
        tell_of_failure(settings, message, run_id, context.log.warning)
        keep_metrics(settings, context.log.warning)

    @dg.sensor(
        name="alert_on_stale_night",
        minimum_interval_seconds=SECONDS_BETWEEN_LOOKS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Alert once when the newest publication is older than FAULTLINE_FRESHNESS_HOURS, and mark runs as"
        " failed whose process died: the queue waits for them.",
    )
    def alert_on_stale_night(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        # Sensors are evaluated in the code server, whose child each run that the daemon started is.
        if not active_children():
            end_dead_runs(context.instance, settings.home, unchanged_since=datetime.now(UTC) - TIME_TO_START)
        found = tell_if_stale(settings, context.log.warning)
        return dg.SkipReason(found.line if found else "the newest publication is young enough")

    return [alert_on_failure, alert_on_stale_night]


def _was_told(event: dg.DagsterEvent) -> bool:
    failure = event.step_failure_data.user_failure_data if event.is_step_failure else None
    mark = failure.metadata.get(ENDED_BY_ITSELF) if failure else None
    return mark is not None and bool(mark.value)
