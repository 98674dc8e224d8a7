"""What of the older versions of files needs no longer be kept, once all files are read.

A row of a version that another file states goes, and its line is skipped as `superseded`. A version without rows whose
time others cover goes with its account. An export tells all of its span: a newer one that covers an older one takes its
place, and a record that both tell is the newer one's. What nobody states again stays.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from assets.sources.intake.account.doubtful_files import JUDGED
from assets.sources.intake.find.folder import CUT_OFF, READ, REFUSED
from assets.sources.intake.find.known_files import forget_files
from assets.sources.intake.find.versions import skip_superseded
from assets.sources.reader import Reader
from assets.sql import identifier

COVERED_SHARE = 0.95
"""Of the records of an older export, a newer one that covers it has so many at least."""

TIMES: Mapping[str, str] = {
    "health_checks": "observed_at",
    "kernel_messages": "occurred_at",
    "node_events": "started_at",
    "nodes": "captured_at",
    "sacct": "submitted_at",
    "slurmctld_events": "logged_at",
    "squeue_exclusions": "seen_at",
    "tickets": "opened_at",
}
"""By raw table, a time by which equal rows are found."""
OF_PLACE = {"cluster_id", "path", "line_number", "disposition", "node_id", "line_count", "dated_by_file_at"}
"""Columns that say where a row stands, by which date it was read, or what is worked out anew from all rows."""


_IS_WHOLE = """
(cluster_id, path, line_number) not in (select (cluster_id, path, open_line) from ops.files where open_line is not null)
"""
"""Whether a row is not of a last line without an end: such a line goes with its version, and so it states nothing."""


@dataclass(frozen=True)
class Export:
    """How records of an export of a span are told apart."""

    key: tuple[str, ...]
    """Columns that are equal for records of the same thing."""
    is_same: str = "true"
    """What else must hold of an `older` and a `newer` one."""
    is_open: str = "false"
    """Whether a record tells of what had not ended."""
    logs: tuple[str, ...] = ()
    """Dialects that are no exports of a span, but logs."""


EXPORTS: Mapping[str, Export] = {
    "sacct": Export(
        ("job_id_raw", "submitted_at"),
        "coalesce(older.db_index = newer.db_index, (older.state = 'REQUEUED') = (newer.state = 'REQUEUED'))",
        "ended_at is null",
        ("gcm_sacct", "jobcomp_text", "jobcomp_json"),
    ),
    "node_events": Export(("node_name", "started_at"), is_open="ended_at is null"),
    "tickets": Export(("ticket_id", "node_name")),
}
"""By raw table."""


def supersede(con: duckdb.DuckDBPyConnection, reader: Reader) -> bool:
    """Take out of the older versions of a kind's files what need not be kept.

    Only versions that files read just now can have to do with are looked at.

    Returns
    -------
    Whether rows went.
    """
    if reader.TABLE not in TIMES:
        return False
    con.execute(
        """
        create or replace temp table versions as
        with news as (
            select cluster_id, path, coalesce(version_of, path) as base_path, first_at, last_at
            from ops.files semi join ops.unsettled_files using (cluster_id, path)
            where kind = $kind and status <> $refused
        )
        select
            files.cluster_id, files.path, files.version_of, files.dialect, files.first_at, files.last_at,
            files.lines_in,
            bool_or(news.path = files.path) as is_new,
            bool_or(news.base_path = files.version_of) as is_of_news,
            bool_or(coalesce(news.first_at <= files.last_at and news.last_at >= files.first_at, true)) as is_near
        from ops.files inner join news using (cluster_id)
        where files.kind = $kind and files.version_of is not null
        group by all
        """,
        {"kind": reader.KIND, "refused": REFUSED},
    )
    if not con.execute("from versions limit 1").fetchall():
        return False
    con.execute(
        "create or replace temp table superseded_rows (row_key bigint, cluster_id varchar, path varchar, line bigint)"
    )
    covered = _forget_covered(con, reader)
    if reader.TABLE in EXPORTS:
        _find_told_by_newer(con, reader, EXPORTS[reader.TABLE])
    if reader.TABLE == "squeue_exclusions":
        _find_seen_before(con)
    _find_stated(con, reader)
    has_rows = bool(con.execute("from superseded_rows limit 1").fetchall())
    if has_rows:
        _delete_rows(con, reader)
    removed = _forget_empty(con, reader)
    if reader.TABLE == "nodes":
        _date_after_versions(con)
    return has_rows or bool(covered or removed)


def _forget_covered(con: duckdb.DuckDBPyConnection, reader: Reader) -> list[tuple[str, str]]:
    """Forget the versions of exports that the file which is there now covers."""
    export = EXPORTS.get(reader.TABLE)
    if export is None:
        return []
    con.execute(
        f"""
        create or replace temp table reached as
        select versions.cluster_id, versions.path, files.path as newer_path
        from versions
        inner join ops.files on files.cluster_id = versions.cluster_id and files.path = versions.version_of
        where files.is_present and files.status = '{READ}' and versions.is_of_news
            and versions.dialect not in $logs and files.dialect not in $logs
            and coalesce(files.first_at <= versions.first_at and files.last_at >= versions.last_at, false)
        """,
        {"logs": [*export.logs]},
    )
    if not con.execute("from reached limit 1").fetchall():
        return []
    keys = ", ".join(export.key)
    covered = con.execute(
        f"""
        with doubtful as (select cluster_id, path as newer_path from ({JUDGED})),
        older as (
            select distinct reached.cluster_id, reached.path, reached.newer_path, {keys}
            from raw.{reader.TABLE}
            inner join (from reached anti join doubtful using (cluster_id, newer_path)) as reached
                using (cluster_id, path)
        ),
        newer as (
            select distinct cluster_id, path as newer_path, {keys}, true as is_there
            from raw.{reader.TABLE}
            where (cluster_id, path) in (select cluster_id, newer_path from reached) and {_IS_WHOLE}
        )
        select cluster_id, path
        from older left join newer using (cluster_id, newer_path, {keys})
        group by cluster_id, path
        having count(is_there) >= {COVERED_SHARE} * count(*)
        """
    ).fetchall()
    forget_files(con, reader, covered)
    return covered


def _find_told_by_newer(con: duckdb.DuckDBPyConnection, reader: Reader, export: Export) -> None:
    """Find the records of versions that the file tells now, and those without an end where another version tells it.

    None that has an end goes for one that has none.
    """
    keys = ", ".join(export.key)
    con.execute(
        f"""
        insert into superseded_rows
        with files_of_news as (
            select distinct cluster_id, version_of as base_path from versions where is_of_news
        ),
        records as (
            select kept.*, kept.rowid as row_key, {export.is_open} as is_open,
                coalesce(files.version_of, files.path) as base_path, files.version_of is null as is_newest
            from raw.{reader.TABLE} as kept
            inner join ops.files on files.cluster_id = kept.cluster_id and files.path = kept.path
            where (files.cluster_id, coalesce(files.version_of, files.path)) in (from files_of_news)
                and not list_contains($logs, files.dialect)
        ),
        newer as (from records semi join ops.unsettled_files using (cluster_id, path) where {_IS_WHOLE})
        select distinct unnest(case
            when newer.is_newest and (older.is_open or not newer.is_open) then [older.row_key]
            when newer.is_open and not older.is_open and not newer.is_newest then [newer.row_key]
            else []
        end) as row_key, cluster_id, older.path, 0
        from records as older inner join newer using (cluster_id, base_path, {keys})
        where older.path <> newer.path and not older.is_newest and {export.is_same}
        """,
        {"logs": [*export.logs]},
    )


def _find_seen_before(con: duckdb.DuckDBPyConnection) -> None:
    """Find in versions of snapshots of the queue what another one saw before."""
    con.execute(
        """
        insert into superseded_rows
        select distinct later.rowid, later.cluster_id, later.path, later.line_number
        from raw.squeue_exclusions as later
        semi join (from versions where is_new or is_of_news) using (cluster_id, path)
        inner join raw.squeue_exclusions as seen
            on seen.cluster_id = later.cluster_id and seen.job_id_raw = later.job_id_raw
            and seen.node_name = later.node_name
        where (seen.seen_at, seen.path) < (later.seen_at, later.path)
        """
    )


def _date_after_versions(con: duckdb.DuckDBPyConnection) -> None:
    """Let a snapshot be later than the older versions of its file: its file's time is its moment, if no node tells one.

    The times of nodes may go back: the reason of one that came back is gone, and so is its time.
    """
    con.execute(
        """
        update raw.nodes set captured_at = greatest(files.modified_at, older.told_at)
        from ops.files, (
            select nodes.cluster_id, version_of as path, max(captured_at) as told_at
            from raw.nodes inner join (from versions where is_of_news) as versions using (cluster_id, path)
            group by all
        ) as older
        where nodes.cluster_id = files.cluster_id and nodes.path = files.path
            and nodes.cluster_id = older.cluster_id and nodes.path = older.path
            and nodes.state is not null and nodes.captured_at <= older.told_at
        """
    )


def _find_stated(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Find the rows of versions that another file states, as often at least; of two versions the latter by name."""
    table, time = reader.TABLE, TIMES[reader.TABLE]
    described = con.execute(f"select column_name from (describe raw.{table})").fetchall()
    content = f"hash({', '.join(identifier(name) for (name,) in described if name not in OF_PLACE)})"
    con.execute(
        f"""
        create or replace temp table rows_of_versions as
        select rowid as row_key, cluster_id, path, line_number, {time} as told_at, {content} as content
        from raw.{table}
        semi join (from versions where is_new or is_near) using (cluster_id, path)
        where rowid not in (select row_key from superseded_rows)
        """
    )
    con.execute(
        f"""
        insert into superseded_rows
        with stated as (
            select cluster_id, path, {content} as content, count(*) as row_count
            from raw.{table}
            where (cluster_id, {time}) in (select cluster_id, told_at from rows_of_versions)
                and rowid not in (select row_key from superseded_rows) and {_IS_WHOLE}
            group by all
        ),
        older as (select cluster_id, path, content, count(*) as row_count from rows_of_versions group by all),
        found as (
            select distinct older.cluster_id, older.path, older.content
            from older inner join stated using (cluster_id, content)
            left join versions as others on others.cluster_id = stated.cluster_id and others.path = stated.path
            where stated.path <> older.path and (
                stated.row_count > older.row_count
                or stated.row_count = older.row_count and (others.path is null or others.path > older.path)
            )
        )
        select row_key, cluster_id, path, line_number
        from rows_of_versions semi join found using (cluster_id, path, content)
        """
    )


