"""Repair a damaged home: set aside files that can be built from the logs; the refresh builds them again.

DuckDB or SQLite itself says whether its file is damaged. Other errors, for instance a full disk or a file that another
process has locked, are not damage; the refresh reports them. A file is set aside by renaming it to
`<name>.damaged-<time>`, and only the last such file of a name is kept.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import duckdb

from assets.bad_clusters.errors import kind_of
from assets.sql import identifier
from orchestration.settings.home import Home, code_version
from orchestration.upkeep.disk import remove

Say = Callable[[str], None]

MARK = ".damaged-"
_OF_OTHER_STORAGE = "version number"
"""DuckDB's words for a file of a version that it cannot read. A checksum covers the number."""
_WORDS_OF_DAMAGE = (
    "not a valid DuckDB database file",
    "Could not read enough bytes",
    "Corrupt database file",
    "Corrupt WAL file",
    "replaying WAL",
    _OF_OTHER_STORAGE,
)
_KINDS_OF_DAMAGE = ("serialization", "internal")
_KINDS_WITH_ROWS = ("conversion", "invalid input", "out of range", "constraint", "csv", "mismatch type")
"""Messages of these kinds quote rows, which may hold any words."""
_WORDS_OF_OTHER_CAUSES = (
    "no space left",
    "input/output error",
    "permission denied",
    "read-only file system",
    "lock on file",
)
"""An error with one of these is no damage, whatever else it says: after a full disk, DuckDB reports further errors."""
_HEADER_BYTES = 3 * 4096
_COLUMNS = """
    select schema_name || '.' || table_name as table_name, list(column_name || ' ' || data_type order by column_index)
    from duckdb_columns()
    where schema_name in ('raw', 'ops') and database_name = current_database()
    group by all
"""


class WouldLoseLines(Exception):
    """Only a working file of another version, which cannot be converted, has some lines; the text says what to do."""


def heal(home: Home, say: Say, deep: bool = False, *, is_full: bool = False) -> bool:
    """Set aside damaged files that a refresh builds; return whether there were any.

    A working file of another version is converted, or else set aside.

    Parameters
    ----------
    home
        The home, whose lock this process holds.
    say
        Called with one line per file.
    deep
        Read the files from end to end. That takes time, so it is done only after a failed run.
    is_full
        Set aside a working file of another version even if lines are lost.

    Raises
    ------
    WouldLoseLines
        Lines would be lost, and `is_full` is False. Nothing was changed.
    """
    found = [_heal_working_file(home, say, deep, is_full), _heal_publication(home, say, deep)]
    return any(found)


def remove_scratch(home: Home) -> None:
    """Remove copies of logs and spilled rows that a killed refresh left; the working file must not be in use."""
    for path in (*home.work.glob("reading-*"), *home.work.glob("*.duckdb.tmp")):
        shutil.rmtree(path, ignore_errors=True)


def heal_run_history(home: Home, say: Say) -> None:
    """Set aside Dagster's history of runs if SQLite cannot read it; no number depends on it."""
    for folder in (home.dagster / "history", home.dagster / "schedules"):
        problems = [
            problem for file in sorted(folder.rglob("*.db")) if (problem := _problem_of_sqlite(file)) is not None
        ]
        if problems:
            aside = set_aside(folder)
            say(f"{folder} was damaged ({problems[0]}): it is kept as {aside.name}, and a new history of runs begins")


def problem_of(file: Path, deep: bool = False) -> str | None:
    """Return the damage of a DuckDB file in one line; None if there is none.

    Parameters
    ----------
    file
        The file, which is opened for reading only.
    deep
        Read every row, so that DuckDB verifies the checksum of every block.
    """
    if not file.is_file():
        return "it is no file" if file.exists() else "it is missing"
    try:
        with duckdb.connect(str(file), read_only=True) as con:
            ((blocks, size),) = con.execute("select total_blocks, block_size from pragma_database_size()").fetchall()
            # Blocks beyond the end of the file may be free blocks that were never written; that is no damage.
            if deep or file.stat().st_size < _HEADER_BYTES + blocks * size:
                _read_everything(con)
    except duckdb.Error as error:
        return _one_line(error) if is_damage(error) else None
    return None


def is_damage(error: BaseException | str) -> bool:
    """Return whether an error of DuckDB, or its message, says that the file is damaged."""
    text = str(error)
    kind = kind_of(text)
    if kind in _KINDS_WITH_ROWS or any(words in text.lower() for words in _WORDS_OF_OTHER_CAUSES):
        return False
    return kind in _KINDS_OF_DAMAGE or any(words in text for words in _WORDS_OF_DAMAGE)


def set_aside(path: Path) -> Path:
    """Rename a file or folder and its DuckDB journal, and return the new path; remove earlier ones set aside."""
    for earlier in path.parent.glob(f"{path.name}{MARK}*"):
        remove(earlier)
    aside = path.with_name(f"{path.name}{MARK}{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    path.rename(aside)
    journal = _journal_of(path)
    if journal.exists():
        journal.rename(_journal_of(aside))
    return aside


def set_aside_files(home: Home) -> list[Path]:
    """List the files and folders that were set aside in a home."""
    folders = (home.work, home.publications, home.dagster)
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.glob(f"*{MARK}*"))]


