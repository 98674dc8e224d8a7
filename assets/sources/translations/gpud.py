"""gpud's events and states of the components of a node. Events that are only informative are skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assets.sources.intake.read.json_records import Record
from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.translations.json_documents import each_record, unsupported
from assets.sources.translations.result_lines import (
    CRITICAL,
    EVENT,
    OK,
    UNKNOWN,
    WARN,
    Result,
    host_of,
    result_line,
    utc_of,
    xids_in,
)

_COMPONENT = re.compile(r'"component"\s*:.*"(?:events|states)"\s*:|"(?:events|states)"\s*:.*"component"\s*:', re.S)
_TYPES = {"fatal": CRITICAL, "critical": CRITICAL, "warning": WARN}
_STATES = {"healthy": OK, "unhealthy": CRITICAL, "degraded": WARN, "initializing": UNKNOWN}


def _lines(record: Record, file: SourceFile, _cluster: ClusterSettings) -> Iterator[str | SetAside]:
    events = [*_events(record)]
    if not events:
        yield unsupported(record.value, "no events or states of a component")
    for event, outer in events:
        yield _result(event, outer, host_of(file.path))


def _events(record: Record) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the events of a record, each with the object around it."""
    value, outer = record.value, record.document
    if not isinstance(value, dict):
        return
    # `/v1/info` puts both kinds into an object of their own.
    parts = [part for part in (value, value.get("info")) if isinstance(part, dict)]
    inner = [
        event
        for part in parts
        for key in ("events", "states")
        if isinstance(part.get(key), list)
        for event in part[key]
    ]
    if "component" in value and (inner or not value.keys() & {"type", "health"}):
        yield from ((event, value) for event in inner if isinstance(event, dict))
        if not inner:
            yield {}, value
    elif "component" in outer or "component" in value:
        yield value, outer or value


def _result(event: Mapping[str, Any], outer: Mapping[str, Any], host: str | None) -> str | SetAside:
    check = str(event.get("component") or outer.get("component"))
    if not event:
        return SetAside(check, "no_records")
    node = next(
        (str(part[key]) for part in (event, outer) for key in ("node", "hostname", "machine_id") if part.get(key)), host
    )
    is_state = "health" in event or str(event.get("type") or "") == ""
    results = _STATES if is_state else _TYPES
    result = results.get(str(event.get("health") or event.get("type") or "").lower())
    message = ". ".join(str(event[key]) for key in ("name", "message", "reason", "error") if event.get(key))
    if result is None:
        return SetAside(f"{check} {event}", "not_relevant")
    at = utc_of(event.get("time") or outer.get("time"))
    xids = _xids(event, message) if result != OK else ()
    return result_line(Result(node, check, result, at, message, xids, "periodic" if is_state else EVENT))


def _xids(event: Mapping[str, Any], message: str) -> tuple[int, ...]:
    """Return the Xids of an event: named in its text, or in what gpud adds to it."""
    more = event.get("extra_info") or event.get("data") or {}
    return xids_in(f"{message} {more}") if "xid" in f"{message} {more} {event.get('name')}".lower() else ()


_EXAMPLE = (
    '{"component": "accelerator-nvidia-error-xid", "events": [{"time": "2024-05-01T10:00:00Z", '
    '"name": "error_xid", "type": "Fatal", "message": "XID 79 (PCI:0000:9b:00) GPU has fallen off the bus"}]}\n'
)
_TRANSLATE = each_record(_lines, "events", "states", skip_text=True)
FORMS = (Translation("gpud", "health", holds(_COMPONENT, in_json=True), _TRANSLATE, _EXAMPLE, rank=1),)
