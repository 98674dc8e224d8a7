"""What happened, as tables: the only thing the log writers and the truth are made from.

Times are seconds since the first day's midnight; -1 means not (yet), never, or nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy import int8, int32, int64
from numpy.typing import NDArray

from assets.simulation.columns import Columns

IntArray = NDArray[np.int64]


@dataclass
class Symptoms:
    """What a fault lets be seen: kernel lines with their offset from the fault in seconds, failing checks, a reason."""

    kernel: list[tuple[float, str]] = field(default_factory=list)
    checks: list[tuple[str, str]] = field(default_factory=list)
    reason: str = "Not responding"


class Ledger:
    """Everything the simulation leaves behind.

    Attributes
    ----------
    runs
        One row per logical piece of work.
    jobs
        One row per job id, in order of submission.
    attempts
        One row per allocation, and per job that was cancelled or is still waiting without one; `nodes`, `masks`
        hold each attempt's nodes and GPUs under the same row number.
    faults
        One row per fault; `symptoms` under the same row number.
    failures
        One row per attempt that a fault ended.
    outages
        One row per interval of a node out of service with one state and reason; `reasons` under the same row number.
    """

    def __init__(self) -> None:
        self.runs = Columns(
            {int32: "user gpus segments_left retries", int64: "segment_seconds limit", int8: "qos"},
            flags="can_requeue failed_by_fault",
        )
        self.run_names: list[str] = []
        self.jobs = Columns(
            {
                int64: "job_id run limit left submit eligible first_submit array_id",
                int32: "user gpus attempts array_task app_xid exit_code exit_signal",
                int8: "qos outcome",
            },
            flags="can_requeue",
        )
        self.excludes: list[tuple[int, ...]] = []
        self.attempts = Columns(
            {
                int64: "job submit eligible start end productive requeued_at",
                int32: "number exit_code exit_signal app_xid",
                int8: "state",
            },
            flags="backfilled",
        )
        self.nodes: list[IntArray] = []
        self.masks: list[IntArray] = []
        self.faults = Columns(
            {int64: "at detected cleared incident epilog_job checks_from", int32: "node cause", int8: "mechanism gpu"},
            flags="is_permanent is_shared has_evidence",
        )
        self.symptoms: list[Symptoms] = []
        self.failures = Columns({int64: "attempt fault at", int32: "node"})
        self.preemptions = Columns({int64: "victim instigator at"}, flags="is_named is_second_order")
        self.outages = Columns(
            {int64: "requested start end fault ticket", int32: "node"}, flags="is_down is_silent by_slurm is_planned"
        )
        self.reasons: list[str] = []
        self.reboots = Columns({int64: "at", int32: "node"})

    def used_gpu_seconds(self, horizon: int) -> float:
        """Sum allocated GPUs times seconds over all attempts."""
        starts, ends = self.attempts["start"], self.attempts["end"]
        seconds = np.where(starts >= 0, np.where(ends >= 0, ends, horizon) - starts, 0).clip(0)
        return float((seconds * self.jobs["gpus"][self.attempts["job"]]).sum())
