"""A home on a read-only disk: reading commands work, and a refresh says in one line what is wrong."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from orchestration.cli import report as reporting
from orchestration.runs import failures
from orchestration.settings.home import Home
from tests.homes import faultline, held_open

FAULTLINE = Path(sys.executable).with_name("faultline")


@pytest.fixture
def read_only(small_home, tmp_path):
    """The small home, seen through a mount that cannot be written; who may not mount has no rights to write instead."""
    small_home.lock_file.touch()
    if os.geteuid():
        folders = [small_home.root, *(path for path in small_home.root.rglob("*") if path.is_dir())]
        for folder in folders:
            folder.chmod(0o500)
        yield small_home
        for folder in folders:
            folder.chmod(0o700)
        return
    seen = tmp_path / "read-only"
    seen.mkdir()
    subprocess.run(["mount", "--bind", str(small_home.root), str(seen)], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", str(seen)], check=True)
    yield Home.at(seen)
    subprocess.run(["umount", "-l", str(seen)], check=True)


@pytest.fixture
def run(read_only):
    return lambda *arguments: faultline(read_only, *arguments)


@pytest.mark.parametrize("arguments", [("status",), ("query", "select count(*) from marts.fct_attempts"), ("tables",)])
def test_reading_commands_work(run, arguments):
    done = run(*arguments)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("arguments", [("refresh",), ("refresh", "--full"), ("rollback",)])
def test_what_would_write_says_why_it_cannot(run, arguments):
    done = run(*arguments)
    assert done.exit_code == 1
    (line,) = done.output.strip().splitlines()
    assert "Traceback" not in line
    assert "no publication is kept" in line or "ead-only" in line or "ermission denied" in line


@pytest.fixture
def as_reader(small_home):
    """Run a command as a reader of the publish group, who may pass through the folders of a home and not list them."""
    closed = [small_home.work, small_home.dagster]
    for path in closed:
        path.mkdir(exist_ok=True)
    passed = [small_home.published_file.parent, small_home.report.parent.parent, small_home.publications]
    passed = [small_home.root, *(path for path in passed if path.is_dir())]
    for path in (*closed, *passed):
        path.chmod(0o000 if path in closed else 0o111)
    no_override = "-dac_override,-dac_read_search"
    drop = ["setpriv", f"--bounding-set={no_override}", f"--inh-caps={no_override}"] if os.geteuid() == 0 else []

    def run(*arguments):
        command = [*drop, str(FAULTLINE), *arguments, "--home", str(small_home.root)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    yield run
    for path in (*passed, *closed):
        path.chmod(0o700)


@pytest.mark.parametrize(
    "arguments", [("status",), ("status", "--json"), ("query", "select count(*) from marts.fct_attempts"), ("tables",)]
)
def test_who_may_only_pass_through_the_home_can_read_what_is_published(as_reader, arguments):
    done = as_reader(*arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_reader_may_not_see_is_an_error_of_one_line(as_reader):
    done = as_reader("doctor")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "Permission denied" in line


def test_a_refresh_names_the_next_step(run):
    assert "make it writable for this user or name another with --home" in run("refresh").output


def test_doctor_says_so(run):
    done = run("doctor")
    assert done.exit_code == 1
    assert "may not write there" in done.output


def test_an_error_that_nobody_foresaw_is_told_even_where_its_details_cannot_be_kept(read_only):
    said = failures.explain("something else", "OddError", "Traceback: where it was", read_only)
    assert said.startswith("unexpected OddError: something else; nothing was published")
    assert "where it was" in said


@pytest.mark.parametrize("words", ["[Errno 5] Input/output error", "IO Error: Could not fsync: Input/output error"])
def test_a_disk_that_fails_is_named(tmp_path, words):
    said = failures.explain(words, "OSError", "", Home.at(tmp_path))
    assert said.startswith(f"the disk of {tmp_path} does not work")


def test_who_keeps_a_file_is_named(tmp_path):
    file = tmp_path / "faultline.duckdb"
    with held_open(file) as holder:
        with pytest.raises(duckdb.IOException) as held:
            duckdb.connect(str(file))
        said = failures.explain_error(held.value, Home.at(tmp_path))
    assert said.startswith(f"{file} is held by process {holder.pid} of ")
    assert said.endswith("end that process, or wait until it ends, then run `faultline refresh` again")


@pytest.mark.parametrize("words", ["No space left on device", "Input/output error", "Permission denied"])
def test_words_of_the_machine_that_a_row_holds_are_not_taken_for_its_own(tmp_path, words):
    home = Home.at(tmp_path)
    quoted = failures.explain(f"Conversion Error: could not convert '{words}'", "ConversionException", "", home)
    assert quoted.startswith("unexpected ConversionException: Conversion Error")
    assert failures.explain(f"nothing was read: '{words}'", "Failure", "", home) == f"nothing was read: '{words}'"
    assert "unexpected" not in failures.explain(f"IO Error: Could not write: {words}", "IOException", "", home)


def test_a_report_that_cannot_be_written_is_an_error_of_one_line(small_home, monkeypatch, tmp_path):
    def refuse(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(reporting, "write_files", refuse)
    done = faultline(small_home, "report", "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert (
        done.stderr
        == f"faultline: {tmp_path / 'out'} cannot be written: No space left on device; name another folder\n"
    )
