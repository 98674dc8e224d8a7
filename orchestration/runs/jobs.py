"""The job with all assets, its nightly schedule, and the test whether a run is a whole refresh."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import dagster as dg

from orchestration.settings.environment import HomeSettings

in_process = dg.in_process_executor.configured({}, config_schema={})
"""Executes every step in the process of the run, and accepts no configuration from a run."""
REFRESH = "refresh"
"""Name of the job."""
COMMAND = "faultline/command"
"""Tag of a run in the process of `faultline refresh`, which has already pulled and checked whether anything is new."""
ASKING = ("dagster/schedule_name", "dagster/sensor_name")
"""Tags of scheduled runs and of sensors' runs, which build only if something is new."""
_RETRIES = {
    "dagster/max_retries": "2",
    "dagster/retry_on_asset_or_op_failure": "false",
    # A run that continues after another process's step would publish what it has not judged.
    "dagster/retry_strategy": "ALL_STEPS",
}


def refresh_job() -> dg.UnresolvedAssetJobDefinition:
    """Return the job; the command, the schedule, the sensor on new files and the web UI run it."""
    return dg.define_asset_job(
        REFRESH,
        dg.AssetSelection.all(),
        tags=_RETRIES,
        executor_def=in_process,
        description="Read what is new, build, fit, validate, write the report and publish. Started by the schedule or a"
        " sensor, it ends after its first steps if nothing is new.",
    )


def nightly(settings: HomeSettings) -> dg.ScheduleDefinition:
    """Return the schedule."""
    return dg.ScheduleDefinition(
        name="nightly_refresh",
        job_name=REFRESH,
        cron_schedule=settings.schedule,
        execution_timezone=settings.schedule_timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED if settings.is_dev else dg.DefaultScheduleStatus.RUNNING,
        description="Refresh the published warehouse and the report every night, unless nothing is new.",
    )


@dataclass(frozen=True)
class Everything:
    """The assets and checks of a whole refresh by key, and the steps that make them."""

    assets: frozenset[dg.AssetKey]
    checks: frozenset[dg.AssetCheckKey]
    steps: frozenset[str]

    @classmethod
    def of(cls, assets: Iterable[object], checks: Iterable[dg.AssetChecksDefinition]) -> Everything:
        """Collect them from definitions; bare specs are external files, which no step makes."""
        made = [asset for asset in assets if isinstance(asset, dg.AssetsDefinition) and asset.is_executable]
        judges = [*made, *checks]
        return cls(
            frozenset(key for asset in made for key in asset.keys),
            frozenset(key for judge in judges for key in judge.check_keys),
            frozenset(judge.node_def.name for judge in judges),
        )

    def is_in(self, run: dg.DagsterRun) -> bool:
        """Return whether a run makes all of them, whatever its job."""
        chosen, judged = run.asset_selection or frozenset(), run.asset_check_selection
        # No selection means everything; selected assets without selected checks run all of their checks.
        has_all = chosen >= self.assets and (judged is None or judged >= self.checks)
        has_all_steps = run.step_keys_to_execute is None or self.steps <= {*run.step_keys_to_execute}
        return has_all_steps and (has_all or not (chosen or judged))
