"""`faultline alerts`: where alerts go, what was sent, and a test of the channels."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, JsonOption, SourcesOption, answer, fail, settings_of
from orchestration.terminal import say_json, say_lines

EXAMPLES = "Example: `faultline alerts --test`"
SHOWN = 20


def alerts(
    sources: SourcesOption = None,
    home: HomeOption = None,
    test: Annotated[bool, typer.Option("--test", help="Send a test message on every channel.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the channels and the last alerts; `--test` tries every channel and exits with 1 if one does not work."""
    from orchestration.alerts.ledger import Ledger
    from orchestration.alerts.sending import all_channels, send_test

    settings = settings_of(home, sources)
    if test:
        results = answer(lambda: send_test(settings))
        if as_json:
            say_json([{"channel": name, "problem": problem} for name, problem in results], indent=2)
        else:
            say_lines([f"{name}: {problem or 'sent'}" for name, problem in results])
        if not results:
            fail("no channel is set: set FAULTLINE_ALERT_WEBHOOK or FAULTLINE_ALERT_COMMAND")
        if any(problem for _, problem in results):
            raise typer.Exit(1)
        return
    channels = [channel.name for channel, _ in answer(lambda: all_channels(settings))]
    sent = answer(lambda: Ledger(settings.home.alerts).deliveries(None if as_json else SHOWN))
    if as_json:
        say_json({"channels": channels, "alerts": sent}, indent=2)
        return
    say_lines([f"channels   {', '.join(channels) or 'none; docs/alerts.md says how to set one'}"])
    say_lines(
        f"{row['at'][:16].replace('T', ' ')} UTC  {row['channel']}: {row['status']}  {row['kind']}"
        f" {row['cluster_id'] or ''} {row['subject']}{': ' + row['error'] if row['error'] else ''}"
        for row in sent
    )
