"""Reader of `sacct -P` text: any columns in any order, any delimiter and time form, one row per allocation record.

Refused as a whole: fixed-width tables, exports without header, error messages. Steps and pending placeholders are
counted and skipped; a record that cannot be read in exactly one way is quarantined, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from assets.sources import times
from assets.sources.reading import Batch, Step
from assets.sources.sacct_layout import DIALECTS, detect
from assets.sources.sacct_lines import split_step
from assets.sources.sacct_lookups import lookup_step
from assets.sources.sacct_sql import type_records, years_printed
from assets.sources.sacct_values import OPEN_STATES

__all__ = ["DIALECTS", "KIND", "TABLE", "VERSION", "detect", "dispositions", "statements"]

KIND = "sacct"
TABLE = "sacct"
VERSION = 1


def statements(batch: Batch) -> Sequence[Step]:
    """Give the steps from `lines` to typed rows."""
    return [
        split_step(batch.cluster),
        lookup_step(batch.cluster),
        _type_step(batch.cluster.settings.timezone),
        """
        create or replace temp view loaded_rows as
        select * exclude (problem, detail) from sacct_typed where problem is null
        """,
        """
        create or replace temp table skipped_lines as
        select file_id, line_number, outcome as reason from sacct_texts where outcome <> 'attempt'
        union all
        select file_id, line_number, skipped as reason from sacct_odd where skipped is not null
        union all
        select file_id, line_number, 'header' as reason from sacct_headers where line_number > 0
        """,
        """
        create or replace temp table quarantined_lines as
        select file_id, line_number, problem as reason, detail from sacct_typed where problem is not null
        union all
        select file_id, line_number, quarantined as reason, detail from sacct_odd where quarantined is not null
        """,
        _WARN_ABOUT_FILES,
    ]


def _type_step(zone: str) -> Step:
    def type_all(con: duckdb.DuckDBPyConnection) -> None:
        years = times.EVER
        if times.offset_changes(zone):
            first, last = con.execute(years_printed()).fetchone() or (None, None)
            years = times.EVER if first is None else (first, last)
        con.execute(type_records(zone, years))

    return type_all


_WARN_ABOUT_FILES = """
    insert into file_warnings
    with per_file as (
        select
            file_id,
            max(restart_count) as most_restarts,
            count(*) - count(distinct job_id_raw) as repeats,
            min(started_at) as first_start
        from loaded_rows group by file_id
    ),
    starts as (
        select loaded_rows.file_id, count(distinct submitted_at) as submit_count
        from loaded_rows inner join per_file
            on per_file.file_id = loaded_rows.file_id and per_file.first_start = loaded_rows.started_at
        where loaded_rows.submitted_at < loaded_rows.started_at and loaded_rows.elapsed_seconds > 0
        group by loaded_rows.file_id
    )
    select file_id, 'exported_without_duplicates' from per_file where most_restarts > 0 and repeats = 0
    union all
    select file_id, 'truncated_window' from starts where submit_count >= 10
    union all
    select distinct texts.file_id, 'other_cluster'
    from sacct_texts as texts inner join batch_files as files on files.file_id = texts.file_id
    where texts.outcome = 'attempt' and lower(texts.text_Cluster) <> lower(files.cluster_id)
    union all
    select distinct file_id, unnest(warnings) from loaded_rows where len(warnings) > 0
"""


def dispositions() -> Sequence[Step]:
    """Give the steps that mark all but one of the records stating the same attempt.

    The key is (cluster, JobIDRaw, Submit), and DBIndex where every record of the key has one. A finished record beats
    an unfinished one, then the later end, the longer run, the fuller row; what is left equal is decided by place.
    """
    return [
        f"""
        create or replace temp table sacct_repeats as
        with repeated as (
            select cluster_id, job_id_raw, submitted_at from raw.sacct group by all having count(*) > 1
        ),
        members as (
            select
                sacct.rowid as row_id,
                sacct.*,
                count(*) over (partition by sacct.cluster_id, sacct.job_id_raw, sacct.submitted_at) as record_count,
                count(sacct.db_index) over (
                    partition by sacct.cluster_id, sacct.job_id_raw, sacct.submitted_at
                ) as indexed_count
            from raw.sacct as sacct inner join repeated using (cluster_id, job_id_raw, submitted_at)
        )
        select
            row_id,
            row_number() over (
                partition by
                    cluster_id, job_id_raw, submitted_at,
                    case when record_count = indexed_count then db_index end
                order by
                    (state not in {tuple(sorted(OPEN_STATES))})::integer desc,
                    ended_at desc nulls last,
                    elapsed_seconds desc nulls last,
                    list_position(['epoch', 'offset', 'local', 'ambiguous_dst'], time_quality),
                    (gpu_count is not null)::integer desc,
                    len(node_ids) desc,
                    (submit_line is not null)::integer + (db_index is not null)::integer
                        + (failed_node_id is not null)::integer desc,
                    state, node_list nulls last, job_name nulls last, user_name nulls last, exit_code nulls last,
                    path, line_number
            ) as place
        from members
        """,
        """
        update raw.sacct set disposition = if(repeats.place = 1, 'loaded', 'duplicate')
        from sacct_repeats as repeats
        where repeats.row_id = sacct.rowid
            and sacct.disposition <> if(repeats.place = 1, 'loaded', 'duplicate')
        """,
        """
        update raw.sacct set disposition = 'loaded'
        where disposition <> 'loaded' and rowid not in (select row_id from sacct_repeats)
        """,
        "drop table sacct_repeats",
    ]
