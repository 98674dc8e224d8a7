"""Whole files of GCM's file sink in one scan: DuckDB's JSON reader gives columns, and no line is ever a text.

Lines that hold no JSON, such as blank ones, text and records that are cut off, are left to be read by lines. Where
there are any, the file is copied with empty objects in their places, so that the others keep their numbers. A file
with a record that is not as GCM's sink writes it is left to `gcm_records` as a whole: what it says may belong to a
stretch of unchanged results.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from assets.sources.batch_tables import ODD_LINES
from assets.sources.database_settings import one_thread
from assets.sources.health import gcm_records, unchanged_results
from assets.sources.intake.read.lines import CHUNK, is_compressed
from assets.sources.intake.read.object_lines import MAX_OBJECT_BYTES
from assets.sources.intake.read.odd_lines import BlockOfLines, OddLines, max_odd_count, scan_lines
from assets.sources.regular import blocks_of_lines, open_regular
from assets.sources.temp_tables import TempTable
from assets.sources.text import times

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
        "is_left": "boolean",
    },
)
"""The results that are kept of the files taken; of every file one at least, as the first of a stretch is.

`last_day_line` is the line of the first result of `unchanged_results.last_day` or later; NULL for an unordered file.
`is_inside` marks the results of the days before that come behind that line and are not kept, `is_left` lines that are
left to be read by lines."""

SCANNED = TempTable(
    "scanned_files", {"file_index": "bigint", "file_id": "integer", "line_count": "bigint", "max_odd_count": "double"}
)

KEPT = f"""
select * exclude (last_day, last_day_line, is_inside, is_left), {gcm_records.xid_codes("message")} as xid_codes
from health_whole where not is_inside and not is_left"""
LAST_DAYS = """
select
    file_id,
    last_day_line as line_number,
    last_day,
    list(line_number) filter (line_number > last_day_line and observed_at::date < last_day) as left_out
from health_whole where last_day_line is not null and not is_left group by file_id, last_day, last_day_line"""

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
        coalesce(
            is_complete and problem is null
            and started_at >= {times.literal(times.EARLIEST)}
            and started_at <= observed_at + interval {times.CLOCK_NOISE_SECONDS} second
            and not {times.is_implausible("observed_at")}, false
        ) as is_good
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
            when coalesce(line_before - last_day_line, 0) < {unchanged_results.MAX_LINES_BEHIND} then last_day_line
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
            select *, {unchanged_results.last_day("max(last_at) over (partition by file_index)")} as last_day from days
        )
        group by file_index
    ) as found
    inner join scanned_files on scanned_files.file_index = found.file_index
    where scanned_files.line_count - found.good_count <= scanned_files.max_odd_count
        and found.last_line - found.first_line + 1 = scanned_files.line_count
),
stretches as ({unchanged_results.stretches("results where is_good", "file_index", unfolded)})
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
    results.is_good and coalesce({unchanged_results.IS_INSIDE}, false) as is_inside,
    not results.is_good as is_left
from results
inner join files on files.file_index = results.file_index
left join stretches on stretches.file_index = results.file_index and {unchanged_results.IS_OF_STRETCH}
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


@dataclass(frozen=True)
class _Log:
    """A file that DuckDB's JSON reader may read."""

    path: Path
    line_count: int
    odd: OddLines = field(default_factory=OddLines)
    """Lines without braces around them, in whose places `path` has empty objects; then also what the scan leaves."""


def take(
    con: duckdb.DuckDBPyConnection, files: Mapping[int, SourceFile], cluster: ClusterSettings, copies: Copies
) -> None:
    """Read files of GCM's records into `health_whole`; note which, what is left, and how much is unchanged."""
    TAKEN.create(con)
    logs = {file_id: log for file_id, file in files.items() if (log := _look_at(file_id, file, copies)) is not None}
    if not logs:
        return
    _scan(con, logs, _read(cluster.settings.health.unfolded))
    _leave(con, logs)
    con.execute(_TAKEN)
    con.execute(_COUNTED)
    for file_id, log in logs.items():
        if log.path != files[file_id].absolute:
            log.path.unlink()


