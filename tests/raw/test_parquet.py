"""Parquet for other engines: all tables that dbt reads, by cluster and date, and never half a table."""

import re

import duckdb
import pytest

from assets.raw import parquet
from assets.warehouse import TABLE_FILES, one_value
from orchestration.settings.home import DBT_PROJECT

SACCT = ("raw", "sacct", "cluster_id=testbed", "event_date=2026-11-21")


@pytest.fixture
def filled(testbed_home):
    """The raw tables of the genuine capture, which has no tickets."""
    with duckdb.connect(str(testbed_home.working_file), read_only=True) as con:
        yield con


def rows(con: duckdb.DuckDBPyConnection, table: str, folder) -> int:
    """Count the rows that only one side has; the partitions' columns come from the folders' names."""
    columns = ", ".join(name for name, *_ in con.execute(f"describe {table}").fetchall())
    files = f"read_parquet('{folder}/{table.replace('.', '/')}/**/*.parquet', hive_partitioning = true)"
    of_table, other = f"select {columns} from {table}", f"select {columns} from {files}"
    sql = f"select count(*) from (({of_table} except all {other}) union all ({other} except all {of_table}))"
    return one_value(con, sql)


def test_it_writes_all_that_dbt_reads():
    models = "".join(path.read_text() for path in (DBT_PROJECT / "models" / "staging").rglob("*.sql"))
    read = {".".join(pair) for pair in re.findall(r"source_table\('(\w+)', '(\w+)'\)", models)}
    assert read
    assert read <= {*parquet.DATED, *parquet.UNDATED, *parquet.WHOLE}


def test_every_date_is_certain():
    ddl = re.sub(r"--.*", "", TABLE_FILES[0].read_text())
    for table, column in parquet.DATED.items():
        body = ddl.split(f"create table if not exists {table} (")[1]
        assert re.search(rf"^\s+{column} timestamp not null", body, re.MULTILINE), table


def test_every_row_is_written_once_by_cluster_and_date_also_a_second_time(filled, tmp_path):
    first = parquet.export_tables(filled, tmp_path)
    (tmp_path / "raw" / "sacct" / "cluster_id=removed").mkdir()
    exported = parquet.export_tables(filled, tmp_path)
    assert exported == first
    assert {table.table: rows(filled, table.table, tmp_path) for table in exported} == {
        table.table: 0 for table in exported
    }
    dates = {path.relative_to(tmp_path).parts[:-1] for path in (tmp_path / "raw" / "sacct").rglob("*")}
    assert dates == {("raw", "sacct"), ("raw", "sacct", "cluster_id=testbed"), SACCT}
    assert [path.parent.name for path in (tmp_path / "raw" / "nodes").rglob("*.parquet")] == ["cluster_id=testbed"]
    assert filled.execute("select count(*) from raw.tickets").fetchone() == (0,)
    found = filled.execute(f"describe from read_parquet('{tmp_path}/raw/tickets/*.parquet')").fetchall()
    assert [row[0] for row in found] == [row[0] for row in filled.execute("describe raw.tickets").fetchall()]


def test_a_failed_export_leaves_the_table_as_it_was(filled, tmp_path, monkeypatch):
    parquet.export_tables(filled, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}

    def fails(con, table, folder):
        (folder / "half.parquet").write_bytes(b"PAR1")
        raise OSError("no space left on device")

    monkeypatch.setattr(parquet, "_write", fails)
    with pytest.raises(OSError, match="no space"):
        parquet.export_tables(filled, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
