"""`faultline refresh`: ingest, build, validate, publish."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, fail, warn_of_environment
from orchestration.settings.environment import WrongSetting, read_settings
from orchestration.terminal import output

if TYPE_CHECKING:
    from orchestration.settings.environment import HomeSettings

EXAMPLES = """Examples:

Logs elsewhere: `faultline refresh --sources /var/log/clusters --home /srv/faultline`

List what would be forgotten: `faultline refresh --forget 'gpu1/sacct/2023-*'`

Forget it, and publish without it: `faultline refresh --forget 'gpu1/sacct/2023-*' --yes`
"""


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
        bool, typer.Option("--no-pull", help="Read the logs in the sources folder; fetch none from Slurm.")
    ] = False,
    from_marts: Annotated[
        bool,
        typer.Option(
            "--from-marts",
            help="Build no marts: publish those that `python -m orchestration.spark import-marts` imported.",
        ),
    ] = False,
    forget: Annotated[
        list[str] | None,
        typer.Option(
            "--forget",
            metavar="CLUSTER[/PATTERN]",
            help="List the lines read from files that are no longer in the sources folder, and from older versions of"
            " files, `*` for any text; can be repeated. If a cluster's privacy changed, list all of its lines.",
            autocompletion=complete_clusters,
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            help="With --forget: delete them (if privacy changed, also all publications, reports, logs of runs, alerts"
            " sent and Dagster's history), and refresh if any log is left.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Ingest what is new, build, fit, validate, publish and write the report."""
    from orchestration.refresh.run import run_refresh, to_stderr
    from orchestration.runs.refresh_errors import RefreshFailed, RefreshInterrupted
    from orchestration.terminal.interruption import INTERRUPTED, sigterm_as_ctrl_c

    if yes and not forget:
        raise typer.BadParameter("it needs --forget", param_hint="--yes")
    console = output.console(is_error=as_json, is_optional=True)
    forgotten = None
    warn_of_environment()
    try:
        settings = read_settings(home, sources, full)
        settings = replace(settings, is_pulling=not (no_pull or from_marts), is_from_marts=from_marts)
        if forget:
            forgotten = _forget(settings, forget, is_confirmed=yes, as_json=as_json)
            if forgotten is None:
                return
        with sigterm_as_ctrl_c():
            outcome = run_refresh(settings, console)
    except (RefreshFailed, WrongSetting) as error:
        if as_json:
            output.say_json({"status": "failed", "message": str(error)})
        fail(str(error), INTERRUPTED if isinstance(error, RefreshInterrupted) else 1)
    if as_json:
        output.say_json(outcome.as_dict() | (forgotten or {}))
    else:
        outcome.print(console)
    if not sys.stdout.isatty():
        # cron mails stderr; a job usually sends stdout to /dev/null.
        output.say_lines([line for line in outcome.problem_lines() if line], is_error=True)
    if console.problem is not None:
        to_stderr(f"the output could not be written ({console.problem}); what was published is complete")
    is_stale = bool(outcome.failing or outcome.not_pulled) or any(row["is_stale"] for row in outcome.clusters)
    if outcome.not_computed or (strict and is_stale):
        raise typer.Exit(1)


def _forget(settings: HomeSettings, named: list[str], *, is_confirmed: bool, as_json: bool) -> dict[str, Any] | None:
    """Forget files, or list them; return their JSON form if a refresh follows, else print it and return None."""
    from assets.report.wording import plural
    from assets.sources.text.privacy_key import WrongKey
    from orchestration.refresh.forgetting import CannotForget, forget, has_logs
    from orchestration.runs.instance import UnreadableSettings
    from orchestration.upkeep.lock import RefreshRunning

    try:
        files, changed = forget(settings.home, named, is_confirmed=is_confirmed, key_file=settings.privacy_key)
    except (CannotForget, RefreshRunning, UnreadableSettings, WrongKey) as error:
        fail(str(error))
    answer = {"is_forgotten": is_confirmed, "files": [file.__dict__ for file in files], "changed_privacy": changed}
    is_followed = is_confirmed and has_logs(settings.home)
    if as_json and not is_followed:
        output.say_json(answer)
    if not as_json:
        what = plural(len(files), "file")
        if changed:
            what += ", and all publications, reports, logs of runs, alerts sent and Dagster's history"
        output.say_lines([f"{file.path}: {plural(file.loaded, 'line')}" for file in files])
        if is_confirmed:
            output.say(f"forgotten: {what}{'' if is_followed else '; no log is left to refresh from'}")
        else:
            output.say(f"would be forgotten: {what}; add --yes to do it")
    return answer if is_followed else None
