"""`faultline rollback`: show readers an earlier publication."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, fail, settings_of
from orchestration.terminal import output

EXAMPLES = "Example: `faultline rollback 41`"


def rollback(
    publication: Annotated[
        str | None,
        typer.Argument(help="Its number, or the beginning of its run [default: the one before the current one]."),
    ] = None,
    home: HomeOption = None,
) -> None:
    """Show readers an earlier publication, warehouse and report, until new logs come."""
    from orchestration.metrics.collecting import keep_metrics
    from orchestration.publication.rollback import RollbackFailed, run_rollback

    settings = settings_of(home)
    try:
        output.say(run_rollback(settings.home, publication))
    except RollbackFailed as error:
        fail(str(error))
    keep_metrics(settings, lambda text: output.say(text, is_error=True))
