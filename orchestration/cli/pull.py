"""`faultline pull`: fetch a cluster's logs from Slurm, here or over ssh."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration import terminal
from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, fail, settings_of

if TYPE_CHECKING:
    from rich.console import Console

    from assets.sources.settings import Pull, Untrusted
    from orchestration.home import Home
    from orchestration.pull.pulling import Pulled, Span

EXAMPLES = """Examples:

All clusters with `[pull]` in their cluster.toml: `faultline pull`

What would be run: `faultline pull gpu1 --ssh login1 --dry-run`

A year, of a cluster without `[pull]`: `faultline pull gpu1 --ssh faultline@login1 --since 365d`

Into another folder, to be copied from there: `faultline pull gpu1 --out /scratch/gpu1`
"""
_UNITS = {"": 1, "s": 1, "m": 60, "min": 60}


def pull(  # noqa: PLR0917
    cluster: Annotated[
        str | None,
        typer.Argument(
            help="The cluster [default: all with `[pull]` in cluster.toml].", autocompletion=complete_clusters
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write into DIR/sacct, DIR/events ... [default HOME/sources/CLUSTER]"),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="First day, as 2026-01-31 (UTC) or 90d [default: cluster.toml]")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", help="First day that is not wanted any more [default: up to now]")
    ] = None,
    ssh: Annotated[str | None, typer.Option("--ssh", help="HOST or USER@HOST that runs Slurm's commands")] = None,
    pause: Annotated[
        str | None, typer.Option("--pause", help="Rest between two queries, as 2s or 1m; less after quick ones")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Ask for days that are complete too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands, and run none of them.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch accounting, node events, nodes and the queue from Slurm into the sources folder, day by day.

    One query runs at a time. What was fetched is not asked for again, except for the last days: Slurm may write late.
    A pull that was stopped goes on where it was. Exit 1 when something could not be fetched.
    """
    from orchestration.interruption import INTERRUPTED, sigterm_as_ctrl_c
    from orchestration.pull.outcomes import keep_outcome
    from orchestration.pull.pulling import Span

    settings = settings_of(home)
    if out is not None and cluster is None:
        fail("--out needs the name of a cluster: faultline pull CLUSTER --out DIR", 2)
    chosen = {
        name: _with_options(found, ssh, pause) for name, found in _chosen(settings.home, cluster, out, ssh).items()
    }
    span = Span(_day(since, "--since"), _day(until, "--until"), again)
    folders = {name: (out or settings.home.sources / name).absolute() for name in chosen}
    if dry_run:
        _print_commands(chosen, folders, span, as_json)
        return
    results = []
    try:
        with sigterm_as_ctrl_c():
            for result in _pulls(chosen, folders, span, terminal.console(is_error=True)):
                results.append(result)
                if out is None:
                    keep_outcome(settings.home, result.cluster_id, result.outcome())
                _print(result, as_json)
    except KeyboardInterrupt:
        fail("stopped by Ctrl-C or SIGTERM; what was fetched stays, and the next pull goes on from there", INTERRUPTED)
    except OSError as error:
        fail(f"{settings.home.work} cannot be written ({error.strerror}); make it writable, or name another --home")
    if as_json:
        terminal.say_json([result.as_dict() for result in results])
    if any(result.problems for result in results):
        raise typer.Exit(1)


def _chosen(home: Home, cluster: str | None, out: Path | None, ssh: str | None) -> dict[str, Pull | Untrusted]:
    from assets.sources.settings import Pull, read_settings
    from orchestration.pull.clusters import clusters_to_pull

    if cluster is None:
        found = clusters_to_pull(home.sources)
        if not found:
            fail(
                f"no cluster in {home.sources} is to be pulled; add a line `[pull]` to its cluster.toml, with "
                '`ssh = "HOST"` below it where Slurm is on another machine, or run `faultline pull CLUSTER --ssh HOST`'
            )
        return found
    if cluster != Path(cluster).name or cluster.startswith("."):
        fail(f"{cluster!r} is no name of a cluster: it is the name of its folder in {home.sources}", 2)
    folder = home.sources / cluster
    if out is None and not folder.is_dir():
        fail(f"there is no folder {folder}; `faultline init {cluster}` makes it, or write elsewhere with --out")
    if not folder.is_dir():
        return {cluster: Pull()}
    settings, wrong = read_settings(folder, cluster)
    if wrong:
        fail("\n".join(str(error) for error in wrong))
    return {cluster: settings.pull or Pull()}


def _with_options(pull: Pull | Untrusted, ssh: str | None, pause: str | None) -> Pull | Untrusted:
    from pydantic import ValidationError

    from assets.sources.settings import Pull, Untrusted

    given = {"ssh": ssh, "pause_seconds": None if pause is None else _seconds(pause)}
    given = {name: value for name, value in given.items() if value is not None}
    if not given or isinstance(pull, Untrusted):
        return pull
    try:
        return Pull.model_validate({**pull.model_dump(), **given})
    except ValidationError as error:
        first = error.errors()[0]
        option = {"ssh": "--ssh", "pause_seconds": "--pause"}.get(str(first["loc"][0]), "the options")
        fail(f"{option} cannot be {first['input']!r}: {first['msg']}", 2)


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|min)?", text)
    if found is None:
        fail(f"--pause is a time such as 2s, 0.5s or 1m, not {text!r}", 2)
    return float(found[1]) * _UNITS[found[2] or ""]


def _day(text: str | None, option: str) -> date | None:
    if text is None:
        return None
    if ago := re.fullmatch(r"(\d{1,5})d", text):
        return datetime.now(UTC).date() - timedelta(days=int(ago[1]))
    try:
        return date.fromisoformat(text)
    except ValueError:
        fail(f"{option} is a day such as 2026-01-31, or a number of days such as 90d, not {text!r}", 2)


def _print_commands(chosen: dict[str, Pull | Untrusted], folders: dict[str, Path], span: Span, as_json: bool) -> None:
    from assets.sources.settings import Untrusted
    from orchestration.pull.dry_run import commands

    found = {}
    for name, settings in chosen.items():
        if isinstance(settings, Untrusted):
            fail(f"{name}: [pull] is not obeyed: {settings.what}; {settings.next_step}")
        found[name] = commands(settings, folders[name], span)
    if as_json:
        terminal.say_json(found)
        return
    for asked in found.values():
        for command in asked:
            terminal.say(command)


def _pulls(
    chosen: dict[str, Pull | Untrusted], folders: dict[str, Path], span: Span, console: Console
) -> Iterator[Pulled]:
    from orchestration.pull.clusters import pull_cluster
    from orchestration.pull.progress import PullProgress

    for name, settings in chosen.items():
        with PullProgress(name, console) as progress:
            result = pull_cluster(name, folders[name], settings, span=span, say=progress.say)
        yield result


def _print(result: Pulled, as_json: bool) -> None:
    from orchestration.pull.progress import lines_of

    if not as_json:
        terminal.say_lines(lines_of(result))
    for problem in result.problems:
        where = f"{result.cluster_id} {problem.kind}".strip()
        terminal.say(f"faultline: {where}: {problem.what}; {problem.next_step}", is_error=True)
