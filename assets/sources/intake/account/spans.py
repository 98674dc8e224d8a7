"""The times that the logs of a cluster cover, by kind: from settings, from manifests, from the logs' own times.

In this order: `[[spans]]` of cluster.toml decides alone for the kinds it names; a manifest says what its file covers;
any other file covers the time from its first to its last time (`covered_times.py`). A file's modification says nothing.
The time that a refused or doubtful file would cover by its manifest, lines or name is removed: unknown must not become
zero. If records are dated after now, either they or the machine's clock are wrong, so coverage ends now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache

import duckdb

from assets.sources.intake.account.covered_times import (
    CoveredFile,
    Interval,
    JobNumbers,
    as_one,
    by_times,
    joined,
    until,
    without,
)
from assets.sources.intake.find.folder import Survey
from assets.sources.settings import Settings, in_utc
from assets.sources.text import undated
from assets.sql import fill

EVERY_LINE_COUNTS = frozenset({"health", "kernel", "slurmctld"})
"""Kinds whose skipped lines have times too. The others have a record of everything that happened."""

UNEXTENDED = frozenset({"sacct"})
"""Kinds known only between their records: accounting, from the earliest end to the latest record."""

MAX_AHEAD = timedelta(days=1)
"""How far ahead the clock of another machine may be, also by a wrong time zone."""
CLOCK = "clock"
"""The `known_by` of an interval that this machine's clock cuts off."""

TOGETHER = timedelta(minutes=1)
"""Jobs that begin within this time began together."""

MAX_JOB_NUMBER = 2**26 - 1
"""The highest number that Slurm gives within a cluster: higher ones are of parts of jobs, or of another cluster."""


def declared(settings: Settings, newest_at: datetime | None) -> dict[str, list[Interval]]:
    """Return the intervals stated in cluster.toml, by kind.

    Parameters
    ----------
    settings
        Settings of the cluster.
    newest_at
        The end of an interval that states none: the newest record of accounting.
    """
    found: dict[str, list[Interval]] = defaultdict(list)
    for span in settings.spans:
        from_at = in_utc(span.from_, settings.timezone)
        to_at = newest_at if span.to is None else in_utc(span.to, settings.timezone)
        if to_at is not None and to_at > from_at:
            found[span.kind].append(Interval(from_at, to_at, "cluster.toml"))
    return {kind: joined(intervals) for kind, intervals in found.items()}


def write_spans(con: duckdb.DuckDBPyConnection, survey: Survey) -> int:
    """Replace `ops.spans` with what the loaded files cover, and return its number of rows.

    The transaction is the caller's.
    """
    zones = {cluster_id: cluster.settings.timezone for cluster_id, cluster in survey.clusters.items()}
    files, manifests, refused = _files(con, zones), _manifests(con), _refused(con)
    now, ahead = _clusters_ahead(con)
    rows = []
    for cluster_id, cluster in sorted(survey.clusters.items()):
        kinds, stated = files.get(cluster_id, {}), manifests.get(cluster_id, {})
        newest_at = max((file.last_at for _, file in kinds.get("sacct", [])), default=None)
        spans = declared(cluster.settings, newest_at)
        for kind in kinds.keys() | stated.keys():
            if kind not in spans:
                job_numbers = _numbering(con, cluster_id) if kind in UNEXTENDED else None
                spans[kind] = _covered(kinds.get(kind, []), stated.get(kind, {}), job_numbers)
        if spans.get("sacct") and spans["sacct"][0].known_by == "log":
            spans["sacct"][0] = _from_the_beginning(con, cluster_id, spans["sacct"][0])
        for kind, missing in refused.get(cluster_id, {}).items():
            spans[kind] = without(spans.get(kind, []), missing)
        if cluster_id in ahead:
            spans = {kind: until(intervals, now, CLOCK) for kind, intervals in spans.items()}
        for kind, intervals in sorted(spans.items()):
            rows += [(cluster_id, kind, interval.from_at, interval.to_at, interval.known_by) for interval in intervals]
    con.execute("delete from ops.spans")
    if rows:
        con.executemany("insert into ops.spans values (?, ?, ?, ?, ?)", rows)
    return len(rows)


