"""Find by the order of a log's lines whether they are of the first or the second pass of a doubled hour.

When summer time ends, the clock goes back by an hour, and local times of that hour occur twice. The lines of one host
are in order of time: if a line is earlier than the one before it by more than a minute, the second pass has begun.
Lines of other hosts after it in the file are of the second pass, too. A host with a clock in another zone does not step
back, so it decides nothing.
"""

from __future__ import annotations

from datetime import timedelta

from assets.sources.text import times, undated
from assets.sql import fill

_HEAD = r"^(?:<\d+>|[a-z]+ *:[a-z]+ *: )?(?:1 )?(?P<bracket>\[?)(?:(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) )?"
_STAMP = (
    r"(?:(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[^\s\]]*)|(?P<compact>\d{8} \d\d:\d\d:\d\d)"
    r"|(?P<month>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d)(?P<year> \d{4})?)"
)
_PATTERN = rf"{_HEAD}{_STAMP}\S* ?(?P<host>\S*)"


def _changes(zone: str) -> list[times.OffsetChange]:
    changes = [change for change in times.offset_changes(zone) if change.after < change.before]
    return [change for change in changes if change.at >= times.EARLIEST]


def turn_steps(zone: str, years: str, into: str) -> list[str]:
    """Return the statements that find where the second pass begins.

    Parameters
    ----------
    zone
        IANA name.
    years
        The table that `undated.year_steps` made for lines without a year.
    into
        Temp table to make, one row for each doubled hour with lines in a file: file_id, from_time and to_time (the hour
        in local time), back_seconds, and where the second pass begins: between before_line and turn_line, at the time
        turn_time. These are NULL if the order does not show it.
    """
    changes = _changes(zone)
    spans = ", ".join(
        f"({times.literal(change.first_local)}, {times.literal(change.last_local)}, "
        f"{int((change.before - change.after).total_seconds())})"
        for change in changes
    )
    return [
        fill(
            "sources/text/doubled_hours.sql",
            into=into,
            years=years,
            spans=spans,
            pattern=_PATTERN,
            begins=_begins(changes),
            noise_seconds=times.CLOCK_NOISE_SECONDS,
            in_leap_year=undated.in_leap_year("nullif(parts.month, '')"),
            has_offset=times.has_offset("parts.iso"),
            dated=undated.dated("leap_year_time", "years.year_anchor"),
        )
    ]


def _begins(changes: list[times.OffsetChange]) -> str:
    """Return a pattern for the beginnings of lines that may be of a doubled hour."""
    forms = []
    for change in changes:
        hours = (change.last_local - change.first_local) // timedelta(hours=1)
        for past in range(hours + 1):
            hour = change.first_local + timedelta(hours=past)
            forms.append(f"{hour:%Y-%m-%d}[T ]{hour:%H}|{hour:%Y%m%d %H}|{hour:%b %e %H}")
    return f"{_HEAD}(?:{'|'.join(forms)}):"


def joined(lines: str, turns: str) -> str:
    """Return SQL that joins lines, which have a local_time, with the table of `turn_steps`, as `turns`."""
    return (
        f"left join {turns} as turns on turns.file_id = {lines}.file_id and {lines}.local_time >= turns.from_time "
        f"and {lines}.local_time < turns.to_time"
    )


def utc(zone: str) -> str:
    """Return SQL for the naive UTC of `local_time` and `line_number` in lines that are joined with `turns`."""
    noise = f"interval {times.CLOCK_NOISE_SECONDS} second"
    return (
        f"{times.utc('local_time', zone)} + to_seconds(case "
        f"when line_number >= turns.turn_line then turns.back_seconds "
        f"when line_number > turns.before_line and local_time <= turns.turn_time + {noise} then turns.back_seconds "
        f"else 0 end)"
    )


def is_unsettled(zone: str) -> str:
    """Return SQL that is true for lines, joined with `turns`, if the order does not show their pass."""
    return f"coalesce(turns.turn_line is null and {times.is_ambiguous('local_time', zone)}, false)"
