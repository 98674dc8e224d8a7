"""Ctrl-C or SIGTERM during a refresh: one line, no traceback, and a home that is as good as before."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestration.settings.home import Home
from orchestration.upkeep.lock import RefreshLock
from tests.homes import add_a_line, ask, copy_of
from tests.patience import PATIENCE_SECONDS

FAULTLINE = Path(sys.executable).with_name("faultline")


def ctrl_c(process):
    """A terminal sends it to every process in the foreground, dbt's among them."""
    os.killpg(process.pid, signal.SIGINT)


def kill_without_dbt(process):
    """What `kill` and a container's end do: dbt gets nothing, and must not be left behind."""
    os.kill(process.pid, signal.SIGTERM)


@pytest.mark.parametrize("stop", [ctrl_c, kill_without_dbt])
def test_a_signal_stops_a_refresh_in_one_line_and_harms_nothing(testbed_home, tmp_path, stop):
    home = copy_of(testbed_home, tmp_path)
    add_a_line(home)
    before = home.published_file.read_bytes()
    process = subprocess.Popen(
        [str(FAULTLINE), "refresh", "--home", str(home.root)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert any(" raw " in line for line in process.stdout)
    stop(process)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert len(said.splitlines()) == 1, said
    assert said.startswith("faultline: stopped by Ctrl-C or SIGTERM; nothing was published")
    assert home.published_file.read_bytes() == before
    lock = RefreshLock(home.lock_file)
    lock.acquire()
    lock.release()
    last = ask(home.working_file, "select status, message from ops.runs order by started_at desc limit 1")[0]
    assert last[0] == "failed"
    assert "Ctrl-C" in last[1]
    left = subprocess.run(["pgrep", "-g", str(process.pid), "-f", "orchestration.dbt"], check=False)
    assert left.returncode == 1, "dbt is left"


def test_sigterm_before_the_first_step_is_told_as_well(tmp_path):
    home = Home.at(tmp_path / "home")
    (home.sources / "c1" / "sacct").mkdir(parents=True)
    slow, asked = tmp_path / "slow", tmp_path / "asked"
    slow.write_text(f"#!/bin/sh\ntouch {asked}\nexec sleep 600\n")
    slow.chmod(0o755)
    (home.sources / "c1" / "cluster.toml").write_text(f'[pull]\nprefix = ["{slow}"]\n')
    process = subprocess.Popen(
        [str(FAULTLINE), "refresh", "--home", str(home.root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not asked.exists() and process.poll() is None:
        time.sleep(0.05)
    process.terminate()
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, said.count("stopped by Ctrl-C or SIGTERM")) == (130, 1), said
