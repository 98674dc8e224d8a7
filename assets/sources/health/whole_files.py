"""Whole files of GCM's file sink in one scan: DuckDB's JSON reader gives columns.

Lines that hold no JSON, such as blank ones, text and records that are cut off, are left to be read by lines. Where
there are any, the file is copied with empty objects in their places, so that the others keep their numbers. A file
with a record that is not as GCM's sink writes it is read by lines as a whole, because that record may be the one that
differs from unchanged results.
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
from assets.sources.health.unchanged_results import MAX_LINES_BEHIND, counts_each
from assets.sources.intake.read.lines import CHUNK, is_compressed
from assets.sources.intake.read.object_lines import MAX_OBJECT_BYTES
from assets.sources.intake.read.odd_lines import BlockOfLines, OddLines, max_odd_count, scan_lines
from assets.sources.regular import blocks_of_lines, open_regular
from assets.sources.temp_tables import TempTable
from assets.sources.text import times
from assets.sources.text.check_subjects import SUBJECTS
from assets.sql import fill

if TYPE_CHECKING:
    from assets.sources.reader import Copies, SourceFile
    from assets.sources.settings import ClusterSettings

TAKEN = TempTable(
    "health_whole",
    {
        "file_id": "integer", "line_number": "bigint", "node_name": "varchar", "check_name": "varchar",
        "check_type": "varchar", "result": "varchar", "result_quality": "varchar", "started_at": "timestamp",
        "observed_at": "timestamp", "job_id_raw": "bigint", "message": "varchar", "unchanged_since": "timestamp",
        "last_day": "date", "last_day_line": "bigint", "is_inside": "boolean", "is_odd": "boolean",
    },
)  # fmt: skip
"""The results that are kept, at least one of every file.

`last_day_line` is the line of the first result of the macro `last_day` or later; NULL for an unsorted file.
`is_inside` marks the results of the days before that come behind that line and are not kept, `is_odd` lines that are
read by lines."""

SCANNED = TempTable(
    "scanned_files", {"file_index": "bigint", "file_id": "integer", "line_count": "bigint", "max_odd_count": "double"}
)

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
    read = fill(
        "sources/health/whole_files.sql",
        earliest=times.literal(times.EARLIEST),
        noise_seconds=times.CLOCK_NOISE_SECONDS,
        is_implausible=times.is_implausible("observed_at"),
        max_object_size=2 * MAX_OBJECT_BYTES,
        max_lines_behind=MAX_LINES_BEHIND,
        subjects=SUBJECTS,
        counts_each=counts_each(cluster),
        paths="$paths",
    )
    _scan(con, logs, read)
    _note_odd_lines(con, logs)
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
    objects.unlink(missing_ok=True)
    path = copies.readable(file_id, file)
    if path is None:
        return None
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


def _note_odd_lines(con: duckdb.DuckDBPyConnection, logs: Mapping[int, _Log]) -> None:
    """Fill `odd_lines`. Files with an odd record, or too many odd lines, are read by lines as a whole."""
    found = con.execute("select file_id, list(line_number) from health_whole where is_odd group by all").fetchall()
    for file_id, numbers in found:
        _add_odd_lines(logs[file_id], numbers)
    odd = {file_id: logs[file_id].odd for file_id, _ in found}
    ODD_LINES.fill(con, [(file_id, *line) for file_id, lines in odd.items() for line in lines.texts.items()])
    con.execute(
        """
        create or replace temp table health_read_by_lines as
        select distinct file_id from odd_lines
        where case when line[1] in ('{', '[') then json_valid(line) else false end
        union
        select unnest($too_many)
        """,
        {"too_many": [file_id for file_id, lines in odd.items() if lines.are_too_many(logs[file_id].line_count)]},
    )
    for table in ("health_whole", "odd_lines"):
        con.execute(f"delete from {table} where file_id in (from health_read_by_lines)")


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
