"""`faultline export`: Parquet and CSV with descriptions, complete or not at all."""

import hashlib
import json
from unittest.mock import Mock

import duckdb
import pytest

from assets.sql import identifier
from orchestration.read_commands import export as exporting
from orchestration.read_commands.export import export
from orchestration.read_commands.export_folder import CROISSANT, METADATA, UNFINISHED
from orchestration.read_commands.published import ReadingError, published
from tests.homes import ask, change, faultline


@pytest.fixture
def home(small_home):
    return small_home


@pytest.fixture
def folder(tmp_path):
    """The target of an export."""
    return tmp_path / "out"


def metadata_of(file):
    pairs = duckdb.execute("select decode(key), decode(value) from parquet_kv_metadata(?)", [str(file)]).fetchall()
    return {key.removeprefix("faultline."): value for key, value in pairs if key.startswith("faultline.")}


def _back(name, kind, form):
    """Cast written values to published ones: Parquet's moments, and CSV's texts, as JSON if not plain."""
    if form == "parquet":
        return f"{name} at time zone 'UTC'" if kind.startswith("TIMESTAMP") else name
    return f"{name}::json::{kind}" if kind.endswith(("[]", ")")) else f"{name}::{kind}"


READING = {
    "parquet": "read_parquet(?)",
    "csv": "read_csv(?, all_varchar = true, allow_quoted_nulls = false, header = true, delim = ',', quote = '\"')",
}


@pytest.mark.parametrize("form", ["parquet", pytest.param("csv", marks=pytest.mark.slow)])
def test_every_published_value_comes_back_in_any_zone_and_null_is_no_empty_text(home, tmp_path, form):
    texts = "partition = '', qos = null, account = 'NULL', job_name = 'a, \"b\"\n', warnings = ['', null]"
    change(home, f"update marts.fct_attempts set {texts}")
    folder = tmp_path / "it's here"
    result = faultline(home, "export", folder, "--format", form, "--json")
    listed = json.loads(result.stdout)
    assert (result.exit_code, result.stderr) == (0, "")
    assert {"marts.fct_attempts", "estimates.est_failure_rates", "ops.files"} <= {table["table"] for table in listed}
    with published(home.published_file) as con, duckdb.connect() as reader:
        reader.execute("set timezone = 'America/New_York'")
        for table in listed:
            file = folder / table["file"]
            assert hashlib.sha256(file.read_bytes()).hexdigest() == table["sha256"]
            columns = con.execute(f"describe {table['table']}").fetchall()
            values = ", ".join(f"{_back(identifier(name), kind, form)}" for name, kind, *_ in columns)
            found = reader.execute(f"select {values} from {READING[form]} order by all", [str(file)]).fetchall()
            assert found == con.execute(f"from {table['table']} order by all").fetchall(), table
            assert len(found) == table["row_count"]
    assert json.loads((folder / METADATA).read_text())["tables"] == listed
    assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_a_file_says_what_it_is_and_of_the_last_run_though_the_clock_was_set_back(home, tmp_path):
    change(
        home,
        "comment on column marts.fct_attempts.gpu_hours is 'GPU-hours: \"GPUs\" × hours, it''s a product'",
        "insert into ops.published values ('run-2', timestamp '2025-06-01', 'h', '0.2.0+def', '{}')",
    )
    export(home.published_file, tmp_path, ["fct_attempts"])
    found = metadata_of(tmp_path / "marts" / "fct_attempts.parquet")
    simulated = ask(home, "select cluster_id from marts.dim_clusters where is_simulated order by 1")
    assert [found["table"], found["run_id"], found["code_version"]] == ["marts.fct_attempts", "run-2", "0.2.0+def"]
    assert found["one_row_per"] == "attempt"
    assert json.loads(found["columns"])["gpu_hours"] == 'GPU-hours: "GPUs" × hours, it\'s a product'
    assert json.loads(found["simulated_clusters"]) == [cluster_id for (cluster_id,) in simulated]
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["fct_attempts.parquet"]


def test_an_export_deletes_the_files_of_the_one_before_that_it_does_not_have(home, folder):
    (folder / "marts").mkdir(parents=True)
    (folder / "marts" / "notes.txt").write_text("an analyst's own")
    export(home.published_file, folder, ["fct_attempts", "dim_nodes"])
    (folder / UNFINISHED / "marts").mkdir(parents=True)
    export(home.published_file, folder, ["dim_nodes"], file_format="csv")
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert found == [CROISSANT, METADATA, "marts/dim_nodes.csv", "marts/notes.txt"]
    record = json.loads((folder / CROISSANT).read_text())
    assert [file["contentUrl"] for file in record["distribution"]] == ["marts/dim_nodes.csv"]
    assert [record_set["@id"] for record_set in record["recordSet"]] == ["marts.dim_nodes"]


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_export_that_fails_leaves_the_earlier_files_and_their_description(home, folder, monkeypatch):
    export(home.published_file, folder, ["fct_attempts", "dim_nodes"])
    before = files_of(folder)
    monkeypatch.setattr(exporting, "describe", Mock(side_effect=OSError("No space left on device")))
    with pytest.raises(ReadingError, match="No space left"):
        export(home.published_file, folder, ["fct_attempts", "dim_clusters"])
    assert files_of(folder) == before


def test_others_may_enter_a_public_export_alone(home, folder):
    export(home.published_file, folder, ["dim_clusters"])
    export(home.published_file, folder / "open", ["dim_clusters"], cluster_names=())
    assert [path.stat().st_mode & 0o77 for path in (folder, folder / "marts")] == [0, 0]
    assert all(path.stat().st_mode & 0o44 for path in (folder / "open", folder / "open" / "marts"))


def test_queries_write_outside_of_the_folder_no_more_than_before(home, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    with published(home.published_file, writes_to=inside) as con:
        con.execute(f"copy (select 1 as x) to '{inside}/x.parquet'")
        with pytest.raises(duckdb.PermissionException):
            con.execute(f"copy (select 1 as x) to '{tmp_path}/x.parquet'")
