{% import "sources/health/macros.sql" as health %}
-- One statement: rows held for it cost a fifth of rows put into a table (measured), and are spilled like them.
insert into health_whole
with results as materialized (
    select
        * exclude (code, problem, is_complete, started_at),
        least(started_at, observed_at) as started_at,
        coalesce(
            is_complete and problem is null
            and started_at >= {{ earliest }}
            and started_at <= observed_at + interval {{ noise_seconds }} second
            and not {{ is_implausible }}, false
        ) as is_good
    from (
{% macro seconds(number) -%}
{# Times in other units, or none, stay NULL, and so are left to be read by lines. #}
case when {{ number }} >= 1e8 and {{ number }} < 1e11 then make_timestamp(({{ number }} * 1e6)::bigint) end
{%- endmacro %}
{% call health.typed("line_in_scan, file_index, is_complete", seconds("start_time"), seconds("end_time")) %}
        -- Where the nested fields are set, the flat ones of the same names are ignored. Numbers stay JSON, as DuckDB
        -- would turn each into a number and back into text. A job number in quotes is left to be read by lines.
        select
            row_number() over () as line_in_scan,
            file_index,
            normal.node,
            normal.health_check,
            normal."type",
            "int".result as code,
            "int".job_id,
            "double".start_time,
            "double".end_time,
            normal._msg as message,
            normal."type" is not null and normal._msg is not null
            and if("int".job_id = '0', true, not starts_with("int".job_id, '"')) as is_complete
        from read_json(
            {{ paths }}, format = 'newline_delimited', ignore_errors = true, maximum_object_size = {{ max_object_size }},
            columns = {
                'int': 'STRUCT(result JSON, job_id JSON)',
                'double': 'STRUCT(start_time DOUBLE, end_time DOUBLE)',
                'normal': 'STRUCT(node VARCHAR, health_check VARCHAR, "type" VARCHAR, _msg VARCHAR)'
            }
        )
{% endcall %}
    )
),
days_of_files as (
    select
        file_index,
        observed_at::date as day_date,
        max(observed_at) as last_at,
        min(line_in_scan) as first_line,
        max(line_in_scan) as last_line,
        count(*) filter (is_good) as good_count
    from results
    group by file_index, day_date
),
files as (
    select
        found.file_index,
        found.first_line,
        scanned_files.file_id,
        found.last_day,
        case
            when coalesce(line_before - last_day_line, 0) < {{ max_lines_behind }} then last_day_line
        end as last_day_line
    from (
        select
            file_index,
            min(first_line) as first_line,
            max(last_line) as last_line,
            sum(good_count) as good_count,
            any_value(last_day) as last_day,
            min(first_line) filter (day_date >= last_day) as last_day_line,
            max(last_line) filter (day_date < last_day) as line_before
        from (
            select *, {{ health.last_day("max(last_at) over (partition by file_index)") }} as last_day
            from days_of_files
        )
        group by file_index
    ) as found
    inner join scanned_files on scanned_files.file_index = found.file_index
    where scanned_files.line_count - found.good_count <= scanned_files.max_odd_count
        and found.last_line - found.first_line + 1 = scanned_files.line_count
),
days as (
{% call health.unchanged_days("file_index", subjects, counts_each) %}
results where is_good
{% endcall %}
)
select
    files.file_id,
    results.line_in_scan - files.first_line + 1 as line_number,
    results.node_name,
    results.check_name,
    results.check_type,
    results.result,
    results.result_quality,
    results.started_at,
    results.observed_at,
    results.job_id_raw,
    results.message,
    case when results.observed_at = days.last_at then days.first_at end as unchanged_since,
    files.last_day,
    files.last_day_line - files.first_line + 1 as last_day_line,
    results.is_good and coalesce({{ health.is_inside_day }}, false) as is_inside,
    not results.is_good as is_odd
from results
inner join files on files.file_index = results.file_index
left join days on days.file_index = results.file_index and {{ health.is_of_day }}
where not is_inside or (results.line_in_scan > files.last_day_line and results.observed_at::date < files.last_day)
