{% import "sources/health/macros.sql" as health %}
-- Braces outside strings give the depth at the start and end of each line, as JSON strings do not span lines.
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
from depths;

-- The line of a record is the line where it begins.
create or replace temp table health_document_records as
select
    file_id,
    min(line_number) as line_number,
    '[' || regexp_replace(
        regexp_replace(string_agg(line, ' ' order by line_number), '^\s*[\[,]*\s*', ''), '[\s,\]]*$', ''
    ) || ']' as text
from health_document_lines
where is_in_record
group by file_id, record;

{% call health.insert_records(false, start_has_offset, end_has_offset, xid_codes) %}
select file_id, line_number, unnest(from_json(text, {{ ("[" ~ health.structure ~ "]") | literal }})) as r
from health_document_records
where json_valid(text)
{% endcall %};

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
where records.text is null or not json_valid(records.text)
