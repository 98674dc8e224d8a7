"""`faultline doctor`: what is missing or wrong, and what to do."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, SourcesOption, answer, settings_of

EXAMPLES = """Examples:

Before the first refresh: `faultline doctor --sources /var/log/clusters`

Signals of one cluster that no rule knows, as lines for its cluster.toml: `faultline doctor gpu1 --rules`
"""


def doctor(
    cluster: Annotated[
        str | None,
        typer.Argument(help="Leave out findings on other clusters.", autocompletion=complete_clusters),
    ] = None,
    *,
    sources: SourcesOption = None,
    home: HomeOption = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Print lines to paste for signals that no rule knows; --json has them, too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what is missing or wrong in the sources and the set-up, and the command that fixes it.

    Exit 1 when a finding is an error, not a warning or a note.
    """
    from orchestration.doctor.doctor import show_doctor

    if not answer(lambda: show_doctor(settings_of(home, sources).home, cluster, shows_rules=rules, as_json=as_json)):
        raise typer.Exit(1)
