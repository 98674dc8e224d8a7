"""Which rows of the last publication are reused, and when none are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from assets.warehouse import Warehouse
from orchestration.dbt import reusable_rows
from orchestration.dbt.reusable_rows import forget_touched, forget_what_was_built, prepare_reuse
from orchestration.home import code_version

JOBS = 20
RECORD = """
    insert into raw.sacct by name
    select
        'c' as cluster_id, '{path}' as path, {job} as line_number, 'loaded' as disposition, '{job}' as job_id,
        {job} as job_id_raw, timestamp '2026-01-01' + {job} * interval 1 day as submitted_at,
        submitted_at as started_at, submitted_at + interval {hours} hour as ended_at, 'epoch' as time_quality,
        'COMPLETED' as state, 'COMPLETED' as state_raw, ['n1'] as node_ids, '{source}' as gpu_count_source,
        []::varchar[] as excluded_node_ids, []::varchar[] as warnings
"""
FILE = """
    insert into ops.files by name
    select
        'c' as cluster_id, '{path}' as path, 'x' as sha256, '{kind}' as kind, 'd' as dialect, 1 as lines_in,
        1 as loaded, 0 as skipped, 0 as quarantined, '{run}' as run_id, 1 as size_bytes,
        now()::timestamp as modified_at, false as is_partial, 'r' as reader, []::varchar[] as warnings
"""
NODE = """
    insert into raw.nodes by name
    select 'c' as cluster_id, 'n' as path, 1 as line_number, 'loaded' as disposition, 'n1' as node_name,
        'n1' as node_id, {gpus} as gpu_count, [] as partitions
"""
EARLIER_SNAPSHOT = """
    insert into raw.nodes by name
    select * replace ('earlier' as path, 'duplicate' as disposition, {gpus} as gpu_count, {cpus} as cpu_count)
    from raw.nodes
"""
CLUSTER = """
    insert into raw.clusters by name
    select '{cluster}' as cluster_id, false as is_simulated, 'UTC' as timezone, 8 as gpus_per_node,
        300 as attribution_before_seconds, 300 as attribution_after_seconds, [] as attribution_priority,
        true as runs_chain, 60 as runs_chain_gap_seconds, 60 as checkpoint_minutes, 5 as restart_minutes,
        1 as write_minutes, 28 as lemon_window_days, 90 as lemon_rate_days, '{{}}' as lemon_thresholds,
        0.1 as quarantine_max_share, '[]' as annotations
"""
RESULT = """
    insert into raw.health_checks by name
    select
        'c' as cluster_id, '{path}' as path, 1 as line_number, 'loaded' as disposition, '{node}' as node_name,
        'check pci' as check_name, 'OK' as result, 'ran' as result_quality, timestamp '{at}' as observed_at,
        [] as xid_codes
"""
BUILD = """
    create schema if not exists intermediate;
    create or replace table intermediate.int_node_boots as
    select 'c' as cluster_id, 'n1' as node_id, timestamp '2026-01-01' as booted_at;
    create or replace table intermediate.int_health_streams as
    select
        'c' as cluster_id, 'check pci' as check_stream, timestamp '2026-01-01' as check_first_failed_at,
        1800 as silence_seconds;
    create or replace table intermediate.int_nodes_used as select 'c' as cluster_id, date '2026-01-01' as day_date;
    create or replace table intermediate.int_jobs_chained as select 'c' as cluster_id, 'c:1:0' as job_key;
    create or replace table intermediate.int_het_jobs_sized as
    select 'c' as cluster_id, 'c:3:0' as attempt_id, 16 as job_gpu_count;
    create or replace table intermediate.int_attempts as
    select cluster_id, job_id_raw, started_at, ended_at, path as source_path, line_number as source_line_number
    from raw.sacct;
    create or replace table publication.marts.fct_attempt_records as from intermediate.int_attempts;
    create or replace table publication.marts.fct_failures as select 'c' as cluster_id, 'c:2:0' as attempt_id;
    create or replace view publication.marts.fct_job_runs as select * from publication.marts.fct_attempt_records;
    create or replace table publication.estimates.est_ettr_grid as select 1 as a;
