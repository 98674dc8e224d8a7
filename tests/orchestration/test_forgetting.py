"""`faultline refresh --forget`: what it lists, deletes and keeps, and its messages when it refuses."""

import json
import shutil
from contextlib import nullcontext
from functools import partial

import pytest

from assets.sources.kernel import reader as kernel
from assets.sources.sacct import reader as sacct
from assets.warehouse import Warehouse
from orchestration.refresh import run
from orchestration.refresh.outcome import Outcome
from orchestration.settings.home import Home
from tests.homes import ask, copy_of, faultline, held_lock, held_open
from tests.logs import export, numbered
from tests.sources.folders import load_results, make

READERS = {"sacct": sacct, "kernel": kernel}
XID = "Nov 21 07:34:23 node001 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, name=python\n"
YES = ("--yes",)
TABLES = ("raw.sacct", "raw.kernel_messages", "ops.files", "ops.skips", "ops.quarantine")


def jobs(*numbers):
    return export(numbered(numbers))


def read(home):
    """Read the sources folder of a home as a refresh does."""
    with Warehouse(path=str(home.working_file)).writing() as con:
        load_results(home.sources, con, READERS)


@pytest.fixture(scope="module")
def home_as_read(tmp_path_factory):
    """Clusters a and b were read; then two exports and a kernel log of a were removed."""
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
    """The homes that are refreshed afterwards."""
    homes = []
    counts = {
        "lines": dict.fromkeys(("lines_in", "loaded", "skipped", "quarantined"), 0),
        "checks": {"passed": 0, "failed": 0, "warned": 0},
    }

    def refresh(settings, _):
        homes.append(settings.home)
        return Outcome("published", 1.0, "report", "warehouse", **counts)

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
    """Return the kept rows by table, without their run."""
    query = "select columns(lambda c: c <> 'run_id') from {} order by all"
    return {table: ask(home.working_file, query.format(table)) for table in TABLES}


def paths(home, table):
    """Return the files with rows in a table."""
    return [path for (path,) in ask(home.working_file, f"select distinct path from {table} order by 1")]


def test_what_is_forgotten_is_gone_from_every_table_and_the_rest_stays(home, forget, refreshed):
    before = content(home)
    status, said = forget("a")
    listed = ["a/kernel/k.log: 1 line", "a/sacct/2023-01.txt: 2 lines", "a/sacct/2023-02.txt: 1 line"]
    assert (status, said.splitlines()[:3], "add --yes" in said) == (0, listed, True)
    assert (content(home), home.forgotten.exists()) == (before, False)
    status, said = forget("a/sacct/2023-*", options=YES)
    assert (status, "forgotten: 2 files\n" in said, refreshed) == (0, True, [home])
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


def test_a_cluster_whose_folder_is_gone_is_forgotten_whole_and_without_logs_nothing_is_refreshed(
    home, forget, refreshed
):
    shutil.rmtree(home.sources / "b")
    status, said = forget("b", options=("--yes", "--json"))
    found = json.loads(said)
    assert (status, found["is_forgotten"], found["status"], refreshed) == (0, True, "published", [home])
    assert found["files"] == [{"path": "b/sacct/2023-01.txt", "kind": "sacct", "loaded": 1}]
    assert all(not path.startswith("b/") for table in ("raw.sacct", "ops.files") for path in paths(home, table))
    shutil.rmtree(home.sources / "a")
    status, said = forget("a", options=("--yes", "--json"))
    assert (status, json.loads(said)["is_forgotten"], refreshed) == (0, True, [home])
    assert paths(home, "ops.files") == []


@pytest.mark.parametrize("pattern", ["/sacct/2023-01.txt", "/sacct/2023-01.txt@*", "/*", ""])
def test_an_older_version_is_forgotten_while_the_file_is_there(pattern, home, forget):
    make(home.sources, {"b/sacct/2023-01.txt": jobs(6, 7)})
    read(home)
    version, *_ = [path for path in paths(home, "raw.sacct") if "@" in path]
    status, said = forget(f"b{pattern}")
    assert (status, said.splitlines()[0]) == (0, f"{version}: 1 line")
    assert forget(f"b{pattern}", options=YES)[0] == 0
    assert [path for path in paths(home, "ops.files") if path.startswith("b/")] == ["b/sacct/2023-01.txt"]


def move_sources(home):
    home.sources.rename(home.root / "elsewhere")


@pytest.mark.parametrize(
    ("names", "before", "meanwhile", "said"),
    [
        (["z"], None, None, "nothing was read of a cluster 'z'; `faultline status` names the clusters"),
        (["a\udcff"], None, None, "nothing was read of a cluster"),
        (["a", "z"], None, None, "nothing was read of a cluster 'z'"),
        (["a/sacct/2022-*"], None, None, "no file that was read of a is named sacct/2022-*; ops.files lists them"),
        (["a/sacct/2024-01.txt"], None, None, "a/sacct/2024-01.txt is in the sources folder and would be read again"),
        (["b"], None, None, "all files that were read of b are in the sources folder; take out first what is to be"),
        (["a"], move_sources, None, "the sources folder "),
        (["a"], None, held_lock, "a refresh of "),
        (["a"], None, lambda home: held_open(home.working_file), "work/faultline.duckdb cannot be used ("),
    ],
)
def test_what_cannot_be_forgotten_is_told_and_changes_nothing(names, before, meanwhile, said, home, forget, refreshed):
    stored = content(home)
    if before:
        before(home)
    with meanwhile(home) if meanwhile else nullcontext():
        status, output = forget(*names, options=YES)
    (line,) = output.strip().splitlines()
    assert (status, said in line, "repairs" in line) == (1, True, False)
    assert (content(home), home.forgotten.exists(), refreshed) == (stored, False, [])
