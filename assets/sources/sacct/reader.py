"""Reader of accounting: `sacct -P` text with any columns, order, delimiter and time form; a row per allocation record.

Other forms are first translated into lines of that text (`assets.sources.translations`). Fixed-width tables, error
messages, and exports with neither a header nor configured columns are refused. Steps and pending placeholders are
counted and skipped. A record with several readings, or none, is quarantined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import duckdb

from assets.sources.batch_tables import QUARANTINED_LINES
from assets.sources.named_clusters import files_to_divide, names_another
from assets.sources.reader import Batch, Export, ReadingPlan, Rows, Step
from assets.sources.sacct.columns import COLUMNS, PRIVACY, TEXTS
from assets.sources.sacct.detection import DIALECTS, detect
from assets.sources.sacct.distinct_values import beginnings, collect_values, filled_lists, lookup_step, years_printed
from assets.sources.sacct.lines import split_step
from assets.sources.sacct.printed_times import READ_TEXTS, are_only_own, read_times
from assets.sources.sacct.typed_records import type_records
from assets.sources.sacct.values import OPEN_STATES
from assets.sources.settings import ClusterSettings
from assets.sources.temp_tables import TempTable
from assets.sources.text import times
from assets.sql import fill

__all__ = [
    "COVERS", "DIALECTS", "KIND", "PRIVACY", "ROWS", "TABLE", "VERSION", "detect", "dispositions", "plan_reading",
]  # fmt: skip

PROBLEMS = TempTable("sacct_problems", QUARANTINED_LINES.columns)

KIND = "sacct"
TABLE = "sacct"
VERSION = f"14.{hashlib.sha256(repr(COLUMNS).encode()).hexdigest()[:8]}"
"""Changes when the columns change."""
ROWS = Rows(
    time="submitted_at",
    free_texts=(),
    export=Export(
        ("job_id_raw", "submitted_at"),
        "coalesce(older.db_index = newer.db_index, (older.state = 'REQUEUED') = (newer.state = 'REQUEUED')) "
        "and coalesce(older.started_at = newer.started_at, true)",  # Others are slices: see `dispositions`.
        "ended_at is null",
        "'gcm_sacct', 'jobcomp_text', 'jobcomp_json'",
    ),
    why_ruled_out="any_value(concat(started_at, ' to ', ended_at, ' (UTC) on ', len(node_ids), ' nodes'))",
)
"""Secrets are masked where records are typed."""
MAX_YEARS_BEFORE = 5
"""No run began this long before the first end in accounting: few clusters are as old."""
_RUNNING_UNTIL = (
    "case when ended_at is null and not list_contains(warnings, 'runaway_suspect') "
    "then started_at + to_seconds(coalesce(elapsed_seconds, 0) + coalesce(suspended_seconds, 0)) end"
)
COVERS = (
    f"coalesce(min(ended_at), max({_RUNNING_UNTIL}))",
    f"max(greatest(submitted_at, started_at, ended_at, {_RUNNING_UNTIL}))",
)
"""An export has no jobs that ended before its window began, so it covers the time from its earliest end on."""

_TYPED = "query(getvariable('sacct_typed'))"
"""The typed records. Their query is stored as text in a variable, because creating a view plans it a second time."""


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that turns records into typed rows."""
    return ReadingPlan(
        prepare=[
            split_step(batch.cluster),
            _gather_step(batch.cluster),
            lookup_step(batch.cluster),
            _type_step(batch.cluster),
        ],
        loaded=f"select * exclude (problem, detail) from {_TYPED} where problem is null",
        after_keeping=[_remove_kept_texts, _find_problems, fill("sources/sacct/file_warnings.sql")],
        skipped="""
            select file_id, line_number, reason from sacct_aside where reason <> 'odd'
            union all
            select file_id, line_number, skipped as reason from sacct_odd where skipped is not null
        """,
        quarantined="""
            from sacct_problems
            union all
            select file_id, line_number, quarantined as reason, detail from sacct_odd where quarantined is not null
        """,
    )


def _gather_step(cluster: ClusterSettings) -> Step:
    """Return the step that keeps only the cluster's own attempts in `sacct_texts`, and makes `sacct_values`."""

    def gather(con: duckdb.DuckDBPyConnection) -> None:
        con.execute(f"create or replace temp table sacct_values as {collect_values('sacct_texts')}")
        named = con.execute("select unnest(clusters, recursive := true) from sacct_values").fetchall()
        if files := files_to_divide(con, cluster, named):
            _set_other_clusters_aside(con, cluster, files)
            con.execute(f"create or replace temp table sacct_values as {collect_values('sacct_texts')}")

    return gather


def _set_other_clusters_aside(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings, files: list[int]) -> None:
    con.execute(
        f"""
        create or replace temp table sacct_of_others as
        select file_id, line_number from sacct_texts
        where list_contains($files, file_id) and {names_another(TEXTS["Cluster"], cluster)}
        """,
        {"files": files},
    )
    con.execute(fill("sources/sacct/other_clusters.sql"))


def _type_step(cluster: ClusterSettings) -> Step:
    zone = cluster.settings.timezone

    def type_all(con: duckdb.DuckDBPyConnection) -> None:
        texts, years = "sacct_texts", times.EVER
        if not are_only_own(beginnings(con)):
            read_times(con, cluster)
            texts = READ_TEXTS
        elif times.offset_changes(zone):
            years = years_printed(con)
        typed = type_records(zone, years, filled_lists(con), texts)
        con.execute("set variable sacct_typed = $typed", {"typed": typed})

    return type_all


def _remove_kept_texts(con: duckdb.DuckDBPyConnection) -> None:
    """Remove the records that raw now holds from `sacct_texts`: usually all."""
    con.execute("insert into sacct_aside (file_id, line_number) from loaded_lines")
    con.execute(
        """
        delete from sacct_repaired using loaded_lines as kept
        where kept.file_id = sacct_repaired.file_id and kept.line_number = sacct_repaired.line_number
        """
    )


def _find_problems(con: duckdb.DuckDBPyConnection) -> None:
    """Type the remaining records again to get their problems; usually there are none."""
    PROBLEMS.create(con)
    if con.execute("from sacct_texts limit 1").fetchall():
        con.execute(
            f"""
            insert into sacct_problems
            select file_id, line_number, problem, detail from {_TYPED} where problem is not null
            """
        )


def dispositions() -> Sequence[Step]:
    """Return the steps that rule out impossible records, and mark all but one record of an attempt as duplicates.

    The key is (cluster, JobIDRaw, Submit), and DBIndex if every record of the key has one. Without DBIndex, an attempt
    that was requeued in the second of its submission counts separately, as its successor has the same Submit: a prolog
    may fail at once. A finished record beats an unfinished one, then the later end, the longer run, the fuller row.
    Then a requeue beats the record that ended with it, as jobcomp writes both if a prolog fails. The place in the files
    decides between records that are equal in all of this.

    `sacct -T` cuts an attempt into a slice per window. The last slice counts; the slices that lead up to it are
    coalesced, and staging adds their time to it.
    """
    return [
        fill("sources/sacct/ruled_out.sql", years=MAX_YEARS_BEFORE),
        fill("sources/sacct/repeats.sql", open_states=tuple(sorted(OPEN_STATES))),
    ]
