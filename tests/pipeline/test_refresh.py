"""A refresh from end to end: what it publishes, what it leaves alone, and what it says when it must not publish."""

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from assets.model.incident_counts import weighted_interval
from orchestration.publication import freshness
from orchestration.publication.folders import kept_publications
from orchestration.publication.freshness import is_up_to_date
from orchestration.runs.failures import RefreshFailed
from tests.conftest import CAPTURE, new_home, refresh
from tests.homes import add_a_line, change, copy_of
from tests.published import facts_of

SACCT = Path("testbed/sacct/sacct_all.psv")


@pytest.fixture
def home(testbed_home, tmp_path):
    """A home of one's own with the capture's good publication in it."""
    return copy_of(testbed_home, tmp_path)


def spoil(path: Path, share: float) -> None:
    """Break the state in every n-th accounting line, steps among them."""
    lines = path.read_text().splitlines(keepends=True)
    state = lines[0].rstrip("\n").split("|").index("State")
    for number in range(1, len(lines), round(1 / share)):
        cells = lines[number].split("|")
        cells[state] = "EXPLODED"
        lines[number] = "|".join(cells)
    path.write_text("".join(lines))


def test_every_line_is_accounted_for(con):
    rows = con.execute("select path, lines_in, loaded, skipped, quarantined from ops.files order by path").fetchall()
    assert [row[0].split("/")[1] for row in rows] == [
        "events", "health", "inventory", "kernel", "sacct", "slurmctld", "squeue",
    ]  # fmt: skip
    for path, lines_in, loaded, skipped, quarantined in rows:
        physical = (CAPTURE.parent / path).read_bytes().count(b"\n")
        assert lines_in == loaded + skipped + quarantined, path
        assert lines_in == physical, path
    assert con.execute("select count(*) from ops.quarantine").fetchone() == (0,)


def test_a_second_refresh_with_nothing_new_publishes_the_same(home):
    before = home.published_file.read_bytes()
    refresh(home)
    assert home.published_file.read_bytes() == before


def test_touched_logs_are_nothing_new_save_where_rows_tell_the_time(home):
    (home.sources / SACCT).touch()
    assert is_up_to_date(home)
    (home.sources / "testbed/inventory/scontrol_node.txt").touch()
    assert not is_up_to_date(home)


def test_what_a_refresh_that_died_was_to_publish_is_still_to_be_done(home):
    home.unfinished_run.write_text("run")
    assert not is_up_to_date(home)


def test_a_longer_log_is_new_before_any_log_is_read(home, monkeypatch):
    with (home.sources / SACCT).open("a") as log:
        log.write("\n")
    monkeypatch.setattr(freshness, "survey", lambda *_, **__: pytest.fail("a log was read"))
    assert not is_up_to_date(home)


def refuse(home, **options) -> str:
    """Refresh, expect a refusal, prove that the last good publication stands; return what was said."""
    before = home.published_file.read_bytes()
    with pytest.raises(RefreshFailed) as caught:
        refresh(home, **options)
    assert home.published_file.read_bytes() == before
    assert not [path for path in home.published_file.parent.iterdir() if path != home.published_file]
    return str(caught.value)


def test_five_percent_of_broken_lines_stop_the_publication(home):
    spoil(home.sources / SACCT, 0.05)
    said = refuse(home)
    assert "ops.files" in said
    assert re.search(r"sacct_all.psv: \d+ of 102 lines quarantined .* first: line \d+ unknown_state .*EXPLODED", said)


def test_more_negative_runtimes_than_the_share_stop_the_publication_of_the_only_cluster(home):
    change(home.working_file, "update raw.sacct set elapsed_seconds = -5 where state = 'COMPLETED'")
    add_a_line(home)
    said = refuse(home)
    assert "raw.sacct" in said or "raw: sacct" in said
    assert "-5" in said


def test_a_rate_above_its_upper_limit_stops_the_publication(home, monkeypatch):
    def too_narrow(*arguments):
        honest = weighted_interval(*arguments)
        return dataclasses.replace(honest, high=honest.value * 0.5)

    monkeypatch.setattr("assets.estimates.table.weighted_interval", too_narrow)
    said = refuse(home, is_from_marts=True)
    assert "est_failure_rates" in said
    assert "failures_per_1000_node_days" in said


def test_marts_that_are_there_are_published_with_what_is_made_of_them(home, testbed_home):
    said = refresh(home, is_from_marts=True)
    assert "estimates" in said and "published" in said and not re.search(r" s  (raw|marts)\b", said)
    assert [publication.number for publication in kept_publications(home)] == [2, 1]
    assert facts_of(home.published_file) == facts_of(testbed_home.published_file)


BROKEN = {
    "sacct/empty.psv": (b"", "empty"),
    "sacct/binary.psv": (b"\x7fELF\x00\x01\x02" * 100, "binary"),
    "sacct/headerless.psv": (b"1|1|COMPLETED|2026-01-01T00:00:00\n", "header"),
    "kernel/empty.log": (b"", "empty"),
}
"""Files that cannot be read, and a word that says why."""
LINK_TO_NOTHING = "sacct/gone.psv"


@pytest.fixture(scope="module")
def error_lines(testbed_home, tmp_path_factory):
    """The lines in which one refresh refuses every broken file."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("broken"))
    for name, (content, _) in BROKEN.items():
        (home.sources / "testbed" / name).write_bytes(content)
    (home.sources / "testbed" / LINK_TO_NOTHING).symlink_to("/nowhere/at/all.psv")
    return refuse(home).splitlines()


def test_all_broken_files_are_told_at_once_each_in_a_line(error_lines):
    assert len(error_lines) == len(BROKEN) + 1
    assert any(LINK_TO_NOTHING in line for line in error_lines)


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_is_named(error_lines, name):
    (line,) = [line for line in error_lines if name in line]
    assert BROKEN[name][1] in line


def test_a_missing_sources_folder_is_named(home):
    shutil.rmtree(home.sources)
    assert str(home.sources) in refuse(home)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of a few megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small tmpfs needs the right to mount: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_publishes_nothing_and_says_so(small_disk):
    home = new_home(small_disk / "home")
    with pytest.raises(RefreshFailed) as caught:
        refresh(home)
    assert "no space is left" in str(caught.value)
    assert not home.published_file.exists()
    assert not list(home.root.rglob("*.damaged-*"))
    assert (home.sources / SACCT).exists()


def test_the_command_exits_with_one_and_one_line(tmp_path):
    done = subprocess.run(
        [Path(sys.executable).with_name("faultline"), "refresh", "--home", tmp_path / "none"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "published" not in done.stdout
    assert done.stderr.startswith("faultline: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "none").exists()
