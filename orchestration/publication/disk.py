"""Write, link and remove files so that a power cut or a kill leaves each change either done or not done."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import shutil
from pathlib import Path

_AT_WORKING_DIRECTORY = -100
_EXCHANGE = 2
"""Arguments of renameat2, from Linux's fcntl.h and fs.h."""


def place_link(path: Path, target: Path) -> None:
    """Put a link in the place of what is there, in one step, so that nobody finds nothing.

    Only a folder cannot be replaced by a rename; where the file system cannot exchange two names, it is moved away
    first.
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
    """Exchange two names, as Linux can; tell whether it was done."""
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


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name; copy it where the file system has no hard links."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def write_flushed(path: Path, text: str) -> None:
    """Write a small file and flush it to disk, in one step."""
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_text(text, encoding="utf-8")
    flush(beside)
    beside.replace(path)
    flush(path.parent)


def flush_tree(folder: Path) -> None:
    """Write a folder and everything in it to disk."""
    for parent, _, names in os.walk(folder, topdown=False):
        for name in names:
            flush(Path(parent, name))
        flush(Path(parent))


def flush_if_possible(path: Path) -> None:
    """Flush what readers see already: after a power cut they may see what they saw before, which is whole as well."""
    try:
        flush(path)
    except OSError as error:
        logging.getLogger(__name__).warning("%s could not be flushed to disk: %s", path, error)


def flush(path: Path) -> None:
    """Have a file or a folder written to disk; some file systems cannot do that with a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
