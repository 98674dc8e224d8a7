"""`faultline doctor`: what is missing or wrong, and what to do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = "Example: `faultline doctor --sources /var/log/clusters`"


def doctor(
    sources: Annotated[Path | None, typer.Option("--sources", help="Folder of the clusters' logs.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is missing or wrong in the sources and the set-up, and the command that fixes it."""
    from orchestration.doctor.doctor import show_doctor

    if not answer(lambda: show_doctor(settings_of(home, sources).home, as_json)):
        raise typer.Exit(1)
