"""What the loading core and the readers hand each other is what `batch_tables` and the raw tables declare."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest

from assets.sources.batch_tables import (
    LINES,
    QUARANTINED_LINES,
    SKIPPED_LINES,
)
from assets.sources.formats import READERS
from assets.sources.intake.batch import carry_out
from assets.sources.reader import Batch, Reader
from assets.sources.temp_tables import TempTable
from tests.sources.batches import begin, cluster_of, connect

OF_THE_CORE = {"cluster_id", "path", "disposition", "node_id"}


def types(con: duckdb.DuckDBPyConnection, relation: str) -> dict[str, str]:
    """Return the columns of a table or query with their types."""
    rows = con.execute(f"select column_name, column_type from (describe from {relation})").fetchall()
    return {name.lower(): sql_type.lower() for name, sql_type in rows}


@pytest.mark.parametrize("kind", READERS)
def test_a_reader_leaves_the_columns_that_are_declared(kind: str) -> None:
    """The columns do not depend on the lines, so a batch without any shows them for all dialects."""
    con, reader = connect(), READERS[kind]
    begin(con, reader, [], [])
    plan = reader.plan_reading(Batch(cluster_of("Europe/Berlin"), frozenset(reader.DIALECTS)))
    carry_out(con, reader, plan)
    assert types(con, f"({plan.skipped})") == SKIPPED_LINES.columns
    assert types(con, f"({plan.quarantined})") == QUARANTINED_LINES.columns
    loaded, raw = types(con, f"({plan.loaded})"), types(con, f"raw.{reader.TABLE}")
    place = {name: LINES.columns[name] for name in ("file_id", "line_number")}
    assert {name: loaded.pop(name) for name in place} == place
    assert not OF_THE_CORE & loaded.keys()
    # DuckDB holds an enumeration in a byte while a batch is read; raw holds its text.
    assert {name: "varchar" if sql_type.startswith("enum") else sql_type for name, sql_type in loaded.items()} == {
        name: sql_type for name, sql_type in raw.items() if name in loaded
    }
    required = con.execute(
        "select column_name from duckdb_columns() where schema_name = 'raw' and table_name = ? and not is_nullable",
        [reader.TABLE],
    ).fetchall()
    assert {name for (name,) in required} <= loaded.keys() | OF_THE_CORE | place.keys()


@pytest.mark.parametrize("kind", READERS)
def test_a_reader_has_all_that_is_asked_of_one_and_names_columns_that_are_there(kind: str) -> None:
    reader = READERS[kind]
    assert [name for name in vars(Reader) if name[0] != "_" and not hasattr(reader, name)] == []
    rows, columns = reader.ROWS, types(connect(), f"raw.{reader.TABLE}")
    key = rows.export.key if rows.export else ()
    assert {*rows.free_texts, *key, *filter(None, [rows.time])} <= columns.keys()
    assert rows.may_lack_years == ("dated_by_file_at" in columns)


def test_rows_of_python_are_let_go_before_the_transaction_ends() -> None:
    """DuckDB would hold them until then if they were registered: of a large file, all rows."""
    con, table = connect(), TempTable("texts", {"text": "varchar"})
    con.begin()
    try:
        table.create(con)
        before = pa.total_allocated_bytes()
        for _ in range(5):
            table.add(con, [{"text": "x" * 1000}] * 1000)
        held = pa.total_allocated_bytes() - before
        assert held < 2_000_000, "five million bytes are all rows; the last ones may wait for Python to let them go"
        assert con.execute("select count(*) from texts").fetchall() == [(5000,)]
    finally:
        con.rollback()
