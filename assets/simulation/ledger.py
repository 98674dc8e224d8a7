"""The ledger: everything that happened in a simulation, as tables. Logs and truth are written from it alone.

Times are seconds since the first day's midnight. -1 means not yet, never, or none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.columns import Columns, Ragged

NAME_BITS = 20
"""A run's name consists of a family and a number of this many bits."""


@dataclass
class Symptoms:
    """What a fault shows: kernel lines with their offset from the fault in seconds, failing checks, and a reason."""

    kernel: list[tuple[float, str]] = field(default_factory=list)
    checks: list[tuple[str, str]] = field(default_factory=list)
    reason: str = "Not responding"
    others: tuple[str, ...] = ()


class Ledger:
    """All tables of a simulation. The writers get it frozen, with numpy arrays as columns.

    Attributes
    ----------
    runs
        One row per logical piece of work; `name` is the family's number shifted by `NAME_BITS`, plus a number.
    jobs
        One row per job id, in order of submission.
    excludes
        The nodes that a job's submission excluded, for the jobs that excluded any.
    attempts
        One row per allocation, and per job that was cancelled or is still waiting without one. `nodes` holds each
        attempt's nodes under the same row number; `mask` the GPUs it has on each of them, as bits.
    faults
        One row per fault; `symptoms` under the same row number.
    failures
        One row per attempt that a fault ended.
    planned_ends
        One row per attempt that planned maintenance ended.
    hidden_ends
        One row per attempt that a hidden fault of a node ends, unless something else ends it first.
    month_factors
        When each calendar month begins, and the factor on the rate of faults in it; empty if months do not differ.
    outages
        One row per interval of a node out of service with one state and reason; `reasons` under the same row number.
    """

    def __init__(self) -> None:
        self.runs = Columns(
            "user gpus segments_left retries segment_seconds limit name checkpoint",
            "qos",
            "can_requeue failed_by_fault",
        )
        self.jobs = Columns(
            "job_id run user gpus limit left submit eligible first_submit attempts "
            "array_id array_task app_xid exit_code exit_signal",
            "qos outcome",
            "can_requeue",
        )
        self.excludes: dict[int, tuple[int, ...]] = {}
        self.attempts = Columns(
            "job submit eligible start end productive requeued_at number exit_code exit_signal app_xid mask",
            "state",
            "backfilled",
        )
        self.nodes = Ragged()
        self.faults = Columns(
            "at detected cleared incident epilog_job checks_from node cause",
            "mechanism gpu",
            "is_permanent is_shared has_evidence",
        )
        self.symptoms: list[Symptoms] = []
        self.failures = Columns("attempt fault at node")
        self.planned_ends = Columns("attempt at node")
        self.hidden_ends = Columns("attempt fault")
        self.relapses = Columns("fault repaired")
        self.month_factors: list[tuple[int, float]] = []
        self.preemptions = Columns("victim instigator at", flags="is_named is_second_order")
        self.outages = Columns("requested start end fault ticket node", flags="is_down is_silent by_slurm is_planned")
        self.reasons: list[str] = []
        self.reboots = Columns("at node")

    def freeze(self) -> None:
        """End the recording: every column becomes a numpy array."""
        for table in vars(self).values():
            if isinstance(table, Columns | Ragged):
                table.freeze()

    def drained_faults(self) -> NDArray[np.int64]:
        """Return the rows of the faults for which a node was taken out of service."""
        faults: NDArray[np.int64] = np.unique(self.outages["fault"]).astype(np.int64)
        return faults[faults >= 0]

    def gpus(self) -> Any:
        """Return the number of GPUs of every attempt of a frozen ledger."""
        return self.jobs["gpus"][self.attempts["job"]]

    def used_gpu_seconds(self, horizon: int) -> float:
        """Sum allocated GPUs times seconds over all attempts of a frozen ledger."""
        starts, ends = self.attempts["start"], self.attempts["end"]
        seconds = np.where(starts >= 0, np.where(ends >= 0, ends, horizon) - starts, 0).clip(0)
        return float((seconds.astype(np.float64) * self.gpus()).sum())
