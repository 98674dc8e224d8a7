"""A damaged home, a killed or stopped refresh, a failing or full disk, at any moment.

The last good publication stays, the next refresh repairs the home and says so in one line, and no line is lost. Per
push, each kind of damage is tested up to the start of the run, and the publishing step fails at some of its numbered
points (`faults.py`), at other points each day. The slow tests refresh each damaged home, try every point, and watch the
writes of DuckDB, SQLite and dbt by strace as well.
"""

import datetime as dt
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import duckdb
import pytest

from assets.warehouse import Warehouse
from orchestration.dbt import build as dbt
from orchestration.doctor.doctor import doctor
from orchestration.lifecycle import session
from orchestration.lifecycle.resources import resources
from orchestration.publication.folders import (
    current_publication,
    kept_publications,
    leftovers,
    problem_of_current,
    publish,
)
from orchestration.read_commands.status import status
from orchestration.refresh import run as refreshing
from orchestration.runs.refresh_errors import DBT_TELLS_NOTHING, RefreshFailed
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import PROJECT, Home
from orchestration.terminal.output import console
from orchestration.upkeep import healing
from orchestration.upkeep.lock import RefreshLock
from tests.conftest import refresh
from tests.homes import add_a_line, ask, copy_of, faultline, held_open
from tests.patience import PATIENCE_SECONDS
from tests.published import facts_of

FAULTLINE = Path(sys.executable).with_name("faultline")
TODAY = dt.date.today().toordinal()
FAULTS = int(os.environ.get("FAULTLINE_FAULTS", "30"))
"""How many calls of each kind the tests under strace try."""
GARBAGE = bytes(range(256)) * 400
CORRUPT = "Corrupt database file: computed checksum 1 does not match stored checksum 2"


@pytest.fixture
def home(testbed_home, tmp_path):
    """The capture's home with a good publication, to be damaged."""
    return copy_of(testbed_home, tmp_path)


def overwrite(path: Path, at: float, length: int = 3000) -> None:
    """Overwrite some bytes at a share of the file's length."""
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * at))
        file.write(GARBAGE[:length])


def cut(path: Path, to: float) -> None:
    """Cut a file to a share of its length."""
    os.truncate(path, int(path.stat().st_size * to))


