"""Read GCM's health-check records that take several lines, as `jq .` and editors write them, by their braces.

What a record says is read by `gcm_records`; its line is the one it begins on.
"""

from __future__ import annotations

from assets.sources.health import gcm_records


def is_spread_over_lines(sample: str) -> bool:
    """Tell whether a record takes several lines, or one array of records does."""
    lines = [line for line in sample.splitlines() if line.strip()]
    start = next((place for place, line in enumerate(lines) if line.startswith(("{", "["))), None)
    if start is None:
        return False
    first = lines[start].strip()
    if first in ("{", "[", "[{") or first.endswith("},"):
        return True
    return not first.endswith(("}", "]")) and start + 1 < len(lines) and lines[start + 1].startswith((" ", "\t"))


# Braces outside strings give the depth at the start and end of each line; JSON strings do not span lines.
_LINES = r"""
create or replace temp table health_document_lines as
with bare as (
    select
        lines.file_id,
        lines.line_number,
        line,
        regexp_replace(line, '"(?:[^"\\]|\\.)*"', '""', 'g') as outside_strings
    from lines
    join batch_files on batch_files.file_id = lines.file_id and batch_files.dialect = 'gcm_document'
    where line is not null
),
depths as (
    select
        *,
        coalesce(sum(change) over (in_file rows between unbounded preceding and 1 preceding), 0) as depth_before
    from (
        select
            *,
            len(outside_strings) - len(replace(outside_strings, '{', ''))
                - len(outside_strings) + len(replace(outside_strings, '}', '')) as change
        from bare
    )
    window in_file as (partition by file_id order by line_number)
)
select
    file_id,
    line_number,
    line,
    change <> 0 or depth_before > 0 or contains(outside_strings, '{') as is_in_record,
    sum((depth_before = 0 and contains(outside_strings, '{'))::integer) over (
        partition by file_id order by line_number
    ) as record
from depths"""

_TEXTS = r"""
create or replace temp table health_document_records as
select
    file_id,
    min(line_number) as line_number,
    '[' || regexp_replace(
        regexp_replace(string_agg(line, ' ' order by line_number), '^\s*[\[,]*\s*', ''), '[\s,\]]*$', ''
    ) || ']' as text
from health_document_lines
where is_in_record
group by file_id, record"""

_REST = """
insert into health_results by name
select
    document_lines.file_id,
    document_lines.line_number,
    case when records.text is null then 'continuation' end as skip_reason,
    case when records.text is not null then 'bad_json' end as problem,
    case when records.text is not null then 'the record that begins here is not valid JSON' end as problem_detail
from health_document_lines as document_lines
left join health_document_records as records
    on records.file_id = document_lines.file_id and records.line_number = document_lines.line_number
where records.text is null or not json_valid(records.text)"""

_RECORDS = f"""
    select file_id, line_number, unnest(from_json(text, '[{gcm_records.STRUCTURE}]')) as r
    from health_document_records
    where json_valid(text)"""

RESULT_STEPS = (_LINES, _TEXTS, gcm_records.insertion(_RECORDS), _REST)
"""Fill `health_results` from files of dialect gcm_document."""
