"""Repair tickets as a CSV export: one for every fault that needed a part.

The repair of a lemon finds its root cause, whatever the fault looked like, unless the root cause is unresolved.
"""

from __future__ import annotations

import csv
from pathlib import Path

from assets.simulation.causes import CAUSES
from assets.simulation.logs.record import Record

ACTIONS = {
    "GPU": "replaced GPU",
    "DIMM": "replaced DIMM",
    "PCIe": "reseated riser",
    "EUD": "failed extended diagnostics, replaced GPU board",
    "BIOS": "reflashed BIOS",
    "NIC": "replaced cable",
    "PSU": "replaced power supply",
    "Optics": "replaced transceiver",
    "CPU": "replaced CPU",
    "other": "replaced part",
}
"""The repair, by component."""


def _component(lemons: dict[int, str], node: int, cause: int) -> str:
    root_cause = lemons.get(node)
    return root_cause if root_cause in ACTIONS else CAUSES[cause].component


def write_tickets(record: Record, folder: Path) -> None:
    """Write `tickets.csv`. Both intervals of one fault of a node belong to one ticket."""
    outages, faults, profile = record.ledger.outages, record.ledger.faults, record.profile
    lemons = {profile.node_at(lemon.position): lemon.root_cause for lemon in profile.lemons}
    tickets: dict[int, tuple[int, int]] = {}
    for row, ticket in enumerate(outages["ticket"].tolist()):
        if ticket >= 0:
            tickets[ticket] = (tickets.get(ticket, (row, row))[0], row)
    folder.mkdir(parents=True, exist_ok=True)
    rng = record.rng("tickets")
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ticket_id", "node", "opened", "closed", "component", "action", "status", "summary"])
        for ticket, (first, last) in sorted(tickets.items()):
            start, end, node = int(outages["start"][first]), int(outages["end"][last]), int(outages["node"][first])
            component = _component(lemons, node, int(faults["cause"][outages["fault"][first]]))
            opened = start + int(rng.uniform(60, 1200))
            closed = record.text(max(end, opened)) if end >= 0 else ""
            action, status = (ACTIONS[component], "closed") if end >= 0 else ("", "open")
            name = record.node_names[node]
            summary = f"{name}: {record.ledger.reasons[first]}"
            writer.writerow([ticket, name, record.text(opened), closed, component, action, status, summary])
