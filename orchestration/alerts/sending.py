"""Send new events on every channel, once. Nothing here makes a refresh fail, and no text has a secret.

Events of one kind and cluster go out as one message.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from assets.sources.text.masking import mask
from assets.warehouse import is_interruption
from orchestration.alerts.channels import Channel, Message, channels_of, channels_of_home
from orchestration.alerts.events import Event, events_of_night, events_of_publication, failure_event
from orchestration.alerts.ledger import Ledger, open_ledger
from orchestration.read_commands.sent_alerts import about
from orchestration.read_commands.stale import Stale, stale
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from orchestration.terminal.output import visible
from orchestration.terminal.posting import NotDelivered

Say = Callable[[str], None]

MAX_LINES = 20
"""The most lines of events in a message; it says how many more there are."""
MAX_LINE = 2_000


def tell_of_publication(settings: HomeSettings, say: Say) -> None:
    """Send the new events of the current publication, and those that could not be sent before."""
    _tell(settings, lambda ledger: events_of_publication(settings.home, ledger), say)


def tell_of_failure(settings: HomeSettings, message: str, run_id: str | None, say: Say) -> None:
    """Report that a refresh failed, unless another process has reported this run.

    If the ledger cannot be written (a full disk, a home that is not mounted), all the home's channels get the message.
    """
    event = failure_event(message, run_id)
    is_home = os.path.isdir(settings.home.work)  # noqa: PTH112 -- Path.is_dir() may raise
    if not is_home or not _tell(settings, lambda _: [event], say):
        for channel in channels_of_home(settings):
            _send(channel, compose([event], settings.home), say)


def tell_if_stale(settings: HomeSettings, say: Say) -> Stale | None:
    """Report once that the newest publication is too old, and any unsent failure; return the former."""
    found = stale(settings.home, settings.freshness_hours)
    _tell(settings, lambda ledger: events_of_night(settings.home, found, ledger), say)
    return found


def send_test(settings: HomeSettings) -> list[tuple[str, str | None]]:
    """Send a test message on every channel, clusters' included; return each channel with its problem or None."""
    found = []
    for channel in channels_of(settings):
        line = f"{channel.name} for {channel.cluster_id or settings.home.root} works. Nothing is wrong."
        message = compose([Event(f"test:{channel.cluster_id or ''}", "this is a test", line)], settings.home)
        found.append((channel.name, _deliver(channel, message)[1]))
    return found


def _tell(settings: HomeSettings, find: Callable[[Ledger], Iterable[Event]], say: Say) -> bool:
    """Send due events, and return whether the ledger could be used; every problem becomes a line."""
    is_claimed = False
    try:
        channels = channels_of(settings)
        if not channels:
            return True
        with open_ledger(settings.home.alerts) as ledger:
            events = list(find(ledger))
            ledger.note({event.key: [channel.name for channel in channels if channel.takes(event)] for event in events})
            for channel in channels:
                for _, group in groupby(filter(channel.takes, events), lambda event: (*about(event.key), event.title)):
                    of_message = {event.key: event for event in group}
                    due = ledger.claim(list(of_message), channel.name)
                    is_claimed = True
                    if due:
                        message = compose([of_message[key] for key in due], settings.home)
                        ledger.record(due, channel.name, _send(channel, message, say))
    except Exception as error:
        if is_interruption(error):
            raise
        say(f"alerts could not be sent: {mask(' '.join(str(error).split()))}")
    return is_claimed


def _send(channel: Channel, message: Message, say: Say) -> bool | None:
    has_arrived, problem = _deliver(channel, message)
    if problem is not None:
        say(f"alert not delivered by {channel.name}: {problem}; `faultline alerts --test` tries the channel")
    return has_arrived


def _deliver(channel: Channel, message: Message) -> tuple[bool | None, str | None]:
    """Send a message; return whether it arrived (None if unknown), and the problem."""
    try:
        channel.send(message)
    except NotDelivered as error:
        return False if error.is_certain else None, mask(str(error))
    except Exception as error:  # noqa: BLE001 -- whatever a channel does, the refresh is not its business
        return None, f"unexpected {type(error).__name__}"
    return True, None


def compose(events: Sequence[Event], home: Home) -> Message:
    """Put events of one kind and cluster into one message; names from logs lose their invisible characters."""
    first = events[0]
    kind, cluster_id = about(first.key)
    simulated = " (simulated)" if first.is_simulated else ""
    where = f"{cluster_id}{simulated}" if cluster_id else f"Faultline, {home.root}"
    count = f" ({len(events)})" if len(events) > 1 else ""
    title = visible(f"{where}: {first.title}{count}")
    lines = [visible(mask(event.line), keep="\n")[:MAX_LINE] for event in events[:MAX_LINES]]
    if len(events) > MAX_LINES:
        lines.append(f"and {len(events) - MAX_LINES} more")
    details = [
        {"key": event.key, "subject": event.subject, "line": mask(event.line), **event.details} for event in events
    ]
    text = "\n".join([title, *lines])
    message = {"kind": kind, "cluster_id": cluster_id, "title": title, "text": text, "home": str(home.root)}
    return message | {"is_simulated": first.is_simulated, "events": details}
