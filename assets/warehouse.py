"""The one door to DuckDB: opens the working files for one writer at a time or read-only, and runs transactions.

It knows neither Dagster nor the data. Marts and estimates are built in a file of their own, which is then published:
copying them out of the working file would write them twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from assets.sql import literal

if TYPE_CHECKING:
    import pandas as pd

TABLE_FILES = tuple(Path(__file__).parent / "raw" / name for name in ("raw.sql", "ops.sql"))
"""Definitions of the tables that Python fills."""
PUBLICATION = "publication"
"""The name under which the publication is attached, here and in dbt's profile."""
READER_SCHEMAS = ("marts", "estimates")
"""Schemas of the publication; all others are in the working file."""
STORAGE_VERSION = "v1.3.0"
"""DuckDB reads it from 1.3 (May 2025) on; writing texts takes a third less CPU. dbt's profile sets it too."""
HELD = "Could not set lock on file"
"""DuckDB's error when another process has opened a file."""
PATIENCE_SECONDS = 10
"""How long to retry a file that another process holds: the child processes of a killed refresh end within it."""


@dataclass(frozen=True)
class Warehouse:
    """The working file, and the publication that is built next to it. Assets get it from Dagster as a resource.

    Attributes
    ----------
    path
        Absolute path of the file.
    publication
        Absolute path of the file of marts and estimates; empty where they are in `path`, as in a published file.
    memory_limit
        DuckDB's limit, for instance `4GB`; empty keeps DuckDB's default of 80% of the machine.
    threads
        How many DuckDB may use; 0 keeps its default, one per core.
    """

    path: str
    publication: str = ""
    memory_limit: str = ""
    threads: int = 0

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open for writing, and create missing raw and ops tables; fails if another process keeps the file open."""
        con = self._open_when_free()
        try:
            yield con
        finally:
            con.close()

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open read-only."""
        con = self._open_when_free(is_read_only=True)
        try:
            yield con
        finally:
            con.close()

    def close(self) -> None:
        """Release the files for another process; here none are held."""

    def _open_when_free(self, *, is_read_only: bool = False) -> duckdb.DuckDBPyConnection:
        """Open the files; retry for some seconds while another process holds one."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._open_to_read() if is_read_only else self._open()
            except duckdb.IOException as error:
                if HELD not in str(error) or time.monotonic() > deadline:
                    raise
            time.sleep(0.1)

    def _open(self) -> duckdb.DuckDBPyConnection:
        Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        con = duckdb.connect(self.path, config={"storage_compatibility_version": STORAGE_VERSION})
        try:
            self._configure(con)
            create_raw_and_ops(con)
            if self.publication:
                attach(con, Path(self.publication))
                for schema in READER_SCHEMAS:
                    con.execute(f"create schema if not exists {PUBLICATION}.{schema}")
                set_search_path(con)
        except BaseException:
            con.close()
            raise
        return con

    def _open_to_read(self) -> duckdb.DuckDBPyConnection:
        con = duckdb.connect(self.path, read_only=True)
        try:
            self._configure(con)
            if self.publication and Path(self.publication).exists():
                attach(con, Path(self.publication), "read_only")
                set_search_path(con)
        except BaseException:
            con.close()
            raise
        return con

    def _configure(self, con: duckdb.DuckDBPyConnection) -> None:
        con.execute("set timezone = 'UTC'")
        # As in dbt's profile. In an as-of join of a side that DuckDB estimates as small, it compares each row with all
        # rows of the other side: joining 200,000 lines with the years of their file took 30 s instead of 0.5 s.
        con.execute("set global asof_loop_join_threshold = 0")
        if self.memory_limit:
            con.execute(f"set memory_limit = {literal(self.memory_limit)}")
        if self.threads:
            con.execute(f"set threads = {self.threads}")


@dataclass(frozen=True)
class OpenWarehouse(Warehouse):
    """A warehouse that keeps its files open from one step of a run to the next, until `close`.

    What one step has read stays in DuckDB's memory for the next steps.
    """

    _held: list[duckdb.DuckDBPyConnection] = field(default_factory=list, init=False, repr=False, compare=False)
    """The connection that keeps the files open, if they are."""

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection to the files, and open them first if needed."""
        if not self._held:
            self._held.append(self._open_when_free())
        with second_connection(self._held[0]) as con:
            if self.publication:
                set_search_path(con)
            yield con

    @contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield the same connection, which may write: a process can open a DuckDB file in one mode only."""
        with self.writing() as con:
            yield con

    def close(self) -> None:
        """Close the files; do this before another process opens them or they are copied."""
        while self._held:
            self._held.pop().close()


def create_raw_and_ops(con: duckdb.DuckDBPyConnection) -> None:
    """Create missing tables and columns of raw and ops."""
    for file in TABLE_FILES:
        con.execute(file.read_text(encoding="utf-8"))


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit everything done inside, or nothing; restore `preserve_insertion_order` afterwards."""
    con.begin()
    try:
        yield
        con.commit()
    except BaseException:
        # A signal ends the call of a query, but its threads continue: without this, the rollback waits for them.
        con.interrupt()
        # On a full disk DuckDB may have closed the database itself; report the first error.
        with suppress(duckdb.Error):
            con.rollback()
        raise
    finally:
        with suppress(duckdb.Error):
            con.execute("set session preserve_insertion_order = true")


