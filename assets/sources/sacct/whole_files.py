"""Read regular accounting exports as whole files with DuckDB's own reader of delimited text.

An export is regular when its first line is the header and every line below it gives one record of just as many fields.
One irregular line, such as a name with the delimiter in it, a record over two lines, or another header, sends the whole
file to `lines`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from assets.sources.intake.lines import CHUNK, REPLACEMENT
from assets.sources.regular import open_regular, pieces
from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.fields import no_texts, texts_of
from assets.sources.sacct.layout import Layout, header_layout
from assets.sources.sacct.seen import SEEN_IN_FILES, seen_in
from assets.sources.sql.temp_tables import TempTable
from assets.sql import literal

if TYPE_CHECKING:
    from assets.sources.reader import SourceFile
    from assets.sources.settings import ClusterSettings

MAX_HEADER_CHARACTERS = 65536
STRICT = "strict_mode = true"
ASIDE_IN_FILES = TempTable("sacct_aside_in_files", {"file_id": "integer", "line_number": "bigint", "reason": "varchar"})
_NUMBERED = " and ".join(
    f"{text} >= '0' and {text} < ':'" for text in (f"coalesce({TEXTS['JobID']}, {TEXTS['JobIDRaw']})", TEXTS["Submit"])
)
_RECORD_COUNTS = f"histogram(file_id) filter ({_NUMBERED}) as record_counts"
_OTHERS = """
    list({'file_id': file_id, 'line_number': line_number, 'reason': left_out}) filter (left_out is not null) as others
