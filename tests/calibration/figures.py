"""Every value of the paper: how the simulated one is measured, and the range that agrees with it.

Shares are in percent. If the paper has words instead of a number, the range is a condition that represents them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.simulation.causes import CAUSES, UNATTRIBUTED
from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.profiles import DAY, HOUR, Profile
from assets.simulation.states import COMPLETED, PENDING, PREEMPTED, QOS, REQUEUED, STATES, TIMEOUT
from tests.calibration.observed import BoolArray, IntArray, Observed
from tests.calibration.rows import (
    PERIOD,
    SCALE,
    WHOLE,
    Band,
    Estimate,
    Part,
    Row,
    about,
    above,
    below,
    between,
    difference,
    exactly,
    judged,
    mean,
    near,
    quotient,
    rate,
    ratio,
    share,
)

NODES = {"rsc1": 2000, "rsc2": 1000}
DAYS = 334
ROOT_CAUSES = {"GPU": 11, "DIMM": 8, "PCIe": 6, "EUD": 4, "BIOS": 3, "NIC": 3, "PSU": 2, "Optics": 1, "CPU": 1}
"""Table II has percentages, which are all whole numbers of 39 nodes."""
STATE_SHARES = {
    **{"COMPLETED": 60, "FAILED": 24, "NODE_FAIL": 0.1, "PREEMPTED": 10, "REQUEUED": 2},
    **{"OUT_OF_MEMORY": 0.1, "TIMEOUT": 0.6, "CANCELLED": 3.2},
}
LEADING_CAUSES = ("ib_link", "filesystem_mount", "gpu_memory", "pcie")
GPU_HARDWARE = {"pcie", "gpu_memory", "gpu_nvlink", "gpu_unavailable"}
HARDWARE = GPU_HARDWARE | {"ib_link", "block_device", "main_memory", "host_hardware", "eth_link"}
GPU = (GPU_HARDWARE - {"pcie"}) | {"gpu_driver_firmware"}
PCIE_SIGNATURE = {"pcie", "gpu_unavailable"}
"""Xid 79 and the critical interrupt are how a PCIe error shows itself."""
WINDOW_DAYS, MIN_IN_BURST, FEW_NODES = 30, 10, 5
MAX_LOST_SECONDS = HOUR // 2
"""Half the hour between checkpoints that the paper assumes."""
ETTR_CHECKPOINT_SECONDS, ETTR_RESTART_SECONDS = HOUR, 300
LARGE_GPUS = 512


def jobs_per_day(seen: Observed) -> Estimate:
    submitted = seen.ledger.attempts["submit"][seen.state != PENDING]
    days = (submitted // DAY).clip(0, seen.profile.days - 1)
    return mean(np.bincount(days, minlength=seen.profile.days))


def daily_gpu_seconds(seen: Observed) -> NDArray[np.float64]:
    """Return the allocated GPU-seconds of each day."""
    midnights = np.arange(seen.profile.days + 1) * DAY
    until = np.zeros(len(midnights))
    gpus = seen.gpus[seen.is_started].astype(np.float64)
    for times, sign in ((seen.start[seen.is_started], 1), (seen.end[seen.is_started], -1)):
        order = np.argsort(times)
        sorted_times, weights = times[order], gpus[order]
        before = np.searchsorted(sorted_times, midnights)
        held = np.concatenate([[0], np.cumsum(weights)])[before]
        moments = np.concatenate([[0], np.cumsum(weights * sorted_times)])[before]
        until += sign * (held * midnights - moments)
    return np.diff(until)


def utilization(seen: Observed) -> Estimate:
    capacity = np.full(seen.profile.days, seen.profile.gpu_seconds / seen.profile.days)
    return ratio(daily_gpu_seconds(seen), capacity, 100)


def shortest_before_preemption(seen: Observed) -> float:
    hours = seen.seconds[seen.state == PREEMPTED] / HOUR
    return float(hours.min()) if len(hours) else np.nan


def requeued_under_their_id(seen: Observed) -> Estimate:
    failed = seen.ledger.failures["attempt"]
    killed = failed[seen.state[failed] == REQUEUED]
    return share(seen.ledger.attempts["requeued_at"][killed] >= 0)


def failed_by_infrastructure(seen: Observed, of_time: bool = False) -> Estimate:
    return share(seen.is_failed[seen.is_ended], seen.gpu_seconds[seen.is_ended] if of_time else None)


def showing(seen: Observed, category: str) -> BoolArray:
    return seen.failures.category == category


def leading_causes(seen: Observed) -> int:
    counts = Counter(sorted(seen.failures.category[~showing(seen, UNATTRIBUTED)].tolist()))
    leaders = [cause for cause, _ in counts.most_common(len(LEADING_CAUSES))]
    return len(set(leaders) & set(LEADING_CAUSES))


def together(seen: Observed, of: set[str], shows: Callable[[int, str], bool]) -> Estimate:
    """Return the share of the faults of some causes that show something; a fault that ends many jobs is one error."""
    faults = np.unique(seen.failures.fault[~seen.failures.is_chance]).tolist()
    causes = [(fault, CAUSES[seen.ledger.faults["cause"][fault]].category) for fault in faults]
    return share(np.array([shows(fault, cause) for fault, cause in causes if cause in of], np.bool_))


def with_xid_79(seen: Observed, with_interrupt: bool) -> Estimate:
    def shows(fault: int, _: str) -> bool:
        messages = [message for _, message in seen.ledger.symptoms[fault].checks]
        is_both = any("Critical Interrupt" in message for message in messages)
        return 79 in seen.evidence.xids[fault] and (is_both or not with_interrupt)

    return together(seen, {"pcie"}, shows)


def with_gpu_failure(seen: Observed) -> Estimate:
    return together(seen, {"ib_link"}, lambda fault, _: bool(GPU & {*seen.ledger.symptoms[fault].others}))


def with_other_category(seen: Observed) -> Estimate:
    def shows(fault: int, cause: str) -> bool:
        # Hardware is a possible cause of failed services in Table I.
        own = PCIE_SIGNATURE if cause == "pcie" else {cause}
        return bool({*seen.ledger.symptoms[fault].others} & (HARDWARE | {"system_services"}) - own)

    return together(seen, HARDWARE, shows)


def incident_days(seen: Observed, chosen: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the day and the node of each fault that failed attempts, once per fault."""
    _, first = np.unique(seen.failures.fault[chosen], return_index=True)
    ends = seen.end[seen.failures.attempt[chosen][first]]
    return (ends // DAY).clip(0, seen.profile.days - 1), seen.failures.node[chosen][first]


def peak(days: IntArray, period: int) -> tuple[float, int]:
    """Return the ratio of the strongest 30 days to the median 30 days, and the day on which they begin.

    The ratio is `nan` if the period is shorter than two such windows, or if there are fewer than ten faults.
    """
    if period < 2 * WINDOW_DAYS:
        return np.nan, 0
    counts = np.convolve(np.bincount(days, minlength=period), np.ones(WINDOW_DAYS), "valid")
    first, usual = int(counts.argmax()), float(np.median(counts))
    if counts[first] < MIN_IN_BURST:
        return np.nan, 0
    return (float(counts[first]) / usual if usual else np.inf), first


def burst(seen: Observed, chosen: BoolArray) -> float:
    return peak(incident_days(seen, chosen)[0], seen.profile.days)[0]


def xid_burst(seen: Observed, codes: set[int] | None = None) -> float:
    """Return the burst of the faults with one of some Xids, or with any."""
    shown = [seen.evidence.xids[fault] for fault in seen.failures.fault.tolist()]
    return burst(seen, np.array([bool(found & codes if codes else found) for found in shown], np.bool_))


def of_few_nodes(seen: Observed) -> float:
    """Return the share of the InfiniBand faults of their strongest 30 days that is on the worst nodes."""
    days, nodes = incident_days(seen, showing(seen, "ib_link"))
    first = peak(days, seen.profile.days)[1]
    struck = np.bincount(nodes[(days >= first) & (days < first + WINDOW_DAYS)], minlength=1)
    few, total = int(np.sort(struck)[::-1][:FEW_NODES].sum()), int(struck.sum())
    return 100 * few / total if total else np.nan


def mount_faults(seen: Observed, is_after: bool) -> float:
    """Count the mount faults before or since the introduction of their check."""
    introduced = dict(seen.profile.checks_introduced).get("mounted directory")
    if introduced is None:
        return np.nan
    days, _ = incident_days(seen, showing(seen, "filesystem_mount") & ~seen.failures.is_chance)
    return int(((days >= introduced) == is_after).sum())


def sized(seen: Observed, low: int, high: int, of_time: bool) -> Estimate:
    """Return the share of jobs, or of their GPU time, with more than `low` and at most `high` GPUs."""
    kept = seen.is_ended & seen.is_started
    chosen = (seen.gpus[kept] > low) & (seen.gpus[kept] <= high)
    return share(chosen, seen.gpu_seconds[kept] if of_time else None)


def failure_rate(seen: Observed) -> Estimate:
    large = seen.gpus > 128
    return rate(seen.incident[large[seen.failures.attempt]], float(seen.node_days[large].sum()), 1000)


def size_bins(gpus: NDArray[np.int32]) -> IntArray:
    """Round GPUs up to powers of two."""
    return (2 ** np.ceil(np.log2(np.maximum(gpus, 1)))).astype(np.int64)


def lost_gpu_hours(seen: Observed) -> tuple[NDArray[np.float64], NDArray[np.float64], IntArray]:
    """Return for each loss of work the GPU-hours, the part of them that is second order, and the size bin."""
    preemptions = seen.ledger.preemptions
    victims = preemptions["victim"][preemptions["is_second_order"]]
    attempts = np.concatenate([seen.failures.attempt, victims])
    lost = np.minimum(seen.seconds[attempts], MAX_LOST_SECONDS) * seen.gpus[attempts].astype(np.float64) / HOUR
    is_second = np.arange(len(attempts)) >= len(seen.failures.attempt)
    return lost, np.where(is_second, lost, 0), size_bins(seen.gpus[attempts])


def second_order_loss(seen: Observed) -> Estimate:
    lost, second, _ = lost_gpu_hours(seen)
    return ratio(second, lost, 100)


def loss_of_large_jobs(seen: Observed) -> Estimate:
    lost, _, size = lost_gpu_hours(seen)
    return ratio(np.where(np.isin(size, (2048, 4096)), lost, 0), lost, 100)


def crash_loop(seen: Observed, gpus: int = 1024) -> tuple[float, float]:
    """Return how often the worst crash loop of its size was requeued, and how many attempts it preempted.

    A crash loop is a run that failed at least three times in a row. A failure counts if another attempt follows.
    """
    failures = np.bincount(seen.run[seen.is_failed], minlength=len(seen.ledger.runs))
    instigators = seen.run[seen.ledger.preemptions["instigator"]]
    worst = (2, np.nan, np.nan)
    for run in np.flatnonzero((failures > worst[0]) & (seen.ledger.runs["gpus"] == gpus)).tolist():
        rows = np.flatnonzero((seen.run == run) & seen.is_started)
        fails = seen.is_failed[rows[np.argsort(seen.start[rows], kind="stable")]].tolist()
        for first in range(len(fails)):
            length = next((n for n, is_failed in enumerate(fails[first:]) if not is_failed), len(fails) - first)
            if length > worst[0]:
                is_last = first + length == len(fails)
                worst = (length, length - is_last, int((instigators == run).sum()))
    return worst[1], worst[2]


def run_ettr(seen: Observed) -> NDArray[np.float64]:
    """Return the measured ETTR of each run at top priority on 2,048 to 4,096 GPUs with at least 24 h of scheduled time.

    ETTR is `R / W` with `W` = time queued since eligible + time scheduled, and `R = max(0, t - u0 - lost)` per attempt,
    assuming hourly checkpoints and restarts of 5 minutes. An interruption or a time limit loses half the checkpoint
    interval. The natural end loses nothing.
    """
    runs, count = seen.ledger.runs, len(seen.ledger.runs)
    chosen = (runs["qos"] == len(QOS) - 1) & (runs["gpus"] >= 2048) & (runs["gpus"] <= 4096)
    rows = np.flatnonzero(chosen[seen.run] & seen.is_started)
    run, seconds = seen.run[rows], seen.seconds[rows].astype(np.float64)
    queued = (seen.start[rows] - seen.ledger.attempts["eligible"][rows]).clip(0)
    worked = (seconds - ETTR_RESTART_SECONDS).clip(0)
    interrupted = seen.is_failed[rows] | np.isin(seen.state[rows], (PREEMPTED, REQUEUED, TIMEOUT))
    lost = np.where(interrupted, np.minimum(worked, ETTR_CHECKPOINT_SECONDS / 2), 0)
    scheduled = np.bincount(run, seconds, minlength=count)
    productive = np.bincount(run, worked - lost, minlength=count)
    wallclock = scheduled + np.bincount(run, queued, minlength=count)
    long = scheduled >= DAY
    return productive[long] / wallclock[long]


def ettr(seen: Observed) -> Estimate:
    return mean(run_ettr(seen))


def daily_jobs_on_lemons(seen: Observed) -> Estimate:
    days = seen.profile.days
    day = (seen.start[seen.is_started] // DAY).clip(0, days - 1)
    jobs = np.bincount(day, minlength=days)
    touched = np.bincount(day, seen.ran_on_lemon[seen.is_started], minlength=days)
    return mean(100 * touched[jobs > 0] / jobs[jobs > 0])


def lemon_share(seen: Observed) -> float:
    return 100 * float(seen.is_lemon.mean())


def large_jobs_failing(seen: Observed, with_lemons: bool = True) -> Estimate:
    failed = seen.is_failed.copy()
    if not with_lemons:
        failed[seen.failures.attempt[seen.is_lemon[seen.failures.node]]] = False
    return share(failed[seen.is_started & seen.is_ended & (seen.gpus >= LARGE_GPUS)])


failing_by_others = partial(large_jobs_failing, with_lemons=False)


class Figure(NamedTuple):
    """A value of the paper: what is measured in a cluster, and the range for each of the two, None if it has none."""

    figure: str
    quantity: str
    measure: Callable[[Observed], Estimate | float]
    rsc1: Band | None
    rsc2: Band | None
    unit: str = "%"
    needs: tuple[str, ...] = ()


def state_share(name: str) -> Callable[[Observed], Estimate]:
    return lambda seen: share(seen.state[seen.is_ended] == STATES.index(name))


def _points(paper: float) -> Band:
    """Accept half a point, or half of the share if that is smaller."""
    return near(paper, min(0.5, paper / 2))


OF_30_DAYS, WINDOW = "strongest 30 days over the median 30 days", f"these {WINDOW_DAYS} days on {FEW_NODES} nodes"
LEADING = "of the four leading causes, those that are InfiniBand, mounts, GPU memory or PCIe"
BY_CHECKS = "attempts ended by a check's remedy that are requeued under their id"
LARGE_FAILED = f"jobs of {LARGE_GPUS} GPUs and more that failed by infrastructure"
ETTR = "ETTR of runs of 24 h and more, top priority, 2,048 to 4,096 GPUs"
LARGE_LOSS = "lost goodput of jobs of 2,048 and 4,096 GPUs"
SAW_FAILED_CHECK = "COMPLETED attempts that saw a failed check"
LARGE_TIME = "GPU time of jobs of 256 GPUs and more"
RATE, RATE_UNIT = "failure rate r_f of jobs over 128 GPUs", "per 1,000 node-days"
PATCHED, SUMMER = above(2, "regression, then patched"), above(2, "burst in summer 2024")
# All Xids together are more frequent than one kind of failure, so their burst stands out less.
DRIVER = above(1.5, "driver burst in late 2023")
BEFORE_CHECK, SINCE_CHECK = between(0, 0, "check introduced midway"), above(1, "check introduced midway")
# The victims depend on which jobs happened to run where.
VICTIMS = Band("548", 548 / 2, 548 * 2, "half to twice")
FIGURES = (
    Figure("", "nodes", lambda s: s.profile.node_count, exactly(2000), exactly(1000), "", (SCALE,)),
    Figure("", "GPUs", lambda s: len(s.is_lemon) * s.profile.gpus_per_node, exactly(16e3), exactly(8e3), "", (SCALE,)),
    Figure("", "GPUs per node", lambda s: s.profile.gpus_per_node, exactly(8), exactly(8), ""),
    Figure("", "period", lambda s: s.profile.days, exactly(DAYS), exactly(DAYS), "days", (PERIOD,)),
    Figure("", "jobs per day", jobs_per_day, about(7200, 2), about(4400, 2), "", (SCALE,)),
    Figure("", "utilization", utilization, near(83, 2), near(85, 2)),
    Figure("", "shortest run before a preemption", shortest_before_preemption, above(2), above(2), "h"),
    Figure("", "longest attempt", lambda s: float(s.seconds.max(initial=0)) / HOUR, below(168), below(168), "h"),
    Figure("", "time between health checks", lambda s: s.profile.check_seconds / 60, exactly(5), exactly(5), "min"),
    Figure("", BY_CHECKS, requeued_under_their_id, above(100, "all"), above(100, "all")),
    *(Figure("3", f"attempts {name}", state_share(name), _points(paper), None) for name, paper in STATE_SHARES.items()),
    Figure("3", "attempts failed by infrastructure", failed_by_infrastructure, near(0.2, 0.1), None),
    Figure("3", "their GPU time", partial(failed_by_infrastructure, of_time=True), near(18.7, 0.5), None, needs=WHOLE),
    Figure("3", SAW_FAILED_CHECK, lambda s: share(s.saw_failed_check[s.state == COMPLETED]), below(1), below(1)),
    Figure("4", LEADING, leading_causes, between(4, 4, "they lead"), None, "", WHOLE),
    Figure("4", "failures without a cause", lambda s: share(showing(s, UNATTRIBUTED)), above(10, "many"), None),
    Figure("4", "PCIe errors with Xid 79", lambda s: with_xid_79(s, False), near(43, 2), near(63, 2)),
    Figure("4", "with Xid 79 and a critical interrupt", lambda s: with_xid_79(s, True), near(21, 2), near(49, 2)),
    Figure("4", "InfiniBand failures with a GPU failure", with_gpu_failure, near(2, 2), near(6, 2)),
    Figure("4", "hardware failures with a co-occurring event", with_other_category, near(3, 2), near(5, 2)),
    Figure("5", f"Xid errors: {OF_30_DAYS}", xid_burst, DRIVER, None, "times", WHOLE),
    Figure("5", f"GSP timeouts: {OF_30_DAYS}", lambda s: xid_burst(s, {119, 120}), PATCHED, None, "times", WHOLE),
    Figure(
        "5",
        f"InfiniBand failures: {OF_30_DAYS}",
        lambda s: burst(s, showing(s, "ib_link")),
        SUMMER,
        None,
        "times",
        WHOLE,
    ),
    Figure("5", f"InfiniBand faults of {WINDOW}", of_few_nodes, above(50, "a handful of nodes"), None, needs=WHOLE),
    Figure("5", "mount faults before their check", lambda s: mount_faults(s, False), BEFORE_CHECK, None, "", WHOLE),
    Figure("5", "mount faults since their check", lambda s: mount_faults(s, True), SINCE_CHECK, None, "", WHOLE),
    Figure("6", "jobs of 1 GPU", lambda s: sized(s, 0, 1, False), above(40), None),
    Figure("6", "jobs of at most 8 GPUs", lambda s: sized(s, 0, 8, False), above(90), None),
    Figure("6", "their GPU time", lambda s: sized(s, 0, 8, True), below(10), None, needs=(SCALE,)),
    Figure("6", "jobs of 4,096 GPUs", lambda s: sized(s, 2048, 4096, False), below(1), None, needs=(SCALE,)),
    Figure("6", "their GPU time", lambda s: sized(s, 2048, 4096, True), near(12, 2), None, needs=(SCALE,)),
    Figure("6", LARGE_TIME, lambda s: sized(s, 255, 10**6, True), near(66, 2), near(52, 2), needs=(SCALE,)),
    Figure("7", RATE, failure_rate, about(6.50, 5), about(2.34, 5), RATE_UNIT),
    Figure("8", "lost goodput that is second order", second_order_loss, near(16, 2), None, needs=WHOLE),
    Figure("8", LARGE_LOSS, loss_of_large_jobs, above(50, "mostly"), None, needs=WHOLE),
    Figure("8", "crash loop of 1,024 GPUs: requeues", lambda s: crash_loop(s)[0], exactly(35), None, "", WHOLE),
    Figure("8", "crash loop of 1,024 GPUs: preemptions", lambda s: crash_loop(s)[1], VICTIMS, None, "", WHOLE),
    Figure("9", ETTR, ettr, above(0.9), None, "", WHOLE),
    Figure("11", "lemon nodes", lambda s: int(s.is_lemon.sum()), exactly(24), exactly(16), "", (SCALE,)),
    # The paper gives these shares to a tenth. A tolerance of two points would accept any fleet.
    Figure("11", "lemons' share of the fleet", lemon_share, near(1.2, 0.2), near(1.7, 0.2), needs=(SCALE,)),
    Figure("11", "lemons' share of daily jobs", daily_jobs_on_lemons, near(13, 2), None, needs=(SCALE,)),
    Figure("11", LARGE_FAILED, large_jobs_failing, near(14, 2), None, needs=WHOLE),
    Figure("11", f"{LARGE_FAILED}, not by a lemon", failing_by_others, near(4, 2), None, needs=WHOLE),
)


def part_of(seen: Observed) -> Part:
    """Return whether the simulated cluster has all nodes and all days of the paper's."""
    return Part(seen.profile.node_count >= NODES[seen.profile.cluster_id], seen.profile.days >= DAYS)


def calibrate(seen: Observed) -> list[Row]:
    """Compare what the logs of a cluster show with the paper's values."""
    cluster, part = seen.profile.cluster_id, part_of(seen)
    of_cluster = [(figure, getattr(figure, cluster)) for figure in FIGURES]
    return [
        judged((figure.figure, figure.quantity, cluster), figure.measure(seen), band, figure.unit, figure.needs, part)
        for figure, band in of_cluster
        if band is not None
    ]


LOWER = Band("lower", -math.inf, math.nextafter(0, -1), "below 0")
MORE = Band("more", math.nextafter(0, 1), math.inf, "above 0")
ABOUT_THREE = between(2, 4, "lower by about three times")


class Totals(NamedTuple):
    """What the comparison of the clusters needs of one. Shares are in percent, rates per GPU-hour."""

    part: Part
    job_count: int
    gpu_hours: float
    states: list[Estimate]
    infrastructure: Estimate
    infrastructure_time: Estimate
    attributed_rate: Estimate
    one_gpu_jobs: Estimate
    lost_gpu_hours: float
    loss_peak_gpus: int
    root_causes: Counter[str]


def total(seen: Observed) -> Totals:
    """Compute the totals of a cluster. Its loss peaks at the size bin that lost most goodput."""
    gpu_hours = float(seen.gpu_seconds.sum()) / HOUR
    lost, _, size = lost_gpu_hours(seen)
    bins, of = np.unique(size, return_inverse=True)
    return Totals(
        part_of(seen),
        int((seen.state != PENDING).sum()),
        gpu_hours,
        [state_share(name)(seen) for name in STATES],
        failed_by_infrastructure(seen),
        failed_by_infrastructure(seen, True),
        rate(seen.incident[~showing(seen, UNATTRIBUTED)], gpu_hours),
        sized(seen, 0, 1, False),
        float(lost.sum()),
        int(bins[np.bincount(of, lost, minlength=1).argmax()]) if len(bins) else 0,
        Counter(lemon.root_cause.casefold() for lemon in seen.profile.lemon_nodes.values()),
    )


def compare(first: Totals, second: Totals) -> list[Row]:
    """Compare RSC-1 and RSC-2 with what the paper says about both."""
    parts = first.part, second.part
    part = Part(all(each.has_all_nodes for each in parts), all(each.has_all_days for each in parts))
    gaps = [difference(b, a) for a, b in zip(first.states, second.states, strict=True)]
    gap = max(gaps, key=lambda found: abs(found.value))
    furthest = Estimate(abs(gap.value), gap.error)
    fewer = difference(second.infrastructure, first.infrastructure)
    less = difference(second.infrastructure_time, first.infrastructure_time)
    lower = quotient(first.attributed_rate, second.attributed_rate)
    more = difference(second.one_gpu_jobs, first.one_gpu_jobs)
    lost = quotient(Estimate(first.lost_gpu_hours), Estimate(second.lost_gpu_hours))
    jobs, hours = first.job_count + second.job_count, first.gpu_hours + second.gpu_hours
    against = (
        ("3", "largest difference of a state's share", furthest, below(5, "similar"), "points", ()),
        ("3", "attempts failed by infrastructure, difference", fewer, LOWER, "points", ()),
        ("3", "their GPU time, difference", less, LOWER, "points", (SCALE,)),
        ("4", "failures with a cause per GPU-hour, how much lower", lower, ABOUT_THREE, "times", ()),
        ("6", "jobs of 1 GPU, difference", more, MORE, "points", ()),
        ("8", "lost goodput, how much less", lost, between(5, 20, "ten times less"), "times", WHOLE),
        ("8", "size that loses most goodput", second.loss_peak_gpus, between(16, 1024, "mid sizes"), "GPUs", WHOLE),
    )
    causes = first.root_causes + second.root_causes
    lemons = {f"{cause} lemons": (causes[cause.casefold()], n) for cause, n in ROOT_CAUSES.items()}
    return [
        judged(("", "jobs", "both"), jobs, about(4_000_000, 5), "", WHOLE, part),
        judged(("", "GPU-hours", "both"), hours, above(150_000_000), "", WHOLE, part),
        *(judged((figure, name, "rsc2 to rsc1"), *rest, part) for figure, name, *rest in against),
        *(judged(("II", name, "both"), seen, exactly(n), "", (SCALE,), part) for name, (seen, n) in lemons.items()),
    ]


def calibrate_profile(seed: int, profile: Profile) -> tuple[list[Row], Totals]:
    """Simulate a cluster in memory, as its logs would show it, and compare it with the paper."""
    rng = np.random.default_rng([seed, *profile.cluster_id.encode()])
    seen = Observed(profile, simulate_cluster(profile, rng, lambda share: None))
    return calibrate(seen), total(seen)


def calibrate_clusters(scale: float, days: int | None, seed: int) -> list[Row]:
    """Simulate both clusters side by side and give all rows. `scale` and `days` ask for a part of them."""
    profiles = [read_cluster(cluster).resized(days, scale) for cluster in NODES]
    with ProcessPoolExecutor(len(profiles), get_context("spawn")) as pool:
        (first, first_total), (second, second_total) = pool.map(partial(calibrate_profile, seed), profiles)
    return first + second + compare(first_total, second_total)
