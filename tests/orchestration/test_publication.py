"""The published file has the readers' tables with types, constraints and comments, and no other tables."""

import shutil

import duckdb
import pytest

from assets.warehouse import Warehouse
from orchestration.publication import publish
from orchestration.publication.publish import complete_publication, row_counts


@pytest.fixture
def warehouse(tmp_path):
    """A working file, and a publication with a mart and an estimate."""
    warehouse = Warehouse(path=str(tmp_path / "faultline.duckdb"), publication=str(tmp_path / "publication.duckdb"))
    with warehouse.writing() as con:
        con.execute("create schema intermediate")
        for schema in ("intermediate", "marts", "estimates", "ops"):
            con.execute(f"create table {schema}.t_{schema} (a integer not null, b varchar[])")
            con.execute(f"insert into {schema}.t_{schema} select range, ['x', 'it''s'] from range(1000)")
        con.execute("create view publication.marts.v_marts as select a from marts.t_marts where a < 3")
        con.execute("comment on table marts.t_marts is 'What it''s for.'")
        con.execute("comment on column marts.t_marts.a is 'Number of it.'")
    return warehouse


def test_readers_get_their_tables_and_nothing_else(warehouse, tmp_path):
    with warehouse.writing() as con:
        complete_publication(con)
        expected = [*row_counts(con)]
    assert not (tmp_path / "publication.duckdb.wal").exists()
    with duckdb.connect(warehouse.publication, read_only=True) as con:
        names = con.execute("select table_schema || '.' || table_name from information_schema.tables").fetchall()
        assert sorted(name for (name,) in names) == expected
        assert {"estimates.t_estimates", "marts.t_marts", "ops.t_ops", "ops.runs", "raw.clusters"} < set(expected)
        assert not {"raw.sacct", "intermediate.t_intermediate"} & set(expected)
        assert con.execute("select comment from duckdb_tables() where table_name = 't_marts'").fetchall() == [
            ("What it's for.",)
        ]
        columns = con.execute(
            "select column_name, data_type, is_nullable, comment from duckdb_columns() where table_name = 't_marts'"
        ).fetchall()
        assert columns == [("a", "INTEGER", False, "Number of it."), ("b", "VARCHAR[]", True, None)]
        for table in ("marts.t_marts", "ops.t_ops"):
            assert con.execute(f"select count(*), sum(a), min(b[2]) from {table}").fetchone() == (1000, 499500, "it's")


def test_a_view_means_the_tables_of_its_own_file_whatever_that_is_called(warehouse, tmp_path):
    with warehouse.writing() as con:
        complete_publication(con)
        assert "marts.v_marts" in row_counts(con)
    copy = shutil.copy(warehouse.publication, tmp_path / "of_another_name.duckdb")
    with duckdb.connect(copy, read_only=True) as con:
        assert con.execute("select sum(a) from marts.v_marts").fetchone() == (3,)
    with duckdb.connect() as con:
        con.execute(f"attach '{copy}' as somewhere (read_only)")
        assert con.execute("select sum(a) from somewhere.marts.v_marts").fetchone() == (3,)


def test_a_failure_leaves_what_was_there(warehouse, monkeypatch):
    odd = ("faultline", "ops.nothing", "create table ops.x (a int)", False)
    with warehouse.writing() as con:
        complete_publication(con)
        con.execute("delete from ops.t_ops where a >= 10")
        complete_publication(con)
        con.execute("create table ops.u_ops as select 1 as a")
        monkeypatch.setattr(publish, "_added", lambda con: [odd])
        with pytest.raises(duckdb.CatalogException):
            complete_publication(con)
        assert con.execute("select count(*) from ops.u_ops").fetchone() == (1,)
    with duckdb.connect(warehouse.publication, read_only=True) as con:
        assert con.execute("select count(*) from ops.t_ops").fetchone() == (10,), "it was completed again"