def leave_a_journal(home: Home) -> None:
    """Leave the working file as after a kill during a write, with a damaged journal."""
    code = (
        "import duckdb, os, sys; con = duckdb.connect(sys.argv[1]); con.execute('checkpoint');"
        "con.execute('create table ops.scratch as select range as a from range(9000)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(home.working_file)], check=True)
    overwrite(Path(f"{home.working_file}.wal"), 0.5, 50)


def make_a_folder_of(path: Path) -> None:
    """Replace a file by a folder."""
    path.unlink()
    path.mkdir()


def spoil_both(home: Home) -> None:
    """Damage both files that know how many lines were read."""
    home.working_file.write_bytes(GARBAGE)
    home.published_file.write_bytes(GARBAGE)


def database_of(home: Home, name: str) -> Path:
    """Return a file of Dagster's history, with its journal written back and removed."""
    (found,) = (home.dagster / "history").rglob(name)
    for journal in found.parent.glob(f"{name}-*"):
        journal.unlink()
    return found


WORKING, PUBLICATION = "work/faultline.duckdb", "work/publication.duckdb"
HISTORY, SETTINGS = "dagster/history", "dagster/dagster.yaml"
DAMAGE = {
    "working file is garbage": (lambda home: home.working_file.write_bytes(GARBAGE), WORKING),
    "working file is empty": (lambda home: home.working_file.write_bytes(b""), WORKING),
    "working file is cut in half": (lambda home: cut(home.working_file, 0.5), WORKING),
    "working file lacks its end": (lambda home: cut(home.working_file, 0.999), WORKING),
    "working file is a folder": (lambda home: make_a_folder_of(home.working_file), WORKING),
    "journal is damaged": (leave_a_journal, f"{WORKING}.wal"),
    "working publication is garbage": (lambda home: home.build_file.write_bytes(GARBAGE), PUBLICATION),
    "run history is garbage": (lambda home: database_of(home, "runs.db").write_bytes(GARBAGE), HISTORY),
    "run history is cut in half": (lambda home: cut(database_of(home, "index.db"), 0.5), HISTORY),
    "settings of Dagster are garbage": (lambda home: (home.root / SETTINGS).write_bytes(GARBAGE), SETTINGS),
    "published file is garbage": (lambda home: home.published_file.write_bytes(GARBAGE), None),
    "published file is damaged in the middle": (lambda home: overwrite(home.published_file, 0.6), None),
    "report is deleted": (lambda home: home.report.unlink(), None),
    "lock file is garbage": (lambda home: home.lock_file.write_bytes(b"\xff\xfe" + GARBAGE), ""),
    "lock file is a folder": (lambda home: make_a_folder_of(home.lock_file), ""),
    "dbt's cache is garbage": (lambda home: (home.work / "dbt" / "partial_parse.msgpack").write_bytes(GARBAGE), ""),
    "dbt's results are garbage": (lambda home: (home.work / "dbt" / "run_results.json").write_bytes(GARBAGE), ""),
    "publication.json is garbage": (lambda home: (home.current / "publication.json").write_bytes(GARBAGE), ""),
    "run history is empty": (lambda home: database_of(home, "runs.db").write_bytes(b""), ""),
}
"""By kind: the damage to a home, and what is set aside before the run starts. None: the publication is made again; an
empty text: the file is simply written again, without a message."""
EACH_PUSH = {
    "working file is cut in half", "journal is damaged", "working publication is garbage", "run history is garbage",
    "published file is garbage", "lock file is a folder", "publication.json is garbage",
}  # fmt: skip
SEEN_DURING_A_RUN = {
    "working file is damaged in the middle": lambda home: overwrite(home.working_file, 0.6),
    "working and published file are garbage": spoil_both,
    "working publication is cut in half": lambda home: cut(home.build_file, 0.5),
    "published file is empty": lambda home: home.published_file.write_bytes(b""),
    "report is cut in half": lambda home: cut(home.report, 0.5),
    "dbt's manifest is cut in half": lambda home: cut(dbt.manifest_of(home), 0.5),
    "column lineage is garbage": lambda home: dbt.lineage_of(home).write_bytes(GARBAGE),
    "link to the publication is deleted": lambda home: home.current.unlink(),
    "publications are deleted": lambda home: shutil.rmtree(home.publications),
}


@pytest.fixture
def start(home, monkeypatch, capsys):
    """Refresh up to the start of the run; return the exit status, the output and the number of started runs."""
    ends = [""]

    def execute(settings, _console, _errors, caller):
        error = ends.pop(0)

        @dg.asset
        def table(warehouse: dg.ResourceParam[Warehouse]):
            with warehouse.writing():
                if error:
                    raise duckdb.Error(error)

        given = {"warehouse": resources(settings, caller)["warehouse"]}
        return dg.materialize([table], resources=given, raise_on_error=False)

    def outcome_of(_home, status, _started):
        return SimpleNamespace(status=status, checks={"warned": 0})

    monkeypatch.setattr(refreshing, "_execute", execute)
    monkeypatch.setattr(refreshing, "read_outcome", outcome_of)

    def start(run_ends=("",)):
        ends[:] = run_ends
        text = io.StringIO()
        outcome = refreshing.run_refresh(HomeSettings(home), console(text))
        said = [*text.getvalue().splitlines(), *capsys.readouterr().err.splitlines()]
        return outcome.status, [line for line in said if str(home.root) in line], len(run_ends) - len(ends)

    return start


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in EACH_PUSH else pytest.mark.slow) for kind in DAMAGE]
)
def test_damage_is_set_aside_and_said_in_one_line_and_the_run_starts(kind, home, start):
    do, set_aside = DAMAGE[kind]
    do(home)
    if set_aside is not None:
        add_a_line(home)
    assert status(home)["last_run"]["status"] == "succeeded" or set_aside is None
    assert kind != "published file is garbage" or faultline(home, "status").exit_code == 1
    assert doctor(home)
    outcome, said, runs = start()
    assert (outcome, runs) == ("published", 1)
    if not set_aside:
        words = [line.startswith(f"{home.published_file} was damaged (") for line in said if "made by" not in line]
        assert words == [True] * (set_aside is None)
        return
    path = home.root / set_aside
    (aside,) = path.parent.glob(f"{path.name}.damaged-*")
    assert len(said) == 1, said
    assert said[0].startswith(f"{path} ")
    assert aside.name in said[0]
    assert not healing.heal(home, pytest.fail)
    healing.heal_run_history(home, pytest.fail)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*DAMAGE, *SEEN_DURING_A_RUN])
