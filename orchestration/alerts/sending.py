"""Tell what is new on every channel, once. Nothing here ever makes a refresh fail, and no text has a secret.

Events of one kind and cluster go out as one message.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path

from assets.sources.text.masking import mask
from assets.warehouse import is_interruption
from orchestration.alerts.channels import Channel, Command, Message, NotDelivered, Refused, Webhook
from orchestration.alerts.events import (
    REMOVED_KEY,
    events_of_publication,
    failure_event,
    removed_key_events,
    stale_event,
)
from orchestration.alerts.ledger import DELIVERED, FAILED, UNCERTAIN, Event, Ledger
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.terminal import visible

Say = Callable[[str], None]

TITLES = {
    "cluster": "no new numbers",
    "change_point": "the failure rate changed",
    "lemon": "new lemon",
    "error_budget": "the error budget burns",
    "test": "this is a test",
}
MAX_LINES = 20
"""A message has at most so many lines of events; it says how many more there are."""
MAX_LINE = 2_000
MAX_SECONDS = 60
"""How long a channel may take in all; most of what it does has a shorter limit of its own."""


def tell_of_publication(settings: HomeSettings, say: Say) -> None:
    """Tell what is new in what readers see now, and what could not be sent the last times."""

    def events(ledger: Ledger) -> list[Event]:
        found_events, known = events_of_publication(settings.home, ledger)
        ledger.claim(known, {})
        return [*found_events, *removed_key_events(settings.home)]

    _tell(settings, events, say)


def tell_of_failure(settings: HomeSettings, message: str, run_id: str | None, say: Say) -> None:
    """Report that a refresh failed, unless another process has reported this run.

    Where the ledger cannot be written (a full disk, a home that is not mounted), every failure is sent to the home's
    channels.
    """
    event = failure_event(message, run_id)
    is_home = os.path.isdir(settings.home.work)  # noqa: PTH112 -- Path.is_dir() may raise
    if is_home and _tell(settings, lambda _: [event], say):
        return
    for channel in home_channels(settings):
        _, problem = _problem_of(channel, compose([event], settings.home))
        if problem is not None:
            say(f"alert not delivered by {channel.name}: {problem}")


def tell_if_stale(settings: HomeSettings, say: Say) -> Event | None:
    """Tell once that the newest publication is too old; return the event, whether or not it was told before."""
    event = stale_event(settings.home, settings.freshness_hours)
    _tell(settings, lambda _: [event] if event else [], say)
    return event


def send_test(settings: HomeSettings) -> list[tuple[str, str | None]]:
    """Send a test message on every channel, those of clusters too; return each channel and why it failed, if it did."""
    found = []
    for channel, cluster_id in all_channels(settings):
        about = f"cluster {cluster_id}" if cluster_id else f"home {settings.home.root}"
        text = f"Faultline: this is a test of {channel.name} for {about}. Nothing is wrong."
        message = Message("test", cluster_id, TITLES["test"], text, str(settings.home.root))
        found.append((channel.name, _problem_of(channel, message)[1]))
    return found


def all_channels(settings: HomeSettings) -> list[tuple[Channel, str | None]]:
    """List the channels of the home, and those of each cluster with its name."""
    home = settings.home
    folders = sorted(home.sources.iterdir()) if home.sources.is_dir() else []
    return [
        *((channel, None) for channel in home_channels(settings)),
        *(
            (channel, folder.name)
            for folder in folders
            if folder.is_dir()
            for channel in cluster_channels(home, folder.name)[0]
        ),
    ]


def home_channels(settings: HomeSettings) -> list[Channel]:
    """Return the channels that the environment names."""
    channels: list[Channel] = []
    if settings.alert_webhook:
        channels.append(Webhook("webhook", settings.alert_webhook))
    if settings.alert_command:
        channels.append(Command("command", settings.alert_command))
    return channels


def cluster_channels(home: Home, cluster_id: str) -> tuple[list[Channel], Sequence[str]]:
    """Return the channels that a cluster's own file names, and the kinds of events that they are for."""
    from assets.sources.settings import read_settings

    folder = home.sources / cluster_id
    file = folder / "cluster.toml"
    if not file.is_file():
        return [], ()
    cluster = read_settings(folder, cluster_id)[0]
    own = cluster.settings.alerts
    channels: list[Channel] = []
    if own.webhook or own.webhook_file:
        channels.append(
            Webhook(f"{cluster_id}/webhook", own.webhook, Path(own.webhook_file) if own.webhook_file else None)
        )
    if own.command:
        channels.append(Command(f"{cluster_id}/command", tuple(own.command)))
    if cluster.untrusted is not None:
        why = f"[alerts] is not obeyed: {cluster.untrusted.what}; {cluster.untrusted.next_step}"
        return [Refused(channel.name, why) for channel in channels], own.on
    return channels, own.on


