"""Mark the rows that repeat a fact."""

from __future__ import annotations

from assets.sources.reader import Step


def mark_repeats(table: str, key: str, best: str) -> list[Step]:
    """Return the steps that mark all rows of the same fact but the best one as duplicates.

    Rows of unknown nodes stay as they are. Only rows whose disposition changes are written.

    Parameters
    ----------
    table
        The raw table, without its schema.
    key
        SQL expressions that are equal for rows of the same fact.
    best
        SQL ordering of such rows, the best one first. It ends with columns that differ between any two rows.
    """
    # Find the few repeated keys by hash first: ranking millions of rows takes far longer than counting them.
    return [
        f"""
create or replace temp table {table}_repeats as
with repeated as (
    select hash({key}) as fact from raw.{table} where disposition <> 'unknown_node' group by fact having count(*) > 1
),
ranked as (
    select rowid as row_key, row_number() over (partition by {key} order by {best}) as place
    from raw.{table}
    where disposition <> 'unknown_node' and hash({key}) in (select fact from repeated)
)
select row_key from ranked where place > 1""",
        f"""
update raw.{table}
set disposition = if(rowid in (select row_key from {table}_repeats), 'duplicate', 'loaded')
where disposition <> 'unknown_node'
    and disposition <> if(rowid in (select row_key from {table}_repeats), 'duplicate', 'loaded')""",
    ]
