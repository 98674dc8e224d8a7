"""Reader of `events/`: `sacctmgr show event -P`, the intervals in which nodes were out of service.

Columns may come in any order; the reason may hold the delimiter. Fixed-width output is refused, as it cuts reasons off.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.named_clusters import files_to_divide, names_another
from assets.sources.reader import Batch, Export, ReadingPlan, Rows, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.text import delimited, times
from assets.sources.text.delimited import named_field
from assets.sources.text.pseudonyms import KEPT, REASON, UID, USER
from assets.sql import fill

KIND = "events"
TABLE = "node_events"
DIALECTS = ("sacctmgr_parsable",)
VERSION = 6
PRIVACY = {
    **dict.fromkeys(("event_kind", "state", "state_flags"), KEPT),
    "reason": REASON,
    "reason_user": USER,
    "reason_uid": UID,
}
ROWS = Rows(
    time="started_at", free_texts=("reason",), export=Export(("node_name", "started_at"), is_open="ended_at is null")
)
COVERS = ("coalesce(min(ended_at), max(started_at))", "max(greatest(started_at, ended_at))")
"""An export shows intervals that were open at its start or later; it proves nothing about earlier ones."""

_COMMAND = export_again("events")
_STARTS, _ENDS = ("timestart", "start"), ("timeend", "end")
_START_PLACE = f"coalesce({', '.join(f'list_position(names, {name!r})' for name in _STARTS)})"
_BEGINS_ROW = rf"coalesce(regexp_matches(parts[{_START_PLACE}], '^\s*(\d{{4}}-\d\d-\d\d.*|\d{{9,11}}\s*)$'), false)"
"""The first line of a row has its start. Further lines of a reason have none."""
_ENDS_ROW = (
    f"{_START_PLACE} < list_position(names, 'reason') and len(parts) between 2 and len(names) - 1 "
    r"and regexp_matches(parts[-1], '\(\d+\)$|^(?:Node|Cluster|)$')"
)
"""The last line of a reason has the columns after it: who gave it and, by the command of docs/logs.md, the event."""


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Accept delimited output with a header; refuse error messages, fixed width and missing headers."""
    lines = [line for line in sample.splitlines() if line.strip()]
    first = lines[0].strip() if lines else ""
    if first.lower().startswith(("sacctmgr:", "slurm_")) or "error:" in first[:60]:
        raise SourceError(path, f"command_error_output: {first[:120]}", _COMMAND, line=1)
    names = {name.strip().replace(" ", "").lower() for name in first.split(delimited.header_delimiter(first) or "|")}
    if names & {*_STARTS} and names & {"nodename", "clusternodes", "cluster"}:
        return "sacctmgr_parsable"
    is_ruled = len(lines) > 1 and set(lines[1].strip()) <= {"-", " "}
    if is_ruled or "TimeStart" in first.replace("Time Start", "TimeStart"):
        raise SourceError(path, "fixed_width_output: columns are padded and reasons cut off", _COMMAND, line=1)
    raise SourceError(path, "no_header: the first line does not name NodeName and TimeStart", _COMMAND, line=1)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the rows."""
    zone = batch.cluster.settings.timezone
    is_header = f"list_has_any(names, {list(_STARTS)}) and list_has_any(names, ['nodename', 'clusternodes', 'cluster'])"
    return ReadingPlan(
        prepare=[
            *delimited.field_steps(is_header, "reason", "event_fields", _BEGINS_ROW, _ENDS_ROW),
            _rows(zone),
            _divide_step(batch.cluster),
        ],
        loaded=LOADED,
        skipped=SKIPPED,
        quarantined=QUARANTINED,
    )


def _rows(zone: str) -> str:
    """Return the statement that types the fields of each row, and names its problem."""
    names = {
        "cluster_name": ("cluster",), "node_name": ("nodename",), "start_text": _STARTS, "end_text": _ENDS,
        "state_text": ("state",), "reason": ("reason",), "user_text": ("user",),
    }  # fmt: skip
    return fill(
        "sources/events/rows.sql",
        fields=tuple((column, named_field(*known)) for column, known in names.items()),
        epoch_zero=times.epoch_zero_local(zone),
        has_start=times.is_dated("start_text"),
        has_end=times.is_dated("end_text"),
        started_at=times.stated("start_text", zone),
        first_ended_at=times.stated("end_text", zone),
        last_ended_at=times.stated("end_text", zone, second_of_fold=True),
        is_start_implausible=times.is_implausible("started_at", "batch_files.modified_at"),
        is_end_implausible=times.is_implausible("ended_at", "batch_files.modified_at"),
    )


def _divide_step(cluster: ClusterSettings) -> Step:
    """Return the step that moves the rows of other clusters from `event_rows` to `event_rows_of_others`."""

    def divide(con: duckdb.DuckDBPyConnection) -> None:
        named = con.execute("select distinct file_id, cluster_name from event_rows where cluster_name is not null")
        files = files_to_divide(con, cluster, named.fetchall())
        is_other = f"list_contains($files::integer[], file_id) and {names_another('cluster_name', cluster)}"
        con.execute(
            f"""
            create or replace temp table event_rows_of_others as
            select file_id, line_number from event_rows where {is_other}
            """,
            {"files": files},
        )
        con.execute(f"delete from event_rows where {is_other}", {"files": files})

    return divide


LOADED = """
select
    file_id, line_number, event_kind, node_name, started_at, ended_at, state, state_flags, reason, reason_user,
    reason_uid
from event_rows
where problem is null"""

QUARANTINED = """
select file_id, line_number, problem as reason, problem_detail as detail
from event_rows
where problem is not null"""

SKIPPED = """
select file_id, line_number, 'blank' as reason from lines where line is null
union all
select file_id, line_number, 'header' as reason from event_fields_headers
union all
select file_id, line_number, 'continuation' as reason from event_fields_continuations
union all
select file_id, line_number, 'other_cluster' as reason from event_rows_of_others"""


def dispositions() -> Sequence[Step]:
    """Keep one row of an interval that several exports show; the closed one wins over the one seen open."""
    is_instant = "ended_at is not distinct from started_at"  # next to a longer interval it is another fact
    return mark_repeats(
        TABLE,
        key=f"cluster_id, event_kind, coalesce(node_id, node_name), started_at, state, {is_instant}",
        best="ended_at desc nulls last, reason nulls last, path, line_number",
    )
