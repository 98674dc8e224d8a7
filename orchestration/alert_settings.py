"""Where alerts of a home go, and about what: read from the environment by orchestration/environment.py.

Secrets are kept apart from what is shown: `repr` of these settings shows none.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

WEBHOOK = "FAULTLINE_ALERT_WEBHOOK"
WEBHOOK_FILE = "FAULTLINE_ALERT_WEBHOOK_FILE"
EMAIL = "FAULTLINE_ALERT_EMAIL"
COMMAND = "FAULTLINE_ALERT_COMMAND"
KINDS = "FAULTLINE_ALERT_ON"
SMTP = "FAULTLINE_SMTP"
SMTP_PASSWORD = "FAULTLINE_SMTP_PASSWORD"  # noqa: S105 -- the name of a variable
SMTP_PASSWORD_FILE = "FAULTLINE_SMTP_PASSWORD_FILE"  # noqa: S105 -- the name of a variable
SMTP_FROM = "FAULTLINE_SMTP_FROM"
ALERT_KINDS = ("failure", "stale", "cluster", "change_point", "lemon", "error_budget")
"""A failed refresh, a night without publication, a cluster without new numbers, a changed rate, a lemon, a budget."""
SMTP_PORTS = {"smtp": 25, "smtps": 465}


@dataclass(frozen=True)
class MailServer:
    """A server that takes mail.

    Attributes
    ----------
    host, port
        Its address.
    is_tls
        TLS from the first byte (`smtps://`); otherwise STARTTLS.
    user, password, password_file
        Who signs in, if anybody; the password or the file it is read from.
    sender
        The address that messages come from.
    """

    host: str
    port: int
    is_tls: bool = False
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: Path | None = None
    sender: str | None = None


@dataclass(frozen=True)
class AlertSettings:
    """The channels of a home, and what they are told about."""

    kinds: tuple[str, ...] = ALERT_KINDS
    webhook: str | None = field(default=None, repr=False)
    webhook_file: Path | None = None
    email: tuple[str, ...] = ()
    command: tuple[str, ...] = field(default=(), repr=False)
    mail_server: MailServer | None = None

    @property
    def has_channel(self) -> bool:
        """Tell whether anything is sent anywhere."""
        return bool(self.webhook or self.webhook_file or self.email or self.command)


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

    webhook = value(WEBHOOK)
    if webhook is not None and not is_web_address(webhook):
        raise wrong(f"{WEBHOOK} is no address that begins with https:// or http://; correct it or unset it")
    kinds = tuple(name.strip() for name in (value(KINDS) or ",".join(ALERT_KINDS)).split(","))
    unknown = [name for name in kinds if name not in ALERT_KINDS]
    if unknown:
        raise wrong(f"{KINDS} has {unknown[0]!r}; allowed are {', '.join(ALERT_KINDS)}, separated by commas")
    email = tuple(name.strip() for name in (value(EMAIL) or "").split(",") if name.strip())
    if any("@" not in address or len(address.split()) > 1 for address in email):
        raise wrong(f"{EMAIL} is a list of addresses, separated by commas; correct it or unset it")
    try:
        command = tuple(shlex.split(value(COMMAND) or ""))
    except ValueError as error:
        raise wrong(f"{COMMAND} cannot be split into words ({error}); correct its quotes or unset it") from None
    webhook_file, password_file = value(WEBHOOK_FILE), value(SMTP_PASSWORD_FILE)
    return AlertSettings(
        kinds,
        webhook,
        Path(webhook_file) if webhook_file else None,
        email,
        command,
        _mail_server(value(SMTP), value(SMTP_PASSWORD), password_file, value(SMTP_FROM), wrong),
    )


def _mail_server(
    address: str | None,
    password: str | None,
    password_file: str | None,
    sender: str | None,
    wrong: Callable[[str], Exception],
) -> MailServer | None:
    if address is None:
        return None
    problem = wrong(f"{SMTP} has to be like smtp://user@host:587 or smtps://user@host; correct it or unset it")
    parts = _split(address)
    if parts is None or parts.scheme not in SMTP_PORTS or not parts.hostname:
        raise problem
    if parts.password is not None:
        raise wrong(f"{SMTP} has a password in it; put it into {SMTP_PASSWORD_FILE} or {SMTP_PASSWORD}")
    try:
        port = parts.port or SMTP_PORTS[parts.scheme]
    except ValueError:
        raise problem from None
    return MailServer(
        parts.hostname,
        port,
        parts.scheme == "smtps",
        unquote(parts.username) if parts.username else None,
        password,
        Path(password_file) if password_file else None,
        sender,
    )


def is_web_address(text: str) -> bool:
    """Tell whether a text is an address that a message can be posted to."""
    parts = _split(text)
    return parts is not None and parts.scheme in {"http", "https"} and bool(parts.hostname)


def _split(address: str) -> SplitResult | None:
    try:
        return urlsplit(address)
    except ValueError:
        return None
