"""Count by shape, node and five minutes the lines of a batch that no rule knows, and keep the counts.

Of each file the commonest shapes are kept. What is kept of a file does not depend on whether it was read at once or
from where it grew: a row has only lines before the file's resume point or only lines behind it, and a file with more
shapes than are kept has no such point.
"""

from __future__ import annotations

import duckdb

from assets.sources.text import unknown_lines
from assets.sources.text.masking import MAX_MASKED, masked
from assets.sources.text.pseudonyms import KEPT, TEXT, stored

TABLE = "unknown_lines"
PRIVACY = {"kind": KEPT, "shape": TEXT, "example": TEXT}
MAX_SHAPES = 1000
"""How many shapes of a file are kept, the commonest first."""
BIN_MINUTES = 5
"""Attribution looks ten minutes back: within fewer minutes it does not matter when a line was printed."""


def keep_unknown_lines(con: duckdb.DuckDBPyConnection, *, is_pseudonymous: bool) -> None:
    """Move the lines in `unknown_lines` into the raw table; run when the files' resume points are noted."""
    if not con.execute("from temp.unknown_lines limit 1").fetchall():
        return
    con.execute("insert into ops.unsettled values (?, false)", [TABLE])
    con.execute(_shapes(is_pseudonymous=is_pseudonymous))
    con.execute(_COUNTED)
    con.execute(
        f"""
        delete from ops.resume_points where (cluster_id, path) in (
            select (cluster_id, path) from unknown_counted
            group by cluster_id, path having count(distinct shape) > {MAX_SHAPES}
        )
        """
    )
    con.execute(f"delete from raw.{TABLE} where (cluster_id, path) in (select (cluster_id, path) from batch_files)")
    con.execute(_KEPT)


def _shapes(*, is_pseudonymous: bool) -> str:
    """Return the statement that gives every distinct text its shape, and what is shown of it."""
    # What the limit cuts in two may be half a secret, which no rule knows.
    bounded = (
        f"case when length(message) > {MAX_MASKED} "
        f"then regexp_replace(left(message, {MAX_MASKED}), '\\S+$', '') else message end"
    )
    shape, example = ((is_pseudonymous and stored(TEXT, name)) or name for name in ("shape", "example"))
    return f"""
create or replace temp table unknown_shapes as
with texts as (
    select message, {masked("bounded")} as text
    from (select message, {bounded} as bounded from (select distinct message from temp.unknown_lines))
),
shaped as (
    select
        message, {unknown_lines.shape("text")} as shape,
        case
            when length(text) > {unknown_lines.MAX_CHARACTERS} then left(text, {unknown_lines.MAX_CHARACTERS}) || '...'
            else text
        end as example
    from texts
)
select message, {shape} as shape, {example} as example from shaped"""


# The rows of earlier lines are counted again with those that came behind them.
_COUNTED = f"""
create or replace temp table unknown_counted as
with found as (
    select
        files.cluster_id, files.path, lines.line_number + files.lines_before as line_number,
        split_part(files.path, '/', 2) as kind, lines.node_name, lines.seen_at as first_at, lines.seen_at as last_at,
        lines.has_no_year, shapes.shape, 1 as line_count, shapes.example
    from temp.unknown_lines as lines
    inner join batch_files as files on files.file_id = lines.file_id
    inner join unknown_shapes as shapes on shapes.message = lines.message
    union all by name
    select
        earlier.* exclude (disposition, node_id, duration_seconds, dated_by_file_at),
        earlier.first_at + to_seconds(earlier.duration_seconds) as last_at,
        earlier.dated_by_file_at is not null as has_no_year
    from raw.{TABLE} as earlier
    semi join batch_files as files on files.cluster_id = earlier.cluster_id and files.path = earlier.path
)
select
    cluster_id, path, kind, shape, node_name, has_no_year, min(line_number) as line_number, min(first_at) as first_at,
    max(last_at) as last_at, sum(line_count)::bigint as line_count, arg_min(example, line_number) as example
from (
    select found.*, coalesce(found.line_number >= points.line_number, false) as is_read_again
    from found
    left join ops.resume_points as points on points.cluster_id = found.cluster_id and points.path = found.path
)
group by
    cluster_id, path, kind, shape, node_name, has_no_year,
    time_bucket(interval {BIN_MINUTES} minutes, first_at), is_read_again"""

_KEPT = f"""
insert into raw.{TABLE} by name
with ranked as (
    select cluster_id, path, shape
    from unknown_counted
    group by cluster_id, path, shape
    qualify row_number() over (partition by cluster_id, path order by sum(line_count) desc, shape) <= {MAX_SHAPES}
)
select
    counted.* exclude (last_at, has_no_year) replace (
        case
            when row_number() over (
                partition by counted.cluster_id, counted.path, counted.shape
                order by counted.line_number, counted.node_name
            ) = 1 then counted.example
        end as example
    ),
    'loaded' as disposition,
    (epoch_us(counted.last_at) - epoch_us(counted.first_at)) / 1e6 as duration_seconds,
    case when counted.has_no_year then counted.first_at end as dated_by_file_at
from unknown_counted as counted
semi join ranked
    on ranked.cluster_id = counted.cluster_id and ranked.path = counted.path and ranked.shape = counted.shape"""
