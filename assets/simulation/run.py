"""The entry point: `simulate` writes the logs and the truth of a profile's clusters into a folder.

It never changes a folder with a cluster that is not simulated.
"""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from assets.simulation.clusters import read_profile
from assets.simulation.engine import simulate_cluster
from assets.simulation.logs.dirt import spoil
from assets.simulation.logs.health import write_health
from assets.simulation.logs.kernel import write_kernel
from assets.simulation.logs.nodes import write_events, write_inventory, write_tickets
from assets.simulation.logs.record import Record, midnight, write_lines
from assets.simulation.logs.sacct import write_sacct
from assets.simulation.logs.slurmctld import write_slurmctld
from assets.simulation.logs.squeue import write_squeue
from assets.simulation.profiles import Profile
from assets.simulation.truth import planted, write_truth

SIMULATED_SHARE = 0.65
"""Share of the progress that stands for simulating a cluster; the rest stands for writing its files."""
WRITERS = {
    "health": write_health,
    "sacct": write_sacct,
    "kernel": write_kernel,
    "slurmctld": write_slurmctld,
    "squeue": write_squeue,
    "events": write_events,
    "tickets": write_tickets,
    "inventory": write_inventory,
}
"""The writers by folder. Each has its own random generator, so the bytes do not depend on their order."""


@dataclass(frozen=True)
class SimulatedCluster:
    """One simulated cluster: its folders, its size, and what was planted, as in `planted.json`."""

    cluster_id: str
    sources: Path
    truth: Path
    file_count: int
    size_bytes: int
    seconds: float
    planted: dict[str, Any]
    spoiled_line_count: int

    def text(self) -> str:
        """Describe in a few lines what was written and where."""
        numbers = self.planted
        dirt = f", {self.spoiled_line_count:,} lines spoiled" if self.spoiled_line_count else ""
        return (
            f"{self.cluster_id} (simulated): {numbers['node_count']:,} nodes, {numbers['days']} days, "
            f"{numbers['attempt_count']:,} attempts, {numbers['utilization']:.0%} of GPU time used\n"
            f"planted: {numbers['faults_per_1000_node_days']:.2f} faults per 1,000 node-days in service; "
            f"{numbers['failed_attempt_count']:,} attempts failed in {numbers['attempt_node_days']:,.0f} node-days\n"
            f"logs:  {self.sources} ({self.file_count} files, {self.size_bytes / 1e6:,.1f} MB, {self.seconds:.1f} s"
            f"{dirt})\n"
            f"truth: {self.truth}"
        )