def _clusters_ahead(con: duckdb.DuckDBPyConnection) -> tuple[datetime, set[str]]:
    """Return this machine's time, and the clusters with records after it."""
    rows = con.execute(
        "select timezone('UTC', now()), list(distinct cluster_id)"
        " from ops.files where last_at > timezone('UTC', now()) + $ahead",
        {"ahead": MAX_AHEAD},
    ).fetchall()
    ((now, clusters),) = rows
    return now, set(clusters or ())


def _covered(
    files: list[tuple[str, CoveredFile]],
    manifests: Mapping[str, Interval],
    job_numbers: Callable[[datetime, datetime], JobNumbers] | None,
) -> list[Interval]:
    others = [file for path, file in files if path not in manifests]
    return joined([*manifests.values(), *by_times(others, is_extended=job_numbers is None, job_numbers=job_numbers)])


def _numbering(con: duckdb.DuckDBPyConnection, cluster_id: str) -> Callable[[datetime, datetime], JobNumbers]:
    """Return a function that counts the job numbers given out in an interval of a cluster.

    Slurm numbers jobs in the order of submission, and a task of an array when it starts. So numbers without a record
    were given out in a stretch if they lie between those of a record from before its end and one from after its
    beginning.
    """

    @cache
    def make_table() -> None:
        statement = fill("sources/intake/account/job_numbers.sql", cluster_id="$cluster_id", largest=MAX_JOB_NUMBER)
        con.execute(statement, {"cluster_id": cluster_id})

    def within(from_at: datetime, to_at: datetime) -> JobNumbers:
        make_table()
        statement = fill("sources/intake/account/job_numbers_within.sql", from_at="$from_at", to_at="$to_at")
        return JobNumbers(*con.execute(statement, {"from_at": from_at, "to_at": to_at}).fetchall()[0])

    return within


def _from_the_beginning(con: duckdb.DuckDBPyConnection, cluster_id: str, interval: Interval) -> Interval:
    """Return accounting extended back to the start of its first jobs, if no job can have ended before it.

    In a window of a running cluster, the jobs at its beginning had started at various times. If the jobs that ran at
    the earliest end, two or more, all started together, nothing ran before them.
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
    """Return the files with known times, and their paths, by cluster and kind.

    The versions of a log are parts of one file; each version of an export covers its own span.

    Irrelevant lines are not compared with those of other files: the share of new lines among them is assumed to be
    that among the relevant ones. The day in a name is in the cluster's time zone.
    """
    found: dict[str, dict[str, list[tuple[str, CoveredFile]]]] = defaultdict(lambda: defaultdict(list))
    named_moment = undated.named_moment("coalesce(version_of, files.path)")
    statement = fill("sources/intake/account/covered_files.sql", named_moment=named_moment)
    logs: dict[tuple[str, str], list[CoveredFile]] = defaultdict(list)
    for row in con.execute(statement).fetchall():
        cluster_id, kind, path, first_at, last_at, loaded, skipped, repeated, named_at, last_start_at, version_of = row
        new_share = loaded / (loaded + repeated) if repeated else 1
        count = loaded
        if kind in EVERY_LINE_COUNTS:
            count += round(new_share * (skipped - repeated))
        day = in_utc(named_at, zones.get(cluster_id, "UTC")) if named_at else None
        file = CoveredFile(first_at, last_at, count, day, last_start_at)
        if kind in EVERY_LINE_COUNTS:
            logs[cluster_id, version_of or path].append(file)
        else:
            found[cluster_id][kind].append((path, file))
    for (cluster_id, path), versions in logs.items():
        found[cluster_id][path.split("/")[1]].append((path, as_one(versions)))
    return found


def _refused(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, list[tuple[datetime, datetime]]]]:
    """Return the known intervals of refused and doubtful files, by cluster and kind.

    The times of older versions of the files are covered. If the end of a file is unknown and no other file follows,
    nothing after its beginning is covered.
    """
    found: dict[str, dict[str, list[tuple[datetime, datetime]]]] = defaultdict(lambda: defaultdict(list))
    statement = fill(
        "sources/intake/account/refused_times.sql",
        named_moment=undated.named_moment("files.path"),
        named_end=undated.named_end("files.path"),
    )
    for cluster_id, kind, from_at, to_at in con.execute(statement).fetchall():
        found[cluster_id][kind].append((from_at, to_at))
    return found


def _manifests(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, dict[str, Interval]]]:
    """Return the intervals that manifests state for files that were read, by cluster, kind and path of the file.

    A file of a quiet day has no record, so no time of its own; its window is still covered.
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
