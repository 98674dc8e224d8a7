"""Shared parts of the commands: options, settings, and how a command fails."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from assets.sources.text.masking import mask
from orchestration.settings.environment import (
    HomeSettings,
    WrongSetting,
    is_home_set,
    read_settings,
    warnings_of_environment,
)
from orchestration.terminal.output import say, silence, streams

HomeOption = Annotated[
    Path | None,
    # A reader of the publish group may enter a home, but not list it.
    typer.Option(
        "--home", readable=False, help="Folder of everything Faultline keeps [env FAULTLINE_HOME, default data]"
    ),
]
SourcesOption = Annotated[
    Path | None,
    typer.Option(
        "--sources",
        help="Folder of the clusters' logs [env FAULTLINE_SOURCES where --home is not given, default HOME/sources]",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def _require_host(host: str | None) -> str | None:
    """Return the host; fail if ssh would take it for something else, such as an option."""
    if host is not None:
        from pydantic import ValidationError

        from assets.sources.settings import Pull

        try:
            Pull(ssh=host)
        except ValidationError:
            fail(f"--ssh cannot be {host!r}: it is HOST or USER@HOST", 2)
    return host


SshOption = Annotated[
    str | None,
    typer.Option(
        "--ssh",
        callback=_require_host,
        help="HOST or USER@HOST that runs Slurm's commands [default: cluster.toml, else this machine].",
    ),
]


def run_app(app: typer.Typer, name: str) -> None:
    """Run a command line by its name; an operating-system error in any command becomes one line."""
    try:
        with streams():
            app(prog_name=name)
    except OSError as error:
        silence(sys.stdout)
        what = error.strerror or str(error)
        where = "the output cannot be written" if error.filename is None else error.filename
        say(f"faultline: {mask(f'{where}: {what}')}; look at its permissions and its disk", is_error=True)
        raise SystemExit(1) from None


def fail(message: str, status: int = 1) -> NoReturn:
    """Print an error on stderr, with secrets masked, and exit with a status."""
    say(f"faultline: {mask(message)}", is_error=True)
    raise typer.Exit(status)


def warn_of_environment() -> None:
    """Say on stderr which environment variables are no setting."""
    for warning in warnings_of_environment():
        say(f"faultline: {warning}", is_error=True)


def settings_of(home: Path | None, sources: Path | None = None) -> HomeSettings:
    """Read the settings from the options and the environment; exit with a message if a value is not allowed."""
    warn_of_environment()
    try:
        return read_settings(home, sources)
    except WrongSetting as error:
        fail(str(error))


def answer(call: Callable[[], Any], *, writes: bool = False) -> Any:
    """Run a command. A `ReadingError` becomes one line and status 1, and Ctrl-C ends the command.

    Parameters
    ----------
    call
        The work of the command.
    writes
        The command changes files: after Ctrl-C, wait until it has undone unfinished changes.
    """
    from orchestration.read_commands.published import NothingPublished, ReadingError
    from orchestration.terminal.interruption import run_interruptibly

    try:
        return run_interruptibly(call, is_patient=writes)
    except NothingPublished as error:
        if is_home_set() or str(read_settings().home.root) not in str(error):
            fail(str(error))
        what, _, step = str(error).rpartition("; ")
        fail(f"{what}; FAULTLINE_HOME is not set: export it, or give --home; in a new home, {step}")
    except ReadingError as error:
        fail(str(error))
