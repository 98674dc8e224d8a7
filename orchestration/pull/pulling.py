"""Pull one cluster: ask for its windows, the oldest first, one at a time, and keep each answer as soon as it is whole.

A pull that is stopped goes on where it was. A kind of log that fails does not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from assets.sources.manifests import MANIFEST_SUFFIX
from assets.sources.settings import Pull
from orchestration.pull import state as states
from orchestration.pull.answers import Answer, judge, require_success
from orchestration.pull.failures import HostUnreachable, PullFailed
from orchestration.pull.files import put_in_place, remove_unfinished, unfinished, write_manifest
from orchestration.pull.host import Finished, Host
from orchestration.pull.outcomes import FAILED, INCOMPLETE, PULLED, PullOutcome
from orchestration.pull.privacy import hidden_jobs
from orchestration.pull.queries import (
    LIST_FIELDS,
    SACCT_FIELDS,
    WINDOWED,
    Query,
    fields_of_version,
    lacks_required,
    of_jobs,
    snapshot,
    windowed,
)
from orchestration.pull.windows import Window, is_due, midnight, windows
from orchestration.upkeep.permissions import private_files

MAX_JOBS_OF_QUERY = 500
MAX_FAILURES_IN_A_ROW = 2
MIN_BELIEVED_SHARE = 0.5
"""An answer with fewer than this share of the records that the file has is not believed."""
Say = Callable[[str], None]


def say_nothing(_: str) -> None:
    """Show no progress."""


@dataclass
class KindCounts:
    """What a pull did for one kind of log."""

    asked: int = 0
    written: int = 0
    unchanged: int = 0
    records: int = 0


@dataclass(frozen=True)
class Problem:
    """What could not be fetched: the kind of log, why, and what to do."""

    kind: str
    what: str
    next_step: str


@dataclass
class Pulled:
    """What a pull of a cluster did."""

    cluster_id: str
    status: str = PULLED
    pulled_to: str | None = None
    """The moment up to which accounting is in the sources folder, ISO 8601."""
    seconds: float = 0
    kinds: dict[str, KindCounts] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def outcome(self) -> PullOutcome:
        """Return what is kept of it: reasons and next steps, a line for each."""
        reasons = [f"{problem.kind}: {problem.what}".removeprefix(": ") for problem in self.problems]
        next_steps = dict.fromkeys(problem.next_step for problem in self.problems)
        return PullOutcome(
            status=self.status,
            ended_at=datetime.now(UTC).replace(microsecond=0).isoformat(),
            pulled_to=self.pulled_to,
            reason="\n".join(reasons) or None,
            next_step="\n".join(next_steps) or None,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


@dataclass(frozen=True)
class Span:
    """What a pull is asked for; None stands for what the settings and earlier pulls say."""

    since: date | None = None
    until: date | None = None
    """The first day that is not wanted any more."""
    is_again: bool = False
    """Ask for complete windows too."""


def first_day(span: Span, pull: Pull, state: states.State, today: date) -> date:
    """Return the first day to fetch: as asked, else as configured, and never later than an earlier pull began."""
    if span.since is not None:
        return span.since
    if pull.since is not None:
        return pull.since
    return today - timedelta(days=pull.first_days) if state.since is None else date.fromisoformat(state.since)


def planned(
    pull: Pull, span: Span, state: states.State, folder: Path, now: datetime
) -> Iterator[tuple[str, Window | None]]:
    """Yield what is to be asked for: kind and window, the oldest first; no window for what shows only the present."""
    first = first_day(span, pull, state, now.date())
    end = now if span.until is None else min(now, midnight(span.until))
    for kind in pull.kinds:
        if kind in WINDOWED:
            complete = _complete_days(kind, state, folder / kind, span)
            for window in windows(first, end):
                if is_due(window, complete, now, pull.look_back_days):
                    yield kind, window
        elif end == now:
            yield kind, None


def _complete_days(kind: str, state: states.State, folder: Path, span: Span) -> set[date]:
    """Return the days whose answers are there, and those from before anything ended, of which there is no file."""
    if span.is_again:
        return set()
    first = state.first_day(kind)
    names = [path.name for path in folder.glob("pulled-*")] if folder.is_dir() else []
    stems = {name.partition(".")[0] for name in names if not name.endswith(MANIFEST_SUFFIX)}
    return {
        day for day in state.complete_days(kind) if first is None or day < first or f"pulled-{day:%Y-%m-%d}" in stems
    }


class ClusterPull:
    """One pull of one cluster.

    Parameters
    ----------
    cluster_id, folder
        The cluster, and its folder in the sources folder.
    pull
        The settings.
    host
        Where Slurm's commands run.
    now
        The moment of the pull, in UTC.
    say
        Takes a line about each window.
    """

    def __init__(
        self, cluster_id: str, folder: Path, pull: Pull, host: Host, *, now: datetime, say: Say = say_nothing
    ) -> None:
        self._folder, self._pull, self._host, self._say, self._now = folder, pull, host, say, now
        self._result = Pulled(cluster_id)
        self._state = states.State()
        self._fields = SACCT_FIELDS
        self._rest_until = 0.0
        self._ended: set[str] = set()
        self._open: dict[str, int] = {}

    def run(self, span: Span) -> Pulled:
        """Fetch what is due, and tell what was done; what failed is among the problems of the result.

        Raises
        ------
        PullRunning
            Another process pulls this cluster.
        OSError
            The cluster's folder cannot be written.
        """
        started = time.monotonic()
        with private_files(), states.lock_of(self._folder):
            self._state = states.read_state(self._folder)
            for kind in self._pull.kinds:
                remove_unfinished(self._folder / kind)
            first = first_day(span, self._pull, self._state, self._now.date()).isoformat()
            self._state.since = min(self._state.since or first, first)
            try:
                self._fetch(list(planned(self._pull, span, self._state, self._folder, self._now)))
                self._note_end()
            finally:
                states.write_state(self._folder, self._state)
        self._result.seconds = round(time.monotonic() - started, 3)
        return self._result

    def _fetch(self, asked: list[tuple[str, Window | None]]) -> None:
        kinds = dict.fromkeys(kind for kind, _ in asked)
        for kind in kinds:
            self._result.kinds[kind] = KindCounts()
            try:
                if kind == "sacct":
                    self._prepare_accounting()
                self._fetch_kind(kind, [window for other, window in asked if other == kind])
            except HostUnreachable as error:
                self._add_problem(kind, error)
                return
            except PullFailed as error:
                self._add_problem(kind, error)

    def _fetch_kind(self, kind: str, asked: list[Window | None]) -> None:
        """Ask for the windows of a kind; one that fails is left for the next pull, and two in a row end the kind."""
        failures = 0
        for window in asked:
            try:
                self._fetch_one(self._query(kind, window))
                failures = 0
            except HostUnreachable:
                raise
            except PullFailed as error:
                failures += 1
                if failures == MAX_FAILURES_IN_A_ROW:
                    raise
                self._add_problem(kind, error, window)
        if kind == "sacct" and not failures and asked[-1] is not None and asked[-1].to_at == self._now:
            self._state.pulled_to = self._now.isoformat()
            self._fetch_ended_late()

    def _query(self, kind: str, window: Window | None) -> Query:
        if window is None:
            return snapshot(kind, self._now, self._pull)
        return windowed(kind, window, self._pull, self._fields)

    def _prepare_accounting(self) -> None:
        """Ask who sees which jobs, and which fields this sacct knows: it refuses a query for any other."""
        if self._pull.via == "text":
            self._fields = fields_of_version(self._text_of(LIST_FIELDS))
            if lacks_required(self._fields):
                raise PullFailed("`sacct --helpformat` does not list the fields of sacct", "run it by hand")
        if hidden := hidden_jobs(self._text_of):
            self._add_problem("sacct", hidden)

    def _text_of(self, words: tuple[str, ...]) -> str:
        with self._asked(Query("sacct", words, "asked.txt")) as (answer, _):
            return answer.read_text(encoding="utf-8", errors="replace")

    def _fetch_one(self, query: Query) -> None:
        counts = self._result.kinds[query.kind]
        counts.asked += 1
        with self._asked(query) as (answer, finished):
            found = judge(query, answer)
            counts.records += found.record_count
            file = self._folder / query.kind / query.file_name
            self._require_believable(query, found, file)
            self._note_jobs(query, found)
            if self._is_kept(query, found, file):
                is_changed = put_in_place(answer, file)
                if query.window is not None and self._state.first_day(query.kind) is not None:
                    is_changed |= self._state_coverage(query, query.window, found, file)
                counts.written += is_changed
                counts.unchanged += not is_changed
        if query.window is not None and query.window.is_whole:
            self._state.mark_complete(query.kind, query.window.day)
            states.write_state(self._folder, self._state)
        when = f" {query.window.day}" if query.window else ""
        self._say(f"{query.kind}{when}: {found.record_count:,} records in {finished.seconds:.1f} s")

    @contextmanager
    def _asked(self, query: Query) -> Iterator[tuple[Path, Finished]]:
        """Put a question after the rest that the one before it needs, and give the file of its answer for a while."""
        time.sleep(max(0.0, self._rest_until - time.monotonic()))
        answer = unfinished(self._folder / query.kind, query.file_name)
        try:
            finished = self._host.run(query.words, answer)
            # A quick query needs no long rest: 90 days without a job would take minutes.
            self._rest_until = time.monotonic() + min(self._pull.pause_seconds, finished.seconds)
            require_success(query, finished, self._pull.harmless_errors)
            yield answer, finished
        finally:
            answer.unlink(missing_ok=True)

    def _require_believable(self, query: Query, found: Answer, file: Path) -> None:
        """Refuse an answer that lacks most of what the same question gave before: a good file is not lost to it."""
        if query.window is None or not file.exists():
            return
        try:
            before = judge(query, file).record_count
        except PullFailed:
            # Another version of sacct wrote other columns, or somebody changed the file.
            return
        if found.record_count < MIN_BELIEVED_SHARE * before:
            raise PullFailed(
                f"{query.words[0]}: {found.record_count:,} records for {query.window.day}, where there were {before:,};"
                " the file is kept as it was",
                f"if Slurm has purged them, set look_back_days = 0 under [pull]; if they are wrong, remove {file}",
            )

    def _note_jobs(self, query: Query, found: Answer) -> None:
        if query.kind == "sacct":
            self._ended |= found.ended_jobs
            self._open = found.open_jobs

    def _is_kept(self, query: Query, found: Answer, file: Path) -> bool:
        """Return whether an answer is worth a file, and note the first day on which something ended.

        Before that day an empty answer may mean that Slurm has forgotten what there was. It must not look like quiet.
        """
        if query.window is None:
            return found.record_count > 0
        first = self._state.first_day(query.kind)
        if found.first_moment is not None and (first is None or query.window.day < first):
            self._state.mark_first(query.kind, query.window.day)
            return True
        if first is not None and query.window.day >= first:
            return True
        return found.record_count > 0 and not query.window.is_whole

    def _state_coverage(self, query: Query, window: Window, found: Answer, file: Path) -> bool:
        """Write beside a file what it covers: all of its window or, on the first day, what follows the first end."""
        from_at = window.from_at
        if window.day == self._state.first_day(query.kind):
            if found.first_moment is None:
                return False
            from_at = datetime.fromtimestamp(found.first_moment, UTC)
        return write_manifest(file, self._host.shown(query.words), from_at, window.to_at)

    def _fetch_ended_late(self) -> None:
        """Ask by number for jobs that ran at the last pull, run no longer, and ended in no window that was asked for.

        Slurm wrote their end late, or somebody set it (`sacctmgr show runawayjobs`).
        """
        # What is asked by number is judged like any window, and replaces what is known to run.
        running = self._open
        missing = {
            job: submitted_at
            for job, submitted_at in self._state.open_jobs.items()
            if job not in running and job not in self._ended
        }
        if missing and self._pull.via == "text":
            since = datetime.fromtimestamp(min(missing.values()), UTC)
            numbers = sorted({job.partition(" ")[0] for job in missing})
            for place in range(0, len(numbers), MAX_JOBS_OF_QUERY):
                at = self._now + timedelta(seconds=place // MAX_JOBS_OF_QUERY)
                part = numbers[place : place + MAX_JOBS_OF_QUERY]
                self._fetch_one(of_jobs(part, since, at, self._pull, self._fields))
        self._state.open_jobs = running

    def _add_problem(self, kind: str, error: PullFailed, window: Window | None = None) -> None:
        what = f"{window.day}: {error.what}" if window else error.what
        self._result.problems.append(Problem(kind, what, error.next_step))
        self._say(f"{kind}: {what}; {error.next_step}")

    def _note_end(self) -> None:
        result = self._result
        result.pulled_to = self._state.pulled_to
        if result.problems:
            is_behind = "sacct" in self._pull.kinds and result.pulled_to != self._now.isoformat()
            result.status = FAILED if is_behind else INCOMPLETE
