"""A refresh that is killed, or whose disk fails or is full, at any point: nothing is lost, nothing is half seen.

Two ways, because neither alone does. Per push, the step that publishes is made to fail in Python at points that are
numbered by audit events (`faults.py`): half a second for each, and other points on each day. The slow test runs
whole refreshes under strace, which sees what DuckDB, SQLite and dbt write as well, and costs minutes for each.
"""

import datetime as dt
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from orchestration.home import PROJECT, Home
from orchestration.publication_folders import leftovers, problem_of_current
from tests.pipeline.test_again import content

TODAY = dt.date.today().toordinal()
SHARE = 9
FAULTS = int(os.environ.get("FAULTLINE_FAULTS", "30"))
"""Of each kind, how many the slow test tries."""


def attempts(folder: Path, every: int, first: int) -> list[dict]:
    command = [sys.executable, "-m", "tests.pipeline.faults", folder / "template", folder / "home", every, first]
    done = subprocess.run(list(map(str, command)), cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def judge(found: dict) -> None:
    """Readers see one run or the other whole, the account agrees, and the next refresh leaves nothing behind."""
    after, at_last = json.loads(found["after"][1]), json.loads(found["at_last"][1])
    assert after["warehouse"] == after["report"], found
    assert after["account"] == [after["warehouse"], "succeeded"], found
    assert (found["code"] == 0) <= (after["warehouse"] == "run-2"), found
    assert found["again"][0] == 0, found
    assert at_last == {"warehouse": "run-3", "report": "run-3", "account": ["run-3", "succeeded"]}, found
    assert found["left"] == [0, "[]"], found
    assert found["publications"] == ["current", "run-3"], found


def test_a_fault_while_publishing_leaves_readers_with_one_run_or_the_other(tmp_path):
    found = attempts(tmp_path, SHARE, TODAY)
    for one in found:
        judge(one)
    assert len(found[0]["told"]) > 20
    assert Counter(one["kind"] for one in found).keys() == {"kill", "EIO", "ENOSPC"}
    assert any(one["code"] == -9 for one in found)
    assert any(one["code"] == 1 for one in found)


@pytest.mark.slow
def test_every_point_while_publishing(tmp_path):
    found = attempts(tmp_path, 1, 0)
    for one in found:
        judge(one)
    seen = {json.loads(one["after"][1])["warehouse"] for one in found if one["kind"] == "kill"}
    assert seen == {"run-1", "run-2"}


CALLS = "rename,renameat,renameat2,fsync,fdatasync,pwrite64,ftruncate,unlink,mkdir,symlink"
"""What changes a file or a name. strace counts the calls of each thread by itself."""
COUNTED = re.compile(r"^(?P<thread>\d+) +(?P<call>[a-z0-9]+)\(")


@pytest.fixture(scope="module")
def strace() -> str:
    found = shutil.which("strace")
    assert found, "strace is missing; `make slow` installs it"
    return found


@pytest.fixture
def home(testbed_home, tmp_path):
    """The capture's home with a new file, so that a refresh has something to do."""
    home = Home.at(tmp_path / "home")
    shutil.copytree(testbed_home.root, home.root, symlinks=True)
    log = home.sources / "testbed/kernel/extra-20261121.log"
    log.write_text("Nov 21 08:05:00 node001 kernel: [1.0] usb 1-1: new device\n")
    return home


def refresh(home: Home, *prefix: object) -> subprocess.CompletedProcess:
    command = [*prefix, Path(sys.executable).with_name("faultline"), "refresh", "--home", home.root]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def points(strace, testbed_home, tmp_path_factory) -> list[tuple[str, int]]:
    """Every point of a refresh: a call that changes something, and which of its thread's it is."""
    home = Home.at(tmp_path_factory.mktemp("points") / "home")
    shutil.copytree(testbed_home.root, home.root, symlinks=True)
    (home.sources / "testbed/kernel/extra-20261121.log").write_text(
        "Nov 21 08:05:00 node001 kernel: [1.0] usb 1-1: x\n"
    )
    log = home.root / "calls"
    done = refresh(home, strace, "-f", "--seccomp-bpf", "-qq", "-o", log, "-e", f"trace={CALLS}")
    assert done.returncode == 0, done.stderr
    most: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        if match := COUNTED.match(line):
            counts[match["thread"], match["call"]] += 1
            most[match["call"]] = max(most[match["call"]], counts[match["thread"], match["call"]])
    # The last of each call too: that is where something is published.
    return [(call, number) for call, last in most.items() for number in range(1, last + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["signal=KILL", "error=EIO", "error=ENOSPC"])
def test_a_refresh_with_a_fault_at_any_call_is_made_good_by_the_next(kind, strace, points, home, testbed_home):
    rng = random.Random(f"{TODAY} {kind}")
    expected, ends = content(testbed_home.published_file), Counter()
    for call, number in rng.sample(points, min(FAULTS, len(points))):
        own = Home.at(home.root.with_name("own"))
        shutil.rmtree(own.root, ignore_errors=True)
        shutil.copytree(home.root, own.root, symlinks=True)
        fault = ["-e", f"trace={call}", "-e", f"inject={call}:{kind}:when={number}"]
        # Not with --seccomp-bpf, under which strace 6.1 delivers no signal.
        done = refresh(own, strace, "-f", "-qq", "-o", "/dev/null", *fault)
        where = f"{kind} at {call} {number}: {done.stdout}{done.stderr}"
        print(where)
        ends[done.returncode] += 1
        assert content(own.published_file) == expected, where
        again = refresh(own)
        assert again.returncode == 0, f"{where}\n{again.stdout}{again.stderr}"
        assert content(own.published_file) == expected, where
        assert problem_of_current(own) is None, where
        assert leftovers(own) == [], where
    print(kind, dict(ends))