def test_the_refresh_publishes_what_a_home_without_damage_does(kind, home, testbed_home):
    add_a_line(home)
    do = SEEN_DURING_A_RUN[kind] if kind in SEEN_DURING_A_RUN else DAMAGE[kind][0]
    do(home)
    print(refresh(home))
    found, expected = facts_of(home.published_file), facts_of(testbed_home.published_file)
    assert found.keys() == expected.keys()
    # The new file has no useful line; it only makes the refresh run.
    assert [name for name in found if found[name] != expected[name]] == []
    assert status(home)["last_run"]["status"] == "succeeded"
    assert problem_of_current(home) is None


@pytest.mark.parametrize("name", ["working_file", "build_file"])
def test_damage_that_shows_while_the_run_reads_is_set_aside_and_the_run_starts_again(name, home, start):
    overwrite(getattr(home, name), 0.6)
    add_a_line(home)
    outcome, said, runs = start(run_ends=(f"duckdb.IOException: IO Error: {CORRUPT}", ""))
    assert (outcome, runs) == ("published", 2)
    assert any("Corrupt database file" in line for line in said)


@pytest.mark.parametrize(
    ("error", "is_read"),
    [
        (f"IO Error: {CORRUPT}", True),
        ("blocking checks failed:\n  raw.sacct: 'Corrupt database file'", False),
        ("Conversion Error: Could not convert string 'version number'", False),
        ("Out of Memory Error: could not allocate", False),
        ("INTERNAL Error: odd", True),
        (DBT_TELLS_NOTHING, True),
    ],
)
def test_after_an_error_that_may_be_of_damage_the_files_are_read_whole_and_a_run_starts_once_more(
    home, start, monkeypatch, error, is_read
):
    add_a_line(home)
    asked = []
    monkeypatch.setattr(session, "heal", lambda _home, _say, deep=False, **_: asked.append(deep))
    with nullcontext() if is_read else pytest.raises(RefreshFailed):
        start(run_ends=(error, ""))
    assert asked == [False, *([True] if is_read else [])]


def test_a_file_that_another_process_holds_is_not_damaged(home):
    with held_open(home.working_file):
        assert healing.problem_of(home.working_file, deep=True) is None
        assert not healing.heal(home, pytest.fail, deep=True)


@pytest.mark.parametrize(
    "words",
    [
        "could not write: No space left on device",
        "Cannot open file: Permission denied",
        "Could not read from file: Input/output error",
        "Failure while replaying WAL file: could not write: No space left on device",
        "Conversion Error: Could not convert string 'version number' to INT64",
        "database has been invalidated because of a previous fatal error",
    ],
)
def test_an_error_that_is_not_the_files_own_is_no_damage(words):
    assert not healing.is_damage(duckdb.IOException(words)) and not healing.is_damage(duckdb.FatalException(words))


