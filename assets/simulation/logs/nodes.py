"""The writers of a site's records of nodes: events, the inventory with places, and repair tickets."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from assets.simulation.causes import CAUSES
from assets.simulation.logs.record import CPUS_PER_GPU, MEMORY_MB_PER_GPU, ROOT_USER, SLURM_USER, Record, write_lines
from assets.simulation.profiles import DAY

EVENTS_HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"
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


def _state(record: Record, outage: int) -> str:
    columns = record.ledger.outages
    return "DOWN*" if columns["is_silent"][outage] else "DOWN" if columns["is_down"][outage] else "DRAIN"


def write_events(record: Record, folder: Path) -> None:
    """Write `events.psv` as `sacctmgr -P show event` prints it: the row of the cluster, then the nodes, each by time."""
    outages, cluster, clock = record.ledger.outages, record.profile.cluster_id, record.wall_clock
    order = np.lexsort((outages["start"], outages["node"]))
    starts, ends = clock.texts(outages["start"][order]), clock.texts(outages["end"][order].clip(0))
    lines = [EVENTS_HEADER, f"{cluster}||{record.text(0)}|Unknown||Cluster Registered TRES|"]
    for row, start, end in zip(order.tolist(), starts, ends, strict=True):
        node, closed = record.node_names[outages["node"][row]], end if outages["end"][row] >= 0 else "Unknown"
        user = SLURM_USER if outages["by_slurm"][row] else ROOT_USER
        lines.append(f"{cluster}|{node}|{start}|{closed}|{_state(record, row)}|{record.ledger.reasons[row]}|{user}")
    write_lines(folder / "events.psv", lines)


def write_inventory(record: Record, folder: Path) -> None:
    """Write `scontrol_node.txt` as of the end, and `racks.csv` and `topology.conf` where the profile has places."""
    ledger, profile, outages, reboots = record.ledger, record.profile, record.ledger.outages, record.ledger.reboots
    open_rows = {int(outages["node"][row]): row for row in np.flatnonzero(outages["end"] < 0).tolist()}
    used = [0] * profile.node_count
    for attempt in np.flatnonzero(ledger.attempts["end"] < 0).tolist():
        for node in ledger.nodes[attempt].tolist():
            used[node] += int(ledger.attempts["mask"][attempt]).bit_count()
    booted = {node: at for node, at in zip(reboots["node"].tolist(), reboots["at"].tolist(), strict=True) if at >= 0}
    gpus, cpus, memory = (profile.gpus_per_node * each for each in (1, CPUS_PER_GPU, MEMORY_MB_PER_GPU))
    lines = []
    for node, name in enumerate(record.node_names):
        held, boot, row = used[node], record.text(booted.get(node, -5 * DAY)), open_rows.get(node)
        state = "ALLOCATED" if held == gpus else "MIXED" if held else "IDLE"
        reason = ""
        if row is not None:
            outage, user = _state(record, row), "slurm" if outages["by_slurm"][row] else "root"
            state = {"DOWN": "DOWN", "DOWN*": "DOWN+NOT_RESPONDING", "DRAIN": f"{state}+DRAIN"}[outage]
            reason = f" Reason={ledger.reasons[row]} [{user}@{record.text(int(outages['requested'][row]))}]"
        allocated = f"cpu={held * CPUS_PER_GPU},gres/gpu={held},gres/gpu:a100={held}" if held else ""
        lines.append(
            f"NodeName={name} Arch=x86_64 CoresPerSocket={cpus // 2} CPUAlloc={held * CPUS_PER_GPU} CPUEfctv={cpus} CPUTot={cpus} CPULoad=0.00 "
            f"AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:a100:{gpus} NodeAddr={name} NodeHostName={name} Port=6818 Version=22.05.8 "
            f"OS=Linux 5.15.0-1061-nvidia RealMemory={memory} AllocMem={held * MEMORY_MB_PER_GPU} Sockets=2 Boards=1 "
            f"State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=train "
            f"BootTime={boot} SlurmdStartTime={boot} CfgTRES=cpu={cpus},mem={memory}M,billing={cpus},gres/gpu={gpus},gres/gpu:a100={gpus} "
            f"AllocTRES={allocated}{reason}"
        )
    write_lines(folder / "scontrol_node.txt", lines)
    places = [(name, profile.place_of(node)) for node, name in enumerate(record.node_names)]
    if profile.nodes_per_rack:
        rows = [f"{name},{place['rack']},{place['position']}" for name, place in places]
        write_lines(folder / "racks.csv", ["node,rack,position", *rows])
    if profile.nodes_per_switch:
        leaves: dict[str, list[str]] = {}
        for name, place in places:
            leaves.setdefault(place["switch"], []).append(name)
        switches = [f"SwitchName={leaf} Nodes={','.join(nodes)}" for leaf, nodes in leaves.items()]
        write_lines(folder / "topology.conf", [*switches, f"SwitchName=spine Switches={','.join(leaves)}"])


def write_tickets(record: Record, folder: Path) -> None:
    """Write `tickets.csv`: one ticket for every fault that needed a part. Its outage may have two intervals.

    The repair of a lemon finds its root cause whatever the fault looked like, unless the root cause is unresolved.
    """
    outages, faults, lemons = record.ledger.outages, record.ledger.faults, record.profile.lemon_nodes
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
            component = lemons[node].root_cause if node in lemons else ""
            if component not in ACTIONS:
                component = CAUSES[faults["cause"][outages["fault"][first]]].component
            opened = start + int(rng.uniform(60, 1200))
            closed = record.text(max(end, opened)) if end >= 0 else ""
            action, status = (ACTIONS[component], "closed") if end >= 0 else ("", "open")
            name = record.node_names[node]
            summary = f"{name}: {record.ledger.reasons[first]}"
            writer.writerow([ticket, name, record.text(opened), closed, component, action, status, summary])