def _look_at(file_id: int, file: SourceFile, copies: Copies) -> _Log | None:
    """Find where DuckDB can read a file, and how many lines it has; none when it is not for JSON's reader."""
    if file.dialect != "gcm":
        return None
    if file.object_lines:
        return _Log(file.absolute, file.object_lines)
    objects = copies.folder / f"{file_id}.jsonl"
    if is_compressed(file.absolute):
        count = copies.object_lines_of(file_id, file.absolute, objects)
        if count:
            return _Log(objects, count)
    path = file.absolute
    if not file.is_plain:
        copy = copies.copy_of(file_id, path)
        if copy.is_cut or copy.has_cut_lines:
            objects.unlink(missing_ok=True)
            return None
        path = copy.path
    objects.unlink(missing_ok=True)
    log = _objects_alone(path, objects)
    if log is not None and log.path != path and not file.is_plain:
        path.unlink()
    return log


def _objects_alone(path: Path, objects: Path) -> _Log | None:
    """Find where a file, or its copy, has an object in each line; None if it must be read by lines."""
    with open_regular(path) as stream:
        scanned = scan_lines(stream, _without_braces)
    if scanned is None:
        return None
    if scanned.spans:
        scanned.copy_without(path, b"{}", objects)
    return _Log(objects if scanned.spans else path, scanned.line_count, scanned.odd)


def _without_braces(block: BlockOfLines) -> Iterable[int] | None:
    if max(block.ends - block.starts) > MAX_OBJECT_BYTES:
        return None
    return [
        place
        for place in block.not_between(b"{", b"}")
        if block[place][:1] != b"{" or block[place].rstrip()[-1:] != b"}"
    ]


def _scan(con: duckdb.DuckDBPyConnection, logs: Mapping[int, _Log], read: str) -> None:
    rows = [(file_id, log.line_count, max_odd_count(log.line_count)) for file_id, log in logs.items()]
    SCANNED.fill(con, [(index, *row) for index, row in enumerate(rows)])
    # Lines are numbered while they are scanned. One thread keeps their order without being told to.
    with one_thread(con):
        con.execute("set session preserve_insertion_order = false")
        try:
            con.execute(read, {"paths": [str(log.path) for log in logs.values()]})
        finally:
            con.execute("set session preserve_insertion_order = true")


def _leave(con: duckdb.DuckDBPyConnection, logs: Mapping[int, _Log]) -> None:
    """Fill `odd_lines`, and give up files of which a record would have to be left."""
    found = con.execute("select file_id, list(line_number) from health_whole where is_left group by all").fetchall()
    for file_id, numbers in found:
        _add_odd_lines(logs[file_id], numbers)
    odd = {file_id: logs[file_id].odd for file_id, _ in found}
    ODD_LINES.fill(con, [(file_id, *line) for file_id, lines in odd.items() for line in lines.texts.items()])
    con.execute(
        """
        create or replace temp table health_given_up as
        select distinct file_id from odd_lines
        where case when line[1] in ('{', '[') then json_valid(line) else false end
        union
        select unnest($too_many)
        """,
        {"too_many": [file_id for file_id, lines in odd.items() if lines.are_too_many(logs[file_id].line_count)]},
    )
    for table in ("health_whole", "odd_lines"):
        con.execute(f"delete from {table} where file_id in (from health_given_up)")


def _add_odd_lines(log: _Log, numbers: Sequence[int]) -> None:
    """Read lines of a file that the scan leaves, until there are too many."""
    wanted = sorted(set(numbers) - log.odd.texts.keys())
    before = 0
    with open_regular(log.path) as stream:
        for block in blocks_of_lines(stream, CHUNK):
            count = block.count(b"\n") + (not block.endswith(b"\n"))
            inside = wanted[bisect_right(wanted, before) : bisect_right(wanted, before + count)]
            lines = block.split(b"\n") if inside else []
            for number in inside:
                log.odd.add(number, lines[number - before - 1])
            before += count
            if log.odd.are_too_many(log.line_count):
                return
