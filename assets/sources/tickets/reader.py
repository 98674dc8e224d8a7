"""Reader of `tickets/`: repair tickets as CSV, their columns named in `[tickets.columns]` of cluster.toml."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from assets.sources.mapped_columns import values
from assets.sources.mapped_columns.records import Cells, MappedTable, read_records
from assets.sources.reader import Batch, Export, ReadingPlan, Rows, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings, ColumnMap
from assets.sources.text.pseudonyms import KEPT, TEXT, TICKET
from assets.sources.tickets.components import component_of

KIND = "tickets"
TABLE = "tickets"
DIALECTS = ("csv",)
VERSION = 3
PRIVACY = {
    "ticket_id": TICKET,
    "component": KEPT,
    **dict.fromkeys(("component_raw", "action", "status", "summary"), TEXT),
}
ROWS = Rows(
    time="opened_at",
    free_texts=("component_raw", "action", "status", "summary"),
    export=Export(("ticket_id", "node_name")),
)
COVERS = ("min(opened_at)", "max(greatest(opened_at, closed_at))")


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Accept a CSV whose header has the needed columns under the configured names."""
    return _TICKETS.require_header(sample, path, cluster)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the tickets of all files and names their components."""
    # There are far fewer distinct texts than tickets.
    components = f"""
create or replace temp table ticket_components as
select component_raw, {component_of("component_raw", batch.cluster.settings.tickets.components)} as component
from (select distinct component_raw from read_tickets)"""
    return ReadingPlan(
        prepare=[partial(read_records, table=_TICKETS, cluster=batch.cluster), components],
        loaded=LOADED,
        skipped="from tickets_skipped",
        quarantined="from tickets_quarantined",
    )


LOADED = """
select tickets.*, components.component
from read_tickets as tickets
inner join ticket_components as components
    on components.component_raw is not distinct from tickets.component_raw"""


def dispositions() -> Sequence[Step]:
    """Keep one row of a ticket and node that several exports show; the closed one wins over the one still open."""
    return mark_repeats(
        TABLE,
        key="cluster_id, ticket_id, coalesce(node_id, node_name)",
        best="closed_at desc nulls last, path desc, line_number desc",
    )


def rows_of(cells: Cells, column_map: ColumnMap, dates: values.Dates) -> list[dict[str, Any]]:
    """Return one row per node of a ticket."""
    opened = values.stated(cells["opened"])
    if cells["ticket_id"] is None:
        raise values.ValueProblem("missing_ticket_id", "no ticket id")
    if cells["node"] is None or opened is None:
        missing = "no node" if cells["node"] is None else "no date of opening"
        raise values.ValueProblem("missing_time_or_node", missing)
    opened_at = dates.read(opened)
    closed = values.stated(cells.get("closed"))
    closed_at = None if closed is None or values.is_never(closed) else dates.read(closed, opened_at)
    if closed_at is not None and closed_at < opened_at:
        raise values.ValueProblem("close_before_open", f"opened {opened}, closed {closed}")
    ticket = {
        "ticket_id": cells["ticket_id"],
        "opened_at": opened_at,
        "closed_at": closed_at,
        "component_raw": cells.get("component"),
        **{name: cells.get(name) for name in ("action", "status", "summary")},
    }
    return [{**ticket, "node_name": name} for name in values.node_names(cells["node"])]


_TICKETS = MappedTable(
    KIND,
    {
        "ticket_id": "varchar",
        "node_name": "varchar",
        "opened_at": "timestamp",
        "closed_at": "timestamp",
        "component_raw": "varchar",
        "action": "varchar",
        "status": "varchar",
        "summary": "varchar",
    },
    ("opened", "closed"),
    rows_of,
)
