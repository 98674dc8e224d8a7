"""The command `faultline`: one screen of commands, each a call into the room that does the work.

Exit status 0 done, 1 failed (what, why and what to do next on stderr), 2 wrong usage.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestration import cli_engines, terminal
from orchestration.environment import choose_home
from orchestration.options import HomeOption, JsonOption, answer, fail
from orchestration.ui import command as ui

app = typer.Typer(
    name="faultline",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Turns the raw logs of a Slurm GPU cluster into a study of its reliability.",
)


@app.command(epilog="Example: `faultline refresh --sources /var/log/clusters --home /srv/faultline`")
def refresh(
    sources: Annotated[
        Path | None, typer.Option("--sources", help="Folder with one folder of logs per cluster [default HOME/sources]")
    ] = None,
    home: HomeOption = None,
    full: Annotated[bool, typer.Option("--full", help="Read every file again and rebuild all.")] = False,
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 1 when a cluster could not be built, though others are published."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Ingest what is new, build, fit, validate, publish and write the report."""
    from orchestration.interruption import INTERRUPTED
    from orchestration.refreshing import RefreshFailed, RefreshInterrupted, run_refresh

    chosen = choose_home(home, sources, full)
    console = terminal.console(is_error=as_json)
    try:
        outcome = run_refresh(chosen, full=full, console=console)
    except RefreshFailed as error:
        if as_json:
            terminal.say_json({"status": "failed", "message": str(error)})
        fail(str(error), INTERRUPTED if isinstance(error, RefreshInterrupted) else 1)
    if as_json:
        terminal.say_json(outcome.as_dict())
    else:
        outcome.print(console)
    if strict and outcome.failing:
        raise typer.Exit(1)


FORGET_EXAMPLES = """Examples:

What would be forgotten: `faultline forget gpu1 'sacct/2023-*'`

Forget it, and publish without it: `faultline forget gpu1 'sacct/2023-*' --yes && faultline refresh`
"""


@app.command(epilog=FORGET_EXAMPLES)
def forget(
    cluster: Annotated[str, typer.Argument(help="The cluster.")],
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files below the cluster's folder, `*` for any text [default: all]")
    ] = None,
    home: HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would be forgotten.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Forget what was read of files that are gone from the sources folder."""
    from orchestration.forgetting import CannotForget
    from orchestration.forgetting import forget as forget_files
    from orchestration.lock import RefreshRunning

    try:
        found = forget_files(choose_home(home, None), cluster, paths or [], is_meant=yes)
    except (CannotForget, RefreshRunning) as error:
        fail(str(error))
    if as_json:
        terminal.say_json({"is_forgotten": yes, "files": [file.__dict__ for file in found]})
        return
    console = terminal.console()
    for file in found:
        console.print(f"{file.path}: {file.loaded:,} lines")
    console.print(
        f"{len(found):,} files are forgotten; run `faultline refresh` to publish without them"
        if yes
        else f"{len(found):,} files would be forgotten; add --yes to do it"
    )


SIMULATE_EXAMPLES = """Examples:

Two small clusters, ready in seconds: `faultline simulate demo --out data`

A month of a tenth of the nodes: `faultline simulate rsc1 --out /data/simulated --days 30 --scale 0.1`

One line in 10,000 spoiled: `faultline simulate rsc2 --out /data/simulated --seed 7 --dirt 1e-4`
"""


@app.command(epilog=SIMULATE_EXAMPLES)
def simulate(  # noqa: PLR0917
    profile: Annotated[
        str,
        typer.Argument(
            help="What to simulate: **rsc1** (2,000 nodes, 334 days), **rsc2** (1,000 nodes, 334 days), **demo** "
            "(two small clusters, 90 days), or one of them that is harder to read: **rsc2-default**, "
            "**rsc2-hard**, **demo-default**, **demo-hard**."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="Writes OUT/sources/CLUSTER and OUT/truth/CLUSTER; real logs stay as they are."),
    ],
    days: Annotated[
        int | None, typer.Option("--days", min=1, help="Length of the logs [default: the profile's].")
    ] = None,
    scale: Annotated[float, typer.Option("--scale", min=0.01, help="Share of the profile's nodes and jobs.")] = 1.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same bytes.")] = 1,
    dirt: Annotated[
        float,
        typer.Option(
            "--dirt", min=0.0, max=0.5, help="Share of the lines to spoil: cut off, doubled, empty, wrong bytes, pipes."
        ),
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Write the raw logs of simulated clusters, and the truth planted in them apart."""
    from orchestration.simulating import simulate_with_progress

    try:
        summary = simulate_with_progress(profile, out, days=days, scale=scale, seed=seed, dirt=dirt)
    except (ValueError, OSError, RuntimeError) as error:
        fail(str(error))
    if as_json:
        terminal.say_json(summary.as_dict())
    else:
        terminal.say(summary.text())


@app.command(
    epilog='Example: `faultline query "select state, count(*) from marts.fct_attempts group by 1" --format csv`'
)
def query(
    sql: Annotated[str, typer.Argument(help="One SELECT.")],
    home: HomeOption = None,
    fmt: Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="How to print the rows.")] = "table",
) -> None:
    """Ask the published warehouse; works while a refresh runs."""
    from orchestration import reading

    answer(lambda: reading.run_query(choose_home(home, None).published_file, sql, fmt))


