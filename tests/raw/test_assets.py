"""The raw assets as Dagster runs them, in this process: order, metadata, repeated runs, a clear message on failure."""

import shutil

import dagster as dg
import pytest

import assets.raw
from assets.raw.folder import SourcesFolder
from assets.sources.sacct import reader as sacct
from assets.warehouse import Warehouse
from tests.sources.folders import CAPTURE, violations

ASSETS = dg.load_assets_from_package_module(assets.raw)


@pytest.fixture
def home(tmp_path):
    shutil.copytree(CAPTURE / "testbed", tmp_path / "sources" / "testbed")
    return tmp_path


def materialize(home, full=False):
    warehouse = Warehouse(path=str(home / "faultline.duckdb"))
    sources = SourcesFolder(path=str(home / "sources"), privacy=str(home / "privacy.json"), full=full)
    return dg.materialize(ASSETS, resources={"warehouse": warehouse, "sources": sources}, raise_on_error=False)


def metadata(result, table):
    (found,) = [
        event.materialization for event in result.get_asset_materialization_events()
        if event.asset_key == dg.AssetKey(["raw", table])
    ]  # fmt: skip
    return {key: value.value for key, value in found.metadata.items()}


def test_every_table_is_loaded_and_accounted_for(home):
    result = materialize(home)
    assert metadata(result, "sacct") == {
        "dagster/row_count": 102, "files": 1, "files_read": 1, "files_removed": 0,
        "files_refused": 0, "files_vanished": 0, "lines_in": 338, "lines_loaded": 102, "lines_skipped": 236,
        "lines_quarantined": 0,
    }  # fmt: skip
    assert metadata(result, "clusters") == {"dagster/row_count": 1, "files": 7}
    assert metadata(result, "node_names") == {"dagster/row_count": 16, "unknown": 0}
    assert metadata(result, "tickets")["dagster/row_count"] == 0
    with Warehouse(path=str(home / "faultline.duckdb")).reading() as con:
        assert violations(con) == []
        assert con.execute("select distinct run_id from ops.files").fetchall() == [(result.run_id,)]


@pytest.mark.slow
def test_a_second_run_reads_nothing_and_a_full_one_everything(home):
    materialize(home)
    again = metadata(materialize(home), "sacct")
    assert (again["files_read"], again["lines_loaded"]) == (0, 102)
    assert metadata(materialize(home, full=True), "health_checks")["files_read"] == 1


def test_clusters_that_cannot_be_built_or_settled_are_recorded_with_the_reason_and_the_rest_goes_on(home, monkeypatch):
    for name in ("other", "third"):
        shutil.copytree(home / "sources/testbed", home / "sources" / name)
    (home / "sources/other/sacct/empty.psv").touch()
    (home / "sources/other/kernel/empty.log").touch()
    steps = ["select cast(gpu_count + 999 as tinyint) from raw.sacct where cluster_id = 'third'", *sacct.dispositions()]
    monkeypatch.setattr(sacct, "dispositions", lambda: steps)
    result = materialize(home)
    assert metadata(result, "sacct")["files_refused"] == 1
    with Warehouse(path=str(home / "faultline.duckdb")).reading() as con:
        assert violations(con) == []
        failures = "select run_id, cluster_id, stage, reason from ops.cluster_failures order by cluster_id"
        refused, not_settled = con.execute(failures).fetchall()
        assert refused == (
            result.run_id, "other", "sources", "other/sacct/empty.psv: empty file. Export it again or remove it."
        )  # fmt: skip
        assert not_settled[:3] == (result.run_id, "third", "sources")
        assert not_settled[3].startswith("third: its rows could not be settled (ConversionException: Conversion Error")
        assert "`faultline refresh --forget third/FILE --yes`" in not_settled[3]
        covered = con.execute("select distinct cluster_id from ops.spans").fetchall()
        assert ("testbed",) in covered
        assert ("third",) not in covered


def test_where_no_cluster_is_left_the_run_fails_with_all_that_is_wrong(home):
    (home / "sources/testbed/sacct/empty.psv").touch()
    (home / "sources/testbed/cluster.toml").write_text("timezone = 'Nowhere'\n")
    result = materialize(home)
    assert [event.step_key for event in result.all_events if event.is_step_failure] == ["raw"]
