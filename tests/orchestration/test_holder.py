"""Who keeps another process out is told by number, user, start and command, as far as the system shows them."""

import os
import pwd
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from orchestration.upkeep.holder import Holder, holder_of


def test_a_process_is_told_with_its_command_user_and_start():
    words = [sys.executable, "-c", "print(); import time; time.sleep(600)", "an argument", "\x1b[2J", "x" * 500]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        found = holder_of(f"{process.pid}\n")
        process.kill()
    assert (found.process, found.user) == (str(process.pid), pwd.getpwuid(os.geteuid()).pw_name)
    assert found.command.startswith(f"{sys.executable} -c print(); import time") and len(found.command) < 130
    assert "\x1b" not in found.command
    age = datetime.now(UTC) - datetime.fromisoformat(found.since)
    assert -5 < age.total_seconds() < 600
    assert str(found).startswith(f"process {process.pid} of {found.user} since {found.since[:10]} ")


@pytest.mark.parametrize("text", ["999999999", "", "unknown", "../1"])
def test_a_process_of_which_nothing_is_known_is_told_as_such(text):
    assert holder_of(text) == Holder(text or "unknown")
    assert str(holder_of(text)).endswith(", of which this machine shows nothing")
