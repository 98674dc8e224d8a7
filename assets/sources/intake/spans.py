"""What the logs of a cluster cover, by kind: as a site says, as manifests say, as the logs' own times tell.

In this order: `[[spans]]` of cluster.toml is all there is to know of the kinds it names; a manifest says what its file
covers; of any other file its first and last times do. A file's modification says nothing. What a refused or doubtful
file would cover, as its manifest, its lines or its name tell, is covered by nothing: unknown must not turn into zero.

Within a file a quiet stretch is no gap: a small cluster may have no event for weeks. Between two files it is one when
it is longer than a night, than half a usual file, and than what chance makes of records that come as seldom as these:
then a file is missing.

References
----------
Goodman, Serial number analysis, JASA 47 (1952): n records that lie at random in an interval leave on average as much
room before the first and after the last as between two.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
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
"""Jobs that begin within it began together."""

FALSE_GAPS = 0.05
"""Chance that records which come at random leave between any two files of a log a stretch that counts as a gap."""


@dataclass(frozen=True)
class CoveredFile:
    """What a file covers by its own times, and its number of records that are in no other file."""

    first_at: datetime
    last_at: datetime
    record_count: int


@dataclass(frozen=True, order=True)
class Interval:
    """An interval that is covered, and how that is known."""

    from_at: datetime
    to_at: datetime
    known_by: str


def by_times(files: Iterable[CoveredFile], *, is_extended: bool = True) -> list[Interval]:
    """Return the intervals that files cover by their own times.

    Parameters
    ----------
    files
        Files of one kind and cluster, in any order.
    is_extended
        Whether records lie at random in what is covered: then it begins and ends a usual distance beyond them.

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
    stretches = [[ordered[0].first_at, ordered[0].last_at]]
    for file in ordered[1:]:
        if file.first_at - stretches[-1][1] > longest_quiet:
            stretches.append([file.first_at, file.last_at])
        else:
            stretches[-1][1] = max(stretches[-1][1], file.last_at)
    return [Interval(first - beyond, last + beyond, "log") for first, last in stretches]


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

    >>> day = [datetime(2024, 5, number) for number in range(1, 6)]
    >>> both = [Interval(day[0], day[2], "manifest"), Interval(day[1], day[3], "log")]
    >>> [(found.to_at.day, found.known_by) for found in joined(both)]
    [(4, 'log')]
    """
    found: list[Interval] = []
    for interval in sorted(intervals):
        if found and interval.from_at <= found[-1].to_at:
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
    files, manifests, refused = _files(con), _manifests(con), _refused(con)
    rows = []
    for cluster_id, cluster in sorted(survey.clusters.items()):
        kinds, stated = files.get(cluster_id, {}), manifests.get(cluster_id, {})
        newest_at = max((file.last_at for _, file in kinds.get("sacct", [])), default=None)
        spans = declared(cluster.settings, newest_at)
        for kind in kinds.keys() | stated.keys():
            if kind not in spans:
                spans[kind] = _covered(kind, kinds.get(kind, []), stated.get(kind, {}))
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


def _covered(kind: str, files: list[tuple[str, CoveredFile]], manifests: Mapping[str, Interval]) -> list[Interval]:
    others = [file for path, file in files if path not in manifests]
    return joined([*manifests.values(), *by_times(others, is_extended=kind not in UNEXTENDED)])


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


def _files(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, list[tuple[str, CoveredFile]]]]:
    """Return the files of which a time is known, by cluster and kind, with their paths.

    A line without interest is not compared with those of other files: as large a share of them is taken to be new as
    of the lines that are.
    """
    found: dict[str, dict[str, list[tuple[str, CoveredFile]]]] = defaultdict(lambda: defaultdict(list))
    rows = con.execute(
        """
        select files.cluster_id, kind, files.path, first_at, last_at, loaded, skipped, coalesce(line_count, 0)
        from ops.files
        left join ops.skips
            on skips.cluster_id = files.cluster_id and skips.path = files.path and skips.reason = 'duplicate'
        where status in ('read', 'cut_off') and first_at is not null and kind <> 'manifest'
        order by files.cluster_id, files.path
        """
    ).fetchall()
    for cluster_id, kind, path, first_at, last_at, loaded, skipped, repeated in rows:
        new_share = loaded / (loaded + repeated) if repeated else 1
        count = loaded
        if kind in EVERY_LINE_COUNTS:
            count += round(new_share * (skipped - repeated))
        found[cluster_id][kind].append((path, CoveredFile(first_at, last_at, count)))
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
