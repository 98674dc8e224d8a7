"""Only regular files are opened. A pipe, a device, a socket or a link to one is reported without waiting."""

import os
import socket
import threading
from contextlib import closing
from pathlib import Path

import pytest

from assets.sources.errors import SourceErrors
from assets.sources.formats import READERS
from assets.sources.intake.find.folder import survey
from assets.sources.intake.loading import load_kinds
from assets.sources.regular import open_regular, pieces, read_small
from assets.sources.settings import KINDS, read_settings
from tests.logs import export
from tests.sources.folders import connect, make

GOOD = export([{}])
KERNEL = "Nov 21 07:34:23 n1 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus."


@pytest.fixture(autouse=True)
def _no_hanging(request: pytest.FixtureRequest):
    """Open every pipe's other end after ten seconds: a reader that waits fails instead of hanging."""
    folder = request.getfixturevalue("tmp_path")

    def release() -> None:
        for path in folder.rglob("*"):
            if path.is_fifo():
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        hung.append(True)

    hung: list[bool] = []
    timer = threading.Timer(10, release)
    timer.start()
    yield
    timer.cancel()
    assert not hung, "something waited"


def errors_of(folder: Path, readers=READERS) -> list[str]:
    """Return the errors of a folder's survey, whether or not any cluster is left."""
    try:
        return [str(refused.error) for refused in survey(folder, readers).refused]
    except SourceErrors as caught:
        return [str(error) for error in caught.errors]


def bind(path: Path) -> None:
    """Make a socket. Its path may have at most 107 bytes."""
    here = Path.cwd()
    os.chdir(path.parent)
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(path.name)
    os.chdir(here)


def link_to_pipe(path: Path) -> None:
    """Link to a pipe outside of the sources folder."""
    os.mkfifo(path.parents[2] / "pipe")
    path.symlink_to(path.parents[2] / "pipe")


ODD_FILES = {
    "a named pipe": (os.mkfifo, "not a regular file but a named pipe"),
    "a link to a pipe": (link_to_pipe, "not a regular file but a named pipe"),
    "a socket": (bind, "not a regular file but a socket"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "not a regular file but a device"),
    "a terminal": (lambda path: path.symlink_to("/dev/tty"), "not a regular file but a device"),
    "a broken link": (lambda path: path.symlink_to("nowhere"), "unreadable (No such file or directory)"),
    "a loop of links": (lambda path: path.symlink_to(path.name), "unreadable (Too many levels of symbolic links)"),
}
"""The function that makes each file, and its message."""


@pytest.mark.parametrize(
    ("odd", "name"),
    [
        *((odd, name) for odd in ODD_FILES for name in ("sacct/x", "cluster.toml")),
        *(("a named pipe", f"{kind}/x") for kind in KINDS),
        ("a named pipe", "kernel/x.gz"),
        ("a named pipe", "sacct/a.txt.manifest.json"),
    ],
)
def test_what_is_no_regular_file_is_refused(odd, name, tmp_path):
    folder = make(tmp_path / "sources", {"c1/sacct/a.txt": GOOD, "c2/sacct/a.txt": GOOD})
    make_it, wrong = ODD_FILES[odd]
    path = folder / "c1" / name
    path.parent.mkdir(exist_ok=True)
    make_it(path)
    of_settings = read_settings(folder / "c1", "c1")[1]
    (problem,) = [*map(str, of_settings), *errors_of(folder)]
    assert problem.startswith(f"c1/{name}: {wrong}")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a = " + "[" * 100_000, "not valid TOML"),
        ("gpus_per_node = " + "9" * 5000, "not valid TOML"),
        ("timezone = '\ud800'", "not valid TOML"),
        ("#" * 1024 * 1024 + "\n", "larger than 1,048,576 bytes"),
    ],
)
def test_settings_that_no_parser_reads_are_told(text, wrong, tmp_path):
    (tmp_path / "cluster.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    (error,) = read_settings(tmp_path, "c1")[1]
    assert str(error).startswith("c1/cluster.toml")
    assert wrong in str(error)


@pytest.mark.parametrize("kind", ["sacct", "health", "kernel"])
def test_a_pipe_that_takes_a_files_place_before_it_is_loaded_is_not_waited_for(kind, tmp_path):
    """DuckDB opens files by their path."""
    logs = {"sacct": GOOD, "health": '{"health_check": "x", "result": 0}\n', "kernel": f"{KERNEL}\n"}
    folder = make(tmp_path, {f"c1/{name}/a.log": text for name, text in logs.items()})
    found = survey(folder, READERS)
    (folder / f"c1/{kind}/a.log").unlink()
    os.mkfifo(folder / f"c1/{kind}/a.log")
    con = connect()
    load_kinds(con, found, {kind: READERS[kind]}, "run")
    assert con.execute("select status, reason from ops.files").fetchall() == [
        ("refused", "not a regular file but a named pipe")
    ]


def test_no_more_is_read_than_there_was(tmp_path):
    """A writer that is as fast as the reader would never let it end."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"x" * 10)
    with open_regular(path) as stream, path.open("ab") as writer:
        read = b""
        for piece in pieces(stream, 4):
            writer.write(b"y" * 100)
            writer.flush()
            read += piece
    assert read == b"x" * 10
    assert read_small(path, 1000).startswith(b"xxxxxxxxxxyyy")
