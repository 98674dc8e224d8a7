"""`faultline init`: a folder and a valid cluster.toml, with the answers of a genuine Slurm."""

import os
import re
import tomllib

import pytest
from typer.testing import CliRunner

from assets.log_kinds import LOG_KINDS
from assets.sources.settings import Settings, read_settings
from orchestration.cli import app
from orchestration.settings.home import PROJECT
from tests.pull.fake_slurm import FakeSlurm

CONFIG = PROJECT / "tests" / "fixtures" / "slurm-22.05" / "scontrol_config.txt"
(NODES,) = (PROJECT / "data" / "sources" / "testbed" / "inventory").glob("*")


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A fake scontrol with recorded output of Slurm 22.05, and a fake ssh that reaches a host login1."""
    slurm = FakeSlurm(tmp_path / "slurm", monkeypatch)
    slurm.answer("scontrol", "answer", 'cat "$FAKE_SLURM/scontrol/${!#}"; exit\n', part=".run")
    slurm.answer("scontrol", "config", CONFIG.read_text())
    slurm.answer("scontrol", "node", re.sub(r"\n(?!NodeName)\s*", " ", NODES.read_text()))
    slurm.program("readlink", "echo /usr/share/zoneinfo/Europe/Berlin\n")
    unknown = 'echo "ssh: Could not resolve hostname ${@: -2:1}" >&2; exit 255'
    (slurm.folder / "ssh.run").write_text(f'[ "${{@: -2:1}}" = login1 ] || {{ {unknown}; }}\n')
    return slurm


def init(*arguments):
    done = CliRunner().invoke(app, ["init", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.mark.parametrize("host", [(), ("--ssh", "login1")])
def test_what_slurm_says_becomes_settings_that_may_pull_and_alert_whatever_the_umask(slurm, tmp_path, host):
    before = os.umask(0o002)
    try:
        status, said = init("gpu1", "--sources", tmp_path, *host)
    finally:
        os.umask(before)
    assert status == 0 and f"faultline pull gpu1{' --ssh login1' * bool(host)}\n" in said
    cluster, errors = read_settings(tmp_path / "gpu1", "gpu1")
    assert (errors, cluster.config_path, cluster.untrusted) == ([], "gpu1/cluster.toml", None)
    found = cluster.settings.model_dump(exclude_unset=True)
    assert found == {"timezone": "Europe/Berlin", "gpus_per_node": 8, "gpu_model": "a100"}
    for note in ("Slurm calls this cluster testbed", "PreemptMode is REQUEUE"):
        assert note in (tmp_path / "gpu1" / "cluster.toml").read_text() and note in said
    assert {path.name for path in (tmp_path / "gpu1").iterdir()} == {*LOG_KINDS, "cluster.toml"}


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        *(((name,), 1, "cannot be a cluster's folder") for name in (".hidden", "a/b", "", " x", "a\nb")),
        (("there",), 1, "exists and is left as it is"),
        (("gpu1", "--ssh", "nowhere"), 1, "Could not resolve hostname"),
        (("gpu1", "--ssh", "-oProxyCommand=id"), 2, "--ssh cannot be"),
        (("gpu1", "--print"), 0, "gpus_per_node = 8"),
    ],
)
def test_nothing_is_overwritten_and_nothing_written_without_need(slurm, tmp_path, arguments, status, said):
    (tmp_path / "sources" / "there").mkdir(parents=True)
    (tmp_path / "sources" / "there" / "cluster.toml").touch()
    done = init(*arguments, "--sources", tmp_path / "sources")
    assert done[0] == status and said in done[1]
    assert [path.name for path in (tmp_path / "sources").rglob("*")] == ["there", "cluster.toml"]


def test_without_slurm_every_key_is_a_comment_with_its_default(slurm):
    slurm.program("scontrol", "exit 1\n")
    _, text = init("gpu1", "--print")
    assert "Slurm was not asked" in text and tomllib.loads(text) == {}
    given = Settings.model_validate(tomllib.loads(re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE)))
    assert given.pull is not None and given.availability.objective and len(text.splitlines()) <= 42
    for key in ("timezone", "gpus_per_node", "privacy", "attribution", "ettr", "report"):
        assert getattr(given, key) == getattr(Settings(), key)


def test_a_slow_slurmd_widens_the_window_and_odd_answers_are_harmless(slurm):
    slurm.answer("scontrol", "config", "SlurmdTimeout = 900 sec\nAccountingStorageTRES = cpu\n")
    nodes = 'NodeName=a Gres=gpu:h1\\g<0>"]:4(S:0) x\nNodeName=b Gres=gpu:8 CfgTRES=gres/gpu=8\n'
    slurm.answer("scontrol", "node", nodes)
    slurm.program("readlink", "echo /usr/share/zoneinfo/../../etc/passwd\n")
    _, text = init("gpu1", "--print")
    found = tomllib.loads(text)
    assert found["attribution"] == {"before_seconds": 1200} and found["gpu_model"].startswith("h1\\g<0>")
    assert found["gpus_per_node"] in (4, 8) and "passwd" not in text
    assert "AccountingStorageTRES lacks gres/gpu" in text and "nodes differ in their GPUs" in text
