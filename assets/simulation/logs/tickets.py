"""Repair tickets as a CSV export: one for every fault that needed a part."""

from __future__ import annotations

import csv
from pathlib import Path

from assets.simulation.causes import CAUSES
from assets.simulation.logs.record import Record

ACTIONS = {
    "GPU": "replaced GPU", "DIMM": "replaced DIMM", "PCIe": "reseated riser", "NIC": "replaced cable", "PSU": "replaced power supply", "other": "replaced part",
}  # fmt: skip


def write_tickets(record: Record, folder: Path) -> None:
    """Write `tickets.csv`; a node's second interval of one fault belongs to the same ticket."""
    outages, faults = record.ledger.outages, record.ledger.faults
    tickets: dict[int, tuple[int, int]] = {}
    for row in range(len(outages)):
        ticket = int(outages["ticket"][row])
        if ticket >= 0:
            tickets[ticket] = (tickets.get(ticket, (row, row))[0], row)
    folder.mkdir(parents=True, exist_ok=True)
    rng = record.rng("tickets")
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ticket_id", "node", "opened", "closed", "component", "action", "status", "summary"])
        for ticket, (first, last) in sorted(tickets.items()):
            start, end = int(outages["start"][first]), int(outages["end"][last])
            cause = CAUSES[int(faults["cause"][outages["fault"][first]])]
            opened = start + int(rng.uniform(60, 1200))
            closed = record.text(max(end, opened)) if end >= 0 else ""
            action, status = (ACTIONS[cause.component], "closed") if end >= 0 else ("", "open")
            node = record.node_names[int(outages["node"][first])]
            summary = f"{node}: {record.ledger.reasons[first]}"
            writer.writerow([ticket, node, record.text(opened), closed, cause.component, action, status, summary])
