"""A home that is damaged heals itself: what can be built again is set aside, built again, and said in one line.

Per push, what each kind of damage makes of a refresh is seen up to the moment in which the run would start. The slow
tests run it and compare all that is published with what a home without damage publishes.
"""

import io
import os
import shutil
import subprocess
import sys
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
from orchestration.publication.folders import current_publication, kept_publications, problem_of_current, publish
from orchestration.read_commands.status import status
from orchestration.refresh import run as refreshing
from orchestration.runs.failures import DBT_TELLS_NOTHING
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from orchestration.terminal.output import console
from orchestration.upkeep import healing
from tests.homes import add_a_line, ask, copy_of, faultline, held_open
from tests.published import facts_of

GARBAGE = bytes(range(256)) * 400
CORRUPT = "Corrupt database file: computed checksum 1 does not match stored checksum 2"


def overwrite(path: Path, at: float, length: int = 3000) -> None:
    """Spoil some bytes at a share of the file's length."""
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * at))
        file.write(GARBAGE[:length])


def cut(path: Path, to: float) -> None:
    os.truncate(path, int(path.stat().st_size * to))


def leave_a_journal(home: Home) -> None:
    """Leave the working file as a process does that is killed while it writes, its journal spoiled."""
    code = (
        "import duckdb, os, sys; con = duckdb.connect(sys.argv[1]); con.execute('checkpoint');"
        "con.execute('create table ops.scratch as select range as a from range(9000)'); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(home.working_file)], check=True)
    overwrite(Path(f"{home.working_file}.wal"), 0.5, 50)


def make_a_folder_of(path: Path) -> None:
    path.unlink()
    path.mkdir()


def database_of(home: Home, name: str) -> Path:
    """A file of Dagster's history, its journal written back and removed."""
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
    "report is gone": (lambda home: home.report.unlink(), None),
    "lock file is garbage": (lambda home: home.lock_file.write_bytes(b"\xff\xfe" + GARBAGE), ""),
    "lock file is a folder": (lambda home: make_a_folder_of(home.lock_file), ""),
    "dbt's cache is garbage": (lambda home: (home.work / "dbt" / "partial_parse.msgpack").write_bytes(GARBAGE), ""),
    "dbt's results are garbage": (lambda home: (home.work / "dbt" / "run_results.json").write_bytes(GARBAGE), ""),
    "publication.json is garbage": (lambda home: (home.current / "publication.json").write_bytes(GARBAGE), ""),
    "run history is empty": (lambda home: database_of(home, "runs.db").write_bytes(b""), ""),
}
"""By kind: what is done to a home, and what is set aside before the run starts. None: what readers see is published
anew; an empty text: it is simply written anew, with nothing to be said."""


def give_a_reason(home: Home) -> None:
    """Have something that a refresh has to run for."""
    (home.sources / "testbed" / "cluster.toml").write_text('timezone = "UTC"\n# changed\n')


@pytest.fixture
def home(testbed_home, tmp_path):
    """A home of one's own with the capture's good publication in it."""
    return copy_of(testbed_home, tmp_path)


@pytest.fixture
def start(home, monkeypatch, capsys):
    """Refresh up to where the run would start; tell what was said and how often a run was started."""
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


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_set_aside_and_said_in_one_line_and_the_run_starts(kind, home, start):
    do, set_aside = DAMAGE[kind]
    do(home)
    if set_aside is not None:
        give_a_reason(home)
    assert status(home)["last_run"]["status"] == "succeeded" or set_aside is None
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


def test_a_working_file_that_is_set_aside_says_how_many_lines_cannot_be_read_again(home):
    shutil.rmtree(home.sources / "testbed" / "kernel")
    ((lines,),) = ask(home, "select sum(loaded)::integer from ops.files where path like '%/kernel/%'")
    for file, words in ((home.working_file, f"{lines} lines"), (home.published_file, "an unknown number of lines")):
        said = []
        file.write_bytes(GARBAGE)
        home.working_file.write_bytes(GARBAGE)
        healing.heal(home, said.append)
        assert said[0].endswith(f"; lost, because gone from the sources folder: {words}")


