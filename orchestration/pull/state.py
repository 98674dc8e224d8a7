"""What is remembered of the pulls of a cluster, in the hidden folder `.pull` of the cluster's folder.

It says which windows are complete. It lies beside the files that it is about: a cluster's folder can be moved, or
pulled into from another home. Readers of logs pass hidden folders by.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from pathlib import Path

from orchestration.pull.failures import PullRunning
from orchestration.pull.files import replace_file
from orchestration.upkeep.holder import holder_of

FOLDER = ".pull"
STATE, LOCK = "state.json", "lock"


@dataclass
class State:
    """What is known of a cluster's pulls."""

    since: str | None = None
    """The first day that was ever asked for."""
    complete: dict[str, list[str]] = field(default_factory=dict)
    """Days that were asked for after their end, by kind."""
    first: dict[str, str] = field(default_factory=dict)
    """By kind, the first day on which something ended: before it, Slurm may have forgotten what there was."""
    open_jobs: dict[str, int] = field(default_factory=dict)
    """Jobs that ran at the end of the last pull, each by number and submission, with the submission."""
    pulled_to: str | None = None
    """The moment up to which accounting is in the sources folder."""

    def complete_days(self, kind: str) -> set[date]:
        """Return the days of a kind that were asked for after their end."""
        return {date.fromisoformat(day) for day in self.complete.get(kind, [])}

    def first_day(self, kind: str) -> date | None:
        """Return the first day of a kind on which something ended."""
        return date.fromisoformat(self.first[kind]) if kind in self.first else None

    def mark_complete(self, kind: str, day: date) -> None:
        """Remember that a day was asked for after its end."""
        self.complete[kind] = sorted({*self.complete.get(kind, []), day.isoformat()})

    def mark_first(self, kind: str, day: date) -> None:
        """Remember a day on which something ended, if it is the first."""
        self.first[kind] = min(self.first.get(kind, day.isoformat()), day.isoformat())


def read_state(cluster_folder: Path) -> State:
    """Read what is known of a cluster's pulls; a file that is missing or damaged says nothing.

    Then every window is asked for again, and an answer that is there already changes nothing.
    """
    try:
        stored = json.loads((cluster_folder / FOLDER / STATE).read_text(encoding="utf-8"))
        state = State(**stored)
        for kind in state.complete:
            state.complete_days(kind)
            state.first_day(kind)
        if state.since is not None:
            date.fromisoformat(state.since)
        if state.pulled_to is not None:
            datetime.fromisoformat(state.pulled_to)
    except (OSError, ValueError, TypeError, AttributeError):
        return State()
    return state


def write_state(cluster_folder: Path, state: State) -> None:
    """Replace what is known of a cluster's pulls."""
    replace_file(cluster_folder / FOLDER / STATE, json.dumps(asdict(state), indent=1).encode())


@contextmanager
def lock_of(cluster_folder: Path) -> Iterator[None]:
    """Hold a cluster's lock; it ends with the process.

    Raises
    ------
    PullRunning
        Another process holds it.
    """
    path = cluster_folder / FOLDER / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = holder_of(file.read())
            raise PullRunning(
                f"a pull of {cluster_folder.name} is already running ({holder})", "wait for it to end"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield
