"""Reader of accounting: `sacct -P` text in any columns, order, delimiter and time form, one row per allocation record.

JSON of Slurm and GCM, the log of job completions and research traces are first translated into lines of that text.
Refused as a whole: fixed-width tables, error messages, exports without a header whose columns are not configured.
Steps and pending placeholders are counted and skipped; a record that cannot be read in exactly one way is quarantined,
never guessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import duckdb

from assets.sources.batch_tables import QUARANTINED_LINES
from assets.sources.reader import Batch, ReadingPlan, Step
from assets.sources.sacct.clusters import see_step
from assets.sources.sacct.columns import COLUMNS, PRIVACY
from assets.sources.sacct.detection import DIALECTS, detect
from assets.sources.sacct.lines import split_step
from assets.sources.sacct.lookups import beginnings, looked_up, lookup_step, years_printed
from assets.sources.sacct.printed_times import DATES, TEXTS_WITH_DATES, are_only_own, read_dates
from assets.sources.sacct.typed_records import type_records
from assets.sources.sacct.values import OPEN_STATES
from assets.sources.sacct.whole_files import take
from assets.sources.settings import ClusterSettings
from assets.sources.temp_tables import TempTable
from assets.sources.text import times

__all__ = [
    "COVERS", "DIALECTS", "KIND", "PRIVACY", "TABLE", "VERSION", "detect", "dispositions", "plan_reading", "take",
]  # fmt: skip

PROBLEMS = TempTable("sacct_problems", QUARANTINED_LINES.columns)

KIND = "sacct"
TABLE = "sacct"
VERSION = f"13.{hashlib.sha256(repr(COLUMNS).encode()).hexdigest()[:8]}"
"""A change of the columns that are read makes it another."""
_SEEN_RUNNING_UNTIL = (
    "case when ended_at is null and not list_contains(warnings, 'runaway_suspect') "
    "then started_at + to_seconds(coalesce(elapsed_seconds, 0) + coalesce(suspended_seconds, 0)) end"
)
COVERS = (
    f"coalesce(min(ended_at), max({_SEEN_RUNNING_UNTIL}))",
    f"max(greatest(submitted_at, started_at, ended_at, {_SEEN_RUNNING_UNTIL}))",
)
"""An export does not show what had ended before its window began: the earliest end is the first moment it tells of."""

_TYPED = "query(getvariable('sacct_typed'))"
"""The typed records. As a view the query would be planned when it is made as well, which takes a tenth of the time of a
small batch."""


def plan_reading(batch: Batch) -> ReadingPlan:
    """Say how records become typed rows."""
    return ReadingPlan(
        prepare=[
            split_step(batch.cluster),
            see_step(batch.cluster),
            lookup_step(batch.cluster),
            _type_step(batch.cluster),
        ],
        loaded=f"select * exclude (problem, detail) from {_TYPED} where problem is null",
        after_keeping=[
            _remove_kept_texts,
            _find_problems,
            _WARN_ABOUT_FILES,
        ],
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
        resume_points=_RESUME_POINTS,
        warnings_of_rows=frozenset({"truncated_window"}),
    )


# The last record on a line of its own: odd lines may be joined with those that follow. Of a job that runs and does not
# say for how long, the modification of the file decides whether it is taken for lost. Of rows
# that name several clusters, or of which some name none, all together tell which are read. So do all times of a file
# in the form of a locale.
_RESUME_POINTS = """
with headers as (
    select file_id, max(line_number) as lines_again
    from (
        select file_id, line_number from sacct_headers
        union all
        select file_id, line_number from sacct_aside_in_files where reason = 'header'
    )
    group by file_id having count(*) = 1 and max(line_number) <= 1
),
timed as (
    select batch_files.file_id
    from raw.sacct inner join batch_files
        on batch_files.path = sacct.path and batch_files.cluster_id = sacct.cluster_id
    where sacct.state = 'RUNNING' and sacct.elapsed_seconds is null
),
several as (
    select file_id from (select unnest(clusters, recursive := true) from sacct_seen)
    group by file_id having count(distinct coalesce(lower(name), '')) > 1
    union all
    select file_id from sacct_aside where reason = 'other_cluster'
)
select
    kept.file_id,
    max(kept.line_number) as line_number,
    any_value(headers.lines_again) as lines_again,
    null as not_before,
    [] as left_out
