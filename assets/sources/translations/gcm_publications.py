"""Accounting as GCM's `sacct_publish` writes it, of any sink: a record per row of `sacct`, fields as `sacct.State`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from assets.sources.intake.read.json_records import Damaged, json_records
from assets.sources.reader import SetAside, SourceFile
from assets.sources.sacct.record_lines import damaged_line, record_line, strange_line
from assets.sources.settings import ClusterSettings

_PREFIX = "sacct."


def translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write the published rows as lines."""
    for record in json_records(pieces):
        if isinstance(record, Damaged):
            is_text = not record.text.lstrip().startswith(("{", "[", '"')) and not record.is_cut
            yield SetAside(record.text, "text_line") if is_text else damaged_line(record)
        elif texts := published_texts(record.value):
            yield record_line(texts)
        else:
            yield strange_line(record.value, "no fields of sacct")


def published_texts(record: Any) -> dict[str, Any]:
    """Return the fields of sacct that a record states, in the parts of the file sink's envelope or flat."""
    if not isinstance(record, dict):
        return {}
    parts = [part for part in (record, *map(record.get, ("int", "double", "normal", "tags"))) if isinstance(part, dict)]
    texts = {name.removeprefix(_PREFIX): part[name] for part in parts for name in part if name.startswith(_PREFIX)}
    texts |= record["sacct"] if isinstance(record.get("sacct"), dict) else {}
    return {name: ",".join(map(str, value)) if isinstance(value, list) else value for name, value in texts.items()}
