"""Pull clusters: ask for their windows, the oldest first, one at a time, and keep each complete answer at once.

A stopped pull continues where it was. A kind of log that fails does not stop the others. The state of a cluster's pulls
is in the hidden folder `.pull` next to the files that it describes, so that the cluster's folder can be moved, or used
by another home. Readers of logs skip hidden folders and files.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path

from pydantic import BaseModel

from assets.sources.errors import SourceErrors
from assets.sources.intake.find.folder import cluster_folders
from assets.sources.manifests import MANIFEST_SUFFIX
from assets.sources.settings import Pull, Untrusted, read_settings
from orchestration.pull import queries
from orchestration.pull.host import Host, HostUnreachable, PullFailed, PullProblem, PullRunning
from orchestration.pull.outcomes import BUSY, FAILED, INCOMPLETE, PULLED, Pulled, keep_outcome
from orchestration.pull.queries import Answer, Query, Window
from orchestration.settings.home import Home
from orchestration.upkeep.disk import replace_file
from orchestration.upkeep.holder import holder_of
from orchestration.upkeep.permissions import private_files

FOLDER, STATE, LOCK = ".pull", "state.json", "lock"
MAX_JOBS_OF_QUERY = 500
MAX_FAILURES_IN_A_ROW = 2
MIN_BELIEVED_SHARE = 0.5
"""An answer with a smaller share of the file's records is refused."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Span:
    """The days to pull; None means as the settings and earlier pulls say."""

    since: date | None = None
    until: date | None = None
    """The first day that is not fetched any more."""
    is_again: bool = False
    """Ask for complete windows, too."""


class State(BaseModel):
    """The state of a cluster's pulls."""

    since: date | None = None
    """The first day that was ever asked for."""
    complete: dict[str, set[date]] = {}
    """Days that were asked for after their end, by kind."""
    first: dict[str, date] = {}
    """By kind, the first day on which something ended: before it, Slurm may have purged its records."""
    open_jobs: dict[str, int] = {}
    """Submission times of the jobs that ran at the end of the last pull, by number and submission."""
    pulled_to: datetime | None = None
    """The moment up to which accounting is in the sources folder."""


def clusters_to_pull(sources: Path) -> dict[str, Pull | Untrusted]:
    """Return the clusters with a table `[pull]` in `cluster.toml`: its settings, or why they are not obeyed.

    A wrong `cluster.toml` counts as none.
    """
    try:
        folders = cluster_folders(sources)
    except SourceErrors:
        return {}
    settings = {folder.name: read_settings(folder, folder.name) for folder in folders}
    return {name: found.pull for name, (found, wrong) in settings.items() if not wrong and found.pull is not None}


def pull_all(
    clusters: Mapping[str, Pull | Untrusted],
    home: Home,
    say: Say,
    *,
    span: Span | None = None,
    out: Path | None = None,
) -> list[Pulled]:
    """Pull clusters, one after the other, into the sources folder or another one.

    The results hold every problem. They are kept in the home, unless the logs go elsewhere.
    """
    found = []
    for cluster_id, pull in clusters.items():
        found.append(_pull(cluster_id, out or home.sources / cluster_id, pull, span or Span(), say))
        if out is None and found[-1].status != BUSY:
            keep_outcome(home, found[-1])
    return found


def _pull(cluster_id: str, folder: Path, pull: Pull | Untrusted, span: Span, say: Say) -> Pulled:
    try:
        return ClusterPull(cluster_id, folder, pull, say).run(span)
    except PullProblem as error:
        status, what, step = BUSY if isinstance(error, PullRunning) else FAILED, error.what, error.next_step
    except OSError as error:
        what = f"{error.filename or folder} cannot be written ({error.strerror}); what was fetched before stays"
        status, step = FAILED, "make room there, or make it writable for this user, then pull again"
    problems = [{"kind": "", "what": what, "next_step": step}]
    return Pulled(cluster_id, status, now().isoformat(), problems=problems)


def now() -> datetime:
    """Return the present in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def read_state(cluster_folder: Path) -> State:
    """Return the state of a cluster's pulls; a missing or damaged file counts as empty.

    Then every window is asked for again, and an answer equal to the file changes nothing.
    """
    try:
        return State.model_validate_json((cluster_folder / FOLDER / STATE).read_bytes())
    except (OSError, ValueError):
        return State()


@contextmanager
def lock_of(cluster_folder: Path) -> Iterator[None]:
    """Hold a cluster's lock, which ends with the process; raise `PullRunning` if another one holds it."""
    path = cluster_folder / FOLDER / LOCK
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            what = f"a pull of {cluster_folder.name} is already running ({holder_of(file.read())})"
            raise PullRunning(what, "wait for it to end") from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


