"""Whole files of GCM's file sink in one scan: DuckDB's JSON reader gives columns, and no line is ever a text.

Only files in which every line is a record as GCM writes it are taken; the others are left to `gcm_records`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from assets.sources.health import gcm_records
from assets.sources.health import stretches as health_stretches
from assets.sources.intake.copies import unpack_object_lines
from assets.sources.intake.lines import is_compressed
from assets.sources.intake.object_lines import MAX_OBJECT_BYTES
from assets.sources.sql import times
from assets.sources.sql.database_settings import one_thread
from assets.sources.sql.temp_tables import TempTable

if TYPE_CHECKING:
    from assets.sources.reader import Copies, SourceFile
    from assets.sources.settings import ClusterSettings

TAKEN = TempTable(
    "health_whole",
    {
        "file_id": "integer",
        "line_number": "bigint",
        "node_name": "varchar",
        "check_name": "varchar",
        "check_type": "varchar",
        "result": "varchar",
        "result_quality": "varchar",
        "started_at": "timestamp",
        "observed_at": "timestamp",
        "job_id_raw": "bigint",
        "message": "varchar",
        "unchanged_since": "timestamp",
        "last_day": "date",
        "last_day_line": "bigint",
        "is_inside": "boolean",
    },
)
"""The results that are kept of the files taken; of every file one at least, as the first of a stretch is.

`last_day_line` is the line of the first result of `stretches.last_day` or later; it is NULL for a file in no order.
`is_inside` marks the results of the days before that come behind that line and are not kept."""

SCANNED = TempTable("scanned_files", {"file_index": "bigint", "file_id": "integer", "line_count": "bigint"})

KEPT = f"""
select * exclude (last_day, last_day_line, is_inside), {gcm_records.xid_codes("message")} as xid_codes
from health_whole where not is_inside"""
LAST_DAYS = """
select
    file_id,
    last_day_line as line_number,
    last_day,
    list(line_number) filter (line_number > last_day_line and observed_at::date < last_day) as left_out
from health_whole where last_day_line is not null group by file_id, last_day, last_day_line"""

# The places in which only other sinks put a field do not count where these are filled. Numbers are taken as the file
# writes them: DuckDB would make a number and a text again of each. In quotes they are left to `gcm_records`.
_FIELDS = f"""
select
    row_number() over () as line_in_scan,
    file_index,
    normal.node,
    normal.health_check,
    normal."type",
    "int".result as code,
    "int".job_id,
    "double".start_time,
    "double".end_time,
    normal._msg as message,
    normal."type" is not null and normal._msg is not null
    and if("int".job_id = '0', true, not starts_with("int".job_id, '"')) as is_complete
from read_json(
    $paths, format = 'newline_delimited', ignore_errors = true, maximum_object_size = {2 * MAX_OBJECT_BYTES},
    columns = {{
        'int': 'STRUCT(result JSON, job_id JSON)',
        'double': 'STRUCT(start_time DOUBLE, end_time DOUBLE)',
        'normal': 'STRUCT(node VARCHAR, health_check VARCHAR, "type" VARCHAR, _msg VARCHAR)'
    }}
)"""


def _seconds(number: str) -> str:
    """Return SQL for epoch seconds; times in other units, or none, are left NULL here, and so to `gcm_records`."""
    return f"case when {number} >= 1e8 and {number} < 1e11 then make_timestamp(({number} * 1e6)::bigint) end"


# One statement: rows held for it cost a fifth of rows put into a table (measured), and are spilled like them.
def _read(unfolded: Sequence[tuple[str | None, str | None]]) -> str:
    """Return the statement that reads the files into `health_whole`, stretches folded."""
    return f"""
