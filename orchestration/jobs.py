"""The jobs of the web UI, and the schedule that starts one every night: one step, which runs `faultline refresh`.

So there is one life of a refresh, whoever starts it (`orchestration/refresh/run.py`). The command writes its own run,
with an event for each asset, into the same history. The schedule is on as soon as Dagster's daemon runs.
"""

import json
import subprocess
import sys
from tempfile import TemporaryFile

import dagster as dg

from orchestration.environment import HomeSettings, environment_of_dagster
from orchestration.ui import attended

in_process = dg.in_process_executor.configured({}, config_schema={})
"""Runs every step in the process of the run, and takes no configuration from a run."""
REFRESH = "refresh"
"""Name of the job of every night."""
FULL = "faultline/full"
"""Tag of a run that reads every file again and rebuilds all; its value is `true`."""
COMMAND = (sys.executable, "-P", "-c", "from orchestration.cli import main; main()", "refresh", "--json")
ENDED_BY_ITSELF = "ended_by_itself"
"""Metadata of a failure of which the command has told already."""
_RETRIES = {"dagster/max_retries": "2", "dagster/retry_on_asset_or_op_failure": "false"}


def refresh_jobs(settings: HomeSettings) -> list[dg.JobDefinition]:
    """Build the job of every night, and the one that rebuilds everything."""

    @dg.op(description="Run `faultline refresh` and pass on what it says.")
    def faultline_refresh(context: dg.OpExecutionContext) -> None:
        run_command(context, settings)

    @dg.job(
        name=REFRESH,
        executor_def=in_process,
        tags=_RETRIES,
        description="Read what is new, build, fit, validate, write the report and publish. Ends at once if nothing is"
        " new.",
    )
    def refresh() -> None:
        faultline_refresh()

    @dg.job(
        executor_def=in_process,
        tags={**_RETRIES, FULL: "true"},
        description="Read every file again and rebuild all, also where nothing is new.",
    )
    def full_refresh() -> None:
        faultline_refresh()

    return [refresh, full_refresh]


def nightly(settings: HomeSettings) -> dg.ScheduleDefinition:
    """Build the schedule."""
    return dg.ScheduleDefinition(
        name="nightly_refresh",
        job_name=REFRESH,
        cron_schedule=settings.schedule,
        execution_timezone=settings.schedule_timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED if settings.is_dev else dg.DefaultScheduleStatus.RUNNING,
        description="Refresh the published warehouse and the report every night, unless nothing is new.",
    )


def run_command(context: dg.OpExecutionContext, settings: HomeSettings) -> None:
    """Run the command with the settings of the home; it ends with this process, however this process ends."""
    command = [sys.executable, attended.__file__, *COMMAND]
    if context.run.tags.get(FULL) == "true":
        command.append("--full")
    with (
        TemporaryFile("w+") as answer,
        subprocess.Popen(  # noqa: S603 -- a constant
            command,
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=subprocess.PIPE,
            env=environment_of_dagster(settings),
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process,
    ):
        for line in process.stderr or ():
            context.log.info(line.rstrip())
        process.wait()
        answer.seek(0)
        found = json.loads(answer.read() or "{}")
    if process.returncode:
        message = found.get("message", f"`faultline refresh` ended with status {process.returncode}; its log says more")
        raise dg.Failure(message, {ENDED_BY_ITSELF: "message" in found}, allow_retries=False)
    if found["status"] == "unchanged":
        context.log.info("nothing is new; to rebuild all the same, launch the job full_refresh")
    context.add_output_metadata({"status": found["status"], "report": found["report"], "summary": found})
