"""Whole files of GCM's file sink in one scan: records that differ in nothing but their times are typed once.

Checks say the same of a node over and over, so the distinct records are few and each keeps a list of lines and times.
Only files in which every line is a record as GCM writes it are taken; the others are left to `gcm_records`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from assets.sources import gcm_records
from assets.sources.object_lines import count_object_lines

if TYPE_CHECKING:
    from assets.sources.folder import SourceFile

BYTES_PER_LINE = 350
"""Memory of a scan in which no two records say the same (measured); lists of lines cannot be spilled."""
_GLOB = set("*?[]")

EMPTY = (
    """
create temp table if not exists health_records (
    record bigint, file_id integer, node_name varchar, check_name varchar, check_type varchar, result varchar,
    result_quality varchar, job_id_raw bigint, xid_codes integer[], message varchar, problem varchar
)""",
    """
create temp table if not exists health_entries (
    record bigint, line_number bigint, started_at timestamp, observed_at timestamp
)""",
)
"""`health_records` are distinct but for their times, which are in `health_entries`, one for every line."""

# The places in which only other sinks put a field do not count where these are filled.
_SCAN = """
create or replace temp table health_condensed as
select
    file_index, "int", "normal",
    list(line_in_scan) as lines, list(start_time) as start_times, list(end_time) as end_times
from (
    select
        row_number() over () as line_in_scan,
        file_index, "int", "normal", "double".start_time, "double".end_time
    from read_json($paths, format = 'newline_delimited', ignore_errors = true, columns = {
        'int': 'JSON', 'normal': 'JSON', 'double': 'STRUCT(start_time DOUBLE, end_time DOUBLE)'
    })
)
group by all"""

# One moment stands for all: the times are those of the entries.
_SHAPES = f"""
create or replace temp table health_shapes as
select
    files.file_id,
    condensed.rowid as line_number,
    json_transform(
        '{{"double":{{"start_time":1e9,"end_time":1e9}},"int":' || "int" || ',"normal":' || "normal" || '}}',
        '{gcm_records.STRUCTURE}'
    ) as r
from health_condensed as condensed
inner join scanned_files as files on files.file_index = condensed.file_index"""

_RECORDS = f"""
insert into health_records by name
select * exclude (line_number, started_at, observed_at, stands_alone, problem_detail), line_number as record
from ({gcm_records.results("from health_shapes", stand_alone=True)})"""

# Times in other units than seconds, or none, are left NULL here, and so to `gcm_records`.
_ENTRIES = """
insert into health_entries by name
select
    record,
    line_in_scan - lines_before as line_number,
    case when start_time >= 1e8 and start_time < 1e11 then make_timestamp((start_time * 1e6)::bigint) end as started_at,
    case when end_time >= 1e8 and end_time < 1e11 then make_timestamp((end_time * 1e6)::bigint) end as observed_at
from (
    select
        condensed.rowid as record,
        files.lines_before,
        unnest(lines) as line_in_scan,
        unnest(start_times) as start_time,
        unnest(end_times) as end_time
    from health_condensed as condensed
    inner join scanned_files as files on files.file_index = condensed.file_index
)"""

_TAKEN = """
insert into taken_files
select files.file_id, files.line_count
from scanned_files as files
inner join health_records as records on records.file_id = files.file_id
inner join (
    select
        record,
        count(*) as line_count,
        count(*) filter (where started_at is null or observed_at is null) as odd_count,
        min(line_number) as first_line,
        max(line_number) as last_line
    from health_entries group by record
) as entries on entries.record = records.record
inner join health_shapes as shapes on shapes.line_number = records.record
group by files.file_id, files.line_count
having sum(entries.line_count) = files.line_count and sum(entries.odd_count) = 0
    and min(first_line) = 1 and max(last_line) = files.line_count
    and bool_and(
        problem is null and r."int".result is not null and r."int".job_id is not null and r.normal.node is not null
        and r.normal.health_check is not null and r.normal."type" is not null and r.normal._msg is not null
    )"""

_UNTAKEN = (
    """
delete from health_entries
where record in (select record from health_records where file_id not in (select file_id from taken_files))""",
    "delete from health_records where file_id not in (select file_id from taken_files)",
)


def take(con: duckdb.DuckDBPyConnection, files: Mapping[int, SourceFile]) -> None:
    """Read the files that are nothing but GCM's records into `health_records` and `health_entries`; note which."""
    for statement in EMPTY:
        con.execute(statement)
    counts: dict[int, int] = {}
    room = _memory(con)
    for file_id, file in files.items():
        if file.dialect == "gcm" and (file.is_plain or _is_archive(file)) and file.size_bytes <= room:
            found = count_object_lines(file.absolute)
            needed = max(found.text_bytes, found.lines * BYTES_PER_LINE) if found else 0
            if found and needed <= room:
                counts[file_id] = found.lines
                room -= needed
    if counts:
        _scan(con, counts, [str(files[file_id].absolute) for file_id in counts])


def _memory(con: duckdb.DuckDBPyConnection) -> int:
    """Give DuckDB's limit in bytes."""
    row = con.execute("select parse_formatted_bytes(current_setting('memory_limit'))").fetchone()
    return int(row[0]) if row else 0


def _is_archive(file: SourceFile) -> bool:
    return file.absolute.suffix == ".gz" and not _GLOB & set(str(file.absolute))


def _scan(con: duckdb.DuckDBPyConnection, counts: Mapping[int, int], paths: Sequence[str]) -> None:
    table = pa.table(
        {
            "file_index": pa.array(range(len(counts)), pa.int64()),
            "file_id": pa.array(counts.keys(), pa.int32()),
            "line_count": pa.array(counts.values(), pa.int64()),
        }
    )
    con.register("scanned_files_table", table)
    con.execute(
        """
        create or replace temp table scanned_files as
        select *, (sum(line_count) over (order by file_index) - line_count)::bigint as lines_before
        from scanned_files_table
        """
    )
    con.unregister("scanned_files_table")
    con.execute(_SCAN, {"paths": paths})
    for statement in (_SHAPES, _RECORDS, _ENTRIES, _TAKEN):
        con.execute(statement)
    con.execute("drop table health_condensed")
    taken = con.execute("select count(*) from taken_files").fetchone()
    if taken != (len(counts),):
        for statement in _UNTAKEN:
            con.execute(statement)
