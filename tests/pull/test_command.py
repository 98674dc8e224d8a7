"""`faultline pull` as a user runs it, here and over ssh, and what a refresh and the doctor say of the last pull."""

import json
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import dagster as dg
import pytest
from rich.console import Console

from assets.sources.settings import Pull
from assets.warehouse import Warehouse
from orchestration.alerts.events import removed_key_events
from orchestration.doctor.pulls import pull_findings
from orchestration.doctor.sources import sources_findings
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.pull.asset import pulls_asset
from orchestration.pull.clusters import clusters_to_pull
from orchestration.pull.host import Host
from orchestration.pull.outcomes import REASON_WITH_NAMES, Pulled, keep_outcome, last_outcome
from orchestration.refresh import run as refreshing
from tests.homes import faultline

DOWN = {"kind": "sacct", "what": "down", "next_step": "start it"}
FAILED = Pulled("c1", "failed", "2026-03-05T12:00:00+00:00", "2026-03-04T02:00:00+00:00", {}, [DOWN])
ODD = 'it\'s $(touch pwned); `id` "x" | & * ~'


@pytest.fixture
def home(folder):
    (folder / "cluster.toml").write_text('timezone = "UTC"\n[pull]\nfirst_days = 2\n')
    return Home.at(folder.parents[1])


@pytest.fixture
def run(home, rests):
    return lambda *arguments: faultline(home, "pull", *arguments)


def test_all_clusters_with_the_table_are_pulled_and_a_refresh_notes_how(slurm, run, home, monkeypatch):
    for name, text in (("c2", '# no [pull]\ntimezone = "UTC"\n'), ("c3", "[pull]\nhots = 1\n")):
        (home.sources / name).mkdir()
        (home.sources / name / "cluster.toml").write_text(text)
    result = run()
    assert result.exit_code == 0 and "c1 sacct     3 queries, 0 records, 0 files written\n" in result.stdout
    assert list(clusters_to_pull(home.sources)) == ["c1"] and slurm.calls
    warehouse = Warehouse(path=str(home.working_file))

    def build(*_):
        resources = {"warehouse": dg.ResourceDefinition.hardcoded_resource(warehouse)}
        assert dg.materialize([pulls_asset(home, clusters_to_pull(home.sources))], resources=resources).success
        return SimpleNamespace()

    def refresh(*, is_pulling):
        refreshing.run_refresh(HomeSettings(home, is_pulling=is_pulling), Console(quiet=True))
        with warehouse.reading() as con:
            return con.execute("select cluster_id, status, reason, pulled_to is not null from ops.pulls").fetchall()

    monkeypatch.setattr(refreshing, "_refresh", build)
    assert refresh(is_pulling=False) == [("c1", "pulled", None, True)] and slurm.calls == []
    slurm.answer("sacct", "helpformat", "", stderr="sacct: error: no way\n", status=1)
    ((cluster, status, reason, _),) = refresh(is_pulling=True)
    assert (cluster, status) == ("c1", "failed") and "no way" in reason
    # The command says the same on stderr, with the next step.
    result = run("--json")
    assert result.exit_code == 1 and json.loads(result.stdout)[0]["problems"][0]["kind"] == "sacct"
    assert "faultline: c1 sacct: sacct: error: no way (sacct, exit status 1); see that slurmdbd" in result.stderr


def test_a_dry_run_prints_the_commands_that_a_run_then_makes(slurm, run, tmp_path):
    printed = run("--dry-run", "--until", "2026-03-05", "--since", "2026-03-01").stdout
    assert slurm.calls == [] and run("--until", "2026-03-05", "--since", "2026-03-01").exit_code == 0
    ran = slurm.calls
    subprocess.run(["bash", "-c", printed], check=True, capture_output=True)
    assert slurm.calls == ran and len(ran) == 10
    assert all(line.startswith("env TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s sac") for line in printed.splitlines())


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
    # What pulls and reads no setting of the file needs no trust.
    assert run("c1", "--since", "1d").exit_code == 0 and slurm.calls


