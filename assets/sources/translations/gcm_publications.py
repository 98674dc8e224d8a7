"""Accounting as GCM's `sacct_publish` writes it, of any sink: a record per row of `sacct`, fields as `sacct.State`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assets.sources.other_forms import SetAside, Translation
from assets.sources.reader import SourceFile
from assets.sources.sacct.record_lines import record_line
from assets.sources.settings import ClusterSettings
from assets.sources.translations.json_documents import records_of, unsupported

_PREFIX = "sacct."
_FIELD = re.compile(r'"sacct(?:\.\w+)?"\s*:')


def _is_publication(sample: str, _cluster: ClusterSettings) -> bool:
    return _FIELD.search(sample) is not None


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write the published rows as lines."""
    for record in records_of(pieces, skip_text=True):
        if isinstance(record, SetAside):
            yield record
        elif texts := published_texts(record.value):
            yield record_line(texts)
        else:
            yield unsupported(record.value, "no fields of sacct")


def published_texts(record: Any) -> dict[str, Any]:
    """Return the fields of sacct that a record states, in the parts of the file sink's envelope or flat."""
    if not isinstance(record, dict):
        return {}
    parts = [part for part in (record, *map(record.get, ("int", "double", "normal", "tags"))) if isinstance(part, dict)]
    texts = {name.removeprefix(_PREFIX): part[name] for part in parts for name in part if name.startswith(_PREFIX)}
    texts |= record["sacct"] if isinstance(record.get("sacct"), dict) else {}
    return {name: ",".join(map(str, value)) if isinstance(value, list) else value for name, value in texts.items()}


FORMS = (
    Translation(
        "gcm_sacct",
        "sacct",
        _is_publication,
        _translate,
        example=(
            '{"normal": {"sacct.JobID": "8", "sacct.JobIDRaw": "8", "sacct.Cluster": "c1", "sacct.State": "COMPLETED", '
            '"sacct.Submit": "2024-05-01T09:00:00Z", "sacct.Start": "2024-05-01T10:00:00Z", '
            '"sacct.End": "2024-05-01T11:00:00Z", "sacct.NodeList": "node001", "sacct.NNodes": "1"}}\n'
        ),
        rank=1,
    ),
)
