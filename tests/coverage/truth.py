"""The planted truth of a cluster: failures in the form of `tests/truth`, and the expected numbers of the processes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from tests.coverage.checks import SECOND_CATEGORY, KernelLine, Result
from tests.coverage.happenings import (
    DAY,
    KERNEL_ALARM_SHARE,
    SECOND_ALARM_SHARE,
    Attempt,
    Happenings,
    node_name,
)
from tests.coverage.logs import is_exported

BEFORE_SECONDS = 600
AFTER_SECONDS = 300


@dataclass(frozen=True)
class Expected:
    """The expected numbers of the planted processes for one data set, by population and by size bin."""

    cluster_id: str
    kind: str
    attempts: pd.DataFrame
    """gpu_count, gpu_size_bin, hours, node_days and expected failures of every exported attempt.

    `usual` has the failures of an average month, and `of_last_week` the failures of the last seven days.
    """
    chance_ratio: dict[str, float]
    """Share of the failed attempts with a false alarm of each category in their window."""
    lemons: frozenset[str]
    month_cv: float
    machines: tuple[float, float]
    """Physical node-days in use, and the expected number of failed nodes in them."""

    def rate(self, population: str) -> tuple[float, float]:
        """Return failures per 1,000 node-days of a population, and its expected failures."""
        rows = self.attempts[self.attempts["gpu_count"] > 128] if population == "gpus_gt_128" else self.attempts
        return 1000 * rows["expected"].sum() / rows["node_days"].sum(), rows["expected"].sum()

    def of_size(self, size: int | None) -> tuple[float, float]:
        """Return hours and expected failures of a size bin, or of all attempts if no attempt has that size."""
        rows = self.attempts[self.attempts["gpu_size_bin"] == size]
        rows = rows if len(rows) else self.attempts
        return rows["hours"].sum(), rows["expected"].sum()


def expected_of(kind: str, happenings: Happenings) -> Expected:
    """Return the expected numbers of a history."""
    rows, of_failed = [], []
    for attempt in happenings.attempts:
        if is_exported(attempt, happenings):
            seconds, failures, usual = exposed(happenings, attempt)
            nodes, gpus = len(attempt.nodes), attempt.job.gpus
            rows.append((gpus, 1 << (gpus - 1).bit_length(), seconds / 3600, seconds / DAY * nodes, failures, usual))
            if attempt.state in ("FAILED", "REQUEUED", "NODE_FAIL") and attempt.ended < happenings.last:
                of_failed.append(chances(happenings, attempt))
    return Expected(
        cluster_id=happenings.site.name,
        kind=kind,
        attempts=pd.DataFrame(rows, columns=["gpu_count", "gpu_size_bin", "hours", "node_days", "expected", "usual"]),
        chance_ratio=pd.DataFrame(of_failed).mean().to_dict(),
        lemons=frozenset(node_name(happenings.site, node) for node in happenings.lemons),
        month_cv=happenings.site.month_cv,
        machines=machines(happenings),
    )


def signs_of(happenings: Happenings, results: list[Result], lines: list[KernelLine]) -> dict[int, list[float]]:
    """Return by node when a check failed first after a good run, or when the kernel logged a fault."""
    signs: dict[int, list[float]] = {}
    last_failure: dict[tuple[int, str], float] = {}
    for result in results:
        if result.is_failure:
            key = result.node, result.category
            if result.at - last_failure.get(key, -np.inf) > 1.5 * happenings.site.check_period:
                signs.setdefault(result.node, []).append(result.at)
            last_failure[key] = result.at
    for line in lines:
        if line.category != "user":
            signs.setdefault(line.node, []).append(line.at)
    return signs


def failures_of(happenings: Happenings, results: list[Result], lines: list[KernelLine]) -> tuple[list, list]:
    """Return rows of `truth.failures` and `truth.broken_beside`, without attempts that ended after the export."""
    signs = signs_of(happenings, results, lines)
    failures, neighbours = [], []
    for attempt in happenings.attempts:
        if attempt.fault is None or attempt.ended >= happenings.last or not is_exported(attempt, happenings):
            continue
        fault = happenings.faults[attempt.fault]
        struck = sorted(set(fault.nodes) & set(attempt.nodes))
        has_evidence = is_in_window(attempt, struck, signs, since=fault.at - 60)
        name = f"{happenings.site.name}:{attempt.job.number}:{int(attempt.submitted)}"
        names = [node_name(happenings.site, node) for node in struck]
        shown = fault.category if has_evidence else None
        failures.append((name, attempt.state, names[0], fault.category, shown, has_evidence, attempt.fault))
        neighbours += [(name, node, [fault.category, SECOND_CATEGORY[fault.category]]) for node in names]
    return failures, neighbours


def is_in_window(attempt: Attempt, nodes: list[int], signs: dict[int, list[float]], since: float) -> bool:
    """Return whether a node has a sign around the end of an attempt."""
    return any(
        -BEFORE_SECONDS <= at - attempt.ended <= AFTER_SECONDS and at >= since
        for node in nodes
        for at in signs.get(node, ())
    )


def exposed(happenings: Happenings, attempt: Attempt) -> tuple[float, float, float]:
    """Return seconds of an attempt inside the export, and the failures that the processes expect in them.

    The third number is the failures that an average month would have.
    """
    site = happenings.site
    start, end = max(attempt.started, happenings.first), min(attempt.ended, happenings.last)
    if end <= start:
        return 0.0, 0.0, 0.0
    factor_seconds = sum(f * max(0.0, min(end, b) - max(start, a)) for a, b, f in happenings.months)
    groups = np.unique(np.array(attempt.nodes) // site.nodes_per_switch, return_counts=True)[1]
    switches = site.switch_rate / 1000 / DAY * np.sum(1 - (1 - site.switch_reach) ** groups)
    hazard = happenings.hazards[attempt.nodes].sum() + switches
    return end - start, factor_seconds * hazard, (end - start) * hazard


def machines(happenings: Happenings) -> tuple[float, float]:
    """Return physical node-days in use inside the export, and the node-incidents that the processes expect in them.

    A node-incident is an incident and a node that is the culprit in it. A fault of a switch ends a job once, however
    many of the job's nodes it strikes: that is one culprit. A node that jobs share is one culprit for all of them.
    """
    site = happenings.site
    seconds = expected = 0.0
    stays_by_node: list[list[tuple[float, float]]] = [[] for _ in range(site.node_count)]
    for attempt in happenings.attempts:
        start, end = max(attempt.started, happenings.first), min(attempt.ended, happenings.last)
        if end <= start:
            continue
        if attempt.job.gpus < site.gpus_per_node:
            stays_by_node[attempt.nodes[0]].append((start, end))
        else:
            seconds += (end - start) * attempt.job.node_count
            expected += exposed(happenings, attempt)[1]
    struck_by_switch = site.switch_rate / 1000 / DAY * site.switch_reach
    for node, stays in enumerate(stays_by_node):
        until = happenings.first
        for begin, end in sorted(stays):
            start = max(begin, until)
            if end > start:
                seconds += end - start
                factor_seconds = sum(f * max(0.0, min(end, b) - max(start, a)) for a, b, f in happenings.months)
                expected += factor_seconds * (happenings.hazards[node] + struck_by_switch)
                until = end
    return seconds / DAY, expected


def chances(happenings: Happenings, attempt: Attempt) -> dict[str, float]:
    """Return the probability that a check of each category has a false alarm in the attempt's window."""
    seconds = min(attempt.ended - attempt.started, BEFORE_SECONDS) + AFTER_SECONDS
    alarms = happenings.alarm_rates[attempt.nodes].sum() * seconds
    of_checks = 1 - KERNEL_ALARM_SHARE if happenings.site.has_kernel else 1.0
    shares = dict(happenings.alarm_shares)
    for category, second in SECOND_CATEGORY.items():
        shares[second] += happenings.alarm_shares[category] * SECOND_ALARM_SHARE * of_checks
    return {category: float(-np.expm1(-alarms * share)) for category, share in shares.items()}
