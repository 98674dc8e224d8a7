"""Which files make a batch, and the tables of their lines that a reader finds."""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterator, Sequence
from pathlib import Path

import duckdb

from assets.sources.batch_tables import BATCH_FILES, EARLIER_LINES, FILE_WARNINGS, TRANSLATED_ASIDE
from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.copies import write_copy
from assets.sources.intake.isolating import READER_ERROR, Aside
from assets.sources.intake.lines import NUMBERED_LINES, is_compressed, read_lines
from assets.sources.intake.long_lines import MARK, MAX_LINE, WINDOW
from assets.sources.intake.translated import write_translated
from assets.sources.reader import Reader, SourceFile, translation_of
from assets.sources.settings import ClusterSettings

MAX_BATCH_BYTES = 256 * 1024 * 1024
"""An accounting batch takes about four times its bytes of memory, or of temporary files beside the warehouse."""
MAX_BATCH_FILES = 2000
TYPICAL_COMPRESSION = 10


CUT_LINES = "line_too_long"
"""Beside the files in which a line was cut off, in `ops.files.warnings`."""
LINE_TOO_LONG = (
    f"longer than {MAX_LINE // 1024**2} MiB, or one too many of lines that are longer than {WINDOW // 1024} KiB"
)


def read_bytes(file: SourceFile) -> int:
    """Return about how many bytes are read of a file."""
    return file.size_bytes * (TYPICAL_COMPRESSION if is_compressed(file.absolute) else 1)


def batches(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    """Cut the files of one cluster into batches bounded by bytes and by count."""
    batch: list[SourceFile] = []
    total = 0
    for file in files:
        size = read_bytes(file)
        if batch and (total + size > MAX_BATCH_BYTES or len(batch) >= MAX_BATCH_FILES):
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += size
    if batch:
        yield batch


def scratch_folder(con: duckdb.DuckDBPyConnection) -> tempfile.TemporaryDirectory[str]:
    """Make a folder for copies beside the warehouse file, where there is room for data."""
    ((path,),) = con.execute("select path from duckdb_databases() where database_name = current_database()").fetchall()
    beside = Path(path).parent if path else None
    return tempfile.TemporaryDirectory(prefix="reading-", dir=beside)


def read_batch_lines(
    con: duckdb.DuckDBPyConnection,
    cluster: ClusterSettings,
    reader: Reader,
    files: Sequence[SourceFile],
    scratch: Path,
    *,
    taken: Container[int] = (),
) -> list[int]:
    """Fill `batch_files`, and `lines` but for files already taken; give the ids of those with lines to set aside."""
    paths: dict[int, Path] = {}
    cut, still_open, damaged, aside = [], [], [], []
    for file_id, file in enumerate(files):
        is_open = file.last_line_open
        translation = translation_of(reader, file.dialect)
        if file.is_plain and file_id not in taken and translation is None:
            paths[file_id] = file.absolute
        elif file_id not in taken:
            target = scratch / f"{file_id}.txt"
            if translation is None:
                copy = write_copy(file.absolute, target)
            else:
                translated = write_translated(file, cluster, translation, target)
                copy = translated.copy
                aside += [(file_id, *line) for line in translated.aside]
            paths[file_id], is_open = copy.path, copy.last_line_open
            if copy.is_cut:
                cut.append(file_id)
            if copy.has_bad_bytes:
                damaged.append((file_id, "bad_encoding"))
            if copy.has_cut_lines:
                damaged.append((file_id, CUT_LINES))
        still_open.append(is_open)
    try:
        read_lines(con, paths)
    except duckdb.InvalidInputException as error:
        names = ", ".join(file.path for file in files) if len(files) < 4 else f"one of {len(files)} files"
        first_line = str(error).splitlines()[0]
        wrong = SourceError(names, f"cannot be read as lines ({first_line})", "Look for a line of many megabytes.")
        raise SourceErrors([wrong]) from None
    about = [
        {
            "file_id": file_id,
            "cluster_id": cluster.cluster_id,
            "path": file.path,
            "dialect": file.dialect,
            "modified_at": file.modified_at,
            "timezone": cluster.settings.timezone,
            "last_line_open": is_open,
            "is_cut": file_id in cut,
            "sha256": file.sha256,
            "size_bytes": file.size_bytes,
            "lines_before": file.resume.lines_before if file.resume else 0,
        }
        for file_id, (file, is_open) in enumerate(zip(files, still_open, strict=True))
    ]
    BATCH_FILES.create(con)
    BATCH_FILES.add(con, about)
    FILE_WARNINGS.fill(con, damaged)
    TRANSLATED_ASIDE.fill(con, aside)
    EARLIER_LINES.fill(
        con,
        [(file_id, line) for file_id, file in enumerate(files) if file.resume for line in file.resume.earlier_lines],
    )
    with_cut_lines = (file_id for file_id, warning in damaged if warning == CUT_LINES)
    return sorted({*cut, *with_cut_lines, *(file_id for file_id, *_ in aside)})


def set_lines_aside(con: duckdb.DuckDBPyConnection, aside: Aside | None) -> None:
    """Hide from the reader: cut-off lines, those a translation set aside, the last of an archive, and failing lines.

    What a translation only skipped has no detail.
    """
    con.execute(
        """
        insert into aside_lines
        select lines.*, 'line_too_long', $detail
        from lines
        inner join file_warnings on file_warnings.file_id = lines.file_id and file_warnings.warning = $warning
        where ends_with(lines.line, $mark)
        """,
        {"detail": LINE_TOO_LONG, "warning": CUT_LINES, "mark": MARK},
    )
    con.execute(
        """
        insert into aside_lines
        select lines.*, aside.reason, aside.detail
        from (from lines anti join aside_lines using (file_id, line_number)) as lines
        inner join translated_aside as aside using (file_id, line_number)
        """
    )
    con.execute(
        """
        insert into aside_lines
        select lines.*, 'truncated_record', 'the archive is cut off here'
        from (from lines anti join aside_lines using (file_id, line_number)) as lines
        inner join batch_files on batch_files.file_id = lines.file_id and batch_files.is_cut
        inner join file_lines on file_lines.file_id = lines.file_id and file_lines.last_line = lines.line_number
        """
    )
    if aside is not None:
        con.execute(
            """
            insert into aside_lines
            select lines.*, $reason, map_extract_value($lines::map(bigint, varchar), line_number)
            from lines
            where (map_contains($lines::map(bigint, varchar), line_number) or line_number > $beyond)
                and (file_id, line_number) not in (select (file_id, line_number) from aside_lines)
            """,
            {"reason": READER_ERROR, "lines": dict(aside.lines), "beyond": aside.beyond},
        )
    con.execute(
        f"""
        create or replace temp view lines as
        select * from ({NUMBERED_LINES}) anti join aside_lines using (file_id, line_number)
        """
    )
