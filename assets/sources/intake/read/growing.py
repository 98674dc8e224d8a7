"""Read a large file from where it grew, when its earlier bytes are as they were.

When a file is read, its reader names the line at which reading could go on (`ReadingPlan.resume_points`), and
`ops.resume_points` keeps it. If the file has only grown by the next refresh, that line and all later ones are written
to a file of their own and loaded like any other; the rows of the earlier lines stay. If the new lines may change what
was read of the earlier ones, the file is read whole (`MustBeReadWhole`). So the result is the same either way.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path

import duckdb

from assets.sources.batch_tables import RESUME_LINES
from assets.sources.intake.read.lines import CHUNK, inspect, is_compressed
from assets.sources.other_forms import translation_of
from assets.sources.reader import Reader, ReadingPlan, ResumePoint, SourceFile, TimedReader
from assets.sources.regular import open_regular, pieces
from assets.sql import fill

RESUMABLE_BYTES = 16 * 1024 * 1024
"""Smaller files are read whole, which takes no longer than finding where they could be read on."""
MAX_LINE_BYTES = 32 * 1024
"""Files with longer lines are read whole: how much of those is read depends on all of them (`lines`)."""
JUDGED_BY_NOW = ("implausible_time", "timestamp_in_future")
"""Reasons of quarantine that may no longer hold when the file is modified again."""


class MustBeReadWhole(Exception):
    """A file cannot be read from where it grew; the text says why."""


def hash_of_grown(path: Path, size_bytes: int, sha256: str) -> tuple[str, int] | None:
    """Return the hash and the size of a file; None unless its first `size_bytes` have the hash that is given."""
    digest, left, total = hashlib.sha256(), size_bytes, 0
    with open_regular(path) as stream:
        for piece in pieces(stream, CHUNK):
            total += len(piece)
            if left > 0:
                digest.update(piece[:left])
                if len(piece) >= left and digest.hexdigest() != sha256:
                    return None
                digest.update(piece[left:])
                left -= len(piece)
            else:
                digest.update(piece)
    return (digest.hexdigest(), total) if left <= 0 else None


def as_whole(file: SourceFile) -> SourceFile:
    """Return a file without its resume point, so that it is read whole."""
    content = inspect(file.absolute, file.path)
    return replace(
        file,
        resume=None,
        sha256=content.sha256,
        size_bytes=content.size_bytes or file.size_bytes,
        is_plain=content.is_plain,
        last_line_open=content.last_line_open,
        object_lines=content.object_lines,
    )


def write_tail(file: SourceFile, resume: ResumePoint, target: Path) -> SourceFile:
    """Write the new lines of a file that has grown to `target`, and return the file with its text there.

    Raises
    ------
    MustBeReadWhole
        Reading only the new lines would give other rows.
    """
    with open_regular(file.absolute) as stream, target.open("wb") as out:
        for _ in range(resume.lines_again):
            out.write(stream.readline(MAX_LINE_BYTES))
        stream.seek(resume.byte_offset)
        left = file.size_bytes - resume.byte_offset
        for piece in pieces(stream, CHUNK):
            text = piece[: max(left, 0)]
            left -= len(text)
            if _is_odd(text):
                raise MustBeReadWhole("odd bytes where it grew")
            out.write(text)
    if resume.left_out:
        _blank_lines(target, {line - resume.lines_before for line in resume.left_out})
    content = inspect(target, file.path)
    return replace(
        file,
        absolute=target,
        is_plain=content.is_plain,
        last_line_open=content.last_line_open,
        object_lines=content.object_lines,
    )


def _blank_lines(path: Path, numbers: Container[int]) -> None:
    """Overwrite some lines with blanks, so that the others keep their places."""
    with path.open("rb") as lines, path.with_suffix(".blanked").open("wb") as out:
        for number, line in enumerate(lines, start=1):
            text = line.removesuffix(b"\n")
            out.write(b" " * len(text) + line[len(text) :] if number in numbers else line)
    path.with_suffix(".blanked").replace(path)


def _is_odd(text: bytes) -> bool:
    """Tell whether a line may end with something else than a newline, or is so long that it would be cut."""
    if b"\r" in text or b"\0" in text:
        return True
    starts = range(0, len(text) - MAX_LINE_BYTES + 1, MAX_LINE_BYTES)
    return any(text.find(b"\n", start, start + MAX_LINE_BYTES) < 0 for start in starts)


def forget_lines_read_again(con: duckdb.DuckDBPyConnection, reader: Reader, file: SourceFile) -> None:
    """Delete the rows of lines that are read again, and the file's account, which `read_earlier` keeps."""
    con.execute(
        """
        create or replace temp table read_earlier as
        select cluster_id, path, line_number, left_out, skips, warnings, first_at, last_at
        from ops.files inner join ops.resume_points using (cluster_id, path) where cluster_id = ? and path = ?
        """,
        [*file.key],
    )
    con.execute(fill("sources/intake/read/forget_grown.sql", table=reader.TABLE))


