"""`faultline doctor`: what is missing or wrong, and what to do."""

from __future__ import annotations

import typer

from orchestration.cli.options import HomeOption, JsonOption, SourcesOption, answer, settings_of

EXAMPLES = "Example: `faultline doctor --sources /var/log/clusters`"


def doctor(
    sources: SourcesOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is missing or wrong in the sources and the set-up, and the command that fixes it.

    Exit 1 when a finding is an error, not a warning or a note.
    """
    from orchestration.doctor.doctor import show_doctor

    if not answer(lambda: show_doctor(settings_of(home, sources).home, as_json)):
        raise typer.Exit(1)
