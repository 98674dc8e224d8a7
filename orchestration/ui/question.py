"""Answer one question about the published file: `python -m orchestration.ui.question`, a process of its own.

Standard input has one line of JSON, which is a `Question`; the answer goes to standard output. Exit status 1 means that
the output is the reason why there is none. Whoever asked may kill the process at any time, and it ends by itself when
standard input closes: no query of DuckDB can be relied on to end when it is interrupted.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import threading
import time
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import duckdb

from orchestration.read_commands.catalogue import list_tables
from orchestration.read_commands.published import ReadingError, one_line, published
from orchestration.read_commands.query import ask, write_csv
from orchestration.values import plain

Wanted = Literal["rows", "csv", "tables"]
MAX_ROWS = 1_000
"""Rows of an answer that the page shows."""
MAX_CSV_ROWS = 100_000


@dataclass(frozen=True)
class Question:
    """What is asked, and what the answer may cost.

    Attributes
    ----------
    path
        The published file.
    wants
        Rows as JSON or as CSV, or the list of tables.
    sql
        One SELECT; nothing where tables are listed.
    folder
        Where DuckDB spills what does not fit into memory.
    memory_bytes
        Memory of the whole process. DuckDB's own limit is half of it, as it does not count every text that it makes.
    threads
        How many DuckDB may use.
    """

    path: str
    wants: Wanted
    sql: str
    folder: str
    memory_bytes: int
    threads: int

    def answer(self) -> str:
        """Open the file and return the answer.

        Raises
        ------
        ReadingError
            There is no answer; the text says why.
        """
        # Unlike the address space, this is close to what is really used.
        resource.setrlimit(resource.RLIMIT_DATA, (self.memory_bytes, self.memory_bytes))
        limits = {
            "memory_limit": f"{self.memory_bytes // 2}B",
            "threads": str(self.threads),
            "temp_directory": self.folder,
            "max_temp_directory_size": f"{self.memory_bytes * 4}B",
        }
        with published(Path(self.path), limits=limits) as con:
            if self.wants == "tables":
                return _json([asdict(table) for table in list_tables(con)])
            try:
                return _rows_of(con, self.sql) if self.wants == "rows" else _csv_of(con, self.sql)
            except (duckdb.OutOfMemoryException, MemoryError):
                limit = f"{self.memory_bytes / 1e6:,.0f} MB"
                raise ReadingError(
                    f"the answer needs more than {limit} of memory; ask for less, or use `faultline query`"
                ) from None
            except duckdb.Error as error:
                raise ReadingError(one_line(error)) from None


def _rows_of(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    started = time.monotonic()
    cursor = ask(con, sql)
    names = [column[0] for column in cursor.description or []]
    rows = cursor.fetchmany(MAX_ROWS + 1)
    return _json({
        "columns": names,
        "rows": rows[:MAX_ROWS],
        "is_cut": len(rows) > MAX_ROWS,
        "seconds": round(time.monotonic() - started, 3),
    })  # fmt: skip


def _csv_of(con: duckdb.DuckDBPyConnection, sql: str) -> str:
    cursor = ask(con, sql)
    names = [column[0] for column in cursor.description or []]
    out = io.StringIO()
    write_csv(names, islice(iter(cursor.fetchone, None), MAX_CSV_ROWS), out)
    return out.getvalue()


def _json(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _end_with_who_asked() -> None:
    while os.read(sys.stdin.fileno(), 1024):
        pass
    os._exit(1)


def main() -> int:
    """Answer, and return the exit status."""
    question = Question(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_who_asked, daemon=True).start()
    try:
        text, status = question.answer(), 0
    except ReadingError as error:
        text, status = str(error), 1
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.flush()
    return status


if __name__ == "__main__":
    # Without the end of the interpreter: a thread of DuckDB may still compute.
    os._exit(main())