def add_earlier_account(con: duckdb.DuckDBPyConnection, plan: ReadingPlan) -> None:
    """Add to the account of the only file of a batch what is known of the lines that were read earlier.

    Run when every line of the batch is accounted for. `ops.files` counts rows when the table is settled.
    """
    con.execute(fill("sources/intake/read/earlier_account.sql", found_anew=tuple(sorted(plan.warnings_of_rows))))


def require_agreement(con: duckdb.DuckDBPyConnection, reader: Reader, resume: ResumePoint) -> None:
    """Check that reading the whole file would give the same rows, and complete the times that it covers.

    Raises
    ------
    MustBeReadWhole
        The new lines depend on earlier ones, or are of moments before those that were read.
    """
    first, _last = reader.COVERS
    statement = fill("sources/intake/read/agreement.sql", table=reader.TABLE, first=first)
    ((can_go_on, earliest, times_follow),) = con.execute(statement).fetchall()
    if not can_go_on:
        raise MustBeReadWhole("lines where it grew depend on others")
    if resume.not_before is not None and earliest is not None and earliest < resume.not_before:
        raise MustBeReadWhole(f"it tells of {earliest}, which may change what was read of the days before")
    if not times_follow:
        raise MustBeReadWhole("its times do not follow those before")
    con.execute(
        """
        update ops.files set first_at = least(files.first_at, earlier.first_at)
        from read_earlier as earlier where files.cluster_id = earlier.cluster_id and files.path = earlier.path
        """
    )


def note_resume_points(
    con: duckdb.DuckDBPyConnection, reader: Reader, plan: ReadingPlan, files: Sequence[SourceFile]
) -> None:
    """Record from where the large files of a batch can be read when they grow."""
    RESUME_LINES.create(con)
    large = {file_id for file_id, file in enumerate(files) if file.size_bytes >= RESUMABLE_BYTES and _is_text(file)}
    large -= {file_id for file_id in large if _is_timed_or_translated(reader, files[file_id])}
    large -= {file_id for (file_id,) in con.execute("select distinct file_id from aside_lines").fetchall()}
    if plan.resume_points is None or not large:
        return
    RESUME_LINES.create_from(con, plan.resume_points)
    found = con.execute("from resume_lines where list_contains($large, file_id)", {"large": sorted(large)}).fetchall()
    for file_id, line_number, lines_again, not_before, left_out in found:
        file = files[file_id]
        before = file.resume.lines_before if file.resume else 0
        begins = _offset_of(file, line_number, lines_again)
        skips = _skips_before(con, file_id, line_number, left_out)
        if begins is None or skips is None:
            continue
        earlier = file.resume.left_out if file.resume else ()
        point = {
            "cluster_id": file.cluster_id,
            "path": file.path,
            "line_number": line_number + before,
            "left_out": sorted({*(line + before for line in left_out), *earlier}),
            "byte_offset": begins,
            "lines_again": lines_again,
            "not_before": not_before,
        }
        con.execute(
            """
            insert into ops.resume_points by name
            select
                $cluster_id as cluster_id, $path as path, $line_number as line_number, $byte_offset as byte_offset,
                $lines_again as lines_again, $not_before::timestamp as not_before,
                list_filter($left_out::bigint[], lambda line: line > $line_number) as left_out,
                $skips::map(varchar, bigint) as skips
            where not exists (
                from ops.quarantine where cluster_id = $cluster_id and path = $path and line_number < $line_number
                    and list_contains($judged_by_now, reason)
            )
            """,
            {**point, "skips": skips, "judged_by_now": JUDGED_BY_NOW},
        )


