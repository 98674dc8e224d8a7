"""A home that is switched to pseudonyms: no planted name is left in any file, and no number differs."""

from __future__ import annotations

import gzip
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from orchestration.home import Home
from orchestration.upkeep.healing import MARK as DAMAGED
from orchestration.upkeep.privacy import read_state
from tests.conftest import refresh
from tests.homes import faultline
from tests.privacy.planted import MARK, PLAIN, PRIVATE, names_in, write_planted

pytestmark = pytest.mark.slow

NUMBER = re.compile("BIGINT|INTEGER|DOUBLE|BOOLEAN|HUGEINT|TIMESTAMP|DATE|DECIMAL")
TOLD_BY_NAMES = {"cancelled_by_uid"}
"""Numbers that stand for a person."""


def files_with_names(home: Home) -> list[str]:
    """List the files of a home, its sources aside, in whose bytes, rows or unpacked text a planted name is found."""
    found = []
    for file in sorted(path for path in home.root.rglob("*") if path.is_file() and not path.is_symlink()):
        if file.is_relative_to(home.sources):
            continue
        content = file.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content += gzip.decompress(content)
        names = names_in(content.decode("latin-1") + file.name)
        if file.suffix == ".duckdb":
            # Fragments of seven bytes at most may be in memory that DuckDB writes with its blocks: docs/privacy.md.
            names = [name for name in names if len(name) > 7] + names_in(rows_of_duckdb(file))
        if content.startswith(b"SQLite format 3"):
            names += names_in(rows_of_sqlite(file))
        if names:
            found.append(f"{file.relative_to(home.root)}: {names[:5]}")
    return found


def rows_of_duckdb(file: Path) -> str:
    """Return all rows of all tables as text: DuckDB compresses what it stores."""
    with duckdb.connect(str(file), read_only=True) as con:
        names = con.execute("select schema_name, table_name from duckdb_tables()").fetchall()
        return "\n".join(
            str(row)
            for schema, table in names
            for row in con.execute(f'select rows::varchar from "{schema}"."{table}" as rows').fetchall()
        )


def rows_of_sqlite(file: Path) -> str:
    """Return all rows of all tables as text."""
    with closing(sqlite3.connect(file)) as con:
        names = con.execute("select name from sqlite_master where type = 'table'").fetchall()
        return "\n".join(str(row) for (name,) in names for row in con.execute(f'select * from "{name}"').fetchall())


def names_in_public_export(home: Home) -> list[str]:
    """List the planted names, that of the cluster included, in an export for people outside."""
    folder = home.root / "public"
    done = faultline(home, "export", folder, "--public")
    assert done.exit_code == 0, done.output
    texts = [done.output.replace(str(home.root), "")]
    for file in (path for path in folder.rglob("*") if path.is_file()):
        texts.append(file.read_bytes().decode("latin-1"))
        if file.suffix == ".parquet":
            texts.append(str(duckdb.execute("from read_parquet(?)", [str(file)]).fetchall()))
    shutil.rmtree(folder)
    return [name for text in texts for name in [*names_in(text), *re.findall("planted", text)]]


def numbers(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the columns of numbers, moments and truth of every mart and estimate."""
    with duckdb.connect(str(file), read_only=True) as con:
        columns = con.execute(
            """
            select schema_name || '.' || table_name, list((column_name, data_type) order by column_index)
            from duckdb_columns() where schema_name in ('marts', 'estimates') group by all order by all
            """
        ).fetchall()
        shown = {
            table: [name for name, kind in pairs if NUMBER.match(kind) and name not in TOLD_BY_NAMES]
            for table, pairs in columns
        }
        return {
            table: con.execute(f"select {', '.join(names)} from {table} order by all").fetchall()
            for table, names in shown.items()
            if names
        }


def test_a_home_that_is_switched_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTLINE_PRIVACY_KEY_FILE", str(tmp_path / "key" / "privacy.key"))
    home = Home.at(tmp_path / "home")
    folder = write_planted(home.sources, PLAIN)
    printed = refresh(home)
    plain = numbers(home.published_file)
    assert names_in(printed) == [] or "planted" in printed
    assert len(files_with_names(home)) > 4, "names are where they are looked for"
    assert names_in_public_export(home) == [], "and --public leaves them out of what is plain"
    assert str(home.sources) in home.report.read_text(encoding="utf-8"), "commands have the path"
    shutil.copy(home.working_file, home.work / f"faultline.duckdb{DAMAGED}20260101T000000Z")
    (home.work / "reading-left").mkdir()
    (home.work / "reading-left" / "0.txt").write_text(f"{MARK}left\n", encoding="utf-8")

    (folder / "cluster.toml").write_text(PRIVATE, encoding="utf-8")
    printed = refresh(home)
    assert "privacy of planted is switched on; deleted: 1 publication with the report, 1 damaged copy" in printed
    assert names_in(printed) == []
    assert files_with_names(home) == []
    assert str(home.sources) not in home.report.read_text(encoding="utf-8")
    assert read_state(home).keys() == {"planted"}
    assert names_in_public_export(home) == []
    assert (tmp_path / "key" / "privacy.key").stat().st_mode & 0o077 == 0
    private = numbers(home.published_file)
    assert private.keys() == plain.keys()
    assert {table: (plain[table], private[table]) for table in plain if plain[table] != private[table]} == {}
