"""`faultline refresh --forget`: what it lists, deletes and keeps, and its messages when it refuses."""

import json
import shutil
from functools import partial

import duckdb
import pytest

from assets.sources.kernel import reader as kernel
from assets.sources.sacct import reader as sacct
from assets.warehouse import Warehouse
from orchestration.home import Home
from orchestration.refresh import run
from orchestration.refresh.outcome import Outcome
from tests.homes import copy_of, faultline, held_lock, held_open
from tests.logs import export, numbered
from tests.sources.folders import load_results, make

READERS = {"sacct": sacct, "kernel": kernel}
XID = "Nov 21 07:34:23 node001 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, name=python\n"
YES = ("--yes",)
LINES = ("lines_in", "loaded", "skipped", "quarantined")
CHECKS = {"passed": 0, "failed": 0, "warned": 0}
TABLES = ("raw.sacct", "raw.kernel_messages", "ops.files", "ops.skips", "ops.quarantine")


def jobs(*numbers):
    return export(numbered(numbers))


def read(home):
    """Read the sources folder of a home as a refresh does."""
    with Warehouse(path=str(home.working_file)).writing() as con:
        load_results(home.sources, con, READERS)


@pytest.fixture(scope="module")
def home_as_read(tmp_path_factory):
    """Clusters a and b were read; then two exports and a kernel log of a were removed from the sources."""
    home = Home.at(tmp_path_factory.mktemp("read") / "home")
    files = {
        "a/sacct/2023-01.txt": jobs(1, 2), "a/sacct/2023-02.txt": f"{jobs(3)}odd\n", "a/sacct/2024-01.txt": jobs(2, 4),
        "a/kernel/k.log": XID, "b/sacct/2023-01.txt": jobs(5),
    }  # fmt: skip
    make(home.sources, files)
    read(home)
    for removed in ("a/sacct/2023-01.txt", "a/sacct/2023-02.txt", "a/kernel/k.log"):
        (home.sources / removed).unlink()
    read(home)
    return home


@pytest.fixture
def home(home_as_read, tmp_path):
    """A copy to change."""
    return copy_of(home_as_read, tmp_path)


@pytest.fixture
def refreshed(monkeypatch):
    """Homes that are refreshed after that."""
    homes = []

    def refresh(settings, _):
        homes.append(settings.home)
        return Outcome("published", 1.0, "report", "warehouse", lines=dict.fromkeys(LINES, 0), checks=CHECKS)

    monkeypatch.setattr(run, "run_refresh", refresh)
    return homes


@pytest.fixture
def forget(home, refreshed):
    return partial(run_forget, home)


def run_forget(home, *names, options=()):
    """Run the command; return its exit status and its output."""
    done = faultline(home, "refresh", *(word for name in names for word in ("--forget", name)), *options)
    assert "Traceback" not in done.output
    return done.exit_code, done.output


def content(home):
    """Return the kept rows by table, without the run that read them."""
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        queries = {table: f"select columns(lambda c: c <> 'run_id') from {table} order by all" for table in TABLES}
        return {table: con.execute(query).fetchall() for table, query in queries.items()}


def paths(home, table):
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        return [path for (path,) in con.execute(f"select distinct path from {table} order by 1").fetchall()]


def test_without_yes_it_only_says_what_would_be_forgotten(home, forget):
    before = content(home)
    status, said = forget("a")
    assert status == 0
    assert said.splitlines() == [
        "a/kernel/k.log: 1 line",
        "a/sacct/2023-01.txt: 2 lines",
        "a/sacct/2023-02.txt: 1 line",
        "would be forgotten: 3 files; add --yes to do it",
    ]
    assert content(home) == before
    assert not home.forgotten.exists()


def test_what_is_forgotten_is_gone_from_every_table_and_the_rest_stays(home, forget, refreshed):
    status, said = forget("a/sacct/2023-*", options=YES)
    assert status == 0
    assert "forgotten: 2 files\n" in said
    assert refreshed == [home]
    assert paths(home, "raw.sacct") == ["a/sacct/2024-01.txt", "b/sacct/2023-01.txt"]
    assert paths(home, "raw.kernel_messages") == ["a/kernel/k.log"]
    assert paths(home, "ops.files") == ["a/kernel/k.log", "a/sacct/2024-01.txt", "b/sacct/2023-01.txt"]
    assert paths(home, "ops.quarantine") == []
    assert set(paths(home, "ops.skips")) <= {"a/sacct/2024-01.txt", "b/sacct/2023-01.txt"}
    assert home.forgotten.read_text().splitlines() == ["a/sacct/2023-01.txt", "a/sacct/2023-02.txt"]
    assert forget("a/sacct/2023-*", options=YES)[0] == 1, "they are forgotten already"


