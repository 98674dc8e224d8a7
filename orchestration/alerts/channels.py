"""Channels for alerts: a webhook and a command, of the home and of each cluster. No name or error shows a secret.

A webhook's address is a secret, because whoever knows it can post there. No command runs through a shell.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestration.alerts.events import Event
from orchestration.read_commands.sent_alerts import about
from orchestration.settings.environment import HomeSettings, environment_of_alert_command, is_web_address
from orchestration.terminal.posting import NotDelivered, post, read_secret, reason_of

SECONDS = 10
"""How long a command may take."""
_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Slack reads <!channel> and the like as commands; names come from logs, which anybody can write."""

Message = Mapping[str, Any]
"""What is sent, as docs/alerts.md describes it: kind, cluster_id, title, text, home, is_simulated, events."""
Send = Callable[[Message], None]
"""Sends a message, or raises `NotDelivered`."""


@dataclass(frozen=True)
class Channel:
    """A channel and its name. A cluster's channel gets that cluster's events of some kinds; others get all events."""

    name: str
    send: Send = field(repr=False)
    cluster_id: str | None = None
    kinds: Sequence[str] = ()

    def takes(self, event: Event) -> bool:
        """Return whether this channel gets an event."""
        kind, cluster_id = about(event.key)
        return not event.is_history and (
            self.cluster_id is None or (self.cluster_id == cluster_id and kind in self.kinds)
        )


def channels_of(settings: HomeSettings) -> list[Channel]:
    """List the channels of the home, and those in each cluster's file."""
    files = sorted(settings.home.sources.glob("*/cluster.toml"))
    of_clusters = [channel for file in files for channel in _channels_of_cluster(file.parent)]
    return [*channels_of_home(settings), *of_clusters]


def channels_of_home(settings: HomeSettings) -> list[Channel]:
    """List the channels that the environment names."""
    of_webhook = [Channel("webhook", webhook(settings.alert_webhook))] if settings.alert_webhook else []
    of_command = [Channel("command", command(settings.alert_command))] if settings.alert_command else []
    return [*of_webhook, *of_command]


def _channels_of_cluster(folder: Path) -> list[Channel]:
    """List a cluster's channels; if another user may write the file, they send nothing."""
    from assets.sources.settings import read_settings

    cluster, _ = read_settings(folder, folder.name)
    own, untrusted = cluster.settings.alerts, cluster.untrusted
    why = f"[alerts] is not obeyed: {untrusted.what}; {untrusted.next_step}" if untrusted else ""
    ways: dict[str, Send] = {}
    if own.webhook or own.webhook_file:
        ways["webhook"] = webhook(own.webhook, own.webhook_file)
    if own.command:
        ways["command"] = command(own.command)

    def refuse(_: Message) -> None:
        raise NotDelivered(why)

    return [
        Channel(f"{folder.name}/{name}", refuse if untrusted else send, folder.name, own.on)
        for name, send in ways.items()
    ]


def webhook(address: str | None, file: str | None = None) -> Send:
    """Post {"text": ...} as Slack, Mattermost and Rocket.Chat take it."""

    def send(message: Message) -> None:
        where = address or read_secret(Path(file or ""))
        if not is_web_address(where):
            raise NotDelivered(f"{file} holds no address that begins with https:// or http://")
        body = json.dumps({"text": message["text"].translate(_SLACK)}).encode()
        post(where, body, {"Content-Type": "application/json"})

    return send


def command(words: Sequence[str]) -> Send:
    """Run a program with the message as JSON on standard input; exit status 0 means delivered."""

    def send(message: Message) -> None:
        program = Path(words[0]).name
        try:
            done = subprocess.run(  # noqa: S603 -- the words are the user's own setting
                words,
                input=json.dumps(message, default=str).encode(),
                env=environment_of_alert_command(message["title"], message["text"]),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotDelivered(f"{program} took longer than {SECONDS} s", is_certain=False) from None
        except (OSError, ValueError) as error:
            raise NotDelivered(f"{program} cannot be run: {reason_of(error)}") from None
        if done.returncode:
            raise NotDelivered(f"{program} ended with status {done.returncode}")

    return send
