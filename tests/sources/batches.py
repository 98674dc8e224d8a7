"""Runs a format reader on text, without the loading core. The module prepares what the core would prepare.

`read` returns the outcome of one batch. `load` moves batches into the raw table and recomputes its dispositions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from assets.sources.batch_tables import BATCH_FILES, FILE_LINES, FILE_WARNINGS, LINES
from assets.sources.intake.account.sight import sample_lines
from assets.sources.intake.batch import carry_out, drop_temporary
from assets.sources.reader import SAMPLE_CHARACTERS, Batch, Reader
from assets.sources.settings import ClusterSettings, Settings
from assets.warehouse import create_raw_and_ops

TESTBED = Path(__file__).parents[2] / "data" / "sources" / "testbed"
MODIFIED_AT = datetime(2026, 11, 22)
Row = dict[str, Any]


@dataclass
class Outcome:
    """The result of reading a batch of files: the reader's three tables."""

    line_count: int
    loaded: list[Row] = field(default_factory=list)
    skipped: list[Row] = field(default_factory=list)
    quarantined: list[Row] = field(default_factory=list)

    @property
    def skips(self) -> Counter[str]:
        """Skipped lines by reason."""
        return Counter(row["reason"] for row in self.skipped)

    @property
    def quarantines(self) -> Counter[str]:
        """Quarantined lines by reason."""
        return Counter(row["reason"] for row in self.quarantined)

    def assert_every_line_once(self) -> None:
        """Check the identity `lines_in = loaded + skipped + quarantined`, line by line."""
        loaded = {(row["file_id"], row["line_number"]) for row in self.loaded}
        rest = [(row["file_id"], row["line_number"]) for row in self.skipped + self.quarantined]
        assert len(rest) == len(set(rest)), "a line was skipped or quarantined twice"
        assert not loaded & set(rest), "a line was loaded and also skipped or quarantined"
        assert len(loaded) + len(rest) == self.line_count, "lines are unaccounted for"


def cluster_of(zone: str = "UTC", **settings: Any) -> ClusterSettings:
    """Return a cluster with settings, as from `cluster.toml`."""
    return ClusterSettings(cluster_id="c1", settings=Settings.model_validate({"timezone": zone, **settings}))


@cache
def _warehouse() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    con.execute("set threads = 1")
    create_raw_and_ops(con)
    return con


def connect() -> duckdb.DuckDBPyConnection:
    """Return an empty warehouse in memory. Each call empties the same one, because making one takes far longer."""
    con = _warehouse()
    drop_temporary(con)
    for (table,) in con.execute("select table_name from duckdb_tables() where schema_name = 'raw'").fetchall():
        con.execute(f"delete from raw.{table}")
    return con


def _rows(con: duckdb.DuckDBPyConnection, query: str) -> list[Row]:
    result = con.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, values, strict=True)) for values in result.fetchall()]


def run(
    con: duckdb.DuckDBPyConnection,
    reader: Reader,
    files: dict[str, str],
    cluster: ClusterSettings | None = None,
    modified_at: datetime = MODIFIED_AT,
) -> Outcome:
    """Read a batch of files into raw. `files` maps paths below the cluster's kind folder to texts."""
    cluster = cluster or cluster_of()
    about: list[Row] = []
    rows: list[tuple[int, int, str | None]] = []
    for file_id, (name, text) in enumerate(files.items(), 1):
        path = f"{cluster.cluster_id}/{reader.KIND}/{name}"
        dialect = reader.detect(text[:SAMPLE_CHARACTERS], path, cluster)
        assert dialect in reader.DIALECTS
        about.append({
            "file_id": file_id, "cluster_id": cluster.cluster_id, "path": path, "dialect": dialect,
            "modified_at": modified_at, "timezone": cluster.settings.timezone, "last_line_open": text[-1:] != "\n",
        })  # fmt: skip
        physical = text.removesuffix("\n").split("\n")
        rows += [(file_id, number, line if line.strip() else None) for number, line in enumerate(physical, 1)]
    begin(con, reader, about, rows)
    plan = reader.plan_reading(Batch(cluster, frozenset(file["dialect"] for file in about)))
    carry_out(con, reader, plan)
    outcome = Outcome(
        len(rows),
        _rows(con, f"select * from ({plan.loaded}) order by file_id, line_number"),
        _rows(con, "select * from skipped_lines order by file_id, line_number"),
        _rows(con, "select * from quarantined_lines order by file_id, line_number"),
    )
    outcome.assert_every_line_once()
    return outcome


def begin(
    con: duckdb.DuckDBPyConnection,
    reader: Reader,
    files: Sequence[Mapping[str, Any]],
    rows: Sequence[tuple[int, int, str | None]],
) -> None:
    """Create the tables that the core prepares for a reader."""
    BATCH_FILES.create(con)
    BATCH_FILES.add(con, files)
    LINES.fill(con, rows)
    counts = "select file_id, count(*) as lines_in, max(line_number) as last_line from lines group by file_id"
    FILE_LINES.create_from(con, counts)
    FILE_WARNINGS.create(con)
    sample_lines(con, reader)


def name_nodes(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Set the node ids of the raw table; every host is a node."""
    columns = {row["name"] for row in _rows(con, f"select name from pragma_table_info('raw.{reader.TABLE}')")}
    if "node_id" in columns:
        con.execute(f"update raw.{reader.TABLE} set node_id = lower(node_name)")


def settle(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Recompute the dispositions of the raw table."""
    for step in reader.dispositions():
        con.execute(step) if isinstance(step, str) else step(con)


def table_of(con: duckdb.DuckDBPyConnection, reader: Reader) -> list[Row]:
    """Return the raw table ordered by cluster, path and line."""
    return _rows(con, f"select * from raw.{reader.TABLE} order by all")


def read(
    reader: Reader, text: str, name: str = "file.txt", cluster: ClusterSettings | None = None, **more: Any
) -> Outcome:
    """Read one file. Check that each line is accounted for once and that the rows fit the raw table."""
    con = connect()
    return run(con, reader, {name: text}, cluster, **more)


def load(reader: Reader, *batches: dict[str, str], cluster: ClusterSettings | None = None, **more: Any) -> list[Row]:
    """Read batches one after another, settle after each, and return the raw table."""
    con = connect()
    for files in batches:
        run(con, reader, files, cluster, **more)
        name_nodes(con, reader)
        settle(con, reader)
    return table_of(con, reader)
