"""Node events as `sacctmgr -P show event` prints them: one row per state and reason. Open rows have an unknown end."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assets.simulation.logs.record import ROOT_USER, SLURM_USER, Record, write_lines

HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"


def write_events(record: Record, folder: Path) -> None:
    """Write `events.psv`: the row of the cluster first, then the nodes, each by time."""
    outages, cluster, clock = record.ledger.outages, record.profile.cluster_id, record.wall_clock
    order = np.lexsort((outages["start"], outages["node"]))
    ends = outages["end"][order]
    ended = [
        text if end >= 0 else "Unknown" for text, end in zip(clock.texts(ends.clip(0)), ends.tolist(), strict=True)
    ]
    flags = (outages[name][order].tolist() for name in ("node", "is_silent", "is_down", "by_slurm"))
    lines = [HEADER, f"{cluster}||{record.text(0)}|Unknown||Cluster Registered TRES|"]
    for row, started, closed, node, is_silent, is_down, by_slurm in zip(
        order.tolist(), clock.texts(outages["start"][order]), ended, *flags, strict=True
    ):
        state = "DOWN*" if is_silent else "DOWN" if is_down else "DRAIN"
        user = SLURM_USER if by_slurm else ROOT_USER
        reason = record.ledger.reasons[row]
        lines.append(f"{cluster}|{record.node_names[node]}|{started}|{closed}|{state}|{reason}|{user}")
    write_lines(folder / "events.psv", lines)
