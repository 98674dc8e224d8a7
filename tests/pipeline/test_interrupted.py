"""Ctrl-C during a refresh: one line, no traceback, and a home that is as good as before."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb

from orchestration.upkeep.lock import RefreshLock

FAULTLINE = Path(sys.executable).with_name("faultline")


def test_ctrl_c_stops_a_refresh_in_one_line_and_harms_nothing(testbed_home, tmp_path):
    home = type(testbed_home).at(tmp_path / "home")
    shutil.copytree(testbed_home.root, home.root, symlinks=True)
    (home.sources / "testbed/kernel/extra-20261121.log").write_text(
        "Nov 21 08:05:00 node001 kernel: [1.0] usb 1-1: x\n"
    )
    before = home.published_file.read_bytes()
    process = subprocess.Popen(
        [str(FAULTLINE), "refresh", "--home", str(home.root)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert any(" raw " in line for line in process.stdout)
    # A terminal sends it to every process in the foreground, dbt's among them.
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 130, said
    assert len(said.splitlines()) == 1, said
    assert said.startswith("faultline: stopped by Ctrl-C or SIGTERM; nothing was published")
    assert home.published_file.read_bytes() == before
    lock = RefreshLock(home.lock_file)
    lock.acquire()
    lock.release()
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        last = con.execute("select status, message from ops.runs order by started_at desc limit 1").fetchone()
    assert last[0] == "failed"
    assert "Ctrl-C" in last[1]
