"""Mark the rows that repeat a fact."""

from __future__ import annotations

from assets.sources.reader import Step


def mark_repeats(table: str, key: str, best: str) -> list[Step]:
    """Return the steps that mark all but the best of the rows that state the same fact as duplicates.

    Rows of unknown nodes are left alone. Only rows whose disposition changes are written.

    Parameters
    ----------
    table
        The raw table, without its schema.
    key
        SQL expressions that are equal for rows of the same fact.
    best
        SQL ordering of such rows, the best one first. It ends with what tells any two rows apart.
    """
    return [
        f"""
create or replace temp table {table}_repeats as
select
    rowid as row_key,
    if(row_number() over (partition by {key} order by {best}) > 1, 'duplicate', 'loaded') as disposition
from raw.{table}
where disposition <> 'unknown_node'""",
        f"""
update raw.{table}
set disposition = repeats.disposition
from {table}_repeats as repeats
where {table}.rowid = repeats.row_key and {table}.disposition is distinct from repeats.disposition""",
    ]
