"""What the logs of a cluster cover, by kind: as a site says, as manifests say, as the logs' own times tell.

In this order: `[[spans]]` of cluster.toml is all there is to know of the kinds it names; a manifest says what its file
covers; of any other file its first and last times do. A file's modification says nothing. What a refused or doubtful
file would cover, as its manifest, its lines or its name tell, is covered by nothing: unknown must not turn into zero.

Within a file a quiet stretch is no gap: a small cluster may have no event for weeks. Between two files it is one when
it is longer than a night, than half a usual file, and than what chance makes of records that come as seldom as these:
then a file is missing. A gap of accounting takes exposure out of every rate, so that it must be proven as well:

* files that are named by successive days leave nothing out between them, whatever their records say;
* jobs are missing where Slurm gave out job numbers that no record has; a cluster that was idle gave out none;
* days that no file is named by were not exported, if they are more than a week: nobody knows of shorter ones whether
  an empty export was thrown away.

References
----------
Goodman, Serial number analysis, JASA 47 (1952): n records that lie at random in an interval leave on average as much
room before the first and after the last as between two.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from statistics import median

import duckdb

from assets.sources.intake.folder import Survey
from assets.sources.settings import Settings, in_utc
from assets.sources.sql import undated

EVERY_LINE_COUNTS = frozenset({"health", "kernel", "slurmctld"})
"""Kinds whose lines tell a time even where they are of no interest: the others have a record for whatever there was."""

UNEXTENDED = frozenset({"sacct"})
"""Accounting is known from the earliest end to the latest record and no further."""

MIN_GAP = timedelta(hours=20)
"""Between two files: less may be a night, more is a missing day."""

TOGETHER = timedelta(minutes=1)
"""Jobs that begin within it began together, and windows that are so far apart touch: many end at 23:59:59."""

MAX_EMPTY = timedelta(days=7)
"""Files that are named by days: for no longer than this are empty ones thought to have been thrown away."""

SUCCESSIVE = 1.5
"""Days in names follow each other when they are no further apart than so many usual steps: months differ in length."""

MISSING_SHARE = 0.1
"""Jobs are missing when the numbers that no record has are so large a share of the jobs usual in so long a time."""

MAX_JOB_NUMBER = 2**26 - 1
"""Slurm gives out no higher one within a cluster: those beyond were made for parts of jobs, or name another cluster."""

FALSE_GAPS = 0.05
"""Chance that records which come at random leave between any two files of a log a stretch that counts as a gap."""


@dataclass(frozen=True)
class CoveredFile:
    """What a file covers by its own times, and its number of records that are in no other file.

    Accounting has the day in the file's name too, and the latest moment at which one of its jobs was submitted or
    started: an export of one day tells of the jobs of that day even when they ended later.
    """

    first_at: datetime
    last_at: datetime
    record_count: int
    named_at: datetime | None = None
    last_start_at: datetime | None = None


@dataclass(frozen=True, order=True)
class Interval:
    """An interval that is covered, and how that is known."""

    from_at: datetime
    to_at: datetime
    known_by: str


def by_times(
    files: Iterable[CoveredFile],
    *,
    is_extended: bool = True,
    lack_jobs: Callable[[datetime, datetime], bool] | None = None,
) -> list[Interval]:
    """Return the intervals that files cover by their own times.

    Parameters
    ----------
    files
        Files of one kind and cluster, in any order.
    is_extended
        Whether records lie at random in what is covered: then it begins and ends a usual distance beyond them.
    lack_jobs
        Tells of accounting whether jobs of a stretch are missing. Without it a quiet stretch needs no further proof.

    Examples
    --------
    Three daily files of four and a missing one:

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> files = [CoveredFile(day[n], day[n] + timedelta(hours=23), 24) for n in (0, 1, 3)]
    >>> [f"{found.from_at:%d %H:%M} {found.to_at:%d %H:%M}" for found in by_times(files)]
    ['30 23:00 03 00:00', '03 23:00 05 00:00']
    """
    ordered = sorted(files, key=lambda file: (file.first_at, file.last_at))
    if not ordered:
        return []
    spacing = _spacing(ordered)
    usual_length = timedelta(seconds=median((file.last_at - file.first_at).total_seconds() for file in ordered))
    longest_quiet = max(MIN_GAP, usual_length / 2) + spacing * math.log(len(ordered) / FALSE_GAPS)
    beyond = spacing if is_extended else timedelta()
    step = _step(ordered)
    stretches = [[ordered[0].first_at, ordered[0].last_at]]
    told_until, named_at = _told_until(ordered[0], step), ordered[0].named_at
    for file in ordered[1:]:
        quiet = file.first_at - told_until
        if quiet > longest_quiet and (
            lack_jobs is None
            or _is_missing(quiet, named_at, file.named_at, step, are_jobs_missing=lack_jobs(told_until, file.first_at))
        ):
            stretches[-1][1] = told_until
            stretches.append([file.first_at, file.last_at])
            told_until = _told_until(file, step)
        else:
            stretches[-1][1] = max(stretches[-1][1], file.last_at)
            told_until = max(told_until, _told_until(file, step))
        named_at = max(filter(None, (named_at, file.named_at)), default=None)
    return [Interval(first - beyond, last + beyond, "log") for first, last in stretches]


def _step(files: list[CoveredFile]) -> timedelta | None:
    """Return how far apart the days in the names of successive files usually are; None without two such days."""
    days = sorted({file.named_at for file in files if file.named_at})
    steps = [(later - earlier).total_seconds() for earlier, later in pairwise(days)]
    return timedelta(seconds=median(steps)) if steps else None


def _told_until(file: CoveredFile, step: timedelta | None) -> datetime:
    """Return until when a file tells of all jobs: no longer than its day where each of them began by then."""
    if file.named_at and file.last_start_at and step and file.first_at < file.named_at + step >= file.last_start_at:
        return min(file.last_at, file.named_at + step)
    return file.last_at


def _is_missing(
    quiet: timedelta,
    named_at: datetime | None,
    next_named_at: datetime | None,
    step: timedelta | None,
    *,
    are_jobs_missing: bool,
) -> bool:
    """Tell whether accounting of a quiet stretch between two files is missing, and the cluster not merely idle."""
    if named_at and next_named_at and step:
        if next_named_at - named_at <= SUCCESSIVE * step:
            return False
        return quiet > MAX_EMPTY or are_jobs_missing
    return are_jobs_missing


def _spacing(files: list[CoveredFile]) -> timedelta:
    """Return the mean distance of successive records, within files or, where each is of one moment, between them.

    Files that overlap count as one: each of their records is told of by one of them.
    """
    runs: list[CoveredFile] = []
    for file in files:
        if runs and file.first_at <= runs[-1].last_at:
            last = runs.pop()
            last_at, count = max(last.last_at, file.last_at), last.record_count + file.record_count
            runs.append(CoveredFile(last.first_at, last_at, count))
        else:
            runs.append(file)
    counted = [run for run in runs if run.last_at > run.first_at and run.record_count > 1]
    if counted:
        covered = sum((run.last_at - run.first_at).total_seconds() for run in counted)
        return timedelta(seconds=covered / sum(run.record_count - 1 for run in counted))
    moments = sorted({file.first_at for file in files})
    distances = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    return timedelta(seconds=median(distances)) if distances else timedelta()


def joined(intervals: Iterable[Interval]) -> list[Interval]:
    """Join intervals that touch or overlap; the result counts as known by the log's own times if any part does.

    A night between what a log's own times tell and what comes before or after it is no gap.

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> both = [Interval(day[0], day[2], "manifest"), Interval(day[1], day[3], "log")]
    >>> [(found.to_at.day, found.known_by) for found in joined(both)]
    [(4, 'log')]
    """
    found: list[Interval] = []
    for interval in sorted(intervals):
        apart = MIN_GAP if found and "log" in (found[-1].known_by, interval.known_by) else TOGETHER
        if found and interval.from_at - found[-1].to_at <= apart:
            last = found.pop()
            known_by = last.known_by if interval.to_at <= last.to_at else interval.known_by
            known_by = "log" if "log" in (last.known_by, interval.known_by) else known_by
            found.append(Interval(last.from_at, max(last.to_at, interval.to_at), known_by))
        else:
            found.append(interval)
    return found


def without(intervals: Iterable[Interval], missing: Iterable[tuple[datetime, datetime]]) -> list[Interval]:
    """Cut stretches out of intervals.

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> left = without([Interval(day[0], day[4], "log")], [(day[1], day[2]), (day[3], day[4])])
    >>> [(found.from_at.day, found.to_at.day) for found in left]
    [(1, 2), (3, 4)]
    """
    left = list(intervals)
    for from_at, to_at in missing:
        left = [
            Interval(start, end, whole.known_by)
            for whole in left
            for start, end in ((whole.from_at, min(whole.to_at, from_at)), (max(whole.from_at, to_at), whole.to_at))
            if start < end
        ]
    return left


def declared(settings: Settings, newest_at: datetime | None) -> dict[str, list[Interval]]:
    """Return the intervals that cluster.toml states, by kind.

    Parameters
    ----------
    settings
        The cluster's.
    newest_at
        The end of an interval without one: the newest record of accounting.
    """
    found: dict[str, list[Interval]] = defaultdict(list)
    for span in settings.spans:
        from_at = in_utc(span.from_, settings.timezone)
        to_at = newest_at if span.to is None else in_utc(span.to, settings.timezone)
        if to_at is not None and to_at > from_at:
            found[span.kind].append(Interval(from_at, to_at, "cluster.toml"))
    return {kind: joined(intervals) for kind, intervals in found.items()}


def write_spans(con: duckdb.DuckDBPyConnection, survey: Survey) -> int:
    """Replace `ops.spans` by what the files that are loaded cover, and return the number of its rows.

    The transaction is the caller's.
    """
    zones = {cluster_id: cluster.settings.timezone for cluster_id, cluster in survey.clusters.items()}
    files, manifests, refused = _files(con, zones), _manifests(con), _refused(con)
    rows = []
    for cluster_id, cluster in sorted(survey.clusters.items()):
        kinds, stated = files.get(cluster_id, {}), manifests.get(cluster_id, {})
        newest_at = max((file.last_at for _, file in kinds.get("sacct", [])), default=None)
        spans = declared(cluster.settings, newest_at)
        for kind in kinds.keys() | stated.keys():
            if kind not in spans:
                lack_jobs = partial(_lack_jobs, con, cluster_id) if kind in UNEXTENDED else None
                spans[kind] = _covered(kinds.get(kind, []), stated.get(kind, {}), lack_jobs)
        if spans.get("sacct") and spans["sacct"][0].known_by == "log":
            spans["sacct"][0] = _from_the_beginning(con, cluster_id, spans["sacct"][0])
        for kind, missing in refused.get(cluster_id, {}).items():
            spans[kind] = without(spans.get(kind, []), missing)
        for kind, intervals in sorted(spans.items()):
            rows += [(cluster_id, kind, interval.from_at, interval.to_at, interval.known_by) for interval in intervals]
    con.execute("delete from ops.spans")
    if rows:
        con.executemany("insert into ops.spans values (?, ?, ?, ?, ?)", rows)
    return len(rows)


def _covered(
    files: list[tuple[str, CoveredFile]],
    manifests: Mapping[str, Interval],
    lack_jobs: Callable[[datetime, datetime], bool] | None,
) -> list[Interval]:
    others = [file for path, file in files if path not in manifests]
    return joined([*manifests.values(), *by_times(others, is_extended=lack_jobs is None, lack_jobs=lack_jobs)])


def _lack_jobs(con: duckdb.DuckDBPyConnection, cluster_id: str, from_at: datetime, to_at: datetime) -> bool:
    """Tell whether jobs that were submitted in a stretch are missing from accounting.

    Slurm numbers jobs in the order in which they are submitted. Numbers that no record has, between two records that
    have theirs from before the end of the stretch and from after its beginning, are those of jobs that are missing.
    """
    missing, usual = con.execute(
        """
        with jobs as (
            select job_id_raw as number, min(submitted_at) as submitted_at from raw.sacct
            where cluster_id = $cluster_id and disposition = 'loaded' and job_id_raw <= $largest
            group by number
        ),
        followed as (
            select *, lead(number) over by_number as next_number, lead(submitted_at) over by_number as next_submitted_at
            from jobs
            window by_number as (order by number)
        )
        select
            sum(next_number - number - 1) filter (
                where least(submitted_at, next_submitted_at) < $to_at
                and greatest(submitted_at, next_submitted_at) > $from_at
            ),
            count(*) / nullif(epoch(max(submitted_at) - min(submitted_at)) - epoch($to_at - $from_at), 0)
            * epoch($to_at - $from_at)
        from followed
        """,
        {"cluster_id": cluster_id, "from_at": from_at, "to_at": to_at, "largest": MAX_JOB_NUMBER},
    ).fetchall()[0]
    return missing is not None and usual is not None and missing > MISSING_SHARE * abs(usual)


def _from_the_beginning(con: duckdb.DuckDBPyConnection, cluster_id: str, interval: Interval) -> Interval:
    """Let accounting begin with its first jobs where it shows that none ended before them.

    What a window cuts out of a running cluster had begun at all sorts of times. Where all the jobs that ran at the
    earliest end, two or more, had begun together, nothing ran before them.
    """
    count, first, last = con.execute(
        """
        select count(distinct job_id_raw), min(started_at), max(started_at) from raw.sacct
        where cluster_id = ? and started_at < ? and coalesce(ended_at > started_at, true)
        """,
        [cluster_id, interval.from_at],
    ).fetchall()[0]
    if count < 2 or last - first > TOGETHER:
        return interval
    return Interval(first, interval.to_at, interval.known_by)


def _files(
    con: duckdb.DuckDBPyConnection, zones: Mapping[str, str]
) -> dict[str, dict[str, list[tuple[str, CoveredFile]]]]:
    """Return the files of which a time is known, by cluster and kind, with their paths.

    A line without interest is not compared with those of other files: as large a share of them is taken to be new as
    of the lines that are. The day in a name is one of the cluster's time zone.
    """
    found: dict[str, dict[str, list[tuple[str, CoveredFile]]]] = defaultdict(lambda: defaultdict(list))
    rows = con.execute(
        f"""
        with starts as (
            select cluster_id, path, max(greatest(submitted_at, started_at)) as last_start_at
            from raw.sacct
            group by cluster_id, path
        )
        select
            files.cluster_id, kind, files.path, first_at, last_at, loaded, skipped, coalesce(line_count, 0),
            case when kind = 'sacct' then {undated.named_moment("files.path")} end, last_start_at
        from ops.files
        left join ops.skips
            on skips.cluster_id = files.cluster_id and skips.path = files.path and skips.reason = 'duplicate'
        left join starts on starts.cluster_id = files.cluster_id and starts.path = files.path and kind = 'sacct'
        where status in ('read', 'cut_off') and first_at is not null and kind <> 'manifest'
        order by files.cluster_id, files.path
        """
    ).fetchall()
    for cluster_id, kind, path, first_at, last_at, loaded, skipped, repeated, named_at, last_start_at in rows:
        new_share = loaded / (loaded + repeated) if repeated else 1
        count = loaded
        if kind in EVERY_LINE_COUNTS:
            count += round(new_share * (skipped - repeated))
        day = in_utc(named_at, zones.get(cluster_id, "UTC")) if named_at else None
        found[cluster_id][kind].append((path, CoveredFile(first_at, last_at, count, day, last_start_at)))
    return found


def _refused(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, list[tuple[datetime, datetime]]]]:
    """Return what refused and doubtful files would cover, by cluster and kind, as far as that is told."""
    found: dict[str, dict[str, list[tuple[datetime, datetime]]]] = defaultdict(lambda: defaultdict(list))
    rows = con.execute(
        f"""
        select
            files.cluster_id, files.kind,
            coalesce(stated.from_at, files.first_at, {undated.named_moment("files.path")}) as missing_from_at,
            coalesce(stated.to_at, files.last_at, {undated.named_end("files.path")}) as missing_to_at
        from ops.files
        left join raw.manifests as stated
            on stated.cluster_id = files.cluster_id and stated.log_path = files.path and stated.disposition = 'loaded'
        where files.status not in ('read', 'cut_off') and missing_from_at is not null
        order by files.cluster_id, files.path
        """
    ).fetchall()
    for cluster_id, kind, from_at, to_at in rows:
        found[cluster_id][kind].append((from_at, to_at))
    return found


def _manifests(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, dict[str, Interval]]]:
    """Return what manifests say of files that were read, by cluster, kind, and path of the file.

    A file of a quiet day has no record and so no time of its own; its window is covered all the same.
    """
    found: dict[str, dict[str, dict[str, Interval]]] = defaultdict(lambda: defaultdict(dict))
    rows = con.execute(
        """
        select files.cluster_id, files.kind, files.path, from_at, to_at
        from raw.manifests as stated
        inner join ops.files on files.cluster_id = stated.cluster_id and files.path = stated.log_path
        where disposition = 'loaded' and files.status = 'read'
        """
    ).fetchall()
    for cluster_id, kind, path, from_at, to_at in rows:
        found[cluster_id][kind][path] = Interval(from_at, to_at, "manifest")
    return found
