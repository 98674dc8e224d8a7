"""The asset in front of raw pulls what the schedule's run is to read, and notes in `ops.pulls` how that ended."""

from dataclasses import replace

import dagster as dg
import pytest

from assets.warehouse import Warehouse
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.pull.asset import pulls_asset
from orchestration.pull.clusters import clusters_to_pull


@pytest.fixture
def materialize(folder, slurm):
    (folder / "cluster.toml").write_text("[pull]\nfirst_days = 1\npause_seconds = 0\n")
    settings = HomeSettings(Home.at(folder.parents[1]))
    warehouse = Warehouse(path=str(settings.home.working_file))

    def materialize(*, is_pulling):
        asset = pulls_asset(replace(settings, is_pulling=is_pulling), clusters_to_pull(settings.home.sources))
        resources = {"warehouse": dg.ResourceDefinition.hardcoded_resource(warehouse)}
        assert dg.materialize([asset], resources=resources).success
        with warehouse.reading() as con:
            return con.execute("select cluster_id, status, reason, pulled_to is not null from ops.pulls").fetchall()

    return materialize


def test_a_run_of_the_schedule_pulls_and_a_refresh_that_has_pulled_takes_note(materialize, slurm):
    assert materialize(is_pulling=False) == [] and slurm.calls == []
    assert materialize(is_pulling=True) == [("c1", "pulled", None, True)]
    assert {"sacct", "sacctmgr", "scontrol", "squeue"} == {words[0] for words in slurm.calls}
    slurm.forget_calls()
    assert materialize(is_pulling=False) == [("c1", "pulled", None, True)] and slurm.calls == []


def test_a_run_of_the_schedule_obeys_no_file_that_others_may_write(materialize, slurm, folder):
    (folder / "cluster.toml").chmod(0o666)
    ((cluster, status, reason, _),) = materialize(is_pulling=True)
    assert (cluster, status, slurm.calls) == ("c1", "failed", []) and "[pull] is not obeyed" in reason


def test_a_pull_that_fails_does_not_fail_the_run(materialize, slurm):
    slurm.answer("sacct", "helpformat", "", stderr="sacct: error: no way\n", status=1)
    ((cluster, status, reason, _),) = materialize(is_pulling=True)
    assert (cluster, status) == ("c1", "failed") and "no way" in reason
