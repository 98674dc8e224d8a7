"""An attended command and its children end when the process that attends them ends, however it ends."""

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
ATTEND = """
import subprocess, sys, time
attended, *command = sys.argv[1:]
process = subprocess.Popen([sys.executable, attended, *command], stdin=subprocess.PIPE)
print(process.pid, flush=True)
time.sleep(600)
"""


def family(*kind):
    return [sys.executable, "-c", FAMILY, *kind]


def start(*kind):
    process = subprocess.Popen(
        [sys.executable, attended.__file__, *family(*kind)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, int(process.stdout.readline())


def test_the_family_of_a_command_that_ends_ends_too():
    process, grandchild = start("short")
    assert process.wait(timeout=PATIENCE_SECONDS) == 7
    assert is_gone(grandchild)


def test_a_closed_input_ends_the_family():
    process, grandchild = start()
    process.stdin.close()
    process.wait(timeout=PATIENCE_SECONDS)
    assert is_gone(grandchild)


@pytest.mark.parametrize("end", [subprocess.Popen.terminate, lambda process: process.send_signal(2)])
def test_a_signal_ends_the_family(end):
    process, grandchild = start()
    end(process)
    process.wait(timeout=PATIENCE_SECONDS)
    assert is_gone(grandchild)


def test_who_does_not_listen_is_killed(monkeypatch):
    monkeypatch.setattr(attended, "SECONDS_TO_END", 0.3)
    process = subprocess.Popen(family("stubborn"), stdout=subprocess.PIPE, text=True, start_new_session=True)
    grandchild = int(process.stdout.readline())
    attended.end_group(process)
    assert process.returncode == -9
    assert is_gone(grandchild)


def test_the_family_ends_when_the_starter_is_killed_at_once():
    starter = subprocess.Popen(
        [sys.executable, "-c", ATTEND, attended.__file__, *family()], stdout=subprocess.PIPE, text=True
    )
    attendant, grandchild = int(starter.stdout.readline()), int(starter.stdout.readline())
    starter.kill()
    starter.wait()
    assert is_gone(grandchild)
    assert is_gone(attendant)