def _is_text(file: SourceFile) -> bool:
    return not is_compressed(file.absolute)


def _is_timed_or_translated(reader: Reader, file: SourceFile) -> bool:
    is_timed = isinstance(reader, TimedReader) and reader.is_timed_by_modification(file.path, file.dialect)
    return is_timed or translation_of(reader.KIND, file.dialect) is not None


def _offset_of(file: SourceFile, line_number: int, lines_again: int) -> int | None:
    """Return the offset of a line in the file; None if odd lines stand before it."""
    if line_number <= lines_again + 1 and file.resume is None:
        return None
    begins = _begin_of_lines(file.absolute, [lines_again + 1, line_number])
    if begins is None:
        return None
    first, last = begins
    offset = file.resume.byte_offset + last - first if file.resume else last
    return offset if offset <= file.size_bytes else None


def _begin_of_lines(path: Path, line_numbers: Sequence[int]) -> list[int] | None:
    """Return the offsets of lines, given in ascending order; None if a line before the last is odd or missing."""
    found: list[int] = []
    position, lines = 0, 1
    with open_regular(path) as stream:
        for piece in pieces(stream, CHUNK):
            is_odd, newlines = _is_odd(piece), piece.count(b"\n")
            while len(found) < len(line_numbers) and line_numbers[len(found)] <= lines + newlines:
                at = 0
                for _ in range(line_numbers[len(found)] - lines):
                    at = piece.find(b"\n", at) + 1
                found.append(position + at)
            if is_odd:
                return None
            if len(found) == len(line_numbers):
                return found
            position, lines = position + len(piece), lines + newlines
    return None


def _skips_before(
    con: duckdb.DuckDBPyConnection, file_id: int, line_number: int, left_out: list[int]
) -> dict[str, int] | None:
    """Count by reason the skipped lines before a line, and those in `left_out`.

    None if that cannot be found out: the reader only counted lines, and for several reasons.
    """
    where = "file_id = $file_id and (line_number < $line_number or list_contains($left_out::bigint[], line_number))"
    values = {"file_id": file_id, "line_number": line_number, "left_out": left_out}
    rows = con.execute(
        f"""
        select reason, count(*)
        from (
            select file_id, line_number, reason from skipped_lines
            union all
            select file_id, line_number, reason from skipped_aside
        )
        where {where}
        group by reason
        """,
        values,
    ).fetchall()
    skips: Counter[str] = Counter(dict(rows))
    counted = con.execute("select reason from counted_skips where file_id = $file_id", {"file_id": file_id}).fetchall()
    if len(counted) > 1:
        return None
    for (reason,) in counted:
        read_earlier = "(from earlier_lines anti join line_outcomes using (file_id, line_number))"
        accounted = f"(from line_outcomes union all {read_earlier})"
        ((others,),) = con.execute(f"select count(*) from {accounted} where {where}", values).fetchall()
        skips[reason] += line_number - 1 + len(left_out) - others
    earlier = con.execute("select reason, line_count from earlier_skips where file_id = $file_id", {"file_id": file_id})
    skips.update(dict(earlier.fetchall()))
    return {reason: count for reason, count in skips.items() if count}
