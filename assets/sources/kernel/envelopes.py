"""The envelopes of a kernel message as SQL: ten ways to write time, host and tag around the same text.

syslog with and without a year, ISO syslog and journalctl's short forms, RFC 5424, journalctl's JSON, `dmesg -T`,
`dmesg -x --time-format iso`, plain dmesg and /dev/kmsg. A line says which one it is; a file may mix them. Before any of
them pdsh may have printed the host, and grep the name of a file.
"""

from __future__ import annotations

import re

from assets.sources.text import doubled_hours, times, undated

MAX_MICROSECONDS = 10**16
"""Since 1970: what is later cannot be added to."""

_CLOCK = r"\d\d:\d\d:\d\d"
_MONTH_DAY = r"[A-Z][a-z]{2} {1,2}\d{1,2}"
_MONTH_STAMP = rf"{_MONTH_DAY} {_CLOCK}"
_ISO_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_DATED_STAMPS = {
    rf"\d{{4}} {_MONTH_DAY} {_CLOCK}": "%Y %b %d %H:%M:%S",
    rf"{_MONTH_DAY} {_CLOCK} \d{{4}}": "%b %d %H:%M:%S %Y",
    rf"{_MONTH_DAY} \d{{4}} {_CLOCK}": "%b %d %Y %H:%M:%S",
    rf"\d{{1,2}} [A-Z][a-z]{{2}} \d{{4}} {_CLOCK}": "%d %b %Y %H:%M:%S",
    rf"\d{{4}}/\d\d/\d\d {_CLOCK}": "%Y/%m/%d %H:%M:%S",
    rf"\d{{4}}-\d\d-\d\d {_CLOCK}": "%Y-%m-%d %H:%M:%S",
}
"""Times with a year that are not ISO, or have a weekday before or the name of a zone behind them."""
_ZONE_NAME = r"Z|UTC|GMT|[+-]\d\d:?\d\d|[CEMPW]E?[SD]?T|MSK|[JKI]ST|SGT|HKT"
_LEVEL = (
    r"(?:kern|user|daemon|auth|authpriv|syslog|cron|local\d)"
    r"\.(?:emerg|panic|alert|crit|err|error|warn|warning|notice|info|debug)"
)
"""Facility and priority, as some daemons print them."""
# `<4>` of /dev/kmsg's syslog form and pstore, `kern  :warn  : ` of `dmesg -x`; the version 1 of RFC 5424 stays.
PRIORITY = re.compile(rf"^(?:<\d+>|<{_LEVEL}> ?|{_LEVEL}:? |[a-z]+ *:[a-z]+ *: )")
_HOST_AND_TAG = (
    rf"(?:(?:[<\[]?{_LEVEL}[>\]]?:? )?kernel: |"
    rf"(?P<host>\S*[^\s:]) (?:[<\[]?{_LEVEL}[>\]]?:? )?(?P<tag>[\w./()@-]+)(?:\[\d+\])?: ?)(?P<body>.*)$"
)
# Of an uptime that is negative or odd, nothing is believed but that the message begins behind it.
_SECONDS = r"[-+\d.,]*\d[-+\d.,]*"
SHAPES = {
    "protocol": (
        rf"^1 (?P<stamp>{_ISO_STAMP}) (?P<host>\S+) (?P<tag>\S+) \S+ \S+ (?:-|\[.*?\]) ?\x{{FEFF}}?(?P<body>.*)$"
    ),
    "dmesg_iso": r"^(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d+(?:Z|[+-]\d\d:?\d\d)?) (?P<body>.*)$",
    "iso": rf"^(?P<stamp>{_ISO_STAMP}) {_HOST_AND_TAG}",
    "month": rf"^(?P<stamp>{_MONTH_STAMP})(?:\.\d+)? {_HOST_AND_TAG}",
    "dated": (
        rf"^(?:[A-Z][a-z]{{2}},? )?(?P<stamp>{'|'.join(_DATED_STAMPS)})(?:[.,]\d+)?(?: ?(?P<zone>{_ZONE_NAME}))? "
        rf"{_HOST_AND_TAG}"
    ),
    "unix": rf"^(?P<stamp>1\d{{9}}(?:\.\d+)?) {_HOST_AND_TAG}",
    "ctime": rf"^\[(?P<stamp>[A-Z][a-z]{{2}} {_MONTH_STAMP} \d{{4}})\] (?P<body>.*)$",
    "plain": rf"^\[ *(?P<uptime>{_SECONDS})\] (?:(?P<host>[\w.-]+) kernel: )?(?P<body>.*)$",
    "kmsg": r"^\d+,\d+,(?P<uptime>\d+),[^;]*;(?P<body>.*)$",
    "bare": r"^(?P<host>\S+) (?P<tag>[A-Za-z][\w./()@-]*)(?:\[\d+\])?: (?P<body>.*)$",
}
_DIGIT, _ONE, _CAPITAL, _BRACKET = ("0", ":"), ("1", "2"), ("A", "["), ("[", "\\")
_BEGINS_BETWEEN = {
    "protocol": _ONE, "dmesg_iso": _DIGIT, "iso": _DIGIT, "month": _CAPITAL, "dated": ("0", "["), "unix": _ONE,
    "ctime": _BRACKET, "plain": _BRACKET, "kmsg": _DIGIT,
}  # fmt: skip
"""The first character of a line of a shape, and the one behind the last: a pattern is tried where it may fit."""
_BEGINNING = (
    r"(?:<[\w.]+> ?)?(?:1 )?(?:\d{4}[-/ ]|1\d{9}[. ]|\d{1,2} [A-Z][a-z]{2} \d|[A-Z][a-z]{2},? (?:[A-Z][a-z]{2}| ?\d)|"
    r"\[ *[-+]?\d+\.\d+\]|\[[A-Z][a-z]{2} |\d+,\d+,\d+,|[a-z]+ *:[a-z]+ *: |\{ ?\")"
)
"""With what a line of any of these envelopes begins."""
_OUTER = r"(?:(?P<outer>[A-Za-z0-9][\w.-]*): )?(?:\S*(?:/|log|messages|dmesg)[^\s:]*:(?:\d+:)?)?"
"""The host that pdsh prints before a line, and the file's name that grep prints."""
PRINTED = rf"^{_OUTER}(?P<text>{_BEGINNING}.*)$"
"""A line of which one of the two may stand before the envelope."""
_REPEATED = rf"^message repeated (?P<count>\d+) times: \[ ?(?:\[ *(?P<uptime>{_SECONDS})\] )?(?P<body>.*?)\]?$"
_UPTIME = rf"^\[ *(?P<uptime>{_SECONDS})\] (?:\[ *[TC]\d+\] )?(?P<body>.*)$"
_LOG_NAMES = "dmesg|kern|kernel|syslog|messages|journal|journalctl|kmsg|xid|xids|all"
_JOURNAL = (
    "$._HOSTNAME",
    "$.__REALTIME_TIMESTAMP",
    "$._TRANSPORT",
    "$.SYSLOG_IDENTIFIER",
    "$.MESSAGE",
)


