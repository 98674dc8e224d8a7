"""`faultline simulate`: raw logs of simulated clusters, and the planted truth."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.completion import complete_profiles
from orchestration.cli.options import JsonOption, fail
from orchestration.terminal import output

if TYPE_CHECKING:
    from assets.simulation.run import Summary

EXAMPLES = """Examples:

Two small clusters, ready in seconds: `faultline simulate demo --out data`

A month of a tenth of the nodes: `faultline simulate rsc1 --out /data/simulated --days 30 --scale 0.1`

One line in 10,000 spoiled: `faultline simulate rsc2 --out /data/simulated --seed 7 --dirt 1e-4`
"""


def simulate(  # noqa: PLR0917
    profile: Annotated[
        str,
        typer.Argument(
            help="What to simulate: **rsc1** (2,000 nodes, 334 days), **rsc2** (1,000 nodes, 334 days), **demo** "
            "(two small clusters, the last 90 days).",
            autocompletion=complete_profiles,
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
    until: Annotated[
        datetime | None,
        typer.Option(
            "--until",
            formats=["%Y-%m-%d"],
            metavar="DATE",
            help="Midnight at which the logs end [default: the last one for demo, else the profile's].",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Same seed, same bytes.")] = 1,
    dirt: Annotated[
        float,
        typer.Option(
            "--dirt", min=0.0, max=0.5, help="Share of the lines to spoil: cut off, doubled, empty, wrong bytes, pipes."
        ),
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Write the raw logs of simulated clusters, and the planted truth into another folder."""
    end = until.date() if until else datetime.now(UTC) if profile == "demo" else None
    try:
        summary = simulate_with_progress(profile, out, days=days, scale=scale, seed=seed, dirt=dirt, until=end)
    except (ValueError, OverflowError, OSError, RuntimeError) as error:
        fail(str(error))
    if as_json:
        output.say_json(summary.as_dict())
    else:
        output.say(summary.text())


def simulate_with_progress(
    profile: str, out: Path, *, days: int | None, scale: float, seed: int, dirt: float, until: date | datetime | None
) -> Summary:
    """Simulate a profile and show the progress on stderr if it is a terminal.

    Raises
    ------
    ValueError, FileExistsError
        As `assets.simulation.simulate`.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from assets.simulation import simulate as run_simulation

    console = output.console(is_error=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"simulating {profile}", total=1.0)
        return run_simulation(
            profile,
            out,
            days=days,
            scale=scale,
            seed=seed,
            dirt=dirt,
            until=until,
            progress=lambda done: bar.update(task, completed=done),
        )
