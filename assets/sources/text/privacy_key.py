"""The key of pseudonyms: a file outside the home and the sources that only its owner can read.

With the key, anyone can find by trial the name behind a pseudonym; without it nobody can.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

MIN_CHARACTERS = 32
"""A shorter key could be found by trial."""


class WrongKey(Exception):
    """The key cannot be used; its text says why and what to do."""


def read_key(file: Path) -> str | None:
    """Return the key; None if there is no file.

    Raises
    ------
    WrongKey
        Others can read it, or it is too short or not text.
    """
    try:
        mode = file.stat().st_mode
        key = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise WrongKey(f"the privacy key {file} cannot be read ({error}); put it back from its copy") from None
    if mode & 0o077:
        raise WrongKey(f"others can read the privacy key {file}; run `chmod 600 {file}`")
    if len(key) < MIN_CHARACTERS:
        raise WrongKey(
            f"the privacy key {file} has fewer than {MIN_CHARACTERS} characters; put it back from its copy, or remove"
            " it: a new one is made, and all pseudonyms change"
        )
    return key


def make_key(file: Path) -> str:
    """Write a new random key of 256 bits that only its owner can read, and return it."""
    key = secrets.token_hex(32)
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(f"{key}\n")
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise WrongKey(
            f"the privacy key {file} cannot be made ({error}); make its folder writable, or name another file in"
            " FAULTLINE_PRIVACY_KEY_FILE"
        ) from None
    return key


def key_was_made(file: Path) -> str:
    """Return the message on a new key."""
    return f"the key of pseudonyms was made: {file}. Keep a copy apart from the home; without it they change"


def key_id(key: str) -> str:
    """Return eight hexadecimal digits that identify a key without revealing it."""
    return hashlib.sha256(f"faultline privacy key\n{key}".encode()).hexdigest()[:8]


def require_outside(file: Path, folders: dict[str, Path]) -> None:
    """Refuse a key in a folder of data, as a copy of the data would contain it.

    Parameters
    ----------
    file
        The file of the key, existing or to be made.
    folders
        Folders by their names in the message.
    """
    place = Path(os.path.realpath(file))
    for name, folder in folders.items():
        if place.is_relative_to(os.path.realpath(folder)):
            raise WrongKey(
                f"the privacy key {file} lies in the {name} {folder}; name a file outside of it in"
                " FAULTLINE_PRIVACY_KEY_FILE"
            )
