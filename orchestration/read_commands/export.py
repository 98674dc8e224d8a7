"""`faultline export`: every published table as a Parquet file that says what it is and of which publication."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import duckdb
from rich.progress import track

from assets.sql import identifier, literal
from orchestration.read_commands.catalogue import ColumnListing, TableListing, list_tables
from orchestration.read_commands.exported import ExportedTable, Publication, Relation, last_publication, whole_table
from orchestration.read_commands.public_export import (
    WHY,
    leave_names_out,
    public_relation,
    public_tables,
    refuse_other_files,
)
from orchestration.read_commands.published import ReadingError, one_line, published
from orchestration.terminal import console, print_table, say, say_json

Written = TypeVar("Written")
METADATA = "faultline.json"
"""The file that lists what the last export wrote."""


def export(
    path: Path,
    folder: Path,
    wanted: Sequence[str] = (),
    as_json: bool = False,
    cluster_names: Sequence[str] | None = None,
) -> None:
    """Write the published tables, and print what was written.

    Parameters
    ----------
    path
        The published file.
    folder
        Made where it is missing. Tables of an earlier export are replaced; what else lies in it stays.
    wanted
        Tables by `schema.table` or by name alone; without one, all.
    as_json
        Print JSON for a program to read.
    cluster_names
        Leave out names and what few users did, and call clusters so: `NAME` or `OLD=NEW`. None: leave out nothing.

    Raises
    ------
    ReadingError
        A table is not there, or the folder cannot be written.
    """
    folder = folder.expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with published(path, writes_to=folder) as con:
            tables = _chosen(list_tables(con), wanted)
            publication = last_publication(con)
            if cluster_names is None:
                relations = [whole_table(con, table) for table in tables]
            else:
                refuse_other_files(folder, METADATA)
                tables = public_tables(tables, wanted)
                publication = leave_names_out(con, publication, cluster_names)
                relations = [public_relation(con, table) for table in tables]
            exported = list(_write_tables(con, relations, folder, publication))
    except (duckdb.IOException, OSError) as error:
        raise ReadingError(f"{folder} could not be written: {one_line(error)}") from None
    if as_json:
        say_json([_listed(table) for table in exported], indent=2)
        return
    rows = [(table.table, f"{table.row_count:,}", f"{table.size_bytes / 1e6:,.1f}", table.file) for table in exported]
    print_table(("table", "rows", "MB", "file"), rows, right=(1, 2))
    for table in exported:
        if table.left_out:
            withheld = f"; columns withheld: {', '.join(table.left_out.columns)}" if table.left_out.columns else ""
            say(f"{table.table}: cells made NULL: {table.left_out.cell_count:,}{withheld}")
    if cluster_names is not None:
        say(f"NULL are cells of {WHY}. `faultline docs privacy` says what --public leaves out.")


def _listed(table: ExportedTable) -> dict[str, object]:
    return {key: value for key, value in asdict(table).items() if value is not None}


def _chosen(tables: Sequence[TableListing], wanted: Sequence[str]) -> list[TableListing]:
    names = {name for table in tables for name in (table.name, table.name.split(".")[1])}
    if missing := [name for name in wanted if name not in names]:
        raise ReadingError(f"no table {', '.join(missing)} is published; `faultline tables` lists what there is")
    return [table for table in tables if not wanted or {table.name, table.name.split(".")[1]} & set(wanted)]


def _write_tables(
    con: duckdb.DuckDBPyConnection, relations: Sequence[Relation], folder: Path, publication: Publication
) -> Iterator[ExportedTable]:
    """Write one table after the other, and then the list of them."""
    written = []
    for relation in track(relations, "Writing Parquet", console=console(is_error=True), transient=True):
        exported = _write(con, relation, folder, publication)
        written.append(_listed(exported))
        yield exported
    left_out = {"is_public": True, "null_cells": WHY} if any(relation.left_out for relation in relations) else {}
    listed = json.dumps(asdict(publication) | left_out | {"tables": written}, indent=2)
    replace_file(folder / METADATA, lambda place: place.write_text(f"{listed}\n", encoding="utf-8"))


def _write(con: duckdb.DuckDBPyConnection, relation: Relation, folder: Path, publication: Publication) -> ExportedTable:
    table = relation.table
    schema, name = table.name.split(".")
    metadata = {
        "table": table.name,
        "description": table.description,
        "one_row_per": table.grain,
        "columns": {column.name: _meaning(column) for column in relation.columns},
        **asdict(publication),
    }
    described = ", ".join(
        f"{identifier(f'faultline.{key}')}: {literal(value if isinstance(value, str) else json.dumps(value))}"
        for key, value in metadata.items()
    )
    file = folder / schema / f"{name}.parquet"
    file.parent.mkdir(exist_ok=True)
    ((row_count,),) = replace_file(
        file,
        lambda place: con.execute(
            f"copy ({relation.select}) to {literal(str(place))}"
            f" (format parquet, compression zstd, kv_metadata {{{described}}})"
        ).fetchall(),
    )
    return ExportedTable(table.name, f"{schema}/{name}.parquet", row_count, file.stat().st_size, relation.left_out)


def _meaning(column: ColumnListing) -> str:
    return f"{column.description} Unit: {column.unit}." if column.unit else column.description


def replace_file(file: Path, write: Callable[[Path], Written]) -> Written:
    """Write a file beside its place, put it there when it is whole, and return what writing gave."""
    unfinished = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        written = write(unfinished)
        unfinished.replace(file)
        return written
    finally:
        unfinished.unlink(missing_ok=True)
