"""Reader of manifests: small JSON files that say what the file beside them covers.

`sacct/may.psv.manifest.json` belongs to `sacct/may.psv` and holds one object:

    {"command": "sacct -a -D ...", "from": "2024-05-01T00:00:00Z", "to": "2024-06-01T00:00:00Z"}

`from` and `to` are the window that was asked for, ISO 8601 or epoch seconds; a time without an offset is of the
cluster's time zone. Whatever happened in the window is in the file, and what still ran at its end too. Other keys mean
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa

from assets.sources.reader import Batch, Step
from assets.sources.settings import ClusterSettings, in_utc

KIND = "manifest"
TABLE = "manifests"
DIALECTS = ("json",)
VERSION = 2
COVERS = ("min(from_at)", "max(to_at)")

MANIFEST_SUFFIX = ".manifest.json"
MAX_MANIFEST_BYTES = 1024 * 1024

_LOADED = pa.schema(
    [
        ("file_id", pa.int32()),
        ("line_number", pa.int64()),
        ("kind", pa.string()),
        ("log_path", pa.string()),
        ("command", pa.string()),
        ("from_at", pa.timestamp("us")),
        ("to_at", pa.timestamp("us")),
    ]
)
_SKIPPED = pa.schema([("file_id", pa.int32()), ("line_number", pa.int64()), ("reason", pa.string())])
_QUARANTINED = _SKIPPED.append(pa.field("detail", pa.string()))


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Take any text; one that is no manifest is quarantined."""
    return "json"


def parse(text: str, zone: str) -> dict[str, Any]:
    """Give the columns that a manifest states.

    Raises
    ------
    ValueError
        It is not an object with a window; the text says what is wrong.
    """
    stated = json.loads(text)
    if not isinstance(stated, dict):
        raise ValueError("it is not a JSON object")
    moments = {}
    for key in ("from", "to"):
        if key not in stated:
            raise ValueError(f"the key '{key}' is missing")
        moments[key] = _moment(key, stated[key], zone)
    if moments["to"] <= moments["from"]:
        raise ValueError("'to' must lie after 'from'")
    command = stated.get("command")
    # JSON may escape halves of characters, which no text of a warehouse holds.
    shown = command and str(command).encode(errors="replace").decode()
    return {"command": shown, "from_at": moments["from"], "to_at": moments["to"]}


def _moment(key: str, value: Any, zone: str) -> datetime:
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)
        return in_utc(datetime.fromisoformat(value), zone)
    except (TypeError, ValueError, OverflowError, OSError):
        raise ValueError(f"'{key}' is {value!r}, which is no time in ISO 8601 and no epoch") from None


def statements(batch: Batch) -> Sequence[Step]:
    """Give the step that reads the manifests of all files."""

    def read_manifests(con: duckdb.DuckDBPyConnection) -> None:
        loaded, skipped, quarantined = [], [], []
        files = con.execute(
            """
            select
                file_id, any_value(batch_files.path), list(line_number order by line_number),
                list(coalesce(lines.line, '') order by line_number)
            from lines join batch_files using (file_id) group by file_id order by file_id
            """
        ).fetchall()
        for file_id, path, numbers, lines in files:
            first, *rest = ({"file_id": file_id, "line_number": number} for number in numbers)
            skipped += [{**line, "reason": "continuation"} for line in rest]
            try:
                stated = parse("\n".join(lines), batch.cluster.settings.timezone)
            except (ValueError, RecursionError) as error:
                quarantined.append({**first, "reason": "bad_manifest", "detail": str(error)})
                continue
            kind = path.split("/")[1]
            loaded.append({**first, "kind": kind, "log_path": path.removesuffix(MANIFEST_SUFFIX), **stated})
        for name, rows, schema in (
            ("loaded_rows", loaded, _LOADED),
            ("skipped_lines", skipped, _SKIPPED),
            ("quarantined_lines", quarantined, _QUARANTINED),
        ):
            con.register("manifest_rows", pa.Table.from_pylist(rows, schema))
            con.execute(f"create or replace temp table {name} as from manifest_rows")
            con.unregister("manifest_rows")

    return [read_manifests]


def dispositions() -> Sequence[Step]:
    """Leave every row as it is: each belongs to another file."""
    return []
