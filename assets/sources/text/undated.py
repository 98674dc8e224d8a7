"""Infer times that a log does not state: the year of `Nov 21 07:34:23`, and the moment of a file without times.

Years are inferred backwards from the date that log rotation puts into the file's name, else from its modification.
Once accounting is read, `intake.account.years` settles them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from assets.sources.text import times
from assets.sql import fill, literal

LEAP_YEAR = 2024

ANCHORS_PER_FILE = 10_000
"""Every line of a smaller file, and every n-th of a larger one, is checked for the turn of a year."""

BACKWARD_DAYS = 35
"""A larger step back is a new year; a smaller one is disorder, or rotated files joined newest first."""

DAYS_AFTER_DATE = 2
"""How much later than the date of its file a line may be: a date is its first moment, and a clock may be fast."""
DAYS_BEFORE_DATE = 1
"""A log with a last line no earlier than this was written up to the date of its file."""


_EPOCH, _DAY = r"(?:^|\D)(1\d{9})(?:\D|$)", r"(?:^|\D)(20\d\d-?[01]\d-?[0-3]\d)(?:\D|$)"
_SECOND = r"(?:^|\D)(20\d\d)-?([01]\d)-?([0-3]\d)[T_. -]?([0-2]\d)[:._-]?([0-5]\d)[:._-]?([0-5]\d)(?:(Z)|\D|$)"
"""Matches a day and a time of day, as in `2024-05-03_12-00-01`: local time, or UTC if a Z follows."""
TIME_FOLDER = r"20\d\d(?:[._-]?\d\d){0,2}|\d{1,2}|1\d{9}"
"""Matches the name of a folder for a time: a year, a month, a day, an hour, a number of a night, an epoch."""


def file_moment(path: str, modified_at: str, zone: str) -> str:
    """Return SQL for when a file was written: the epoch, local time or date in its name, else its modification.

    A name with only a date gives it to within a day.
    """
    return f"coalesce({_named_epoch(path)}, {_named_second(path, zone)}, {_named_day(path)}, {modified_at})"


def named_moment(path: str) -> str:
    """Return SQL for the epoch or the date in a file's name; NULL if it has neither."""
    return f"coalesce({_named_epoch(path)}, {_named_day(path)})"


def named_end(path: str) -> str:
    """Return SQL for the end of the time in a file's name: the epoch itself, or the last second of the date."""
    return f"coalesce({_named_epoch(path)}, {_named_day(path)} + interval 86399 second)"


def _named_epoch(path: str) -> str:
    epoch = f"regexp_extract(regexp_extract({path}, '[^/]+$'), {literal(_EPOCH)}, 1)"
    return f"make_timestamp(try_cast(nullif({epoch}, '') as bigint) * 1000000)"


def _named_day(path: str) -> str:
    day = f"regexp_extract(regexp_extract({path}, '[^/]+$'), {literal(_DAY)}, 1)"
    return f"try_strptime(replace({day}, '-', ''), '%Y%m%d')"


def _named_second(path: str, zone: str) -> str:
    parts = [f"regexp_extract(regexp_extract({path}, '[^/]+$'), {literal(_SECOND)}, {group})" for group in range(1, 8)]
    local = f"try_strptime(concat({', '.join(parts[:6])}), '%Y%m%d%H%M%S')"
    return f"case when {parts[6]} = 'Z' then {local} else {times.utc(local, zone)} end"


def moment_of_name(path: str, zone: str) -> datetime | None:
    """Return the epoch, the local time or the date in a file's name, as `file_moment` does in SQL.

    >>> moment_of_name("c1/health/diag-2024-05-03.json", "Europe/Berlin")
    datetime.datetime(2024, 5, 3, 0, 0)
    >>> moment_of_name("c1/health/diag-2024-05-03_12-00-01.json", "Europe/Berlin")
    datetime.datetime(2024, 5, 3, 10, 0, 1)
    >>> moment_of_name("c1/health/diag-2024-05-03_29-00-01.json", "Europe/Berlin")
    datetime.datetime(2024, 5, 3, 0, 0)
    """
    name = path.rpartition("/")[2]
    if epoch := re.search(_EPOCH, name):
        return datetime.fromtimestamp(int(epoch[1]), UTC).replace(tzinfo=None)
    second, day = re.search(_SECOND, name), re.search(_DAY, name)
    with suppress(ValueError):
        if second:
            local = datetime.strptime("".join(second.groups()[:6]), "%Y%m%d%H%M%S")
            return local.replace(tzinfo=UTC if second[7] else ZoneInfo(zone)).astimezone(UTC).replace(tzinfo=None)
    with suppress(ValueError):
        if day:
            return datetime.strptime(day[1].replace("-", ""), "%Y%m%d")
    return None


def is_named_by_time(path: str) -> bool:
    """Return whether `file_moment` finds digits like those of an epoch or a date in a file's name.

    >>> is_named_by_time("c/kernel/kern.log-20260104"), is_named_by_time("c-20260104/kernel/kern.log")
    (True, False)
    """
    name = path.rpartition("/")[2]
    return any(re.search(pattern, name) for pattern in (_EPOCH, _SECOND, _DAY))


def year_steps(stamped: str, into: str) -> list[str]:
    """Return the statements that add the year to syslog times, by the date of their file.

    Parameters
    ----------
    stamped
        A query of file_id, line_number, stamp (`Nov 21 07:34:23`) of all lines that have a stamp, in file order.
    into
        Temp table to make: file_id, line_number, year_anchor (naive local time). The anchor of a line is the last one
        at or before it, by an asof join; `dated` computes the line's time from it.

    A file with a 29 February is of the last year that has one, unless its last line is of its date. `undated_logs` gets
    the facts that settle the year once accounting is read.
    """
    return [
        fill(
            "sources/text/undated_years.sql",
            stamped=stamped,
            into=into,
            anchors_per_file=ANCHORS_PER_FILE,
            leap_year_time=in_leap_year("arg_min(stamped.stamp, stamped.line_number)"),
            leap_year=LEAP_YEAR,
            backward_days=BACKWARD_DAYS,
            named_moment=named_moment("path"),
            days_after_date=DAYS_AFTER_DATE,
            days_before_date=DAYS_BEFORE_DATE,
        )
    ]


def dated(leap_year_time: str, anchor: str) -> str:
    """Return SQL for the naive local time of a line, in the year that puts it nearest to its anchor.

    Parameters
    ----------
    leap_year_time
        A column made by `in_leap_year`.
    anchor
        The line's `year_anchor`.

    A 29 February in a common year gives NULL, as the inferred year is wrong.
    """

    def in_year(shift: int) -> str:
        return f"{leap_year_time} + to_years((year({anchor}) - {LEAP_YEAR - shift})::integer)"

    away = f"date_diff('day', {anchor}, {in_year(0)})"
    branches = " ".join(
        f"when {test} then case when day({in_year(shift)}) = day({leap_year_time}) then {in_year(shift)} end"
        for test, shift in ((f"{away} > 183", -1), (f"{away} < -183", 1), ("true", 0))
    )
    return f"case {branches} end"


def in_leap_year(stamp: str) -> str:
    """Return SQL that reads `Nov 21 07:34:23` in a leap year, where every stamp is a date; NULL if it is not one."""
    return f"try_strptime('{LEAP_YEAR} ' || {stamp}, '%Y %b %d %H:%M:%S')"
