"""`faultline alerts`: where alerts go, what was sent, and a test of the channels."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, JsonOption, SourcesOption, answer, fail, settings_of
from orchestration.terminal.output import say_json, say_lines

EXAMPLES = "Example: `faultline alerts --test`"
SHOWN = 20


def alerts(
    sources: SourcesOption = None,
    home: HomeOption = None,
    test: Annotated[bool, typer.Option("--test", help="Send a test message on every channel.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the channels and the last alerts; `--test` tries every channel and exits with 1 if one does not work."""
    from assets.report.wording import plural
    from orchestration.alerts.channels import channels_of
    from orchestration.alerts.sending import send_test
    from orchestration.read_commands.sent_alerts import deliveries

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
    channels = [channel.name for channel in answer(lambda: channels_of(settings))]
    sent = answer(lambda: deliveries(settings.home))
    if as_json:
        say_json({"channels": channels, "alerts": sent}, indent=2)
        return
    say_lines([f"channels   {', '.join(channels) or 'none; docs/alerts.md says how to set one'}"])
    say_lines(
        f"{row['time'][:16]} UTC  {row['channel']}: {row['status']}, {plural(row['attempts'], 'attempt')}  {row['key']}"
        for row in sent[:SHOWN]
    )
