"""A refresh from end to end: it runs only if something is new, and publishes nothing that is wrong."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration.publication import freshness
from orchestration.publication.freshness import is_up_to_date
from orchestration.runs.refresh_errors import RefreshFailed
from tests.conftest import CAPTURE, refresh
from tests.homes import copy_of

SACCT = Path("testbed/sacct/sacct_all.psv")


@pytest.fixture
def home(testbed_home, tmp_path):
    """A copy of the capture's home with its good publication."""
    return copy_of(testbed_home, tmp_path)


def test_every_line_is_accounted_for(con):
    rows = con.execute("select path, lines_in, loaded, skipped, quarantined from ops.files order by path").fetchall()
    kinds = ["events", "health", "inventory", "kernel", "sacct", "slurmctld", "squeue"]
    assert [row[0].split("/")[1] for row in rows] == kinds
    for path, lines_in, loaded, skipped, quarantined in rows:
        physical = (CAPTURE.parent / path).read_bytes().count(b"\n")
        assert lines_in == loaded + skipped + quarantined == physical, path
    assert con.execute("select count(*) from ops.quarantine").fetchone() == (0,)


def add_a_byte(home):
    """Make a log longer."""
    with (home.sources / SACCT).open("a") as log:
        log.write("\n")


@pytest.mark.parametrize(
    ("do", "is_new"),
    [
        (refresh, False),
        (lambda home: (home.sources / SACCT).touch(), False),
        # Its rows have the time at which they were seen.
        (lambda home: (home.sources / "testbed/inventory/scontrol_node.txt").touch(), True),
        (add_a_byte, True),
        # A refresh that died may have something to publish.
        (lambda home: home.unfinished_run.write_text("run"), True),
    ],
    ids=["refreshed again", "a touched log", "a touched inventory", "a longer log", "a refresh that died"],
)
def test_only_what_changes_rows_is_new(home, do, is_new, monkeypatch):
    before = home.published_file.read_bytes()
    do(home)
    assert home.published_file.read_bytes() == before
    if do is add_a_byte:
        monkeypatch.setattr(freshness, "survey", lambda *_, **__: pytest.fail("a log was read"))
    assert is_up_to_date(home) is not is_new


def spoil_lines(home):
    """Break the state in five percent of the accounting lines, including steps."""
    lines = (home.sources / SACCT).read_text().splitlines(keepends=True)
    state = lines[0].rstrip("\n").split("|").index("State")
    for number in range(1, len(lines), 20):
        cells = lines[number].split("|")
        lines[number] = "|".join([*cells[:state], "EXPLODED", *cells[state + 1 :]])
    (home.sources / SACCT).write_text("".join(lines))
    return [r"ops.files.*sacct_all.psv: \d+ of 102 lines quarantined .* first: line \d+ unknown_state .*EXPLODED"]


def remove_sources(home):
    """Remove the sources folder."""
    shutil.rmtree(home.sources)
    return [re.escape(str(home.sources))]


@pytest.mark.parametrize("spoil", [spoil_lines, remove_sources])
def test_a_refresh_that_must_not_publish_says_why_and_the_last_publication_stays(home, spoil):
    said = spoil(home)
    before = home.published_file.read_bytes()
    with pytest.raises(RefreshFailed) as caught:
        refresh(home)
    for words in said:
        assert re.search(words, str(caught.value)), words
    assert home.published_file.read_bytes() == before
    assert [*home.published_file.parent.iterdir()] == [home.published_file]


def test_the_command_exits_with_one_and_one_line_and_makes_no_home(tmp_path):
    command = [Path(sys.executable).with_name("faultline"), "refresh", "--home", tmp_path / "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("faultline: ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()
