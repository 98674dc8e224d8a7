"""The entry point: `simulate` writes the logs and the truth of a profile's clusters into a folder.

A folder that holds a cluster which is not simulated is never changed.
"""

from __future__ import annotations

import shutil
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from assets.simulation.clusters import read_profile
from assets.simulation.engine import simulate_cluster
from assets.simulation.logs.dirt import spoil, write_dirt
from assets.simulation.logs.record import Record
from assets.simulation.logs.wall_clock import midnight
from assets.simulation.profiles import Profile
from assets.simulation.side_by_side import can_run_side_by_side, run_side_by_side
from assets.simulation.truth import planted
from assets.simulation.writing import write_cluster

SIMULATED_SHARE = 0.65
"""Share of the progress that stands for simulating a cluster; the rest stands for writing its files."""


@dataclass(frozen=True)
class SimulatedCluster:
    """One cluster that was simulated, and its folders.

    Attributes
    ----------
    sources
        The cluster's folder of logs; its parent is a sources folder.
    truth
        The folder of what was planted.
    planted
        The planted rates and the resulting counts, as in `planted.json`.
    spoiled_line_count
        Lines that were spoiled on purpose.
    """

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
    """The simulated clusters of a profile, and the time that they took together."""

    profile: str
    seconds: float
    clusters: tuple[SimulatedCluster, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    def text(self) -> str:
        """Describe in a few lines per cluster what was written and where."""
        return "\n\n".join(cluster.text() for cluster in self.clusters)


@dataclass(frozen=True)
class Order:
    """One cluster to simulate, the first day that its logs show, and where to put them."""

    profile: Profile
    first_day: date
    sources: Path
    truth: Path
    seed: int
    dirt: float

    @property
    def node_days(self) -> int:
        """Size of the cluster, for shares of the progress."""
        return self.profile.node_count * self.profile.days


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

    Parameters
    ----------
    profile
        Name of a profile, which may have several clusters, or the description of one cluster.
    out
        Folder for `sources/<cluster>` and `truth/<cluster>`.
    days
        Length in days; None takes the profile's.
    scale
        Factor on the number of nodes, and with it on the work.
    seed
        The same seed gives the same bytes, whatever other clusters are simulated with it.
    dirt
        Share of the lines that are spoiled, such as cut off or written twice.
    until
        The midnight at which the logs end; for a time, the last midnight in each cluster's zone that leaves nothing
        after that time. It moves only the wall clock. None keeps the profile's first day.
    progress
        Called with the share done, from 0 to 1.
    sources_dir, truth_dir
        Parents of the cluster folders, if they are not to be below `out`.

    Raises
    ------
    ValueError
        For an unknown profile, or a number out of range.
    FileExistsError
        When a folder of logs holds something that is not a simulated cluster. Nothing has been written then.
    """
    _refuse_bad_numbers(days, scale, seed, dirt)
    name = profile.cluster_id if isinstance(profile, Profile) else profile
    clusters = (profile,) if isinstance(profile, Profile) else read_profile(profile)
    started, tell = time.monotonic(), progress or (lambda share: None)
    orders = [
        Order(
            cluster,
            cluster.first_day if until is None else _first_day(cluster, until),
            (sources_dir or out / "sources") / cluster.cluster_id,
            (truth_dir or out / "truth") / cluster.cluster_id,
            seed,
            dirt,
        )
        for cluster in (cluster.resized(days, scale) for cluster in clusters)
    ]
    for order in orders:
        refuse_real_logs(order.sources)
    shares = dict.fromkeys((order.profile.cluster_id for order in orders), 0.0)
    whole = sum(order.node_days for order in orders)

    def hear(order: Order, share: float) -> None:
        shares[order.profile.cluster_id] = share * order.node_days / whole
        tell(sum(shares.values()))

    made = (_fulfil_side_by_side if len(orders) > 1 and can_run_side_by_side() else _fulfil_in_turn)(orders, hear)
    tell(1.0)
    return Summary(name, time.monotonic() - started, tuple(made))


def _refuse_bad_numbers(days: int | None, scale: float, seed: int, dirt: float) -> None:
    if days is not None and days < 1:
        raise ValueError(f"days is {days}; at least 1 is needed")
    if not 0 < scale <= 1000:
        raise ValueError(f"scale is {scale}; it must be above 0 and at most 1000")
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must not be negative")
    if not 0 <= dirt <= 0.5:
        raise ValueError(f"dirt is {dirt}; it is a share of all lines, from 0 to 0.5")


def _first_day(profile: Profile, until: date | datetime) -> date:
    """Return the first day of logs that end at a midnight, or at the last midnight before a time.

    A simulated day has 24 hours, so after a change of the clocks the logs end an hour beside midnight.
    """
    if not isinstance(until, datetime):
        return until - timedelta(days=profile.days)
    zone = ZoneInfo(profile.timezone)
    first_day = until.astimezone(zone).date() - timedelta(days=profile.days)
    if midnight(first_day, zone) + profile.horizon > until.timestamp():
        first_day -= timedelta(days=1)
    return first_day


Hear = Callable[[Order, float], None]
"""Is told which share of an order is done, from 0 to 1."""


def _fulfil_in_turn(orders: list[Order], hear: Hear) -> list[SimulatedCluster]:
    return [_fulfil(order, partial(hear, order)) for order in orders]


def _fulfil_side_by_side(orders: list[Order], hear: Hear) -> list[SimulatedCluster]:
    named = {order.profile.cluster_id: order for order in orders}
    made = {}
    for name, message in run_side_by_side({name: partial(_fulfil_and_send, order) for name, order in named.items()}):
        if isinstance(message, SimulatedCluster):
            made[name] = message
        elif message is not None:
            hear(named[name], message)
    return [made[name] for name in named]


def _fulfil_and_send(order: Order, send: Callable[[Any], None]) -> None:
    send(_fulfil(order, send))


def _fulfil(order: Order, tell: Callable[[float], None]) -> SimulatedCluster:
    started, profile, sources, truth = time.monotonic(), order.profile, order.sources, order.truth
    rng = np.random.default_rng([order.seed, *profile.cluster_id.encode()])
    ledger = simulate_cluster(profile, rng, lambda share: tell(share * SIMULATED_SHARE))
    record = Record(replace(profile, first_day=order.first_day), ledger, order.seed)
    # The unfinished folder stands beside the truth, because a refresh at the same time would read it beside the logs.
    unfinished = truth.with_name(f".{truth.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    logs, answers = unfinished / "logs", unfinished / "truth"
    logs.mkdir(parents=True)
    write_cluster(record, logs, answers, lambda share: tell(SIMULATED_SHARE + (1 - SIMULATED_SHARE) * share))
    spoiled = spoil(record, logs, order.dirt) if order.dirt else []
    if order.dirt:
        write_dirt(record, spoiled, answers)
    for made, place in ((answers, truth), (logs, sources)):
        shutil.rmtree(place, ignore_errors=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, place)
    unfinished.rmdir()
    files = [path for path in sources.rglob("*") if path.is_file()]
    return SimulatedCluster(
        cluster_id=profile.cluster_id,
        sources=sources,
        truth=truth,
        file_count=len(files),
        size_bytes=sum(path.stat().st_size for path in files),
        seconds=time.monotonic() - started,
        planted=planted(record),
        spoiled_line_count=len(spoiled),
    )


def refuse_real_logs(folder: Path) -> None:
    """Raise when the folder holds anything but a simulated cluster."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    settings = folder / "cluster.toml"
    if settings.is_file() and tomllib.loads(settings.read_text(encoding="utf-8")).get("simulated") is True:
        return
    raise FileExistsError(f"{folder} holds something that is not a simulated cluster; choose another folder with --out")
