"""The commands of docs/operations.md back up a home; deleted and restored by them, it is the one that it was."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration.publication.folders import kept_publications
from orchestration.settings.home import PROJECT
from orchestration.upkeep.lock import RefreshLock
from tests.conftest import refresh
from tests.homes import add_a_line, copy_of
from tests.patience import PATIENCE_SECONDS
from tests.published import facts_of

PAGE = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8")


def commands(title):
    """The block of the page that begins with a comment."""
    return re.search(rf"^```sh\n# {title}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]


class Shell:
    """A shell of a user who has set the page's two variables."""

    def __init__(self, home, backups):
        paths = {"FAULTLINE_HOME": str(home.root), "BACKUPS": str(backups)}
        self.variables = os.environ | paths | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(self, title):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands(title)],
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def restored(testbed_home, tmp_path_factory):
    """A home after it was backed up, deleted and restored, what it published before, and what was said."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("restored"))
    before = facts_of(home.published_file), home.report.read_bytes(), kept_publications(home)
    backups = home.root.with_name("backups")
    shell = Shell(home, backups)
    shell.run("back up")
    shutil.rmtree(home.root)
    return home, before, shell.run("restore"), backups


def test_readers_see_what_they_saw(restored):
    home, before, _, _ = restored
    assert (facts_of(home.published_file), home.report.read_bytes(), kept_publications(home)) == before


def test_the_next_refresh_finds_nothing_new(restored):
    _, _, said, _ = restored
    assert "last run   succeeded" in said
    assert "nothing new since the last publication" in said


def test_links_and_permissions_are_those_of_a_home(restored, testbed_home):
    home, _, _, backups = restored
    assert home.published_file.resolve().parent == home.current.resolve()
    for folder in ("work", "publications", "dagster"):
        assert (home.root / folder).stat().st_mode == (testbed_home.root / folder).stat().st_mode
    assert {path.stat().st_mode & 0o777 for path in (backups, *backups.iterdir())} == {0o700, 0o600}


def test_a_backup_waits_for_a_refresh(restored):
    home, _, _, backups = restored
    lock = RefreshLock(home.lock_file)
    lock.acquire()
    waiting = subprocess.Popen(["bash", "-euc", commands("back up")], env=Shell(home, backups).variables)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(0.5)
    lock.release()
    assert waiting.wait(PATIENCE_SECONDS) == 0


@pytest.mark.slow
def test_a_refresh_with_new_logs_goes_on_from_the_backup(restored, testbed_home, tmp_path):
    home = copy_of(restored[0], tmp_path)
    add_a_line(home)
    assert "published in" in refresh(home)
    assert facts_of(home.published_file) == facts_of(testbed_home.published_file)
    assert len(kept_publications(home)) == 2