"""


@dataclass(frozen=True)
class Export:
    """A file that may be regular."""

    file_id: int
    path: Path
    layout: Layout
    record_count: int
    """Lines below the header."""


def look_at(file_id: int, path: Path) -> Export | None:
    """Find the header and count the lines of a plain file; None if it must be read by lines.

    That is where lines end at carriage returns too, or hold the character that stands for bytes that were no text.
    """
    replacement = REPLACEMENT.encode()
    newlines, last = 0, b"\n"
    with open_regular(path) as stream:
        first = stream.readline(MAX_HEADER_CHARACTERS).decode("utf-8", errors="replace")
        layout = header_layout(first.removeprefix("\ufeff").removesuffix("\n"))
        if layout is None or len(layout.delimiter) > 1:
            return None
        for chunk in pieces(stream, CHUNK):
            # The first byte alone is found in a tenth of the time.
            is_replaced = replacement[:1] in chunk and replacement in chunk
            if b"\r" in chunk or is_replaced or replacement in last + chunk[:2]:
                return None
            newlines += chunk.count(b"\n")
            last = chunk[-2:]
    return Export(file_id, path, layout, newlines + (not last.endswith(b"\n")))


def take(con: duckdb.DuckDBPyConnection, files: Mapping[int, SourceFile], cluster: ClusterSettings) -> None:
    """Take the regular exports: note their distinct values and their lines that are no attempts.

    The view `sacct_file_texts` gives their attempts: reading a file again costs far less than keeping its texts.
    """
    SEEN_IN_FILES.create(con)
    ASIDE_IN_FILES.create(con)
    con.execute(f"create or replace temp view sacct_file_texts as {no_texts()}")
    found_exports = [look_at(file_id, file.absolute) for file_id, file in files.items() if file.is_plain]
    exports = sorted(filter(None, found_exports), key=lambda export: (export.layout.delimiter, export.layout.columns))
    while exports:
        counts = _see(con, exports, cluster.cluster_id)
        regular = [export for export in exports if counts.get(export.file_id, 0) == export.record_count]
        if len(regular) == len(exports):
            _note(con, exports)
            return
        exports = regular


def _see(con: duckdb.DuckDBPyConnection, exports: list[Export], cluster_id: str) -> dict[int, int]:
    """Put what the exports say into `sacct_seen_now`, and count the records of each.

    A line with other fields gives no record here, so a record for every line means that each gave one. A header among
    the records has no numbers where they have theirs.
    """
    con.execute(
        f"""
        create or replace temp table sacct_seen_now as
        {seen_in(_texts(exports, "ignore_errors = true"), _RECORD_COUNTS, _OTHERS)}
        """,
        {"cluster_id": cluster_id},
    )
    ((counts,),) = con.execute("select record_counts from sacct_seen_now").fetchall()
    return counts or {}


def _note(con: duckdb.DuckDBPyConnection, exports: list[Export]) -> None:
    """Fill `taken_files`, `sacct_seen_in_files` and `sacct_aside_in_files`; make the views of attempts and of lines."""
    con.execute(
        "insert into taken_files select unnest($file_ids), unnest($counts) + 1",
        {"file_ids": [e.file_id for e in exports], "counts": [e.record_count for e in exports]},
    )
    con.execute("insert into sacct_seen_in_files by name select * exclude (record_counts, others) from sacct_seen_now")
    con.execute(
        """
        insert into sacct_aside_in_files
        select file_id, 1, 'header' from taken_files
        union all
        select unnest(others, recursive := true) from sacct_seen_now
        """
    )
    has_others = bool(con.execute("from sacct_seen_now where len(others) > 0").fetchall())
    attempts = f"{_texts(exports)} {'where left_out is null' if has_others else ''}"
    con.execute(f"create or replace temp view sacct_file_texts as from {attempts}")
    lines = (
        f"select file_id, line_number, {_line(layout)} as line from ({_numbered(members)})"
        for layout, members in _by_layout(exports)
    )
    con.execute(f"create or replace temp view sacct_file_lines as {' union all '.join(lines)}")


def _by_layout(exports: list[Export]) -> Iterator[tuple[Layout, list[Export]]]:
    for layout, members in groupby(exports, key=lambda export: export.layout):
        yield layout, list(members)


def _texts(exports: list[Export], options: str = STRICT) -> str:
    """Return a query, in parentheses, of all records in the columns of `sacct_texts`."""
    queries = (texts_of(layout, _numbered(members, options)) for layout, members in _by_layout(exports))
    return f"({' union all '.join(queries)})"


def _line(layout: Layout) -> str:
    """Return SQL that puts a record's line together again."""
    fields = ", ".join(f"coalesce(c{place}, '')" for place in range(1, len(layout.columns) + 1))
    return f"array_to_string([{fields}], {literal(layout.delimiter)})"


def _numbered(exports: list[Export], options: str = STRICT) -> str:
    """Return the query of the records of exports of one layout by their places, with their places in the files.

    DuckDB keeps the order of a file list and of the lines in it, also where rows need no order as long as one thread
    reads (checked in tests with files larger than its parallel units), so a running number minus the number of records
    in the files before gives the line.
    """
    layout = exports[0].layout
    names = [f"c{place}" for place in range(1, len(layout.columns) + 1)]
    columns = ", ".join(f"'{name}': 'VARCHAR'" for name in names)
    paths = ", ".join(literal(str(export.path)) for export in exports)
    before = accumulate((export.record_count for export in exports), initial=0)
    places = ", ".join(
        f"({place}, {export.file_id}, {records})"
        for place, (export, records) in enumerate(zip(exports, before, strict=False))
    )
    return f"""
        select
            exports.file_id, scan.number - exports.records_before + 1 as line_number, false as has_bad_bytes,
            {", ".join(names)}
        from (
            select file_index::integer as place, row_number() over () as number, {", ".join(names)}
            from read_csv(
                [{paths}], delim = {literal(layout.delimiter)}, quote = '', escape = '', header = false, skip = 1,
                columns = {{{columns}}}, auto_detect = false, hive_partitioning = false, {options}
            )
        ) as scan
        inner join (values {places}) as exports (place, file_id, records_before) on exports.place = scan.place
    """
