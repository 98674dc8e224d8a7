"""`faultline export`: Parquet and CSV that say what they are, whole or not at all."""

import hashlib
import json
import os
from pathlib import Path

import duckdb
import pytest

from assets.sql import identifier
from orchestration.read_commands import export as exporting
from orchestration.read_commands.export import export
from orchestration.read_commands.export_folder import CROISSANT, METADATA, UNFINISHED, ExportFolder
from orchestration.read_commands.published import ReadingError, published
from tests.homes import change, faultline


@pytest.fixture
def home(small_home):
    return small_home


@pytest.fixture
def folder(tmp_path):
    """Where to export to."""
    return tmp_path / "out"


def metadata_of(file):
    pairs = duckdb.execute("select decode(key), decode(value) from parquet_kv_metadata(?)", [str(file)]).fetchall()
    return {key.removeprefix("faultline."): value for key, value in pairs if key.startswith("faultline.")}


def _cast(name, kind):
    """Cast a text of CSV, in which all but plain values are JSON."""
    return f"{name}::json::{kind}" if kind.endswith(("[]", ")")) else f"{name}::{kind}"


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
    export(home.published_file, tmp_path / "out", ["dim_clusters"])
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


def test_an_export_that_fails_leaves_the_earlier_files_and_their_description(home, folder, monkeypatch):
    export(home.published_file, folder, ["fct_attempts", "dim_nodes"])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def no_space(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr(exporting, "describe", no_space)
    with pytest.raises(ReadingError, match="No space left"):
        export(home.published_file, folder, ["fct_attempts", "dim_clusters"])
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def files_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_place_that_cannot_be_replaced_is_found_before_anything_moves(home, folder):
    export(home.published_file, folder, ["fct_attempts", "dim_nodes"])
    (folder / "estimates").symlink_to(folder / "marts")
    before = files_of(folder)
    with pytest.raises(ReadingError, match="in a link"):
        export(home.published_file, folder, ["dim_nodes", "est_failure_rates"])
    (folder / "estimates").unlink()
    (folder / "estimates" / "est_failure_rates.parquet").mkdir(parents=True)
    with pytest.raises(ReadingError, match="is a folder"):
        export(home.published_file, folder, ["dim_nodes", "est_failure_rates"])
    assert files_of(folder) == before


def test_files_of_two_exports_have_no_description(home, folder, monkeypatch):
    export(home.published_file, folder, ["fct_attempts", "dim_nodes"])
    replace = Path.replace

    def fails(path, target):
        if path.name == "fct_attempts.parquet":
            raise OSError("the disk went away")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(ReadingError, match="went away"):
        export(home.published_file, folder, ["dim_nodes", "fct_attempts"])
    assert not (folder / CROISSANT).exists()


def test_two_exports_into_one_folder_do_not_meet(home, folder):
    with ExportFolder(folder, is_public=False).open(), pytest.raises(ReadingError, match=f"process {os.getpid()} of"):
        export(home.published_file, folder, ["dim_nodes"])
    export(home.published_file, folder, ["dim_nodes"])


def test_others_may_enter_a_public_export_alone(home, folder):
    export(home.published_file, folder, ["dim_clusters"])
    export(home.published_file, folder / "open", ["dim_clusters"], cluster_names=())
    assert [path.stat().st_mode & 0o77 for path in (folder, folder / "marts")] == [0, 0]
    assert all(path.stat().st_mode & 0o44 for path in (folder / "open", folder / "open" / "marts"))


def test_stderr_is_empty_where_it_is_no_terminal(home, folder):
    assert faultline(home, "export", folder, "--table", "dim_nodes").stderr == ""


def test_what_the_owner_states_is_checked_and_an_empty_text_states_nothing(home, folder):
    export_one = ("export", folder, "--table", "dim_nodes")
    for option, text in (("--url", "x y"), ("--url", "example.org"), ("--license", "our own terms")):
        assert faultline(home, *export_one, option, text).exit_code == 2, text
    assert faultline(home, *export_one, "--creator", " ", "--url", "", "--license", "CC-BY-4.0").exit_code == 0
    record = json.loads((folder / CROISSANT).read_text())
    assert record["license"] == "https://spdx.org/licenses/CC-BY-4.0"
    assert not {"creator", "url"} & record.keys()


def test_times_in_parquet_are_of_utc_whatever_the_zone_of_the_reader(home, tmp_path):
    export(home.published_file, tmp_path)
    listed = json.loads((tmp_path / METADATA).read_text())["tables"]
    checked = 0
    with duckdb.connect() as reader, published(home.published_file) as con:
        reader.execute("set timezone = 'America/New_York'")
        for table in listed:
            file = str(tmp_path / table["file"])
            for name, kind, *_ in reader.execute("describe from read_parquet(?)", [file]).fetchall():
                if kind.startswith("TIMESTAMP"):
                    assert kind == "TIMESTAMP WITH TIME ZONE", (table, name)
                    moments = f"select list_sort(list(epoch_us({identifier(name)}))) from"
                    expected = con.execute(f"{moments} {table['table']}").fetchall()
                    assert reader.execute(f"{moments} read_parquet(?)", [file]).fetchall() == expected, (table, name)
                    checked += expected[0][0] is not None
    assert checked > 10


def test_csv_gives_back_every_value_and_tells_null_from_an_empty_text(home, tmp_path):
    texts = "partition = '', qos = null, account = 'NULL', job_name = 'a, \"b\"\n', warnings = ['', null]"
    change(home, f"update marts.fct_attempts set {texts}")
    result = faultline(home, "export", tmp_path, "--format", "csv", "--license", "https://example.org/terms", "--json")
    assert result.exit_code == 0, result.output
    with published(home.published_file) as con, duckdb.connect() as reader:
        for table in json.loads(result.stdout):
            file = tmp_path / table["file"]
            assert hashlib.sha256(file.read_bytes()).hexdigest() == table["sha256"]
            columns = con.execute(f"describe {table['table']}").fetchall()
            values = ", ".join(_cast(identifier(name), kind) for name, kind, *_ in columns)
            reading = (
                "read_csv(?, all_varchar = true, allow_quoted_nulls = false, header = true, delim = ',', quote = '\"')"
            )
            found = reader.execute(f"select {values} from {reading} order by all", [str(file)]).fetchall()
            assert found == con.execute(f"from {table['table']} order by all").fetchall(), table
    assert json.loads((tmp_path / CROISSANT).read_text())["license"] == "https://example.org/terms"


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
