"""The way in: a profile's name and a folder give a simulated cluster's logs, its truth beside them, and a summary.

A folder that holds a cluster which is not simulated is never touched.
"""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assets.simulation.clusters import PROFILES
from assets.simulation.engine import simulate_cluster
from assets.simulation.logs.events import write_events
from assets.simulation.logs.health import write_health
from assets.simulation.logs.inventory import write_inventory
from assets.simulation.logs.kernel import write_kernel
from assets.simulation.logs.record import Record
from assets.simulation.logs.sacct import write_sacct
from assets.simulation.logs.settings import write_settings
from assets.simulation.logs.slurmctld import write_slurmctld
from assets.simulation.logs.tickets import write_tickets
from assets.simulation.truth import planted, write_truth

WRITERS = {
    "sacct": write_sacct,
    "health": write_health,
    "kernel": write_kernel,
    "events": write_events,
    "slurmctld": write_slurmctld,
    "inventory": write_inventory,
    "tickets": write_tickets,
}
SIMULATED_SHARE = 0.5
"""Share of the whole work that is simulating; the rest is writing."""


@dataclass(frozen=True)
class Summary:
    """What was simulated and where it lies.

    Attributes
    ----------
    sources
        The cluster's folder of logs; its parent is a sources folder.
    truth
        The folder of what was planted.
    planted
        The planted rates and what came of them, as in `planted.json`.
    """

    cluster_id: str
    sources: Path
    truth: Path
    file_count: int
    size_bytes: int
    seconds: float
    planted: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return asdict(self)

    def text(self) -> str:
        """Say in a few lines what was made and where it lies."""
        numbers = self.planted
        return (
            f"{self.cluster_id} (simulated): {numbers['node_count']} nodes, {numbers['days']} days, "
            f"{numbers['attempt_count']:,} attempts, {numbers['utilization']:.0%} of GPU time used\n"
            f"planted: {numbers['faults_per_1000_node_days']:.2f} faults per 1,000 node-days in service; "
            f"{numbers['failed_attempt_count']} attempts failed in {numbers['attempt_node_days']:,.0f} node-days\n"
            f"logs:  {self.sources} ({self.file_count} files, {self.size_bytes / 1e6:.1f} MB, {self.seconds:.1f} s)\n"
            f"truth: {self.truth}"
        )


def simulate(
    profile: str,
    out: Path,
    days: int | None = None,
    scale: float = 1.0,
    seed: int = 1,
    *,
    progress: Callable[[float], None] | None = None,
    sources_dir: Path | None = None,
    truth_dir: Path | None = None,
) -> Summary:
    """Simulate a cluster and write its logs and its truth, replacing an earlier simulation of the same name.

    Parameters
    ----------
    profile
        Name of a profile.
    out
        Folder for `sources/<cluster>` and `truth/<cluster>`.
    days
        Length in days; None takes the profile's.
    scale
        Factor on the number of nodes, and with it on the work.
    seed
        Same seed, same bytes.
    progress
        Told the share done, from 0 to 1.
    sources_dir, truth_dir
        Parents of the two cluster folders, where they are not to lie under `out`.

    Raises
    ------
    ValueError
        For an unknown profile, days or scale out of range.
    FileExistsError
        When the folder of logs holds something that is not a simulated cluster.
    """
    if profile not in PROFILES:
        raise ValueError(f"unknown profile '{profile}'; there are: {', '.join(sorted(PROFILES))}")
    if days is not None and days < 1:
        raise ValueError(f"days is {days}; at least 1 is needed")
    if not 0 < scale <= 1000:
        raise ValueError(f"scale is {scale}; it must be above 0 and at most 1000")
    tell = progress or (lambda share: None)
    chosen = PROFILES[profile].resized(days, scale)
    sources = (sources_dir or out / "sources") / chosen.cluster_id
    truth = (truth_dir or out / "truth") / chosen.cluster_id
    refuse_real_logs(sources)
    started = time.monotonic()
    ledger = simulate_cluster(chosen, np.random.default_rng(seed), lambda share: tell(share * SIMULATED_SHARE))
    record = Record(chosen, ledger, seed)
    # Beside the truth, not beside the logs: a refresh at the same time must not take half a cluster for one.
    unfinished = truth.with_name(f".{truth.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    for number, (kind, write) in enumerate(WRITERS.items()):
        tell(SIMULATED_SHARE + (1 - SIMULATED_SHARE) * number / len(WRITERS))
        write(record, unfinished / kind)
    write_settings(record, unfinished)
    shutil.rmtree(truth, ignore_errors=True)
    write_truth(record, truth)
    shutil.rmtree(sources, ignore_errors=True)
    sources.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(unfinished, sources)
    tell(1.0)
    files = [path for path in sources.rglob("*") if path.is_file()]
    return Summary(
        cluster_id=chosen.cluster_id,
        sources=sources,
        truth=truth,
        file_count=len(files),
        size_bytes=sum(path.stat().st_size for path in files),
        seconds=time.monotonic() - started,
        planted=planted(record),
    )


def refuse_real_logs(folder: Path) -> None:
    """Raise when the folder holds anything but a simulated cluster."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    settings = folder / "cluster.toml"
    if settings.is_file() and tomllib.loads(settings.read_text(encoding="utf-8")).get("simulated") is True:
        return
    raise FileExistsError(f"{folder} holds something that is not a simulated cluster; choose another folder with --out")
