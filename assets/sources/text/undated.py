"""Infer times that a log does not state: the year of `Nov 21 07:34:23`, and the moment of a file without times.

Years are inferred backwards from the date that log rotation puts into the file's name, else from its modification.
When accounting is there, `intake.account.years` settles them.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from assets.sources.text import times

LEAP_YEAR = 2024

ANCHORS_PER_FILE = 10_000
"""Every line of a smaller file, every n-th of a larger one, is followed through the turns of the year."""

BACKWARD_DAYS = 35
"""A step back by more is a new year; by less it is disorder, or rotated files joined newest first."""

DAYS_AFTER_DATE = 2
"""A line may be later than the date of its file by so much: a date is its first moment, and a clock may be fast."""
DAYS_BEFORE_DATE = 1
"""A log whose last line is no earlier than this was written up to the date of its file."""


_EPOCH, _DAY = r"(?:^|\D)(1\d{9})(?:\D|$)", r"(?:^|\D)(20\d\d-?[01]\d-?[0-3]\d)(?:\D|$)"
_SECOND = r"(?:^|\D)(20\d\d)-?([01]\d)-?([0-3]\d)[T_. -]?([0-2]\d)[:._-]?([0-5]\d)[:._-]?([0-5]\d)(?:(Z)|\D|$)"
"""A day and a time of day, as in `2024-05-03_12-00-01`: local time, or UTC with a Z behind it."""
TIME_FOLDER = r"20\d\d(?:[._-]?\d\d){0,2}|\d{1,2}|1\d{9}"
"""The whole name of a folder for a time: a year, a month, a day, an hour, a number of a night, an epoch."""


def file_moment(path: str, modified_at: str, zone: str) -> str:
    """Return SQL for when a file was written: epoch, local time or date in its name, else its modification.

    A name with a date alone tells it give or take a day.
    """
    return f"coalesce({_named_epoch(path)}, {_named_second(path, zone)}, {_named_day(path)}, {modified_at})"


def named_moment(path: str) -> str:
    """Return SQL for the epoch or the date in a file's name, NULL where it has neither."""
    return f"coalesce({_named_epoch(path)}, {_named_day(path)})"


def named_end(path: str) -> str:
    """Return SQL for the end of what a file's name says: the epoch itself, or the last second of the date."""
    return f"coalesce({_named_epoch(path)}, {_named_day(path)} + interval 86399 second)"


def _named_epoch(path: str) -> str:
    epoch = f"regexp_extract(regexp_extract({path}, '[^/]+$'), '{_EPOCH}', 1)"
    return f"make_timestamp(try_cast(nullif({epoch}, '') as bigint) * 1000000)"


def _named_day(path: str) -> str:
    day = f"regexp_extract(regexp_extract({path}, '[^/]+$'), '{_DAY}', 1)"
    return f"try_strptime(replace({day}, '-', ''), '%Y%m%d')"


def _named_second(path: str, zone: str) -> str:
    parts = [f"regexp_extract(regexp_extract({path}, '[^/]+$'), '{_SECOND}', {group})" for group in range(1, 8)]
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
    """Tell whether `file_moment` finds digits like those of an epoch or a date in a file's name.

    >>> is_named_by_time("c/kernel/kern.log-20260104"), is_named_by_time("c-20260104/kernel/kern.log")
    (True, False)
    """
    name = path.rpartition("/")[2]
    return any(re.search(pattern, name) for pattern in (_EPOCH, _SECOND, _DAY))


