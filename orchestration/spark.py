"""`python -m orchestration.spark`: export raw tables as Parquet for a build on Spark, and import its marts.

The export reads the working file, and the import writes the file for the next publication. No refresh can start
meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import duckdb
import typer

from assets.sql import identifier
from assets.warehouse import one_value, transaction
from orchestration.cli.options import HomeOption, JsonOption, answer, run_app, settings_of
from orchestration.read_commands.published import ReadingError
from orchestration.settings.home import Home
from orchestration.terminal.interruption import interruptible
from orchestration.terminal.output import print_table, say_json

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Raw tables out as Parquet for a build on Spark, and its marts back in (docs/spark.md).",
)


def export_raw(home: Home, folder: Path, as_json: bool = False) -> None:
    """Write every table that dbt reads, and print the written tables."""
    from assets.raw.parquet import export_tables
    from assets.warehouse import Warehouse

    warehouse = Warehouse(path=str(home.working_file))
    with _alone(home, f"{folder} could not be written"), warehouse.reading() as con, interruptible(con):
        exported = export_tables(con, folder.expanduser().resolve())
    if as_json:
        say_json([asdict(table) for table in exported], indent=2)
        return
    rows = [
        (table.table, f"{table.row_count:,}", f"{table.file_count:,}", f"{table.size_bytes / 1e6:,.1f}")
        for table in exported
    ]
    print_table(("table", "rows", "files", "MB"), rows, right=(1, 2, 3))


def import_marts(home: Home, folder: Path, as_json: bool = False) -> None:
    """Replace the rows of every mart by those in a folder of Parquet files; either all marts or none."""
    from assets.warehouse import Warehouse

    warehouse = Warehouse(path=str(home.working_file), publication=str(home.build_file))
    with _alone(home, f"{folder} could not be read"), warehouse.writing() as con, interruptible(con):
        counts = replace_rows(con, folder.expanduser().resolve())
    if as_json:
        say_json(counts, indent=2)
    else:
        print_table(("table", "rows"), [(name, f"{count:,}") for name, count in counts.items()], right=(1,))


def replace_rows(con: duckdb.DuckDBPyConnection, folder: Path) -> dict[str, int]:
    """Replace the rows of the existing marts, which keep their types, constraints and comments; return row counts.

    Raises
    ------
    ReadingError
        A mart has no folder, or there are no marts to fill.
    """
    names = [name for (name,) in con.execute(MARTS).fetchall()]
    if not names:
        raise ReadingError("there are no marts to fill; run `faultline refresh` once, on any logs")
    missing = [name for name in names if not any((folder / name).glob("*.parquet"))]
    if missing:
        raise ReadingError(f"{folder} has no Parquet of {', '.join(missing)}; build the whole project, then try again")
    with transaction(con):
        for name in names:
            stored = ", ".join(identifier(column) for (column,) in con.execute(STORED, [name]).fetchall())
            con.execute(f"delete from marts.{identifier(name)}")
            con.execute(
                f"insert into marts.{identifier(name)} by name select {stored} from read_parquet($files)",
                {"files": f"{folder / name}/*.parquet"},
            )
    counts = {name: one_value(con, f"select count(*) from marts.{identifier(name)}") for name in names}
    return {f"marts.{name}": int(count) for name, count in counts.items()}


@contextmanager
def _alone(home: Home, problem: str) -> Iterator[None]:
    """Hold the home's lock, and turn errors into a `ReadingError` of one line."""
    from orchestration.upkeep.lock import RefreshLock, RefreshRunning

    if not home.working_file.exists():
        raise ReadingError(f"nothing has been read yet: there is no {home.working_file}; run `faultline refresh` first")
    try:
        with RefreshLock(home.lock_file):
            yield
    except RefreshRunning as error:
        raise ReadingError(str(error)) from None
    except (duckdb.Error, OSError) as error:
        text = " ".join(str(error).split())
        raise ReadingError(f"{problem}: {text}; what was there before is as it was") from None


MARTS = """
    select table_name from duckdb_tables()
    where database_name = 'publication' and schema_name = 'marts'
    order by table_name
"""
STORED = """
    select column_name from duckdb_columns()
    where database_name = 'publication' and schema_name = 'marts' and table_name = ?
"""


@app.command("export-raw", epilog="Example: `python -m orchestration.spark export-raw /data/raw`")
def _export_raw(
    folder: Annotated[Path, typer.Argument(help="Where to write FOLDER/raw/TABLE and FOLDER/ops/TABLE.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the raw tables as Parquet, by cluster and date: the input of the dbt project on Spark."""
    answer(lambda: export_raw(settings_of(home).home, folder, as_json), writes=True)


@app.command("import-marts", epilog="Example: `python -m orchestration.spark import-marts /data/spark/tables/marts.db`")
def _import_marts(
    folder: Annotated[Path, typer.Argument(help="Holds a folder of Parquet files per mart.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace the marts of this home by those that Spark built, for estimates and report."""
    answer(lambda: import_marts(settings_of(home).home, folder, as_json), writes=True)


if __name__ == "__main__":
    run_app(app, "python -m orchestration.spark")
