"""The questions put to Slurm, as commands, and the names of the files that hold the answers.

The export commands are those of `assets/log_kinds.py`; a pull adds the window and names the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from assets.log_kinds import EVENT_COLUMNS, NODE_EVENTS, NODES, QUEUE, SACCT
from assets.sources.sacct.columns import FIELDS, FREE_TEXT, REQUIRED
from assets.sources.settings import Pull
from orchestration.pull.windows import Window

WINDOWED = ("sacct", "events")
"""Kinds that are asked for day by day; the others show only the present."""
LIST_FIELDS = ("sacct", "--helpformat")
SHOW_CONFIGURATION = ("sacctmgr", "show", "configuration")
WHO_ASKS = ("id", "-un")
"""Not a command of Slurm, so it is on the PATH of every host."""
SACCT_FIELDS = tuple(sorted(FIELDS, key=lambda field: (field in FREE_TEXT, field != "JobIDRaw")))
"""The job first and free text last, so that a line break in a name does not hide the fields before it."""


@dataclass(frozen=True)
class Query:
    """One question: the kind of log, the window or none, the command, and the file for the answer."""

    kind: str
    words: tuple[str, ...]
    file_name: str
    window: Window | None = None
    fields: tuple[str, ...] = ()
    """Fields of accounting, in the order of the answer."""


def fields_of_version(help_text: str) -> tuple[str, ...]:
    r"""Return the fields that a version of sacct knows, from what `sacct --helpformat` prints.

    >>> fields_of_version("JobID  JobIDRaw\nState Submit Start End NodeList")
    ('JobIDRaw', 'JobID', 'State', 'Submit', 'Start', 'End', 'NodeList')
    """
    known = {name.lower() for name in help_text.split()}
    return tuple(field for field in SACCT_FIELDS if field.lower() in known)


def level_of(user: str) -> tuple[str, ...]:
    """Ask which administrator of Slurm a user is."""
    return ("sacctmgr", "-n", "-P", "show", "user", user, "format=AdminLevel")


def lacks_required(fields: Sequence[str]) -> bool:
    """Return whether a list of fields cannot be that of a working sacct."""
    return not {"JobIDRaw", *REQUIRED} <= set(fields)


def windowed(kind: str, window: Window, pull: Pull, fields: tuple[str, ...]) -> Query:
    """Ask for the accounting or the node events of a window."""
    start, end = _moment(window.from_at), _moment(window.to_at)
    cluster = pull.slurm_cluster
    if kind == "events":
        words = [*NODE_EVENTS, *([f"cluster={cluster}"] if cluster else []), f"start={start}", f"end={end}"]
        words.append(f"format={','.join(EVENT_COLUMNS)}")
        return Query(kind, tuple(words), file_name(window, "psv"), window)
    options = [*(["-M", cluster] if cluster else []), "-S", start, "-E", end]
    if pull.via == "json":
        # Of the options for text only those that choose records have a meaning here.
        words = [*(word for word in SACCT if not word.startswith(("-P", "--"))), *options, "--json"]
        return Query(kind, tuple(words), file_name(window, "json"), window)
    return Query(kind, (*SACCT, *options, "-o", ",".join(fields)), file_name(window, "psv"), window, fields)


def of_jobs(job_ids: Sequence[str], since: datetime, now: datetime, pull: Pull, fields: tuple[str, ...]) -> Query:
    """Ask for the accounting of some jobs, whenever they ended."""
    cluster = ["-M", pull.slurm_cluster] if pull.slurm_cluster else []
    words = (*SACCT, *cluster, "-S", _moment(since), "-j", ",".join(job_ids), "-o", ",".join(fields))
    return Query("sacct", words, f"pulled-late-{int(now.timestamp())}.psv", None, fields)


def snapshot(kind: str, now: datetime, pull: Pull) -> Query:
    """Ask for the nodes or the queue as they are now."""
    command, *options = NODES if kind == "inventory" else QUEUE
    cluster = ["-M", pull.slurm_cluster] if pull.slurm_cluster else []
    # Each look at the queue counts; of several inventories of a day the last one says it all.
    name = f"pulled-{now:%Y-%m-%d}.txt" if kind == "inventory" else f"pulled-{int(now.timestamp())}.psv"
    return Query(kind, (command, *cluster, *options), name)


def file_name(window: Window, suffix: str) -> str:
    """Name the file of a window by its day."""
    return f"pulled-{window.day:%Y-%m-%d}.{suffix}"


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}"
