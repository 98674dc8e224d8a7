{% macro cut_lines() %}
select
    lines.file_id,
    lines.line_number,
    lines.line,
    headers.line_number as header_line,
    headers.names,
    headers.delimiter,
    string_split(lines.line, headers.delimiter) as parts
from lines
asof left join {{ into }}_headers as headers
    on headers.file_id = lines.file_id and headers.line_number <= lines.line_number
where lines.line is not null
    and (lines.file_id, lines.line_number) not in (select (file_id, line_number) from {{ into }}_headers)
{% endmacro %}
-- Names of columns have no digits, and rows always have some. A separate table, as otherwise DuckDB tries the later
-- conditions on every line.
create or replace temp table {{ into }}_candidates as
select file_id, line_number, line from lines where not regexp_matches(line, '\d');

create or replace temp table {{ into }}_headers as
with cut as (
    select
        file_id,
        line_number,
        nullif(regexp_extract(line, '^[A-Za-z0-9_ ]+([^A-Za-z0-9_ ]+)', 1), '') as delimiter,
        line
    from {{ into }}_candidates
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
select * from named where {{ is_header }};

{% if begins_row %}
create or replace temp table {{ into }}_cut as {{ cut_lines() }};

create or replace temp table {{ into }}_continuations as
with begun as (
    select *, {{ begins_row }} as begins, {{ ends_row }} as ends from {{ into }}_cut
),
runs as (
    select
        *,
        sum(begins::integer) over (
            partition by file_id, header_line order by line_number rows unbounded preceding
        ) as run
    from begun
),
-- The last part of a line and the first part of the next are one field.
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
where not begins and run > 0 and (count_before < len(names) or line_number <= end_line);

create or replace temp table {{ into }}_rows as
select
    file_id,
    min(line_number) as line_number,
    first(names) as names,
    first(delimiter) as delimiter,
    string_split(string_agg(line, ' ' order by line_number), first(delimiter)) as parts
from {{ into }}_cut left join {{ into }}_continuations using (file_id, line_number)
group by file_id, coalesce(row_line, line_number);
{% endif %}

create or replace temp table {{ into }} as
select
    file_id,
    line_number,
    names,
    len(parts) as field_count,
    case
        when len(parts) = len(names) then parts
        when len(parts) > len(names) and place > 0 then
            list_slice(parts, 1, place - 1)
            || list_value({{ joined }})
            || list_slice(parts, place + len(parts) - len(names) + 1, len(parts))
    end as fields
from (
    select *, list_position(names, {{ free_text | literal }}) as place
    from {% if begins_row %}{{ into }}_rows{% else %}({{ cut_lines() }}){% endif %}

)
