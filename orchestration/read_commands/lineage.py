"""Where a number comes from, from table to table down to the input files.

`ops.lineage` has the columns of models. A table without entries there has no upstream table: raw tables come from
files, seeds from the code.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import duckdb

EDGES = "select table_name, column_name, upstream_table, upstream_column from ops.lineage order by all"
CONFIGURED = "select config_path from raw.clusters where config_path is not null order by config_path"
FILES = """
    select kind, cluster_id, path, lines_in, loaded from ops.files
    where status <> 'refused' order by kind, cluster_id, path
"""

Place = tuple[str, str]
"""A table and a column; an empty column stands for all of the table."""


@dataclass
class Lineage:
    """The lineage of a table or column.

    Attributes
    ----------
    asked
        `schema.table` or `schema.table.column`.
    edges
        Every step upstream: table, column, upstream table, upstream column; for a table, columns are empty.
    files
        The files behind the upstream raw tables, by raw table.
    """

    asked: str
    edges: list[tuple[str, str, str, str]]
    files: dict[str, list[str]] = field(default_factory=dict)

    def tree(self) -> list[str]:
        """Return the steps as lines of a tree; a repeated branch is drawn once."""
        above: dict[str, list[str]] = defaultdict(list)
        for table, column, upstream_table, upstream_column in self.edges:
            above[f"{table}.{column}".rstrip(".")].append(f"{upstream_table}.{upstream_column}".rstrip("."))
        lines: list[str] = []
        drawn: set[str] = set()

        def draw(name: str, depth: int) -> None:
            is_repeat = name in drawn and name in above
            lines.append(f"{'  ' * depth}{name}{'  (see above)' if is_repeat else ''}")
            if not is_repeat:
                drawn.add(name)
                for upstream in above.get(name, []):
                    draw(upstream, depth + 1)

        draw(self.asked, 0)
        return lines


def lineage(con: duckdb.DuckDBPyConnection, table: str, column: str = "") -> Lineage:
    """Return the lineage of a table, by `schema.table`, or of a column of it."""
    rows = con.execute(EDGES).fetchall()
    is_of_column = any(row[:2] == (table, column) for row in rows)
    upstream: dict[Place, list[Place]] = defaultdict(list)
    for of_table, of_column, from_table, from_column in rows:
        place, above = (of_table, of_column * is_of_column), (from_table, from_column * is_of_column)
        if above not in upstream[place]:
            upstream[place].append(above)
    if column and not is_of_column and (table, "") in upstream:
        # A row count has no upstream column: it depends on all upstream tables.
        upstream[table, column].append((table, ""))
    edges, waiting, seen = [], [(table, column)], {(table, column)}
    while waiting:
        place = waiting.pop(0)
        for above in upstream.get(place, ()):
            edges.append((*place, *above))
            if above not in seen:
                seen.add(above)
                waiting.append(above)
    return Lineage(f"{table}.{column}".rstrip("."), edges, _files_behind(con, {found for found, _ in seen}))


def _files_behind(con: duckdb.DuckDBPyConnection, tables: set[str]) -> dict[str, list[str]]:
    from assets.sources.formats import READERS

    kinds = {kind: f"raw.{reader.TABLE}" for kind, reader in READERS.items()}
    found: dict[str, list[str]] = defaultdict(list)
    for kind, _, path, lines_in, loaded in con.execute(FILES).fetchall():
        table = kinds.get(kind, "")
        if table in tables:
            found[table].append(f"{path} ({lines_in:,} lines, {loaded:,} loaded)")
    if "raw.clusters" in tables:
        found["raw.clusters"] = [path for (path,) in con.execute(CONFIGURED).fetchall()]
    return dict(found)
