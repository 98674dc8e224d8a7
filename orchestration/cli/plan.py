"""`faultline plan`: what a run has to expect."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration import terminal
from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = "Example: `faultline plan --gpus 4096 --cluster mycluster --write 30s --days 14`"
# Far beyond any machine; what lies outside is a slip of the keyboard, of which floats would make infinities.
MOST_GPUS = 1_000_000_000
RATES = (1e-6, 1e6)
MOST_DAYS = 36_500


def plan(  # noqa: PLR0917
    gpus: Annotated[int, typer.Option("--gpus", min=1, max=MOST_GPUS, help="GPUs of the run.")],
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Take this cluster's measured rate [default: the only one].",
            autocompletion=complete_clusters,
        ),
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
    from orchestration.reading import plan as planning
    from orchestration.reading.plan_lines import print_plan

    if cluster is not None and rate is not None:
        raise typer.BadParameter("give --cluster or --rate, not both")
    _demand(
        "--rate", rate is None or RATES[0] <= rate <= RATES[1], f"a rate lies between {RATES[0]:g} and {RATES[1]:,.0f}"
    )
    _demand("--days", 0 < days <= MOST_DAYS, f"a run lasts longer than 0 days, and at most {MOST_DAYS:,}")
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
        file = settings_of(home).home.published_file
        try:
            found = answer(lambda: planning.plan_on_cluster(file, cluster, run))
        except planning.WrongQuestion as error:
            raise typer.BadParameter(terminal.visible(str(error))) from None
    if as_json:
        terminal.say_json(found, indent=2)
    else:
        print_plan(found)


def _minutes(option: str, text: str) -> float:
    """Read a duration given on the command line."""
    from orchestration.reading.plan import minutes_of

    try:
        return minutes_of(text)
    except ValueError as error:
        raise typer.BadParameter(terminal.visible(str(error)), param_hint=option) from None


def _demand(option: str, holds: bool, rule: str) -> None:
    """Refuse a value that an option cannot have."""
    if not holds:
        raise typer.BadParameter(rule, param_hint=option)
