import threading
import time

import duckdb
import pytest

from assets.sources.formats import READERS
from assets.sources.intake import file_batches
from assets.sources.intake.read import batch_lines
from assets.sources.intake.read.side_by_side import jobs_at_once, run_side_by_side
from assets.sources.sacct import distinct_values
from assets.warehouse import create_raw_and_ops
from tests.logs import export, numbered
from tests.patience import PATIENCE_SECONDS
from tests.sources.folders import CAPTURE, load, load_results, make

READERS_AT_ONCE = 4


def warehouse(threads: int = READERS_AT_ONCE, path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(path, config={"threads": threads, "memory_limit": "64GiB"})
    con.execute("set timezone = 'UTC'")
    create_raw_and_ops(con)
    return con


def all_rows(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple]]:
    names = con.execute(
        "select schema_name || '.' || table_name from duckdb_tables() where schema_name in ('raw', 'ops') order by 1"
    ).fetchall()
    return {name: con.execute(f"select * from {name} order by all").fetchall() for (name,) in names}


def accounting(jobs: range, **values: str) -> str:
    return export(numbered(jobs, **values))


@pytest.mark.slow
def test_the_same_is_left_as_by_one_reader(tmp_path, monkeypatch):
    for path in CAPTURE.glob("testbed/*/*"):
        make(tmp_path, {f"testbed/{path.relative_to(CAPTURE / 'testbed')}": path.read_bytes()})
    for cluster, file_count in (("c1", 3), ("c2", 2)):
        for number in range(file_count):
            jobs = range(number * 20, number * 20 + 30)
            make(tmp_path, {f"{cluster}/sacct/{number}.txt": accounting(jobs, NodeList=f"node{number // 2:03}")})
    make(tmp_path, {"c2/sacct/odd.txt": b"no accounting\n"})
    monkeypatch.setattr(batch_lines, "MAX_BATCH_FILES", 1)
    alone = all_rows(load(tmp_path, warehouse(1), READERS))
    assert len(alone["raw.sacct"]) > (3 + 2) * 30
    con = load(tmp_path, warehouse(), READERS)
    assert all_rows(con) == alone
    assert all_rows(load(tmp_path, con, READERS, full=True)) == alone


def test_an_error_stops_the_other_jobs_and_keeps_what_was_committed(tmp_path):
    con = warehouse(2, str(tmp_path / "a.duckdb"))
    con.execute("create table kept (number integer)")
    begun, committed = threading.Event(), threading.Event()

    def commits(con: duckdb.DuckDBPyConnection) -> None:
        con.execute("insert into kept values (1)")
        committed.set()

    def endless(con: duckdb.DuckDBPyConnection) -> None:
        con.begin()
        con.execute("insert into kept values (2)")
        begun.set()
        con.execute("select count(*) from range(1_000_000_000_000) as a (i) where hash(i) = 1")

    def fails(con: duckdb.DuckDBPyConnection) -> None:
        begun.wait(PATIENCE_SECONDS)
        committed.wait(PATIENCE_SECONDS)
        raise ValueError("it failed")

    start = time.monotonic()
    with pytest.raises(ValueError, match="it failed"):
        run_side_by_side(con, [commits, endless, fails], lambda _: None)
    assert time.monotonic() - start < PATIENCE_SECONDS
    assert con.execute("from kept").fetchall() == [(1,)]
    con.execute("insert into kept values (3)")


@pytest.mark.parametrize(
    "threads, memory, expected",
    [(8, "16GiB", 8), (8, "2GB", 2), (8, "1GB", 1), (8, "500MB", 1), (1, "16GiB", 1), (4, "1TiB", 4)],
)
def test_there_are_as_many_readers_as_cores_and_memory_allow(threads, memory, expected):
    con = duckdb.connect(config={"threads": threads, "memory_limit": memory})
    assert jobs_at_once(con) == expected


def test_a_batch_that_lacks_memory_beside_others_is_read_alone(tmp_path, monkeypatch):
    names = ("a", "b", "c")
    folder = make(tmp_path, {f"c1/sacct/{name}.txt": accounting(range(3)) for name in names})
    original, con, failed = file_batches.load_batch, warehouse(), []

    def short_of_memory(given, cluster, reader, files, *others, **named):
        if given is not con and files[0].path.endswith("b.txt"):
            failed.append(files[0].path)
            raise duckdb.OutOfMemoryException("Out of Memory Error: could not allocate")
        original(given, cluster, reader, files, *others, **named)

    monkeypatch.setattr(batch_lines, "MAX_BATCH_FILES", 1)
    monkeypatch.setattr(file_batches, "load_batch", short_of_memory)
    result = load_results(folder, con)["sacct"]
    assert failed == ["c1/sacct/b.txt"]
    assert (result.files_read, result.files_refused, result.warnings) == (3, 0, [])
    assert con.execute("select count(*) from raw.sacct").fetchone() == (9,)


def test_node_lists_that_two_batches_keep_at_once_are_kept_once(tmp_path, monkeypatch):
    """Both expand the list before either commits, so neither sees the other's list."""
    together = threading.Barrier(2, timeout=PATIENCE_SECONDS)
    original = distinct_values._read_exclusions

    def meet_first(con, cluster):
        together.wait()
        original(con, cluster)

    monkeypatch.setattr(batch_lines, "MAX_BATCH_FILES", 1)
    monkeypatch.setattr(distinct_values, "_read_exclusions", meet_first)
    folder = make(tmp_path, {"c1/sacct/a.txt": accounting(range(9)), "c1/sacct/b.txt": accounting(range(20, 29))})
    con = load(folder, warehouse(2))
    assert con.execute("select node_list, count(*) from raw.node_lists group by all").fetchall() == [("node001", 1)]
    monkeypatch.setattr(distinct_values, "_read_exclusions", original)
    make(folder, {"c1/sacct/c.txt": accounting(range(40, 49))})
    load(folder, con)
    assert con.execute("select count(*) from raw.sacct").fetchone() == (27,)
