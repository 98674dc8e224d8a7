"""Nights in which files rotate, are overwritten, halved and refused leave what one load of every line does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import duckdb
import pytest

from assets.sources.formats import READERS
from tests.sources.folders import connect, everything, load, load_results
from tests.sources.rotation import Site

TABLES = ("sacct", "slurmctld_events", "kernel_messages", "health_checks", "node_events", "tickets")
LOGS = ("slurmctld_events", "kernel_messages", "health_checks")


def _content(table: str, also: str = "") -> str:
    """Return the columns of a table that say what was told, not where, nor by which date of a file."""
    by_file = ", dated_by_file_at" if table in LOGS else ""
    return f"{table}.* exclude (path, line_number{by_file}{also})"


def facts(con: duckdb.DuckDBPyConnection, table: str) -> Counter[str]:
    """Count the rows that count, without where they stand."""
    rows = con.execute(f"select {_content(table)} from raw.{table} where disposition = 'loaded'")
    return Counter(map(repr, rows.fetchall()))


def held(con: duckdb.DuckDBPyConnection, table: str, *, is_present: bool = True) -> Counter[str]:
    """Count all rows that files which are there hold, or older versions of files."""
    also = ", disposition, line_count" if table == "kernel_messages" else ", disposition"
    rows = con.execute(
        f"""
        select {_content(table, also)}
        from raw.{table} inner join ops.files using (cluster_id, path)
        where if($1, is_present, version_of is not null)
        """,
        [is_present],
    )
    return Counter(map(repr, rows.fetchall()))


@pytest.mark.parametrize(
    ("seed", "nights"), [(1, 5), *(pytest.param(seed, 14, marks=pytest.mark.slow) for seed in range(14))]
)
def test_nights_of_rotating_files_leave_every_line_once(tmp_path: Path, seed: int, nights: int) -> None:
    con, site = connect(), Site(tmp_path / "nights", seed)
    for night in range(nights):
        site.night(is_last=night == nights - 1)
        load_results(tmp_path / "nights", con, READERS, full=night % 4 == 2)
    site.write_once(tmp_path / "once")
    at_once = load(tmp_path / "once", readers=READERS)
    for table in TABLES:
        ours, all_lines = facts(con, table), facts(at_once, table)
        assert all_lines
        assert (ours - all_lines, all_lines - ours) == ({}, {}), (table, site.done)
        older, present = held(con, table, is_present=False), held(con, table)
        assert older <= (held(at_once, table) - present if table in LOGS else Counter({*older} - {*present})), site.done


RULES = (
    'timezone = "America/New_York"\n',
    '[[kernel.rules]]\npattern = "link is quiet"\ncategory = "eth_link"\n',
    "",
)


@pytest.mark.parametrize(
    ("seed", "nights"), [(2, 4), *(pytest.param(seed, 10, marks=pytest.mark.slow) for seed in range(12))]
)
def test_nights_leave_what_reading_every_file_again_each_night_does(tmp_path: Path, seed: int, nights: int) -> None:
    ours, again, site = connect(), connect(), Site(tmp_path, seed)
    for night in range(nights):
        site.night()
        if night % 3 == 2:
            (tmp_path / "c1" / "cluster.toml").write_text(RULES[(seed + night) % len(RULES)])
        load_results(tmp_path, ours, READERS)
        load_results(tmp_path, again, READERS, full=True)
        found, expected = everything(ours), everything(again)
        for table, rows in expected.items():
            assert found[table] == rows, (table, site.done)
