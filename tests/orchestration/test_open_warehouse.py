"""The files of a run stay open between its steps, and no longer."""

import subprocess
import sys
from threading import Timer

import duckdb
import pytest

from assets.warehouse import HELD, OpenWarehouse, Warehouse
from tests.homes import held_open
from tests.patience import PATIENCE_SECONDS

OTHER_PROCESS = "import duckdb, sys; duckdb.connect(sys.argv[1]).execute('from raw.nodes')"


@pytest.mark.parametrize("held", ["path", "publication"])
@pytest.mark.parametrize("how", ["writing", "reading"])
def test_a_file_that_another_process_holds_is_tried_again_until_patience_ends(opened, monkeypatch, held, how):
    plain = Warehouse(path=opened.path, publication=opened.publication)
    with plain.writing():
        pass
    for warehouse in (plain, opened):
        with held_open(getattr(warehouse, held)) as holder:
            with pytest.raises(duckdb.IOException, match=f"{HELD}.*PID {holder.pid}"), getattr(warehouse, how)():
                pass
            monkeypatch.setattr("assets.warehouse.PATIENCE_SECONDS", PATIENCE_SECONDS)
            Timer(0.3, holder.kill).start()
            with getattr(warehouse, how)() as con:
                assert con.execute("select count(*) from raw.nodes").fetchall() == [(0,)]
            monkeypatch.undo()


@pytest.fixture
def opened(tmp_path):
    warehouse = OpenWarehouse(path=str(tmp_path / "w.duckdb"), publication=str(tmp_path / "p.duckdb"), threads=1)
    yield warehouse
    warehouse.close()


def is_free(warehouse):
    """Return whether another process may open the file."""
    done = subprocess.run([sys.executable, "-c", OTHER_PROCESS, warehouse.path], capture_output=True, check=False)
    return done.returncode == 0


def test_another_process_may_open_the_files_once_they_are_closed(opened):
    with opened.writing() as con:
        con.execute("create table raw.made as select 1 as n")
    assert not is_free(opened)
    for warehouse in (opened, Warehouse(path=opened.path)):  # The session of the run opens the working file as well.
        with warehouse.writing() as con:
            assert con.execute("from raw.made").fetchall() == [(1,)]
    assert not is_free(opened)
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
