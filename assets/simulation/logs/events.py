"""Node events as `sacctmgr -P show event` prints them: one row per state and reason, open rows with an unknown end."""

from __future__ import annotations

from pathlib import Path

from assets.simulation.logs.record import ROOT_USER, SLURM_USER, Record, write_lines

HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"


def write_events(record: Record, folder: Path) -> None:
    """Write `events.psv`, by node and then by time, with the cluster's own row first."""
    outages, cluster = record.ledger.outages, record.profile.cluster_id
    lines = [HEADER, f"{cluster}||{record.text(0)}|Unknown||Cluster Registered TRES|"]
    for row in sorted(
        range(len(outages)), key=lambda row: (int(outages["node"][row]), int(outages["start"][row]), row)
    ):
        node, start, end = (int(outages[name][row]) for name in ("node", "start", "end"))
        state = "DOWN*" if outages["is_silent"][row] else "DOWN" if outages["is_down"][row] else "DRAIN"
        user = SLURM_USER if outages["by_slurm"][row] else ROOT_USER
        ended = record.text(end) if end >= 0 else "Unknown"
        lines.append(
            f"{cluster}|{record.node_names[node]}|{record.text(start)}|{ended}|{state}|{record.ledger.reasons[row]}|{user}"
        )
    write_lines(folder / "events.psv", lines)
