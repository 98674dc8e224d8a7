"""Dagster's history of runs in its own SQLite files, written without a new connection and an fsync for each event.

Dagster opens the file again for every event and waits for the disk. A refresh has 900 events, which took 15 s
(dagster#19618, closed). Here connections stay open. A power cut may cost the history of runs, never data: the warehouse
is flushed before it is published. dagster.yaml names these classes.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any

from dagster import StringSource
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.runs import SqliteRunStorage
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.event import listen

BUSY_SECONDS = 30
"""Dagster itself waits this long for another process that writes the history."""


class EventHistory(SqliteEventLogStorage):
    """The events of each run in its own file, and an index of all runs."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        self._engines: dict[str, Engine] = {}
        self._one_at_a_time = threading.RLock()
        self._tables: set[str] = set()
        self._columns: set[str] = set()
        self._indexes: set[str] = set()
        super().__init__(base_dir, inst_data)

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the schema of the settings: the folder of Dagster's storage."""
        return {"dagster_home": StringSource}

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> EventHistory:
        """Use the files where Dagster itself puts them."""
        return cls(str(Path(config_value["dagster_home"], "history", "runs")), inst_data)

    def has_table(self, table_name: str) -> bool:
        """Remember which tables exist: Dagster asks with every check and opens the file each time."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def _has_asset_key_col_on_connection(self, conn: Connection, column_name: str) -> bool:
        """Remember which columns exist: Dagster lists the columns several times for each event."""
        if column_name not in self._columns and super()._has_asset_key_col_on_connection(conn, column_name):
            self._columns.add(column_name)
        return column_name in self._columns

    def has_asset_key_col(self, column_name: str) -> bool:
        """As above, without a transaction."""
        return column_name in self._columns or super().has_asset_key_col(column_name)

    def has_secondary_index(self, name: str) -> bool:
        """Remember which indexes exist: Dagster asks each time that it reads about assets."""
        if name not in self._indexes and super().has_secondary_index(name):
            self._indexes.add(name)
        return name in self._indexes

    def run_connection(self, run_id: str | None = None) -> AbstractContextManager[Connection]:
        """Begin a transaction on the file of a run."""
        return self._begin(str(run_id), lambda: super(EventHistory, self).run_connection(run_id))

    def index_connection(self) -> AbstractContextManager[Connection]:
        """Begin a transaction on the index."""
        return self._begin("index", super().index_connection)

    @contextmanager
    def _begin(self, shard: str, connect: Callable[[], AbstractContextManager[Connection]]) -> Iterator[Connection]:
        with self._one_at_a_time:
            if shard not in self._engines:
                make_file(Path(self.path_for_shard(shard)))
                # Dagster's own connection makes the tables.
                with connect():
                    self._engines[shard] = open_file(self.conn_string_for_shard(shard))
            with self._engines[shard].begin() as connection:
                yield connection

    def delete_events(self, run_id: str) -> None:
        """Delete a run's events, and its file and the outcomes of its checks, which Dagster leaves."""
        super().delete_events(run_id)
        with self.index_connection() as connection:
            connection.exec_driver_sql("delete from asset_check_executions where run_id = ?", (run_id,))
        with self._one_at_a_time:
            if run_id in self._engines:
                self._engines.pop(run_id).dispose()
            self._initialized_dbs.discard(run_id)
            file = Path(self.path_for_shard(run_id))
            for path in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
                path.unlink(missing_ok=True)

    def give_back_space(self) -> None:
        """Rewrite the index if more than half of it is empty; with one run a night this happens once."""
        with self.index_connection() as connection:
            pages, empty = (
                connection.exec_driver_sql(f"pragma {name}").scalar_one() for name in ("page_count", "freelist_count")
            )
        if 2 * empty > pages:
            with self._engines["index"].connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql("vacuum")

    def dispose(self) -> None:
        """Close the connections."""
        super().dispose()
        for engine in self._engines.values():
            engine.dispose()


class RunHistory(SqliteRunStorage):
    """All runs, in one file."""

    def __init__(self, conn_string: str, inst_data: Any = None) -> None:
        self._engine = open_file(conn_string)
        super().__init__(conn_string, inst_data)

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the schema of the settings: the folder of Dagster's storage."""
        return {"dagster_home": StringSource}

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> RunHistory:
        """Use the file where Dagster itself puts it."""
        return cls.from_local(str(Path(config_value["dagster_home"], "history")), inst_data)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Begin a transaction."""
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the connections."""
        super().dispose()
        self._engine.dispose()


def make_file(file: Path) -> None:
    """Create a missing file with pages for two events: an event takes 3 KB, and SQLite's default page has 4 KB."""
    if not file.exists():
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript("pragma page_size = 8192; vacuum")


def open_file(address: str) -> Engine:
    """Return an engine that keeps its connections, and does not wait for the disk.

    SQLAlchemy's pool lends a connection to one thread at a time. A pool with one connection per thread closes some of
    them if there are many threads, and the daemon then crashed.
    """
    engine = create_engine(address, max_overflow=-1, connect_args={"timeout": BUSY_SECONDS})
    listen(engine, "connect", lambda connection, _: connection.execute("pragma synchronous = off"))
    return engine
