"""The results of health checks and the kernel lines for a cluster's faults and false alarms.

Each check runs on each node once a period, at its own offset. A fault or a false alarm makes a check fail from one
moment to another: every run between them fails, and the first one is up to a period late.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tests.coverage.happenings import CATEGORIES, Happenings

SECONDS_OF_RUN = 0.4
OK_EVERY_SECONDS = 24 * 3600

SECOND_CATEGORY = {
    "gpu_unavailable": "pcie",
    "gpu_memory": "gpu_unavailable",
    "gpu_nvlink": "gpu_unavailable",
    "ib_link": "filesystem_mount",
    "pcie": "gpu_unavailable",
    "filesystem_mount": "ib_link",
}
"""The second check that sees a category."""


@dataclass(frozen=True)
class Result:
    """One run of the check of a category on a node."""

    at: float
    node: int
    category: str
    is_failure: bool


@dataclass(frozen=True)
class KernelLine:
    """One message of a node's kernel. The category `user` means an error of a user's program."""

    at: float
    node: int
    category: str


def _phases(happenings: Happenings, rng: Generator) -> np.ndarray:
    """Return when each check of each node runs first, by node, then category."""
    return rng.random((happenings.site.node_count, len(CATEGORIES))) * happenings.site.check_period


def _runs(phase: float, period: float, start: float, end: float, first: float) -> np.ndarray:
    """Return the moments of a check's runs in [start, end)."""
    low = np.ceil((start - first - phase) / period)
    high = np.ceil((end - first - phase) / period)
    return first + phase + period * np.arange(low, high)


def _spans(happenings: Happenings, rng: Generator) -> list[tuple[int, str, float, float, bool]]:
    """Return node, category, from, to, and whether at least one run must see it."""
    site = happenings.site
    spans = []
    for fault in happenings.faults:
        if fault.is_silent:
            continue
        for node in fault.nodes:
            spans.append((node, fault.category, fault.at, fault.repaired, False))
            if rng.random() < site.second_check_share:
                late = rng.uniform(0, 120)
                spans.append((node, SECOND_CATEGORY[fault.category], fault.at + late, fault.repaired, False))
    for alarm in happenings.alarms:
        if not alarm.is_kernel:
            spans.append((alarm.node, alarm.category, alarm.start, alarm.end, True))
            if alarm.has_second:
                spans.append((alarm.node, SECOND_CATEGORY[alarm.category], alarm.start, alarm.end, True))
    return spans


def check_results(happenings: Happenings, rng: Generator) -> list[Result]:
    """Return the results that the site keeps, in order of time."""
    site, first, last = happenings.site, happenings.first, happenings.last
    if site.health == "none":
        return []
    phases = _phases(happenings, rng)
    place = {category: i for i, category in enumerate(CATEGORIES)}
    failed: set[tuple[int, str, float]] = set()
    for node, category, start, end, is_seen in _spans(happenings, rng):
        phase = phases[node, place[category]]
        runs = _runs(phase, site.check_period, start, end, first)
        if is_seen and not len(runs):
            runs = _runs(phase, site.check_period, start, start + site.check_period, first)
        failed.update((node, category, float(at)) for at in runs if first <= at < last)
    results = [Result(at, node, category, True) for node, category, at in failed]
    if site.reported == "changes":
        after = {(node, category, at + site.check_period) for node, category, at in failed}
        results += [Result(at, node, category, False) for node, category, at in after - failed if at < last]
    if site.reported != "failures":
        results += _regular_successes(happenings, phases, failed)
    return sorted(results, key=lambda result: (result.at, result.node, result.category))


def _regular_successes(happenings: Happenings, phases: np.ndarray, failed: set) -> list[Result]:
    """Return all successes of the first check if the site keeps all, else one of each check a day."""
    site, first, last = happenings.site, happenings.first, happenings.last
    results = []
    for node in range(site.node_count):
        for i, category in enumerate(CATEGORIES):
            every = site.check_period if site.reported == "all" and i == 0 else OK_EVERY_SECONDS
            runs = _runs(phases[node, i], site.check_period, first, last, first)[:: int(every / site.check_period)]
            results += [
                Result(float(at), node, category, False) for at in runs if (node, category, float(at)) not in failed
            ]
    return results


def kernel_lines(happenings: Happenings, rng: Generator) -> list[KernelLine]:
    """Return the kernel lines in order of time: faults, false alarms, and errors of users' programs."""
    site = happenings.site
    if not site.has_kernel:
        return []
    lines = []
    for fault in happenings.faults:
        if not fault.is_silent:
            lines += [
                KernelLine(fault.at + rng.normal(0, 3), node, fault.category)
                for node in fault.nodes
                if rng.random() < site.kernel_share
            ]
    lines += [KernelLine(alarm.start, alarm.node, alarm.category) for alarm in happenings.alarms if alarm.is_kernel]
    for attempt in happenings.attempts:
        if attempt.state == "FAILED" and attempt.fault is None and rng.random() < 0.1:
            lines.append(KernelLine(attempt.ended - rng.uniform(0, 5), attempt.nodes[0], "user"))
    kept = [line for line in lines if happenings.first <= line.at < happenings.last]
    return sorted(kept, key=lambda line: (line.at, line.node))
