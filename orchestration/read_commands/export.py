"""`faultline export`: the tables of one publication as Parquet or CSV, described in Croissant.

An export is written into a folder of its own inside the target, and replaces the earlier export only when it is
complete: if it fails before, the earlier files and their description stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

import duckdb
from rich.progress import track

from assets.sql import identifier, literal
from assets.warehouse import one_value
from orchestration.read_commands.catalogue import ColumnListing, TableListing, list_tables
from orchestration.read_commands.croissant import NOT_STATED, Owner, data_type, describe, meaning
from orchestration.read_commands.export_folder import CROISSANT, METADATA, ExportFolder
from orchestration.read_commands.exported import ExportedTable, Publication, Relation, last_publication, whole_table
from orchestration.read_commands.public_export import WHY, leave_names_out, public_relation, public_tables
from orchestration.read_commands.published import ReadingError, one_line, published
from orchestration.terminal.output import console, print_table, say, say_json

Format = Literal["parquet", "csv"]
TIME_FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"
"""Times in CSV: ISO 8601 in UTC."""


def export(
    path: Path,
    folder: Path,
    wanted: Sequence[str] = (),
    as_json: bool = False,
    *,
    cluster_names: Sequence[str] | None = None,
    file_format: Format = "parquet",
    owner: Owner = NOT_STATED,
) -> None:
    """Write the published tables, and print what was written.

    Parameters
    ----------
    path
        The published file.
    folder
        Created if it is missing. The files of an earlier export are replaced or deleted; other files stay.
    wanted
        Tables by `schema.table` or by name alone; if empty, all.
    as_json
        Print JSON for a program to read.
    cluster_names
        Leave out names and cells of few users; new names of clusters as `NAME` or `OLD=NEW`. None: leave out nothing.
    file_format
        Format of the tables' files.
    owner
        The owner's properties in the description.

    Raises
    ------
    ReadingError
        A table does not exist, or the folder cannot be written.
    """
    place = ExportFolder(folder.expanduser().resolve(), is_public=cluster_names is not None)
    shown_on = console(is_error=True)
    try:
        with place.open(), published(path, writes_to=place.unfinished) as con:
            publication, relations = _relations(con, wanted, cluster_names)
            followed = track(relations, "Writing", console=shown_on, transient=True, disable=not shown_on.is_terminal)
            tables = [_write(con, relation, place.unfinished, publication, file_format) for relation in followed]
            left_out = {"is_public": True, "null_cells": WHY} if place.is_public else {}
            listed = asdict(publication) | left_out | {"tables": [_listed(table) for table in tables]}
            described = describe(zip(relations, tables, strict=True), publication, owner, file_format)
            for name, record in ((METADATA, listed), (CROISSANT, described)):
                (place.unfinished / name).write_text(f"{json.dumps(record, indent=2)}\n", encoding="utf-8")
            place.replace([table.file for table in tables])
    except (duckdb.IOException, OSError) as error:
        raise ReadingError(f"{place.path} could not be written: {one_line(error)}") from None
    if as_json:
        say_json([_listed(table) for table in tables], indent=2)
        return
    rows = [(table.table, f"{table.row_count:,}", f"{table.size_bytes / 1e6:,.1f}", table.file) for table in tables]
    print_table(("table", "rows", "MB", "file"), rows, right=(1, 2))
    for table in tables:
        if table.left_out:
            withheld = f"; columns withheld: {', '.join(table.left_out.columns)}" if table.left_out.columns else ""
            say(f"{table.table}: cells made NULL: {table.left_out.cell_count:,}{withheld}")
    if place.is_public:
        say(f"NULL are cells of {WHY}. docs/privacy.md says what --public leaves out.")
    say(f"described in {place.path / CROISSANT}")


def _relations(
    con: duckdb.DuckDBPyConnection, wanted: Sequence[str], cluster_names: Sequence[str] | None
) -> tuple[Publication, list[Relation]]:
    """Return the publication under its public name, and what to write of its tables."""
    tables = _chosen(list_tables(con), wanted)
    publication = last_publication(con)
    if cluster_names is None:
        return publication, [whole_table(con, table) for table in tables]
    tables = public_tables(tables, wanted)
    publication = leave_names_out(con, publication, cluster_names)
    return publication, [public_relation(con, table) for table in tables]


def _listed(table: ExportedTable) -> dict[str, object]:
    return {key: value for key, value in asdict(table).items() if value is not None}


def _chosen(tables: Sequence[TableListing], wanted: Sequence[str]) -> list[TableListing]:
    names = {name for table in tables for name in (table.name, table.name.split(".")[1])}
    if missing := [name for name in wanted if name not in names]:
        raise ReadingError(f"no table {', '.join(missing)} is published; `faultline tables` lists what there is")
    return [table for table in tables if not wanted or {table.name, table.name.split(".")[1]} & set(wanted)]


def _write(
    con: duckdb.DuckDBPyConnection, relation: Relation, folder: Path, publication: Publication, file_format: Format
) -> ExportedTable:
    schema, name = relation.table.name.split(".")
    file = folder / schema / f"{name}.{file_format}"
    file.parent.mkdir(exist_ok=True)
    columns = ", ".join(f"{_value(column, file_format)} as {identifier(column.name)}" for column in relation.columns)
    if file_format == "csv":
        options = f"format csv, header, timestampformat {literal(TIME_FORMAT)}"
    else:
        options = f"format parquet, compression zstd, kv_metadata {{{_metadata(relation, publication)}}}"
    row_count = one_value(con, f"copy (select {columns} from ({relation.select})) to {literal(str(file))} ({options})")
    with file.open("rb") as content:
        sha256 = hashlib.file_digest(content, "sha256").hexdigest()
    place = file.relative_to(folder).as_posix()
    return ExportedTable(relation.table.name, place, row_count, file.stat().st_size, sha256, relation.left_out)


def _value(column: ColumnListing, file_format: Format) -> str:
    """Return the SQL of a column's values: times with their zone, and in CSV, types that it lacks as JSON."""
    name = identifier(column.name)
    if column.type.startswith("timestamp"):
        return f"{name}::timestamp" if file_format == "csv" else f"{name}::timestamp at time zone 'UTC'"
    return f"to_json({name})" if file_format == "csv" and data_type(column.type) is None else name


def _metadata(relation: Relation, publication: Publication) -> str:
    """Return the metadata of a Parquet file as SQL pairs."""
    metadata = {
        "table": relation.table.name,
        "description": relation.table.description,
        "one_row_per": relation.table.grain,
        "columns": {column.name: meaning(column) for column in relation.columns},
        **asdict(publication),
    }
    return ", ".join(
        f"{identifier(f'faultline.{key}')}: {literal(value if isinstance(value, str) else json.dumps(value))}"
        for key, value in metadata.items()
    )
