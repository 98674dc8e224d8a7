"""The cache of what depends only on the code: dbt's parsed project, the lineage of columns, the report's script.

Each code version in each folder has its own cache, in the user's cache folder: the code may be read-only, and dbt's
parsed project has the path.
"""

import hashlib
import os
import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from orchestration.settings.environment import user_cache_folder
from orchestration.settings.home import PROJECT, Home, code_version
from orchestration.terminal.output import say

MAX_UNUSED_DAYS = 7


def name_of_version() -> str:
    """Return a name for the version of the code and its folder."""
    return f"{code_version()}-{hashlib.sha256(str(PROJECT).encode()).hexdigest()[:8]}"


@cache
def cache_folder(home: Home) -> Path:
    """Return the folder, which exists; it is in the home if the user's cannot be written, and a line says so."""
    folder = user_cache_folder() / "faultline" / name_of_version()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
    except OSError:
        unwritable, folder = folder, home.work / "cache" / name_of_version()
        say(f"the cache folder {unwritable} cannot be written, so {folder} is used", is_error=True)
        folder.mkdir(parents=True, exist_ok=True)
    for other in folder.parent.glob("*+*"):
        with suppress(OSError):
            if time.time() - other.stat().st_mtime > MAX_UNUSED_DAYS * 24 * 60 * 60:
                shutil.rmtree(other)
    return folder
