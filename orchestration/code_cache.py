"""The folder of what is made of the code alone: dbt's parsed project, the lineage of columns, the report's script.

It is one folder for all homes of a user, and one per version of the code: an installed copy may be read-only, and two
versions may run side by side. In a checkout it is `build/cache`, so that a change of one file is no new version.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from orchestration.environment import user_cache_folder
from orchestration.home import PROJECT, Home, code_version
from orchestration.terminal import say

MAX_UNUSED_DAYS = 30
"""The folder of another version is removed when nothing has used it for so long."""


@cache
def cache_folder(home: Home) -> Path:
    """Return the folder; it exists, and this user can write it.

    The home takes the place of a cache folder that cannot be written, and a line on stderr says so, once per process.
    """
    if (PROJECT / "pyproject.toml").exists() and _can_write(checkout := PROJECT / "build" / "cache"):
        return checkout
    version = code_version()
    folder = user_cache_folder() / "faultline" / version
    if not _can_write(folder):
        instead = home.work / "cache" / version
        instead.mkdir(parents=True, exist_ok=True)
        say(
            f"the cache folder {folder} cannot be written, so {instead} is used, by this home alone; "
            "set XDG_CACHE_HOME to a folder that can be written",
            is_error=True,
        )
        folder = instead
    os.utime(folder)
    _remove_unused(folder.parent)
    return folder


def _can_write(folder: Path) -> bool:
    """Make the folder unless it exists, and tell whether this user can put files into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _remove_unused(versions: Path) -> None:
    """Remove the folders of versions that nothing has used for a while; another process may be doing the same."""
    for folder in versions.iterdir():
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > MAX_UNUSED_DAYS * 24 * 60 * 60:
                shutil.rmtree(folder)