def _shape(name: str) -> str:
    pattern = SHAPES[name]
    # DuckDB gives the names to the groups by their order
    parts = re.findall(r"\?P<(\w+)>", pattern)
    first, end = _BEGINS_BETWEEN[name]
    return (
        f"case when text >= '{first}' and text < '{end}' then regexp_extract(text, '{pattern}', {parts}) end as {name}"
    )


def _first(part: str, *shapes: str) -> str:
    places = [f"nullif({shape}.{part}, '')" for shape in shapes]
    return places[0] if len(places) == 1 else f"coalesce({', '.join(places)})"


def _unless_dmesg(value: str) -> str:
    """Return SQL for a value that dmesg does not print: `EDAC MC0: 1 UE ...` begins with no host and no tag."""
    return f"case when coalesce(dmesg_iso.stamp, '') = '' then {value} end"


def _seconds(uptime: str) -> str:
    return f"try_cast(regexp_extract({uptime}, '^\\d+\\.\\d+$') as double)"


def _host_of_file(path: str) -> str:
    """Return SQL for the host that names a file, `<host>.log` or `<host>/syslog`; NULL for `syslog`, `kern.log.1`.

    Folders for a time or a kind of log, as in `2024-05-03/<host>.log`, name no host.
    """
    below = f"regexp_replace({path}, '^[^/]*/[^/]*/', '')"
    below = rf"regexp_replace({below}, '(^|/)(?:(?:{undated.TIME_FOLDER}|{_LOG_NAMES})/)+([^/]+)$', '\1\2')"
    folder = f"nullif(regexp_extract({below}, '([^/]+)/[^/]+$', 1), '')"
    endings = rf"{_LOG_NAMES}|gz|zst|log|txt|jsonl?|out|\d{{1,3}}|20\d\d-?\d\d-?\d\d|1\d{{9}}"
    bare_name = (
        f"regexp_replace(regexp_replace(regexp_extract({below}, '[^/]+$'), "
        f"'(?:[.-](?:{endings}))+$', ''), '^(?:{_LOG_NAMES})[._-]', '')"
    )
    generic = tuple(["", *_LOG_NAMES.split("|")])
    return f"coalesce({folder}, case when lower({bare_name}) not in {generic} then {bare_name} end)"


