"""Reader of `tickets/`: repair tickets as CSV, their columns named in `[tickets.columns]` of cluster.toml.

Tickets are few, so they are read by Python's csv module, which knows quotes and line breaks inside cells.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa

from assets.sources import ticket_values, times
from assets.sources.errors import SourceError
from assets.sources.reading import Batch, Step
from assets.sources.settings import ClusterSettings, Tickets
from assets.sources.ticket_values import ValueProblem

KIND = "tickets"
TABLE = "tickets"
DIALECTS = ("csv",)
VERSION = 2
COVERS = ("min(opened_at)", "max(greatest(opened_at, closed_at))")

REQUIRED = ("ticket_id", "node", "opened")
LONGEST_RECORD = 500
"""Lines a cell may run over."""

_LOADED = pa.schema(
    [
        ("file_id", pa.int32()),
        ("line_number", pa.int64()),
        ("ticket_id", pa.string()),
        ("node_name", pa.string()),
        ("opened_at", pa.timestamp("us")),
        ("closed_at", pa.timestamp("us")),
        ("component", pa.string()),
        ("component_raw", pa.string()),
        ("action", pa.string()),
        ("status", pa.string()),
        ("summary", pa.string()),
    ]
)
_SKIPPED = pa.schema([("file_id", pa.int32()), ("line_number", pa.int64()), ("reason", pa.string())])
_QUARANTINED = _SKIPPED.append(pa.field("detail", pa.string()))


def delimiter_of(header: str, settings: Tickets) -> str:
    """Give the configured delimiter, or the likeliest one of a header line."""
    return settings.delimiter or max(",;\t|", key=header.count)


def _column_places(header: list[str], settings: Tickets) -> dict[str, int]:
    shown = [name.strip().lower() for name in header]
    wanted = settings.columns.model_dump()
    return {meaning: shown.index(name.lower()) for meaning, name in wanted.items() if name.lower() in shown}


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Accept a CSV whose header has the needed columns under the configured names."""
    settings = cluster.settings.tickets
    first = next((line for line in sample.splitlines() if line.strip()), "")
    header = next(csv.reader(io.StringIO(first), delimiter=delimiter_of(first, settings)), [])
    found = _column_places(header, settings)
    needed = dict.fromkeys((*REQUIRED, *sorted(settings.columns.model_fields_set)))
    missing = [meaning for meaning in needed if meaning not in found]
    if missing:
        names = ", ".join(f'{meaning} = "{getattr(settings.columns, meaning)}"' for meaning in missing)
        raise SourceError(
            path,
            f"no_header: no column for {names}; the first line has {', '.join(repr(name) for name in header)}",
            "Name the file's columns in [tickets.columns] of cluster.toml.",
            line=1,
        )
    return "csv"


@dataclass
class TicketBatch:
    """What the files of a batch came to."""

    loaded: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[dict[str, Any]] = field(default_factory=list)
    quarantined: list[dict[str, Any]] = field(default_factory=list)

    def read_file(
        self,
        file_id: int,
        numbers: Sequence[int],
        lines: Sequence[str | None],
        *,
        cluster: ClusterSettings,
        modified_at: datetime,
    ) -> None:
        """Read a file's physical lines and their numbers."""
        settings = cluster.settings.tickets
        zone = settings.timezone or cluster.settings.timezone
        delimiter = delimiter_of(next((line for line in lines if line is not None), ""), settings)
        header: list[str] = []
        places: dict[str, int] = {}
        records: list[tuple[dict[str, Any], list[str]]] = []
        for start, end, cells in _records(lines, delimiter):
            at = {"file_id": file_id, "line_number": numbers[start]}
            rest = numbers[start + 1 : end]
            self.skipped += [{**at, "line_number": number, "reason": "continuation"} for number in rest]
            if isinstance(cells, str):
                self.quarantined.append({**at, "reason": "bad_csv", "detail": cells})
            elif not any(cell.strip() for cell in cells):
                self.skipped.append({**at, "reason": "blank"})
            elif not header or cells == header:
                header, places = cells, _column_places(cells, settings)
                self.skipped.append({**at, "reason": "header"})
            else:
                records.append((at, cells))
        latest = max(modified_at, datetime.now(UTC).replace(tzinfo=None)) + timedelta(days=1)
        date_places = [places[name] for name in ("opened", "closed") if name in places]
        dates = [cells[place] for _, cells in records for place in date_places if place < len(cells)]
        day_first = ticket_values.is_day_first(dates)
        for at, cells in records:
            try:
                if len(cells) <= max(places.values()):
                    raise ValueProblem("field_count", f"{len(cells)} cells, {len(header)} columns")
                values = {meaning: cells[place].strip() or None for meaning, place in places.items()}
                self.loaded += [{**at, **row} for row in _ticket(values, settings, zone, day_first, latest)]
            except ValueProblem as problem:
                self.quarantined.append({**at, "reason": problem.reason, "detail": str(problem)})


