"""What the report reads: one SQL file per frame over the finished tables, aggregated before it leaves DuckDB.

Numbers arrive as Python values, None for unknown. All that happens after SQL is drawing and wording.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from assets.rows import rows_of

Row = dict[str, Any]
Frames = Mapping[str, list[Row]]

SQL = Path(__file__).parent / "sql"


def read_frames(con: duckdb.DuckDBPyConnection) -> Frames:
    """Run every query and return its rows under the name of its file.

    A published file has no kernel messages: a query of a raw table that is not there gives no row.
    """
    known = {
        name for (name,) in con.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall()
    }
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(SQL.glob("*.sql"))}
    return {
        name: rows_of(con, text) if set(re.findall(r"\braw\.(\w+)", text)) <= known else []
        for name, text in texts.items()
    }


def tables_read() -> list[str]:
    """List the tables of marts and estimates that the queries name."""
    texts = [path.read_text(encoding="utf-8") for path in SQL.glob("*.sql")]
    return sorted({table for text in texts for table in re.findall(r"\b(?:marts|estimates)\.\w+", text)})


def of_cluster(frames: Frames, name: str, cluster_id: str) -> list[Row]:
    """Select one cluster's rows of a frame."""
    return [row for row in frames[name] if row["cluster_id"] == cluster_id]


def only_row(frames: Frames, name: str, cluster_id: str) -> Row:
    """Select the single row a cluster has in a frame, or an empty one."""
    return next(iter(of_cluster(frames, name, cluster_id)), {})
