"""The environment, read in one place: which home, which sources, when the schedule fires.

It imports nothing heavy, so that `faultline query` answers at once.
"""

from __future__ import annotations

import gc
import os
from dataclasses import dataclass
from pathlib import Path

from orchestration.home import Home
from orchestration.publication.permissions import PUBLISH_GROUP

HOME = "FAULTLINE_HOME"
SOURCES = "FAULTLINE_SOURCES"
FULL = "FAULTLINE_FULL"
MEMORY = "FAULTLINE_MEMORY"
THREADS = "FAULTLINE_THREADS"
WAREHOUSE = "FAULTLINE_WAREHOUSE"
PUBLICATION = "FAULTLINE_PUBLICATION"
KEEP_PUBLICATIONS = "FAULTLINE_KEEP_PUBLICATIONS"
DEFAULT_MEMORY = "2GB"
"""DuckDB spills what needs more to disk. With Python beside it a refresh then stays below 4 GiB."""


class WrongSetting(ValueError):
    """A variable of the environment has a value that it cannot have; the text says which and what is allowed."""


@dataclass(frozen=True)
class Settings:
    """What the environment may set besides the home; defaults where it says nothing."""

    is_full: bool
    memory_limit: str
    threads: int
    cron: str
    timezone: str
    keep_publications: int
    publish_group: str | None

    @classmethod
    def current(cls) -> Settings:
        """Read the environment of this process."""
        return cls(
            is_full=os.environ.get(FULL) == "1",
            memory_limit=os.environ.get(MEMORY) or DEFAULT_MEMORY,
            threads=int(os.environ.get(THREADS) or len(os.sched_getaffinity(0))),
            cron=os.environ.get("FAULTLINE_SCHEDULE") or "0 2 * * *",
            timezone=os.environ.get("FAULTLINE_TIMEZONE") or "UTC",
            keep_publications=_count(KEEP_PUBLICATIONS, 3),
            publish_group=os.environ.get(PUBLISH_GROUP) or None,
        )


def _count(name: str, default: int) -> int:
    """Read a number of at least 1."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < 1:
        raise WrongSetting(f"{name} is a whole number of at least 1, not {text!r}; correct it or unset it")
    return int(text)


def current_home() -> Home:
    """Return the home of this process: FAULTLINE_HOME, by default `data` in the current folder."""
    sources = os.environ.get(SOURCES)
    return Home.at(Path(os.environ.get(HOME) or "data"), Path(sources) if sources else None)


def choose_home(home: Path | None, sources: Path | None, full: bool = False) -> Home:
    """Let the command line's options win over the environment, for this process and those it starts."""
    if home:
        os.environ[HOME] = str(home)
        os.environ.pop(SOURCES, None)
    if sources:
        os.environ[SOURCES] = str(sources)
    os.environ[FULL] = "1" if full else "0"
    chosen = current_home()
    os.environ[HOME], os.environ[SOURCES] = str(chosen.root), str(chosen.sources)
    os.environ["DAGSTER_HOME"] = str(chosen.dagster)
    choose_files(chosen)
    os.environ.setdefault("DO_NOT_TRACK", "1")
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    return chosen


def choose_files(home: Home) -> None:
    """Tell dbt's profile which files to build in."""
    os.environ[WAREHOUSE] = str(home.working_file)
    os.environ[PUBLICATION] = str(home.publication)


def collect_garbage_seldom() -> None:
    """Look for circular garbage after 100,000 new objects, not after 700.

    Loading Dagster, dbt and Great Expectations makes millions of objects that stay; going through them again and again
    took 6% of what a refresh costs before it has any data.
    """
    gc.set_threshold(100_000)