def test_keys_that_went_bring_a_warning_and_an_alert_each(home):
    keys = ("via", "slurmrestd", "slurmrestd_user", "token_file", "api_version", "pause_seconds")
    (home.sources / "c1" / "cluster.toml").write_text("[pull]\n" + "".join(f'{key} = "slurmrestd"\n' for key in keys))
    found = [finding for finding in sources_findings(home.sources) if "is not read any more" in finding.what]
    assert [finding.level for finding in found] == ["warning"] * len(keys)
    assert len(removed_key_events(home)) == len(keys)
    assert clusters_to_pull(home.sources) == {"c1": Pull()}


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["c9"], 1, "there is no folder"),
        (["../c1"], 2, "is no name of a cluster"),
        (["--since", "yesterday"], 2, "--since is a day such as 2026-01-31"),
        (["c1", "--ssh", "-oProxyCommand=id"], 2, "--ssh cannot be '-oProxyCommand=id'"),
        (["--out", "x"], 2, "--out needs the name of a cluster"),
    ],
)
def test_wrong_usage_is_refused(slurm, run, arguments, status, expected):
    result = run(*arguments)
    assert result.exit_code == status and expected in result.output and slurm.calls == []


def test_words_reach_the_host_unchanged_and_as_they_are_typed(slurm, tmp_path, rests):
    host = Host(Pull(ssh="alice@login1", ssh_options=["-i", "/etc/a key"], prefix=["env", f"ODD={ODD}"]))
    words = ("sacct", "--delimiter=\x1f", ODD)
    host.run(words)
    ssh, sacct = slurm.calls
    assert ssh[:2] == ["ssh", "-T"] and ssh[-3:-1] == ["--", "alice@login1"]
    assert {"BatchMode=yes", "ConnectTimeout=15"} <= {*ssh} and ssh[ssh.index("-i") + 1] == "/etc/a key"
    assert sacct == [*words] and not (tmp_path / "pwned").exists()
    subprocess.run(["bash", "-c", host.shown(words)], check=True)
    assert slurm.calls == [ssh, sacct] and "\x1f" not in host.shown(words)


def test_a_pull_over_ssh_gives_what_a_pull_on_the_host_gives_or_ends_at_once(slurm, run, home, tmp_path, files):
    slurm.answer("squeue", "answer", "9|9|RUNNING|1|1|alice|train|1|n1|n2|None\n")
    assert run("c1").exit_code == 0
    result = run("new", "--out", str(tmp_path / "out"), "--ssh", "login1", "--since", "2d")
    assert result.exit_code == 0 and last_outcome(home, "new") is None
    (nodes,) = (tmp_path / "out" / "inventory").glob("*")
    assert nodes.read_bytes() == files()[f"inventory/{nodes.name}"] and slurm.calls[-1][0] == "squeue"
    unreachable = "ssh: connect to host login1 port 22: No route to host"
    (slurm.folder / "ssh.run").write_text(f"echo '{unreachable}' >&2; exit 255\n")
    result = run("c1", "--ssh", "login1")
    assert len(slurm.calls) == 1 and f"c1 sacct: ssh to login1 failed: {unreachable}" in result.stderr
    assert "make this work: ssh -T -o BatchMode=yes" in result.stderr


def test_the_doctor_reports_how_the_last_pull_ended(home):
    (never,) = pull_findings(home)
    assert never.level == "note" and "faultline pull c1" in never.next_step
    for status, level in (("failed", "error"), ("incomplete", "warning")):
        keep_outcome(home, replace(FAILED, status=status))
        (found,) = pull_findings(home)
        assert found.level == level and "sacct: down" in found.what and found.next_step.startswith("start it")
    # It asks for no export of what is pulled.
    steps = {finding.where: finding.next_step for finding in sources_findings(home.sources)}
    assert steps["c1/squeue"].startswith("nothing to do: [pull] asks for it") and "journalctl" in steps["c1/kernel"]


def test_a_pull_that_never_got_accounting_keeps_how_far_an_earlier_one_came_and_no_names(home, folder):
    keep_outcome(home, replace(FAILED, status="pulled"))
    keep_outcome(home, replace(FAILED, pulled_to=None))
    assert last_outcome(home, "c1") == FAILED
    (folder / "cluster.toml").write_text('privacy = "pseudonymous"\n[pull]\n')
    assert last_outcome(home, "c1").reason == REASON_WITH_NAMES
    keep_outcome(home, FAILED)
    assert "down" not in (home.pulls / "c1.json").read_text() and last_outcome(home, "c1").next_step == "start it"
