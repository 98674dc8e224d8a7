{# The first of some fields that is present, in the envelope's parts or flat. #}
{% macro text(names) -%}
    coalesce({% for name in names %}record ->> '$.normal.{{ name }}', record ->> '$.int.{{ name }}', record ->> '$.{{ name }}'
        {{- ", " if not loop.last }}{% endfor %})
{%- endmacro %}
create or replace temp table gcm_job_lines as
select lines.file_id, lines.line_number, line, json_valid(line) as is_json
from lines
join batch_files on batch_files.file_id = lines.file_id and batch_files.dialect = 'gcm_jobs'
where line is not null;

insert into squeue_rows by name
with records as (
    select file_id, line_number, unnest(from_json(line, '["JSON"]')) as record
    from gcm_job_lines
    where is_json and json_type(line) = 'ARRAY'
    union all
    select file_id, line_number, line::json as record
    from gcm_job_lines
    where is_json and json_type(line) = 'OBJECT'
),
listed as (
    select *, coalesce(record -> '$.tags.EXC_NODES', record -> '$.EXC_NODES') as listed from records
),
excluding as (
    select
        *,
        list_filter(
            -- a condition after `where` does not protect the cast from values that are not arrays
            case when json_type(listed) = 'ARRAY' then listed::varchar[] else [listed ->> '$'] end,
            lambda name: lower(name) not in ('', '(null)', 'n/a', 'none')
        ) as excluded
    from listed
)
select
    file_id,
    line_number,
    false as is_cut,
    -- Require digits, as a cast reads `25_4` as 254. The id of waiting tasks of an array is that of the whole array.
    try_cast(nullif(regexp_extract({{ text(["JOBID_RAW", "JOBID"]) }}, '^ *(\d+)', 1), '') as bigint) as job_id_raw,
    array_to_string(excluded, ',') as node_list,
    -- seconds since 1970; beyond the limit DuckDB cannot add to a time
    case
        when try_cast({{ text(["collection_unixtime"]) }} as bigint) between 0 and 10000000000
            then make_timestamp(({{ text(["collection_unixtime"]) }})::bigint * 1000000)
    end as collected_at
from excluding
where len(excluded) > 0
union all
select file_id, line_number, true, null, null, null from gcm_job_lines where not is_json
