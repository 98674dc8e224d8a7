"""The files of a run stay open from one step to the next, and no longer."""

import subprocess
import sys

import duckdb
import pytest

from assets.warehouse import OpenWarehouse, Warehouse

OTHER_PROCESS = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('from raw.nodes')"


@pytest.fixture
def opened(tmp_path):
    warehouse = OpenWarehouse(path=str(tmp_path / "w.duckdb"), publication=str(tmp_path / "p.duckdb"), threads=1)
    yield warehouse
    warehouse.close()


def is_free(warehouse):
    """Whether another process may open the file."""
    done = subprocess.run([sys.executable, "-c", OTHER_PROCESS, warehouse.path], capture_output=True, check=False)
    return done.returncode == 0


def test_another_process_may_open_the_files_once_they_are_closed(opened):
    with opened.writing() as con:
        con.execute("create table raw.made as select 1 as n")
    assert not is_free(opened)
    with opened.writing() as con:
        assert con.execute("from raw.made").fetchall() == [(1,)]
    opened.close()
    assert is_free(opened)
    with opened.reading() as con:
        assert con.execute("from raw.made").fetchall() == [(1,)]


def test_each_step_has_a_connection_of_its_own(opened):
    with opened.writing() as con:
        con.execute("create table estimates.made as select 1 as n; create temp table own as select 2 as n")
        con.execute("set search_path = 'w.ops'")
    with opened.writing() as con:
        assert con.execute("from made").fetchall() == [(1,)], "schemas of the publication are looked in"
        assert con.execute("select current_setting('TimeZone')").fetchall() == [("UTC",)]
        with pytest.raises(duckdb.CatalogException):
            con.execute("from own")


def test_what_a_failed_step_began_is_undone(opened):
    with pytest.raises(ZeroDivisionError), opened.writing() as con:
        con.begin()
        con.execute("create table raw.made as select 1 as n")
        raise ZeroDivisionError
    with opened.writing() as con:
        assert con.execute("select * from duckdb_tables() where table_name = 'made'").fetchall() == []


def test_files_that_cannot_be_opened_are_not_held(opened, tmp_path):
    (tmp_path / "p.duckdb").write_bytes(b"no database" * 1000)
    with pytest.raises(duckdb.Error), opened.writing():
        pass
    assert is_free(opened)
    (tmp_path / "p.duckdb").unlink()
    with opened.writing() as con:
        assert con.execute("select count(*) from raw.nodes").fetchall() == [(0,)]


def test_the_session_of_the_same_run_may_open_the_working_file_beside_it(opened):
    with opened.writing() as con:
        con.execute("create table raw.made as select 1 as n")
    with Warehouse(path=opened.path).writing() as con:
        assert con.execute("from raw.made").fetchall() == [(1,)]
    assert not is_free(opened)
