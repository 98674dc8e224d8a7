"""DuckDB expressions that convert local wall-clock time to UTC, exact at daylight-saving changes.

A batch has one zone, so its changes are written into the SQL as a short CASE, newest first: comparisons are far cheaper
than a time-zone lookup per row, and distinguish folds and gaps, which a cast cannot do.
Never cast text with an offset to `timestamp`, as DuckDB drops the offset; `parsed` goes through timestamptz.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

FIRST_YEAR, LAST_YEAR = 1990, 2060
FIRST_TIME, LAST_TIME = datetime.min, datetime.max
"""Where no start or no end is known. The macro `last_time` of the dbt project has the day of the last."""
EARLIEST = datetime(2000, 1, 1)
"""Slurm is younger, so an earlier time is from a clock that was not set."""
CLOCK_NOISE_SECONDS = 60
"""Setting a clock may swap the beginning and the end of a short check by at most this much."""


@dataclass(frozen=True)
class OffsetChange:
    """One change of a zone's offset from UTC, at `at` (UTC, naive)."""

    at: datetime
    before: timedelta
    after: timedelta

    @property
    def first_local(self) -> datetime:
        """First wall-clock time that is skipped or doubled."""
        return self.at + min(self.before, self.after)

    @property
    def last_local(self) -> datetime:
        """End (exclusive) of the skipped or doubled wall-clock time."""
        return self.at + max(self.before, self.after)


@cache
def offset_changes(zone: str) -> tuple[OffsetChange, ...]:
    """Return the changes of offset between `FIRST_YEAR` and `LAST_YEAR`, oldest first."""
    info = ZoneInfo(zone)

    def offset(moment: datetime) -> timedelta:
        return moment.replace(tzinfo=UTC).astimezone(info).utcoffset() or timedelta(0)

    changes = []
    day, step = datetime(FIRST_YEAR, 1, 1), timedelta(days=7)
    while day.year < LAST_YEAR:
        if offset(day) != offset(day + step):
            low, high = day, day + step
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=(high - low) // timedelta(seconds=1) // 2)
                low, high = (middle, high) if offset(middle) == offset(low) else (low, middle)
            changes.append(OffsetChange(high, offset(low), offset(high)))
        day += step
    return tuple(changes)


@cache
def offset_in_january(zone: str, year: int) -> timedelta:
    """Return the offset at the beginning of a year."""
    return datetime(year, 1, 1, tzinfo=UTC).astimezone(ZoneInfo(zone)).utcoffset() or timedelta(0)


def literal(moment: datetime) -> str:
    """Return a moment as a SQL literal."""
    return f"timestamp '{moment:%Y-%m-%d %H:%M:%S}'"


def _seconds(offset: timedelta) -> int:
    return int(offset.total_seconds())


def epoch_zero_local(zone: str) -> str:
    """Return the wall-clock time of epoch 0, which some exports print for 'never', as a SQL literal."""
    info = ZoneInfo(zone)
    return literal(datetime.fromtimestamp(0, info).replace(tzinfo=None))


Years = tuple[int, int]
EVER: Years = (FIRST_YEAR, LAST_YEAR)
"""First and last year of the times to convert: fewer years make shorter SQL."""


def changes_within(zone: str, years: Years) -> tuple[OffsetChange, ...]:
    """Return the changes that affect wall-clock times of some years, with one extra year on either side."""
    return tuple(change for change in offset_changes(zone) if years[0] - 1 <= change.at.year <= years[1] + 1)