def year_steps(stamped: str, into: str) -> list[str]:
    """Return the statements that complete syslog times with their year, by the date of their file.

    Parameters
    ----------
    stamped
        A query of file_id, line_number, stamp (`Nov 21 07:34:23`) of all lines that have one, in the files' order.
    into
        Temp table to make: file_id, line_number, year_anchor (naive local time). The anchor of a line is the last one
        at or before it, an asof join; `dated` gives the line's time from it.

    A file with a 29 February is of the last year that has one, unless its last line is of its date. `undated_logs` gets
    what settles the year when accounting is there.
    """
    anchors = f"""
create or replace temp table {into}_anchors as
with stamped as ({stamped}),
file_sizes as (select file_id, 1 + count(*) // {ANCHORS_PER_FILE} as spacing from lines group by file_id)
select
    stamped.file_id,
    stamped.line_number // file_sizes.spacing as block,
    min(stamped.line_number) as line_number,
    count(*) as line_count,
    bool_or(starts_with(stamped.stamp, 'Feb 29')) as has_leap_day,
    {in_leap_year("arg_min(stamped.stamp, stamped.line_number)")} as leap_year_time
from stamped
join file_sizes on file_sizes.file_id = stamped.file_id
group by stamped.file_id, block"""
    turns = f"""
create or replace temp table {into}_turns as
with steps as (
    select
        *,
        date_diff('second', lag(leap_year_time) over in_file, leap_year_time) / 86400.0 as step_days
    from {into}_anchors
    where leap_year_time is not null
    window in_file as (partition by file_id order by line_number)
),
turns as (
    select
        *,
        coalesce(sum(case when step_days < -{BACKWARD_DAYS} then 1 when step_days > 330 then -1 else 0 end) over (
            partition by file_id order by line_number rows between 1 following and unbounded following
        ), 0)::integer as turns_after,
        last_value(leap_year_time) over (
            partition by file_id order by line_number rows between unbounded preceding and unbounded following
        ) as last_leap_year_time
    from steps
),
references_ as (
    select file_id, coalesce({named_moment("path")}, modified_at) + interval {DAYS_AFTER_DATE} day as latest
    from batch_files
)
select
    turns.*,
    year(references_.latest) - {LEAP_YEAR}
    - (strftime(last_leap_year_time, '%m%d%H%M%S') > strftime(references_.latest, '%m%d%H%M%S'))::integer as last_shift,
    last_leap_year_time + to_years(last_shift::integer)
    > references_.latest - interval {DAYS_AFTER_DATE + DAYS_BEFORE_DATE} day as is_of_file_date,
    last_shift - turns_after as shift
from turns
join references_ on references_.file_id = turns.file_id"""
    # All leap days of a file are of years with the same rest, or some clock was wrong.
    dated_anchors = f"""
create or replace temp table {into} as
with leap_days as (
    select file_id, min((shift % 4 + 4) % 4) as years_back
    from {into}_turns
    where has_leap_day and not is_of_file_date
    group by file_id
    having count(distinct (shift % 4 + 4) % 4) = 1
)
select
    turns.file_id,
    turns.line_number,
    turns.leap_year_time + to_years((turns.shift - coalesce(leap_days.years_back, 0))::integer) as year_anchor
from {into}_turns as turns
left join leap_days on leap_days.file_id = turns.file_id"""
    logs = f"""
insert into undated_logs by name
with days as (
    select
        turns.file_id,
        anchors.year_anchor::date as day_date,
        sum(turns.line_count)::bigint as line_count,
        bool_or(turns.is_of_file_date) as is_of_file_date,
        bool_or(turns.has_leap_day) as has_leap_day
    from {into}_turns as turns
    join {into} as anchors on anchors.file_id = turns.file_id and anchors.line_number = turns.line_number
    group by turns.file_id, day_date
)
select
    file_id,
    map_from_entries(list((day_date, line_count) order by day_date)) as days,
    bool_or(is_of_file_date) as is_of_file_date,
    bool_or(has_leap_day) as has_leap_day
from days
group by file_id"""
    return [anchors, turns, dated_anchors, logs]


def dated(leap_year_time: str, anchor: str) -> str:
    """Return SQL for the naive local time of a line: in the year that puts it nearest to its anchor.

    Parameters
    ----------
    leap_year_time
        A column made by `in_leap_year`.
    anchor
        The line's `year_anchor`.

    A 29 February that falls into a common year gives NULL: the inferred year is wrong.
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
    """Return SQL that reads `Nov 21 07:34:23` in a leap year, where every stamp is a date; NULL when it is none."""
    return f"try_strptime('{LEAP_YEAR} ' || {stamp}, '%Y %b %d %H:%M:%S')"
