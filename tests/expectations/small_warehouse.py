"""A few consistent rows in every table that has a suite: two clusters, eight attempts."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb

from tests.warehouses import create_tables, published_tables

ROWS = Path(__file__).parent / "rows"
SCRIPTS = ("raw.sql", "marts.sql", "estimates.sql", "lemons.sql")
"""In order: later rows are computed from earlier ones."""

SMALL_BLOCKS = {"default_block_size": "16384"}
"""Each table takes at least one block: with this size, the file to copy is a quarter as large."""


def build(path: Path) -> None:
    """Write the warehouse to a new file."""
    path.write_bytes(_built())


@cache
def _built() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "faultline.duckdb"
        with duckdb.connect(str(path), config=SMALL_BLOCKS) as con:
            _fill(con)
        return path.read_bytes()


def _fill(con: duckdb.DuckDBPyConnection) -> None:
    create_tables(con)
    for script in SCRIPTS:
        con.execute((ROWS / script).read_text(encoding="utf-8"))
    for table in published_tables():
        if table.startswith("estimates."):
            con.execute(
                f"update {table} set confidence_level = 0.9, method = 'garwood', method_version = '2', "
                "event_count = 1, exposure = 4 where method is null"
            )