def test_free_blocks_beyond_the_end_of_a_file_are_no_damage(tmp_path):
    """DuckDB counts the blocks of dropped or rolled-back tables, but truncates the file before them."""
    file = tmp_path / "faultline.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("create table stays as select range as a, hash(range) as b from range(300_000); checkpoint")
        con.execute("create table goes as select range as a, hash(range) as b from range(2_000_000); checkpoint")
        con.execute("drop table goes; checkpoint")
    with duckdb.connect(str(file), read_only=True) as con:
        blocks, size = con.execute("select total_blocks, block_size from pragma_database_size()").fetchone()
    assert file.stat().st_size < blocks * size
    assert healing.problem_of(file) is None
    cut(file, 0.7)
    assert "Could not read enough bytes" in healing.problem_of(file)


def test_a_damaged_publication_is_set_aside_when_the_next_one_is_seen_and_only_the_last_stays(home):
    for name in ("next", "last"):
        home.published_file.write_bytes(GARBAGE)
        damaged = current_publication(home)
        publish(home, name, "v", home.build_file, home.working_reports / "latest")
        assert problem_of_current(home) is None
        assert [publication.run_id for publication in kept_publications(home)] == [name]
        (aside,) = home.publications.glob("*.damaged-*")
        assert aside.name.startswith(f"{damaged.run_id}.damaged-")
        assert any(finding.where == str(aside) for finding in doctor(home))


def test_a_file_that_its_owner_may_not_read_is_made_readable(tmp_path, monkeypatch):
    """Root may read everything, so the test checks the mode instead."""
    path = tmp_path / "faultline.duckdb"
    path.touch()
    monkeypatch.setattr(healing.os, "access", lambda path, _: path.stat().st_mode & 0o600 == 0o600)
    for before, after in ((0, 0o600), (0o640, 0o640)):
        path.chmod(before)
        healing.make_accessible(path)
        assert path.stat().st_mode & 0o777 == after


