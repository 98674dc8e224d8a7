"""A home of an earlier version: today's code converts it, or stops before lines are lost."""

import shutil
import tarfile

import pytest

from orchestration.publication.folders import publish
from orchestration.publication.freshness import is_up_to_date
from orchestration.refresh import run as refreshing
from orchestration.settings.home import Home
from orchestration.upkeep import healing
from tests.conftest import CAPTURE, FIXTURES, refresh
from tests.homes import ask, change, faultline
from tests.published import compare, content_of


@pytest.fixture
def home(tmp_path):
    """The home that commit 269e318 made from the capture, with the capture's logs."""
    home = Home.at(tmp_path / "home")
    home.root.mkdir()
    with tarfile.open(FIXTURES / "home-0.2.0.dev0" / "home.tar.xz") as packed:
        packed.extractall(home.root, filter="data")
    shutil.copytree(CAPTURE, home.sources / "testbed")
    return home


STORAGE = "Trying to read a database file with version number 99, but we can only read versions between 64 and 68"


@pytest.mark.parametrize("kind", ["other columns", "other storage"])
def test_one_that_cannot_be_taken_over_is_set_aside_only_where_no_line_is_lost_or_with_full(
    home, tmp_path, monkeypatch, kind
):
    if kind == "other columns":
        change(home.working_file, "alter table ops.files drop column reader")
    else:
        monkeypatch.setattr(healing, "problem_of", lambda file, _=False: STORAGE if file == home.working_file else None)
    before, kernel, elsewhere = home.working_file.read_bytes(), home.sources / "testbed" / "kernel", tmp_path / "kernel"
    ((lines,),) = ask(home.working_file, "select sum(loaded)::integer from ops.files where path like '%/kernel/%'")
    kernel.rename(elsewhere)
    done = faultline(home, "refresh", "--no-pull")
    said = " ".join(done.stderr.split())
    assert f"{lines} lines of files that are missing from the sources folder would be lost" in said
    assert (done.exit_code, "`faultline refresh --full`" in said) == (1, True)
    assert home.working_file.read_bytes() == before
    assert not list(home.work.glob("*.damaged-*"))

    said = []
    if kind == "other columns":
        elsewhere.rename(kernel)
        assert healing.heal(home, said.append)
        assert said[0].endswith("and all is read again from the logs")
    else:
        assert healing.heal(home, said.append, is_full=True)
        assert said[0].endswith(f"lost, because missing from the sources folder: {lines} lines")
    (aside,) = home.work.glob("faultline.duckdb.damaged-*")
    assert aside.name in said[0]
    assert aside.read_bytes() == before


def test_what_another_version_published_is_not_up_to_date_and_the_refresh_says_so_in_one_line(home):
    page = home.working_reports / "latest" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text("report")
    publish(home, "run-1", "0.2.0.dev0+6740f459e885", home.build_file, page.parent)
    assert not healing.heal(home, pytest.fail, deep=True), "the working file is taken over"
    assert not is_up_to_date(home)
    said = []
    refreshing._prepare(home, said.append)
    (line,) = said
    assert "0.2.0.dev0+6740f459e885" in line


@pytest.mark.slow
def test_no_line_of_a_file_that_is_gone_is_lost(home, testbed_home):
    """Only the inventory is left of the logs. The old version kept no starts of the controller, which say versions."""
    for folder in (home.sources / "testbed").iterdir():
        if folder.name != "inventory":
            shutil.rmtree(folder)
    before, of_starts = lines_of(home), {"marts.dim_node_versions", "estimates.est_changes"}
    assert "set aside" not in refresh(home)
    assert before.items() <= lines_of(home).items()
    found, expected = (
        {
            name: rows
            for name, rows in content_of(of.published_file).items()
            if name not in of_starts and "ops." not in name
        }
        for of in (home, testbed_home)
    )
    compare(found, expected)


def lines_of(home: Home) -> dict[str, list[tuple]]:
    """List the origin of each row in the raw tables."""
    tables = "select table_name from duckdb_columns() where schema_name = 'raw' and column_name = 'line_number'"
    rows = "select cluster_id, path, line_number from raw.{} order by all"
    return {table: ask(home.working_file, rows.format(table)) for (table,) in ask(home.working_file, tables)}
