"""Read accounting exports as whole files with DuckDB's own reader of delimited text.

It reads lines that give one record of just as many fields as the header, which is the first line. Other lines, such as
a name with the delimiter in it or a record over two lines, are left to be read by lines, with the header; in their
places stand lines of nothing but delimiters. A file with another header or a carriage return in it, or with very many
such lines, is read by lines as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from assets.sources.batch_tables import ODD_LINES
from assets.sources.intake.read.clean_text import REPLACEMENT
from assets.sources.intake.read.odd_lines import BlockOfLines, scan_lines
from assets.sources.regular import open_regular
from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.distinct_values import FILE_VALUES, collect_values
from assets.sources.sacct.layout import Layout, field_expression, header_layout, no_texts, texts_of
from assets.sources.temp_tables import TempTable
from assets.sql import literal

if TYPE_CHECKING:
    from assets.sources.reader import Copies, SourceFile
    from assets.sources.settings import ClusterSettings

MAX_HEADER_BYTES = 65536
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
    """A file that may be read as a whole."""

    file_id: int
    path: Path
    layout: Layout
    line_count: int
    """Lines below the header."""
    odd: Mapping[int, str | None] = field(default_factory=dict)
    """The header and the odd lines by their numbers, if there are odd lines: `path` has nothing in their places."""

    @property
    def record_count(self) -> int:
        """Lines that should give a record each."""
        return self.line_count - max(0, len(self.odd) - 1)


def examine(file_id: int, path: Path, regular: Path) -> Export | None:
    """Find the header of a file that DuckDB can read, and its odd lines; None if it must be read by lines.

    Lines with the character that stands for bytes that were no text are odd as well.

    Parameters
    ----------
    file_id, path
        The file.
    regular
        Where its copy without odd lines is written, if it has any.
    """
    with open_regular(path) as stream:
        header = stream.readline(MAX_HEADER_BYTES)
        layout = header_layout(header.decode("utf-8", errors="replace").removeprefix("\ufeff").removesuffix("\n"))
        if layout is None or len(layout.delimiter) > 1 or len(header) == MAX_HEADER_BYTES:
            return None
        delimiter, delimiters = layout.delimiter.encode(), len(layout.columns) - 1

        def odd(block: BlockOfLines) -> Iterable[int] | None:
            places = {*block.without_count(delimiter, delimiters), *block.places_of(REPLACEMENT.encode())}
            is_second_header = any(header_layout(block[place].decode("utf-8", "replace")) for place in places)
            return None if is_second_header else sorted(places)

        scanned = scan_lines(stream, odd, lines_before=1)
    if scanned is None:
        return None
    if not scanned.spans:
        return Export(file_id, path, layout, scanned.line_count)
    scanned.copy_without(path, delimiter * delimiters, regular)
    scanned.odd.add(1, header.removesuffix(b"\n"))
    return Export(file_id, regular, layout, scanned.line_count, scanned.odd.texts)


def take(
    con: duckdb.DuckDBPyConnection, files: Mapping[int, SourceFile], cluster: ClusterSettings, copies: Copies
) -> None:
    """Read exports: collect their distinct values and the lines that are no attempts, and leave odd lines.

    The view `sacct_file_texts` gives their attempts. Reading a file again costs far less than keeping its texts.
    """
    FILE_VALUES.create(con)
    ASIDE_IN_FILES.create(con)
    con.execute(f"create or replace temp view sacct_file_texts as {no_texts()}")
    found_exports = [_examine_readable(file_id, file, copies) for file_id, file in files.items()]
    exports = sorted(filter(None, found_exports), key=lambda export: (export.layout.delimiter, export.layout.columns))
    while exports:
        counts = _collect(con, exports)
        irregular = [export for export in exports if counts.get(export.file_id, 0) != export.record_count]
        if not irregular:
            _account_for(con, exports)
            return
        for export in irregular:
            exports.remove(export)
            _copy_without_odd_lines(copies, export.file_id).unlink(missing_ok=True)


def _examine_readable(file_id: int, file: SourceFile, copies: Copies) -> Export | None:
    """Examine a file if DuckDB can read it as it is, else its clean copy."""
    path = copies.readable(file_id, file)
    if path is None:
        return None
    regular = _copy_without_odd_lines(copies, file_id)
    export = examine(file_id, path, regular)
    if export is None:
        regular.unlink(missing_ok=True)
    elif export.odd and not file.is_plain:
        path.unlink()
    return export


def _copy_without_odd_lines(copies: Copies, file_id: int) -> Path:
    return copies.folder / f"{file_id}.regular.txt"


def _collect(con: duckdb.DuckDBPyConnection, exports: list[Export]) -> dict[int, int]:
    """Put the distinct values of exports into `sacct_new_values`, and count the records of each.

    DuckDB leaves lines of other lengths out, so a file with a record for every line has no such line. A header among
    the records is not counted, as it has no numbers.
    """
    con.execute(
        f"""
        create or replace temp table sacct_new_values as
        {collect_values(_texts(exports, "ignore_errors = true"), _RECORD_COUNTS, _OTHERS)}
        """
    )
    ((counts,),) = con.execute("select record_counts from sacct_new_values").fetchall()
    return counts or {}


def _account_for(con: duckdb.DuckDBPyConnection, exports: list[Export]) -> None:
    """Fill `taken_files`, `sacct_file_values` and `sacct_aside_in_files`; make the views of attempts and of lines."""
    con.execute(
        "insert into taken_files select unnest($file_ids), unnest($counts) + 1",
        {"file_ids": [e.file_id for e in exports], "counts": [e.line_count for e in exports]},
    )
    ODD_LINES.fill(con, [(export.file_id, *line) for export in exports for line in export.odd.items()])
    con.execute("insert into sacct_file_values by name select * exclude (record_counts, others) from sacct_new_values")
    con.execute(
        """
        insert into sacct_aside_in_files
        select file_id, 1, 'header' from taken_files anti join odd_lines using (file_id)
        union all
        select unnest(others, recursive := true) from sacct_new_values
        """
    )
    has_others = bool(con.execute("from sacct_new_values where len(others) > 0").fetchall())
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
    reads (checked in tests with files larger than its parallel units), so a running number minus the number of lines in
    the files before gives the line. The placeholder of an odd line names no job, and is left out.
    """
    layout = exports[0].layout
    names = [f"c{place}" for place in range(1, len(layout.columns) + 1)]
    job = f"coalesce({field_expression(layout, 'JobID')}, {field_expression(layout, 'JobIDRaw')})"
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in names)
    paths = ", ".join(literal(str(export.path)) for export in exports)
    before = accumulate((export.line_count for export in exports), initial=0)
    places = ", ".join(
        f"({place}, {export.file_id}, {lines})"
        for place, (export, lines) in enumerate(zip(exports, before, strict=False))
    )
    return f"""
        select
            exports.file_id, scan.number - exports.lines_before + 1 as line_number, false as has_bad_bytes,
            {", ".join(names)}
        from (
            select file_index::integer as place, row_number() over () as number, {", ".join(names)}
            from read_csv(
                [{paths}], delim = {literal(layout.delimiter)}, quote = '', escape = '', header = false, skip = 1,
                columns = {{{columns}}}, auto_detect = false, hive_partitioning = false, {options}
            )
        ) as scan
        inner join (values {places}) as exports (place, file_id, lines_before) on exports.place = scan.place
        {f"where {job} is not null" if any(export.odd for export in exports) else ""}
    """
