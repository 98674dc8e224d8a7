"""Homes that tests change: their rows, commands on them, and other processes that hold their files."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import duckdb
from click.testing import Result
from typer.testing import CliRunner

from assets.warehouse import Warehouse
from orchestration.cli import app
from orchestration.settings.home import Home

Place = Home | Warehouse | Path
"""Places of rows: the publication of a home, a warehouse as a step of a refresh opens it, or a file."""
OPEN = "import duckdb, sys, time; con = duckdb.connect(sys.argv[1]); print('open', flush=True); time.sleep(600)"
LOCK = """
import sys, time
from pathlib import Path
from orchestration.upkeep.lock import RefreshLock
lock = RefreshLock(Path(sys.argv[1]))
lock.acquire()
print("locked", flush=True)
time.sleep(600)
"""


def change(place: Place, *statements: str, values: Any = None) -> None:
    """Execute statements, each with the same values."""
    writing = place.writing() if isinstance(place, Warehouse) else duckdb.connect(str(_file(place)))
    with writing as con:
        for statement in statements:
            con.execute(statement, values)


def ask(place: Place, statement: str, values: Any = None) -> list[tuple]:
    """Return the rows of a statement."""
    reading = place.reading() if isinstance(place, Warehouse) else duckdb.connect(str(_file(place)), read_only=True)
    with reading as con:
        return con.execute(statement, values).fetchall()


def _file(place: Home | Path) -> Path:
    return place.published_file if isinstance(place, Home) else place


def copy_of(home: Home, folder: Path) -> Home:
    """Return a copy of a home that a test may change, in a folder that may exist."""
    return Home.at(shutil.copytree(home.root, folder / "home", symlinks=True))


def add_a_line(home: Home) -> None:
    """Add a new kernel line without a meaning to the capture, for the next refresh."""
    (home.sources / "testbed/kernel/extra-20261121.log").write_text(
        "Nov 21 08:05:00 node001 kernel: [1.0] usb 1-1: new device\n"
    )


def faultline(home: Home, *arguments: object, **environment: str) -> Result:
    """Run a command on a home."""
    return CliRunner().invoke(app, [*map(str, arguments), "--home", str(home.root)], env=environment)


def held_open(file: Path) -> AbstractContextManager[subprocess.Popen]:
    """Let another process have a file of DuckDB open."""
    return _holding(OPEN, file)


def held_lock(home: Home) -> AbstractContextManager[subprocess.Popen]:
    """Let another process hold the lock of a home, as a refresh does."""
    return _holding(LOCK, home.lock_file)


@contextmanager
def _holding(program: str, file: Path) -> Iterator[subprocess.Popen]:
    command = [sys.executable, "-c", program, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()
