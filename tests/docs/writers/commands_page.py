"""The page docs/commands.md: every command of `faultline` with what it takes, defaults and examples.

What it says is what `--help` says: it comes from the commands themselves. `python -m tests.docs.writers.commands_page`
prints the page, and `--write FILE` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer
from typer.core import TyperCommand

from orchestration.cli import app
from orchestration.terminal.interruption import INTERRUPTED
from tests.docs.writers.pages import run_page_command, table

INTRODUCTION = f"""# Commands

This page is written by `make commands` from the commands themselves; `faultline COMMAND --help` prints the same of one.
`faultline --version` prints the version and a hash of the code, and `faultline --install-completion` lets Tab complete
commands, options, clusters, tables and profiles.

The exit status is 0 for done and 2 for wrong usage. It is 1 for failed: stderr says what, why and what to do next. It
is {INTERRUPTED} after Ctrl-C. [Configuration](configuration.md#variables-of-the-environment) explains the variables
that stand after `env`, and [troubleshooting](troubleshooting.md) the messages.
"""
TAKEN = ("argument or option", "takes", "meaning")


def commands() -> dict[str, TyperCommand]:
    """Give the commands by name, in the order of `faultline --help`."""
    found = typer.main.get_group(app).commands
    return {
        name: command for name, command in found.items() if isinstance(command, TyperCommand) and not command.hidden
    }


def page() -> str:
    """Return the whole page."""
    return "\n".join([INTRODUCTION, *(_section(name, command) for name, command in commands().items())])


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


if __name__ == "__main__":
    run_page_command("tests.docs.writers.commands_page", __doc__, page)
