"""Open only regular files, and read no more of them than there was when they were opened.

A named pipe, a device or a socket would block a reader for ever, and so would a file that grows as fast as it is read.
What a path leads to may change at any time, so the open file is checked as well.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from assets.sources.errors import SourceError

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotRegularError(OSError):
    """The path does not lead to a regular file."""


def require_regular(path: Path) -> os.stat_result:
    """Return the status of a file without opening it.

    Raises
    ------
    NotRegularError
        It is not a regular file.
    OSError
        It does not exist, or cannot be reached.
    """
    return _require_regular(path.stat(), path)


def _require_regular(status: os.stat_result, path: Path) -> os.stat_result:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "something else")
        raise NotRegularError(errno.EINVAL, f"not a regular file but {kind}", str(path))
    return status


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading, without ever waiting for another process.

    Raises
    ------
    NotRegularError
        It is not a regular file, or was just replaced.
    OSError
        It cannot be opened.
    """
    require_regular(path)
    # Do not block: a named pipe may have replaced the file since the check.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _require_regular(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def pieces(stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield a file's bytes in pieces, up to its length at the start."""
    left = os.fstat(stream.fileno()).st_size
    while left > 0 and (piece := stream.read(min(size, left))):
        left -= len(piece)
        yield piece


def read_small(path: Path, max_bytes: int) -> bytes:
    """Return the content of a regular file that should be small.

    Raises
    ------
    OSError
        It cannot be read, is not a regular file, or is larger than `max_bytes`.
    """
    return read_small_with_status(path, max_bytes)[0]


def read_small_with_status(path: Path, max_bytes: int) -> tuple[bytes, os.stat_result]:
    """Return the content, and the status of the file that was read."""
    with open_regular(path) as stream:
        content, status = stream.read(max_bytes + 1), os.fstat(stream.fileno())
    if len(content) > max_bytes:
        raise OSError(errno.EFBIG, f"larger than {max_bytes:,} bytes", str(path))
    return content, status


def unreadable(shown: str, error: OSError) -> SourceError:
    """Return why a path, as shown to the user, cannot be read, and what to do."""
    if isinstance(error, NotRegularError):
        return SourceError(shown, str(error.strerror), "Only files are read: take it out of the sources folder.")
    next_step = {
        errno.EFBIG: "Make it shorter.",
        errno.ENOENT: "It was removed just now, or is a link that leads nowhere: correct or remove the link.",
        errno.ELOOP: "It is a link that leads back to itself: correct or remove it.",
    }.get(error.errno or 0, "Make it readable for this user or take it out of the folder.")
    return SourceError(shown, f"unreadable ({error.strerror})", next_step)
