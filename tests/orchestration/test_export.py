"""`faultline export`: Parquet that says what it is, whole or not at all."""

import json

import duckdb
import pytest

from orchestration.read_commands.export import METADATA, export
from orchestration.read_commands.published import ReadingError, published
from tests.homes import change


@pytest.fixture
def home(small_home):
    return small_home


def metadata_of(file):
    pairs = duckdb.execute("select decode(key), decode(value) from parquet_kv_metadata(?)", [str(file)]).fetchall()
    return {key.removeprefix("faultline."): value for key, value in pairs if key.startswith("faultline.")}


def test_every_published_table_is_written_with_its_rows(home, tmp_path, capsys):
    export(home.published_file, tmp_path / "it's here", as_json=True)
    listed = json.loads(capsys.readouterr().out)
    folder = tmp_path / "it's here"
    assert {"marts.fct_attempts", "marts.fct_job_runs", "estimates.est_failure_rates", "ops.files"} <= {
        table["table"] for table in listed
    }
    with published(home.published_file) as con:
        for table in listed:
            rows = con.execute(f"select count(*) from {table['table']}").fetchall()
            written = duckdb.execute("select count(*) from read_parquet(?)", [str(folder / table["file"])]).fetchall()
            assert rows == written == [(table["row_count"],)], table
    assert json.loads((folder / METADATA).read_text())["tables"] == listed
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_the_last_publication_counts_though_the_clock_was_set_back(home, tmp_path):
    change(home, "insert into ops.published values ('run-2', timestamp '2025-06-01', 'h', '0.2.0+def', '{}')")
    export(home.published_file, tmp_path / "out")
    assert json.loads((tmp_path / "out" / METADATA).read_text())["run_id"] == "run-2"


def test_a_file_says_what_it_is_and_of_which_run(home, tmp_path):
    change(home, "comment on column marts.fct_attempts.gpu_hours is 'GPU-hours: \"GPUs\" × hours, it''s a product'")
    export(home.published_file, tmp_path, ["fct_attempts"])
    found = metadata_of(tmp_path / "marts" / "fct_attempts.parquet")
    with published(home.published_file) as con:
        ((run_id, code_version),) = con.execute("select run_id, code_version from ops.published").fetchall()
        simulated = con.execute("select cluster_id from marts.dim_clusters where is_simulated").fetchall()
    assert [found["table"], found["run_id"], found["code_version"]] == ["marts.fct_attempts", run_id, code_version]
    assert found["one_row_per"] == "attempt"
    assert json.loads(found["columns"])["gpu_hours"] == 'GPU-hours: "GPUs" × hours, it\'s a product'
    assert json.loads(found["simulated_clusters"]) == sorted(cluster_id for (cluster_id,) in simulated)
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["fct_attempts.parquet"]


def test_a_second_export_replaces_the_first(home, tmp_path):
    (tmp_path / "marts").mkdir()
    (tmp_path / "marts" / "fct_attempts.parquet").write_text("an earlier one")
    export(home.published_file, tmp_path, ["marts.fct_attempts"])
    assert metadata_of(tmp_path / "marts" / "fct_attempts.parquet")["table"] == "marts.fct_attempts"


def test_what_cannot_be_written_is_told_in_a_line(home, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ReadingError, match="could not be written"):
        export(home.published_file, tmp_path / "file")
    with pytest.raises(ReadingError, match="`faultline tables` lists"):
        export(home.published_file, tmp_path, ["no_such_table"])


def test_queries_write_outside_of_the_folder_no_more_than_before(home, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    with published(home.published_file, writes_to=inside) as con:
        con.execute(f"copy (select 1 as x) to '{inside}/x.parquet'")
        with pytest.raises(duckdb.PermissionException):
            con.execute(f"copy (select 1 as x) to '{tmp_path}/x.parquet'")
