"""A home that cannot be written or listed: reading commands work; others fail with one line that says why."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from orchestration.runs import refresh_errors
from orchestration.settings.home import Home
from tests.homes import faultline, held_open

FAULTLINE = Path(sys.executable).with_name("faultline")


@pytest.fixture
def read_only(small_home, tmp_path):
    """The small home on a read-only mount, or without write permission if this user may not mount."""
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
    """Run a command on the read-only home."""
    return lambda *arguments: faultline(read_only, *arguments)


ASKED = [("status", "--json"), ("query", "select count(*) from marts.fct_attempts"), ("tables",)]


@pytest.mark.parametrize("arguments", ASKED)
def test_reading_commands_work(run, arguments):
    done = run(*arguments)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("refresh",), "make it writable for this user or name another with --home"),
        (("refresh", "--full"), "make it writable for this user or name another with --home"),
        (("rollback",), "no publication is kept"),
        (("doctor",), "may not write there"),
    ],
)
def test_what_would_write_says_why_it_cannot(run, arguments, said):
    done = run(*arguments)
    assert (done.exit_code, "Traceback" in done.output, said in done.output) == (1, False, True), done.output


@pytest.fixture
def as_reader(small_home):
    """Run a command as a reader of the publish group, who may enter the folders of a home but not list them."""
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


@pytest.mark.parametrize("arguments", [*ASKED, ("doctor",)])
def test_who_may_only_pass_through_the_home_can_read_what_is_published_and_no_more(as_reader, arguments):
    done = as_reader(*arguments)
    is_refused = arguments == ("doctor",)
    assert (done.returncode, done.stderr.count("\n"), "Permission denied" in done.stderr) == (is_refused,) * 3


WORDS = ("No space left on device", "Input/output error", "Permission denied", "Cannot allocate memory")
OF_THE_DISK = "the disk of "
RAISE, LOWER = "raise FAULTLINE_MEMORY, then", "lower FAULTLINE_MEMORY, then"


@pytest.mark.parametrize(
    ("text", "error_class", "said"),
    [
        ("[Errno 5] Input/output error", "OSError", OF_THE_DISK),
        ("IO Error: Could not fsync: Input/output error", "IOException", OF_THE_DISK),
        ("IO Error: Could not write: No space left on device", "IOException", "no space is left"),
        ("Out of Memory Error: failed to allocate data of size 16.0 MiB (1.8 GiB/1.8 GiB used)", "OutOfMemoryException",
         RAISE),
        ("Out of Memory Error: Allocation failure", "OutOfMemoryException", LOWER),
        ("", "MemoryError", LOWER),
        ("can't start new thread", "RuntimeError", LOWER),
        ("x.so: failed to map segment from shared object", "ImportError", LOWER),
        ("[Errno 12] Cannot allocate memory", "OSError", LOWER),
        # A row of a log may quote an error of the machine.
        *((f"Conversion Error: '{words}'", "ConversionException", "unexpected ConversionException") for words in WORDS),
        ("nothing was read: 'Permission denied'", "Failure", "nothing was read: 'Permission denied'"),
        # If the details cannot be written, the message has them.
        ("something else", "OddError", "where it was"),
    ],
)  # fmt: skip
def test_an_error_of_the_machine_is_told_from_that_of_a_row_with_the_next_step(read_only, text, error_class, said):
    found = refresh_errors.explain(text, error_class, "Traceback: where it was", read_only)
    assert said in found
    assert found.startswith("unexpected ") is (error_class in ("ConversionException", "OddError"))
    assert ("then run `faultline refresh` again" in found) or said not in (RAISE, LOWER)


def test_who_keeps_a_file_is_named(tmp_path):
    file = tmp_path / "faultline.duckdb"
    with held_open(file) as holder:
        with pytest.raises(duckdb.IOException) as held:
            duckdb.connect(str(file))
        said = refresh_errors.explain_error(held.value, Home.at(tmp_path))
    assert said.startswith(f"{file} is held by process {holder.pid} of ")
