"""NVSentinel's health events, also in the forms of Mongo and of the event exporter."""

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
    WARN,
    Result,
    host_of,
    result_line,
    utc_of,
    xids_in,
)

_CHECK = re.compile(r'"check_?name"\s*:', re.I)
# Fields that are false or empty may be missing, as JSON of protocol buffers leaves them out.
_HEALTH = re.compile(r'"(?:is_?healthy|is_?fatal|component_?class|entities_?impacted)"\s*:', re.I)
_ENVELOPES = ("healthevent", "data", "fulldocument")
"""Fields that hold an event: in a document of Mongo, a message of the event exporter, an entry of a change stream."""
_LOG_CHECK = "syslogs"
"""Prefix of the names of checks of the kernel's log. Such a check reports each line as a separate event."""


def _lines(record: Record, file: SourceFile, _cluster: ClusterSettings) -> Iterator[str | SetAside]:
    values = _fields(record.value)
    if "checkname" not in values:
        yield unsupported(record.value, "no checkName")
    else:
        for entities in _entities_by_gpu(values.get("entitiesimpacted")):
            yield _result(values, entities, host_of(file.path))


def _fields(record: Any) -> dict[str, Any]:
    """Return the fields of an event by name in lower case, without the objects of a database around it."""
    if not isinstance(record, dict):
        return {}
    fields = {str(name).lower().replace("_", ""): value for name, value in record.items()}
    inner = next((fields[name] for name in _ENVELOPES if isinstance(fields.get(name), dict)), None)
    if inner is None or "checkname" in fields:
        return fields
    values = _fields(inner)
    return values | {"createdat": fields.get("createdat") or values.get("createdat")}


def _entities_by_gpu(impacted: Any) -> list[list[str]]:
    """Return the entities of an event, one list for each GPU: a healthy GPU says nothing about the others.

    >>> _entities_by_gpu([{"entityType": "GPU", "entityValue": "3"}, {"entityType": "PCI", "entityValue": "0000:9b"}])
    [['GPU 3', 'PCI 0000:9b']]
    >>> _entities_by_gpu([{"entitytype": "gpu", "entityvalue": "0"}, {"entitytype": "GPU", "entityvalue": "1"}])
    [['gpu 0'], ['GPU 1']]
    >>> _entities_by_gpu(None)
    [[]]
    """
    entities = [
        f"{entity.get('entityType', entity.get('entitytype'))} {entity.get('entityValue', entity.get('entityvalue'))}"
        for entity in (impacted if isinstance(impacted, list) else [])
        if isinstance(entity, dict)
    ]
    gpus, others = list[str](), list[str]()
    for entity in entities:
        (gpus if entity.upper().startswith("GPU ") else others).append(entity)
    return [[gpu, *others] for gpu in gpus] or [others]


def _result(values: Mapping[str, Any], entities: list[str], host: str | None) -> str:
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
    kind = EVENT if check.lower().startswith(_LOG_CHECK) else "periodic"
    return result_line(Result(node, check, result, at, message, codes_found, kind))


_EXAMPLE = (
    '{"checkName": "SysLogsXIDError", "isFatal": true, "isHealthy": false, "message": "XID error", '
    '"errorCode": ["79"], "nodeName": "node001", "generatedTimestamp": "2024-05-01T10:00:00Z"}\n'
)
_RECOGNISES, _TRANSLATE = holds(_CHECK, _HEALTH, in_json=True), each_record(_lines, "events", skip_text=True)
FORMS = (Translation("nvsentinel", "health", _RECOGNISES, _TRANSLATE, _EXAMPLE),)
