"""`faultline pull`: fetch a cluster's logs from Slurm, here or over ssh."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, SshOption, fail, settings_of
from orchestration.terminal import output

if TYPE_CHECKING:
    from assets.sources.settings import Pull, Untrusted
    from orchestration.settings.home import Home

EXAMPLES = """Examples:

All clusters with `[pull]` in their cluster.toml: `faultline pull`

Print the commands, and run none: `faultline pull gpu1 --ssh login1 --dry-run`

A year, of a cluster without `[pull]`: `faultline pull gpu1 --ssh faultline@login1 --since 365d`

Into another folder, to be copied from there: `faultline pull gpu1 --out /scratch/gpu1`
"""


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
        str | None, typer.Option("--until", help="First day that is not fetched any more [default: up to now]")
    ] = None,
    ssh: SshOption = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch complete days again, too.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands, and run none of them.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch accounting, node events, nodes and the queue from Slurm into the sources folder, day by day.

    One query runs at a time. Days that were fetched are not fetched again, except for the last ones: Slurm may write
    late. A pull that was stopped continues where it was. Exit 1 when something could not be fetched.
    """
    from orchestration.pull.clusters import ClusterPull, Span, pull_all
    from orchestration.pull.host import PullFailed
    from orchestration.pull.outcomes import lines_of
    from orchestration.terminal.interruption import INTERRUPTED, sigterm_as_ctrl_c

    found = settings_of(home).home
    if out is not None and cluster is None:
        fail("--out needs the name of a cluster: faultline pull CLUSTER --out DIR", 2)
    chosen = _chosen(found, cluster, out, ssh)
    span = Span(_day(since, "--since"), _day(until, "--until"), again)
    if dry_run:
        try:
            commands = {
                name: ClusterPull(name, out or found.sources / name, pull, output.say).commands(span)
                for name, pull in chosen.items()
            }
        except PullFailed as error:
            fail(str(error))
        output.say_json(commands) if as_json else output.say_lines(chain.from_iterable(commands.values()))
        return
    try:
        with sigterm_as_ctrl_c(), output.console(is_error=True).status("pulling") as status:
            results = pull_all(chosen, found, lambda line: status.update(Text(line)), span=span, out=out)
    except KeyboardInterrupt:
        fail("stopped by Ctrl-C or SIGTERM; what was fetched stays, and the next pull continues there", INTERRUPTED)
    if as_json:
        output.say_json([asdict(result) for result in results])
    for result in results:
        if not as_json:
            output.say_lines(lines_of(result))
        for each in result.problems:
            where = f"{result.cluster_id} {each['kind']}".strip()
            output.say(f"faultline: {where}: {each['what']}; {each['next_step']}", is_error=True)
    if any(result.problems for result in results):
        raise typer.Exit(1)


def _chosen(home: Home, cluster: str | None, out: Path | None, ssh: str | None) -> dict[str, Pull | Untrusted]:
    from assets.sources.settings import Pull, read_settings
    from orchestration.pull.clusters import clusters_to_pull

    if cluster is None:
        found = clusters_to_pull(home.sources)
        if not found:
            fail(
                f"no cluster in {home.sources} has a table [pull]; add a line `[pull]` to its cluster.toml, with "
                '`ssh = "HOST"` below it where Slurm is on another machine, or run `faultline pull CLUSTER --ssh HOST`'
            )
    elif cluster != Path(cluster).name or cluster.startswith("."):
        fail(f"{cluster!r} is no name of a cluster: it is the name of its folder in {home.sources}", 2)
    elif out is None and not (home.sources / cluster).is_dir():
        fail(f"there is no folder {home.sources / cluster}; `faultline init {cluster}` makes it, or give --out")
    else:
        settings, wrong = read_settings(home.sources / cluster, cluster)
        if wrong:
            fail("\n".join(str(error) for error in wrong))
        found = {cluster: settings.pull or Pull()}
    if ssh is None:
        return found
    return {
        name: pull.model_copy(update={"ssh": ssh}) if isinstance(pull, Pull) else pull for name, pull in found.items()
    }


def _day(text: str | None, option: str) -> date | None:
    if text is None:
        return None
    if ago := re.fullmatch(r"(\d{1,5})d", text):
        return datetime.now(UTC).date() - timedelta(days=int(ago[1]))
    try:
        return date.fromisoformat(text)
    except ValueError:
        fail(f"{option} is a day such as 2026-01-31, or a number of days such as 90d, not {text!r}", 2)
