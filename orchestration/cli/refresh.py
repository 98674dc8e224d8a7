"""`faultline refresh`: ingest, build, validate, publish."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from orchestration import terminal
from orchestration.cli.options import HomeOption, JsonOption, fail
from orchestration.environment import WrongSetting, read_settings

EXAMPLES = "Example: `faultline refresh --sources /var/log/clusters --home /srv/faultline`"


def refresh(  # noqa: PLR0917
    sources: Annotated[
        Path | None, typer.Option("--sources", help="Folder with one folder of logs per cluster [default HOME/sources]")
    ] = None,
    home: HomeOption = None,
    full: Annotated[bool, typer.Option("--full", help="Read every file again and rebuild all.")] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 when a cluster is stale: not built, or its logs not fetched."),
    ] = False,
    no_pull: Annotated[
        bool, typer.Option("--no-pull", help="Take the logs that are there; fetch none from Slurm.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Ingest what is new, build, fit, validate, publish and write the report."""
    from orchestration.alerts.sending import tell_of_failure
    from orchestration.failures import RefreshFailed, RefreshInterrupted
    from orchestration.interruption import INTERRUPTED, sigterm_as_ctrl_c
    from orchestration.metrics.collecting import keep_metrics
    from orchestration.refresh.run import check_sources_of_a_new_home, run_refresh, to_stderr

    console = terminal.console(is_error=as_json, is_optional=True)
    try:
        settings = replace(read_settings(home, sources, full), is_pulling=not no_pull)
        check_sources_of_a_new_home(settings.home)
        with sigterm_as_ctrl_c():
            outcome = run_refresh(settings, console)
    except (RefreshFailed, WrongSetting) as error:
        if isinstance(error, RefreshFailed) and error.is_alert:
            tell_of_failure(settings, str(error), error.run_id, to_stderr)
            # Where the home cannot be written, the failure says so already.
            if settings.metrics_file or os.access(settings.home.work, os.W_OK):
                keep_metrics(settings, to_stderr)
        if as_json:
            terminal.say_json({"status": "failed", "message": str(error)})
        fail(str(error), INTERRUPTED if isinstance(error, RefreshInterrupted) else 1)
    if outcome.status == "unchanged":
        keep_metrics(settings, to_stderr)
    if as_json:
        terminal.say_json(outcome.as_dict())
    else:
        outcome.print(console)
    if console.problem is not None:
        to_stderr(f"the output could not be written ({console.problem}); what was published is complete")
    if strict and (outcome.failing or outcome.not_pulled or any(row["is_stale"] for row in outcome.clusters)):
        raise typer.Exit(1)