def is_interruption(error: BaseException | None) -> bool:
    """Return whether a signal caused an error: DuckDB turns what the handler raised into a `RuntimeError`."""
    while error is not None:
        if not isinstance(error, Exception) or isinstance(error, duckdb.InterruptException):
            return True
        error = error.__cause__
    return False


@contextmanager
def second_connection(con: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open another connection to the same database for another thread; it does not see temp tables of the first."""
    with con.cursor() as other:
        other.execute("set timezone = 'UTC'")
        yield other


def one_value(con: duckdb.DuckDBPyConnection, statement: str, parameters: object = None) -> Any:
    """Return the one value of a statement that returns one row of one column."""
    ((value,),) = con.execute(statement, parameters).fetchall()
    return value


def attach(con: duckdb.DuckDBPyConnection, path: Path, options: str = "read_write") -> None:
    """Attach a file as the publication."""
    con.execute(f"attach {literal(str(path))} as {PUBLICATION} ({options})")


def set_search_path(con: duckdb.DuckDBPyConnection, schema: str = "main") -> None:
    """Set the search path: names without a schema mean `schema`, and each schema is looked up in its own file."""
    found = con.execute(
        "select database_name, schema_name from duckdb_schemas() where database_name not in ('system', 'temp')"
    ).fetchall()

    def rank(place: tuple[str, str]) -> tuple[bool, bool]:
        database, name = place
        return name != schema, (database == PUBLICATION) != (name in READER_SCHEMAS)

    places = ",".join(f"{database}.{name}" for database, name in sorted(found, key=rank))
    con.execute(f"set search_path = {literal(places)}")


def remove_file(path: Path) -> None:
    """Remove a DuckDB file and its journal, which DuckDB would otherwise replay into the next file."""
    for left in (path, path.with_name(f"{path.name}.wal")):
        left.unlink(missing_ok=True)


def replace_table(con: duckdb.DuckDBPyConnection, name: str, frame: pd.DataFrame, ddl: str) -> int:
    """Replace `schema.table` with a frame of the declared shape, and return its row count.

    Parameters
    ----------
    con
        A writing connection.
    name
        `schema.table`.
    frame
        Columns named as in `ddl`, in any order; an absent or extra column is an error.
    ddl
        Column definitions: the text between the parentheses of `create table`, comments allowed.
    """
    schema, _, _ = name.partition(".")
    try:
        with transaction(con):
            if not con.execute("select 1 from duckdb_schemas() where schema_name = ?", [schema]).fetchall():
                con.execute(f"create schema {schema}")
            con.execute(f"create or replace table {name} ({ddl})")
            con.register("incoming_frame", frame)
            con.execute(f"insert into {name} by name select * from incoming_frame")
    finally:
        con.unregister("incoming_frame")
    return len(frame)


def replace_lineage(
    con: duckdb.DuckDBPyConnection, tables: Sequence[str], lineage: Sequence[tuple[str, str, str, str]]
) -> None:
    """Replace the column lineage of some tables.

    Parameters
    ----------
    con
        A writing connection.
    tables
        As `schema.table`.
    lineage
        Table, column, upstream table, upstream column.
    """
    con.begin()
    con.execute("delete from ops.lineage where list_contains(?, table_name)", [list(tables)])
    if lineage:
        columns = [list(values) for values in zip(*lineage, strict=True)]
        con.execute("insert into ops.lineage select unnest(?), unnest(?), unnest(?), unnest(?)", columns)
    con.commit()
