"""Accounting exports taken apart: headers found, lines split with the header they stand under, odd lines decided."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from assets.sources.lines import REPLACEMENT
from assets.sources.python_rows import put
from assets.sources.reading import SourceError, Step
from assets.sources.sacct_layout import Layout, configured_layout, header_layout, require_columns
from assets.sources.sacct_records import OddLine, above_header, assemble
from assets.sources.sacct_sql import create_texts, fill_texts
from assets.sources.settings import ClusterSettings


def split_step(cluster: ClusterSettings) -> Step:
    """Give the step from `lines` to `sacct_texts` (records), `sacct_headers`, and `sacct_odd` (what is neither)."""

    def split(con: duckdb.DuckDBPyConnection) -> None:
        layouts = _find_headers(con, cluster)
        con.execute(create_texts())
        con.execute(
            """
            create or replace temp table sacct_odd_lines (
                file_id integer, line_number bigint, line varchar, layout_id integer
            )
            """
        )
        placed = _placed_lines(con)
        for layout_id, layout in enumerate(layouts):
            _split_with(con, placed, layout_id, layout)
        con.execute(
            f"""
            insert into sacct_odd_lines
            select file_id, line_number, line, -1 from {placed} where layout_id is null and not is_header
            """
        )
        _assemble_odd_lines(con, layouts)

    return split


def _find_headers(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> list[Layout]:
    """Fill `sacct_headers(file_id, line_number, layout_id)`; line 0 stands for a configured layout."""
    candidates = con.execute(
        """
        select lines.file_id, lines.line_number, lines.line, files.path
        from lines inner join batch_files as files on files.file_id = lines.file_id
        where contains(lines.line, 'JobID') and contains(lines.line, 'State')
        order by lines.file_id, lines.line_number
        """
    ).fetchall()
    layouts: dict[Layout, int] = {}
    found: list[tuple[int, int, int]] = []
    for file_id, line_number, line, path in candidates:
        layout = header_layout(line)
        if layout is not None:
            require_columns(layout, path)
            found.append((file_id, line_number, layouts.setdefault(layout, len(layouts))))
    headless = con.execute("select file_id, path from batch_files where dialect = 'configured_columns'").fetchall()
    configured = configured_layout(cluster)
    for file_id, path in headless:
        if configured is None:
            raise SourceError(path, "no_header: and no [sacct] columns in cluster.toml", "Name the columns there.")
        found.append((file_id, 0, layouts.setdefault(configured, len(layouts))))
    put(con, "sacct_headers", "file_id integer, line_number bigint, layout_id integer", found)
    return list(layouts)


def _placed_lines(con: duckdb.DuckDBPyConnection) -> str:
    """Give a query of the lines with the layout they stand under: NULL above a file's first header."""
    repeated = con.execute("select 1 from sacct_headers group by file_id having count(*) > 1 limit 1").fetchone()
    if repeated is None:
        return """(
            select
                lines.*,
                case when lines.line_number > headers.line_number then headers.layout_id end as layout_id,
                coalesce(lines.line_number = headers.line_number, false) as is_header
            from lines left join sacct_headers as headers on headers.file_id = lines.file_id
        )"""
    con.execute(
        """
        create or replace temp table sacct_placed as
        select
            lines.*,
            headers.layout_id,
            coalesce(lines.line_number = headers.line_number, false) as is_header
        from lines asof left join sacct_headers as headers
            on headers.file_id = lines.file_id and lines.line_number >= headers.line_number
        """
    )
    return "sacct_placed"


def _split_with(con: duckdb.DuckDBPyConnection, placed: str, layout_id: int, layout: Layout) -> None:
    """Take apart the lines under one layout; set aside those whose number of fields is another."""
    delimiter = layout.delimiter.replace("'", "''")
    fields = f"string_split(line, '{delimiter}')"
    under = f"layout_id = {layout_id} and not is_header"
    con.execute(
        f"""
        insert into sacct_odd_lines
        select file_id, line_number, line, {layout_id} from {placed}
        where {under} and (line is null or len({fields}) <> {len(layout.columns)})
        """
    )
    con.execute(
        fill_texts(
            layout,
            f"""
            select file_id, line_number, {fields} as f, contains(line, '{REPLACEMENT}') as has_bad_bytes
            from {placed} where {under} and len({fields}) = {len(layout.columns)}
            """,
        )
    )


def _assemble_odd_lines(con: duckdb.DuckDBPyConnection, layouts: Sequence[Layout]) -> None:
    """Join and repair the lines set aside; what stays odd is skipped or quarantined in `sacct_odd`."""
    rows = con.execute(
        """
        select
            odd.file_id, odd.line_number, odd.line, odd.layout_id,
            texts.file_id is not null as follows_record
        from sacct_odd_lines as odd
        left join sacct_texts as texts on texts.file_id = odd.file_id and texts.line_number = odd.line_number - 1
        order by odd.file_id, odd.line_number
        """
    ).fetchall()
    lines = [OddLine(*row) for row in rows]
    outcomes = [above_header(line) for line in lines if line.layout_id < 0]
    outcomes.extend(assemble((line for line in lines if line.layout_id >= 0), layouts))
    odd = [(o.file_id, o.line_number, o.skipped, o.quarantined, o.detail) for o in outcomes if o.fields is None]
    put(
        con,
        "sacct_odd",
        "file_id integer, line_number bigint, skipped varchar, quarantined varchar, detail varchar",
        odd,
    )
    for layout_id, layout in enumerate(layouts):
        repaired = [
            (o.file_id, o.line_number, o.fields) for o in outcomes if o.fields is not None and o.layout_id == layout_id
        ]
        if repaired:
            put(con, "sacct_repaired", "file_id integer, line_number bigint, f varchar[]", repaired)
            con.execute(
                fill_texts(
                    layout,
                    f"select *, contains(f::varchar, '{REPLACEMENT}') as has_bad_bytes from sacct_repaired",
                )
            )
