"""Where alerts of a home go, and about what: read from the environment by orchestration/environment.py.

Secrets are kept apart from what is shown: `repr` of these settings shows none.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

WEBHOOK = "FAULTLINE_ALERT_WEBHOOK"
WEBHOOK_FILE = "FAULTLINE_ALERT_WEBHOOK_FILE"
COMMAND = "FAULTLINE_ALERT_COMMAND"
KINDS = "FAULTLINE_ALERT_ON"
REMOVED = (
    *("FAULTLINE_ALERT_EMAIL", "FAULTLINE_SMTP", "FAULTLINE_SMTP_FROM"),
    *("FAULTLINE_SMTP_PASSWORD", "FAULTLINE_SMTP_PASSWORD_FILE"),
)
"""Variables of mail, which Faultline does not send any more."""
ALERT_KINDS = ("failure", "stale", "cluster", "change_point", "lemon", "error_budget")
"""A failed refresh, a night without publication, a cluster without new numbers, a changed rate, a lemon, a budget."""


@dataclass(frozen=True)
class AlertSettings:
    """The channels of a home, and what they are told about."""

    kinds: tuple[str, ...] = ALERT_KINDS
    webhook: str | None = field(default=None, repr=False)
    webhook_file: Path | None = None
    command: tuple[str, ...] = field(default=(), repr=False)

    @property
    def has_channel(self) -> bool:
        """Return whether anything is sent anywhere."""
        return bool(self.webhook or self.webhook_file or self.command)


def parse_alert_settings(environment: Mapping[str, str], wrong: Callable[[str], Exception]) -> AlertSettings:
    """Read the channels.

    Parameters
    ----------
    environment
        Variables by name.
    wrong
        Makes the error that is raised of a text that says which variable is wrong and what is allowed.
    """

    def value(name: str) -> str | None:
        return environment.get(name, "").strip() or None

    removed = [name for name in REMOVED if value(name)]
    if removed:
        raise wrong(
            f"{removed[0]} is not read any more: set {COMMAND} to a program that sends mail (docs/alerts.md), and unset"
            f" {', '.join(removed)}"
        )
    webhook = value(WEBHOOK)
    if webhook is not None and not is_web_address(webhook):
        raise wrong(f"{WEBHOOK} is no address that begins with https:// or http://; correct it or unset it")
    kinds = tuple(name.strip() for name in (value(KINDS) or ",".join(ALERT_KINDS)).split(","))
    unknown = [name for name in kinds if name not in ALERT_KINDS]
    if unknown:
        raise wrong(f"{KINDS} has {unknown[0]!r}; allowed are {', '.join(ALERT_KINDS)}, separated by commas")
    try:
        command = tuple(shlex.split(value(COMMAND) or ""))
    except ValueError as error:
        raise wrong(f"{COMMAND} cannot be split into words ({error}); correct its quotes or unset it") from None
    webhook_file = value(WEBHOOK_FILE)
    return AlertSettings(kinds, webhook, Path(webhook_file) if webhook_file else None, command)


def is_web_address(text: str) -> bool:
    """Return whether a text is an address that a message can be posted to."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