insert into health_whole
with results as materialized (
    select
        * exclude (code, problem, is_complete, started_at),
        least(started_at, observed_at) as started_at,
        is_complete and problem is null
        and started_at >= {times.literal(times.EARLIEST)}
        and started_at <= observed_at + interval {times.CLOCK_NOISE_SECONDS} second
        and not {times.is_implausible("observed_at")} as is_good
    from ({gcm_records.typed(_FIELDS, "line_in_scan, file_index, is_complete", _seconds)})
),
days as (
    select
        file_index,
        observed_at::date as day_date,
        max(observed_at) as last_at,
        min(line_in_scan) as first_line,
        max(line_in_scan) as last_line,
        count(*) filter (is_good) as good_count
    from results
    group by file_index, day_date
),
files as (
    select
        found.file_index,
        found.first_line,
        scanned_files.file_id,
        found.last_day,
        case
            when coalesce(line_before - last_day_line, 0) < {health_stretches.MOST_LINES_BEHIND} then last_day_line
        end as last_day_line
    from (
        select
            file_index,
            min(first_line) as first_line,
            max(last_line) as last_line,
            sum(good_count) as good_count,
            any_value(last_day) as last_day,
            min(first_line) filter (day_date >= last_day) as last_day_line,
            max(last_line) filter (day_date < last_day) as line_before
        from (
            select *, {health_stretches.last_day("max(last_at) over (partition by file_index)")} as last_day from days
        )
        group by file_index
    ) as found
    inner join scanned_files on scanned_files.file_index = found.file_index
    where found.good_count = scanned_files.line_count
        and found.last_line - found.first_line + 1 = scanned_files.line_count
),
stretches as ({health_stretches.stretches("results", "file_index", unfolded)})
select
    files.file_id,
    results.line_in_scan - files.first_line + 1 as line_number,
    results.node_name,
    results.check_name,
    results.check_type,
    results.result,
    results.result_quality,
    results.started_at,
    results.observed_at,
    results.job_id_raw,
    results.message,
    case when results.observed_at = stretches.last_at then stretches.first_at end as unchanged_since,
    files.last_day,
    files.last_day_line - files.first_line + 1 as last_day_line,
    coalesce({health_stretches.IS_INSIDE}, false) as is_inside
from results
inner join files on files.file_index = results.file_index
left join stretches on stretches.file_index = results.file_index and {health_stretches.IS_OF_STRETCH}
where not is_inside or (results.line_in_scan > files.last_day_line and results.observed_at::date < files.last_day)"""


_TAKEN = """
insert into taken_files
select file_id, line_count from scanned_files where file_id in (select file_id from health_whole)"""
_COUNTED = """
insert into counted_skips
select file_id, 'unchanged', taken.line_count - kept.line_count
from taken_files as taken
inner join (
    select file_id, count(*) as line_count from health_whole where not is_inside group by file_id
) as kept using (file_id)
where kept.line_count < taken.line_count"""


def take(
    con: duckdb.DuckDBPyConnection, files: Mapping[int, SourceFile], cluster: ClusterSettings, copies: Copies
) -> None:
    """Read the files that are nothing but GCM's records into `health_whole`; note which, and how much is unchanged."""
    TAKEN.create(con)
    counts: dict[int, int] = {}
    paths: list[Path] = []
    for file_id, file in files.items():
        if file.dialect == "gcm" and (file.object_lines or is_compressed(file.absolute)):
            path, count = _as_objects(file, copies.folder / f"{file_id}.jsonl")
            if count:
                counts[file_id] = count
                paths.append(path)
    if counts:
        _scan(con, counts, [str(path) for path in paths], _read(cluster.settings.health.unfolded))
    for file_id in counts:
        (copies.folder / f"{file_id}.jsonl").unlink(missing_ok=True)


def _as_objects(file: SourceFile, unpacked: Path) -> tuple[Path, int | None]:
    """Return where DuckDB reads a file, and how many lines it has; none when it is not for JSON's reader."""
    if not is_compressed(file.absolute):
        return file.absolute, file.object_lines
    count = unpack_object_lines(file.absolute, unpacked)
    if not count:
        unpacked.unlink(missing_ok=True)
    return unpacked, count


def _scan(con: duckdb.DuckDBPyConnection, counts: Mapping[int, int], paths: list[str], read: str) -> None:
    SCANNED.fill(con, [(index, file_id, count) for index, (file_id, count) in enumerate(counts.items())])
    # Lines are numbered while they are scanned. One thread keeps their order without being told to.
    with one_thread(con):
        con.execute("set session preserve_insertion_order = false")
        try:
            con.execute(read, {"paths": paths})
        finally:
            con.execute("set session preserve_insertion_order = true")
    con.execute(_TAKEN)
    con.execute(_COUNTED)
