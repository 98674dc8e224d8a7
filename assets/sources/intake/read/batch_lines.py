"""Divide files into batches, and fill the tables of lines that a reader is given."""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from assets.sources.batch_tables import BATCH_FILES, EARLIER_LINES, FILE_WARNINGS, ODD_LINES, TRANSLATED_ASIDE
from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.read.clean_text import BAD_BYTES, MAX_ODD_SHARE, ODD, SHORT_LINE
from assets.sources.intake.read.copies import CopiesInFolder
from assets.sources.intake.read.lines import MARK, MAX_LINE, NUMBERED_LINES, WINDOW, is_compressed, read_lines
from assets.sources.intake.read.translated import write_translated
from assets.sources.other_forms import translation_of
from assets.sources.reader import Copy, Reader, SourceFile
from assets.sources.settings import ClusterSettings
from assets.sql import fill

MAX_BATCH_BYTES = 256 * 1024 * 1024
"""An accounting batch takes about four times its bytes of memory, or of temporary files beside the warehouse."""
MAX_BATCH_FILES = 2000
TYPICAL_COMPRESSION = 10

LINES_OF_BATCH = f"{NUMBERED_LINES} union all from odd_lines"
CUT_LINES = "line_too_long"
"""Beside the files in which a line was cut off, in `ops.files.warnings`, and the reason of such a line."""
READER_ERROR = "reader_error"
"""The reason with which a line is quarantined at which the reader failed."""
LINE_TOO_LONG = (
    f"longer than {MAX_LINE // 1024**2} MiB, or one too many of lines that are longer than {WINDOW // 1024} KiB"
)


@dataclass(frozen=True)
class Aside:
    """Lines that are kept from the reader, as it failed at them; the batch has one file."""

    lines: Mapping[int, str] = field(default_factory=dict)
    """The error at each."""
    beyond: int | None = None
    """In a trial, the reader sees no line after this one either."""


def estimated_text_bytes(file: SourceFile) -> int:
    """Estimate how many bytes of text a file holds."""
    return file.size_bytes * (TYPICAL_COMPRESSION if is_compressed(file.absolute) else 1)


def batches(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    """Divide the files of one cluster into batches, limited in bytes and in number."""
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
    """Make a folder for copies beside the warehouse file, where there is room for data."""
    ((path,),) = con.execute("select path from duckdb_databases() where database_name = current_database()").fetchall()
    target_folder = Path(path).parent if path else None
    return tempfile.TemporaryDirectory(prefix="reading-", dir=target_folder)


def read_batch_lines(
    con: duckdb.DuckDBPyConnection,
    cluster: ClusterSettings,
    reader: Reader,
    files: Sequence[SourceFile],
    copies: CopiesInFolder,
    *,
    taken: Container[int] = (),
) -> list[int]:
    """Fill `batch_files` and `lines`; return the ids of the files with lines to set aside.

    Parameters
    ----------
    con, cluster, reader, files
        The batch.
    copies
        Where clean copies of files are made; those of files that are read by lines are removed again.
    taken
        Ids of files that are read as a whole: of these `lines` has what is in `odd_lines`.
    """
    made, aside = _copies_of(cluster, reader, files, copies, taken)
    cut = {file_id for file_id, copy in made.items() if copy.is_cut}
    damaged = [(file_id, BAD_BYTES) for file_id, copy in made.items() if copy.has_bad_bytes]
    damaged += [(file_id, CUT_LINES) for file_id, copy in made.items() if copy.has_cut_lines]
    paths = {
        file_id: made[file_id].path if file_id in made else file.absolute
        for file_id, file in enumerate(files)
        if file_id not in taken
    }
    try:
        read_lines(con, paths)
    except duckdb.InvalidInputException as error:
        names = ", ".join(file.path for file in files) if len(files) < 4 else f"one of {len(files)} files"
        first_line = str(error).splitlines()[0]
        wrong = SourceError(names, f"cannot be read as lines ({first_line})", "Look for a line of many megabytes.")
        raise SourceErrors([wrong]) from None
    if not taken:
        ODD_LINES.create(con)
    con.execute(f"create or replace temp view lines as {LINES_OF_BATCH}")
    for file_id in paths.keys() & made.keys():
        paths[file_id].unlink()
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
            "text_sha256": copies.unpacked[file_id].sha256 if file_id in copies.unpacked else None,
            "text_bytes": copies.unpacked[file_id].size_bytes if file_id in copies.unpacked else None,
            "lines_before": file.resume.lines_before if file.resume else 0,
        }
        for file_id, file in enumerate(files)
    ]
    BATCH_FILES.create(con)
    BATCH_FILES.add(con, about)
    FILE_WARNINGS.fill(con, damaged)
    TRANSLATED_ASIDE.fill(con, aside)
    EARLIER_LINES.fill(
        con,
        [(file_id, line) for file_id, file in enumerate(files) if file.resume for line in file.resume.earlier_lines],
    )
    return sorted({*cut, *(file_id for file_id, *_ in damaged), *(file_id for file_id, *_ in aside)})


def _copies_of(
    cluster: ClusterSettings,
    reader: Reader,
    files: Sequence[SourceFile],
    copies: CopiesInFolder,
    taken: Container[int],
) -> tuple[dict[int, Copy], list[tuple[Any, ...]]]:
    """Write the copies that are read in place of files; return also the lines that translations set aside."""
    made: dict[int, Copy] = {}
    aside: list[tuple[Any, ...]] = []
    for file_id, file in enumerate(files):
        translation = translation_of(reader.KIND, file.dialect)
        if translation is not None:
            translated = write_translated(file, cluster, translation, copies.folder / f"{file_id}.txt")
            made[file_id] = translated.copy
            aside += [(file_id, *line) for line in translated.aside]
        elif file_id in taken and file_id in copies.written:
            made[file_id] = copies.written[file_id]
        elif file_id not in taken and not file.is_plain:
            made[file_id] = copies.copy_of(file_id, file.absolute)
    return made, aside


def set_lines_aside(con: duckdb.DuckDBPyConnection, aside: Aside | None) -> None:
    """Keep lines from the reader: cut off, set aside by a translation, last of an archive, no text, or failing."""
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
        select * from ({LINES_OF_BATCH}) anti join aside_lines using (file_id, line_number)
        """
    )
