"""The form into which health results of other programs are translated: GCM's flat record, one per line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from assets.sources.reader import SourceFile
from assets.sources.text.undated import TIME_FOLDER, moment_of_name

OK, WARN, CRITICAL, UNKNOWN = "OK", "WARN", "CRITICAL", "UNKNOWN"
EVENT = "event"
"""The kind of a result that is about a moment, such as an entry of a log, and not about a lasting state."""
_ENDINGS = r"gz|zst|log|txt|jsonl?|csv|out|sel|dcgmi|diag|events|states|\d{1,3}|20\d\d-?\d\d-?\d\d|1\d{9}"
_XID = re.compile(
    r"""(?<![a-z])xid["']?(?:\s+errors?)?(?:\s+detected)?(?:\s*\([^)]*\))?\s*[:=#]?[\s\["']*(\d{1,3})\b(?!\.\d)""", re.I
)
"""The number after the word; never a time since boot, as in `Xid errors detected: [ 79.25] NVRM: Xid (...): 48`."""


@dataclass(frozen=True)
class Result:
    """The result of one check on one node at one moment."""

    node: str | None
    check: str
    result: str
    at: datetime | None
    """In UTC, without a zone."""
    message: str = ""
    xids: tuple[int, ...] = ()
    kind: str = "periodic"


def result_line(found: Result) -> str:
    """Return a result as GCM would write it; its Xids are named in GCM's words."""
    codes = "".join(f"XID error: {code}, " for code in found.xids)
    return json.dumps({
        "node": found.node,
        "health_check": found.check,
        "type": found.kind,
        "result": found.result,
        "end_time": None if found.at is None else f"{found.at.isoformat()}Z",
        "_msg": f"{codes}{' '.join(found.message.split())}",
    })  # fmt: skip


def xids_in(text: str) -> tuple[int, ...]:
    """Return the distinct Xids that a text names, without the numbers of a PCI address.

    >>> xids_in("NVRM: Xid (PCI:0000:9b:00): 79, GPU has fallen off the bus; error_xid 31")
    (79, 31)
    """
    return tuple(dict.fromkeys(int(code) for code in _XID.findall(text) if int(code) > 0))


def host_of(path: str) -> str | None:
    """Return the host in the name of a file or of its folder, below the folder of the kind.

    Folders named by a time name no host.

    >>> host_of("c1/health/gpu012/diag-20240503.json"), host_of("c1/health/gpu013.sel.log")
    ('gpu012', 'gpu013')
    >>> host_of("c1/health/2024-05-03/gpu012.json"), host_of("c1/health/gpu013/2024/05/diag.json")
    ('gpu012', 'gpu013')
    >>> host_of("c1/health/diag.json") is None
    True
    """
    *folders, name = path.split("/")[2:]
    hosts = [folder for folder in folders if not re.fullmatch(TIME_FOLDER, folder)]
    if hosts:
        return hosts[-1]
    bare = re.sub(rf"(?:[._-](?:{_ENDINGS}))+$", "", name, flags=re.I)
    return None if re.fullmatch(r"(?:dcgmi?|diag|ipmi|ipmitool|sel|elist|events|states)?", bare, re.I) else bare


def time_of(file: SourceFile, zone: str) -> datetime:
    """Return when a file without a time was written: the epoch or time in its name, else its modification."""
    return moment_of_name(file.path, zone) or file.modified_at.replace(microsecond=0)


def utc_of(value: Any, zone: str = "UTC") -> datetime | None:
    """Return the moment in an epoch, ISO 8601 or Mongo's `$date`; without an offset it is in the zone."""
    if isinstance(value, dict):
        value = value.get("$date", value.get("$numberLong", value.get("seconds")))
        if isinstance(value, dict):
            value = value.get("$numberLong")
    if isinstance(value, str) and re.fullmatch(r"-?\d{9,19}(?:\.\d*)?", value):
        value = float(value)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            scale = next((scale for limit, scale in ((1e11, 1), (1e14, 1e3), (1e17, 1e6)) if value < limit), 1e9)
            return datetime.fromtimestamp(value / scale, UTC).replace(tzinfo=None)
        # Go writes nanoseconds, and Python reads microseconds.
        text = re.sub(r"(\.\d{6})\d+", r"\1", str(value or ""))
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))
    return moment.astimezone(UTC).replace(tzinfo=None)
