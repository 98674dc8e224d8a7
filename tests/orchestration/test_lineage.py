"""From a number to the files behind it."""

import duckdb
import pytest

from orchestration.read_commands.explain.answers import Answer
from orchestration.read_commands.lineage import lineage
from orchestration.read_commands.saying import lines_of

EDGES = [
    ("marts.fct_failures", "cause", "marts.fct_attempts", "state"),
    ("marts.fct_failures", "cause", "staging.stg_config__clusters", "timezone"),
    ("marts.fct_failures", "lost", "marts.fct_attempts", "hours"),
    ("marts.fct_attempts", "state", "raw.sacct", "state"),
    ("marts.fct_attempts", "hours", "raw.sacct", "elapsed_seconds"),
    ("staging.stg_config__clusters", "timezone", "raw.clusters", "timezone"),
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "faultline.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("create schema ops; create schema raw")
        con.execute(
            "create table ops.lineage (table_name text, column_name text, upstream_table text, upstream_column text)"
        )
        con.executemany("insert into ops.lineage values (?, ?, ?, ?)", EDGES)
        con.execute(
            "create table ops.files as select 'sacct' as kind, 'c' as cluster_id, 'c/sacct/' || i as path, "
            "10 as lines_in, 9 as loaded, 'read' as status from range(12) as r (i)"
        )
        con.execute("create table raw.clusters as select 'c/cluster.toml' as config_path")
    return path


def test_a_column_is_followed_to_its_files(file):
    with duckdb.connect(str(file), read_only=True) as con:
        found = lineage(con, "marts.fct_failures", "cause")
    assert found.asked == "marts.fct_failures.cause"
    assert ("marts.fct_attempts", "state", "raw.sacct", "state") in found.edges
    assert all("lost" not in edge for edge in found.edges)
    lines = lines_of("explain", answer=Answer("column", "title", [], lineage=found))
    assert lines[2:5] == ["marts.fct_failures.cause", "  marts.fct_attempts.state", "    raw.sacct.state"]
    assert "raw.sacct was read from 12 files:" in lines
    assert lines[-1] == "  and 2 more; --json lists all"
    assert "  c/cluster.toml" in lines


def test_a_table_is_followed_as_a_whole_and_a_count_of_rows_is_made_of_all_of_it(file):
    with duckdb.connect(str(file), read_only=True) as con:
        whole, counted = lineage(con, "marts.fct_failures"), lineage(con, "marts.fct_failures", "n")
    assert ("marts.fct_attempts", "", "raw.sacct", "") in whole.edges
    assert (len(whole.edges), len(whole.files["raw.sacct"])) == (4, 12)
    assert counted.edges[0] == ("marts.fct_failures", "n", "marts.fct_failures", "")
    assert set(counted.edges[1:]) == set(whole.edges)
    assert counted.files == whole.files
