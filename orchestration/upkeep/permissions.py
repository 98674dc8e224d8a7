"""Who may read a home: only its owner, and the publications also one group if a setting names it.

Job names, submit lines and user names are personal data. Folders are 0700 and files 0600. With FAULTLINE_PUBLISH_GROUP,
publications are 0750 with files of 0640 for that group, and their parent folders are 0710: the group may enter them,
and sees nothing else.
"""

from __future__ import annotations

import grp
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestration.settings.environment import PUBLISH_GROUP
from orchestration.settings.home import Home

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
WRITE_OF_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class WrongGroup(Exception):
    """Publications cannot be given to the group in the setting; the text says why."""


@dataclass(frozen=True)
class OpenPlace:
    """A file or folder of a home that other users may write, and so change every result."""

    path: str
    mode: str
    next_step: str

    @property
    def what(self) -> str:
        """The problem in words."""
        return f"others may write it (mode {self.mode}), and so change every result"


def writable_by_others(home: Home) -> list[OpenPlace]:
    """List the files and folders of a home that decide its results and that others may write; links are followed.

    Folders of root with the sticky bit are left out: nobody can replace another user's files there.
    """
    found = []
    for path in (home.root, home.work, home.working_file, home.publications, home.published_file.resolve()):
        if not os.access(path, os.F_OK):
            continue
        status = path.stat()
        is_roots = status.st_uid == 0 and status.st_mode & stat.S_ISVTX
        if status.st_mode & WRITE_OF_OTHERS and not is_roots:
            mode = f"{stat.S_IMODE(status.st_mode):04o}"
            found.append(OpenPlace(str(path), mode, f"chmod go-w {shlex.quote(str(path))}"))
    return found


@contextmanager
def private_files(closed: int = _OTHERS) -> Iterator[None]:
    """Create new files and folders without these permissions; by default only for their owner."""
    before = os.umask(closed)
    os.umask(before | closed)
    try:
        yield
    finally:
        os.umask(before)


def set_permissions(home: Home, group: str | None) -> None:
    """Close a home's files by Faultline to other users, and open publications to a group.

    Files that an earlier version left open are closed. The home folder itself keeps its permissions, because others may
    put logs there.

    Raises
    ------
    WrongGroup
        There is no such group, or this user may not give files to it.
    """
    for folder in (home.work, home.dagster):
        _close(folder)
    number = None if group is None else _number_of(group)
    on_the_way = [home.publications, home.published_file.parent, home.report.parent.parent]
    for folder in on_the_way:
        if _is_own(folder):
            _give(folder, 0o700 if number is None else 0o710, number)
    if home.publications.is_dir():
        for publication in home.publications.iterdir():
            if publication.is_dir() and not publication.is_symlink():
                open_publication(publication, group)
    if number is not None:
        _let_pass(home.root, number, str(group))


def open_publication(folder: Path, group: str | None) -> None:
    """Set the permissions of a publication's folder and files."""
    number = None if group is None else _number_of(group)
    for parent, _, names in os.walk(folder):
        _give(Path(parent), 0o700 if number is None else 0o750, number)
        for name in names:
            _give(Path(parent, name), 0o600 if number is None else 0o640, number)


def mode_for_others(file: Path, home: Home) -> int:
    """Return the permissions of a file for another program: outside the home, everybody may read it."""
    return 0o600 if file.parent.resolve().is_relative_to(home.root) else 0o644


def _close(folder: Path) -> None:
    """Close a folder and everything in it, unless it is closed already."""
    if not _is_own(folder) or not folder.stat().st_mode & _OTHERS:
        return
    for parent, _, names in os.walk(folder, topdown=False):
        for path in (*(Path(parent, name) for name in names), Path(parent)):
            if not path.is_symlink() and _is_own(path):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_OTHERS)


def _let_pass(root: Path, number: int, group: str) -> None:
    found = root.stat()
    may_pass = found.st_mode & (stat.S_IXGRP if found.st_gid == number else stat.S_IXOTH)
    if may_pass or not _is_own(root):
        return
    if found.st_gid != number and found.st_mode & stat.S_IRWXG:
        raise WrongGroup(
            f"{root} is open to another group than {group}, which {PUBLISH_GROUP} names: "
            f"run `chgrp {group} '{root}'` or `chmod o+x '{root}'`, then `faultline refresh` again"
        )
    _give(root, stat.S_IMODE(found.st_mode) | stat.S_IXGRP, number)


def _give(path: Path, mode: int, group: int | None) -> None:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid():
        return
    if group is not None and found.st_gid != group:
        try:
            os.chown(path, -1, group)
        except PermissionError:
            raise WrongGroup(
                f"{PUBLISH_GROUP} names a group that this user is not in, so {path} cannot be given to it: "
                "become a member of it, or name another one"
            ) from None
    if stat.S_IMODE(found.st_mode) != mode:
        path.chmod(mode)


def _is_own(path: Path) -> bool:
    return path.exists() and path.stat().st_uid == os.geteuid()


def _number_of(group: str) -> int:
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise WrongGroup(
            f"{PUBLISH_GROUP} names the group {group}, which this machine does not know; correct it or unset it"
        ) from None
