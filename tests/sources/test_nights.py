"""Thirty nights leave in the raw tables what one load of the same files does, to the last row."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from pathlib import Path

import duckdb
import pytest

from assets.sources.formats import READERS
from tests.sources.folders import connect, load, load_results
from tests.sources.nights import DAYS, nights, simulated


def tables_left(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return by table the query for every row of raw and of the accounts, save which run read a file."""
    names = con.execute(
        """
        select schema_name || '.' || table_name from duckdb_tables()
        where schema_name = 'raw' or table_name in ('files', 'skips', 'quarantine')
        """
    ).fetchall()
    columns = {"ops.files": "* exclude (run_id)"}
    return {name: f"select {columns.get(name, '*')} from {name} order by all" for (name,) in names}


def everything(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple]]:
    """Return these rows by table."""
    return {name: con.execute(query).fetchall() for name, query in tables_left(con).items()}


EVENTFUL = (0, 3, 4, 6, 10, 11, 28, DAYS)
"""Nights on which files come, are corrected, doubled, gone or late; on the others a day comes like the one before."""


def all_in_one(folder: Path) -> Path:
    """Write a fifth of the logs, in one cluster with every kind: a load of few lines costs as much per cluster."""
    complete = simulated(folder, scale=0.1)
    shutil.move(complete / "demo-vision" / "squeue", complete / "demo-llm")
    shutil.rmtree(complete / "demo-vision")
    return complete


@pytest.mark.parametrize(
    ("loaded", "logs"),
    [
        pytest.param(EVENTFUL, all_in_one, id="eventful"),
        pytest.param(range(DAYS + 1), simulated, id="all", marks=pytest.mark.slow),
    ],
)
def test_thirty_nights_leave_what_one_load_does(
    tmp_path: Path, loaded: Collection[int], logs: Callable[[Path], Path]
) -> None:
    complete, growing = logs(tmp_path / "logs"), tmp_path / "growing"
    con = connect()
    read = {}
    for night in nights(complete, growing):
        if night in loaded:
            read[night] = sum(result.files_read for result in load_results(growing, con, READERS).values())
    at_once = load(complete, readers=READERS)
    assert max(read) == DAYS
    assert max(read[night] for night in (4, 11)) < 20, "a night reads its own files only"
    nightly, whole = everything(con), everything(at_once)
    of_nights = ("sacct", "health_checks", "kernel_messages", "slurmctld_events", "squeue_exclusions")
    assert all(whole[f"raw.{table}"] for table in of_nights)
    for name, rows in whole.items():
        assert nightly[name] == rows, name
    before = everything(con)
    load(growing, con, READERS, full=True)
    assert everything(con) == before
