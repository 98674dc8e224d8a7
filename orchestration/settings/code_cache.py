"""The folder of what is made of the code alone: dbt's parsed project, the lineage of columns, the report's script.

Each version of the code in each place has one, in the cache of the user: the code itself may be read-only, and what dbt
has parsed names the place.
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
    """Name the version of the code, and the place where it lies."""
    return f"{code_version()}-{hashlib.sha256(str(PROJECT).encode()).hexdigest()[:8]}"


@cache
def cache_folder(home: Home) -> Path:
    """Return the folder, which exists; the home has it if the user's cannot be written, and a line says so."""
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
