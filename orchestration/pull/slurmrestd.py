"""Put questions to slurmrestd over its Unix socket or HTTP, and write each document into a file.

The token goes into a header and nowhere else: not into a command, a log or a message.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from assets.sources.regular import read_small
from assets.sources.settings import Pull
from orchestration.pull.failures import HostUnreachable, PullFailed
from orchestration.pull.host import Finished
from orchestration.pull.queries import VERSION

MAX_TOKEN_BYTES = 65_536
MAX_REASON_BYTES = 2_000
CHUNK = 1 << 20
OPENAPI = "/openapi/v3"
_SLASH = rb"\\?/"
"""Slurm's JSON writes a slash with a backslash before it."""
_VERSIONS = re.compile(rb'"%bslurmdb%b(v0\.0\.(\d+))%bjobs(?:%b)?"' % ((_SLASH,) * 4))
_WHOLE_RECORDS = "&show_duplicates=true&disable_truncate_usage_time=true"
"""With these parameters Slurm 23.11 and later give a record for each attempt, and times outside the window as they are.

Without them the answer has one record for each job, and a job that runs over midnight begins and ends with each day.
Older versions need no parameters for it, and refuse these.
"""
_FIRST_WITH_WHOLE_RECORDS = 40


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class SlurmRest:
    """The REST API of a cluster.

    Parameters
    ----------
    pull
        The settings; `slurmrestd` is set.
    token
        Of the variable SLURM_JWT; a token file of the settings comes before it.
    """

    def __init__(self, pull: Pull, token: str | None) -> None:
        self._pull, self._token = pull, token
        self._address = urlsplit(str(pull.slurmrestd))
        self._version = pull.api_version

    def shown(self, words: tuple[str, ...]) -> str:
        """Return the request line and the address."""
        return f"GET {_path(words, self._version or VERSION)} of {self._pull.slurmrestd}"

    def run(self, words: tuple[str, ...], into: Path) -> Finished:
        """Ask for a document and write it into a file, flushed to disk.

        Raises
        ------
        PullFailed, HostUnreachable
            There is no answer, or none that can be used.
        OSError
            The file cannot be written.
        """
        started = time.monotonic()
        self._version = self._version or self._newest_version()
        with self._answer(_path(words, self._version)) as response, into.open("wb") as out:
            _copy(response, out)
            out.flush()
            os.fsync(out.fileno())
        return Finished(0, "", time.monotonic() - started)

    def _newest_version(self) -> str:
        with self._answer(OPENAPI) as response:
            found = {int(number): name.decode() for name, number in _VERSIONS.findall(_all_of(response))}
        if not found:
            raise PullFailed(
                f"slurmrestd at {self._pull.slurmrestd} has no accounting (/slurmdb)",
                "start it with the plugin of slurmdbd (-s dbv0.0.NN), or set api_version under [pull]",
            )
        return found[max(found)]

    @contextmanager
    def _answer(self, path: str) -> Iterator[http.client.HTTPResponse]:
        connection = self._connection()
        try:
            try:
                connection.request("GET", path, headers=self._headers())
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise HostUnreachable(
                    f"slurmrestd at {self._pull.slurmrestd} gives no answer ({error or type(error).__name__})",
                    "see that it runs, and that this user may connect; the address is slurmrestd under [pull]",
                ) from None
            if response.status != http.client.OK:
                reason = " ".join(response.read(MAX_REASON_BYTES).decode("utf-8", errors="replace").split())
                refused = response.status in (http.client.UNAUTHORIZED, http.client.FORBIDDEN)
                step = (
                    "give a valid token: token_file under [pull] in cluster.toml, or the variable SLURM_JWT"
                    if refused
                    else "look at the log of slurmrestd; api_version under [pull] names another version of its API"
                )
                raise PullFailed(f"slurmrestd answers {response.status} {response.reason}: {reason[:300]}", step)
            yield response
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        timeout = self._pull.timeout_seconds
        if self._address.scheme == "unix":
            return _UnixConnection(unquote(self._address.path), timeout)
        host, port = str(self._address.hostname), self._address.port
        if self._address.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self._pull.slurmrestd_user:
            headers["X-SLURM-USER-NAME"] = self._pull.slurmrestd_user
        token = self._token
        if self._pull.token_file:
            try:
                token = read_small(Path(self._pull.token_file), MAX_TOKEN_BYTES).decode("ascii")
            except (OSError, ValueError) as error:
                reason = error.strerror if isinstance(error, OSError) else "it is no text"
                raise HostUnreachable(
                    f"the token file {self._pull.token_file} cannot be read ({reason})",
                    "make it readable for this user, or correct token_file under [pull] in cluster.toml",
                ) from None
        if token:
            # `scontrol token` prints SLURM_JWT=...
            headers["X-SLURM-USER-TOKEN"] = token.strip().removeprefix("SLURM_JWT=")
        return headers


def _path(words: tuple[str, ...], version: str) -> str:
    """Return the path of a question. While the version is not known, it is the path for the newest."""
    number = version.rpartition(".")[2]
    knows_words = not number.isdigit() or int(number) >= _FIRST_WITH_WHOLE_RECORDS
    return words[1].replace(VERSION, version) + (_WHOLE_RECORDS if "?" in words[1] and knows_words else "")


def _copy(response: http.client.HTTPResponse, out: BinaryIO) -> None:
    try:
        shutil.copyfileobj(response, out, CHUNK)
    except http.client.HTTPException as error:
        raise PullFailed(f"the document of slurmrestd is cut off ({type(error).__name__})", "pull again") from None
    except TimeoutError:
        raise PullFailed(
            "slurmrestd stopped in the middle of a document", "raise timeout_seconds under [pull] in cluster.toml"
        ) from None


def _all_of(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read()
    except (http.client.HTTPException, TimeoutError) as error:
        raise PullFailed(f"slurmrestd does not list its API ({type(error).__name__})", "set api_version") from None
