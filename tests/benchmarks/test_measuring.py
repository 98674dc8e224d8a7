"""A child whose cost is known: it holds memory, starts a child of its own that does too, and burns CPU time."""

import sys
import time

import pytest

from tests.benchmarks import measuring
from tests.benchmarks.measuring import CommandFailed, Cost, measure, median

HOLDS = "import time; kept = b'x' * 150_000_000; time.sleep(0.8)"
STARTS_ANOTHER = f"import subprocess, sys; kept = b'x' * 150_000_000; subprocess.run([sys.executable, '-c', {HOLDS!r}])"
BURNS = "import time\nwhile time.process_time() < 0.5: pass"


def test_memory_is_that_of_the_whole_tree(tmp_path):
    cost = measure([sys.executable, "-c", STARTS_ANOTHER], tmp_path / "log")
    assert 300 < cost.peak_mb < 450
    assert 150 < cost.process_mb < 250
    assert cost.wall_seconds > 0.8


def test_cpu_time_of_children_counts(tmp_path):
    cost = measure(
        [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BURNS!r}])"],
        tmp_path / "log",
    )
    assert 0.5 <= cost.cpu_seconds < 5


def test_cpu_time_of_children_counts_that_nobody_waits_for(tmp_path):
    starts_and_leaves = f"import os, subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {BURNS!r}])"
    cost = measure([sys.executable, "-c", f"{starts_and_leaves}; time.sleep(2); os._exit(0)"], tmp_path / "log")
    assert 0.4 <= cost.cpu_seconds < 5


def test_a_failure_shows_the_end_of_what_was_printed(tmp_path):
    failing = [sys.executable, "-c", "print('the disk is full'); raise SystemExit(3)"]
    with pytest.raises(CommandFailed, match=r"exit status 3(.|\n)*the disk is full"):
        measure(failing, tmp_path / "log")
    assert measure(failing, tmp_path / "log", may_fail=True).exit_code == 3


def test_the_environment_reaches_the_command(tmp_path):
    measure([sys.executable, "-c", "import os; print(os.environ['COLOUR'])"], tmp_path / "log", {"COLOUR": "green"})
    assert (tmp_path / "log").read_text() == "green\n"


def test_each_number_has_its_own_median():
    costs = [Cost(1, 9, 5, 5, 0, 0.3, 4), Cost(2, 8, 4, 4, 0, 0.1, 3), Cost(3, 7, 6, 3, 1, 0.2, 2)]
    assert median(costs) == Cost(2, 8, 5, 4, 1, 0.2, 3)


def test_every_run_says_how_fast_the_machine_was(tmp_path, monkeypatch):
    times = iter([0.1, 0.3])
    monkeypatch.setattr(measuring, "reference_seconds", lambda: next(times))
    assert measure([sys.executable, "-c", ""], tmp_path / "log").reference_seconds == pytest.approx(0.2)


def test_samples_show_what_was_held_when(tmp_path):
    samples, started = [], time.time()
    measure([sys.executable, "-c", f"{BURNS}\n{HOLDS}"], tmp_path / "log", samples=samples)
    assert max(sample.megabytes for sample in samples) > 150
    assert all(started < sample.at < time.time() for sample in samples)


def test_the_reference_is_work_and_not_waiting():
    assert measuring.reference_seconds() > 0.001
