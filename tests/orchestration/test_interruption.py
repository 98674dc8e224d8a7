"""What is told of a refresh that was stopped is true of the moment at which it was stopped."""

from types import SimpleNamespace

import duckdb
import pytest
from rich.console import Console

from assets.warehouse import Warehouse
from orchestration.publication import folders
from orchestration.refresh import run as refreshing
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home


@pytest.fixture
def home(tmp_path):
    """A home whose last run failed, and whose next publication is ready."""
    home = Home.at(tmp_path / "home")
    (home.working_reports / "latest").mkdir(parents=True)
    (home.working_reports / "latest" / "index.html").write_text("page")
    duckdb.connect(str(home.build_file)).close()
    with Warehouse(path=str(home.working_file)).writing() as con:
        con.execute("insert into ops.runs values ('run-1', '2026-01-01', '2026-01-01', 'failed', 'v', 'a full disk')")
    return home


@pytest.mark.parametrize(("is_published", "words"), [(True, "it had published"), (False, "nothing was published")])
def test_whether_it_had_published_is_told(home, monkeypatch, is_published, words):
    def execute(*_):
        if is_published:
            folders.publish(home, "run-2", "v", home.build_file, home.working_reports / "latest")
        return SimpleNamespace(success=False, run_id="run-2", all_events=[])

    monkeypatch.setattr(refreshing, "_execute", execute)
    monkeypatch.setattr(refreshing, "was_interrupted", lambda _events: True)
    with pytest.raises(refreshing.RefreshInterrupted, match=words):
        refreshing.run_refresh(HomeSettings(home, is_full=True), Console(quiet=True))