def message_steps(candidates: str, zone: str, *, are_printed: bool) -> list[str]:
    """Return the statements that unwrap lines.

    Parameters
    ----------
    candidates
        A table of file_id, line_number, line: the lines worth unwrapping.
    zone
        IANA zone of times without offset.
    are_printed
        Hosts may stand before the lines, as pdsh prints them.

    Leaves `kernel_unwrapped`: file_id, line_number, is_bad_json, host, tag (NULL: the envelope has none),
    uptime_seconds, stamp_kind (epoch, iso, month, ctime, uptime; NULL: no envelope that is known), occurred_at,
    time_quality, repeat_count, message.
    """
    outer = _OUTER.replace("?P<outer>", "?:") if are_printed else ""
    stamps = rf"""
    select file_id, line_number, regexp_extract(line, '^{outer}(?:<\d+>)?({_MONTH_STAMP})', 1) as stamp
    from lines
    where regexp_matches(line, '^{outer}(?:<\d+>)?{_MONTH_STAMP}(?:\.\d+)? ')"""
    inner = f"(select file_id, line_number, null::varchar as outer_host, line from {candidates})"
    if are_printed:
        parts = f"regexp_extract(line, '{PRINTED}', ['outer', 'text'])"
        inner = f"""(
            select
                file_id,
                line_number,
                nullif(nullif(printed.outer, ''), 'kernel') as outer_host,
                coalesce(nullif(printed.text, ''), line) as line
            from (select *, {parts} as printed from {candidates})
        )"""
    texts = f"""
create or replace temp table kernel_texts as
with shapes as (
    select
        *,
        {", ".join(_shape(name) for name in SHAPES if name != "bare")}
    from (
        select file_id, line_number, outer_host, line, regexp_replace(line, '{PRIORITY.pattern}', '') as text
        from {inner}
        where line[1] <> '{{'
    )
),
chosen as (
    select
        file_id,
        line_number,
        outer_host,
        {_unless_dmesg(_first("host", "protocol", "iso", "month", "dated", "unix", "plain"))} as host,
        {_unless_dmesg(_first("tag", "protocol", "iso", "month", "dated", "unix"))} as tag,
        {_first("body", "protocol", "dmesg_iso", "iso", "month", "dated", "unix", "ctime", "plain", "kmsg")} as body,
        coalesce({_first("stamp", "protocol", "dmesg_iso", "iso")}, {_DATED_AS_ISO}, {_UNIX_AS_ISO}) as iso_stamp,
        {_first("stamp", "month")} as month_stamp,
        {_first("stamp", "ctime")} as ctime_stamp,
        coalesce({_seconds("plain.uptime")}, try_cast(kmsg.uptime as double) / 1e6) as uptime_seconds,
        text
    from shapes
)
select
    * replace (
        coalesce(
            nullif(host, 'localhost'),
            outer_host,
            case when body is null then nullif({_first_bare("host")}, '') end,
            host
        ) as host,
        coalesce(tag, case when body is null then nullif({_first_bare("tag")}, '') end) as tag,
        coalesce(body, nullif({_first_bare("body")}, ''), text) as body
    )
from chosen"""
    journal = f"""
create or replace temp table kernel_journal as
with entries as (
    select
        file_id,
        line_number,
        case when json_valid(line) then json_extract_string(line, {list(_JOURNAL)}) end as fields
    from {inner}
    where line[1] = '{{'
)
select
    file_id,
    line_number,
    fields is null as is_bad_json,
    fields[1] as host,
    case when fields[3] = 'kernel' then 'kernel' else coalesce(fields[4], fields[3]) end as tag,
    case
        when try_cast(fields[2] as bigint) between 0 and {MAX_MICROSECONDS} then make_timestamp(fields[2]::bigint)
    end as occurred_at,
    case
        when fields[5][1] = '[' and try_cast(fields[5] as integer[]) is not null
            then try(decode(unhex(list_aggregate(
                list_transform(try_cast(fields[5] as integer[]), lambda byte: printf('%02x', byte)), 'string_agg', ''
            ))))
        else fields[5]
    end as body
from entries"""
    iso = "replace(regexp_replace(iso_stamp, '([.,]\\d{6})\\d+', '\\1'), ',', '.')"
    timed = f"""
create or replace temp table kernel_unwrapped as
with stamped as (
    select
        texts.*,
        years.year_anchor,
        {iso} as iso,
        {undated.in_leap_year("month_stamp")} as leap_year_time,
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
        case when {times.has_offset("iso")} then try_cast(iso as timestamptz)::timestamp end as utc_time,
        case
            when month_stamp is not null then {undated.dated("leap_year_time", "year_anchor")}
            when ctime_stamp is not null then ctime_time
            when not {times.has_offset("iso")} then try_cast(iso as timestamp)
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
        coalesce(utc_time, {doubled_hours.utc(zone)}) as occurred_at,
        case
            when utc_time is not null then case when contains(iso, '.') then 'exact' else 'second' end
            when {doubled_hours.is_unsettled(zone)} then 'ambiguous_dst'
            when iso is not null then 'local_assumed'
            when month_stamp is not null then 'year_inferred'
            when ctime_stamp is not null then 'dmesg_t'
            else 'boot_relative'
        end as time_quality,
        body
    from local_times
    {doubled_hours.joined("local_times", "kernel_turns")}
    union all by name
    select
        *, 'epoch' as stamp_kind, 'exact' as time_quality, null::double as uptime_seconds
    from kernel_journal
),
bracketed as (
    select * exclude (body), regexp_extract(body, '{_UPTIME}', ['uptime', 'body']) as bracket, body from messages
),
-- what is repeated has its own uptime inside the brackets
unrepeated as (
    select
        * exclude (body),
        coalesce(nullif(bracket.body, ''), body) as body,
        regexp_extract(coalesce(nullif(bracket.body, ''), body), '{_REPEATED}', ['count', 'uptime', 'body']) as repeated
    from bracketed
)
select
    unrepeated.* exclude (host, body, bracket, repeated, uptime_seconds),
    coalesce(host, files.host_of_file) as host,
    coalesce(
        uptime_seconds, {_seconds("bracket.uptime")}, {_seconds("repeated.uptime")}
    ) as uptime_seconds,
    greatest(1, coalesce(try_cast(repeated.count as integer), 1)) as repeat_count,
    trim(coalesce(nullif(repeated.body, ''), body)) as message
from unrepeated
join (
    select file_id, {_host_of_file("path")} as host_of_file from batch_files
) as files on files.file_id = unrepeated.file_id"""
    turns = doubled_hours.turn_steps(zone, "kernel_years", "kernel_turns")
    return [*undated.year_steps(stamps, "kernel_years"), *turns, texts, journal, timed]


_DATED_AS_ISO = f"""
    strftime(try_strptime(nullif(dated.stamp, ''), {list(_DATED_STAMPS.values())}), '%Y-%m-%d %H:%M:%S')
    || case
        when dated.zone in ('UTC', 'GMT') then 'Z'
        when left(dated.zone, 1) in ('+', '-', 'Z') then dated.zone
        else ''
    end
"""
_UNIX_AS_ISO = "make_timestamp((try_cast(nullif(unix.stamp, '') as decimal(38, 6)) * 1000000)::bigint)::varchar || 'Z'"


def _first_bare(part: str) -> str:
    return f"regexp_extract(text, '{SHAPES['bare']}', ['host', 'tag', 'body']).{part}"
