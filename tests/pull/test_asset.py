"""A refresh pulls before it reads, and the asset in front of raw notes in `ops.pulls` how that ended."""

from types import SimpleNamespace

import dagster as dg
import pytest
from rich.console import Console

from assets.warehouse import Warehouse
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.pull.asset import pulls_asset
from orchestration.pull.clusters import clusters_to_pull
from orchestration.refresh import run


@pytest.fixture
def refresh(folder, slurm, monkeypatch):
    """Refresh, with the first asset as the only one."""
    (folder / "cluster.toml").write_text("[pull]\nfirst_days = 1\npause_seconds = 0\n")
    home = Home.at(folder.parents[1])
    warehouse = Warehouse(path=str(home.working_file))

    def build(*_):
        asset = pulls_asset(home, clusters_to_pull(home.sources))
        resources = {"warehouse": dg.ResourceDefinition.hardcoded_resource(warehouse)}
        assert dg.materialize([asset], resources=resources).success
        return SimpleNamespace()

    monkeypatch.setattr(run, "_refresh", build)

    def refresh(*, is_pulling):
        run.run_refresh(HomeSettings(home, is_pulling=is_pulling), Console(quiet=True))
        with warehouse.reading() as con:
            return con.execute("select cluster_id, status, reason, pulled_to is not null from ops.pulls").fetchall()

    return refresh


def test_a_refresh_pulls_unless_told_not_to_and_takes_note(refresh, slurm):
    assert refresh(is_pulling=False) == [] and slurm.calls == []
    assert refresh(is_pulling=True) == [("c1", "pulled", None, True)]
    assert {"sacct", "sacctmgr", "scontrol", "squeue"} == {words[0] for words in slurm.calls}
    slurm.forget_calls()
    assert refresh(is_pulling=False) == [("c1", "pulled", None, True)] and slurm.calls == []


def test_a_refresh_obeys_no_file_that_others_may_write(refresh, slurm, folder):
    (folder / "cluster.toml").chmod(0o666)
    ((cluster, status, reason, _),) = refresh(is_pulling=True)
    assert (cluster, status, slurm.calls) == ("c1", "failed", []) and "[pull] is not obeyed" in reason


def test_a_refresh_says_that_the_client_of_slurmrestd_is_gone(refresh, slurm, folder):
    (folder / "cluster.toml").write_text('[pull]\nvia = "slurmrestd"\nslurmrestd = "unix:///run/slurmrestd.socket"\n')
    ((cluster, status, reason, _),) = refresh(is_pulling=True)
    assert (cluster, status, slurm.calls) == ("c1", "failed", []) and '"slurmrestd" is gone' in reason


def test_a_pull_that_fails_does_not_fail_the_refresh(refresh, slurm):
    slurm.answer("sacct", "helpformat", "", stderr="sacct: error: no way\n", status=1)
    ((cluster, status, reason, _),) = refresh(is_pulling=True)
    assert (cluster, status) == ("c1", "failed") and "no way" in reason
