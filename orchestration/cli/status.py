"""`faultline status`: the last publication, the last run, the age of the data."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, JsonOption, answer, fail, settings_of
from orchestration.terminal.output import say

EXAMPLES = """Examples:

For a program: `faultline status --json`

For cron, every hour: `faultline status --alert`
"""


def status(
    home: HomeOption = None,
    as_json: JsonOption = False,
    alert: Annotated[
        bool,
        typer.Option(
            "--alert",
            help="Print nothing, unless the newest publication is older than FAULTLINE_FRESHNESS_HOURS:"
            " then send an alert once, say so on stderr and exit with 1.",
        ),
    ] = False,
) -> None:
    """Show the last publication, the last run and how fresh the data is.

    Exit 1 when the last run failed or a cluster is stale.
    """
    settings = settings_of(home)
    if alert:
        from orchestration.alerts.sending import tell_if_stale

        found = answer(lambda: tell_if_stale(settings, lambda text: say(text, is_error=True)))
        if found is not None:
            fail(found.line)
        if not settings.home.root.is_dir():
            fail(f"there is no home {settings.home.root}; name it with --home or FAULTLINE_HOME")
        return
    from orchestration.read_commands.status import show_status

    if not answer(lambda: show_status(settings.home, as_json, settings.freshness_hours)):
        raise typer.Exit(1)
