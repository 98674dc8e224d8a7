"""Accounting as GCM's `sacct_publish` writes it, to any sink: a record per row of `sacct`, fields as `sacct.State`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assets.sources.intake.read.json_records import Record
from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.sacct.record_lines import record_line
from assets.sources.settings import ClusterSettings
from assets.sources.translations.json_documents import each_record, unsupported

_PREFIX = "sacct."
_FIELD = re.compile(r'"sacct(?:\.\w+)?"\s*:')


def _lines(record: Record, _file: SourceFile, _cluster: ClusterSettings) -> Iterator[str | SetAside]:
    texts = _published_texts(record.value)
    yield record_line(texts) if texts else unsupported(record.value, "no fields of sacct")


def _published_texts(record: Any) -> dict[str, Any]:
    """Return the fields of sacct in a record, which is flat or in the parts of the file sink's envelope."""
    if not isinstance(record, dict):
        return {}
    parts = [part for part in (record, *map(record.get, ("int", "double", "normal", "tags"))) if isinstance(part, dict)]
    texts = {name.removeprefix(_PREFIX): part[name] for part in parts for name in part if name.startswith(_PREFIX)}
    texts |= record["sacct"] if isinstance(record.get("sacct"), dict) else {}
    return {name: ",".join(map(str, value)) if isinstance(value, list) else value for name, value in texts.items()}


_EXAMPLE = (
    '{"normal": {"sacct.JobID": "8", "sacct.JobIDRaw": "8", "sacct.State": "COMPLETED", "sacct.NodeList": "node001", '
    '"sacct.NNodes": "1", "sacct.Submit": "2024-05-01T09:00:00Z", "sacct.Start": "2024-05-01T10:00:00Z", '
    '"sacct.End": "2024-05-01T11:00:00Z"}}\n'
)
FORMS = (Translation("gcm_sacct", "sacct", holds(_FIELD), each_record(_lines, skip_text=True), _EXAMPLE, rank=1),)
