"""Values of cells in tables that people keep: dates as their tools write them, and lists of nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from assets.sources.text import nodelists, times

_FORMATS = (
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%d/%b/%y %I:%M %p",
    "%d/%b/%Y %I:%M %p",
    "%d/%b/%y %H:%M",
    "%d/%b/%Y %H:%M",
    "%d-%b-%Y %H:%M:%S",
    "%d-%b-%Y",
    "%b %d, %Y %H:%M",
    "%b %d, %Y",
)
_ISO_FORMATS = ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?:[ ,]+(\d{1,2}:\d\d(?::\d\d)?)(?: ?([AaPp][Mm]))?)?")
_NODE = re.compile(r"(?:[^\s,;\[]|\[[^\]]*\]?)+")


NOT_STATED = frozenset({"", "-", "none", "null", "n/a", "nan", "unknown"})


class ValueProblem(ValueError):
    """A cell that cannot be read; `reason` is the reason of the quarantine."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(detail)


def stated(text: str | None) -> str | None:
    """Return the text of a cell; None if it means unknown."""
    return None if text is None or text.strip().lower() in NOT_STATED else text


def is_never(text: str) -> bool:
    """Return whether a date stands for never, as databases write it.

    >>> is_never("9999-12-31 23:59:59"), is_never("31.12.9999"), is_never("2024-12-31")
    (True, True, False)
    """
    return re.search(r"(?<!\d)9999(?!\d)", text) is not None


def is_day_first(dates: Iterable[str]) -> bool | None:
    """Return whether the day comes first in a file's `a/b/yyyy` dates; None if none of them shows it."""
    day_first = month_first = False
    for date in dates:
        match = _SLASHED.fullmatch(date.strip())
        day_first |= match is not None and int(match[1]) > 12
        month_first |= match is not None and int(match[2]) > 12
    return None if day_first == month_first else day_first


def _slashed(match: re.Match[str], day_first: bool | None, text: str) -> datetime:
    a, b, year = int(match[1]), int(match[2]), int(match[3])
    if day_first is None and a != b:
        raise ValueProblem("ambiguous_date", f"{text}: day or month first? Set date_format in cluster.toml")
    day, month = (a, b) if day_first else (b, a)
    hour, minute, second = [int(part) for part in f"{match[4] or '0:00'}:00".split(":")][:3]
    if match[5]:
        hour = hour % 12 + 12 * (match[5].lower() == "pm")
    return datetime(year + 2000 * (year < 100), month, day, hour, minute, second)


def _as_written(text: str, date_format: str | None, day_first: bool | None) -> datetime:
    if re.fullmatch(r"\d{9,10}", text):
        return datetime.fromtimestamp(int(text), UTC)
    if re.match(r"\d{4}-\d\d-\d\d", text) and date_format is None:
        return datetime.fromisoformat(text.replace(" UTC", "+00:00"))
    if date_format is None and (match := _SLASHED.fullmatch(text)):
        return _slashed(match, day_first, text)
    for known in _FORMATS if date_format is None else (date_format, *_ISO_FORMATS):
        try:
            return datetime.strptime(text, known)
        except ValueError:
            continue
    raise ValueError(text)


def moment(
    text: str,
    zone: str,
    date_format: str | None = None,
    day_first: bool | None = None,
    not_before: datetime | None = None,
) -> datetime:
    """Return a date as naive UTC; in a doubled hour the second pass, if the first is before `not_before`.

    >>> moment("2024-05-03T09:00", "Europe/Berlin")
    datetime.datetime(2024, 5, 3, 7, 0)
    >>> moment("03/May/24 9:15 AM", "UTC")
    datetime.datetime(2024, 5, 3, 9, 15)
    """
    try:
        written = _as_written(text.strip(), date_format, day_first)
        aware = written if written.tzinfo else written.replace(tzinfo=ZoneInfo(zone))
        first, second = (aware.replace(fold=fold).astimezone(UTC).replace(tzinfo=None) for fold in (0, 1))
    except ValueProblem:
        raise
    except (ValueError, OverflowError, OSError):
        raise ValueProblem("bad_timestamp", f"not a date: {text[:80]!r}") from None
    return second if not_before is not None and first < not_before else first


def node_names(text: str) -> list[str]:
    """Return the nodes of a cell, separated by commas, semicolons or blanks; lists in brackets are allowed.

    >>> node_names("gpu001; gpu[003-004] gpu001")
    ['gpu001', 'gpu003', 'gpu004']
    """
    try:
        listed = [name for part in _NODE.findall(text) for name in nodelists.expand(part, nodelists.LARGE)]
        if len(listed) > nodelists.LARGE:
            raise nodelists.NodeListError(
                "nodelist_too_large", f"{text[:80]!r} names more than {nodelists.LARGE} hosts"
            )
    except nodelists.NodeListError as error:
        raise ValueProblem(error.reason, str(error)) from error
    if not listed:
        raise ValueProblem("missing_time_or_node", f"no node in {text!r}")
    return list(dict.fromkeys(listed))


@dataclass(frozen=True)
class Dates:
    """The rules for reading the dates of a file."""

    zone: str
    date_format: str | None
    day_first: bool | None
    latest: datetime
    """The latest possible moment in the file."""

    def read(self, text: str, not_before: datetime | None = None, earliest: datetime = times.EARLIEST) -> datetime:
        """Return a date as naive UTC; refuse an impossible one."""
        found = moment(text, self.zone, self.date_format, self.day_first, not_before)
        if not earliest <= found <= self.latest:
            raise ValueProblem("implausible_time", f"{text} is {found} (UTC)")
        return found
