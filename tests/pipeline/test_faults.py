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

from orchestration.publication.folders import leftovers, problem_of_current
from orchestration.settings.home import PROJECT, Home
from tests.homes import add_a_line, copy_of
from tests.pipeline.faults import seen
from tests.published import facts_of

TODAY = dt.date.today().toordinal()
SHARE = 16
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
    for attempt in found:
        judge(attempt)
    assert len(found[0]["operations"]) > 20
    assert Counter(attempt["kind"] for attempt in found).keys() == {"kill", "EIO", "ENOSPC"}
    assert any(attempt["code"] == -9 for attempt in found)
    assert any(attempt["code"] == 1 for attempt in found)


@pytest.mark.slow
def test_every_point_while_publishing(tmp_path):
    found = attempts(tmp_path, 1, 0)
    for attempt in found:
        judge(attempt)
    seen = {json.loads(attempt["after"][1])["warehouse"] for attempt in found if attempt["kind"] == "kill"}
    assert seen == {"run-1", "run-2"}


CALLS = "rename,renameat,renameat2,fsync,fdatasync,pwrite64,ftruncate,unlink,mkdir,symlink"
"""What changes a file or a name. strace counts the calls of each thread by itself."""
KINDS = ("signal=KILL", "error=EIO", "error=ENOSPC")
COUNTED = re.compile(r"^(?P<thread>\d+) +(?P<call>[a-z0-9]+)\(")


@pytest.fixture(scope="module")
def strace() -> str:
    found = shutil.which("strace")
    assert found, "strace is missing; `make slow` installs it"
    return found


@pytest.fixture
def home(testbed_home, tmp_path):
    """The capture's home with a new file, so that a refresh has something to do."""
    home = copy_of(testbed_home, tmp_path)
    add_a_line(home)
    return home


def refresh(home: Home, *prefix: object) -> subprocess.CompletedProcess:
    command = [*prefix, Path(sys.executable).with_name("faultline"), "refresh", "--home", home.root]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


def points_of(log: Path) -> list[tuple[str, int]]:
    """Read from a log of strace every call that changes something, and which of its thread's it is."""
    most: Counter[str] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for line in log.read_text(errors="replace").splitlines():
        if match := COUNTED.match(line):
            counts[match["thread"], match["call"]] += 1
            most[match["call"]] = max(most[match["call"]], counts[match["thread"], match["call"]])
    return [(call, number) for call, last in most.items() for number in range(1, last + 1)]


def counting(strace: str, log: Path) -> list[str]:
    return [strace, "-f", "--seccomp-bpf", "-qq", "-o", str(log), "-e", f"trace={CALLS}"]


def failing(strace: str, kind: str, call: str, number: int) -> list[str]:
    """Have one call fail. Not with --seccomp-bpf, under which strace 6.1 delivers no signal."""
    fault = f"inject={call}:{kind}:when={number}"
    return [strace, "-f", "-qq", "-o", "/dev/null", "-e", f"trace={call}", "-e", fault]


def publish(home: Home, run_id: str, *prefix: str) -> subprocess.CompletedProcess:
    command = [*prefix, sys.executable, "-m", "tests.pipeline.faults", "publish", str(home.root), run_id]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_step_that_publishes_with_a_fault_at_any_call(kind, strace, tmp_path):
    template, home = Home.at(tmp_path / "template"), Home.at(tmp_path / "home")
    assert publish(template, "run-1").returncode == 0
    shutil.copytree(template.root, home.root, symlinks=True)
    assert publish(home, "run-2", *counting(strace, tmp_path / "calls")).returncode == 0
    # Python begins with calls of its own, for instance for compiled modules; most points are DuckDB's.
    points, ends = points_of(tmp_path / "calls"), Counter()
    for call, number in random.Random(f"{TODAY} {kind}").sample(points, min(FAULTS, len(points))):
        shutil.rmtree(home.root)
        shutil.copytree(template.root, home.root, symlinks=True)
        done = publish(home, "run-2", *failing(strace, kind, call, number))
        where = f"{kind} at {call} {number}: {done.stdout}{done.stderr}"
        ends[done.returncode] += 1
        after = seen(home)
        assert after["warehouse"] == after["report"], where
        assert after["account"] == [after["warehouse"], "succeeded"], where
        again = publish(home, "run-3")
        assert again.returncode == 0, f"{where}\n{again.stdout}{again.stderr}"
        state = json.loads(again.stdout)
        assert state == {"warehouse": "run-3", "report": "run-3", "account": ["run-3", "succeeded"]}, where
        assert leftovers(home) == [], where
    print(kind, len(points), dict(ends))


@pytest.fixture(scope="module")
def points(strace, testbed_home, tmp_path_factory) -> list[tuple[str, int]]:
    """Every point of a whole refresh."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("points"))
    add_a_line(home)
    done = refresh(home, *counting(strace, home.root / "calls"))
    assert done.returncode == 0, done.stderr
    return points_of(home.root / "calls")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_refresh_with_a_fault_at_any_call_is_made_good_by_the_next(kind, strace, points, home, testbed_home):
    rng = random.Random(f"{TODAY} {kind}")
    expected, ends = facts_of(testbed_home.published_file), Counter()
    for call, number in rng.sample(points, min(FAULTS, len(points))):
        own = Home.at(home.root.with_name("own"))
        shutil.rmtree(own.root, ignore_errors=True)
        shutil.copytree(home.root, own.root, symlinks=True)
        done = refresh(own, *failing(strace, kind, call, number))
        where = f"{kind} at {call} {number}: {done.stdout}{done.stderr}"
        print(where)
        ends[done.returncode] += 1
        assert facts_of(own.published_file) == expected, where
        again = refresh(own)
        assert again.returncode == 0, f"{where}\n{again.stdout}{again.stderr}"
        assert facts_of(own.published_file) == expected, where
        assert problem_of_current(own) is None, where
        assert leftovers(own) == [], where
    print(kind, dict(ends))