STOPS = {
    "Ctrl-C while it reads": ("raw", lambda process: os.killpg(process.pid, signal.SIGINT)),
    "SIGTERM while it reads": ("raw", lambda process: process.terminate()),
    "SIGTERM while it pulls": ("pull", lambda process: process.terminate()),
}
"""The step at which a refresh is stopped, and how: a terminal sends Ctrl-C also to dbt, `kill` does not."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if "Ctrl-C" in kind else []) for kind in STOPS]
)
def test_a_signal_stops_a_refresh_in_one_line_and_harms_nothing(kind, home, tmp_path):
    step, stop = STOPS[kind]
    add_a_line(home)
    slow, asked = tmp_path / "slow", tmp_path / "asked"
    slow.write_text(f"#!/bin/sh\ntouch {asked}\nexec sleep 600\n")
    slow.chmod(0o755)
    if step == "pull":
        (home.sources / "testbed" / "cluster.toml").write_text(f'[pull]\nprefix = ["{slow}"]\n')
    before = home.published_file.read_bytes()
    process = subprocess.Popen(
        [str(FAULTLINE), "refresh", "--home", str(home.root)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    if step == "raw":
        assert any(" raw " in line for line in process.stdout)
    while step == "pull" and not asked.exists() and process.poll() is None:
        time.sleep(0.05)
    stop(process)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, len(said.splitlines())) == (130, 1), said
    assert said.startswith("faultline: stopped by Ctrl-C or SIGTERM; nothing was published")
    assert home.published_file.read_bytes() == before
    with RefreshLock(home.lock_file):
        ((end, message),) = ask(home.working_file, "select status, message from ops.runs order by rowid desc limit 1")
    assert (end == "failed" and "Ctrl-C" in message) is (step == "raw")
    left = subprocess.run(["pgrep", "-g", str(process.pid), "-f", "orchestration.dbt"], check=False)
    assert left.returncode == 1, "dbt is left"


@pytest.mark.parametrize(("is_published", "words"), [(True, "it had published"), (False, "nothing was published")])
def test_one_that_was_stopped_says_whether_it_had_published(home, monkeypatch, is_published, words):
    def execute(*_):
        if is_published:
            publish(home, "run-2", "v", home.build_file, home.working_reports / "latest")
        return SimpleNamespace(success=False, run_id="run-2", all_events=[])

    monkeypatch.setattr(refreshing, "_execute", execute)
    monkeypatch.setattr(refreshing, "was_interrupted", lambda _events: True)
    with pytest.raises(refreshing.RefreshInterrupted, match=words):
        refreshing.run_refresh(HomeSettings(home, is_full=True), console(io.StringIO()))


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_a_fault_while_publishing_leaves_readers_with_one_run_or_the_other(every, tmp_path):
    folders = [str(tmp_path / "template"), str(tmp_path / "home")]
    command = [sys.executable, "-m", "tests.pipeline.faults", *folders, str(every), str(TODAY)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["points"] > 20
    assert {code for code, _ in found["ends"]} >= {-9, 1}
    assert {run for _, run in found["ends"]} >= {"run-1", "run-2"} or every > 1


CALLS = "rename,renameat,renameat2,fsync,fdatasync,pwrite64,ftruncate,unlink,mkdir,symlink"
"""Calls that change a file or a name. strace counts the calls of each thread separately."""
COUNTED = re.compile(r"^(?P<thread>\d+) +(?P<call>[a-z0-9]+)\(")


def strace(*words: str) -> list[str]:
    """Return the beginning of a command under strace; without --seccomp-bpf, strace 6.1 delivers its signals."""
    found = shutil.which("strace")
    assert found, "strace is missing; `make slow` installs it"
    return [found, "-f", "-qq", *words]


def refreshing_all(home: Home, *prefix: str) -> subprocess.CompletedProcess:
    """Run a full refresh under another program."""
    command = [*prefix, str(FAULTLINE), "refresh", "--home", str(home.root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def points(testbed_home, tmp_path_factory):
    """Every changing call of a whole refresh, with its number in its thread."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("points"))
    add_a_line(home)
    calls = home.root / "calls"
    done = refreshing_all(home, *strace("--seccomp-bpf", "-o", str(calls), "-e", f"trace={CALLS}"))
    assert done.returncode == 0, done.stderr
    counts = Counter(
        match.groups() for line in calls.read_text(errors="replace").splitlines() if (match := COUNTED.match(line))
    )
    most = {call: max(count for (_, other), count in counts.items() if other == call) for _, call in counts}
    return [(call, number) for call, last in most.items() for number in range(1, last + 1)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["signal=KILL", "error=EIO", "error=ENOSPC"])
def test_a_refresh_with_a_fault_at_any_call_is_made_good_by_the_next(kind, points, home, testbed_home):
    add_a_line(home)
    own, expected, ends = Home.at(home.root.with_name("own")), facts_of(testbed_home.published_file), Counter()
    for call, number in random.Random(f"{TODAY} {kind}").sample(points, min(FAULTS, len(points))):
        shutil.rmtree(own.root, ignore_errors=True)
        shutil.copytree(home.root, own.root, symlinks=True)
        fault = ["-e", f"trace={call}", "-e", f"inject={call}:{kind}:when={number}"]
        done = refreshing_all(own, *strace("-o", "/dev/null", *fault))
        where = f"{kind} at {call} {number}: {done.stdout}{done.stderr}"
        print(where)
        ends[done.returncode] += 1
        assert facts_of(own.published_file) == expected, where
        again = refreshing_all(own)
        assert again.returncode == 0, f"{where}\n{again.stdout}{again.stderr}"
        assert facts_of(own.published_file) == expected, where
        assert (problem_of_current(own), leftovers(own)) == (None, []), where
    print(kind, dict(ends))
