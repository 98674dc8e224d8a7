"""Read accounting exports by lines: find headers, split each line by the header above it, and repair odd lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import duckdb

from assets.sources.errors import SourceError
from assets.sources.intake.read.clean_text import REPLACEMENT
from assets.sources.other_forms import translations_of
from assets.sources.reader import Step
from assets.sources.sacct.layout import (
    CONFIGURED,
    Layout,
    configured_layout,
    header_layout,
    missing_columns,
    no_texts,
    outcome_expression,
    places_of_list,
    texts_of,
)
from assets.sources.sacct.odd_lines import OddLine, above_header, assemble
from assets.sources.sacct.record_lines import TRANSLATED
from assets.sources.settings import ClusterSettings
from assets.sources.temp_tables import TempTable
from assets.sql import fill, literal

MAX_LAYOUTS = 20
"""Most different headers in one file. Each costs a pass over all lines, and no real export has so many."""
LONG, MAX_DELIMITERS = 16 * 1024, 4096
"""A line that is longer and has more delimiters is not split: a record has a hundred fields."""
HEADERS = TempTable("sacct_headers", {"file_id": "integer", "line_number": "bigint", "layout_id": "integer"})
ODD = TempTable(
    "sacct_odd",
    {
        "file_id": "integer",
        "line_number": "bigint",
        "skipped": "varchar",
        "quarantined": "varchar",
        "detail": "varchar",
    },
)
REPAIRED = TempTable(
    "sacct_repaired", {"file_id": "integer", "line_number": "bigint", "layout_id": "integer", "f": "varchar[]"}
)


def split_step(cluster: ClusterSettings) -> Step:
    """Return the step that makes the view `sacct_texts` of the attempts in `lines`.

    It is a view because splitting a line again costs a tenth of storing its thirty texts in a table. Lines that are not
    attempts are in `sacct_aside(file_id, line_number, reason, layout_id)`: headers, steps, pending placeholders and odd
    lines. `sacct_odd` has the outcomes of odd lines, and `sacct_repaired` the attempts made from them.
    """

    def split(con: duckdb.DuckDBPyConnection) -> None:
        layouts = _find_headers(con, cluster)
        con.execute(
            """
            create or replace temp table sacct_aside as
            select file_id, line_number, 'header' as reason, layout_id from sacct_headers
            where line_number > 0 and layout_id is not null
            """
        )
        placed = _placed_lines(con)
        for layout_id, layout in enumerate(layouts):
            _set_aside(con, placed, layout_id, layout)
        con.execute(
            f"insert into sacct_aside select file_id, line_number, 'odd', -1 from {placed} where layout_id is null"
        )
        _assemble_odd_lines(con, layouts)
        _view_texts(con, "lines" if len(layouts) == 1 else placed, layouts)

    return split


def _find_headers(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> list[Layout]:
    """Fill `sacct_headers(file_id, line_number, layout_id)`; line 0 stands for a layout of settings or translations.

    A header gets no layout if it lacks columns that attempts need, or if the file has too many different headers. Then
    the lines under it are quarantined.
    """
    candidates = con.execute(
        """
        select file_id, line_number, line from lines
        where contains(line, 'JobID') and contains(line, 'State') order by file_id, line_number
        """
    ).fetchall()
    layouts: dict[Layout, int] = {}
    of_file: dict[int, set[Layout]] = defaultdict(set)
    found: list[tuple[int, int, int | None]] = []
    for file_id, line_number, line in candidates:
        layout = header_layout(line)
        if layout is not None:
            of_file[file_id].add(layout)
            is_usable = not missing_columns(layout) and len(of_file[file_id]) <= MAX_LAYOUTS
            layout_id = layouts.setdefault(layout, len(layouts)) if is_usable else None
            found.append((file_id, line_number, layout_id))
    fixed = {CONFIGURED: configured_layout(cluster), **dict.fromkeys(translations_of("sacct"), TRANSLATED)}
    for file_id, path, dialect in con.execute("select file_id, path, dialect from batch_files").fetchall():
        if dialect in fixed:
            layout = fixed[dialect]
            if layout is None:
                raise SourceError(path, "no_header: and no [sacct] columns in cluster.toml", "Name the columns there.")
            found.append((file_id, 0, layouts.setdefault(layout, len(layouts))))
    HEADERS.fill(con, found)
    return list(layouts)


def _placed_lines(con: duckdb.DuckDBPyConnection) -> str:
    """Return a query of the lines with their layout: NULL above the first header and below one without a layout."""
    con.execute(
        """
        create or replace temp table sacct_spans as
        select * from sacct_headers
        qualify layout_id is distinct from lag(layout_id) over (partition by file_id order by line_number)
        """
    )
    if not con.execute("select 1 from sacct_spans group by file_id having count(*) > 1 limit 1").fetchall():
        return """(
            select lines.*, case when lines.line_number >= spans.line_number then spans.layout_id end as layout_id
            from lines left join sacct_spans as spans on spans.file_id = lines.file_id
        )"""
    con.execute(
        """
        create or replace temp table sacct_placed as
        select lines.*, spans.layout_id
        from lines asof left join sacct_spans as spans
            on spans.file_id = lines.file_id and lines.line_number >= spans.line_number
        """
    )
    return "sacct_placed"


def _fields(layout: Layout) -> str:
    """Return SQL for the fields of a line; NULL for a long line with many, as DuckDB holds those of 2,048 lines."""
    delimiter = literal(layout.delimiter)
    return f"""case
        when strlen(line) <= {LONG} or strlen(line) - strlen(replace(line, {delimiter}, '')) <= {MAX_DELIMITERS}
            then string_split(line, {delimiter})
    end"""


def _set_aside(con: duckdb.DuckDBPyConnection, placed: str, layout_id: int, layout: Layout) -> None:
    """Set aside the lines under one layout that are not attempts or have another number of fields."""
    con.execute(
        fill(
            "sources/sacct/set_aside.sql",
            table=placed,
            layout_id=layout_id,
            fields=_fields(layout),
            places=places_of_list(layout),
            outcome=outcome_expression(layout),
            column_count=len(layout.columns),
        )
    )


def _view_texts(con: duckdb.DuckDBPyConnection, placed: str, layouts: Sequence[Layout]) -> None:
    """Make the view `sacct_texts` of the attempts on single lines and in `sacct_repaired`."""
    queries = []
    for layout_id, layout in enumerate(layouts):
        source = fill(
            "sources/sacct/fields_of_lines.sql",
            table=placed,
            under="true" if placed == "lines" else f"layout_id = {layout_id}",
            layout_id=layout_id,
            fields=_fields(layout),
            places=places_of_list(layout),
            replacement=REPLACEMENT,
        )
        queries.append(texts_of(layout, source))
    con.execute(f"create or replace temp view sacct_texts as {' union all '.join(queries) or no_texts()}")


def _assemble_odd_lines(con: duckdb.DuckDBPyConnection, layouts: Sequence[Layout]) -> None:
    """Join and repair odd lines: attempts go to `sacct_repaired`, the outcomes of other lines to `sacct_odd`."""
    con.execute(fill("sources/sacct/odd_places.sql"))
    rows = con.execute(
        """
        select file_id, line_number, lines.line, odd.layout_id, odd.follows_record
        from lines inner join sacct_odd_places as odd using (file_id, line_number)
        order by file_id, line_number
        """
    ).fetchall()
    lines = [OddLine(*row) for row in rows]
    outcomes = [above_header(line) for line in lines if line.layout_id < 0]
    outcomes.extend(assemble((line for line in lines if line.layout_id >= 0), layouts))
    odd = [(o.file_id, o.line_number, o.skipped, o.quarantined, o.detail) for o in outcomes if o.fields is None]
    ODD.fill(con, odd)
    repaired = [(o.file_id, o.line_number, o.layout_id, o.fields) for o in outcomes if o.fields is not None]
    REPAIRED.fill(con, repaired)
    for layout_id in {row[2] for row in repaired}:
        outcome, places = outcome_expression(layouts[layout_id]), places_of_list(layouts[layout_id])
        con.execute(
            fill("sources/sacct/repaired_outcomes.sql", layout_id=int(layout_id), outcome=outcome, places=places)
        )
    con.execute(
        """
        delete from sacct_repaired using sacct_aside as aside
        where aside.file_id = sacct_repaired.file_id and aside.line_number = sacct_repaired.line_number
            and aside.reason <> 'odd'
        """
    )
