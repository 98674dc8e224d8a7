"""An attended command and its children end when the process that attends them ends, however it ends."""

import signal
import subprocess
import sys

import pytest

from orchestration.ui import attended
from tests.patience import PATIENCE_SECONDS, is_gone

FAMILY = """
import signal, subprocess, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(child.pid, flush=True)
time.sleep(0 if "short" in sys.argv else 600)
sys.exit(7)
"""


def family(kind):
    return [sys.executable, "-c", FAMILY, kind]


@pytest.mark.parametrize("end", ["its own", "closed input", signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_family_ends_with_its_command_its_input_or_a_signal(end):
    command = [sys.executable, attended.__file__, *family("short" if end == "its own" else "long")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    grandchild = int(process.stdout.readline())
    if end == "closed input":
        process.stdin.close()
    elif end != "its own":
        process.send_signal(end)
    assert (process.wait(timeout=PATIENCE_SECONDS) == 7) == (end == "its own")
    assert is_gone(grandchild)


def test_who_does_not_listen_is_killed(monkeypatch):
    monkeypatch.setattr(attended, "SECONDS_TO_END", 0.3)
    process = subprocess.Popen(family("stubborn"), stdout=subprocess.PIPE, text=True, start_new_session=True)
    grandchild = int(process.stdout.readline())
    attended.end_group(process)
    assert process.returncode == -9
    assert is_gone(grandchild)
