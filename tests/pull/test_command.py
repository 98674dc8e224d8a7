"""`faultline pull` as a user runs it, here and over ssh, and what a refresh and the doctor say about the last pull."""

import json
import subprocess
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import dagster as dg
import pytest

from assets.warehouse import Warehouse
from orchestration.doctor.pulls import pull_findings
from orchestration.doctor.sources import sources_findings
from orchestration.lifecycle.pulls import pulls_asset
from orchestration.lifecycle.resources import resources
from orchestration.lifecycle.session import Caller
from orchestration.pull.clusters import clusters_to_pull
from orchestration.pull.outcomes import REASON_WITH_NAMES, Pulled, keep_outcome, last_outcome, record_pulls
from orchestration.refresh import run as refreshing
from orchestration.runs.jobs import COMMAND, Everything
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from tests.homes import faultline

DOWN = {"kind": "sacct", "what": "down", "next_step": "start it"}
FAILED = Pulled("c1", "failed", "2026-03-05T12:00:00+00:00", "2026-03-04T02:00:00+00:00", {}, [DOWN])
ODD = 'it\'s $(touch pwned); `id` "x" | & * ~'


@pytest.fixture
def home(folder):
    (folder / "cluster.toml").write_text('timezone = "UTC"\n[pull]\nfirst_days = 2\n')
    return Home.at(folder.parents[1])


@pytest.fixture
def run(home):
    return lambda *arguments: faultline(home, "pull", *arguments)


def test_all_clusters_with_the_table_are_pulled_and_what_failed_is_on_stderr(slurm, run, home):
    (home.sources / "c2").mkdir()
    done = run()
    assert done.exit_code == 0 and "c1 sacct     3 asked, 0 records, 0 written\n" in done.stdout
    assert list(clusters_to_pull(home.sources)) == ["c1"] and last_outcome(home, "c1").is_whole
    slurm.answer("sacct", "helpformat", "", stderr="sacct: error: no way\n", status=1)
    done = run("--json")
    assert done.exit_code == 1 and json.loads(done.stdout)[0]["problems"][0]["kind"] == "sacct"
    assert "faultline: c1 sacct: sacct: error: no way (sacct, exit status 1); see that slurmdbd" in done.stderr


def test_a_dry_run_prints_what_a_run_over_ssh_then_makes_whatever_is_in_the_words(slurm, run, home):
    table = 'ssh = "alice@login1"\nssh_options = ["-i", "/etc/a key"]\nprefix = ["env", '
    (home.sources / "c1" / "cluster.toml").write_text(f"[pull]\n{table}{json.dumps(f'ODD={ODD}')}]\n")
    slurm.answer("sacct", "2026-03-01", 'printf %s "$ODD" > "$FAKE_SLURM/odd"\n', part=".run")
    printed = run("--dry-run", "--until", "2026-03-05", "--since", "2026-03-01").stdout
    assert slurm.calls == [] and run("--until", "2026-03-05", "--since", "2026-03-01").exit_code == 0
    ran = slurm.calls
    assert (slurm.folder / "odd").read_text() == ODD and len(ran) == 20
    subprocess.run(["bash", "-c", printed], check=True, capture_output=True)
    assert slurm.calls == ran and "\x1f" not in printed and not Path("pwned").exists()
    assert ran[0][:2] == ["ssh", "-T"] and ran[0][-5:-1] == ["-i", "/etc/a key", "--", "alice@login1"]


@pytest.mark.parametrize("arguments", [[], ["c1"], ["--dry-run"], ["c1", "--ssh", "login1"]])
def test_a_file_that_others_may_write_is_not_obeyed(slurm, run, home, arguments):
    file = home.sources / "c1" / "cluster.toml"
    file.chmod(0o664)
    result = run(*arguments)
    assert result.exit_code == 1 and slurm.calls == []
    (found,) = [finding for finding in sources_findings(home.sources) if "obeyed" in finding.what]
    assert found.what.startswith(f"[pull] is not obeyed: others may write {file} (mode 0664)")
    assert found.what in result.stderr and found.next_step.endswith(f"chmod go-w {file}")
    file.write_text("gpus_per_node = 4\n")
    assert "add a line `[pull]` to its cluster.toml" in run().stderr
    # A pull that reads no setting of the file needs no trust.
    assert run("c1", "--since", "1d").exit_code == 0 and slurm.calls


