"""A cluster that is switched to pseudonyms and forgotten: no file keeps a planted name, no number differs."""

from __future__ import annotations

import io
import re
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from orchestration.refresh.forgetting import forget
from orchestration.refresh.run import run_refresh
from orchestration.settings.environment import read_settings
from orchestration.settings.home import Home
from orchestration.terminal.output import console
from orchestration.upkeep.healing import MARK as DAMAGED
from tests.homes import ask
from tests.pipeline.stale import cluster
from tests.privacy.planted import MARK, PLAIN, PRIVATE, files_with_names, names_in, rows_of_duckdb, write_planted

pytestmark = pytest.mark.slow

NUMBER = re.compile("BIGINT|INTEGER|DOUBLE|BOOLEAN|HUGEINT|TIMESTAMP|DATE|DECIMAL")
TOLD_BY_NAMES = {"cancelled_by_uid"}
"""Numbers that stand for a person."""


def numbers(file: Path) -> dict[str, list[str]]:
    """Return the numbers, moments and booleans of all tables; sums depend on the order of names."""
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
            table: sorted(
                str([f"{value:.9g}" if isinstance(value, float) else value for value in row])
                for row in con.execute(f"select {', '.join(names)} from {table}").fetchall()
            )
            for table, names in shown.items()
            if names
        }


def refresh(home: Home) -> str:
    """Refresh a home; return its output in one line."""
    text = io.StringIO()
    printed = console(text)
    run_refresh(replace(read_settings(home.root), is_pulling=False), printed).print(printed)
    return " ".join(text.getvalue().split())


def test_a_cluster_that_is_switched_on_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAULTLINE_PRIVACY_KEY_FILE", str(tmp_path / "key" / "privacy.key"))
    monkeypatch.setenv("FAULTLINE_ALERT_COMMAND", "true")
    home = Home.at(tmp_path / "home")
    folder = write_planted(home.sources, PLAIN)
    cluster().write(home.sources / "b")
    refresh(home)
    plain, first = numbers(home.published_file), home.current.resolve()
    assert len(files_with_names(home)) > 4, "names are where they are looked for"
    assert str(home.sources) in home.report.read_text(encoding="utf-8"), "commands have the path"

    (folder / "cluster.toml").write_text(PRIVATE, encoding="utf-8")
    printed = refresh(home)
    assert "planted could not be built and is published without numbers" in printed
    assert "`faultline refresh --forget planted --yes`" in printed
    assert names_in(printed) == []
    assert names_in(rows_of_duckdb(home.published_file)) == []
    assert names_in(home.report.read_text(encoding="utf-8")) == []
    assert ask(home, "select cluster_id from marts.dim_clusters") == [("b",)]
    assert first.is_dir(), "earlier publications stay until it is forgotten"
    assert "nothing new since the last publication" in refresh(home)

    shutil.copy(home.working_file, home.work / f"faultline.duckdb{DAMAGED}20260101T000000Z")
    (home.work / "reading-left").mkdir()
    (home.work / "reading-left" / "0.txt").write_text(f"{MARK}left\n", encoding="utf-8")
    assert home.alerts.exists()
    forget(home, ["planted"], is_confirmed=True, key_file=read_settings().privacy_key)
    assert files_with_names(home) == []
    printed = refresh(home)
    warnings = capsys.readouterr().err
    assert f"the key of pseudonyms was made: {tmp_path / 'key' / 'privacy.key'}" in warnings
    assert names_in(printed + warnings) == []
    assert files_with_names(home) == []
    assert not first.exists()
    assert str(home.sources / "planted") not in home.report.read_text(encoding="utf-8")
    private = numbers(home.published_file)
    assert private.keys() == plain.keys()
    assert {table: (plain[table], private[table]) for table in plain if plain[table] != private[table]} == {}
    assert "nothing new since the last publication" in refresh(home)
    assert files_with_names(home) == []
