"""The envelopes of a kernel message: ten ways to write its time, host and tag.

syslog with and without a year, ISO syslog and journalctl's short forms, RFC 5424, journalctl's JSON, `dmesg -T`,
`dmesg -x --time-format iso`, plain dmesg and /dev/kmsg. Each line shows its envelope; a file may mix them. pdsh may
print the host before the envelope, and grep the name of a file. `envelopes.sql` removes all of these.
"""

from __future__ import annotations

import re

from assets.sources.text import doubled_hours, times, undated
from assets.sql import fill

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
"""Times with a year that are not ISO, or that have a weekday before or the name of a zone after them."""
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
# A negative or odd uptime is ignored, but the message begins after it.
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
_FIRST_CHARACTERS = {
    "protocol": _ONE, "dmesg_iso": _DIGIT, "iso": _DIGIT, "month": _CAPITAL, "dated": ("0", "["), "unix": _ONE,
    "ctime": _BRACKET, "plain": _BRACKET, "kmsg": _DIGIT,
}  # fmt: skip
"""The lowest first character of lines of a shape, and the one after the highest. Other lines skip the pattern."""
_BEGINNING = (
    r"(?:<[\w.]+> ?)?(?:1 )?(?:\d{4}[-/ ]|1\d{9}[. ]|\d{1,2} [A-Z][a-z]{2} \d|[A-Z][a-z]{2},? (?:[A-Z][a-z]{2}| ?\d)|"
    r"\[ *[-+]?\d+\.\d+\]|\[[A-Z][a-z]{2} |\d+,\d+,\d+,|[a-z]+ *:[a-z]+ *: |\{ ?\")"
)
"""Matches the beginning of a line of any of these envelopes."""
_OUTER = r"(?:({}[A-Za-z0-9][\w.-]*): )?(?:\S*(?:/|log|messages|dmesg)[^\s:]*:(?:\d+:)?)?"
"""Matches the host that pdsh prints before a line, and the file's name that grep prints."""
PRINTED = rf"^{_OUTER.format('?P<outer>')}(?P<text>{_BEGINNING}.*)$"
"""Matches a line that may have one of the two before the envelope."""
_REPEATED = rf"^message repeated (?P<count>\d+) times: \[ ?(?:\[ *(?P<uptime>{_SECONDS})\] )?(?P<body>.*?)\]?$"
_UPTIME = rf"^\[ *(?P<uptime>{_SECONDS})\] (?:\[ *[TC]\d+\] )?(?P<body>.*)$"
_LINE_BREAKS = r"\s*(?:[\r\n]|[#\\]01[25]|\\x0[aAdD])\s*"
"""Matches line ends inside a message: plain, escaped by rsyslog, or escaped by syslog-ng."""
_CHARACTER_IN_HEX = (
    "[0-7].|(?:c[2-9a-f]|d.)[89ab].|(?:e0[ab].|e[1-9a-cef][89ab].|ed[89].)[89ab].|(?:f0[9ab].|f[123][89ab].|f48.)"
    "(?:[89ab].){2}|.."
)
"""Matches a character of UTF-8 as digits of its bytes, or else a byte."""
_FILE_NAMES = "dmesg|kern|kernel|syslog|messages|journal|journalctl|kmsg|xid|xids|all"
"""Names of logs and folders that are not hosts."""
_ENDINGS = rf"{_FILE_NAMES}|gz|zst|log|txt|jsonl?|out|\d{{1,3}}|20\d\d-?\d\d-?\d\d|1\d{{9}}"


def unwrapping_steps(zone: str, *, are_printed: bool) -> list[str]:
    """Return the statements that make `kernel_unwrapped` from `kernel_candidates`.

    Its columns: file_id, line_number, is_bad_json, host, tag (NULL: the envelope has none), uptime_seconds, stamp_kind
    (epoch, iso, month, ctime, uptime; NULL: unknown envelope), occurred_at, time_quality, repeat_count,
    message.

    Parameters
    ----------
    zone
        IANA zone of times without offset.
    are_printed
        Whether hosts may come before the lines, as pdsh prints them.
    """
    outer = _OUTER.format("?:") if are_printed else ""
    stamps = rf"""
    select file_id, line_number, regexp_extract(line, '^{outer}(?:<\d+>)?({_MONTH_STAMP})', 1) as stamp
    from lines
    where regexp_matches(line, '^{outer}(?:<\d+>)?{_MONTH_STAMP}(?:\.\d+)? ')"""
    unwrapped = fill(
        "sources/kernel/envelopes.sql",
        printed=PRINTED if are_printed else "",
        priority=PRIORITY.pattern,
        # DuckDB names the groups by their order.
        shapes=tuple(
            (name, SHAPES[name], tuple(re.findall(r"\?P<(\w+)>", SHAPES[name])), *characters)
            for name, characters in _FIRST_CHARACTERS.items()
        ),
        bare=SHAPES["bare"],
        formats=tuple(_DATED_STAMPS.values()),
        uptime=_UPTIME,
        repeated=_REPEATED,
        line_breaks=_LINE_BREAKS,
        character_in_hex=_CHARACTER_IN_HEX,
        time_folder=undated.TIME_FOLDER,
        file_names=_FILE_NAMES,
        file_name_endings=_ENDINGS,
        has_offset=times.has_offset("iso"),
        leap_year_time=undated.in_leap_year("month_stamp"),
        month_time=undated.dated("leap_year_time", "year_anchor"),
        utc=doubled_hours.utc(zone),
        is_unsettled=doubled_hours.is_unsettled(zone),
        with_turns=doubled_hours.joined("local_times", "kernel_turns"),
    )
    turns = doubled_hours.turn_steps(zone, "kernel_years", "kernel_turns")
    return [*undated.year_steps(stamps, "kernel_years"), *turns, unwrapped]
