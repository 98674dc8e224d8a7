"""Account for every line in ops: it is loaded, skipped with a reason, or quarantined with a reason.

A batch is accounted for here, when it is read. `account_corrections` corrects the account when later files change it.
"""

from __future__ import annotations

import duckdb

from assets.sources.intake.account.years import TIMED_BY
from assets.sources.intake.find.folder import CUT_OFF, READ
from assets.sources.reader import Reader, reader_key
from assets.sources.settings import ClusterSettings
from assets.sources.text import undated
from assets.sources.text.masking import excerpt, masked
from assets.sources.text.pseudonyms import HIDDEN, kept_detail
from assets.sql import literal

MAX_DETAIL = 300
LOST_END = "cut off: its end is missing, and what it told there is unknown"
AFTER_LOST_END = "Copy or export it again. If its end is lost for good, take the file out: what was read of it stays."


def prove_every_line_accounted_for(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Fail unless every line is in raw or in exactly one of the reader's other two tables.

    Equal counts and equal sums of 64-bit hashes mean the same lines, each once; only when they differ are lines
    compared one by one. Of files with lines that the reader only counted, the numbers of lines have to be equal.
    """
    con.execute(
        """
        create or replace temp view line_outcomes as
        from loaded_lines
        union all
        select file_id, line_number from skipped_lines
        union all
        select file_id, line_number from quarantined_lines
        """
    )
    _prove_named_lines(con, reader)
    _prove_counted_lines(con, reader)


def _prove_named_lines(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    outcomes = "(from line_outcomes anti join counted_skips using (file_id)) as outcomes"
    lines = """(
        select file_id, line_number from lines anti join counted_skips using (file_id)
        union all
        from (
            select file_id, unnest(range(1, line_count + 1)) as line_number
            from taken_files anti join counted_skips using (file_id)
        ) anti join odd_lines using (file_id, line_number)
    ) as lines"""
    fingerprint_query = "select count(*), sum(hash(file_id, line_number)::hugeint) from"
    (lines_print,), (outcomes_print,) = (
        con.execute(f"{fingerprint_query} {rows}").fetchall() for rows in (lines, outcomes)
    )
    if lines_print == outcomes_print:
        return
    wrong = con.execute(
        f"""
        select batch_files.path, line_number, count(outcomes.file_id) as outcome_count
        from {lines}
        left join {outcomes} using (file_id, line_number)
        inner join batch_files using (file_id)
        group by all having outcome_count <> 1 order by all limit 1
        """
    ).fetchall()
    where = "a line that is not in the file"
    for path, line_number, outcome_count in wrong:
        where = f"{path}, line {line_number}: {outcome_count} outcomes, not one"
    raise AssertionError(f"{reader.KIND}: {lines_print[0]} lines, {outcomes_print[0]} outcomes; {where}")


def _prove_counted_lines(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    wrong = con.execute(
        """
        select batch_files.path, taken_files.line_count, sum(outcomes.line_count) as outcome_count
        from (
            from counted_skips
            union all
            select file_id, null as reason, count(*) as line_count
            from line_outcomes semi join counted_skips using (file_id) group by file_id
        ) as outcomes
        inner join batch_files using (file_id)
        left join taken_files using (file_id)
        group by all having outcome_count is distinct from taken_files.line_count order by all limit 1
        """
    ).fetchall()
    for path, line_count, outcome_count in wrong:
        raise AssertionError(
            f"{reader.KIND}: {path}: {line_count or 'no'} lines read as a whole, {outcome_count} outcomes"
        )


def account_for_batch(con: duckdb.DuckDBPyConnection, reader: Reader, cluster: ClusterSettings, run_id: str) -> None:
    """Write into ops what a reader left beside the rows, and the account of each file."""
    con.execute(
        """
        create or replace temp view skipped_aside as
        select file_id, line_number, reason
        from aside_lines semi join translated_aside as translated using (file_id, line_number, reason)
        where aside_lines.detail is null
        """
    )
    con.execute(
        """
        create or replace temp table all_quarantined as
        select
            found.file_id,
            found.line_number,
            case
                when batch_files.last_line_open and found.line_number = file_lines.last_line then 'truncated_record'
                else found.reason
            end as reason,
            found.detail
        from (
            select file_id, line_number, reason, detail from quarantined_lines
            union all
            select file_id, line_number, reason, detail
            from aside_lines anti join skipped_aside using (file_id, line_number)
        ) as found
        inner join batch_files on batch_files.file_id = found.file_id
        inner join file_lines on file_lines.file_id = found.file_id
        """
    )
    if con.execute("from all_quarantined limit 1").fetchall():
        _keep_quarantined_lines(con, is_pseudonymous=cluster.is_pseudonymous)
    con.execute(
        """
        create or replace temp table skip_counts as
        select file_id, reason, sum(line_count)::bigint as line_count
        from (
            select file_id, reason, count(*) as line_count from skipped_lines group by all
            union all
            select file_id, reason, count(*) as line_count from skipped_aside group by all
            union all
            from counted_skips
            union all
            from earlier_skips
        )
        group by all
        """
    )
    con.execute(
        """
        insert into ops.skips by name
        select batch_files.cluster_id, batch_files.path, skip_counts.reason, skip_counts.line_count
        from skip_counts inner join batch_files on batch_files.file_id = skip_counts.file_id
        """
    )
    _find_first_and_last_times(con, reader)
    _account_for_files(con, reader, cluster, run_id)


def _find_first_and_last_times(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Fill `covered_times` with the first and last moment of each file, from its lines or else from its name.

    What settles the years of lines that tell none is kept.
    """
    first, last = reader.COVERS
    has_no_year = "dated_by_file_at is not null" if reader.TABLE in TIMED_BY else "false"
    con.execute(
        f"""
        create or replace temp table of_lines as
        with of_rows as (
            select batch_files.file_id, {has_no_year} as has_no_year, {first} as first_at, {last} as last_at
            from raw.{reader.TABLE} as kept
            inner join batch_files on batch_files.path = kept.path and batch_files.cluster_id = kept.cluster_id
            group by batch_files.file_id, has_no_year
            union all
            select file_id, has_no_year, min(stated_at), max(stated_at) from stated_times group by file_id, has_no_year
        )
        select file_id, has_no_year, min(first_at) as first_at, max(last_at) as last_at
        from of_rows group by file_id, has_no_year
        """
    )
    con.execute(
        f"""
        create or replace temp table covered_times as
        with of_files as (
            select file_id, min(first_at) as first_at, max(last_at) as last_at from of_lines group by file_id
        )
        select
            batch_files.file_id,
            coalesce(of_files.first_at, {undated.named_moment("batch_files.path")}) as first_at,
            coalesce(of_files.last_at, {undated.named_end("batch_files.path")}) as last_at
        from batch_files left join of_files on of_files.file_id = batch_files.file_id
        """
    )
    con.execute(
        """
        insert into ops.years by name
        select
            batch_files.cluster_id, batch_files.path, logs.days, logs.is_of_file_date, logs.has_leap_day,
            undated.first_at, undated.last_at, others.first_at as others_first_at, others.last_at as others_last_at,
            0 as years_back
        from undated_logs as logs
        inner join batch_files on batch_files.file_id = logs.file_id
        left join of_lines as undated on undated.file_id = logs.file_id and undated.has_no_year
        left join of_lines as others on others.file_id = logs.file_id and not others.has_no_year
        """
    )


def _keep_quarantined_lines(con: duckdb.DuckDBPyConnection, *, is_pseudonymous: bool) -> None:
    detail, raw = masked(f"left(found.detail, {MAX_DETAIL})"), excerpt("texts.line", "found.detail")
    if is_pseudonymous:
        detail, raw = kept_detail("found.detail"), literal(HIDDEN)
    # The texts come first: the other side of a join is held in memory (`joins_as_written`).
    con.execute(
        f"""
        insert into ops.quarantine by name
        select
            batch_files.cluster_id,
            batch_files.path,
            found.line_number + batch_files.lines_before as line_number,
            found.reason,
            {detail} as detail,
            {raw} as raw
        from (
            from lines
            union all
            select file_id, line_number, line from aside_lines
            union all
            from taken_lines
        ) as texts
        inner join all_quarantined as found
            on found.file_id = texts.file_id and found.line_number = texts.line_number
        inner join batch_files on batch_files.file_id = found.file_id
        """
    )


def _account_for_files(con: duckdb.DuckDBPyConnection, reader: Reader, cluster: ClusterSettings, run_id: str) -> None:
    con.execute(
        """
        insert into ops.files by name
        with loaded as (select file_id, count(*) as line_count from loaded_lines group by file_id),
        skipped as (select file_id, sum(line_count) as line_count from skip_counts group by file_id),
        quarantined as (
            select
                file_id,
                count(*) as line_count,
                bool_or(reason = 'truncated_record') as is_partial
            from all_quarantined
            group by file_id
        ),
        warned as (
            select file_id, list(distinct warning order by warning) as warnings from file_warnings group by file_id
        )
        select
            batch_files.cluster_id,
            batch_files.path,
            batch_files.sha256,
            $kind as kind,
            batch_files.dialect,
            coalesce(file_lines.lines_in, 0) as lines_in,
            coalesce(loaded.line_count, 0) as loaded,
            coalesce(skipped.line_count, 0) as skipped,
            coalesce(quarantined.line_count, 0) as quarantined,
            $run_id as run_id,
            batch_files.size_bytes,
            batch_files.text_sha256,
            batch_files.text_bytes,
            if(batch_files.last_line_open, file_lines.last_line + batch_files.lines_before, null) as open_line,
            batch_files.modified_at,
            coalesce(quarantined.is_partial, false) or batch_files.is_cut as is_partial,
            $reader as reader,
            coalesce(warned.warnings, []::varchar[]) as warnings,
            covered_times.first_at,
            covered_times.last_at,
            if(batch_files.is_cut, $cut_off, $read) as status,
            if(batch_files.is_cut, $lost_end, null) as reason,
            if(batch_files.is_cut, $next_step, null) as next_step
        from batch_files
        left join file_lines on file_lines.file_id = batch_files.file_id
        left join loaded on loaded.file_id = batch_files.file_id
        left join skipped on skipped.file_id = batch_files.file_id
        left join quarantined on quarantined.file_id = batch_files.file_id
        left join warned on warned.file_id = batch_files.file_id
        left join covered_times on covered_times.file_id = batch_files.file_id
        """,
        {
            "kind": reader.KIND,
            "run_id": run_id,
            "reader": reader_key(reader, cluster),
            "cut_off": CUT_OFF,
            "read": READ,
            "lost_end": LOST_END,
            "next_step": AFTER_LOST_END,
        },
    )