from loaded_lines as kept
inner join headers on headers.file_id = kept.file_id
anti join sacct_odd_places as odd on odd.file_id = kept.file_id and odd.line_number = kept.line_number
anti join timed on timed.file_id = kept.file_id
anti join several on several.file_id = kept.file_id
anti join sacct_dates as dated on dated.file_id = kept.file_id
group by kept.file_id"""


def _type_step(cluster: ClusterSettings) -> Step:
    zone = cluster.settings.timezone

    def type_all(con: duckdb.DuckDBPyConnection) -> None:
        DATES.create(con)
        texts = "sacct_texts"
        if not are_only_own(beginnings(con)):
            read_dates(con, cluster)
            texts = TEXTS_WITH_DATES
        years = years_printed(con) if times.offset_changes(zone) else times.EVER
        typed = type_records(zone, years, looked_up(con), texts)
        con.execute("set variable sacct_typed = $typed", {"typed": typed})

    return type_all


def _remove_kept_texts(con: duckdb.DuckDBPyConnection) -> None:
    """Remove from `sacct_texts` the records that raw now holds. Mostly these are all, and no file is read again."""
    ((is_any_lost,),) = con.execute(
        """
        select coalesce(sum(line_count), 0)
            > (select count(*) from odd_lines) + (select count(*) from sacct_aside_in_files)
            + (
                select count(*) from loaded_lines
                semi join taken_files using (file_id) anti join odd_lines using (file_id, line_number)
            )
        from taken_files
        """
    ).fetchall()
    con.execute("insert into sacct_aside (file_id, line_number) from loaded_lines")
    left = "from sacct_line_texts"
    if is_any_lost:
        but_kept = "anti join sacct_aside using (file_id, line_number)"
        con.execute(f"insert into taken_lines from sacct_file_lines {but_kept}")
        left = f"{left} union all from sacct_file_texts {but_kept}"
    con.execute(f"create or replace temp view sacct_texts as {left}")
    con.execute(
        """
        delete from sacct_repaired using loaded_lines as kept
        where kept.file_id = sacct_repaired.file_id and kept.line_number = sacct_repaired.line_number
        """
    )


def _find_problems(con: duckdb.DuckDBPyConnection) -> None:
    """Type the remaining records again for their problems; mostly there are none."""
    PROBLEMS.create(con)
    if con.execute("from sacct_texts limit 1").fetchall():
        con.execute(
            f"""
            insert into sacct_problems
            select file_id, line_number, problem, detail from {_TYPED} where problem is not null
            """
        )


_WARN_ABOUT_FILES = """
    insert into file_warnings
    with kept as (
        select batch_files.file_id, sacct.*
        from raw.sacct inner join batch_files
            on batch_files.path = sacct.path and batch_files.cluster_id = sacct.cluster_id
    ),
    per_file as (
        select
            file_id,
            min(started_at) as first_start
        from kept group by file_id
    ),
    starts as (
        select kept.file_id, count(distinct submitted_at) as submit_count
        from kept inner join per_file
            on per_file.file_id = kept.file_id and per_file.first_start = kept.started_at
        where kept.submitted_at < kept.started_at and kept.elapsed_seconds > 0
        group by kept.file_id
    )
    select file_id, 'truncated_window' from starts where submit_count >= 10
    union all
    select distinct file_id, unnest(warnings) from kept where len(warnings) > 0
"""


def dispositions() -> Sequence[Step]:
    """Return the steps that mark all but one of the records stating the same attempt.

    The key is (cluster, JobIDRaw, Submit), and DBIndex where every record of the key has one. Without it, an attempt
    that was requeued in the second of its submission, as a prolog that fails at once has it, is one of its own: its
    successor has the same Submit. A finished record beats an unfinished one, then the later end, the longer run, the
    fuller row. Then a requeue beats what ended with it: jobcomp writes both if a prolog fails. What is left equal is
    decided by place.
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
                    case
                        when record_count = indexed_count then db_index
                        else (state = 'REQUEUED' and ended_at is not distinct from submitted_at)::bigint
                    end
                order by
                    (state not in {tuple(sorted(OPEN_STATES))})::integer desc,
                    ended_at desc nulls last,
                    elapsed_seconds desc nulls last,
                    list_position(['epoch', 'offset', 'local', 'ambiguous_dst'], time_quality),
                    (gpu_count is not null)::integer desc,
                    len(node_ids) desc,
                    (submit_line is not null)::integer + (db_index is not null)::integer
                        + (failed_node_id is not null)::integer desc,
                    (state = 'REQUEUED')::integer desc,
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
