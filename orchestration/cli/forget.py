"""`faultline forget`: delete what was read of files that are gone from the sources folder, and of older versions."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration import terminal
from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, SourcesOption, fail, settings_of

EXAMPLES = """Examples:

What would be forgotten: `faultline forget gpu1 'sacct/2023-*'`

Forget it, and publish without it: `faultline forget gpu1 'sacct/2023-*' --yes && faultline refresh`
"""


def forget(  # noqa: PLR0917
    cluster: Annotated[str, typer.Argument(help="The cluster.", autocompletion=complete_clusters)],
    paths: Annotated[
        list[str] | None, typer.Argument(help="Files below the cluster's folder, `*` for any text [default: all]")
    ] = None,
    sources: SourcesOption = None,
    home: HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only say what would be forgotten.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Forget what was read of files that are gone from the sources folder, and of older versions of files."""
    from assets.report.wording import plural
    from orchestration.refresh.forgetting import CannotForget
    from orchestration.refresh.forgetting import forget as forget_files
    from orchestration.upkeep.lock import RefreshRunning

    try:
        found = forget_files(settings_of(home, sources).home, cluster, paths or [], is_confirmed=yes)
    except (CannotForget, RefreshRunning) as error:
        fail(str(error))
    if as_json:
        terminal.say_json({"is_forgotten": yes, "files": [file.__dict__ for file in found]})
        return
    console = terminal.console()
    for file in found:
        console.print(f"{file.path}: {plural(file.loaded, 'line')}")
    files = plural(len(found), "file")
    console.print(
        f"forgotten: {files}; run `faultline refresh` to publish without what was read"
        if yes
        else f"would be forgotten: {files}; add --yes to do it"
    )
