"""Links in the sources folder: none may lead to files of another user or to settings of another cluster."""

from __future__ import annotations

import os
import pwd
import shlex
from pathlib import Path

from assets.sources.errors import SourceError


def refusal_of_link(path: Path, place: str) -> SourceError | None:
    """Return why a path is not followed; None if it may be, leads nowhere, or is not a link.

    Root, the user who refreshes, and the owner of the target may set a link. Every link on the way counts, because the
    owner of any of them chooses the target.

    Parameters
    ----------
    path
        A path that may be a link, to a file or a folder.
    place
        The path as messages show it.
    """
    if not path.is_symlink():
        return None
    try:
        trusted = {0, os.geteuid(), path.stat().st_uid}
        setter = next((owner for owner in _owners_of_links(path) if owner not in trusted), None)
    except OSError:
        return None
    if setter is None:
        return None
    what = f"not read: a link that user {user_name(setter)} set leads to what is another user's"
    return SourceError(
        place, what, f"Remove it or, if it is meant, run: chown -h {os.geteuid()} {shlex.quote(str(path))}"
    )


def leads_into_cluster(folder: Path) -> bool:
    """Return whether a cluster's folder is a link to the folder of another cluster, or into it."""
    return folder.is_symlink() and folder.resolve().is_relative_to(folder.parent.resolve())


def user_name(user: int) -> str:
    """Return the name of a user, or the number if there is no name."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def _owners_of_links(path: Path) -> list[int]:
    """Return the owners of all links that are followed from a link on, including links in the paths of targets."""
    owners, waiting, at = [], [path.name], path.parent
    while waiting:
        found = at / waiting.pop()
        if not found.is_symlink():
            at = found.resolve() if found.name == ".." else found
            continue
        owners.append(found.lstat().st_uid)
        target = found.readlink()
        at = Path(target.anchor) if target.is_absolute() else found.parent
        waiting += [part for part in reversed(target.parts) if part != target.anchor]
    return owners
