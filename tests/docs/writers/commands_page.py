"""The page docs/commands.md: every command of `faultline` with its arguments, options, defaults and examples.

The text comes from the commands, as in `--help`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer
from typer.core import TyperCommand

from orchestration.cli import app
from orchestration.terminal.interruption import INTERRUPTED
from tests.docs.writers.pages import table

INTRODUCTION = f"""# Commands

`make docs` writes this page from the commands. `faultline COMMAND --help` prints the same for one command.
`faultline --version` prints the version and a hash of the code, and `faultline --install-completion` lets Tab complete
commands, options, clusters, tables and profiles.

The exit status is 0 for success, 1 for failure, 2 for wrong usage and {INTERRUPTED} after Ctrl-C. After a failure,
stderr says what failed, why, and what to do next. [Configuration](configuration.md#variables-of-the-environment)
explains the variables after `env`, and [troubleshooting](troubleshooting.md) explains the messages.
"""
OVERVIEW, TAKEN = ("command", "what it does"), ("argument or option", "takes", "meaning")


def commands() -> dict[str, TyperCommand]:
    """Return the commands by name, in the order of `faultline --help`."""
    found = typer.main.get_group(app).commands
    return {
        name: command for name, command in found.items() if isinstance(command, TyperCommand) and not command.hidden
    }


def page() -> str:
    """Return the whole page."""
    found = commands()
    rows = ((f"[{name}](#{name})", command.get_short_help_str(200)) for name, command in found.items())
    overview = table(OVERVIEW, rows, OVERVIEW)
    return "\n".join([INTRODUCTION, overview, *(_section(name, command) for name, command in found.items())])


def _section(name: str, command: TyperCommand) -> str:
    context = typer.Context(command, info_name=f"faultline {name}")
    usage = command.get_usage(context).removeprefix("Usage: ")
    parts = [f"## {name}", f"`{usage}`", command.help, table(TAKEN, _taken(command, context), TAKEN), command.epilog]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _taken(command: TyperCommand, context: typer.Context) -> Iterator[tuple[str, str, str]]:
    for parameter in command.params:
        if record := parameter.get_help_record(context):
            name, _, takes = record[0].partition(" ")
            yield f"`{name}`", takes.strip("<>"), re.sub(r"\s+", " ", record[1])
