"""`faultline pull` as a user runs it, and what doctor, status and a refresh say of the last pull."""

import json
import re
import subprocess
from dataclasses import replace

import pytest

from orchestration.doctor.pulls import pull_findings
from orchestration.doctor.sources import sources_findings
from orchestration.home import Home
from orchestration.pull.clusters import clusters_to_pull
from orchestration.pull.outcomes import REASON_WITH_NAMES, PullOutcome, keep_outcome, last_outcome
from tests.homes import faultline

FAILED = PullOutcome("failed", "2026-03-05T12:00:00+00:00", "2026-03-04T02:00:00+00:00", "sacct: down", "start it")

GONE_CLIENT = """timezone = "UTC"
[pull]
via = "slurmrestd"
slurmrestd = "unix:///run/slurmrestd.socket"
slurmrestd_user = "faultline"
token_file = "/etc/faultline/token"
api_version = "v0.0.41"
"""


@pytest.fixture
def home(folder):
    (folder / "cluster.toml").write_text(
        'timezone = "UTC"\n[pull]\nfirst_days = 2\npause_seconds = 0\n'
        'kinds = ["sacct", "events", "inventory", "squeue"]\n'
    )
    return Home.at(folder.parents[1])


@pytest.fixture
def run(home):
    return lambda *arguments: faultline(home, "pull", *arguments)


def test_all_clusters_with_the_table_are_pulled(slurm, run, home):
    (home.sources / "c2").mkdir()
    (home.sources / "c2" / "cluster.toml").write_text('# no [pull]\ntimezone = "UTC"\n')
    (home.sources / "c3").mkdir()
    (home.sources / "c3" / "cluster.toml").write_text("[pull]\nhots = 1\n")
    result = run()
    assert result.exit_code == 0, result.output
    assert re.search(r"^c1 sacct +3 queries, 0 records, 0 new files$", result.stdout, re.M)
    assert list(clusters_to_pull(home.sources)) == ["c1"]
    assert last_outcome(home, "c1").is_whole


def test_a_dry_run_prints_the_commands_that_a_run_then_makes(slurm, run, tmp_path):
    printed = run("--dry-run", "--until", "2026-03-05", "--since", "2026-03-01").stdout.splitlines()
    assert [words[:2] for words in slurm.calls] == [["sacct", "--helpformat"]]
    slurm.forget_calls()
    assert run("--until", "2026-03-05", "--since", "2026-03-01").exit_code == 0
    ran = slurm.calls
    slurm.forget_calls()
    (tmp_path / "typed.sh").write_text("\n".join(printed))
    subprocess.run(["bash", str(tmp_path / "typed.sh")], check=True, capture_output=True)
    assert slurm.calls == ran and len(ran) == 10
    assert all(line.startswith("env TZ=UTC LC_ALL=C SLURM_TIME_FORMAT=%s sac") for line in printed)


def test_what_failed_is_told_on_stderr_with_the_next_step(slurm, run, home):
    slurm.answer("sacct", "helpformat", "", stderr="sacct: error: no way\n", status=1)
    result = run("--json")
    assert result.exit_code == 1
    (expected,) = json.loads(result.stdout)
    assert expected["status"] == "failed" and expected["problems"][0]["kind"] == "sacct"
    assert "faultline: c1 sacct: sacct: error: no way (sacct, exit status 1); run the command by hand" in result.stderr
    assert last_outcome(home, "c1").is_failed


def test_another_folder_and_another_host(slurm, run, tmp_path, home):
    result = run("new", "--out", str(tmp_path / "out"), "--ssh", "login1", "--since", "2d", "--pause", "0.1s")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "inventory").is_dir() and slurm.calls[0][0] == "ssh"
    assert last_outcome(home, "new") is None


@pytest.mark.parametrize("arguments", [[], ["c1"], ["--dry-run"], ["c1", "--ssh", "login1"]])
def test_a_file_that_others_may_write_is_not_obeyed(slurm, run, home, arguments):
    file = home.sources / "c1" / "cluster.toml"
    file.chmod(0o664)
    result = run(*arguments)
    assert result.exit_code == 1 and slurm.calls == []
    assert f"[pull] is not obeyed: others may write {file} (mode 0664)" in result.stderr
    assert f"chmod go-w {file}" in result.stderr
    file.chmod(0o644)
    assert run(*arguments).exit_code == 0 and slurm.calls


@pytest.mark.parametrize("arguments", [[], ["c1"], ["--dry-run"], ["c1", "--ssh", "login1"]])
def test_the_client_of_slurmrestd_is_gone(slurm, run, home, arguments):
    (home.sources / "c1" / "cluster.toml").write_text(GONE_CLIENT)
    result = run(*arguments)
    assert result.exit_code == 1 and slurm.calls == []
    assert '[pull] is not obeyed: the client for via = "slurmrestd" is gone; remove via: Slurm' in result.stderr


