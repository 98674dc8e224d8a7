"""Events of agents that watch a node: gpud's events and states, NVSentinel's health events (also as Mongo keeps them).

What an agent only notes is no result of a check. The Xids of its codes and texts are those of the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assets.sources.intake.read.json_records import Damaged, Record, json_records
from assets.sources.reader import SetAside, SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.translations.result_lines import (
    CRITICAL,
    EVENT,
    OK,
    UNKNOWN,
    WARN,
    Result,
    damaged_line,
    host_of,
    result_line,
    strange_line,
    utc_of,
    xids_in,
)

_GPUD = re.compile(r'"component"\s*:.*"(?:events|states)"\s*:|"(?:events|states)"\s*:.*"component"\s*:', re.S)
_NVSENTINEL = re.compile(r'"check_?name"\s*:', re.I)
# The names of fields that hold what is false or empty may be missing, as JSON of protocol buffers leaves them out.
_NVSENTINEL_FIELDS = re.compile(r'"(?:is_?healthy|is_?fatal|component_?class|entities_?impacted)"\s*:', re.I)
_ENVELOPES = ("healthevent", "data", "fulldocument")
"""What holds a health event: a document of Mongo, a message of the event exporter, an entry of a change stream."""
_TYPES = {"fatal": CRITICAL, "critical": CRITICAL, "warning": WARN}
_READS_A_LOG = "syslogs"
"""The names of NVSentinel's checks of the kernel's log begin so. Such a check reports each line by itself."""
_STATES = {"healthy": OK, "unhealthy": CRITICAL, "degraded": WARN, "initializing": UNKNOWN}


def is_gpud(sample: str) -> bool:
    """Tell whether a sample of JSON is of gpud."""
    return _GPUD.search(sample) is not None


def is_nvsentinel(sample: str) -> bool:
    """Tell whether a sample of JSON is of NVSentinel."""
    return _NVSENTINEL.search(sample) is not None and _NVSENTINEL_FIELDS.search(sample) is not None


def translate_gpud(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write the events and states of components as lines; the host is that of the record, or names the file."""
    for record in json_records(pieces, "events", "states"):
        if isinstance(record, Damaged):
            yield damaged_line(record)
            continue
        components = [*_gpud_events(record)]
        if not components:
            yield strange_line(record.value, "no events or states of a component")
        for event, outer in components:
            yield _gpud_result(event, outer, host_of(file.path))


def _gpud_events(record: Record) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield the events of a record with what stands around them."""
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


def _gpud_result(event: Mapping[str, Any], outer: Mapping[str, Any], host: str | None) -> str | SetAside:
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


def translate_nvsentinel(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write health events as lines."""
    for record in json_records(pieces, "events"):
        if isinstance(record, Damaged):
            yield damaged_line(record)
            continue
        values = _nvsentinel_fields(record.value)
        if "checkname" not in values:
            yield strange_line(record.value, "no checkName")
        else:
            for entities in _entities_by_gpu(values.get("entitiesimpacted")):
                yield _nvsentinel_result(values, entities, host_of(file.path))


def _nvsentinel_fields(record: Any) -> dict[str, Any]:
    """Return the fields of an event by their names in lower case, out of what a database keeps around it."""
    if not isinstance(record, dict):
        return {}
    fields = {str(name).lower().replace("_", ""): value for name, value in record.items()}
    inner = next((fields[name] for name in _ENVELOPES if isinstance(fields.get(name), dict)), None)
    if inner is None or "checkname" in fields:
        return fields
    values = _nvsentinel_fields(inner)
    return values | {"createdat": fields.get("createdat") or values.get("createdat")}


def _entities_by_gpu(impacted: Any) -> list[list[str]]:
    """Return what an event tells of, apart for each GPU: one GPU that is healthy says nothing of the others.

    >>> _entities_by_gpu([{"entityType": "GPU", "entityValue": "3"}, {"entityType": "PCI", "entityValue": "0000:9b"}])
    [['GPU 3', 'PCI 0000:9b']]
    >>> _entities_by_gpu([{"entitytype": "GPU", "entityvalue": "0"}, {"entitytype": "GPU", "entityvalue": "1"}])
    [['GPU 0'], ['GPU 1']]
    >>> _entities_by_gpu(None)
    [[]]
    """
    entities = [
        f"{entity.get('entityType', entity.get('entitytype'))} {entity.get('entityValue', entity.get('entityvalue'))}"
        for entity in (impacted if isinstance(impacted, list) else [])
        if isinstance(entity, dict)
    ]
    gpus = [entity for entity in entities if entity.startswith("GPU ")]
    others = [entity for entity in entities if not entity.startswith("GPU ")]
    return [[gpu, *others] for gpu in gpus] or [others]


def _nvsentinel_result(values: Mapping[str, Any], entities: list[str], host: str | None) -> str:
    codes = values.get("errorcode") if isinstance(values.get("errorcode"), list) else [values.get("errorcode")]
    texts = [str(code) for code in codes or [] if isinstance(code, str | int) and code != ""]
    result = OK if values.get("ishealthy") is True else CRITICAL if values.get("isfatal") is True else WARN
    message = " ".join(filter(None, [str(values.get("message") or ""), ", ".join(entities), " ".join(texts)]))
    is_xid = not re.search(r"(?:^|s)sxid", str(values["checkname"]), re.I)
    numbers = tuple(
        int(text) for text in texts if is_xid and text.isascii() and text.isdigit() and 0 < int(text) < 1000
    )
    codes_found = numbers or (xids_in(message) if is_xid else ())
    at = utc_of(values.get("generatedtimestamp") or values.get("createdat"))
    node = str(values.get("nodename") or "") or host
    check = str(values["checkname"])
    if result == OK:
        return result_line(Result(node, check, result, at, message))
    kind = EVENT if check.lower().startswith(_READS_A_LOG) else "periodic"
    return result_line(Result(node, check, result, at, message, codes_found, kind))
