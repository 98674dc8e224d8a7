"""A home on a read-only disk: reading commands work, and a refresh says in one line what is wrong."""

import os
import subprocess

import pytest
from typer.testing import CliRunner

from orchestration import failures
from orchestration.cli import app
from orchestration.home import Home


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
    return lambda *arguments: CliRunner().invoke(app, [*arguments, "--home", str(read_only.root)])


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
