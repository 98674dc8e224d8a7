"""`faultline rollback`, and refreshes after it, which leave the pinned publication until new logs come."""

import io
import shutil

import duckdb
import pytest
from rich.console import Console

from orchestration.publication.folders import pinned_publication, publish
from orchestration.publication.freshness import is_up_to_date
from orchestration.refresh.run import run_refresh
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import code_version
from tests.conftest import CAPTURE
from tests.homes import copy_of, faultline, held_lock


@pytest.fixture
def home(testbed_home, tmp_path):
    """The capture's home with a second publication of the same data."""
    home = copy_of(testbed_home, tmp_path)
    publish(home, "second", code_version(), home.build_file, home.working_reports / "latest")
    return home


def rollback(home, *arguments):
    return faultline(home, "rollback", *arguments)


class TestRollback:
    def test_it_says_what_readers_see_and_for_how_long(self, home):
        done = rollback(home)
        assert done.exit_code == 0
        assert "readers now see publication 1" in done.output
        assert "until new logs come" in done.output
        assert "it is the newest" in rollback(home, "2").output

    def test_nothing_to_go_back_to(self, home):
        assert rollback(home, "17").exit_code == 1

    def test_a_refresh_without_news_leaves_it_and_says_so(self, home):
        rollback(home)
        with duckdb.connect(str(home.publications / "second" / "faultline.duckdb")) as con:
            con.execute("update ops.published set code_version = 'of another version'")
        home.unfinished_run.write_text("a run that died")
        assert is_up_to_date(home)
        console = Console(file=io.StringIO(), width=200)
        run_refresh(HomeSettings(home), console).print(console)
        said = console.file.getvalue()
        assert "publication 1 stays" in said
        assert "refresh --full" in said
        assert pinned_publication(home).number == 1

    def test_new_input_ends_it(self, home):
        rollback(home)
        shutil.copy(CAPTURE / "sacct" / "sacct_all.psv", home.sources / "testbed" / "sacct" / "new.psv")
        assert not is_up_to_date(home)

    def test_input_that_the_newest_has_seen_is_not_new(self, home):
        """What readers see now lacks a file that the newest publication was made with."""
        (first,) = (path for path in home.publications.iterdir() if path.name not in ("current", "second"))
        with duckdb.connect(str(first / "faultline.duckdb")) as con:
            con.execute("delete from ops.files where kind = 'kernel'")
        rollback(home)
        assert is_up_to_date(home)

    def test_not_while_a_refresh_runs(self, home):
        with held_lock(home):
            done = rollback(home)
        assert done.exit_code == 1
        assert "already running" in done.output
        assert pinned_publication(home) is None
