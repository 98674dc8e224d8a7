"""The ways an alert goes out: a webhook and a command. Each says what happened if it does not arrive, and no secret.

An address of a webhook is a secret, as whoever knows it can post there; messages name its host only. Nothing runs
through a shell, and no redirect is followed.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from orchestration.environment import environment_of_alert_command, is_web_address

SECONDS = 10
"""How long a channel may take."""
_SLACK = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Slack reads <!channel> and the like as commands; names come from logs, which anybody can write."""


@dataclass(frozen=True)
class Message:
    """What is sent.

    Attributes
    ----------
    kind
        failure, stale, cluster, change_point, lemon, error_budget, or test.
    cluster_id
        The cluster that it is about; None: the home.
    title, text
        A line, and everything.
    home
        The folder, for who has several.
    is_simulated
        The cluster's logs were made by a simulator.
    events
        One entry per event, with its key and what is known of it.
    """

    kind: str
    cluster_id: str | None
    title: str
    text: str
    home: str
    is_simulated: bool = False
    events: Sequence[Mapping[str, Any]] = ()


class NotDelivered(Exception):
    """A message did not go out, or it is not known whether it did; the text has no secret.

    Attributes
    ----------
    is_certain
        It certainly did not arrive, so that it can be sent again.
    """

    def __init__(self, why: str, *, is_certain: bool = True) -> None:
        super().__init__(why)
        self.is_certain = is_certain


class Channel(Protocol):
    """A way out. `name` is what people read, without secrets."""

    @property
    def name(self) -> str:
        """Return its name."""

    def send(self, message: Message) -> None:
        """Send a message, or raise `NotDelivered`."""


@dataclass(frozen=True)
class Webhook:
    """Posts {"text": ...} as Slack, Mattermost and Rocket.Chat take it."""

    name: str
    address: str | None = field(default=None, repr=False)
    file: Path | None = None

    def send(self, message: Message) -> None:
        """Post; any answer but 2xx means that the message was not taken."""
        address = self.address or (read_secret(self.file) if self.file else "")
        if not is_web_address(address):
            raise NotDelivered(f"{self.file} holds no address that begins with https:// or http://")
        post(
            address, json.dumps({"text": message.text.translate(_SLACK)}).encode(), {"Content-Type": "application/json"}
        )


def post(address: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post to an address of http or https, or raise `NotDelivered`; any answer but 2xx means that it was not taken."""
    where = f"{urlsplit(address).hostname}"
    try:
        request = urllib.request.Request(  # noqa: S310 -- http and https only
            address, body, {**headers, "User-Agent": "faultline"}, method="POST"
        )
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=SECONDS) as answer:
            answer.read(1024)
    except urllib.error.HTTPError as error:
        error.close()
        raise NotDelivered(f"{where} answered {error.code}") from None
    except urllib.error.URLError as error:
        # urllib wraps what happens before the request is sent, and nothing later.
        raise NotDelivered(f"{where}: {_words(error.reason)}") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotDelivered(f"{where}: {_words(error)}", is_certain=False) from None
    except ValueError:
        raise NotDelivered(f"the address of {where} has characters that no address has") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


@dataclass(frozen=True)
class Command:
    """Runs a program with the message as JSON on standard input, and its title and text in the environment.

    Status 0 means that it was delivered.
    """

    name: str
    words: tuple[str, ...] = field(repr=False)

    def send(self, message: Message) -> None:
        """Run the program, without a shell."""
        program = Path(self.words[0]).name
        try:
            done = subprocess.run(  # noqa: S603 -- the words are the user's own setting
                self.words,
                input=json.dumps(asdict(message), default=str).encode(),
                env=environment_of_alert_command(message.title, message.text),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotDelivered(f"{program} took longer than {SECONDS} s", is_certain=False) from None
        except (OSError, ValueError) as error:
            raise NotDelivered(f"{program} cannot be run: {_words(error)}") from None
        if done.returncode:
            raise NotDelivered(f"{program} ended with status {done.returncode}")


@dataclass(frozen=True)
class Refused:
    """Sends nothing: whoever may write the channel's settings could send anything anywhere."""

    name: str
    why: str

    def send(self, message: Message) -> None:
        """Say why nothing is sent."""
        raise NotDelivered(self.why)


def read_secret(file: Path) -> str:
    """Read a secret from a file, without the line break at its end."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotDelivered(f"{file} cannot be read: {_words(error)}") from None


def _words(error: object) -> str:
    """Say what an error is without what it may quote."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
