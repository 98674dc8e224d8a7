"""Write, link and remove files so that a power cut or a kill leaves each change either done or not done."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import shutil
from pathlib import Path
from tempfile import mkstemp

_AT_WORKING_DIRECTORY = -100
_EXCHANGE = 2
"""Arguments of renameat2, from Linux's fcntl.h and fs.h."""


def place_link(path: Path, target: Path) -> None:
    """Replace a path by a link in one step, so that the path always exists.

    A rename cannot replace a folder. If the file system cannot exchange two names, the folder is moved away first, and
    for an instant the path is missing.
    """
    link = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    link.unlink(missing_ok=True)
    link.symlink_to(target)
    if not path.is_dir() or path.is_symlink():
        link.replace(path)
        return
    if not exchange(link, path):
        moved = path.with_name(f".{path.name}.{os.getpid()}.old.tmp")
        path.rename(moved)
        link.replace(path)
        link = moved
    remove(link)


def exchange(first: Path, second: Path) -> bool:
    """Exchange two names with Linux's renameat2; return whether the file system can do that."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    at = _AT_WORKING_DIRECTORY
    if rename(at, os.fsencode(first), at, os.fsencode(second), _EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number), str(second))


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Replace a small file in one step, flushed to disk, with these permissions whatever the umask.

    Others may write the folder: the unfinished file gets an unpredictable name, and is created with O_EXCL and
    O_NOFOLLOW, so that a planted file or link is neither written nor followed.
    """
    descriptor, name = mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(content)
            out.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    flush_if_possible(path.parent)


def rename_flushed(written: Path, path: Path) -> None:
    """Rename a flushed file to its final name, replacing an existing file, and flush the folder."""
    written.replace(path)
    flush(path.parent)


def flush_tree(folder: Path) -> None:
    """Write a folder and everything in it to disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            flush(Path(parent, name))
        flush(Path(parent))


def flush_if_possible(path: Path) -> None:
    """Flush a folder after a change that readers see; without it, a power cut may undo the change, not damage it."""
    try:
        flush(path)
    except OSError as error:
        logging.getLogger(__name__).warning("%s could not be flushed to disk: %s", path, error)


def flush(path: Path) -> None:
    """Flush a file or a folder to disk; file systems that cannot flush a folder are tolerated."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def remove(path: Path, *, is_required: bool = False) -> None:
    """Remove a file, a link or a folder, if it exists; a folder may stay in part unless its removal is required."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=not is_required)
    else:
        path.unlink(missing_ok=True)