"""


def publish(con: duckdb.DuckDBPyConnection, run: str) -> None:
    """Do what a build and the step that publishes leave behind."""
    con.execute(BUILD)
    con.execute("create schema if not exists publication.ops")
    con.execute(
        "insert into ops.published values (?, (select timestamp '2026-01-01' + count(*) * interval 1 day "
        "from ops.published), 'h', ?, '{}')",
        [run, code_version()],
    )
    con.execute("create or replace table publication.ops.published as from ops.published")


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models, two of them incremental."""
    path = tmp_path_factory.mktemp("dbt") / "manifest.json"
    models = {
        name: {"schema": schema, "alias": name, "config": {"materialized": how}}
        for schema, name, how in (
            ("marts", "fct_attempt_records", "incremental"),
            ("intermediate", "int_nodes_used", "incremental"),
            ("marts", "fct_failures", "table"),
        )
    }
    path.write_text(json.dumps({"nodes": models}), encoding="utf-8")
    return path


def warehouse_in(folder: Path) -> Warehouse:
    """Give the warehouse whose files are in a folder."""
    return Warehouse(path=str(folder / "faultline.duckdb"), publication=str(folder / "publication.duckdb"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, manifest: Path) -> Path:
    """A home's files after a publication of twenty jobs, one of a file and a day each; copy them, never change them."""
    folder = tmp_path_factory.mktemp("published")
    with warehouse_in(folder).writing() as con:
        con.execute(CLUSTER.format(cluster="c"))
        con.execute(NODE.format(gpus=8))
        con.execute("insert into raw.node_names values ('c', 'n1.site', 'n1')")
        for job in range(1, JOBS + 1):
            con.execute(RECORD.format(path=f"c/{job}", job=job, hours=30, source="tres"))
            con.execute(FILE.format(path=f"c/{job}", kind="sacct", run="first"))
        for day in (3, 4, 5):
            con.execute(RESULT.format(path=f"c/h{day}", node="n1", at=f"2026-01-0{day} 06:00"))
            con.execute(RESULT.format(path=f"c/h{day}", node="n9", at=f"2026-01-0{day} 07:00"))
            con.execute(FILE.format(path=f"c/h{day}", kind="health", run="first"))
        assert prepare_reuse(con, "first", manifest) == "no whole build before"
        publish(con, "first")
    return folder


@pytest.fixture
def con(published: Path, tmp_path: Path):
    """A copy of the home to change."""
    with warehouse_in(shutil.copytree(published, tmp_path / "home")).writing() as con:
        yield con


def tables(con: duckdb.DuckDBPyConnection, database: str) -> set[str]:
    """Name tables and views of a file."""
    rows = con.execute(
        "select table_schema || '.' || table_name from information_schema.tables where table_catalog = ?", [database]
    )
    return {name for (name,) in rows.fetchall()}


def touched(con: duckdb.DuckDBPyConnection) -> list[int]:
    """List the job ids that are to be worked out again."""
    return [job for (job,) in con.execute("select job_id_raw from touched.jobs order by 1").fetchall()]


def test_without_new_records_the_incremental_tables_stay_and_nothing_else(con, manifest):
    assert prepare_reuse(con, "second", manifest) is None
    assert tables(con, "publication") == {"marts.fct_attempt_records"}
    assert "intermediate.int_nodes_used" in tables(con, "faultline")
    assert touched(con) == []
    assert con.execute("select first_day < last_day from touched.days").fetchone() == (False,)
    assert con.execute("select count(*) from publication.marts.fct_attempt_records").fetchone() == (JOBS,)


def test_a_full_refresh_keeps_nothing(con, manifest):
    assert prepare_reuse(con, "second", manifest, is_full=True) == "a full refresh"
    assert "touched.jobs" not in tables(con, "faultline")


def test_jobs_of_new_changed_and_vanished_files_are_touched_on_the_days_they_ran_and_run(con, manifest):
    con.execute(RECORD.format(path="c/new", job=JOBS + 1, hours=1, source="tres"))
    con.execute(FILE.format(path="c/new", kind="sacct", run="second"))
    con.execute("delete from raw.sacct where path = 'c/19'; delete from ops.files where path = 'c/19'")
    con.execute("update raw.sacct set job_id_raw = 99 where path = 'c/20'")
    con.execute("update ops.files set run_id = 'second' where path = 'c/20'")
    assert prepare_reuse(con, "second", manifest) is None
    assert touched(con) == [19, 20, 21, 99]
    assert con.execute("select first_day::varchar, last_day::varchar from touched.days").fetchall() == [
        ("2026-01-20", "2026-01-22")
    ]
    assert con.execute("select job_key from touched.jobs_chained").fetchall() == [("c:1:0",)]
    assert con.execute("select attempt_id from touched.het_jobs_sized").fetchall() == [("c:3:0",)]
    forget_touched(con)
    assert "touched.jobs" not in tables(con, "faultline")


def test_a_repeat_touches_its_job(con, manifest):
    con.execute(RECORD.format(path="c/again", job=7, hours=30, source="tres"))
    con.execute("update raw.sacct set disposition = 'duplicate' where path = 'c/again'")
    con.execute(FILE.format(path="c/again", kind="sacct", run="second"))
    assert prepare_reuse(con, "second", manifest) is None
    assert touched(con) == [7]


@pytest.mark.parametrize(
    ("name", "jobs"),
    [("values ('c', 'n9', 'n9')", [7]), ("values ('c', 'n1.hpc', 'n1')", []), ("values ('d', 'n9', 'n9')", [])],
)
def test_a_node_that_is_known_only_now_touches_the_jobs_that_excluded_it(con, manifest, name, jobs):
    con.execute("update raw.sacct set excluded_node_ids = ['n1', 'n9'] where job_id_raw = 7")
    con.execute(f"insert into raw.node_names {name}")
    assert prepare_reuse(con, "second", manifest) is None
    assert touched(con) == jobs


@pytest.mark.parametrize(
    ("change", "first_at"),
    [
        ("", None),
        (
            RESULT.format(path="c/new", node="n1", at="2026-01-09")
            + ";"
            + FILE.format(path="c/new", kind="health", run="2"),
            9,
        ),
        ("delete from raw.health_checks where path = 'c/h4'; delete from ops.files where path = 'c/h4'", 4),
        ("update raw.health_checks set observed_at = '2026-01-08' where path = 'c/h5'", 5),
        ("update raw.health_checks set observed_at = '2026-01-02' where path = 'c/h5' and node_name = 'n1'", 2),
        ("update ops.files set run_id = 'second' where path = 'c/h5'", 5),
        ("insert into raw.node_names values ('c', 'n9', 'n9')", 3),
    ],
)
def test_results_are_followed_anew_from_the_first_that_came_or_went(con, manifest, change, first_at):
    con.execute(change)
    assert prepare_reuse(con, "second", manifest) is None
    found = con.execute("select day(first_at) from touched.health_checks").fetchall()
    assert found == ([(first_at,)] if first_at else [])
    assert (
        con.execute("from touched.node_boots").fetchall() == con.execute("from intermediate.int_node_boots").fetchall()
    )


LINES = 150_000
LARGE = f"""
    insert into raw.sacct by name
    select * exclude (number) replace ('c/large' as path, number as line_number, 100 + number as job_id_raw)
    from raw.sacct, range(1, {LINES} + 1) as lines (number) where job_id_raw = 1;
    insert into raw.health_checks by name
    select * exclude (number) replace (
        'c/many' as path, number as line_number, timestamp '2026-02-01' + number * interval 1 second as observed_at
    )
    from raw.health_checks, range(1, {LINES} + 1) as lines (number) where path = 'c/h3' and node_name = 'n1';
"""


def read_again(con: duckdb.DuckDBPyConnection, run: str) -> None:
    """Note that a run read both large files."""
    con.execute("delete from ops.files where path in ('c/large', 'c/many')")
    for path, kind in (("c/large", "sacct"), ("c/many", "health")):
        con.execute(FILE.format(path=path, kind=kind, run=run))
    con.execute(f"update ops.files set lines_in = {LINES} where path in ('c/large', 'c/many')")


@pytest.fixture(scope="module")
def published_large(published: Path, tmp_path_factory: pytest.TempPathFactory, manifest: Path) -> Path:
    """The same home after a publication of a large file of each kind as well; copy it, never change it."""
    folder = shutil.copytree(published, tmp_path_factory.mktemp("large") / "home")
    with warehouse_in(folder).writing() as con:
        con.execute(LARGE)
        read_again(con, "second")
        assert "records are new" in prepare_reuse(con, "second", manifest)
        publish(con, "second")
    return folder


@pytest.fixture
def large(published_large: Path, tmp_path: Path):
    """A copy of the home with the large files to change."""
    with warehouse_in(shutil.copytree(published_large, tmp_path / "home")).writing() as con:
        yield con


@pytest.mark.parametrize(
    ("change", "jobs", "first_line"),
    [
        ("", (), None),
        # What is in the last part, and what has been added to it.
        (
            f"insert into raw.sacct by name select * replace (line_number + 1 as line_number, 7_000_000 as job_id_raw) "
            f"from raw.sacct where job_id_raw = 100 + {LINES}",
            (*range(100 + 140_000, 100 + LINES + 1), 7_000_000),
            None,
        ),
        ("update raw.sacct set state = 'FAILED' where job_id_raw = 50_100", range(40_100, 60_100), None),
        ("delete from raw.sacct where job_id_raw > 140_099", range(140_100, 100 + LINES + 1), None),
        ("update raw.sacct set disposition = 'duplicate' where job_id_raw = 50_100", (), None),
        (
            "insert into raw.health_checks by name select * replace (line_number + 1 as line_number) "
            f"from raw.health_checks where line_number = {LINES}",
            (),
            140_000,
        ),
        ("update raw.health_checks set result = 'CRITICAL' where line_number = 30_000", (), 20_000),
        ("delete from raw.health_checks where line_number > 139_999", (), 140_000),
    ],
)
def test_of_a_large_file_only_the_parts_that_differ_are_worked_out_again(large, manifest, change, jobs, first_line):
    if change:
        large.execute(change)
    read_again(large, "third")
    assert prepare_reuse(large, "third", manifest) is None
    assert touched(large) == list(jobs)
    first = large.execute("select epoch(first_at - timestamp '2026-02-01') from touched.health_checks").fetchall()
    assert first == ([(first_line,)] if first_line else [])


def test_a_large_file_that_was_not_read_again_is_not_looked_at_again(large, manifest):
    large.execute("update raw.sacct set state = 'FAILED' where path = 'c/large'")
    assert prepare_reuse(large, "third", manifest) is None
    assert touched(large) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("update raw.clusters set runs_chain_gap_seconds = 61", "clusters"),
        ("update raw.nodes set gpu_count = 4", "nodes"),
        ("update raw.nodes set disposition = 'duplicate'", "nodes"),
        (EARLIER_SNAPSHOT.format(gpus=8, cpus=64), "nodes"),
        ("update raw.sacct set gpu_count_source = 'none' where job_id_raw = 1", "first gpus"),
        ("update raw.node_names set node_id = 'n2'", "node names"),
        ("delete from raw.node_names", "node names"),
        ("insert into raw.host_names values ('c', 'ip-1', 'n1', '2026-01-01', '2026-01-02')", "host names"),
        (EARLIER_SNAPSHOT.format(gpus=16, cpus="null"), "nodes"),
    ],
)
def test_all_is_built_anew_when_what_every_row_depends_on_is_another(con, manifest, change, reason):
    con.execute(change)
    assert prepare_reuse(con, "second", manifest) == f"other {reason} than in the last publication"
    assert "touched.jobs" not in tables(con, "faultline")
    assert "marts.fct_failures" in tables(con, "publication")