def _records(lines: Sequence[str | None], delimiter: str) -> Iterator[tuple[int, int, list[str] | str]]:
    """Give the first place, the place behind the last, and the cells of every record, or what is wrong with it.

    A quote that is never closed must not swallow the rest of the file: then its first line alone is the record.
    """
    start = 0
    while start < len(lines):
        end, found = start, ""
        cells: list[str] | str = ""
        while end < min(len(lines), start + LONGEST_RECORD):
            found += f"{lines[end] or ''}\n"
            end += 1
            try:
                reader = csv.reader(io.StringIO(found, newline="\n"), delimiter=delimiter, strict=True)
                cells = next(reader, [])
                break
            except csv.Error as error:
                cells = str(error)
                if "unexpected end of data" not in cells:
                    break
        end = start + 1 if isinstance(cells, str) else end
        yield start, end, cells
        start = end


def _ticket(
    values: dict[str, str | None], settings: Tickets, zone: str, day_first: bool | None, latest: datetime
) -> list[dict[str, Any]]:
    """Give one row per node of a ticket; `latest` is the last moment that its file can know of."""
    opened = ticket_values.stated(values["opened"])
    if values["ticket_id"] is None:
        raise ValueProblem("missing_ticket_id", "no ticket id")
    if values["node"] is None or opened is None:
        raise ValueProblem("missing_time_or_node", "no node" if values["node"] is None else "no date of opening")
    opened_at = ticket_values.moment(opened, zone, settings.date_format, day_first)
    closed = ticket_values.stated(values.get("closed"))
    closed = None if closed and ticket_values.is_never(closed) else closed
    closed_at = ticket_values.moment(closed, zone, settings.date_format, day_first, opened_at) if closed else None
    for text, moment in ((opened, opened_at), (closed, closed_at)):
        if moment is not None and not times.EARLIEST <= moment <= latest:
            raise ValueProblem("implausible_time", f"{text} is {moment} (UTC)")
    if closed_at is not None and closed_at < opened_at:
        raise ValueProblem("close_before_open", f"opened {opened}, closed {closed}")
    shared = {
        "ticket_id": values["ticket_id"],
        "opened_at": opened_at,
        "closed_at": closed_at,
        "component": ticket_values.component(values.get("component"), settings.components),
        "component_raw": values.get("component"),
        **{name: values.get(name) for name in ("action", "status", "summary")},
    }
    names = ticket_values.node_names(values["node"])
    if not names:
        raise ValueProblem("missing_time_or_node", f"no node in {values['node']!r}")
    return [{**shared, "node_name": name} for name in names]


def statements(batch: Batch) -> Sequence[Step]:
    """Give the step that reads the tickets of all files."""

    def read_tickets(con: duckdb.DuckDBPyConnection) -> None:
        tickets = TicketBatch()
        files = con.execute(
            """
            select
                file_id, list(line_number order by line_number), list(line order by line_number),
                any_value(batch_files.modified_at)
            from lines inner join batch_files using (file_id)
            group by file_id order by file_id
            """
        )
        for file_id, numbers, lines, modified_at in files.fetchall():
            tickets.read_file(file_id, numbers, lines, cluster=batch.cluster, modified_at=modified_at)
        for name, rows, schema in (
            ("loaded_rows", tickets.loaded, _LOADED),
            ("skipped_lines", tickets.skipped, _SKIPPED),
            ("quarantined_lines", tickets.quarantined, _QUARANTINED),
        ):
            con.register("ticket_rows", pa.Table.from_pylist(rows, schema))
            con.execute(f"create or replace temp table {name} as from ticket_rows")
            con.unregister("ticket_rows")

    return [read_tickets]


def dispositions() -> Sequence[Step]:
    """Keep one row of a ticket and node that several exports show; the closed one wins over the one still open."""
    return [
        """
create or replace temp table ticket_verdicts as
select
    rowid as row_key,
    case
        when row_number() over (
            partition by cluster_id, ticket_id, coalesce(node_id, node_name)
            order by closed_at desc nulls last, path desc, line_number desc
        ) > 1 then 'duplicate'
        else 'loaded'
    end as disposition
from raw.tickets
where disposition <> 'unknown_node'""",
        """
update raw.tickets
set disposition = verdicts.disposition
from ticket_verdicts as verdicts
where tickets.rowid = verdicts.row_key and tickets.disposition is distinct from verdicts.disposition""",
    ]
