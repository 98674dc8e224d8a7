"""`faultline status`: the last publication, the last run, the age of the data."""

from __future__ import annotations

import typer

from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = "Example: `faultline status --json`"


def status(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show the last publication, the last run and how fresh the data is; exit 1 when the last run failed."""
    from orchestration.reading.status import show_status

    if not answer(lambda: show_status(settings_of(home).home, as_json)):
        raise typer.Exit(1)
