"""Commands reach the host that is configured as they are, whatever is in them, and without a terminal."""

import shlex
import subprocess

import pytest
from pydantic import ValidationError

from assets.sources.settings import Pull
from orchestration.pull.host import Host

ODD = 'it\'s $(touch pwned); `id` "x" | & * ~'


def test_words_reach_the_remote_command_unchanged(slurm, tmp_path):
    host = Host(Pull(ssh="alice@login1", ssh_options=["-i", "/etc/a key"], prefix=["env", f"ODD={ODD}"]))
    host.run(("sacct", "--delimiter=\x1f", ODD), tmp_path / "answer")
    ssh, sacct = slurm.calls
    assert ssh[:2] == ["ssh", "-T"] and ssh[-3:-1] == ["--", "alice@login1"]
    assert [word for word in ssh if word.startswith(("Batch", "Connect"))] == ["BatchMode=yes", "ConnectTimeout=15"]
    assert ssh[ssh.index("-i") + 1] == "/etc/a key"
    assert shlex.split(ssh[-1])[:5] == ["env", f"ODD={ODD}", "env", "TZ=UTC", "LC_ALL=C"]
    assert sacct == ["sacct", "--delimiter=\x1f", ODD]
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("host", ["-oProxyCommand=id", "login1 id", "a\nb", "", "$(id)"])
def test_a_host_that_ssh_would_take_for_something_else_is_refused(host):
    with pytest.raises(ValidationError):
        Pull(ssh=host)


def test_a_host_that_ssh_cannot_reach_ends_the_pull(slurm, pull):
    unreachable = "ssh: connect to host login1 port 22: No route to host"
    (slurm.folder / "ssh.run").write_text(f"echo '{unreachable}' >&2; exit 255\n")
    result = pull(ssh="login1")
    assert len(slurm.calls) == 1 and result.status == "failed"
    (problem,) = result.problems
    assert f"ssh to login1 failed: {unreachable}" in problem.what
    assert problem.next_step.startswith("make this work: ssh -T -o BatchMode=yes")


def test_a_pull_over_ssh_gives_what_a_pull_on_the_host_gives(slurm, pull, folder, files):
    slurm.jobs("2026-03-04", slurm.job(1, "COMPLETED", "2026-03-04T01:00", "2026-03-04T02:00"))
    pull()
    here = {name: (folder / name).read_bytes() for name in files() if not name.endswith(".json")}
    for name in files():
        (folder / name).unlink()
    pull(ssh="login1")
    assert {name: (folder / name).read_bytes() for name in files() if not name.endswith(".json")} == here


def test_a_command_is_shown_as_it_is_typed_into_bash(slurm, tmp_path):
    host = Host(Pull(ssh="login1", prefix=["sudo", "-n"]))
    words = ("sacct", "--delimiter=\x1f", "-o", "%A|%x")
    typed = host.shown(words)
    (tmp_path / "typed.sh").write_text(f"{typed}\n")
    assert "\x1f" not in typed
    slurm.run_first("sacct", "answer", "exit 0\n")
    (slurm.folder / "bin" / "sudo").write_text('#!/bin/bash\nshift; exec "$@"\n')
    (slurm.folder / "bin" / "sudo").chmod(0o755)
    subprocess.run(["bash", str(tmp_path / "typed.sh")], check=True)
    assert slurm.calls[-1] == list(words)
