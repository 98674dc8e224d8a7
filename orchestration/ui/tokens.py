"""The token of the web UI: its source, and how a request proves it."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path

from orchestration.settings.environment import UI_TOKEN, take_ui_token

MIN_LENGTH = 20


class WeakToken(ValueError):
    """The user's token is too easy to guess, or others can read it."""


@dataclass(frozen=True)
class Token:
    """A token; the object's `repr` does not show it.

    Attributes
    ----------
    value
        The secret.
    is_given
        Whether the user chose it; if not, it is new at each start and is printed.
    """

    value: str = field(repr=False)
    is_given: bool = False

    @classmethod
    def choose(cls, file: Path | None) -> Token:
        """Return the token from a file, else from the environment, else a new random one.

        The variable is removed: child processes do not need the secret.
        """
        from_environment = take_ui_token()
        if file is not None:
            return cls(_checked(_read(file), str(file)), is_given=True)
        if from_environment:
            return cls(_checked(from_environment, UI_TOKEN), is_given=True)
        return cls(secrets.token_urlsafe(32))

    def equals(self, other: str) -> bool:
        """Compare in constant time, so that timing reveals nothing."""
        return hmac.compare_digest(other.encode("utf-8", "replace"), self.value.encode())

    def is_in_header(self, header: str) -> bool:
        """Return whether a header `Authorization` has the token, as `Bearer ...`."""
        scheme, _, value = header.strip().partition(" ")
        return scheme.lower() == "bearer" and self.equals(value.strip())

    def is_in_cookies(self, header: str) -> bool:
        """Return whether a header `Cookie` has the cookie of this token."""
        name, expected = self._session
        for cookie in header.split(";"):
            key, _, value = cookie.strip().partition("=")
            if key == name and hmac.compare_digest(value.encode("utf-8", "replace"), expected.encode()):
                return True
        return False

    def cookie(self, is_encrypted: bool) -> str:
        """Return the header `Set-Cookie` for a request with the token."""
        name, value = self._session
        return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict" + ("; Secure" if is_encrypted else "")

    @property
    def _session(self) -> tuple[str, str]:
        """Name and value of the cookie, derived from the token and different for each server of a machine.

        A browser sends the cookies of one port to all ports of a host, so equal names would overwrite each other.
        """
        value = hmac.new(self.value.encode(), b"cookie of the web UI", hashlib.sha256).hexdigest()
        name = hmac.new(self.value.encode(), b"name of the cookie", hashlib.sha256).hexdigest()
        return f"faultline-{name[:8]}", value


def _read(file: Path) -> str:
    try:
        mode = file.stat().st_mode
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WeakToken(f"the token cannot be read from {file}: {error}") from None
    if mode & stat.S_IRWXO:
        raise WeakToken(f"every user can read {file}; run `chmod 600 {file}`")
    return text.strip()


def _checked(token: str, where: str) -> str:
    if len(token) < MIN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise WeakToken(
            f"the token of {where} needs at least {MIN_LENGTH} letters and digits; "
            "`openssl rand -hex 32` makes a good one"
        )
    return token
