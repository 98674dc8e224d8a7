-- NHC logs failures only. A check that it does not name either passed or did not run, so it gets no result.
-- Its own log states a failure three times, and only the call of node-mark-offline has a date: undated lines next to
-- the call of such a helper have its node and time, and give no result.
{% set syslog_stamp = "[A-Z][a-z]{2} [ \\d]\\d \\d\\d:\\d\\d:\\d\\d" %}
{% set iso_stamp = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:?\\d\\d)?" %}
{% set behind_stamp = "(?P<host>\\S+) nhc(?:\\[\\d+\\])?: (?P<body>.*)$" %}
{% set helper = "^(?P<stamp>\\d{8} \\d\\d:\\d\\d:\\d\\d) (?:\\[\\w+\\] )?(?:\\S*/)?node-mark-(?P<mark>offline|online)"
    "(?:: +Marking +(?:\\S+ +)?(?P<marked>\\S+) (?:off|on)line[: ]*| +(?P<host>\\S+) *)(?P<body>.*)$" %}
create or replace temp table nhc_lines as
with shapes as (
    select
        lines.file_id,
        lines.line_number,
        line,
        regexp_extract(line, {{ ("^(?P<stamp>" ~ syslog_stamp ~ ") " ~ behind_stamp) | literal }}, ['stamp', 'host', 'body']) as syslog,
        regexp_extract(line, {{ ("^(?P<stamp>" ~ iso_stamp ~ ") " ~ behind_stamp) | literal }}, ['stamp', 'host', 'body']) as iso_syslog,
        regexp_extract(line, {{ helper | literal }}, ['stamp', 'mark', 'marked', 'host', 'body']) as helper,
        regexp_extract(line, '^(?P<host>\S+) \| (?P<body>.*)$', ['host', 'body']) as pipe
    from lines
    join batch_files on batch_files.file_id = lines.file_id and batch_files.dialect = 'nhc'
    where line is not null
),
stated as (
    select
        shapes.file_id,
        shapes.line_number,
        shapes.line,
        syslog.stamp <> '' as has_no_year,
        nullif(helper.mark, '') as mark,
        {{ leap_year_time }} as leap_year_time,
        nullif(iso_syslog.stamp, '') as iso,
        coalesce(
            nullif(syslog.host, ''), nullif(iso_syslog.host, ''), nullif(helper.marked, ''), nullif(helper.host, ''),
            nullif(pipe.host, '')
        ) as node_name,
        coalesce(
            nullif(syslog.body, ''), nullif(iso_syslog.body, ''), nullif(helper.body, ''), nullif(pipe.body, ''), line
        ) as body,
        case
            when syslog.stamp <> '' then {{ dated }}
            when helper.stamp <> '' then try_strptime(helper.stamp, '%Y%m%d %H:%M:%S')
            when not {{ iso_has_offset }} then try_cast(iso as timestamp)
        end as local_time,
        case when {{ iso_has_offset }} then try_cast(iso as timestamptz)::timestamp end as utc_time,
        case when pipe.host <> '' then {{ file_moment }} end as file_time,
        case
            when node_name is not null then {'mark': mark, 'node_name': node_name, 'local_time': local_time}
        end as origin
    from shapes
    join batch_files on batch_files.file_id = shapes.file_id
    asof left join nhc_years as years
        on years.file_id = shapes.file_id and years.line_number <= shapes.line_number
),
neighbours as (
    select
        *,
        last_value(origin ignore nulls) over (
            partition by file_id order by line_number rows unbounded preceding
        ) as earlier,
        first_value(origin ignore nulls) over (
            partition by file_id order by line_number rows between current row and unbounded following
        ) as later
    from stated
),
calls as (
    select
        *,
        case
            when origin is not null then null
            when earlier.mark is not null then earlier
            when later.mark is not null then later
        end as helper_call
    from neighbours
)
select
    * exclude (origin, earlier, later) replace (
        coalesce(node_name, helper_call.node_name) as node_name,
        coalesce(local_time, helper_call.local_time) as local_time
    )
from calls;

insert into health_results by name
with read as (
    select
        nhc_lines.*,
        coalesce(utc_time, {{ utc }}, file_time) as observed_at,
        helper_call is null
        and (contains(body, 'Health check failed:') or coalesce(mark = 'offline', contains(line, 'node-mark-offline')))
            as is_failure,
        regexp_matches(body, '^Healthy\b') and file_time is not null as is_healthy,
        contains(body, 'No results reported') as is_silent
    from nhc_lines
    {{ with_turns }}
)
select
    file_id,
    line_number,
    node_name,
    coalesce(
        case
            when is_failure
                then nullif(regexp_extract(
                    body, '^(?:.*(?:Health check failed|NHC): +)?(?:Check )?([\w./-]+)(?::| .*\breturned \d)', 1
                ), '')
        end,
        'nhc'
    ) as check_name,
    'periodic' as check_type,
    case when is_failure then 'CRITICAL' when is_healthy then 'OK' else 'UNKNOWN' end as result,
    case when is_silent then 'could_not_run' else 'ran' end as result_quality,
    observed_at,
    case when has_no_year then observed_at end as dated_by_file_at,
    case
        when is_failure and contains(lower(body), 'xid')
            then {{ quoted_xid_codes }}
        else []
    end as xid_codes,
    body as message,
    case when not (is_failure or is_healthy or is_silent) then 'not_relevant' end as skip_reason,
    case
        when (is_failure or is_healthy or is_silent) and (node_name is null or observed_at is null)
            then 'missing_time_or_node'
    end as problem,
    case
        when node_name is null and observed_at is null then 'neither node nor time'
        when node_name is null then 'no node'
        when observed_at is null then 'no time'
    end as problem_detail
from read;

insert into file_warnings
select distinct nhc_lines.file_id, 'ambiguous_dst'
from nhc_lines
{{ with_turns }}
where {{ is_unsettled }}
    and (nhc_lines.file_id, nhc_lines.line_number) in (
        select file_id, line_number from health_results where skip_reason is null and problem is null
    );

insert into stated_times
select results.file_id, results.line_number, results.node_name, results.observed_at, nhc_lines.has_no_year
from health_results as results
inner join nhc_lines on nhc_lines.file_id = results.file_id and nhc_lines.line_number = results.line_number
inner join batch_files on batch_files.file_id = results.file_id
where results.skip_reason is not null
    and results.node_name is not null
    and coalesce(utc_time, local_time) is not null
    and not {{ end_is_implausible }}
