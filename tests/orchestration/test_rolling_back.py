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


def test_readers_see_the_one_before_until_new_logs_come(home):
    with held_lock(home):
        refused = faultline(home, "rollback")
    assert refused.exit_code == 1 and "already running" in refused.output
    assert faultline(home, "rollback", "17").exit_code == 1
    assert pinned_publication(home) is None
    assert faultline(home, "rollback").exit_code == 0
    with duckdb.connect(str(home.publications / "second" / "faultline.duckdb")) as con:
        con.execute("update ops.published set code_version = 'of another version'")
    home.unfinished_run.write_text("a run that died")
    assert is_up_to_date(home)
    console = Console(file=io.StringIO(), width=200)
    run_refresh(HomeSettings(home), console).print(console)
    assert "publication 1 stays" in console.file.getvalue() and "refresh --full" in console.file.getvalue()
    assert pinned_publication(home).number == 1
    shutil.copy(CAPTURE / "sacct" / "sacct_all.psv", home.sources / "testbed" / "sacct" / "new.psv")
    assert not is_up_to_date(home)
    assert faultline(home, "rollback", "2").exit_code == 0
    assert pinned_publication(home) is None
