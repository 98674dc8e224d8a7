"""Reader of manifests: small JSON files that say what the file next to them covers.

`sacct/may.psv.manifest.json` belongs to `sacct/may.psv` and holds one object:

    {"command": "sacct -a -D ...", "from": "2024-05-01T00:00:00Z", "to": "2024-06-01T00:00:00Z"}

`from` and `to` are the requested window, in ISO 8601 or epoch seconds; a time without an offset is in the cluster's
time zone. The file has everything that happened in the window, and everything that still ran at its end. Other keys are
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import duckdb

from assets.sources.batch_tables import QUARANTINED_LINES, SKIPPED_LINES
from assets.sources.reader import Batch, ReadingPlan, Rows, Step
from assets.sources.settings import ClusterSettings, in_utc
from assets.sources.temp_tables import TempTable
from assets.sources.text.pseudonyms import DROPPED, KEPT

KIND = "manifest"
TABLE = "manifests"
DIALECTS = ("json",)
VERSION = 2
PRIVACY = {"kind": KEPT, "log_path": KEPT, "command": DROPPED}
ROWS = Rows(time=None, free_texts=("command",))
COVERS = ("min(from_at)", "max(to_at)")

MANIFEST_SUFFIX = ".manifest.json"
MAX_MANIFEST_BYTES = 1024 * 1024

_LOADED = TempTable(
    "manifests_loaded",
    {
        "file_id": "integer",
        "line_number": "bigint",
        "kind": "varchar",
        "log_path": "varchar",
        "command": "varchar",
        "from_at": "timestamp",
        "to_at": "timestamp",
    },
)
_SKIPPED = TempTable("manifests_skipped", SKIPPED_LINES.columns)
_QUARANTINED = TempTable("manifests_quarantined", QUARANTINED_LINES.columns)


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Accept any text; one that is not a manifest is quarantined."""
    return "json"


def parse(text: str, zone: str) -> dict[str, Any]:
    """Return the columns stated by a manifest.

    Raises
    ------
    ValueError
        The text is not an object with a window; the error says what is wrong.
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
    # JSON may escape halves of characters, which DuckDB cannot store.
    shown = command and str(command).encode(errors="replace").decode()
    return {"command": shown, "from_at": moments["from"], "to_at": moments["to"]}


def _moment(key: str, value: Any, zone: str) -> datetime:
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)
        return in_utc(datetime.fromisoformat(value), zone)
    except (TypeError, ValueError, OverflowError, OSError):
        raise ValueError(f"'{key}' is {value!r}, which is no time in ISO 8601 and no epoch") from None


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the manifests of all files."""

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
        for table, rows in ((_LOADED, loaded), (_SKIPPED, skipped), (_QUARANTINED, quarantined)):
            table.create(con)
            table.add(con, rows)

    return ReadingPlan(
        prepare=[read_manifests],
        loaded="from manifests_loaded",
        skipped="from manifests_skipped",
        quarantined="from manifests_quarantined",
    )


def dispositions() -> Sequence[Step]:
    """Return no steps: each row belongs to another file."""
    return []