class ClusterPull:
    """One pull of one cluster up to now; `say` takes a line about each query. It fails if [pull] is not obeyed."""

    def __init__(self, cluster_id: str, folder: Path, pull: Pull | Untrusted, say: Say) -> None:
        if isinstance(pull, Untrusted):
            raise PullFailed(f"[pull] is not obeyed: {pull.what}", pull.next_step)
        self._cluster_id, self._folder, self._pull, self._say = cluster_id, folder, pull, say
        self._host, self._now = Host(pull), now()
        self._state = read_state(folder)
        self._fields = queries.SACCT_FIELDS
        self._counts: dict[str, dict[str, int]] = {}
        self._problems: list[dict[str, str]] = []
        self._open: dict[str, int] = {}
        self._ended: set[str] = set()

    def commands(self, span: Span) -> list[str]:
        """Return the commands that a pull would run now, as typed into bash; nothing is run or written.

        A pull asks only for the fields of accounting that its version of sacct lists.
        """
        words = [queries.LIST_FIELDS, queries.SHOW_CONFIGURATION] if "sacct" in self._pull.kinds else []
        words += [self._query(kind, due).words for kind in self._pull.kinds for due in self._due(kind, span)]
        return [self._host.shown(command) for command in words]

    def run(self, span: Span) -> Pulled:
        """Fetch what is due, and return what was done, with its problems.

        Raise `PullRunning` if another process pulls this cluster, `OSError` if its folder cannot be written.
        """
        with private_files(), lock_of(self._folder):
            self._state = read_state(self._folder)
            first = self._first_day(span)
            self._state.since = min(self._state.since or first, first)
            try:
                self._fetch(span)
            finally:
                self._write_state()
        pulled_to, status = self._state.pulled_to, PULLED
        if self._problems:
            status = FAILED if "sacct" in self._pull.kinds and pulled_to != self._now else INCOMPLETE
        reached = pulled_to.isoformat() if pulled_to else None
        return Pulled(self._cluster_id, status, now().isoformat(), reached, self._counts, self._problems)

    def _first_day(self, span: Span) -> date:
        """Return the first day to fetch: as asked, else as configured, else as in earlier pulls."""
        days = timedelta(days=self._pull.first_days)
        return span.since or self._pull.since or self._state.since or self._now.date() - days

    def _due(self, kind: str, span: Span) -> list[Window | None]:
        """List the windows to ask for: for the first time, or again because records may be late.

        A kind that shows only the present has no window. A deleted file is fetched again.
        """
        end = self._now if span.until is None else min(self._now, queries.midnight(span.until))
        if kind not in queries.WINDOWED:
            return [None] if end == self._now else []
        look_back_to = self._now.date() - timedelta(days=self._pull.look_back_days)
        first = self._state.first.get(kind)
        there = {
            day
            for day in self._state.complete.get(kind, ())
            # Days before the first end have no file.
            if first is None or day < first or (self._folder / kind / f"pulled-{day}.psv").exists()
        }
        return [
            window
            for window in queries.windows(self._first_day(span), end)
            if span.is_again or window.day not in there or window.day >= look_back_to
        ]

    def _query(self, kind: str, window: Window | None) -> Query:
        return queries.question(kind, window, self._now, self._pull, self._fields)

    def _fetch(self, span: Span) -> None:
        for kind in self._pull.kinds:
            due = self._due(kind, span)
            try:
                if due:
                    self._fetch_kind(kind, due)
            except PullFailed as error:
                self._add_problem(kind, error)
            except HostUnreachable as error:
                self._add_problem(kind, error)
                return

    def _fetch_kind(self, kind: str, due: list[Window | None]) -> None:
        """Ask for the windows of a kind; a failed one is left for the next pull, and two in a row end the kind."""
        self._counts[kind] = {"asked": 0, "records": 0, "written": 0}
        if kind == "sacct":
            self._fields = queries.fields_of_version(self._host.text_of(queries.LIST_FIELDS))
            if hidden := queries.hidden_jobs(self._host):
                self._add_problem(kind, hidden)
        failures = 0
        for window in due:
            try:
                self._fetch_one(self._query(kind, window))
                failures = 0
            except PullFailed as error:
                failures += 1
                if failures == MAX_FAILURES_IN_A_ROW:
                    raise
                self._add_problem(kind, error, window)
        if kind == "sacct" and not failures and due[-1] is not None and due[-1].to_at == self._now:
            self._state.pulled_to = self._now
            self._fetch_ended_late()

    def _fetch_one(self, query: Query) -> None:
        counts, file, window = self._counts[query.kind], self._folder / query.kind / query.file_name, query.window
        counts["asked"] += 1
        answer = self._host.run(query.words)
        found = queries.judge(query, answer)
        self._require_believable(query, found, file)
        counts["records"] += found.record_count
        covered_from = self._covered_from(query, found)
        is_of_the_present = window is None or not window.is_whole
        if covered_from is not None or (is_of_the_present and found.record_count):
            counts["written"] += _write(file, answer)
        if covered_from is not None and window is not None:
            stated = {"command": self._host.shown(query.words), "from": covered_from, "to": window.to_at}
            text = f"{json.dumps(stated, default=datetime.isoformat)}\n"
            _write(file.with_name(f"{file.name}{MANIFEST_SUFFIX}"), text.encode())
        if window is not None and window.is_whole:
            self._state.complete.setdefault(query.kind, set()).add(window.day)
            self._write_state()
        if query.kind == "sacct":
            self._open, self._ended = found.open_jobs, self._ended | found.ended_jobs
        self._say(f"{self._cluster_id} {file.name}: {found.record_count:,} records of {query.kind}")

    def _require_believable(self, query: Query, found: Answer, file: Path) -> None:
        """Refuse an answer that lacks most of the records of the file, so that a good file is not lost."""
        if query.window is None or not file.exists():
            return
        try:
            before = queries.judge(query, file.read_bytes()).record_count
        except PullFailed:
            # Another version of sacct wrote other columns, or the file was changed.
            return
        if found.record_count < MIN_BELIEVED_SHARE * before:
            raise PullFailed(
                f"{query.words[0]}: {found.record_count:,} records for {query.window.day}, where there were {before:,};"
                " the file is kept as it was",
                f"if Slurm has purged them, set look_back_days = 0 under [pull]; if they are wrong, remove {file}",
            )

    def _covered_from(self, query: Query, found: Answer) -> datetime | None:
        """Return the moment from which an answer is complete for its window, and note the first day with an end.

        None: it is complete nowhere. Before the first end, an empty answer may mean that Slurm purged its records. It
        must not look like a quiet day, so there is no file.
        """
        if query.window is None:
            return None
        day, first = query.window.day, self._state.first.get(query.kind)
        if found.first_moment is not None:
            first = self._state.first[query.kind] = min(first or day, day)
        if first is None or day < first:
            return None
        if day > first:
            return query.window.from_at
        return None if found.first_moment is None else datetime.fromtimestamp(found.first_moment, UTC)

    def _fetch_ended_late(self) -> None:
        """Ask by number for jobs that ran at the last pull, do not run now, and ended in no window of this pull.

        Slurm wrote their end late, or somebody set it (`sacctmgr show runawayjobs`).
        """
        running, before = self._open, self._state.open_jobs
        missing = {job: before[job] for job in before if job not in running and job not in self._ended}
        # Jobs that do not fit on a command line are left for the next pull.
        asked = dict(islice(missing.items(), MAX_JOBS_OF_QUERY))
        if asked:
            self._fetch_one(queries.of_jobs(asked, self._now, self._pull, self._fields))
        self._state.open_jobs = running | {job: missing[job] for job in missing if job not in asked}

    def _add_problem(self, kind: str, error: PullProblem, window: Window | None = None) -> None:
        what = f"{window.day}: {error.what}" if window else error.what
        self._problems.append({"kind": kind, "what": what, "next_step": error.next_step})

    def _write_state(self) -> None:
        replace_file(self._folder / FOLDER / STATE, self._state.model_dump_json(indent=1).encode(), 0o600)


def _write(file: Path, content: bytes) -> bool:
    """Write a file in one step, unless it has the same bytes; return whether it changed."""
    if file.exists() and file.read_bytes() == content:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(file, content, 0o600)
    return True