def _tell(settings: HomeSettings, events: Callable[[Ledger], list[Event]], say: Say) -> bool:
    """Claim and send what is new, and return whether the ledger took it; every problem becomes a line."""
    is_claimed = False
    try:
        if not _has_any_channel(settings):
            return True
        ledger = Ledger(settings.home.alerts)
        found = events(ledger)
        channels = {event.key: _channels_for(event, settings) for event in found}
        names = {key: [channel.name for channel in of_event] for key, of_event in channels.items()}
        claimed = ledger.claim(found, names)
        _retry(settings, ledger, say)
        is_claimed = True
        for _, group in groupby(claimed, _kind_cluster_and_title):
            of_kind = list(group)
            for channel in channels[of_kind[0].key]:
                _send(channel, of_kind, settings.home, ledger, say)
    except Exception as error:
        if is_interruption(error):
            raise
        say(f"alerts could not be sent: {mask(' '.join(str(error).split()))}")
    return is_claimed


def _has_any_channel(settings: HomeSettings) -> bool:
    if home_channels(settings):
        return True
    # Reading a few small files costs less than loading the models that check them.
    files = settings.home.sources.glob("*/cluster.toml")
    return any(b"alerts" in file.read_bytes() for file in files if file.is_file() and os.access(file, os.R_OK))


def _channels_for(event: Event, settings: HomeSettings) -> list[Channel]:
    channels = home_channels(settings)
    if event.cluster_id is not None:
        own, kinds = cluster_channels(settings.home, event.cluster_id)
        channels += own if event.kind in kinds else []
    return channels


def _retry(settings: HomeSettings, ledger: Ledger, say: Say) -> None:
    by_name = {channel.name: channel for channel, _ in all_channels(settings)}
    for name, events in ledger.claim_retries(list(by_name)).items():
        ordered = sorted(events, key=_kind_cluster_and_title)
        for _, group in groupby(ordered, _kind_cluster_and_title):
            _send(by_name[name], list(group), settings.home, ledger, say)


def _kind_cluster_and_title(event: Event) -> tuple[str, str, str]:
    return event.kind, event.cluster_id or "", _title(event)


def _title(event: Event) -> str:
    return event.subject if event.cluster_id is None or event.subject == REMOVED_KEY else TITLES[event.kind]


def _send(channel: Channel, events: Sequence[Event], home: Home, ledger: Ledger, say: Say) -> None:
    status, problem = _problem_of(channel, compose(events, home))
    ledger.record(events, channel.name, status, problem)
    if problem is not None:
        again = "it is tried again with the next refresh" if status == FAILED else "it is not sent again"
        say(f"alert not delivered by {channel.name}: {problem}; {again}; `faultline alerts --test` tries the channel")


def _problem_of(channel: Channel, message: Message) -> tuple[str, str | None]:
    """Send a message; return what became of it, and why it did not arrive.

    A server that sends a byte now and then keeps within every time limit of a single answer, for hours.
    """
    found: list[tuple[str, str | None]] = []
    sending = threading.Thread(target=lambda: found.append(_outcome_of(channel, message)), daemon=True)
    sending.start()
    sending.join(MAX_SECONDS)
    return found[0] if found else (UNCERTAIN, f"no end after {MAX_SECONDS} s")


def _outcome_of(channel: Channel, message: Message) -> tuple[str, str | None]:
    try:
        channel.send(message)
    except NotDelivered as error:
        return FAILED if error.is_certain else UNCERTAIN, mask(str(error))
    except Exception as error:  # noqa: BLE001 -- whatever a channel does, the refresh is not its business
        return UNCERTAIN, f"unexpected {type(error).__name__}"
    return DELIVERED, None


def compose(events: Iterable[Event], home: Home) -> Message:
    """Put events of one kind and cluster into one message; names from logs lose their invisible characters."""
    listed = list(events)
    first = listed[0]
    simulated = " (simulated)" if first.is_simulated else ""
    where = f"{first.cluster_id}{simulated}" if first.cluster_id else f"Faultline, {home.root}"
    count = f" ({len(listed)})" if len(listed) > 1 else ""
    title = visible(f"{where}: {_title(first)}{count}")
    lines = [visible(mask(event.line), keep="\n")[:MAX_LINE] for event in listed[:MAX_LINES]]
    if len(listed) > MAX_LINES:
        lines.append(f"and {len(listed) - MAX_LINES} more")
    details = [
        {"key": event.key, "subject": event.subject, "line": mask(event.line), **event.details} for event in listed
    ]
    text = "\n".join([title, *lines])
    return Message(first.kind, first.cluster_id, title, text, str(home.root), first.is_simulated, details)
