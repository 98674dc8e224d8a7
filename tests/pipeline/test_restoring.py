"""The commands of docs/operations.md back up a home; after a deletion they restore it unchanged."""

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
from tests.homes import copy_of
from tests.patience import PATIENCE_SECONDS
from tests.published import facts_of

PAGE = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8")


def seen(home):
    """Return what readers see of a home, and the permissions of its folders."""
    folders = [(home.root / name).stat().st_mode for name in ("work", "publications", "dagster")]
    return facts_of(home.published_file), home.report.read_bytes(), kept_publications(home), folders


def test_a_home_that_was_backed_up_deleted_and_restored_is_as_before_and_a_backup_waits_for_a_refresh(
    testbed_home, tmp_path
):
    home, backups = copy_of(testbed_home, tmp_path), tmp_path / "backups"
    variables = {"FAULTLINE_HOME": str(home.root), "BACKUPS": str(backups)}
    variables = os.environ | variables | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def start(title):
        """Start the page's block that begins with a comment."""
        block = re.search(rf"^```sh\n# {title}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
        command = ["bash", "-euo", "pipefail", "-c", block]
        return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)

    before = seen(home)
    with RefreshLock(home.lock_file):
        backup = start("back up")
        with pytest.raises(subprocess.TimeoutExpired):
            backup.wait(0.5)
    assert backup.wait(PATIENCE_SECONDS) == 0
    assert {path.stat().st_mode & 0o777 for path in (backups, *backups.iterdir())} == {0o700, 0o600}
    shutil.rmtree(home.root)
    restore = start("restore")
    said = restore.communicate(timeout=PATIENCE_SECONDS)[0]
    assert (restore.returncode, seen(home)) == (0, before)
    assert home.published_file.resolve().parent == home.current.resolve()
    assert "last run   succeeded" in said and "nothing new since the last publication" in said