def test_what_pulls_and_reads_no_setting_of_the_file_needs_no_trust(slurm, run, home):
    file = home.sources / "c1" / "cluster.toml"
    file.write_text("gpus_per_node = 4\n")
    file.chmod(0o666)
    assert run("c1", "--since", "1d").exit_code == 0 and slurm.calls


@pytest.mark.parametrize(
    ("arguments", "status", "expected"),
    [
        (["c9"], 1, "there is no folder"),
        (["../c1"], 2, "is no name of a cluster"),
        (["--since", "yesterday"], 2, "--since is a day such as 2026-01-31"),
        (["--pause", "long"], 2, "--pause is a time such as 2s"),
        (["c1", "--ssh", "-oProxyCommand=id"], 2, "--ssh cannot be '-oProxyCommand=id'"),
        (["--out", "x"], 2, "--out needs the name of a cluster"),
    ],
)
def test_wrong_usage_is_told(slurm, run, arguments, status, expected):
    result = run(*arguments)
    assert result.exit_code == status and expected in result.output
    assert slurm.calls == []


def test_without_a_cluster_to_pull_the_line_to_add_is_told(slurm, run, folder):
    (folder / "cluster.toml").unlink()
    result = run()
    assert result.exit_code == 1 and "add a line `[pull]` to its cluster.toml" in result.output


class TestTelling:
    def test_the_doctor_reports_a_cluster_that_was_never_pulled_and_one_that_failed(self, home):
        (never,) = pull_findings(home)
        assert never.level == "note" and "faultline pull c1" in never.next_step
        keep_outcome(home, "c1", FAILED)
        (failed,) = pull_findings(home)
        assert failed.level == "error" and "sacct: down" in failed.what and failed.next_step.startswith("start it")
        keep_outcome(home, "c1", replace(FAILED, status="incomplete"))
        assert [finding.level for finding in pull_findings(home)] == ["warning"]
        keep_outcome(home, "c1", replace(FAILED, status="pulled", reason=None))
        assert pull_findings(home) == []

    def test_the_doctor_reports_tables_that_are_not_obeyed_and_how_to_correct_it(self, home):
        file = home.sources / "c1" / "cluster.toml"
        file.write_text('timezone = "UTC"\n[pull]\n[alerts]\nwebhook = "https://example.org/hook"\n')
        file.parent.chmod(0o775)
        found = [finding for finding in sources_findings(home.sources) if "obeyed" in finding.what]
        assert [finding.level for finding in found] == ["error"]
        assert found[0].what.startswith("[pull] and [alerts] are not obeyed: others may write")
        assert found[0].next_step.endswith(f"run: chmod go-w {file.parent}")
        file.write_text('timezone = "UTC"\n')
        assert not [finding for finding in sources_findings(home.sources) if "obeyed" in finding.what]

    def test_the_doctor_warns_of_the_client_that_is_gone_and_of_its_keys(self, home):
        file = home.sources / "c1" / "cluster.toml"
        file.write_text(GONE_CLIENT)
        keep_outcome(home, "c1", FAILED)
        (found,) = [finding for finding in sources_findings(home.sources) if "[pull]" in finding.what]
        assert found.level == "warning" and 'the client for via = "slurmrestd" is gone' in found.what
        assert "docs/pull.md" in found.next_step and pull_findings(home) == []
        file.write_text(GONE_CLIENT.replace('via = "slurmrestd"\n', ""))
        found = [finding for finding in sources_findings(home.sources) if "is not read any more" in finding.what]
        assert [finding.level for finding in found] == ["warning"] * 4

    def test_the_doctor_asks_for_no_export_of_what_is_pulled(self, home):
        steps = {finding.where: finding.next_step for finding in sources_findings(home.sources)}
        assert steps["c1/squeue"].startswith("nothing to do: [pull] asks for it")
        assert "journalctl" in steps["c1/kernel"]

    def test_a_pull_that_never_got_accounting_keeps_how_far_an_earlier_one_came(self, home):
        keep_outcome(home, "c1", replace(FAILED, status="pulled"))
        keep_outcome(home, "c1", replace(FAILED, pulled_to=None))
        assert last_outcome(home, "c1") == FAILED

    def test_of_a_cluster_with_pseudonyms_no_quoted_text_is_kept(self, home, folder):
        keep_outcome(home, "c1", FAILED)
        settings = folder / "cluster.toml"
        settings.write_text(f'privacy = "pseudonymous"\n{settings.read_text(encoding="utf-8")}', encoding="utf-8")
        earlier = last_outcome(home, "c1")
        assert earlier is not None and earlier.reason == REASON_WITH_NAMES
        keep_outcome(home, "c1", FAILED)
        assert "sacct: down" not in (home.pulls / "c1.json").read_text(encoding="utf-8")
        assert last_outcome(home, "c1") == replace(FAILED, reason=REASON_WITH_NAMES)