@app.command(epilog="Example: `faultline plan --gpus 4096 --cluster mycluster --write 30s --days 14`")
def plan(  # noqa: PLR0917
    gpus: Annotated[int, typer.Option("--gpus", min=1, help="GPUs of the run.")],
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Take this cluster's measured rate [default: the only one].")
    ] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Or this rate, in failures per 1,000 node-days.")] = None,
    write: Annotated[str, typer.Option("--write", help="How long one checkpoint stops the work.")] = "5m",
    restart: Annotated[str, typer.Option("--restart", help="From an attempt's start to its first step.")] = "5m",
    queue: Annotated[str, typer.Option("--queue", help="Time in the queue before each attempt.")] = "0m",
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", help="Judge this interval, too [default: Young's; 60m where writes are free]."),
    ] = None,
    days: Annotated[float, typer.Option("--days", help="Days for which the run holds its nodes.")] = 30,
    target: Annotated[float, typer.Option("--target", help="ETTR to reach, between 0 and 1.")] = 0.9,
    gpus_per_node: Annotated[
        int | None, typer.Option("--gpus-per-node", min=1, help="[default: the cluster's; 8 with --rate]")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what a run has to expect: interruptions, how often to checkpoint, what ETTR.

    Durations are written 30s, 5m, 1h.
    """
    from orchestration import plan as planning
    from orchestration.plan_lines import print_plan

    if cluster is not None and rate is not None:
        raise typer.BadParameter("give --cluster or --rate, not both")
    _demand("--rate", rate is None or 0 < rate < float("inf"), "a rate is above 0")
    _demand("--days", 0 < days < float("inf"), "a run lasts longer than 0 days")
    _demand("--target", 0 < target < 1, "an ETTR lies between 0 and 1")
    run = planning.RunToPlan(
        gpu_count=gpus,
        restart_minutes=_minutes("--restart", restart),
        write_minutes=_minutes("--write", write),
        queue_minutes=_minutes("--queue", queue),
        checkpoint_minutes=None if checkpoint is None else _minutes("--checkpoint", checkpoint),
        planned_days=days,
        ettr_target=target,
        gpus_per_node=gpus_per_node,
    )
    _demand("--checkpoint", run.checkpoint_minutes != 0, "an interval is longer than 0")
    if rate is not None:
        found = planning.plan_at_rate(rate, run)
    else:
        file = choose_home(home, None).published_file
        try:
            found = answer(lambda: planning.plan_on_cluster(file, cluster, run))
        except planning.WrongQuestion as error:
            raise typer.BadParameter(terminal.visible(str(error))) from None
    if as_json:
        terminal.say_json(found, indent=2)
    else:
        print_plan(found)


@app.command(epilog="Example: `faultline lemons --cluster mycluster --limit 10`")
def lemons(
    cluster: Annotated[str | None, typer.Option("--cluster", help="This cluster only [default: all].")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Describe at most so many nodes per cluster.")] = 30,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the nodes to take out, with reasons and a line for Slurm; say so where the data cannot tell."""
    from orchestration import lemon_list
    from orchestration.plan import WrongQuestion

    file = choose_home(home, None).published_file
    try:
        answers = answer(lambda: lemon_list.list_lemons(file, cluster, limit))
    except WrongQuestion as error:
        raise typer.BadParameter(terminal.visible(str(error))) from None
    if as_json:
        terminal.say_json(lemon_list.as_json(answers), indent=2)
    else:
        lemon_list.print_lemons(answers)


@app.command(epilog="Example: `faultline tables --json`")
def tables(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List what is published: tables, rows, what one row is."""
    from orchestration import reading

    answer(lambda: reading.show_tables(choose_home(home, None).published_file, as_json))


@app.command(epilog="Example: `faultline where marts.fct_failures`")
def where(
    table: Annotated[str, typer.Argument(help="schema.table, or the table's name alone.")], as_json: JsonOption = False
) -> None:
    """Print the file that defines a table."""
    from orchestration import reading

    answer(lambda: reading.show_where(table, as_json))


@app.command(epilog="Example: `faultline status --json`")
def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show the last publication, the last run and how fresh the data is; exit 1 when the last run failed."""
    from orchestration import reading

    if not answer(lambda: reading.show_status(choose_home(home, None), as_json)):
        raise typer.Exit(1)


@app.command(epilog="Example: `faultline rollback 41`")
def rollback(
    publication: Annotated[
        str | None,
        typer.Argument(help="Its number, or the beginning of its run [default: the one before what readers see]."),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Let readers see an earlier publication, warehouse and report, until new logs come."""
    from orchestration.rolling_back import RollbackFailed, run_rollback

    try:
        terminal.say(run_rollback(choose_home(home, None), publication))
    except RollbackFailed as error:
        fail(str(error))


@app.command(epilog="Example: `faultline doctor --sources /var/log/clusters`")
def doctor(
    sources: Annotated[Path | None, typer.Option("--sources", help="Folder of the clusters' logs.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is missing or wrong in the sources and the set-up, and the command that fixes it."""
    from orchestration import reading

    if not answer(lambda: reading.show_doctor(choose_home(home, sources), as_json)):
        raise typer.Exit(1)


app.command("export-raw", epilog=cli_engines.EXPORT_EXAMPLE)(cli_engines.export_raw)
app.command("import-marts", epilog=cli_engines.IMPORT_EXAMPLE)(cli_engines.import_marts)


app.command("ui", epilog=ui.EXAMPLES)(ui.ui)


def _minutes(option: str, text: str) -> float:
    """Read a duration given on the command line."""
    from orchestration.plan import minutes_of

    try:
        return minutes_of(text)
    except ValueError as error:
        raise typer.BadParameter(terminal.visible(str(error)), param_hint=option) from None


def _demand(option: str, holds: bool, rule: str) -> None:
    """Refuse a value that an option cannot have."""
    if not holds:
        raise typer.BadParameter(rule, param_hint=option)


def main() -> None:
    """Entry point of the console script."""
    with terminal.streams():
        app()