@dataclass(frozen=True)
class Summary:
    """The simulated clusters of a profile, and their total time."""

    profile: str
    seconds: float
    clusters: tuple[SimulatedCluster, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def text(self) -> str:
        """Describe in a few lines per cluster what was written and where."""
        return "\n\n".join(cluster.text() for cluster in self.clusters)


def simulate(
    profile: str | Profile,
    out: Path,
    days: int | None = None,
    scale: float = 1.0,
    seed: int = 1,
    *,
    dirt: float = 0.0,
    until: date | datetime | None = None,
    progress: Callable[[float], None] | None = None,
    sources_dir: Path | None = None,
    truth_dir: Path | None = None,
) -> Summary:
    """Simulate the clusters of a profile and write their logs and truths, replacing earlier ones of the same names.

    A profile is a name, or the description of one cluster. The logs go to `sources/<cluster>` and the truth to
    `truth/<cluster>` in `out`, or to other parents than these two. `scale` multiplies the nodes and the work. `dirt`
    is the share of lines to spoil. `until` is the midnight at which the logs end; for a time, the last midnight in each
    cluster's zone before it. It moves only the wall clock, and None keeps the profile's first day. `progress` is
    called with the share done, from 0 to 1. The same seed gives the same bytes, whatever other clusters are simulated
    in the same call.

    Raises
    ------
    ValueError
        For an unknown profile, or a number out of range.
    FileExistsError
        When a folder of logs holds something that is not a simulated cluster. Then nothing is written.
    """
    _refuse_bad_numbers(days, scale, seed, dirt)
    name = profile.cluster_id if isinstance(profile, Profile) else profile
    clusters = (profile,) if isinstance(profile, Profile) else read_profile(profile)
    started, report = time.monotonic(), progress or (lambda share: None)
    clusters = tuple(cluster.resized(days, scale) for cluster in clusters)
    first_days = [cluster.first_day if until is None else _first_day(cluster, until) for cluster in clusters]
    logs, truths = sources_dir or out / "sources", truth_dir or out / "truth"
    for cluster in clusters:
        refuse_real_logs(logs / cluster.cluster_id)
    made: list[SimulatedCluster] = []
    for cluster, first_day in zip(clusters, first_days, strict=True):

        def show_share(share: float, before: int = len(made)) -> None:
            report((before + share) / len(clusters))

        folders = logs / cluster.cluster_id, truths / cluster.cluster_id
        made.append(_simulate_one(cluster, first_day, folders, seed, dirt, show_share))
    return Summary(name, time.monotonic() - started, tuple(made))


def _refuse_bad_numbers(days: int | None, scale: float, seed: int, dirt: float) -> None:
    for is_right, text in (
        (days is None or days >= 1, f"days is {days}; at least 1 is needed"),
        (0 < scale <= 1000, f"scale is {scale}; it must be above 0 and at most 1000"),
        (seed >= 0, f"seed is {seed}; it must not be negative"),
        (0 <= dirt <= 0.5, f"dirt is {dirt}; it is a share of all lines, from 0 to 0.5"),
    ):
        if not is_right:
            raise ValueError(text)


def _first_day(profile: Profile, until: date | datetime) -> date:
    """Return the first day of logs that end at a midnight, or at the last midnight before a time."""
    if not isinstance(until, datetime):
        return until - timedelta(days=profile.days)
    zone = ZoneInfo(profile.timezone)
    first_day = until.astimezone(zone).date() - timedelta(days=profile.days)
    if midnight(first_day, zone) + profile.horizon > until.timestamp():
        first_day -= timedelta(days=1)
    return first_day


def _simulate_one(  # noqa: PLR0917
    profile: Profile,
    first_day: date,
    folders: tuple[Path, Path],
    seed: int,
    dirt: float,
    report: Callable[[float], None],
) -> SimulatedCluster:
    started, (sources, truth) = time.monotonic(), folders
    rng = np.random.default_rng([seed, *profile.cluster_id.encode()])
    ledger = simulate_cluster(profile, rng, lambda share: report(share * SIMULATED_SHARE))
    record = Record(replace(profile, first_day=first_day), ledger, seed)
    # The unfinished folder is next to the truth: next to the logs, a refresh at the same time would read it.
    unfinished = truth.with_name(f".{truth.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    logs, answers = unfinished / "logs", unfinished / "truth"
    logs.mkdir(parents=True)
    write_truth(record, answers)
    for number, (kind, write) in enumerate(WRITERS.items(), start=1):
        write(record, logs / kind)
        report(SIMULATED_SHARE + (1 - SIMULATED_SHARE) * number / len(WRITERS))
    write_settings(record, logs)
    spoiled_line_count = spoil(record, logs, dirt, answers) if dirt else 0
    for made, place in ((answers, truth), (logs, sources)):
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, place)
    unfinished.rmdir()
    files = [path for path in sources.rglob("*") if path.is_file()]
    size, seconds = sum(path.stat().st_size for path in files), time.monotonic() - started
    return SimulatedCluster(
        profile.cluster_id, sources, truth, len(files), size, seconds, planted(record), spoiled_line_count
    )


def write_settings(record: Record, folder: Path) -> None:
    """Write `cluster.toml`. Its first setting says that the cluster is simulated."""
    profile = record.profile
    lines = [
        "# A simulated cluster: these logs were made by `faultline simulate`, nothing in them happened.",
        "simulated = true",
        f'timezone = "{profile.timezone}"',
        f"gpus_per_node = {profile.gpus_per_node}",
        'gpu_model = "A100"',
        f"price_per_gpu_hour = {profile.price_per_gpu_hour}",
        'currency = "USD"',
        "",
        "[ettr]",
        f"checkpoint_minutes = {profile.checkpoint_seconds // 60}",
        f"restart_minutes = {profile.restart_seconds // 60}",
    ]
    if profile.objective is not None:
        lines += ["", "[availability]", f"objective = {profile.objective}"]
    for day, text in profile.annotations:
        if day < profile.days:
            lines += ["", "[[annotations]]", f"at = {profile.first_day + timedelta(days=day)}", f'text = "{text}"']
    write_lines(folder / "cluster.toml", lines)


def refuse_real_logs(folder: Path) -> None:
    """Raise when the folder holds anything but a simulated cluster."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    settings = folder / "cluster.toml"
    if settings.is_file() and tomllib.loads(settings.read_text(encoding="utf-8")).get("simulated") is True:
        return
    raise FileExistsError(f"{folder} holds something that is not a simulated cluster; choose another folder with --out")