def utc(local: str, zone: str, *, second_of_fold: bool = False, years: Years = EVER) -> str:
    """Return SQL that converts a naive local timestamp to naive UTC; in a doubled hour, the first or the second pass.

    Parameters
    ----------
    local
        SQL expression of type timestamp, preferably a plain column, as it is repeated.
    zone
        IANA name.
    second_of_fold
        Read doubled wall-clock times as the second pass.
    years
        Range of years; outside of it the result may be wrong by the change of offset.
    """
    changes = changes_within(zone, years)
    before = _seconds(changes[0].before if changes else offset_in_january(zone, years[0]))
    if not changes:
        return f"({local} - to_seconds({before}))" if before else local
    branches = []
    for change in reversed(changes):
        # In a gap either reading is a guess; callers quarantine such times by `is_nonexistent`.
        start = change.first_local if second_of_fold else change.last_local
        branches.append(f"when {local} >= {literal(start)} then {_seconds(change.after)}")
    return f"({local} - to_seconds(case {' '.join(branches)} else {before} end))"


def local(moment: str, zone: str) -> str:
    """Return SQL that converts naive UTC, preferably a plain column, to the naive local time of a zone."""
    changes = offset_changes(zone)
    before = _seconds(changes[0].before if changes else offset_in_january(zone, FIRST_YEAR))
    branches = [f"when {moment} >= {literal(change.at)} then {_seconds(change.after)}" for change in reversed(changes)]
    offset = f"case {' '.join(branches)} else {before} end" if branches else before
    return f"({moment} + to_seconds({offset}))"


def _within(local: str, spans: list[OffsetChange]) -> str:
    if not spans:
        return "false"
    tests = (f"({local} >= {literal(s.first_local)} and {local} < {literal(s.last_local)})" for s in reversed(spans))
    return f"({' or '.join(tests)})"


def is_ambiguous(local: str, zone: str, *, years: Years = EVER) -> str:
    """Return SQL that is true for wall-clock times that occurred twice."""
    return _within(local, [change for change in changes_within(zone, years) if change.after < change.before])


def is_nonexistent(local: str, zone: str, *, years: Years = EVER) -> str:
    """Return SQL that is true for wall-clock times that never occurred."""
    return _within(local, [change for change in changes_within(zone, years) if change.after > change.before])


def has_offset(text: str) -> str:
    """Return SQL that is true if an ISO text has `Z` or an offset from UTC."""
    return rf"(length({text}) > 19 and regexp_matches({text}, '(Z|[+-]\d\d(:?\d\d)?)$'))"


def is_implausible(moment: str, modified_at: str | None = None) -> str:
    """Return SQL that is true for a moment that no correct clock can have shown; NULL for NULL.

    Parameters
    ----------
    moment
        SQL of type timestamp, in UTC.
    modified_at
        When the file was modified: no line can be from a day after that, or after now.
    """
    now = "get_current_timestamp()::timestamp"
    latest = now if modified_at is None else f"greatest({modified_at}, {now})"
    return f"({moment} < {literal(EARLIEST)} or {moment} > {latest} + interval 1 day)"


def is_dated(text: str) -> str:
    """Return SQL that is true for text that begins with a year to which DuckDB can add offsets.

    DuckDB reads years up to 294247, and `infinity`, but then fails at the first sum.
    """
    return f"({text} >= '19' and {text} < '22')"


def stated(text: str, zone: str, *, second_of_fold: bool = False) -> str:
    """Return SQL that converts an epoch, a time with an offset or a local time to UTC; NULL if none is stated.

    Parameters
    ----------
    text
        A column; the column `{text}_local` has the local time.
    zone
        IANA name.
    second_of_fold
        Read doubled wall-clock times as the second pass.
    """
    return (
        f"case when regexp_matches({text}, '^\\d{{1,11}}$') "
        f"then nullif(make_timestamp(try_cast({text} as bigint) * 1000000), timestamp '1970-01-01') "
        f"when {has_offset(text)} and {is_dated(text)} then try_cast({text} as timestamptz)::timestamp "
        f"else {utc(f'{text}_local', zone, second_of_fold=second_of_fold)} end"
    )


def parsed(text: str) -> str:
    """Return SQL that parses ISO text with an offset to UTC, or without to naive local time; else NULL."""
    return (
        f"case when length({text}) = 19 then try_cast({text} as timestamp) "
        f"else try_cast({text} as timestamptz)::timestamp end"
    )