def test_after_it_the_home_is_one_that_never_had_the_files(home, forget, tmp_path):
    forget("a", options=YES)
    read(home)
    other = Home.at(tmp_path / "other")
    shutil.copytree(home.sources, other.sources)
    read(other)
    assert content(home) == content(other)


def test_a_cluster_whose_folder_is_gone_is_forgotten_whole(home, forget):
    shutil.rmtree(home.sources / "b")
    status, said = forget("b", options=("--yes", "--json"))
    assert status == 0
    found = json.loads(said)
    assert (found["is_forgotten"], found["status"]) == (True, "published")
    assert found["files"] == [{"path": "b/sacct/2023-01.txt", "kind": "sacct", "loaded": 1}]
    assert all(not path.startswith("b/") for table in ("raw.sacct", "ops.files") for path in paths(home, table))


def test_where_no_log_is_left_nothing_is_refreshed(home, forget, refreshed):
    for cluster in ("a", "b"):
        shutil.rmtree(home.sources / cluster)
    status, said = forget("a", "b/sacct/*", options=("--yes", "--json"))
    found = json.loads(said)
    assert (status, found["is_forgotten"], len(found["files"]), refreshed) == (0, True, 5, [])
    assert paths(home, "ops.files") == []


def test_one_name_that_cannot_be_forgotten_keeps_the_others(home, forget, refreshed):
    before = content(home)
    assert forget("a", "z", options=YES)[0] == 1
    assert (content(home), refreshed) == (before, [])


def test_yes_alone_is_wrong_usage(forget, refreshed):
    assert (forget(options=YES)[0], refreshed) == (2, [])


@pytest.mark.parametrize("pattern", ["/sacct/2023-01.txt", "/sacct/2023-01.txt@*", "/*", ""])
def test_an_older_version_is_forgotten_while_the_file_is_there(pattern, home, forget):
    make(home.sources, {"b/sacct/2023-01.txt": jobs(6, 7)})
    read(home)
    version, *_ = [path for path in paths(home, "raw.sacct") if "@" in path]
    status, said = forget(f"b{pattern}")
    assert (status, said.splitlines()[0]) == (0, f"{version}: 1 line")
    assert forget(f"b{pattern}", options=YES)[0] == 0
    assert [path for path in paths(home, "ops.files") if path.startswith("b/")] == ["b/sacct/2023-01.txt"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["z"], "nothing was read of a cluster 'z'; `faultline status` names the clusters"),
        (["a/sacct/2022-*"], "no file that was read of a is named sacct/2022-*; ops.files lists them"),
        (["a/sacct/2024-01.txt"], "a/sacct/2024-01.txt is in the sources folder and would be read again; take it"),
        (["b"], "all files that were read of b are in the sources folder; take out first what is to be forgotten"),
    ],
)
def test_what_cannot_be_forgotten_is_told_and_changes_nothing(arguments, said, home, forget):
    before = content(home)
    status, output = forget(*arguments, options=YES)
    assert status == 1
    (line,) = output.strip().splitlines()
    assert line.startswith(f"faultline: {said}")
    assert content(home) == before
    assert not home.forgotten.exists()


def test_not_while_a_refresh_runs(home, forget):
    before = content(home)
    with held_lock(home):
        status, said = forget("a", options=YES)
    assert status == 1
    assert "refresh" in said
    assert content(home) == before


def test_a_damaged_working_file_is_named_with_the_next_step(home, forget):
    home.working_file.write_bytes(b"no database" * 1000)
    status, said = forget("a", options=YES)
    assert status == 1
    assert "`faultline refresh`" in said


def test_a_working_file_that_another_program_has_open_is_not_called_damaged(home, forget):
    with held_open(home.working_file):
        status, said = forget("a", options=YES)
    assert status == 1
    assert "close what else has it open" in said


def test_what_is_gone_is_told_by_the_sources_that_are_named(home, forget, tmp_path):
    elsewhere = tmp_path / "logs"
    home.sources.rename(elsewhere)
    before = content(home)
    status, said = forget("a", options=YES)
    assert status == 1
    assert f"the sources folder {home.sources} does not exist" in said
    assert content(home) == before
    status, said = forget("a", options=("--sources", elsewhere))
    assert (status, "a/sacct/2024-01.txt" in said, "a/sacct/2023-01.txt" in said) == (0, False, True)


def test_a_cluster_that_no_text_can_name_is_unknown(forget):
    status, said = forget("a\udcff")
    assert (status, "nothing was read of a cluster" in said) == (1, True)
