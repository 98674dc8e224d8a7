"""The file for readers: their tables with types, constraints and comments, and nothing else."""

import dagster as dg
import duckdb
import pytest

from assets.warehouse import Warehouse
from orchestration import publish
from orchestration.home import Home
from orchestration.publication import reader_tables, write_publication
from orchestration.session import RefreshSession


@pytest.fixture
def working(tmp_path):
    path = tmp_path / "faultline.duckdb"
    with duckdb.connect(str(path)) as con:
        for schema in ("raw", "intermediate", "marts", "estimates", "ops"):
            con.execute(f"create schema {schema}")
            con.execute(f"create table {schema}.t_{schema} (a integer not null, b varchar[])")
            con.execute(f"insert into {schema}.t_{schema} select range, ['x', 'it''s'] from range(1000)")
        con.execute("comment on table marts.t_marts is 'What it''s for.'")
        con.execute("comment on column marts.t_marts.a is 'Number of it.'")
        yield con


def test_readers_get_their_tables_as_they_are(working, tmp_path):
    target = tmp_path / "publication.duckdb"
    target.write_bytes(b"left by a crash")
    target.with_name("publication.duckdb.wal").write_bytes(b"left by a crash as well")
    write_publication(working, target)
    with duckdb.connect(str(target), read_only=True) as con:
        tables = con.execute("select schema_name, table_name, comment from duckdb_tables() order by all").fetchall()
        assert tables == [
            ("estimates", "t_estimates", None),
            ("marts", "t_marts", "What it's for."),
            ("ops", "t_ops", None),
        ]
        columns = con.execute(
            "select column_name, data_type, is_nullable, comment from duckdb_columns() where table_name = 't_marts'"
        ).fetchall()
        assert columns == [("a", "INTEGER", False, "Number of it."), ("b", "VARCHAR[]", True, None)]
        assert con.execute("select count(*), sum(a), min(b[2]) from marts.t_marts").fetchone() == (1000, 499500, "it's")


def test_the_working_file_stays_current_and_whole(working, tmp_path):
    write_publication(working, tmp_path / "publication.duckdb")
    assert working.execute("select current_database()").fetchone() == ("faultline",)
    assert reader_tables(working) == ["estimates.t_estimates", "marts.t_marts", "ops.t_ops"]
    assert working.execute("select count(*) from raw.t_raw").fetchone() == (1000,)


def test_a_failure_leaves_no_file_attached(working, tmp_path):
    with pytest.raises(duckdb.IOException):
        write_publication(working, tmp_path / "nowhere" / "publication.duckdb")
    assert working.execute("select count(*) from duckdb_databases() where not internal").fetchone() == (1,)


def test_a_publication_that_cannot_be_written_does_not_count_as_one(tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home")
    warehouse = Warehouse(path=str(home.working_file))
    session = RefreshSession(working_file=str(home.working_file), lock_file=str(home.lock_file))

    def full(con, target):
        raise duckdb.IOException("could not write: no space left on device")

    monkeypatch.setattr(publish, "write_publication", full)
    upstream = dg.AssetSpec("report")
    asset = publish.published_asset(home, upstream.key)
    resources = {"warehouse": warehouse, "session": session}
    result = dg.materialize([upstream, asset], selection=[asset], resources=resources, raise_on_error=False)
    assert not result.success
    with warehouse.reading() as con:
        assert con.execute("select count(*) from ops.published").fetchone() == (0,)
        assert con.execute("select status from ops.runs").fetchall() == [("failed",)]
    assert not home.published_file.exists()
