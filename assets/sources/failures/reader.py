"""Reader of `failures/`: records of failures and repairs as CSV, their columns named in `[failures.columns]`.

A record without a node is still a failure. Only what the record names is stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from assets.sources.mapped_columns.records import Cells, MappedTable, read_records
from assets.sources.mapped_columns.values import Dates, ValueProblem, is_never, node_names, stated
from assets.sources.reader import Batch, Export, ReadingPlan, Rows, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import CAUSE, ClusterSettings, Failures
from assets.sources.text.pseudonyms import KEPT, TEXT

KIND = "failures"
TABLE = "unit_failures"
DIALECTS = ("csv",)
VERSION = 2
PRIVACY = {"unit_name": KEPT, **dict.fromkeys(("cause", "cause_detail", "action"), TEXT)}
ROWS = Rows(
    time="started_at",
    free_texts=("cause", "cause_detail", "action"),
    export=Export(("node_name", "unit_name", "started_at", "repeat_number"), is_open="ended_at is null"),
)
COVERS = ("min(started_at)", "max(greatest(started_at, ended_at))")

EARLIEST = datetime(1980, 1, 1)
"""Records of failures are kept for decades, so older ones than in any other log are worth reading."""
UNITS = {"seconds": 1 / 60, "minutes": 1.0, "hours": 60.0, "days": 1440.0}
"""Minutes in each unit of durations."""
MAX_DOWN_MINUTES = 1440.0 * 36_600


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Accept a CSV whose header has the needed columns under the configured names."""
    return _RECORDS.require_header(sample, path, cluster)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the records of all files."""
    return ReadingPlan(
        prepare=[partial(read_records, table=_RECORDS, cluster=batch.cluster)],
        loaded=LOADED,
        skipped="from failures_skipped",
        quarantined="from failures_quarantined",
    )


LOADED = """
select
    *,
    cast(
        row_number() over (
            partition by file_id, node_name, unit_name, started_at
            order by cause nulls first, cause_detail nulls first, line_number
        ) as integer
    ) as repeat_number
from read_failures"""
"""Records of one file are separate failures, even if all columns are equal; only different exports repeat records."""


def dispositions() -> Sequence[Step]:
    """Keep one row of a record that several exports show; one with an end wins over one still open, then the newest."""
    return mark_repeats(
        TABLE,
        key="cluster_id, coalesce(node_id, node_name), unit_name, started_at, repeat_number",
        best="ended_at desc nulls last, path desc, line_number desc",
    )


def rows_of(cells: Cells, column_map: Failures, dates: Dates) -> list[dict[str, Any]]:
    """Return one row per node of a record."""
    failed = stated(cells["from"])
    if failed is None:
        raise ValueProblem("missing_time_or_node", "no date of the failure")
    started_at = dates.read(failed, earliest=EARLIEST)
    down_minutes = _minutes(cells.get("duration"), column_map.duration_unit)
    back = stated(cells.get("to"))
    if down_minutes is not None:
        ended_at: datetime | None = started_at + timedelta(minutes=down_minutes)
    else:
        ended_at = None if back is None or is_never(back) else dates.read(back, started_at, EARLIEST)
    if ended_at is not None and ended_at < started_at:
        raise ValueProblem("close_before_open", f"from {failed} to {back}")
    cause, detail = _cause(cells)
    record = {
        "unit_name": stated(cells.get("unit")),
        "started_at": started_at,
        "ended_at": ended_at,
        "down_minutes": (ended_at - started_at).total_seconds() / 60 if ended_at else None,
        "cause": cause,
        "cause_detail": detail,
        "action": stated(cells.get("action")),
    }
    node = stated(cells.get("node"))
    names: list[str | None] = [*node_names(node)] if node else [None]
    return [{**record, "node_name": name} for name in (names)]


def _minutes(text: str | None, unit: str | None) -> float | None:
    """Return a duration in minutes; None if none is stated."""
    shown = stated(text)
    if shown is None or unit is None:
        return None
    try:
        minutes = float(shown) * UNITS[unit]
    except ValueError:
        minutes = math.nan
    if not 0 <= minutes <= MAX_DOWN_MINUTES:
        raise ValueProblem("bad_duration", f"no duration in {unit}: {shown[:80]!r}")
    return minutes


def _cause(cells: Cells) -> tuple[str | None, str | None]:
    """Return the cause and its detail: if several columns name causes, the names and cells of the filled ones."""
    named = {meaning: cell for meaning, cell in cells.items() if cell and is_named(cell)}
    filled = {meaning: cell for meaning, cell in named.items() if meaning.startswith(CAUSE)}
    if filled:
        return "; ".join(meaning.removeprefix(CAUSE) for meaning in filled), "; ".join(filled.values())
    return named.get("cause"), named.get("detail")


def is_named(text: str) -> bool:
    """Return whether a cell names a cause; `Unknown` is one, as it may be a finding.

    >>> is_named("Unknown"), is_named("N/A"), is_named(" - ")
    (True, False, False)
    """
    return stated(text) is not None or text.strip().lower() == "unknown"


_RECORDS = MappedTable(
    KIND,
    {
        "node_name": "varchar",
        "unit_name": "varchar",
        "started_at": "timestamp",
        "ended_at": "timestamp",
        "down_minutes": "double",
        "cause": "varchar",
        "cause_detail": "varchar",
        "action": "varchar",
    },
    ("from", "to"),
    rows_of,
)
