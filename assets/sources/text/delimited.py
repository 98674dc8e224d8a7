"""Delimited text with a header as SQL: Slurm's `--parsable2` output, where a free-text column may hold the delimiter.

Headers are found wherever they stand, as exports are often appended to one another; a line is read by the last one.
"""

from __future__ import annotations

import re

_DELIMITER = re.compile(r"[^A-Za-z0-9_ ]+")


def header_delimiter(header: str) -> str | None:
    """Return what separates the names of a header line, `|`, the unit separator, a tab; None for a single name."""
    found = _DELIMITER.search(header)
    return found[0] if found else None


def field_steps(
    is_header: str, free_text: str, into: str, begins_row: str | None = None, ends_row: str = "false"
) -> list[str]:
    """Return the statements that cut lines into named fields.

    Parameters
    ----------
    is_header
        SQL condition over `names varchar[]`, lower-case column names without blanks.
    free_text
        Name of the column that takes surplus delimiters; in a file without it a surplus is a wrong count.
    into
        Temp table to make: file_id, line_number, names, fields varchar[] (NULL: the count is wrong), field_count.
        Header and blank lines are not in it; `{into}_headers` holds the headers.
    begins_row
        SQL condition over `names` and `parts varchar[]`, for text whose fields may have ends of line. A line for which
        it does not hold belongs to the row before it if that one has too few fields. `{into}_continuations` holds such
        lines. Without it every line is a row.
    ends_row
        SQL condition over the same for a line that ends a row which began in a line above it, however many fields that
        one has: delimiters in its text may have made up for those that were missing.
    """
    # Names of columns have no digits, rows always have some. A table of its own, as DuckDB would try the later
    # conditions on every line.
    candidates = rf"""
create or replace temp table {into}_candidates as
select file_id, line_number, line from lines where not regexp_matches(line, '\d')"""
    headers = rf"""
create or replace temp table {into}_headers as
with cut as (
    select
        file_id,
        line_number,
        nullif(regexp_extract(line, '^[A-Za-z0-9_ ]+([^A-Za-z0-9_ ]+)', 1), '') as delimiter,
        line
    from {into}_candidates
),
named as (
    select
        file_id,
        line_number,
        delimiter,
        list_transform(
            string_split(line, delimiter), lambda name: regexp_replace(lower(name), '[\s_]', '', 'g')
        ) as names
    from cut
    where delimiter is not null
)
select * from named where {is_header}"""
    surplus = """
        when len(parts) > len(names) and place > 0 then
            parts[:place - 1]
            || [list_reduce(
                parts[place:place + len(parts) - len(names)],
                lambda left_part, right_part: left_part || delimiter || right_part
            )]
            || parts[place + len(parts) - len(names) + 1:]"""
    cut = f"""
select
    lines.file_id,
    lines.line_number,
    lines.line,
    headers.line_number as header_line,
    headers.names,
    headers.delimiter,
    string_split(lines.line, headers.delimiter) as parts
from lines
asof left join {into}_headers as headers
    on headers.file_id = lines.file_id and headers.line_number <= lines.line_number
where lines.line is not null
    and (lines.file_id, lines.line_number) not in (select (file_id, line_number) from {into}_headers)"""
    steps = [candidates, headers]
    if begins_row is not None:
        steps += _join_continuations(cut, into, begins_row, ends_row)
        cut = f"from {into}_rows"
    fields = f"""
create or replace temp table {into} as
select
    file_id,
    line_number,
    names,
    len(parts) as field_count,
    case
        when len(parts) = len(names) then parts
        {surplus}
    end as fields
from (select *, list_position(names, '{free_text}') as place from ({cut}))"""
    return [*steps, fields]


def _join_continuations(cut: str, into: str, begins_row: str, ends_row: str) -> list[str]:
    """Return the statements that fill `{into}_continuations`, and `{into}_rows` with each row's lines made one."""
    lines = f"create or replace temp table {into}_cut as {cut}"
    continuations = f"""
create or replace temp table {into}_continuations as
with begun as (
    select *, {begins_row} as begins, {ends_row} as ends from {into}_cut
),
runs as (
    select
        *,
        sum(begins::integer) over (
            partition by file_id, header_line order by line_number rows unbounded preceding
        ) as run
    from begun
),
-- Where two lines meet, a field is cut into two.
counted as (
    select
        *,
        1 + sum(len(parts) - 1) over (
            partition by file_id, header_line, run order by line_number
            rows between unbounded preceding and 1 preceding
        ) as count_before,
        min(line_number) over (partition by file_id, header_line, run) as row_line,
        max(line_number) filter (where not begins and ends) over (partition by file_id, header_line, run) as end_line
    from runs
)
select file_id, line_number, row_line from counted
where not begins and run > 0 and (count_before < len(names) or line_number <= end_line)"""
    rows = f"""
create or replace temp table {into}_rows as
select
    file_id,
    min(line_number) as line_number,
    first(names) as names,
    first(delimiter) as delimiter,
    string_split(string_agg(line, ' ' order by line_number), first(delimiter)) as parts
from {into}_cut left join {into}_continuations using (file_id, line_number)
group by file_id, coalesce(row_line, line_number)"""
    return [lines, continuations, rows]


def named_field(*names: str) -> str:
    """Return SQL for a trimmed field by the first of several names its column may have; NULL when blank or absent."""
    places = [f"fields[nullif(list_position(names, '{name}'), 0)]" for name in names]
    chosen = places[0] if len(places) == 1 else f"coalesce({', '.join(places)})"
    return f"nullif(trim({chosen}), '')"
