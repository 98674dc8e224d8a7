"""`faultline export --public`: tables without names, in which cells of few users are NULL.

assets/public/tables.yml says which columns are exported, and what they count; cells.sql in that folder computes which
cells are hidden. A column that may hold a name or a text, by contents.yml there, is never exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import duckdb
import yaml

from assets.public.contents import content_of
from assets.sql import fill, identifier, literal
from assets.warehouse import one_value
from orchestration.read_commands.catalogue import ColumnListing, TableListing, list_columns
from orchestration.read_commands.exported import LeftOut, Publication, Relation
from orchestration.read_commands.published import ReadingError
from orchestration.settings.home import PROJECT

KINDS = ("ended", "started", "failures", "losses", "runs")
"""What cells count; columns listed below one of these names are NULL if fewer than five users are behind the cell."""
WHY = (
    "fewer than five users, or the smallest other cell, which a total would give away with it; rows of such cells alone"
    " are left out"
)


@cache
def decisions() -> dict[str, Any]:
    """Return which tables and columns are exported."""
    found: dict[str, Any] = yaml.safe_load((PROJECT / "assets" / "public" / "tables.yml").read_text(encoding="utf-8"))
    return found


def public_tables(tables: Sequence[TableListing], wanted: Sequence[str]) -> list[TableListing]:
    """Return the tables that are exported.

    Raises
    ------
    ReadingError
        A wanted table is never exported.
    """
    reasons = {name: reason for reason, names in decisions()["never"].items() for name in names}
    kept = [table for table in tables if table.name in decisions()["tables"]]
    if wanted and (kept_back := [table.name for table in tables if table not in kept]):
        name = kept_back[0]
        raise ReadingError(f"{name} is never exported with --public: {reasons.get(name, 'it is no public table')}")
    return kept


def leave_names_out(
    con: duckdb.DuckDBPyConnection, publication: Publication, cluster_names: Sequence[str]
) -> Publication:
    """Compute hidden cells and the new names of clusters and accounts; return the publication with these names.

    Parameters
    ----------
    con
        The published file.
    publication
        The publication with its internal names.
    cluster_names
        The name of the only cluster, or `OLD=NEW` for some; the others are named `cluster-1`, `cluster-2`.
    """
    con.execute(fill("public/cells.sql"))
    con.execute(fill("public/names.sql"))
    names = _names(con)
    taken = {name.casefold() for name in names}
    unnamed = {*names}
    for given in cluster_names:
        old, _, new = (part.strip() for part in given.rpartition("="))
        if not old and len(names) == 1:
            (old,) = names
        if old not in names:
            raise ReadingError(f"--cluster-name {given}: give OLD=NEW, where OLD is one of {', '.join(names)}")
        if old not in unnamed or not new or new.casefold() in taken:
            raise ReadingError(f"--cluster-name {given}: give a cluster one name, which no cluster has inside")
        unnamed.remove(old)
        con.execute("update public_names set public_name = ? where cluster_id = ? and account is null", [new, old])
    names = _names(con)
    if len({name.casefold() for name in names.values()}) < len(names):
        raise ReadingError("--cluster-name: each cluster needs a name of its own, not in other letters alone")
    return replace(publication, simulated_clusters=sorted(names[old] for old in publication.simulated_clusters))


def _names(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    return dict(
        con.execute("select cluster_id, public_name from public_names where account is null order by 1").fetchall()
    )


def public_relation(con: duckdb.DuckDBPyConnection, table: TableListing) -> Relation:
    """Return what is exported of a table, with how much is left out."""
    decided = decisions()["tables"][table.name]
    kinds = {name: kind for kind in KINDS for name in decided.get(kind, ())}
    columns = [
        column
        for column in list_columns(con, table.name)
        if column.name in {*decided["shown"], *kinds} and is_nameless(table.name, column.name)
    ]
    source = " ".join(_source(table.name, decided, columns, kinds))
    values = ", ".join(_value(column.name, kinds.get(column.name)) for column in columns)
    # Count hidden cells whatever they hold: a count of the non-NULL ones would reveal how many there are.
    hidden = [f"count(*) filter (where {identifier(kind)}.is_shown is not true)" for kind in kinds.values()]
    cells = one_value(con, f"select {' + '.join(['count(null)', *hidden])} {source}")
    if decided.get("sums"):
        table = replace(table, grain=" and ".join(decided["shown"]))
    # The internal order of rows may be by name, so they are sorted again.
    return Relation(
        table, columns, f"select {values} {source} order by all", LeftOut(cells, decided.get("withheld", []))
    )


def is_nameless(table: str, column: str) -> bool:
    """Return whether a column has no names and no texts; accounts get new names."""
    return column == "account" or content_of(table.partition(".")[2], column) in ("none", None)


def _source(
    name: str, decided: Mapping[str, Any], columns: Sequence[ColumnListing], kinds: Mapping[str, str]
) -> Iterator[str]:
    """Yield the SQL of a table's rows as `t`, with new names and the cells of each row."""
    table = identifier(*name.split("."))
    if decided.get("sums"):
        shown = ", ".join(identifier(column) for column in decided["shown"])
        sums = (
            f"cast(sum({identifier(column.name)}) as {'bigint' if column.type == 'bigint' else 'double'})"
            f" as {identifier(column.name)}"
            for column in columns
            if column.name in kinds
        )
        table = f"(select {shown}, {', '.join(sums)} from {table} group by all)"
    yield f"from {table} as t"
    if "cluster_id" not in decided["shown"]:
        return
    yield "inner join public_names as cluster on t.cluster_id = cluster.cluster_id and cluster.account is null"
    if "account" in decided["shown"]:
        yield "left join public_names as account on t.cluster_id = account.cluster_id and t.account = account.account"
    split = decided["split"]
    part = "''" if split == "cluster" else f"cast(t.{identifier(split)} as varchar)"
    for kind in dict.fromkeys(kinds.values()):
        cells = identifier(kind)
        yield (
            f"left join public_cells as {cells} on {cells}.kind = {literal(kind)} and {cells}.split = {literal(split)}"
            f" and {cells}.cluster_id = t.cluster_id and {cells}.part is not distinct from {part}"
        )
    yield f"where ({' or '.join(f'{identifier(kind)}.is_shown' for kind in dict.fromkeys(kinds.values()))})"
    for column, values in decided.get("rows", {}).items():
        yield f"and t.{identifier(column)} in ({', '.join(literal(value) for value in values)})"


def _value(name: str, kind: str | None) -> str:
    column = identifier(name)
    if name in ("cluster_id", "account"):
        return f"{identifier(name.removesuffix('_id'))}.public_name as {column}"
    return f"if({identifier(kind)}.is_shown, t.{column}, null) as {column}" if kind else f"t.{column}"
