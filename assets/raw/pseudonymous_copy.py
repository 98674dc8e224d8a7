"""Copy a warehouse into a new file in which clusters have pseudonyms in place of names.

The copy begins as an empty file, so no freed block of it holds a plain name. Rows of files that are gone from the
sources folder keep what they tell; files that are there are read again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import duckdb

from assets.sources.text.pseudonyms import HIDDEN, create_cut_function, kept_detail, replaced_columns
from assets.sql import identifier, literal

_LEFT_BEHIND = ("checks", "cluster_failures", "published")
"""Tables of ops about runs whose publications are deleted; their texts may quote rows."""
_TABLES = """
    select schema_name, table_name, list(column_name order by column_index)
    from duckdb_columns() where database_name = $database and schema_name in ('raw', 'ops')
    group by all order by all
"""
_OF_OPS: Mapping[str, str] = {
    "quarantine": (f"if(reason = 'unknown_node', detail, {kept_detail('detail')}) as detail, {literal(HIDDEN)} as raw"),
    # Without a reader a file is read again.
    "files": "'' as reader, regexp_replace(reason, '\\s*[:(;].*', '') as reason",
}


def copy_with_pseudonyms(
    con: duckdb.DuckDBPyConnection,
    old: Path,
    privacy: Mapping[str, Mapping[str, str]],
    to_hash: Collection[str],
    to_read_again: Collection[str],
) -> int:
    """Fill the raw and ops tables of an empty warehouse from another file.

    Parameters
    ----------
    con
        A writing connection to the new file, with the tables in place and the key given.
    old
        The file to copy from; it is not changed.
    privacy
        What the texts of each raw table hold.
    to_hash
        Clusters whose names in the old file are plain.
    to_read_again
        Clusters whose names are pseudonyms by another key; their rows are copied.

    Returns
    -------
    The number of files of the second that are gone, whose pseudonyms stay as they are.
    """
    create_cut_function(con)
    con.execute(f"attach {literal(str(old))} as plain (read_only)")
    try:
        ((name,),) = con.execute("select current_database()").fetchall()
        known = {(schema, table): set(columns) for schema, table, columns in _tables(con, name)}
        for schema, table, columns in _tables(con, "plain"):
            shared = [column for column in columns if column in known.get((schema, table), set())]
            if not shared or (schema == "ops" and table in _LEFT_BEHIND):
                continue
            kept = ", ".join(identifier(column) for column in shared)
            source = f"select {kept} from plain.{identifier(schema, table)}"
            target = identifier(schema, table)
            replaced = _OF_OPS[table] if schema == "ops" and table in _OF_OPS else ""
            if schema == "raw":
                replaced = replaced_columns(privacy.get(table, {}), shared)
            if "cluster_id" not in shared or not replaced:
                con.execute(f"insert into {target} by name {source}")
                continue
            hashed = {"clusters": [*to_hash]}
            where = "list_contains($clusters::varchar[], cluster_id)"
            con.execute(f"insert into {target} by name {source} where not {where}", hashed)
            con.execute(
                f"insert into {target} by name select * replace ({replaced}) from ({source} where {where})", hashed
            )
        con.execute("update ops.runs set message = null")
        con.execute(
            "update ops.files set reader = '' where list_contains($clusters::varchar[], cluster_id)",
            {"clusters": [*to_read_again]},
        )
        ((removed_count,),) = con.execute(
            "select count(*) from ops.files where not is_present and list_contains($clusters::varchar[], cluster_id)",
            {"clusters": [*to_read_again]},
        ).fetchall()
    finally:
        con.execute("detach plain")
    return int(removed_count)


def _tables(con: duckdb.DuckDBPyConnection, database: str) -> list[tuple[str, str, list[str]]]:
    return con.execute(_TABLES, {"database": database}).fetchall()