def make_accessible(path: Path) -> None:
    """Restore the owner's permissions on a file of this user."""
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        with suppress(OSError):
            path.chmod(path.stat().st_mode | (0o700 if path.is_dir() else 0o600))


def _heal_working_file(home: Home, say: Say, deep: bool, is_full: bool) -> bool:
    file, journal = home.working_file, _journal_of(home.working_file)
    make_accessible(file)
    if not file.exists():
        return False
    problem, other_version = problem_of(file, deep), None
    if problem is None:
        problem, other_version = _take_over(file)
    elif _OF_OTHER_STORAGE in problem:
        problem, other_version = None, problem
    if other_version is not None:
        _read_all_again(home, f"is of another version ({other_version})", say, may_lose=is_full)
        return True
    if problem is not None and file.is_file() and journal.exists():
        # If the file itself is sound, everything before the journal is committed and kept.
        aside = set_aside(journal)
        if problem_of(file, deep) is None:
            say(f"{journal} was damaged ({problem}): it is kept as {aside.name}, and what it held is read again")
            return True
        aside.rename(journal)
    if problem is None:
        return False
    _read_all_again(home, f"was damaged ({problem})", say, may_lose=True)
    return True


def _read_all_again(home: Home, why: str, say: Say, *, may_lose: bool) -> None:
    """Set the working file aside, and say how many of its lines cannot be read again."""
    lost = _count_lost_lines(home)
    lines = "an unknown number of lines" if lost is None else f"{lost:,} line{'' if lost == 1 else 's'}"
    if lost != 0 and not may_lose:
        raise WouldLoseLines(
            f"{home.working_file} {why}, and Faultline {code_version()} cannot take it over: {lines} of files that are"
            " missing from the sources folder would be lost; nothing was changed or published; put these files back, or"
            " run `faultline refresh --full`, which sets it aside and reads all logs again"
        )
    aside = set_aside(home.working_file)
    what = f"; lost, because missing from the sources folder: {lines}" if lost != 0 else ""
    say(f"{home.working_file} {why}: it is kept as {aside.name}, and all is read again from the logs{what}")


def _count_lost_lines(home: Home) -> int | None:
    """Count the loaded lines of files that are no longer in the sources folder; None if no list is readable."""
    for file in (home.working_file, home.published_file) if home.sources.is_dir() else ():
        with suppress(duckdb.Error), duckdb.connect(str(file), read_only=True) as con:
            lines = con.execute("select path, sum(loaded)::bigint from ops.files group by path").fetchall()
            return sum(loaded for path, loaded in lines if not os.path.lexists(home.sources / path))
    return None


def _heal_publication(home: Home, say: Say, deep: bool) -> bool:
    file = home.build_file
    make_accessible(file)
    problem = problem_of(file, deep) if file.exists() else None
    if problem is None:
        return False
    aside = set_aside(file)
    say(f"{file} was damaged ({problem}): it is kept as {aside.name}, and is built again")
    return True


def _take_over(file: Path) -> tuple[str | None, str | None]:
    """Add missing tables and columns to the working file; return its damage, and how it is of another version, or None.

    A file of another version stays unchanged, for the version that made it.
    """
    from assets.warehouse import STORAGE_VERSION, create_raw_and_ops

    try:
        with duckdb.connect(str(file), config={"storage_compatibility_version": STORAGE_VERSION}) as con:
            con.begin()
            create_raw_and_ops(con)
            found = dict(con.execute(_COLUMNS).fetchall())
            other = [table for table, columns in _columns_of_now().items() if found.get(table) != columns]
            if not other:
                con.commit()
    except duckdb.Error as error:
        if is_damage(error):
            return _one_line(error), None
        # If another process has locked it, or the disk is full, the next write reports that.
        return None, None if isinstance(error, duckdb.IOException) else _one_line(error)
    return None, f"{other[0]} has other columns" if other else None


@cache
def _columns_of_now() -> dict[str, list[str]]:
    from assets.warehouse import create_raw_and_ops

    with duckdb.connect() as con:
        create_raw_and_ops(con)
        return dict(con.execute(_COLUMNS).fetchall())


def _problem_of_sqlite(file: Path) -> str | None:
    make_accessible(file)
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=rw", uri=True)) as con:
            ((verdict,),) = con.execute("pragma quick_check(1)").fetchall()
    except sqlite3.OperationalError as error:
        # A lock, a full disk or missing permissions are no damage.
        return _one_line(error) if "malformed" in str(error) else None
    except sqlite3.DatabaseError as error:
        return _one_line(error)
    return None if verdict == "ok" else _one_line(verdict)


def _read_everything(con: duckdb.DuckDBPyConnection) -> None:
    tables = con.execute("select schema_name, table_name from duckdb_tables() where not internal").fetchall()
    for schema, table in tables:
        con.execute(f"select bit_xor(hash(t)) from {identifier(schema, table)} as t").fetchall()


def _journal_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.wal")


def _one_line(problem: object) -> str:
    return " ".join(str(problem).split())[:200]
