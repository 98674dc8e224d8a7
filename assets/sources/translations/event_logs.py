"""System event logs of a machine's management controller: `ipmitool sel list`, `elist`, `-c`, and FreeIPMI's CSV.

The host comes from the file's name or folder. The controller's clock may be wrong, and events from before it was set
have no time. Asserted events are results; the end of an event (Deasserted) is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.text.text_lines import cells_of, lines_of
from assets.sources.text.times import CLOCK_NOISE_SECONDS
from assets.sources.translations.result_lines import CRITICAL, EVENT, Result, host_of, result_line

CHECK = "ipmitool sel"
"""GCM's name for the check of the same log."""
_FIRST_LINE = re.compile(
    r"^[ \t]*[0-9a-fA-F]{1,8}\s*[|,]\s*(?:\d{1,2}[/-]\d{1,2}[/-]\d{2,4}|\d{4}-\d\d-\d\d|Pre-Init[^|,]*)\s*[|,]"
    r"|^[ \t]*ID\s*[,|]\s*Date\s*[,|]\s*Time\s*[,|]\s*Name|^SEL has no entries",
    re.M,
)
_OEM = re.compile(r"^\s*[0-9a-fA-F]{1,8}\s*[|,]\s*OEM record", re.I)
_ZONES = {
    "UTC": 0, "GMT": 0, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "BST": 1, "EST": -5, "EDT": -4, "CDT": -5, "MST": -7,
    "MDT": -6, "PST": -8, "PDT": -7, "JST": 9, "KST": 9,
}  # fmt: skip
_HARMLESS = re.compile(
    r"log area reset|presence detected|state asserted|transition to ok|event logging|timestamp clock sync|"
    r"fully redundant|s0/g0|power (?:up|on)\b|power cycle|initiated by|oem system boot|boot completed|device enabled|"
    r"\bpresent\b|session audit|version change|limit not exceeded|drive present",
    re.I,
)


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the events as lines, line by line."""
    node, clock = host_of(file.path), _WallClock(cluster.settings.timezone)
    for line in lines_of(pieces):
        yield _translated(line, node, clock)


class _WallClock:
    """Adds the zone to local times, in the log's order. In a doubled hour a step back begins the second pass."""

    def __init__(self, zone: str) -> None:
        self._zone = ZoneInfo(zone)
        self._doubled: datetime | None = None
        """The previous time, if it is of a doubled hour."""

    def with_zone(self, local: datetime) -> datetime:
        """Return a time with its zone and, in a doubled hour, its pass."""
        first, second = (local.replace(tzinfo=self._zone, fold=fold) for fold in (0, 1))
        if first.astimezone(UTC) >= second.astimezone(UTC):
            self._doubled = None
            return first
        before = self._doubled
        is_second = (
            before is not None
            and before.date() == local.date()
            and (before.fold == 1 or before.replace(tzinfo=None) - local > timedelta(seconds=CLOCK_NOISE_SECONDS))
        )
        self._doubled = second if is_second else first
        return self._doubled


def _translated(line: str, node: str | None, clock: _WallClock) -> str | SetAside:
    fields = _fields(line)
    if not line.strip() or line.startswith("SEL has no entries") or _OEM.match(line):
        return SetAside(line, "not_relevant" if line.strip() else "blank")
    if fields[0].upper() == "ID":
        return SetAside(line, "header")
    if problem := _problem(fields):
        return SetAside(line, *problem)
    at, event = _moment(fields[1], fields[2], clock), ", ".join(filter(None, fields[3:]))
    if at is None:
        return SetAside(line, "bad_timestamp", f"{fields[1]} {fields[2]}"[:80])
    if re.search(r"\bdeasserted\b", event, re.I) or _HARMLESS.search(event):
        return SetAside(line, "not_relevant")
    return result_line(Result(node, CHECK, CRITICAL, at, f"Detected error: {event}", kind=EVENT))


def _problem(fields: list[str]) -> tuple[str, str] | None:
    """Return the reason and the detail to quarantine an event; None if its time can be read."""
    if len(fields) < 5:
        return "field_count", f"{len(fields)} fields where an event has five or more"
    if re.match(r"(?:pre|post)-?init|(?:n/a)?$", fields[1], re.I):
        return "no_event_time", "written before the controller's clock was set"
    if re.fullmatch(r"\d{1,2}[/-]\d{1,2}[/-]\d{2}", fields[1]):
        return "ambiguous_date", "a year of two digits: export with LC_TIME=en_DK.UTF-8 ipmitool sel elist"
    return None


def _fields(line: str) -> list[str]:
    delimiter = "|" if "|" in line else ","
    return [field.strip() for field in cells_of(line, delimiter) or [""]]


def _moment(date: str, time: str, clock: _WallClock) -> datetime | None:
    """Return the moment of a date and a time of day, which may have 12 hours and may name a zone."""
    shown, _, label = time.strip().partition(" ")
    if label.upper().split(" ")[0] in {"AM", "PM"}:
        half, _, label = label.partition(" ")
        shown = f"{shown} {half.upper()}"
    for form in ("%m/%d/%Y", "%Y-%m-%d", "%b-%d-%Y", "%d-%b-%Y"):
        for hours in ("%H:%M:%S", "%I:%M:%S %p"):
            try:
                local = datetime.strptime(f"{date} {shown}", f"{form} {hours}")
            except ValueError:
                continue
            return _in_utc(local, label.strip().upper(), clock)
    return None


def _in_utc(local: datetime, label: str, clock: _WallClock) -> datetime | None:
    hours = _ZONES.get(label)
    try:
        moment = clock.with_zone(local)
        if label and label != (moment.tzname() or "").upper():
            return None if hours is None else local - timedelta(hours=hours)
        return moment.astimezone(UTC).replace(tzinfo=None)
    except (OverflowError, ValueError, OSError):
        return None


_EXAMPLE = "   1 | 05/01/2024 | 10:00:00 | Memory | Uncorrectable ECC | Asserted\n"
FORMS = (Translation("ipmi_sel", "health", holds(_FIRST_LINE, in_json=False), _translate, _EXAMPLE),)
