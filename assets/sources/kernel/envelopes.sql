{% macro first(part, envelopes) -%}
    coalesce({% for envelope in envelopes %}nullif({{ envelope }}.{{ part }}, ''){{ ", " if not loop.last }}{% endfor %})
{%- endmacro %}
{% macro seconds(uptime) %}try_cast(regexp_extract({{ uptime }}, '^\d+\.\d+$') as double){% endmacro %}
{% macro without_envelope(part) %}regexp_extract(text, {{ bare | literal }}, ['host', 'tag', 'body']).{{ part }}{% endmacro %}
{% macro candidates() %}
    {% if printed %}
    (
        select
            file_id,
            line_number,
            nullif(nullif(printed.outer, ''), 'kernel') as outer_host,
            coalesce(nullif(printed.text, ''), line) as line
        from (
            select *, regexp_extract(line, {{ printed | literal }}, ['outer', 'text']) as printed from kernel_candidates
        )
    )
    {% else %}
    (select file_id, line_number, null::varchar as outer_host, line from kernel_candidates)
    {% endif %}
{% endmacro %}
create or replace temp table kernel_texts as
with shapes as (
    select
        *,
        {% for name, pattern, parts, first_character, after_last in shapes %}
        case
            when text >= {{ first_character | literal }} and text < {{ after_last | literal }}
                then regexp_extract(text, {{ pattern | literal }}, {{ parts | list }})
        end as {{ name }}{{ "," if not loop.last }}
        {% endfor %}
    from (
        select file_id, line_number, outer_host, line, regexp_replace(line, {{ priority | literal }}, '') as text
        from {{ candidates() }}
        where line[1] <> '{'
    )
),
chosen as (
    select
        file_id,
        line_number,
        outer_host,
        -- dmesg prints no host and no tag, so the beginning of `EDAC MC0: 1 UE ...` is neither
        case
            when coalesce(dmesg_iso.stamp, '') = ''
                then {{ first("host", ["protocol", "iso", "month", "dated", "unix", "plain"]) }}
        end as host,
        case
            when coalesce(dmesg_iso.stamp, '') = ''
                then {{ first("tag", ["protocol", "iso", "month", "dated", "unix"]) }}
        end as tag,
        {{ first("body", ["protocol", "dmesg_iso", "iso", "month", "dated", "unix", "ctime", "plain", "kmsg"]) }} as body,
        coalesce(
            {{ first("stamp", ["protocol", "dmesg_iso", "iso"]) }},
            strftime(try_strptime(nullif(dated.stamp, ''), {{ formats | list }}), '%Y-%m-%d %H:%M:%S')
            || case
                when dated.zone in ('UTC', 'GMT') then 'Z'
                when left(dated.zone, 1) in ('+', '-', 'Z') then dated.zone
                else ''
            end,
            make_timestamp((try_cast(nullif(unix.stamp, '') as decimal(38, 6)) * 1000000)::bigint)::varchar || 'Z'
        ) as iso_stamp,
        nullif(month.stamp, '') as month_stamp,
        nullif(ctime.stamp, '') as ctime_stamp,
        coalesce({{ seconds("plain.uptime") }}, try_cast(kmsg.uptime as double) / 1e6) as uptime_seconds,
        text
    from shapes
)
select
    * replace (
        coalesce(
            nullif(host, 'localhost'),
            outer_host,
            case when body is null then nullif({{ without_envelope("host") }}, '') end,
            host
        ) as host,
        coalesce(tag, case when body is null then nullif({{ without_envelope("tag") }}, '') end) as tag,
        coalesce(body, nullif({{ without_envelope("body") }}, ''), text) as body
    )
from chosen;

create or replace temp table kernel_journal as
with entries as (
    select
        file_id,
        line_number,
        case
            when json_valid(line)
                then json_extract_string(
                    line, ['$._HOSTNAME', '$.__REALTIME_TIMESTAMP', '$._TRANSPORT', '$.SYSLOG_IDENTIFIER', '$.MESSAGE']
                )
        end as fields
    from {{ candidates() }}
    where line[1] = '{'
)
select
    file_id,
    line_number,
    fields is null as is_bad_json,
    fields[1] as host,
    case when fields[3] = 'kernel' then 'kernel' else coalesce(fields[4], fields[3]) end as tag,
    -- microseconds since 1970; beyond the limit DuckDB cannot add to a time
    case
        when try_cast(fields[2] as bigint) between 0 and 10000000000000000 then make_timestamp(fields[2]::bigint)
    end as occurred_at,
    -- a message that is not text comes as bytes; a byte that begins no character is replaced
    case
        when fields[5][1] = '[' and try_cast(fields[5] as integer[]) is not null
            then try(decode(unhex(list_aggregate(
                list_transform(
                    regexp_extract_all(
                        list_aggregate(
                            list_transform(try_cast(fields[5] as integer[]), lambda byte: printf('%02x', byte)),
                            'string_agg',
                            ''
                        ),
                        {{ character_in_hex | literal }}
                    ),
                    lambda found: if(length(found) = 2 and found >= '80', 'efbfbd', found)
                ),
                'string_agg',
                ''
            ))))
        else fields[5]
    end as body
