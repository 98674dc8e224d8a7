"""Schema raw as folders of Parquet, for the dbt project on an engine of many machines.

It reads the working file, which holds all that was read even where nothing was published, and lets no refresh start
meanwhile.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import duckdb

from orchestration.home import Home
from orchestration.reading import ReadingError


def export_raw(home: Home, folder: Path, as_json: bool = False) -> None:
    """Write every table that dbt reads and print what was written."""
    from assets.raw.parquet import export_tables
    from assets.warehouse import Warehouse
    from orchestration.rendering import print_table
    from orchestration.session import RefreshLock, RefreshRunning

    if not home.working_file.exists():
        raise ReadingError(f"nothing has been read yet: there is no {home.working_file}; run `faultline refresh` first")
    lock = RefreshLock(home.lock_file)
    try:
        lock.acquire()
        with Warehouse(path=str(home.working_file)).reading() as con:
            exported = export_tables(con, folder.expanduser().resolve())
    except RefreshRunning as error:
        raise ReadingError(str(error)) from None
    except (duckdb.Error, OSError) as error:
        raise ReadingError(f"{folder} could not be written: {error}; what lay there before still does") from None
    finally:
        lock.release()
    if as_json:
        print(json.dumps([asdict(table) for table in exported], indent=2))
        return
    rows = [
        (table.table, f"{table.row_count:,}", f"{table.file_count:,}", f"{table.size_bytes / 1e6:,.1f}")
        for table in exported
    ]
    print_table(("table", "rows", "files", "MB"), rows, right=(1, 2, 3))
