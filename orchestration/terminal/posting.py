"""Post alerts and lineage to an http or https address, and say without a secret why something did not arrive.

Addresses and keys are secrets: messages name only the host. No redirect is followed.
"""

from __future__ import annotations

import http.client
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SECONDS = 10
"""How long to wait for each byte of an answer."""
MAX_SECONDS = 60
"""How long to wait for the whole answer: a server may send single bytes for ever."""


class NotDelivered(Exception):
    """A message was not sent, or possibly not; the text has no secret.

    Attributes
    ----------
    is_certain
        It certainly did not arrive, so it can be sent again.
    """

    def __init__(self, why: str, *, is_certain: bool = True) -> None:
        super().__init__(why)
        self.is_certain = is_certain


def post(address: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Post, or raise `NotDelivered`; any answer except 2xx means that the message was refused."""
    outcome: list[Exception | None] = []

    def send() -> None:
        try:
            _post(address, body, headers)
        except Exception as error:  # noqa: BLE001 -- raised again below
            outcome.append(error)
        else:
            outcome.append(None)

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    sending.join(MAX_SECONDS)
    if not outcome:
        raise NotDelivered(f"{urlsplit(address).hostname}: no end after {MAX_SECONDS} s", is_certain=False)
    if outcome[0] is not None:
        raise outcome[0]


def _post(address: str, body: bytes, headers: Mapping[str, str]) -> None:
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
        # urllib wraps only errors from before the request is sent.
        raise NotDelivered(f"{where}: {reason_of(error.reason)}") from None
    except (OSError, http.client.HTTPException) as error:
        raise NotDelivered(f"{where}: {reason_of(error)}", is_certain=False) from None
    except ValueError:
        raise NotDelivered(f"the address of {where} has characters that no address has") from None


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def read_secret(file: Path) -> str:
    """Return a secret from a file, without the line break at its end."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise NotDelivered(f"{file} cannot be read: {reason_of(error)}") from None


def reason_of(error: object) -> str:
    """Return an error in words, without anything that it may quote."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
