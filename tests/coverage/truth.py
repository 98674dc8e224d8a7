"""What was planted in a cluster, as JSON can hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

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
REFERENCE_GPUS = 128


def planted(happenings: Happenings, results: list[Result], lines: list[KernelLine]) -> dict[str, Any]:
    """Return attempts with what ended them, faults, rates and months.

    `planted_per_1000_node_days` is what the processes that made the data expect on the exposure there was, `all`
    counting every attempt's own node-days. A fault without any trace is in `unseen_share`, not in the visible rate.
    """
    site = happenings.site
    signs = _onsets(happenings, results)
    for line in lines:
        if line.category != "user":
            signs.setdefault(line.node, []).append(line.at)
    attempts = [_attempt(happenings, a, signs) for a in happenings.attempts if is_exported(a, happenings)]
    return {
        "cluster_id": site.name,
        "first": happenings.first,
        "last": happenings.last,
        "attempts": attempts,
        "faults": [
            {
                "at": fault.at,
                "nodes": [node_name(site, node) for node in fault.nodes],
                "failure_category": fault.category,
                "state": fault.state,
                "is_silent": fault.is_silent,
            }
            for fault in happenings.faults
        ],
        "lemons": [node_name(site, node) for node in happenings.lemons],
        "months": [{"from": a, "to": b, "factor": f} for a, b, f in happenings.months],
        "unseen_share": (1 - site.node_fail_share) * site.unseen_share,
        "planted_per_1000_node_days": {
            "gpus_gt_128": _rate(happenings, REFERENCE_GPUS),
            "all": _rate(happenings, 0),
        },
    }


def _onsets(happenings: Happenings, results: list[Result]) -> dict[int, list[float]]:
    """First failures of a check after a run that was well, by node."""
    last_failure: dict[tuple[int, str], float] = {}
    onsets: dict[int, list[float]] = {}
    for result in results:
        if result.is_failure:
            key = result.node, result.category
            if result.at - last_failure.get(key, -np.inf) > 1.5 * happenings.site.check_period:
                onsets.setdefault(result.node, []).append(result.at)
            last_failure[key] = result.at
    return onsets


def _attempt(happenings: Happenings, attempt: Attempt, signs: dict[int, list[float]]) -> dict[str, Any]:
    is_over = attempt.ended < happenings.last
    has_evidence = is_over and any(
        -BEFORE_SECONDS <= at - attempt.ended <= AFTER_SECONDS and at >= attempt.started
        for node in attempt.nodes
        for at in signs.get(node, ())
    )
    fault = None if attempt.fault is None or not is_over else happenings.faults[attempt.fault]
    struck = set(fault.nodes) & set(attempt.nodes) if fault else set()
    has_own = fault is not None and any(
        -BEFORE_SECONDS <= at - attempt.ended <= AFTER_SECONDS and at >= fault.at - 60
        for node in struck
        for at in signs.get(node, ())
    )
    return {
        "job_id_raw": attempt.job.number,
        "started": int(attempt.started),
        "ended": int(attempt.ended) if is_over else None,
        "state": attempt.state if is_over else "RUNNING",
        "node_count": attempt.job.node_count,
        "gpu_count": attempt.job.gpus,
        "node_days": _node_days(attempt, happenings),
        "is_planned_end": is_over and attempt.is_planned_end,
        "fault": attempt.fault if fault else None,
        "nodes_struck": sorted(node_name(happenings.site, node) for node in struck),
        "failure_category": fault.category if fault else None,
        "has_evidence_in_window": has_evidence,
        "left_evidence": has_own,
    }


def _node_days(attempt: Attempt, happenings: Happenings) -> float:
    seconds = min(attempt.ended, happenings.last) - max(attempt.started, happenings.first)
    return max(0.0, seconds) * attempt.job.node_count / DAY


def exposed(
    happenings: Happenings, attempt: Attempt, since: float = -np.inf, until: float = np.inf
) -> tuple[float, float, float]:
    """Return seconds of an attempt inside the export and a span, and the failures that the processes expect in them.

    The third number is the failures that an average month would bring.
    """
    site = happenings.site
    start, end = max(attempt.started, happenings.first, since), min(attempt.ended, happenings.last, until)
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


def _rate(happenings: Happenings, more_than_gpus: int) -> dict[str, float]:
    """Faults that the planted processes expect to end attempts of a population, over their node-days."""
    site = happenings.site
    expected = exposure = 0.0
    failures = 0
    for attempt in happenings.attempts:
        if attempt.job.gpus <= more_than_gpus or not is_exported(attempt, happenings):
            continue
        seconds, hazard, _ = exposed(happenings, attempt)
        expected += hazard
        exposure += seconds * len(attempt.nodes) / DAY
        failures += attempt.fault is not None and happenings.first <= attempt.ended < happenings.last
    visible = 1 - (1 - site.node_fail_share) * site.unseen_share
    per = 1000 / exposure if exposure else float("nan")
    return {
        "rate": expected * per,
        "visible_rate": expected * per * visible,
        "observed_rate": failures * per,
        "failure_count": failures,
        "node_days": exposure,
    }