@pytest.mark.parametrize(
    "addition",
    [
        "insert into raw.node_names values ('c', 'n9', 'n9')",
        CLUSTER.format(cluster="d"),
        EARLIER_SNAPSHOT.format(gpus=4, cpus="null"),
        FILE.format(path="c/health", kind="health", run="second"),
    ],
)
def test_what_only_comes_to_it_changes_no_row_there_was(con, manifest, addition):
    con.execute(addition)
    assert prepare_reuse(con, "second", manifest) is None
    assert touched(con) == []


def test_all_is_built_anew_for_many_records(con, manifest):
    con.execute("update ops.files set run_id = 'second' where path in ('c/1', 'c/2', 'c/3', 'c/4', 'c/5')")
    assert prepare_reuse(con, "second", manifest) == "5 of 20 records are new"
    assert "touched.jobs" not in tables(con, "faultline")


def test_all_is_built_anew_by_another_version(con, manifest, monkeypatch):
    monkeypatch.setattr(reusable_rows, "code_version", lambda: "another")
    assert prepare_reuse(con, "second", manifest) == "another version of Faultline"


def test_intermediate_tables_are_dropped_when_all_is_built_anew(con, manifest):
    """For dbt a model is incremental where its table exists. No table stays of a model that is gone."""
    forget_what_was_built(con)
    assert prepare_reuse(con, "second", manifest) == "no whole build before"
    assert not [name for name in tables(con, "faultline") if name.startswith("intermediate.")]
    assert "marts.fct_attempt_records" in tables(con, "publication")


def test_all_is_built_anew_after_a_build_that_was_not_published(con, manifest):
    assert prepare_reuse(con, "second", manifest) is None
    assert prepare_reuse(con, "third", manifest) == "the last refresh published nothing"
    con.execute(BUILD)
    assert prepare_reuse(con, "fourth", manifest) == "the last refresh published nothing"
    publish(con, "fourth")
    assert prepare_reuse(con, "fifth", manifest) is None


def test_all_is_built_anew_into_a_file_that_is_not_the_last_publication(con, manifest):
    con.execute("delete from publication.ops.published")
    assert prepare_reuse(con, "second", manifest) == "the last refresh published nothing"


def test_all_is_built_anew_after_parts_were(con, manifest):
    forget_what_was_built(con)
    assert prepare_reuse(con, "second", manifest) == "no whole build before"
