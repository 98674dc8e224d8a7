"""Divide files into batches, and fill the tables of lines for a reader."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from assets.sources.batch_tables import BATCH_FILES, FILE_WARNINGS, TRANSLATED_ASIDE
from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.read.clean_text import BAD_BYTES, MAX_ODD_SHARE, ODD, SHORT_LINE
from assets.sources.intake.read.copies import write_copy
from assets.sources.intake.read.lines import MARK, MAX_LINE, NUMBERED_LINES, WINDOW, is_compressed, read_lines
from assets.sources.intake.read.translated import write_translated
from assets.sources.other_forms import translation_of
from assets.sources.reader import Copy, Reader, SourceFile
from assets.sources.settings import ClusterSettings
from assets.sql import fill
from assets.warehouse import one_value

MAX_BATCH_BYTES = 256 * 1024 * 1024
"""An accounting batch takes about four times its bytes in memory or in temporary files next to the warehouse."""
MAX_BATCH_FILES = 2000
TYPICAL_COMPRESSION = 10

CUT_LINES = "line_too_long"
"""Warning in `ops.files.warnings` on files in which a line was cut off, and the reason for such a line."""
LINE_TOO_LONG = (
    f"longer than {MAX_LINE // 1024**2} MiB, or one too many of lines that are longer than {WINDOW // 1024} KiB"
)


def estimated_text_bytes(file: SourceFile) -> int:
    """Return an estimate of the bytes of text in a file."""
    return file.size_bytes * (TYPICAL_COMPRESSION if is_compressed(file.absolute) else 1)


def batches(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    """Yield the files of one cluster in batches of limited bytes and number."""
    batch: list[SourceFile] = []
    total = 0
    for file in files:
        size = estimated_text_bytes(file)
        if batch and (total + size > MAX_BATCH_BYTES or len(batch) >= MAX_BATCH_FILES):
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += size
    if batch:
        yield batch


def scratch_folder(con: duckdb.DuckDBPyConnection) -> tempfile.TemporaryDirectory[str]:
    """Return a new temporary folder for copies, next to the warehouse file, where there is room for data."""
    path = one_value(con, "select path from duckdb_databases() where database_name = current_database()")
    target_folder = Path(path).parent if path else None
    return tempfile.TemporaryDirectory(prefix="reading-", dir=target_folder)


def read_batch_lines(
    con: duckdb.DuckDBPyConnection,
    cluster: ClusterSettings,
    reader: Reader,
    files: Sequence[SourceFile],
    scratch: Path,
) -> list[int]:
    """Fill `batch_files` and `lines`; return the ids of the files with lines to set aside.

    Parameters
    ----------
    con, cluster, reader, files
        The batch.
    scratch
        Folder for clean copies of files, which are removed afterwards.
    """
    made: dict[int, Copy] = {}
    aside: list[tuple[Any, ...]] = []

    def copies() -> Iterator[tuple[int, Path]]:
        """Yield a copy of each file that DuckDB cannot read in place, and remove the copy after it was read."""
        for file_id, file in others.items():
            target = scratch / f"{file_id}.txt"
            if (translation := translation_of(reader.KIND, file.dialect)) is not None:
                translated = write_translated(file, cluster, translation, target)
                made[file_id] = translated.copy
                aside.extend((file_id, *line) for line in translated.aside)
            else:
                made[file_id] = write_copy(file.absolute, target)
            yield file_id, target
            target.unlink()

    others = {
        file_id: file
        for file_id, file in enumerate(files)
        if not file.is_plain or translation_of(reader.KIND, file.dialect) is not None
    }
    try:
        in_place = {file_id: file.absolute for file_id, file in enumerate(files) if file_id not in others}
        read_lines(con, in_place, copies())
    except duckdb.InvalidInputException as error:
        names = ", ".join(file.path for file in files) if len(files) < 4 else f"one of {len(files)} files"
        first_line = str(error).splitlines()[0]
        wrong = SourceError(names, f"cannot be read as lines ({first_line})", "Look for a line of many megabytes.")
        raise SourceErrors([wrong]) from None
    cut = {file_id for file_id, copy in made.items() if copy.is_cut}
    damaged = [(file_id, BAD_BYTES) for file_id, copy in made.items() if copy.has_bad_bytes]
    damaged += [(file_id, CUT_LINES) for file_id, copy in made.items() if copy.has_cut_lines]
    about = [
        {
            "file_id": file_id,
            "cluster_id": cluster.cluster_id,
            "path": file.path,
            "dialect": file.dialect,
            "modified_at": file.modified_at,
            "timezone": cluster.settings.timezone,
            "last_line_open": made[file_id].last_line_open if file_id in made else file.last_line_open,
            "is_cut": file_id in cut,
            "sha256": file.sha256,
            "size_bytes": file.size_bytes,
            "text_sha256": made[file_id].text_sha256 if file_id in made else None,
            "text_bytes": made[file_id].text_bytes if file_id in made else None,
        }
        for file_id, file in enumerate(files)
    ]
    BATCH_FILES.create(con)
    BATCH_FILES.add(con, about)
    FILE_WARNINGS.fill(con, damaged)
    TRANSLATED_ASIDE.fill(con, aside)
    return sorted({*cut, *(file_id for file_id, *_ in damaged), *(file_id for file_id, *_ in aside)})


def set_lines_aside(con: duckdb.DuckDBPyConnection) -> None:
    """Withhold lines from the reader: cut off, set aside by a translation, last of an archive, or not text."""
    con.execute(
        fill(
            "sources/intake/read/aside_lines.sql",
            cut_lines=CUT_LINES,
            cut_detail=LINE_TOO_LONG,
            mark=MARK,
            bad_bytes=BAD_BYTES,
            odd=ODD,
            max_odd_share=MAX_ODD_SHARE,
            short=SHORT_LINE,
        )
    )
    con.execute(
        f"""
        create or replace temp view lines as
        select * from ({NUMBERED_LINES}) anti join aside_lines using (file_id, line_number)
        """
    )