@pytest.mark.parametrize("name", ["working_file", "build_file"])
def test_damage_that_shows_while_the_run_reads_is_set_aside_and_the_run_starts_again(name, home, start):
    overwrite(getattr(home, name), 0.6)
    give_a_reason(home)
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
    give_a_reason(home)
    asked = []
    monkeypatch.setattr(session, "heal", lambda _home, _say, deep=False, **_: asked.append(deep))
    with nullcontext() if is_read else pytest.raises(refreshing.RefreshFailed):
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
@pytest.mark.parametrize("kind", [duckdb.IOException, duckdb.FatalException])
def test_an_error_that_is_not_the_files_own_is_no_damage(kind, words):
    assert not healing.is_damage(kind(words))


def test_free_blocks_beyond_the_end_of_a_file_are_no_damage(tmp_path):
    """DuckDB counts the blocks of a table that was dropped or rolled back, and cuts the file off before them."""
    file = tmp_path / "faultline.duckdb"
    with duckdb.connect(str(file)) as con:
        con.execute("create table stays as select range as a, hash(range) as b from range(300_000)")
        con.execute("checkpoint")
        con.execute("create table goes as select range as a, hash(range) as b from range(2_000_000)")
        con.execute("checkpoint")
        con.execute("drop table goes")
        con.execute("checkpoint")
    with duckdb.connect(str(file), read_only=True) as con:
        blocks, size = con.execute("select total_blocks, block_size from pragma_database_size()").fetchone()
    assert file.stat().st_size < blocks * size
    assert healing.problem_of(file) is None
    cut(file, 0.7)
    assert "Could not read enough bytes" in healing.problem_of(file)


def test_only_the_last_file_that_was_set_aside_stays(tmp_path):
    path = tmp_path / "faultline.duckdb"
    for earlier in ("faultline.duckdb.damaged-20250101T000000Z", "faultline.duckdb.damaged-20250102T000000Z"):
        (tmp_path / earlier).mkdir()
    path.write_bytes(GARBAGE)
    aside = healing.set_aside(path)
    assert list(tmp_path.iterdir()) == [aside]


def test_a_damaged_publication_is_set_aside_when_the_next_one_is_seen_and_doctor_tells_where(home):
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
    """Root may read everything, so the question is asked of the mode here."""
    path = tmp_path / "faultline.duckdb"
    path.touch()
    path.chmod(0)
    monkeypatch.setattr(healing.os, "access", lambda path, _: path.stat().st_mode & 0o600 == 0o600)
    healing.make_accessible(path)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    healing.make_accessible(path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_status_with_a_damaged_published_file_says_so_and_fails(home):
    home.published_file.write_bytes(GARBAGE)
    done = faultline(home, "status")
    assert (done.exit_code, "published  damaged: " in done.output, "last run   succeeded" in done.output) == (
        1,
        True,
        True,
    )


MORE = {
    **{kind: do for kind, (do, _) in DAMAGE.items()},
    "working file is damaged in the middle": lambda home: overwrite(home.working_file, 0.6),
    "working publication is cut in half": lambda home: cut(home.build_file, 0.5),
    "published file is empty": lambda home: home.published_file.write_bytes(b""),
    "report is cut in half": lambda home: cut(home.report, 0.5),
    "dbt's manifest is cut in half": lambda home: cut(dbt.manifest_of(home), 0.5),
    "column lineage is garbage": lambda home: dbt.lineage_of(home).write_bytes(GARBAGE),
    "link to the publication is gone": lambda home: home.current.unlink(),
    "publications are gone": lambda home: shutil.rmtree(home.publications),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", MORE)
def test_the_refresh_publishes_what_a_home_without_damage_does(kind, home, testbed_home):
    add_a_line(home)
    MORE[kind](home)
    text = io.StringIO()
    refreshing.run_refresh(HomeSettings(home), console(text))
    print(text.getvalue())
    found, expected = facts_of(home.published_file), facts_of(testbed_home.published_file)
    assert found.keys() == expected.keys()
    # The new file has no line worth reading; it only gives the refresh a reason.
    assert [name for name in found if found[name] != expected[name]] == []
    assert status(home)["last_run"]["status"] == "succeeded"
    assert problem_of_current(home) is None
