"""What the commands of `faultline` share: options, and how one fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from assets.sources.masking import mask
from orchestration.environment import HomeSettings, WrongSetting, read_settings
from orchestration.terminal import say

HomeOption = Annotated[
    Path | None, typer.Option("--home", help="Folder of everything Faultline keeps [env FAULTLINE_HOME, default data]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def fail(message: str, status: int = 1) -> NoReturn:
    """Say on stderr what went wrong, secrets masked, and leave with a status, by default 1."""
    say(f"faultline: {mask(message)}", is_error=True)
    raise typer.Exit(status)


def settings_of(home: Path | None, sources: Path | None = None, is_full: bool = False) -> HomeSettings:
    """Take the settings of the options and the environment; say so where one cannot be."""
    try:
        return read_settings(home, sources, is_full)
    except WrongSetting as error:
        fail(str(error))


def answer(call: Callable[[], Any], *, writes: bool = False) -> Any:
    """Run a command; a problem it can name becomes one line and status 1, and Ctrl-C ends it.

    Parameters
    ----------
    call
        What the command does.
    writes
        It changes files: after Ctrl-C it is given the time to leave them as they were.
    """
    from orchestration.interruption import heed_interruption
    from orchestration.reading.published import ReadingError

    try:
        return heed_interruption(call, is_patient=writes)
    except ReadingError as error:
        fail(str(error))