from entries;

create or replace temp table kernel_unwrapped as
with stamped as (
    select
        texts.*,
        years.year_anchor,
        replace(regexp_replace(iso_stamp, '([.,]\d{6})\d+', '\1'), ',', '.') as iso,
        {{ leap_year_time }} as leap_year_time,
        try_strptime(ctime_stamp, '%a %b %d %H:%M:%S %Y') as ctime_time
    from kernel_texts as texts
    left join (
        select undated.file_id, undated.line_number, kernel_years.year_anchor
        from (select file_id, line_number from kernel_texts where month_stamp is not null) as undated
        asof join kernel_years
            on kernel_years.file_id = undated.file_id and kernel_years.line_number <= undated.line_number
    ) as years
        on years.file_id = texts.file_id and years.line_number = texts.line_number
),
local_times as (
    select
        *,
        case when {{ has_offset }} then try_cast(iso as timestamptz)::timestamp end as utc_time,
        case
            when month_stamp is not null then {{ month_time }}
            when ctime_stamp is not null then ctime_time
            when not {{ has_offset }} then try_cast(iso as timestamp)
        end as local_time
    from stamped
),
messages as (
    select
        local_times.file_id,
        line_number,
        false as is_bad_json,
        host,
        tag,
        uptime_seconds,
        case
            when iso is not null then 'iso' when month_stamp is not null then 'month'
            when ctime_stamp is not null then 'ctime' when uptime_seconds is not null then 'uptime'
        end as stamp_kind,
        coalesce(utc_time, {{ utc }}) as occurred_at,
        case
            when utc_time is not null then case when contains(iso, '.') then 'exact' else 'second' end
            when {{ is_unsettled }} then 'ambiguous_dst'
            when iso is not null then 'local_assumed'
            when month_stamp is not null then 'year_inferred'
            when ctime_stamp is not null then 'dmesg_t'
            else 'boot_relative'
        end as time_quality,
        body
    from local_times
    {{ with_turns }}
    union all by name
    select
        *, 'epoch' as stamp_kind, 'exact' as time_quality, null::double as uptime_seconds
    from kernel_journal
),
-- a record of several lines comes as one message, with plain or escaped line breaks
on_one_line as (
    select * exclude (body), regexp_replace(body, {{ line_breaks | literal }}, ' ', 'g') as body from messages
),
bracketed as (
    select * exclude (body), regexp_extract(body, {{ uptime | literal }}, ['uptime', 'body']) as bracket, body
    from on_one_line
),
-- a repeated message has its own uptime inside the brackets
unrepeated as (
    select
        * exclude (body),
        coalesce(nullif(bracket.body, ''), body) as body,
        regexp_extract(
            coalesce(nullif(bracket.body, ''), body), {{ repeated | literal }}, ['count', 'uptime', 'body']
        ) as repeated
    from bracketed
),
-- A host names a file, `<host>.log` or `<host>/syslog`. Folders for a time or a kind of log, as in
-- `2024-05-03/<host>.log`, are left out.
files as (
    select
        file_id,
        regexp_replace(
            regexp_replace(path, '^[^/]*/[^/]*/', ''),
            '(^|/)(?:(?:{{ time_folder }}|{{ file_names }})/)+([^/]+)$',
            '\1\2'
        ) as below,
        regexp_replace(
            regexp_replace(regexp_extract(below, '[^/]+$'), {{ ("(?:[.-](?:" ~ file_name_endings ~ "))+$") | literal }}, ''),
            {{ ("^(?:" ~ file_names ~ ")[._-]") | literal }},
            ''
        ) as bare_name,
        coalesce(
            nullif(regexp_extract(below, '([^/]+)/[^/]+$', 1), ''),
            case when not regexp_full_match(lower(bare_name), {{ ("(?:" ~ file_names ~ ")?") | literal }}) then bare_name end
        ) as host_of_file
    from batch_files
)
select
    unrepeated.* exclude (host, body, bracket, repeated, uptime_seconds),
    coalesce(host, files.host_of_file) as host,
    coalesce(uptime_seconds, {{ seconds("bracket.uptime") }}, {{ seconds("repeated.uptime") }}) as uptime_seconds,
    greatest(1, coalesce(try_cast(repeated.count as integer), 1)) as repeat_count,
    trim(coalesce(nullif(repeated.body, ''), body)) as message
from unrepeated
join files on files.file_id = unrepeated.file_id
