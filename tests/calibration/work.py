"""Rows about the cluster and its work: nodes, jobs per day, rules, states (Figure 3), sizes (Figure 6)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assets.simulation.profiles import DAY, HOUR
from assets.simulation.states import COMPLETED, PENDING, PREEMPTED, REQUEUED, STATES
from tests.calibration import paper
from tests.calibration.estimates import Estimate, mean, ratio, share
from tests.calibration.observed import Observed
from tests.calibration.paper import Paper
from tests.calibration.rows import PERIOD, SCALE, WHOLE, Sheet, about, above, below, exactly, near


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


def write_cluster(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write the size and the load of the cluster."""
    profile = seen.profile
    gpus = words.node_count * paper.GPUS_PER_NODE
    sheet.write("", "nodes", profile.node_count, exactly(words.node_count), unit="", needs=(SCALE,))
    sheet.write("", "GPUs", profile.node_count * profile.gpus_per_node, exactly(gpus), unit="", needs=(SCALE,))
    sheet.write("", "GPUs per node", profile.gpus_per_node, exactly(paper.GPUS_PER_NODE), unit="")
    sheet.write("", "period", profile.days, exactly(paper.DAYS), unit="days", needs=(PERIOD,))
    submitted = seen.ledger.attempts["submit"][seen.state != PENDING]
    per_day = mean(np.bincount((submitted // DAY).clip(0, profile.days - 1), minlength=profile.days))
    sheet.write("", "jobs per day", per_day, about(words.jobs_per_day, 2), unit="", needs=(SCALE,))
    capacity = np.full(profile.days, profile.gpu_seconds / profile.days)
    sheet.write("", "utilization", ratio(daily_gpu_seconds(seen), capacity, 100), near(words.utilization, 2))


def write_rules(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write the rules of the scheduler and of the health checks, which both clusters share."""
    preempted = seen.seconds[seen.state == PREEMPTED] / HOUR
    shortest = float(preempted.min()) if len(preempted) else np.nan
    found = Estimate(shortest, counted=f"{len(preempted):,} preemptions")
    sheet.write("", "shortest run before a preemption", found, above(paper.PROTECTED_HOURS), unit="h")
    longest = float(seen.seconds.max(initial=0)) / HOUR
    sheet.write("", "longest attempt", longest, below(paper.MAX_HOURS), unit="h")
    minutes = seen.profile.check_seconds / 60
    sheet.write("", "time between health checks", minutes, exactly(paper.CHECK_MINUTES), unit="min")
    failed = seen.ledger.failures["attempt"]
    killed = failed[seen.state[failed] == REQUEUED]
    back = share(seen.ledger.attempts["requeued_at"][killed] >= 0)
    sheet.write("", "attempts ended by a check's remedy that are requeued under their id", back, above(100, "all"))


def points(expected: float) -> float:
    """Return the tolerance for Figure 3: half a point, or half of the share if that is smaller."""
    return min(0.5, expected / 2)


def write_states(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 3: states of attempts, infrastructure failures, and completed attempts with a failed check."""
    states = seen.state[seen.is_ended]
    for name, expected in words.states.items():
        sheet.write("3", f"attempts {name}", share(states == STATES.index(name)), near(expected, points(expected)))
    if words.infrastructure is not None:
        of_attempts, of_time = words.infrastructure
        failed, time = seen.is_failed[seen.is_ended], seen.gpu_seconds[seen.is_ended]
        sheet.write("3", "attempts failed by infrastructure", share(failed), near(of_attempts, points(of_attempts)))
        sheet.write("3", "their GPU time", share(failed, time), near(of_time, points(of_time)), needs=WHOLE)
    saw = share(seen.saw_failed_check[seen.state == COMPLETED])
    quantity = "COMPLETED attempts that saw a failed check"
    sheet.write("3", quantity, saw, below(paper.MAX_COMPLETED_WITH_FAILED_CHECK))


def write_sizes(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 6: shares of jobs and of GPU time by size."""
    kept = seen.is_ended & seen.is_started
    gpus, time = seen.gpus[kept], seen.gpu_seconds[kept]
    if words.sizes is not None:
        sizes, is_small, is_4k = words.sizes, gpus <= paper.GPUS_PER_NODE, (gpus > 2048) & (gpus <= 4096)
        sheet.write("6", "jobs of 1 GPU", share(gpus == 1), above(sizes.min_one_gpu_jobs))
        sheet.write("6", "jobs of at most 8 GPUs", share(is_small), above(sizes.min_one_node_jobs))
        sheet.write("6", "their GPU time", share(is_small, time), below(sizes.max_one_node_time), needs=(SCALE,))
        sheet.write("6", "jobs of 4,096 GPUs", share(is_4k), below(sizes.max_largest_jobs), needs=(SCALE,))
        sheet.write("6", "their GPU time", share(is_4k, time), near(sizes.largest_time, 2), needs=(SCALE,))
    large = share(gpus >= 256, time)
    sheet.write("6", "GPU time of jobs of 256 GPUs and more", large, near(words.large_time, 2), needs=(SCALE,))
