"""The queries to Slurm, a day at a time, and the check of the answers: complete, cut off, or a hidden error.

The export commands are those of `assets/log_kinds.py`; a pull adds the window and names the columns. sacct and sacctmgr
return every record that overlaps a window, so a job is in the window in which it ends, however long it ran. Only
records that Slurm writes late need a second query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta

from assets.log_kinds import DELIMITER, EVENT_COLUMNS, NODE_EVENTS, NODES, QUEUE, SACCT
from assets.sources.sacct.columns import FIELDS, FREE_TEXT, REQUIRED
from assets.sources.sacct.values import OPEN_STATES
from assets.sources.settings import Pull
from orchestration.pull.host import ERROR, Host, PullFailed

WINDOWED = ("sacct", "events")
"""Kinds that are queried day by day; the others show only the present."""
LIST_FIELDS = ("sacct", "--helpformat")
SHOW_CONFIGURATION = ("sacctmgr", "show", "configuration")
SACCT_FIELDS = tuple(sorted(FIELDS, key=lambda field: (field in FREE_TEXT, field != "JobIDRaw")))
"""The job first and free text last, so that a line break in a name does not hide the fields before it."""
JOB = re.compile(r"\d+(?:\.\w+)?")
BEGINNINGS = {"inventory": re.compile("NodeName="), "squeue": re.compile(r"\d+\|")}
"""How a record begins in answers without a header."""
DAY, MOMENT = timedelta(days=1), "%Y-%m-%dT%H:%M:%S"


@dataclass(frozen=True)
class Window:
    """A day in UTC, or its past part."""

    from_at: datetime
    to_at: datetime

    @property
    def day(self) -> date:
        """The day of the window."""
        return self.from_at.date()

    @property
    def is_whole(self) -> bool:
        """Whether the day is over."""
        return self.to_at - self.from_at == DAY


@dataclass(frozen=True)
class Query:
    """One query: the kind of log, the command, the file for the answer, its columns, and the window."""

    kind: str
    words: tuple[str, ...]
    file_name: str
    columns: tuple[str, ...] = ()
    window: Window | None = None


@dataclass
class Answer:
    """The content of an answer. Moments are seconds since 1970."""

    record_count: int = 0
    first_moment: int | None = None
    """The earliest moment in the window at which something ended (for node events: began or ended)."""
    open_jobs: dict[str, int] = field(default_factory=dict)
    """Submission times of the jobs that had started and not ended, by number and submission."""
    ended_jobs: set[str] = field(default_factory=set)


def midnight(day: date) -> datetime:
    """Return the beginning of a day in UTC."""
    return datetime.combine(day, time(), UTC)


def windows(first: date, to_at: datetime) -> Iterator[Window]:
    """Yield the windows from a day up to a moment, the oldest first."""
    from_at = midnight(first)
    while from_at < to_at:
        yield Window(from_at, min(from_at + DAY, to_at))
        from_at += DAY


def fields_of_version(help_text: str) -> tuple[str, ...]:
    """Return the fields that a version of sacct knows, from `sacct --helpformat`; it refuses any other."""
    known = {name.lower() for name in help_text.split()}
    fields = tuple(name for name in SACCT_FIELDS if name.lower() in known)
    if not {"JobIDRaw", *REQUIRED} <= set(fields):
        raise PullFailed("`sacct --helpformat` does not list the fields of sacct")
    return fields


def hidden_jobs(host: Host) -> PullFailed | None:
    """Return a problem if Slurm hides other users' jobs from this user; None if it does not, or that is unknown.

    With PrivateData=jobs, `sacct -a` silently leaves out other users' jobs.
    """
    try:
        configuration = host.text_of(SHOW_CONFIGURATION)
        is_private = re.search(r"^PrivateData\s*=.*\b(?:jobs|all)\b", configuration, re.M | re.I)
        user = host.text_of(("/bin/sh", "-c", "id -un")).strip() if is_private else "root"
        if user in {"root", *re.findall(r"^SlurmUser\s*=\s*([^\s(]+)", configuration, re.M)}:
            return None
        level = host.text_of(("sacctmgr", "-n", "-P", "show", "user", user, "format=AdminLevel")).strip()
    except PullFailed:
        return None
    if level.lower() in {"operator", "administrator"}:
        return None
    return PullFailed(
        f"PrivateData hides the jobs of other users from {user}: most of the accounting is missing",
        " ".join(("sacctmgr modify user", user, "set AdminLevel=Operator, then faultline pull --again")),
    )


def question(kind: str, window: Window | None, now: datetime, pull: Pull, fields: tuple[str, ...]) -> Query:
    """Return the query for the accounting or node events of a window, or for the present nodes or queue."""
    if window is None:
        command, *options = NODES if kind == "inventory" else QUEUE
        # Every snapshot of the queue is kept, but only the last inventory of a day.
        name = f"pulled-{now.date()}.txt" if kind == "inventory" else f"pulled-{int(now.timestamp())}.psv"
        return Query(kind, (command, *_cluster(pull), *options), name)
    start, end = window.from_at.strftime(MOMENT), window.to_at.strftime(MOMENT)
    name = f"pulled-{window.day}.psv"
    if kind == "events":
        cluster = [f"cluster={pull.slurm_cluster}"] if pull.slurm_cluster else []
        words = (*NODE_EVENTS, *cluster, f"start={start}", f"end={end}", f"format={','.join(EVENT_COLUMNS)}")
        return Query(kind, words, name, EVENT_COLUMNS, window)
    words = (*SACCT, *_cluster(pull), "-S", start, "-E", end, "-o", ",".join(fields))
    return Query(kind, words, name, fields, window)


def of_jobs(jobs: Mapping[str, int], now: datetime, pull: Pull, fields: tuple[str, ...]) -> Query:
    """Return the query for the accounting of open jobs, whenever they ended."""
    since = datetime.fromtimestamp(min(jobs.values()), UTC).strftime(MOMENT)
    numbers = ",".join(sorted({job.partition(" ")[0] for job in jobs}))
    words = (*SACCT, *_cluster(pull), "-S", since, "-j", numbers, "-o", ",".join(fields))
    return Query("sacct", words, f"pulled-late-{int(now.timestamp())}.psv", fields)


def _cluster(pull: Pull) -> list[str]:
    return ["-M", pull.slurm_cluster] if pull.slurm_cluster else []


def judge(query: Query, answer: bytes) -> Answer:
    """Parse an answer; raise `PullFailed` if it is cut off, or no answer to the query."""
    program, found = query.words[0], Answer()
    *lines, rest = answer.decode("utf-8", errors="replace").split("\n")
    for line in (*lines[:1], *lines[-1:]):
        if ERROR.match(line):
            raise PullFailed(f"{line} ({program}, among the records)")
    if rest:
        raise PullFailed(f"{program}: its answer ends in the middle of a line")
    if query.columns:
        for row in _rows(query, lines):
            _note(found, row, query.window)
        return found
    # With -M, Slurm names the cluster first.
    records = [line for line in lines if line.strip() and not line.startswith("CLUSTER:")]
    if records and not BEGINNINGS[query.kind].match(records[0]):
        raise PullFailed(f"{program}: its first line is no record but {records[0][:120]!r}")
    if query.kind == "inventory" and not records:
        raise PullFailed(f"{program}: it lists no node")
    return Answer(len(records))


def _rows(query: Query, lines: list[str]) -> Iterator[dict[str, str]]:
    """Yield the records below the header; the rest of a text after a line break is no record."""
    delimiter = DELIMITER if query.kind == "sacct" else "|"
    header = lines[0] if lines else ""
    if header != delimiter.join(query.columns):
        raise PullFailed(f"{query.words[0]}: its first line is not the header but {header[:120]!r}")
    required = {"State", "Submit", "Start", "End"} if query.kind == "sacct" else set(EVENT_COLUMNS)
    for line in lines[1:]:
        row = dict(zip(query.columns, line.split(delimiter), strict=False))
        # An event without a node, such as a change of the number of nodes, is no outage.
        if row.keys() >= required and (row.get("NodeName") or JOB.fullmatch(row.get("JobIDRaw", ""))):
            yield row


def _note(answer: Answer, row: Mapping[str, str], window: Window | None) -> None:
    """Count a record, and note when it ended and whether its job still runs."""
    answer.record_count += 1
    is_job = "JobIDRaw" in row
    for moment in map(_epoch, (row["End"],) if is_job else (row["TimeStart"], row["TimeEnd"])):
        if moment and window and window.from_at.timestamp() <= moment < window.to_at.timestamp():
            answer.first_moment = min(answer.first_moment or moment, moment)
    if not is_job:
        return
    # A requeue submits a job again: its number alone would confuse two attempts.
    submitted_at = _epoch(row["Submit"])
    attempt = f"{row['JobIDRaw']} {submitted_at}"
    if _epoch(row["End"]):
        answer.ended_jobs.add(attempt)
    elif submitted_at and _epoch(row["Start"]) and row["State"].partition(" ")[0] in OPEN_STATES:
        answer.open_jobs[attempt] = submitted_at


def _epoch(text: str) -> int:
    """Return a moment, or 0 if the text is none."""
    return int(text) if text.isdecimal() else 0
