"""The sensor on the sources folder: a refresh starts soon after new logs have arrived.

It is off until somebody switches it on at its page: the nightly refresh is enough for a study of months, each refresh
takes minutes of CPU, and logs that grow all day would start one refresh after the other. To skip files that are still
being copied, it waits until no file has changed for five minutes. A tick lists names, sizes and times, opening no file.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import dagster as dg

from orchestration.runs.dead_runs import UNFINISHED
from orchestration.runs.jobs import REFRESH
from orchestration.settings.environment import HomeSettings
from orchestration.upkeep.lock import free_of_refresh

SECONDS_BETWEEN_TICKS = 60
QUIET_SECONDS = 300
UNDER_WAY = [dg.DagsterRunStatus.QUEUED, *UNFINISHED]


@dataclass(frozen=True)
class Seen:
    """The sensor's state between ticks.

    Attributes
    ----------
    files
        A hash of the names, sizes and times of all files.
    since
        When this state was first seen, in seconds since 1970, by this machine's clock.
    is_settled
        A refresh was already started for these files.
    """

    files: str = ""
    since: float = 0
    is_settled: bool = False

    @classmethod
    def parse(cls, cursor: str | None) -> Seen:
        """Parse the output of `as_cursor`; return an empty state for anything else."""
        try:
            return cls(**json.loads(cursor or "{}"))
        except (ValueError, TypeError):
            return cls()

    def as_cursor(self) -> str:
        """Return the state as a cursor for Dagster."""
        return json.dumps(asdict(self))


def new_files(settings: HomeSettings) -> dg.SensorDefinition:
    """Return the sensor."""

    @dg.sensor(
        job_name=REFRESH,
        minimum_interval_seconds=SECONDS_BETWEEN_TICKS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Refresh when the files of the sources folder have changed and are still.",
    )
    def new_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now = time.time()
        seen, files = Seen.parse(context.cursor), fingerprint(settings.home.sources)
        if files != seen.files:
            return _wait("files have changed; waiting until they are still", Seen(files, now))
        if seen.is_settled:
            return _wait("no file has changed since the last look", seen)
        if now - seen.since < QUIET_SECONDS:
            return _wait(f"files were still changing {now - seen.since:.0f} s ago", seen)
        with free_of_refresh(settings.home.lock_file) as holder:
            is_refreshing = holder is not None
        if is_refreshing or context.instance.get_runs(filters=dg.RunsFilter(statuses=UNDER_WAY), limit=1):
            return _wait("another run is in progress", seen)
        return dg.SensorResult([dg.RunRequest()], cursor=Seen(files, seen.since, is_settled=True).as_cursor())

    return new_files


def _wait(why: str, seen: Seen) -> dg.SensorResult:
    return dg.SensorResult(skip_reason=why, cursor=seen.as_cursor())


def fingerprint(folder: Path) -> str:
    """Return a hash of the names, sizes and times of all files in a folder; hidden files are unfinished copies."""
    digest = hashlib.sha256()
    for line in sorted(_list_files(folder, set())):
        digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()


def _list_files(folder: Path, visited: set[str]) -> Iterator[str]:
    real = os.path.realpath(folder)
    if real in visited:
        return
    visited.add(real)
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        yield f"{folder}: {error.errno}\n"
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        try:
            if entry.is_dir():
                yield from _list_files(Path(entry.path), visited)
            else:
                found = entry.stat()
                yield f"{entry.path} {found.st_size} {found.st_mtime_ns}\n"
        except OSError as error:
            yield f"{entry.path}: {error.errno}\n"
