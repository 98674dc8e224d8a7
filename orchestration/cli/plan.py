"""`faultline plan`: the interruptions, checkpoints and ETTR of a planned run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of
from orchestration.terminal import output

EXAMPLES = (
    "Examples: `faultline plan --gpus 4096 --cluster mycluster --write 30s --days 14`; "
    "`faultline plan --gpus 131072 --rate 6.5 --queue 30m --spares 4`"
)
# Far beyond any machine: a larger value is a typing error, which floats would turn into infinity.
MAX_GPUS = 1_000_000_000
RATES = (1e-6, 1e6)
MAX_DAYS = 36_500


def plan(  # noqa: PLR0917
    gpus: Annotated[int, typer.Option("--gpus", min=1, max=MAX_GPUS, help="GPUs of the run.")],
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="Take this cluster's measured rate [default: the only one].",
            autocompletion=complete_clusters,
        ),
    ] = None,
    rate: Annotated[float | None, typer.Option("--rate", help="Or this rate, in failures per 1,000 node-days.")] = None,
    write: Annotated[
        str | None,
        typer.Option("--write", help="How long one checkpoint stops the work [default: the cluster's setting; 5m]."),
    ] = None,
    restart: Annotated[
        str | None,
        typer.Option(
            "--restart", help="From an attempt's start to its first step [default: the cluster's setting; 5m]."
        ),
    ] = None,
    queue: Annotated[
        str | None,
        typer.Option("--queue", help="Time in the queue before each attempt that finds no spare node [default: 0m]."),
    ] = None,
    spares: Annotated[
        str | None, typer.Option("--spares", metavar="N|none", help="Spare nodes that are held ready [default: none].")
    ] = None,
    repair: Annotated[
        str | None,
        typer.Option("--repair", help="How long a failed node is out [default: the cluster's mean; 24h]."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option("--checkpoint", help="Judge this interval, too [default: Young's; 60m if writes are free]."),
    ] = None,
    days: Annotated[float, typer.Option("--days", help="Days for which the run holds its nodes.")] = 30,
    target: Annotated[float, typer.Option("--target", help="ETTR to reach, between 0 and 1.")] = 0.9,
    gpus_per_node: Annotated[
        int | None, typer.Option("--gpus-per-node", min=1, help="[default: the cluster's; 8 with --rate]")
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict a run's interruptions and ETTR, and how often it should write checkpoints.

    Write durations as 30s, 5m, 1h. The answer lists the values that it assumes, and the effect of each.
    """
    from orchestration.read_commands import plan as planning
    from orchestration.read_commands.run_to_plan import RunToPlan, minutes_of, spares_of
    from orchestration.read_commands.saying import say_answer

    if cluster is not None and rate is not None:
        raise typer.BadParameter("give --cluster or --rate, not both")
    _demand(
        "--rate", rate is None or RATES[0] <= rate <= RATES[1], f"a rate lies between {RATES[0]:g} and {RATES[1]:,.0f}"
    )
    _demand("--days", 0 < days <= MAX_DAYS, f"a run lasts longer than 0 days, and at most {MAX_DAYS:,}")
    _demand("--target", 0 < target < 1, "an ETTR lies between 0 and 1")
    costs = {
        "write_minutes": _read("--write", write, minutes_of),
        "restart_minutes": _read("--restart", restart, minutes_of),
        "queue_minutes": _read("--queue", queue, minutes_of),
        "spare_count": _read("--spares", spares, spares_of),
        "repair_hours": _read("--repair", repair, lambda text: minutes_of(text) / 60),
    }
    run = RunToPlan(
        gpus, days, target, _read("--checkpoint", checkpoint, minutes_of), gpus_per_node,
        given={name: value for name, value in costs.items() if value is not None},
    )  # fmt: skip
    _demand("--checkpoint", run.checkpoint_minutes != 0, "an interval is longer than 0")
    if rate is not None:
        found = planning.plan_at_rate(rate, run)
    else:
        settings = settings_of(home)
        file = settings.home.published_file
        try:
            found = answer(lambda: planning.plan_on_cluster(file, cluster, run, settings.freshness_hours))
        except planning.WrongQuestion as error:
            raise typer.BadParameter(output.visible(str(error))) from None
    if as_json:
        output.say_json(found, indent=2)
    else:
        say_answer("plan", **found)


def _read(option: str, text: str | None, reading: Callable[[str], float]) -> float | None:
    """Read a value given on the command line."""
    try:
        return None if text is None else reading(text)
    except ValueError as error:
        raise typer.BadParameter(output.visible(str(error)), param_hint=option) from None


def _demand(option: str, holds: bool, rule: str) -> None:
    """Refuse a value that an option cannot have."""
    if not holds:
        raise typer.BadParameter(rule, param_hint=option)
