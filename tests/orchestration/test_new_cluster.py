"""`faultline init`: a folder and a cluster.toml that is read as it stands, with what a genuine Slurm tells."""

import os
import re
import stat
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from assets.log_kinds import LOG_KINDS
from assets.sources.settings import Settings, read_settings
from orchestration.cli import app
from orchestration.new_cluster.slurm_facts import Facts, ask
from orchestration.new_cluster.text import DECIDED, cluster_toml

PROJECT = Path(__file__).parents[2]
CONFIG = PROJECT / "tests" / "fixtures" / "slurm-22.05" / "scontrol_config.txt"
(NODES,) = (PROJECT / "data" / "sources" / "testbed" / "inventory").glob("*")


def program(folder, name, text):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A PATH on which scontrol prints what a Slurm 22.05 printed, and ssh runs commands on a host named login1."""
    folder = tmp_path / "bin"
    folder.mkdir()
    one_line = tmp_path / "nodes.txt"
    blocks = NODES.read_text().split("\nNodeName=")
    one_line.write_text(
        "\n".join(" ".join(("NodeName=" * bool(at) + block).split()) for at, block in enumerate(blocks))
    )
    program(folder, "scontrol", f'case "$*" in\n"show config") cat {CONFIG};;\n"-o show node") cat {one_line};;\nesac')
    program(
        folder,
        "ssh",
        'while [ "$1" != "--" ]; do shift; done\n'
        'if [ "$2" != login1 ]; then echo "ssh: Could not resolve hostname $2" >&2; exit 255; fi\nexec sh -c "$3"',
    )
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    return folder


def init(*arguments):
    done = CliRunner().invoke(app, ["init", *map(str, arguments)])
    return done.exit_code, done.output


@pytest.mark.parametrize("host", [(), ("--ssh", "login1")])
def test_what_slurm_tells_becomes_settings(slurm, tmp_path, host):
    status, said = init("gpu1", "--sources", tmp_path / "sources", *host)
    assert status == 0, said
    cluster, errors = read_settings(tmp_path / "sources" / "gpu1", "gpu1")
    assert errors == []
    found = cluster.settings.model_dump(exclude_unset=True)
    assert found == {"timezone": "Europe/Berlin", "gpus_per_node": 8, "gpu_model": "a100"}
    text = (tmp_path / "sources" / "gpu1" / "cluster.toml").read_text()
    for note in ("Slurm calls this cluster testbed", "SlurmdTimeout is 20 s", "PreemptMode is REQUEUE"):
        assert note in " ".join(text.replace("#", "").split())
        assert note in said
    assert {path.name for path in (tmp_path / "sources" / "gpu1").iterdir()} == {*LOG_KINDS, "cluster.toml"}
    assert f"faultline pull gpu1{' --ssh login1' * bool(host)}\n" in said
    table = '[pull] with ssh = "login1"' if host else "[pull]"
    assert f"every refresh fetches first once cluster.toml has {table}\n" in said


def test_what_it_makes_may_pull_and_alert_whatever_the_umask(slurm, tmp_path):
    before = os.umask(0o002)
    try:
        assert init("gpu1", "--sources", tmp_path / "sources")[0] == 0
    finally:
        os.umask(before)
    cluster, _ = read_settings(tmp_path / "sources" / "gpu1", "gpu1")
    assert (cluster.config_path, cluster.untrusted) == ("gpu1/cluster.toml", None)


def test_nothing_is_overwritten_and_print_writes_nothing(slurm, tmp_path):
    folder = tmp_path / "sources" / "gpu1"
    folder.mkdir(parents=True)
    (folder / "cluster.toml").write_text("gpus_per_node = 4\n")
    status, said = init("gpu1", "--sources", tmp_path / "sources")
    assert (status, "exists and is left as it is" in said) == (1, True)
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [("cluster.toml", "gpus_per_node = 4\n")]
    status, said = init("gpu2", "--sources", tmp_path / "sources", "--print")
    assert status == 0
    assert tomllib.loads(said)["gpus_per_node"] == 8
    assert not (tmp_path / "sources" / "gpu2").exists()


def test_a_host_that_does_not_answer_is_an_error_and_writes_nothing(slurm, tmp_path):
    status, said = init("gpu1", "--sources", tmp_path / "sources", "--ssh", "nowhere")
    assert (status, "Could not resolve hostname nowhere" in said) == (1, True)
    assert not (tmp_path / "sources").exists()


@pytest.mark.parametrize("name", [".hidden", "a/b", "", " x", "a\nb"])
def test_a_name_that_no_refresh_would_read_is_refused(name, tmp_path):
    status, said = init("--sources", tmp_path, "--", name)
    assert (status, "cannot be a cluster's folder" in said) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_without_slurm_every_key_is_a_comment():
    facts = ask(lambda _command: None, "gpu1")
    text = cluster_toml("gpu1", facts)
    assert tomllib.loads(text) == {}
    assert "Slurm was not asked" in text


def test_what_a_site_decides_fits_a_screen_and_can_be_taken_out_of_its_comment():
    text = cluster_toml("gpu1", Facts())
    document = tomllib.loads(re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE))
    settings = Settings.model_validate(document)
    assert settings.ettr == Settings().ettr
    assert {path: {*(document[path] if path else document)} - {*DECIDED} for path in DECIDED} == {
        path: {*keys} for path, keys in DECIDED.items()
    }
    assert {"docs/configuration.md", '"plain"', '"pseudonymous"'} <= {*re.findall(r'docs/[\w.]+|"\w+"', text)}
    assert len(text.splitlines()) <= 42
    assert max(map(len, text.splitlines())) <= 120


def test_a_slow_slurmd_widens_the_window_and_odd_answers_are_harmless():
    answers = {
        "config": "SlurmdTimeout = 900 sec\nClusterName = gpu1\nPreemptMode = OFF\nAccountingStorageTRES = cpu\n",
        "node": 'NodeName=a Gres=gpu:h100"]\\:4(S:0) x\nNodeName=b Gres=gpu:8 CfgTRES=cpu=4,gres/gpu=8\nNodeName=c\n',
        "-c": "x\n/usr/share/zoneinfo/../../etc/passwd\nnone\n",
    }
    facts = ask(lambda command: next(text for word, text in answers.items() if word in command), "gpu1")
    assert facts.values["attribution", "before_seconds"][0] == 1200
    assert facts.values["", "gpus_per_node"][0] in (4, 8)
    assert ("", "timezone") not in facts.values
    assert any("lacks gres/gpu" in note for note in facts.notes)
    Settings.model_validate(tomllib.loads(cluster_toml("gpu1", facts)))