def _delete_rows(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    con.execute(
        f"""
        create or replace temp table superseded_lines as
        select distinct cluster_id, path, line_number
        from raw.{reader.TABLE} where rowid in (select row_key from superseded_rows)
        """
    )
    con.execute(f"delete from raw.{reader.TABLE} where rowid in (select row_key from superseded_rows)")
    skip_superseded(
        con,
        f"""
        select cluster_id, path, count(*) as line_count
        from superseded_lines anti join raw.{reader.TABLE} using (cluster_id, path, line_number)
        group by all
        """,
    )


def _forget_empty(con: duckdb.DuckDBPyConnection, reader: Reader) -> list[tuple[str, str]]:
    """Forget versions without rows whose time another version covers, or a file that states what they stated."""
    empty = con.execute(
        f"""
        with empty as (
            select *, (cluster_id, path) in (select cluster_id, path from superseded_rows) as is_stated
            from versions anti join (select distinct cluster_id, path from raw.{reader.TABLE}) using (cluster_id, path)
        ),
        others as (
            select files.*, empty.path is not null as is_empty
            from ops.files left join empty using (cluster_id, path)
            where kind = $kind and status in ($read, $cut_off)
        )
        select cluster_id, path from empty where first_at is null
        union
        select empty.cluster_id, empty.path
        from empty inner join others
            on others.cluster_id = empty.cluster_id and others.path <> empty.path
            and others.first_at <= empty.first_at and others.last_at >= empty.last_at
        where (empty.is_stated or coalesce(others.version_of, others.path) = empty.version_of)
            and (not others.is_empty or others.path > empty.path)
        """,
        {"kind": reader.KIND, "read": READ, "cut_off": CUT_OFF},
    ).fetchall()
    forget_files(con, reader, empty)
    return empty


def told_of_versions(con: duckdb.DuckDBPyConnection, run_id: str) -> list[str]:
    """Say of each version that a run has made what stays of it, and where its file became shorter in the same time."""
    rows = con.execute(
        """
        select
            older.cluster_id, older.path, older.version_of, older.loaded, older.lines_in,
            case
                when newer.status <> $refused and newer.lines_in < older.lines_in
                    and newer.first_at >= older.first_at and newer.last_at <= older.last_at
                then newer.lines_in
            end
        from ops.files as older
        left join ops.files as newer on newer.cluster_id = older.cluster_id and newer.path = older.version_of
        where older.version_of is not null and older.run_id = $run_id
        order by older.cluster_id, older.path
        """,
        {"refused": REFUSED, "run_id": run_id},
    ).fetchall()
    messages = []
    for cluster_id, path, base_path, kept, lines_before, lines_now in rows:
        what = f"other bytes than before; {kept:,} lines that only its older version has stay"
        if lines_now is not None:
            what = f"shorter than before within the same time ({lines_now:,} lines, before {lines_before:,}); {what}"
        messages.append(f"{base_path}: {what} until `faultline forget {shlex.join([cluster_id, path])}` is run")
    return messages
