{% set month_stamp = "coalesce(nullif(bracketed_short.stamp, ''), nullif(syslog.stamp, ''))" %}
-- A separate table: otherwise DuckDB tries the later conditions, which are regular expressions, on every line.
create or replace temp table slurmctld_candidates as
with relevant as materialized (
    select file_id, line_number, line
    from lines
    where regexp_matches(line, {{ relevant | literal }})
        {% if site_pattern %}
        or regexp_matches(line, {{ site_pattern | literal }})
        {% endif %}
)
select *, true as is_relevant from relevant
union all
select file_id, line_number, line, false as is_relevant
from sampled_lines anti join relevant using (file_id, line_number);

create or replace temp table slurmctld_lines as
with shapes as (
    select
        file_id, line_number, line, is_relevant,
        {% for name, begins, pattern, parts in shapes %}
        case when {{ begins }} then regexp_extract(line, {{ pattern | literal }}, {{ parts | list }}) end as {{ name }}
            {{- "," if not loop.last }}
        {% endfor %}
    from slurmctld_candidates
),
-- An asof join sorts its input, so leave out lines that have a year.
anchored as (
    select undated.file_id, undated.line_number, years.year_anchor
    from (select file_id, line_number from shapes where {{ month_stamp }} is not null) as undated
    asof join slurmctld_years as years
        on years.file_id = undated.file_id and years.line_number <= undated.line_number
),
chosen as (
    select
        shapes.file_id,
        shapes.line_number,
        shapes.is_relevant,
        shapes.line,
        replace(coalesce(nullif(bracketed.stamp, ''), nullif(syslog_iso.stamp, '')), ',', '.') as stamp,
        case when length(stamp) > 26 then regexp_replace(stamp, '(\.\d{6})\d+', '\1') else stamp end as iso,
        {{ month_stamp }} as month_stamp,
        {{ leap_year_time }} as leap_year_time,
        coalesce(try_cast(bracketed_short.microseconds[:6] as double), 0) / 1e6 as fraction,
        anchored.year_anchor,
        coalesce(
            nullif(bracketed.body, ''), nullif(bracketed_short.body, ''), nullif(syslog.body, ''),
            nullif(syslog_iso.body, '')
        ) as body,
        case
            -- output of a service has its own time after that of the journal
            when body[1] in ('e', 'f', 'i', 'v', 's', '[')
                then regexp_replace(body, '^(?:slurmctld: +)?(?:\[[^\]]*\] +)?(?:(?:error|fatal|info|verbose): +)?', '')
            else body
        end as message
    from shapes
    left join anchored on anchored.file_id = shapes.file_id and anchored.line_number = shapes.line_number
),
local_times as (
    select
        *,
        case when {{ has_offset }} then try_cast(iso as timestamptz)::timestamp end as utc_time,
        case
            when iso is null then {{ month_time }} + to_microseconds((fraction * 1e6)::bigint)
            when not {{ has_offset }} then try_cast(iso as timestamp)
        end as local_time
    from chosen
)
select
    local_times.file_id,
    line_number,
    coalesce(utc_time, {{ utc }}) as logged_at,
    {{ is_unsettled }} as is_unsettled,
    iso is null as has_no_year,
    message,
    -- Finding words takes a tenth of the time of a pattern that fails.
    case when is_relevant then case
        {% for kind, words, pattern, parts, state in wordings %}
        when contains(message, {{ words | literal }}) and regexp_matches(message, {{ pattern | literal }}) then {{ loop.index0 }}
        {% endfor %}
    end end as wording,
    is_relevant and {{ has_weight }} as has_weight,
    case
        when is_relevant and wording is null then case
            {% for pattern in site_patterns %}
            when regexp_matches(lower(trim(message)), {{ ("(?i)" ~ pattern) | literal }}) then {{ pattern | literal }}
            {% endfor %}
            when false then ''
        end
    end as rule_pattern
from local_times
{{ with_turns }};

insert into file_warnings
select distinct file_id, 'ambiguous_dst' from slurmctld_lines where is_unsettled and wording is not null
