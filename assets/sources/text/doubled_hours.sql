{% set is_back = "previous_time > local_time + interval " ~ noise_seconds ~ " second" %}
create or replace temp table {{ into }} (
    file_id integer, from_time timestamp, to_time timestamp, back_seconds integer, before_line bigint,
    turn_line bigint, turn_time timestamp
);
{% if spans %}
insert into {{ into }}
with changes(from_time, to_time, back_seconds) as (values {{ spans }}),
stamped as (
    select
        file_id, line_number,
        regexp_extract(line, {{ pattern | literal }}, ['bracket', 'iso', 'compact', 'month', 'year', 'host']) as parts
    from lines
    where regexp_matches(line, {{ begins | literal }})
),
dated as (
    select
        stamped.file_id,
        stamped.line_number,
        case when parts.bracket = '' then parts.host end as host,
        {{ in_leap_year }} as leap_year_time,
        case
            when {{ has_offset }} then null
            when parts.iso <> '' then try_cast(parts.iso[:19] as timestamp)
            when parts.compact <> '' then try_strptime(parts.compact, '%Y%m%d %H:%M:%S')
            when parts.year <> '' then try_strptime(parts.month || parts.year, '%b %d %H:%M:%S %Y')
            else {{ dated }}
        end as local_time
    from stamped
    asof left join {{ years }} as years
        on years.file_id = stamped.file_id and years.line_number <= stamped.line_number
),
followed as (
    select
        *,
        lag(local_time) over of_host as previous_time,
        lag(line_number) over of_host as previous_line
    from dated
    join changes on dated.local_time >= changes.from_time and dated.local_time < changes.to_time
    window of_host as (partition by file_id, host, from_time order by line_number)
)
select
    file_id,
    from_time,
    to_time,
    back_seconds,
    arg_min(previous_line, line_number) filter ({{ is_back }}) as before_line,
    min(line_number) filter ({{ is_back }}) as turn_line,
    arg_min(local_time, line_number) filter ({{ is_back }}) as turn_time
from followed
group by file_id, from_time, to_time, back_seconds
{% endif %}
