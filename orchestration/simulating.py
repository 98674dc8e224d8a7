"""A simulation from the command line: the simulator's work behind a bar that tells how long it will take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from orchestration.terminal import console as make_console

if TYPE_CHECKING:
    from assets.simulation.run import Summary


def simulate_with_progress(
    profile: str, out: Path, *, days: int | None, scale: float, seed: int, dirt: float
) -> Summary:
    """Simulate a profile and show the progress on stderr, if a person is looking.

    Raises
    ------
    ValueError, FileExistsError
        As `assets.simulation.simulate`.
    """
    from assets.simulation import simulate

    console = make_console(is_error=True)
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
        return simulate(
            profile,
            out,
            days=days,
            scale=scale,
            seed=seed,
            dirt=dirt,
            progress=lambda done: bar.update(task, completed=done),
        )
