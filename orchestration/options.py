"""What the commands of `faultline` share: options, and how one fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

HomeOption = Annotated[
    Path | None, typer.Option("--home", help="Folder of everything Faultline keeps [env FAULTLINE_HOME, default data]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def fail(message: str) -> NoReturn:
    """Say on stderr what went wrong and leave with status 1."""
    Console(stderr=True, soft_wrap=True, highlight=False, markup=False).print(f"faultline: {message}")
    raise typer.Exit(1)


def answer(call: Callable[[], Any]) -> Any:
    """Run a command; a problem it can name becomes one line and status 1."""
    from orchestration.published import ReadingError

    try:
        return call()
    except ReadingError as error:
        fail(str(error))
