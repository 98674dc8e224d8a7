"""The nodes as `scontrol -o show node` shows them when the simulation ends, one line each, and where they stand.

Racks are in a table of the site's own, switches in Slurm's `topology.conf`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assets.simulation.logs.record import CPUS_PER_GPU, MEMORY_MB_PER_GPU, Record, write_lines


def _state(gpus_used: int, per_node: int, outage: str | None) -> str:
    used = "ALLOCATED" if gpus_used == per_node else "MIXED" if gpus_used else "IDLE"
    return {None: used, "DOWN": "DOWN", "DOWN*": "DOWN+NOT_RESPONDING", "DRAIN": f"{used}+DRAIN"}[outage]


def write_inventory(record: Record, folder: Path) -> None:
    """Write `scontrol_node.txt`, and `racks.csv` and `topology.conf` where the profile has places."""
    ledger, profile = record.ledger, record.profile
    outages = ledger.outages
    open_rows = {int(outages["node"][row]): row for row in range(len(outages)) if outages["end"][row] < 0}
    used = [0] * profile.node_count
    for attempt in np.flatnonzero(ledger.attempts["end"] < 0).tolist():
        for node in ledger.nodes[attempt].tolist():
            used[node] += int(ledger.attempts["mask"][attempt]).bit_count()
    booted = {
        int(node): int(at) for node, at in zip(ledger.reboots["node"], ledger.reboots["at"], strict=True) if at >= 0
    }
    lines = []
    for node, name in enumerate(record.node_names):
        row = open_rows.get(node)
        outage = (
            None
            if row is None
            else "DOWN*"
            if outages["is_silent"][row]
            else "DOWN"
            if outages["is_down"][row]
            else "DRAIN"
        )
        gpus, cpus = profile.gpus_per_node, profile.gpus_per_node * CPUS_PER_GPU
        boot = record.text(booted.get(node, -5 * 86_400))
        line = (
            f"NodeName={name} Arch=x86_64 CoresPerSocket={cpus // 2} CPUAlloc={used[node] * CPUS_PER_GPU} CPUEfctv={cpus} CPUTot={cpus} CPULoad=0.00 "
            f"AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:a100:{gpus} NodeAddr={name} NodeHostName={name} Port=6818 Version=22.05.8 "
            f"OS=Linux 5.15.0-1061-nvidia RealMemory={gpus * MEMORY_MB_PER_GPU} AllocMem={used[node] * MEMORY_MB_PER_GPU} Sockets=2 Boards=1 "
            f"State={_state(used[node], gpus, outage)} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=train "
            f"BootTime={boot} SlurmdStartTime={boot} CfgTRES=cpu={cpus},mem={gpus * MEMORY_MB_PER_GPU}M,billing={cpus},gres/gpu={gpus},gres/gpu:a100={gpus} "
            f"AllocTRES="
            + (
                f"cpu={used[node] * CPUS_PER_GPU},gres/gpu={used[node]},gres/gpu:a100={used[node]}"
                if used[node]
                else ""
            )
        )
        if row is not None:
            user = "slurm" if outages["by_slurm"][row] else "root"
            line += f" Reason={ledger.reasons[row]} [{user}@{record.text(int(outages['requested'][row]))}]"
        lines.append(line)
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
