"""Homes that earlier versions made: the code of today takes them over by itself, and says so."""

import io
import shutil
import tarfile
from pathlib import Path

import duckdb
import pytest

from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.publication.folders import kept_publications, publish
from orchestration.publication.freshness import is_up_to_date
from orchestration.read_commands.status import status
from orchestration.refresh import run as refreshing
from orchestration.terminal import console
from orchestration.upkeep import healing
from tests.conftest import CAPTURE, FIXTURES
from tests.published import compare, content_of, facts_of


def home_of(version: str, root: Path) -> Home:
    """Unpack the home that a version made of the capture, with the logs that it was made of."""
    home = Home.at(root / "home")
    home.root.mkdir()
    with tarfile.open(FIXTURES / f"home-{version}" / "home.tar.xz") as packed:
        packed.extractall(home.root, filter="data")
    shutil.copytree(CAPTURE, home.sources / "testbed")
    return home


@pytest.fixture
def home(tmp_path):
    """The home of 0.1.0."""
    return home_of("0.1.0", tmp_path)


def test_it_is_read_and_not_taken_for_up_to_date(home):
    found = status(home)
    assert found["published"]["code_version"].startswith("0.1.0+")
    assert found["last_run"]["status"] == "succeeded"
    assert not is_up_to_date(home)


def test_its_tables_become_those_of_today_or_the_file_is_set_aside(home):
    said = []
    assert not healing.heal(home, said.append, deep=True)
    healing.heal_schema(home, said.append)
    if home.working_file.exists():
        assert said == []
        with duckdb.connect(str(home.working_file), read_only=True) as con:
            assert con.execute("select count(*) from raw.sacct").fetchone()[0] > 100
    else:
        assert len(said) == 1
        assert "is of another version" in said[0]


def test_what_it_published_is_kept_when_the_next_is_seen(home):
    before = home.published_file.read_bytes()
    publish(home, "next", "v", home.publication, home.working_reports / "latest")
    newest, first = kept_publications(home)
    assert newest.run_id == "next"
    assert first.file.read_bytes() == before
    assert first.code_version.startswith("0.1.0+")


def test_the_next_refresh_says_so_in_one_line(home):
    said = []
    refreshing._tell_of_another_version(home, said.append)
    assert len(said) == 1
    assert said[0].startswith("the last publication was made by Faultline 0.1.0+")


@pytest.mark.slow
def test_a_refresh_publishes_what_a_new_home_does_and_says_that_all_is_built_anew(home, testbed_home):
    text = io.StringIO()
    refreshing.run_refresh(HomeSettings(home), console(text))
    said = [line for line in text.getvalue().splitlines() if "made by Faultline 0.1.0+" in line]
    assert len(said) == 1
    assert "all is built anew" in said[0]
    assert facts_of(home.published_file) == facts_of(testbed_home.published_file)
    assert len(kept_publications(home)) == 2


@pytest.mark.slow
def test_no_line_of_a_file_that_is_gone_is_lost(tmp_path, testbed_home):
    """Only the inventory is left of the logs: rows of other files are those that the earlier version read."""
    home = home_of("0.2.0.dev0", tmp_path)
    for folder in (home.sources / "testbed").iterdir():
        if folder.name != "inventory":
            shutil.rmtree(folder)
    text = io.StringIO()
    refreshing.run_refresh(HomeSettings(home), console(text))
    assert "set aside" not in text.getvalue()
    assert lines_of(home) == lines_of(testbed_home)
    found, expected = (
        {name: rows for name, rows in content_of(of.published_file).items() if not name.startswith("ops.")}
        for of in (home, testbed_home)
    )
    compare(found, expected)


def lines_of(home: Home) -> dict[str, list[tuple]]:
    """List where each row of the raw tables was read."""
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        tables = con.execute(
            "select table_name from duckdb_columns() where schema_name = 'raw' and column_name = 'line_number'"
        ).fetchall()
        return {
            table: con.execute(f"select cluster_id, path, line_number from raw.{table} order by all").fetchall()
            for (table,) in tables
        }
