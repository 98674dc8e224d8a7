"""Rows about failures: causes and co-occurrence (Figure 4), course over time (Figure 5), rate (Figure 7)."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from assets.simulation.causes import CAUSES, UNATTRIBUTED
from assets.simulation.profiles import DAY
from tests.calibration import paper
from tests.calibration.estimates import Estimate, rate, share
from tests.calibration.observed import BoolArray, Observed
from tests.calibration.paper import Paper
from tests.calibration.rows import WHOLE, Sheet, about, above, between, near

HARDWARE = {
    "pcie",
    "gpu_memory",
    "gpu_nvlink",
    "gpu_unavailable",
    "ib_link",
    "block_device",
    "main_memory",
    "host_hardware",
    "eth_link",
}
SOMETIMES_HARDWARE = {"system_services"}
"""Hardware is one of its possible causes in Table I."""
GPU = {"gpu_memory", "gpu_nvlink", "gpu_unavailable", "gpu_driver_firmware"}
PCIE_SIGNATURE = {"pcie", "gpu_unavailable"}
"""Xid 79 and the critical interrupt are how a PCIe error shows itself."""
MIN_UNATTRIBUTED = 10.0
WINDOW_DAYS = 30
BURST = 2.0
XID_BURST = 1.5
"""All Xids together are more frequent than one kind of failure, so their burst stands out less."""
MIN_IN_BURST = 10
FEW_NODES, MIN_SHARE_OF_FEW_NODES = 5, 50.0
MOUNT_CHECK = "mounted directory"


def write_causes(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 4: the leading causes, the failures without a cause, and co-occurrence."""
    category = seen.failures.category
    if words.has_course:
        names, counts = np.unique(category[category != UNATTRIBUTED].astype(str), return_counts=True)
        leaders = names[np.argsort(-counts, kind="stable")][: len(paper.LEADING_CAUSES)]
        found = len(set(leaders.tolist()) & set(paper.LEADING_CAUSES))
        lead = Estimate(found, counted=", ".join(leaders.tolist()))
        quantity = "of the four leading causes, those that are InfiniBand, mounts, GPU memory or PCIe"
        sheet.write("4", quantity, lead, between(4, 4, "they lead"), unit="", needs=WHOLE)
        without = share(category == UNATTRIBUTED)
        sheet.write("4", "failures without a cause", without, above(MIN_UNATTRIBUTED, "many"))
    own = ~seen.failures.is_chance
    fault = np.unique(seen.failures.fault[own])  # a fault that ends many jobs of one node is one error
    cause = np.array([cause.category for cause in CAUSES], object)[seen.ledger.faults["cause"][fault]]
    evidence = seen.evidence
    is_pcie, is_ib = cause == "pcie", cause == "ib_link"
    with_79 = evidence.has_xid_79[fault[is_pcie]]
    with_both = with_79 & evidence.has_interrupt[fault[is_pcie]]
    sheet.write("4", "PCIe errors with Xid 79", share(with_79), near(words.pcie_with_xid_79, 2))
    sheet.write("4", "with Xid 79 and a critical interrupt", share(with_both), near(words.pcie_with_interrupt, 2))
    with_gpu = np.array([bool(GPU & _others(seen, row)) for row in fault[is_ib].tolist()], np.bool_)
    sheet.write("4", "InfiniBand failures with a GPU failure", share(with_gpu), near(words.ib_with_gpu, 2))
    is_hardware = np.isin(cause.astype(str), list(HARDWARE))
    shown = zip(fault[is_hardware].tolist(), cause[is_hardware].tolist(), strict=True)
    with_other = np.array([bool(_companions(seen, row, name)) for row, name in shown], np.bool_)
    sheet.write(
        "4", "hardware failures with a co-occurring event", share(with_other), near(words.hardware_with_other, 2)
    )


def _others(seen: Observed, fault: int) -> set[str]:
    return set(seen.ledger.symptoms[fault].others)


def _companions(seen: Observed, fault: int, cause: str) -> set[str]:
    """Return the other categories that a fault shows and that hardware can cause."""
    own = PCIE_SIGNATURE if cause == "pcie" else {cause}
    return (_others(seen, fault) & (HARDWARE | SOMETIMES_HARDWARE)) - own


def _incident_days(seen: Observed, chosen: BoolArray) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the day and the node of each fault that failed attempts, once per fault."""
    _, first = np.unique(seen.failures.fault[chosen], return_index=True)
    ends = seen.end[seen.failures.attempt[chosen][first]]
    return (ends // DAY).clip(0, seen.profile.days - 1), seen.failures.node[chosen][first]


def peak(days: NDArray[np.int64], period: int) -> tuple[float, int]:
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


def write_course(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 5: bursts, as the strongest 30 days over the median ones, and the check that was introduced."""
    if not words.has_course:
        return
    failures, period = seen.failures, seen.profile.days
    bursts = (
        ("Xid errors", "driver burst in late 2023", XID_BURST, seen.evidence.has_xid[failures.fault]),
        ("GSP timeouts", "regression, then patched", BURST, seen.evidence.has_gsp_xid[failures.fault]),
        ("InfiniBand failures", "burst in summer 2024", BURST, failures.category == "ib_link"),
    )
    for name, story, minimum, chosen in bursts:
        height, first = peak(_incident_days(seen, chosen)[0], period)
        begun = seen.profile.first_day + timedelta(days=first)
        found = Estimate(height, counted=f"from {begun}")
        quantity = f"{name}: strongest 30 days over the median 30 days"
        sheet.write("5", quantity, found, above(minimum, story), unit="times", needs=WHOLE)
    days, nodes = _incident_days(seen, failures.category == "ib_link")
    first = peak(days, period)[1]
    struck = np.bincount(nodes[(days >= first) & (days < first + WINDOW_DAYS)], minlength=1)
    few, total = int(np.sort(struck)[::-1][:FEW_NODES].sum()), int(struck.sum())
    of_few = Estimate(100 * few / total if total else np.nan, counted=f"{few} of {total}")
    quantity = f"InfiniBand faults of these 30 days on {FEW_NODES} nodes"
    sheet.write("5", quantity, of_few, above(MIN_SHARE_OF_FEW_NODES, "a handful of nodes"), needs=WHOLE)
    _write_mount_check(sheet, seen)


def _write_mount_check(sheet: Sheet, seen: Observed) -> None:
    introduced = dict(seen.profile.checks_introduced).get(MOUNT_CHECK)
    found = (seen.failures.category == "filesystem_mount") & ~seen.failures.is_chance
    days = _incident_days(seen, found)[0]
    before = int((days < introduced).sum()) if introduced is not None else np.nan
    after = int((days >= introduced).sum()) if introduced is not None else np.nan
    story = "check introduced midway"
    begun = "" if introduced is None else f"check from day {introduced}"
    seen_before, seen_after = Estimate(before, counted=begun), Estimate(after, counted=begun)
    sheet.write("5", "mount faults before their check", seen_before, between(0, 0, story), unit="", needs=WHOLE)
    sheet.write("5", "mount faults since their check", seen_after, above(1, story), unit="", needs=WHOLE)


def write_failure_rate(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 7: the failure rate of jobs over 128 GPUs."""
    large = seen.gpus > 128
    chosen = large[seen.failures.attempt]
    found = rate(seen.incident[chosen], float(seen.node_days[large].sum()), 1000)
    quantity = "failure rate r_f of jobs over 128 GPUs"
    sheet.write("7", quantity, found, about(words.failure_rate, 5), unit="per 1,000 node-days")