WRONG = {
    "c9": "there is no folder",
    "../c1": "is no name of a cluster",
    "--since yesterday": "--since is a day such as 2026-01-31",
    "c1 --ssh -oProxyCommand=id": "--ssh cannot be '-oProxyCommand=id'",
    "--out x": "--out needs the name of a cluster",
}


@pytest.mark.parametrize(("arguments", "expected"), WRONG.items())
def test_wrong_usage_is_refused(slurm, run, arguments, expected):
    done = run(*arguments.split())
    assert done.exit_code in {1, 2} and expected in done.output and slurm.calls == []


def test_another_folder_and_a_host_that_cannot_be_reached_which_ends_the_pull(slurm, run, home, tmp_path):
    done = run("new", "--out", str(tmp_path / "out"), "--ssh", "login1", "--since", "2d")
    assert done.exit_code == 0 and last_outcome(home, "new") is None and slurm.calls[0][0] == "ssh"
    assert [path.name[:7] for path in (tmp_path / "out" / "inventory").iterdir()] == ["pulled-"]
    (slurm.folder / "ssh.run").write_text("echo 'ssh: No route to host' >&2; exit 255\n")
    done = run("c1", "--ssh", "login1")
    assert len(slurm.calls) == 1 and "c1 sacct: ssh to login1 failed: ssh: No route to host" in done.stderr
    assert "make this work: ssh -T -o BatchMode=yes" in done.stderr


def test_the_doctor_reports_how_the_last_pull_ended(home):
    (never,) = pull_findings(home)
    assert never.level == "note" and "faultline pull c1" in never.next_step
    for status, level in (("failed", "error"), ("incomplete", "warning")):
        keep_outcome(home, replace(FAILED, status=status))
        (found,) = pull_findings(home)
        assert found.level == level and "sacct: down" in found.what and found.next_step.startswith("start it")
    # It asks for no export of a kind that is pulled.
    steps = {finding.where: finding.next_step for finding in sources_findings(home.sources)}
    assert steps["c1/squeue"].startswith("nothing to do: [pull] asks for it") and "journalctl" in steps["c1/kernel"]


def test_what_is_kept_of_a_pull_is_how_far_accounting_reaches_and_no_names(home, folder):
    keep_outcome(home, replace(FAILED, status="pulled"))
    keep_outcome(home, replace(FAILED, pulled_to=None))
    assert last_outcome(home, "c1") == FAILED
    warehouse = Warehouse(path=str(home.working_file))
    with warehouse.writing() as con:
        record_pulls(con, "run-0", [replace(FAILED, cluster_id="no-longer-pulled")])
        record_pulls(con, "run-1", [last_outcome(home, "c1"), last_outcome(home, "never")])
        (row,) = con.execute("select cluster_id, status, pulled_to, reason, next_step from ops.pulls").fetchall()
    assert row == ("c1", "failed", datetime(2026, 3, 4, 2), "sacct: down", "start it")
    (folder / "cluster.toml").write_text('privacy = "pseudonymous"\n[pull]\n')
    assert last_outcome(home, "c1").reason == REASON_WITH_NAMES
    keep_outcome(home, FAILED)
    assert "down" not in (home.pulls / "c1.json").read_text() and last_outcome(home, "c1").next_step == "start it"


@pytest.mark.parametrize(
    ("tags", "is_whole", "is_pulling"), [({}, True, True), ({COMMAND: "true"}, True, False), ({}, False, False)]
)
def test_a_run_pulls_before_it_takes_the_home_unless_its_command_has_or_it_is_a_part(
    slurm, home, tags, is_whole, is_pulling
):
    asset = pulls_asset(home, clusters_to_pull(home.sources))
    steps = frozenset({asset.node_def.name} if is_whole else {asset.node_def.name, "another"})
    given = resources(HomeSettings(home), Caller(), Everything(frozenset({asset.key}), frozenset(), steps))
    assert dg.materialize([asset], resources={"warehouse": given["warehouse"]}, tags=tags).success
    assert bool(slurm.calls) is is_pulling
    assert not home.lock_file.exists()


@pytest.mark.parametrize(("options", "is_pulling"), [([], True), (["--no-pull"], False)])
def test_a_refresh_pulls_first_unless_told_not_to(slurm, home, monkeypatch, options, is_pulling):
    def stop(*_):
        raise refreshing.RefreshFailed("enough")

    monkeypatch.setattr(refreshing, "tell_wrong_settings", stop)
    home.work.mkdir()
    assert "enough" in faultline(home, "refresh", *options).stderr
    assert bool(slurm.calls) is is_pulling
