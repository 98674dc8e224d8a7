"""Reader of `tickets/`: repair tickets as CSV, their columns named in `[tickets.columns]` of cluster.toml."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from functools import partial

from assets.sources.errors import SourceError
from assets.sources.mapped_columns.records import column_places, delimiter_of, read_tickets
from assets.sources.reader import Batch, Export, ReadingPlan, Rows, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
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

_REQUIRED = ("ticket_id", "node", "opened")
_MAX_SHOWN_CHARACTERS = 500
"""Characters of a header that a message shows."""


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Accept a CSV whose header has the needed columns under the configured names."""
    settings = cluster.settings.tickets
    first = next((line for line in sample.splitlines() if line.strip()), "")
    header = next(csv.reader(io.StringIO(first), delimiter=delimiter_of(first, settings)), [])
    found = column_places(header, settings)
    needed = dict.fromkeys((*_REQUIRED, *sorted(settings.columns.model_fields_set)))
    missing = [meaning for meaning in needed if meaning not in found]
    if missing:
        names = ", ".join(f'{meaning} = "{getattr(settings.columns, meaning)}"' for meaning in missing)
        shown = ", ".join(repr(name) for name in header)
        raise SourceError(
            path,
            f"no_header: no column for {names}; the first line has {shown[:_MAX_SHOWN_CHARACTERS]}",
            "Name the file's columns in [tickets.columns] of cluster.toml.",
            line=1,
        )
    return "csv"


def plan_reading(batch: Batch) -> ReadingPlan:
    """Say how the tickets of all files are read and their components named."""
    # Far fewer texts are distinct than there are tickets.
    components = f"""
create or replace temp table ticket_components as
select component_raw, {component_of("component_raw", batch.cluster.settings.tickets.components)} as component
from (select distinct component_raw from read_tickets)"""
    return ReadingPlan(
        prepare=[partial(read_tickets, cluster=batch.cluster), components],
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
