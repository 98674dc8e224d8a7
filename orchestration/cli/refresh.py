"""`faultline refresh`: ingest, build, validate, publish."""

from __future__ import annotations

import sys
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
    from_marts: Annotated[
        bool,
        typer.Option("--from-marts", help="Build no marts: publish what `faultline import-marts` has put there."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Ingest what is new, build, fit, validate, publish and write the report."""
    from orchestration.failures import RefreshFailed, RefreshInterrupted
    from orchestration.interruption import INTERRUPTED, sigterm_as_ctrl_c
    from orchestration.refresh.run import run_refresh, to_stderr

    console = terminal.console(is_error=as_json, is_optional=True)
    try:
        settings = read_settings(home, sources, full)
        settings = replace(settings, is_pulling=not (no_pull or from_marts), is_from_marts=from_marts)
        with sigterm_as_ctrl_c():
            outcome = run_refresh(settings, console)
    except (RefreshFailed, WrongSetting) as error:
        if as_json:
            terminal.say_json({"status": "failed", "message": str(error)})
        fail(str(error), INTERRUPTED if isinstance(error, RefreshInterrupted) else 1)
    if as_json:
        terminal.say_json(outcome.as_dict())
    else:
        outcome.print(console)
    if not sys.stdout.isatty():
        # cron sends what is on stderr, and throws away what goes to /dev/null.
        terminal.say_lines([line for line in outcome.problem_lines() if line], is_error=True)
    if console.problem is not None:
        to_stderr(f"the output could not be written ({console.problem}); what was published is complete")
    is_stale = bool(outcome.failing or outcome.not_pulled) or any(row["is_stale"] for row in outcome.clusters)
    if outcome.not_computed or (strict and is_stale):
        raise typer.Exit(1)
