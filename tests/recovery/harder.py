"""Variants of a cluster whose logs have the defects of real logs. They test how well a refresh recovers the truth.

The defects: false alarms, checks that log only failures, exports that begin and end in the middle of jobs, nodes that
many small jobs share, maintenance that kills jobs, months that differ, incidents that end several jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from assets.simulation.profiles import FalseAlarms, Maintenance, Profile, SharedFault, Stream


@dataclass(frozen=True)
class Difficulty:
    """How hard a variant is.

    Attributes
    ----------
    completed_share
        Share of completed attempts with evidence in their window, as in `FalseAlarms`.
    failure_only_checks
        Checks whose good results are never kept.
    one_gpu_share
        Share of the GPU time of the lowest class that jobs of one GPU take; many of them share a node.
    month_variation
        Coefficient of variation of the rate of faults between months.
    shared_fault_copies
        How often each event that strikes neighbouring nodes happens, at different times and places.
    accounting_skips_days, accounting_lacks_hours
        What the accounting's export leaves out at its start and at its end, as in `LogHabits`.
    """

    completed_share: float
    failure_only_checks: tuple[str, ...]
    one_gpu_share: float
    month_variation: float
    shared_fault_copies: int
    accounting_skips_days: float
    accounting_lacks_hours: float


DIFFICULTIES = {
    "default": Difficulty(
        completed_share=0.003,
        failure_only_checks=("check pci", "service status"),
        one_gpu_share=0.1,
        month_variation=0.3,
        shared_fault_copies=4,
        accounting_skips_days=5.0,
        accounting_lacks_hours=12.0,
    ),
    "hard": Difficulty(
        completed_share=0.01,
        failure_only_checks=(
            "check pci",
            "service status",
            "check ibstat",
            "check dcgmi nvlink status",
            "nvidia smi ecc_uncorrected",
        ),
        one_gpu_share=0.2,
        month_variation=0.3,
        shared_fault_copies=6,
        accounting_skips_days=5.0,
        accounting_lacks_hours=12.0,
    ),
}
KILLED_AS = ("NODE_FAIL", "CANCELLED")
"""The states in which maintenance ends the jobs of its nodes, in turn. Every third maintenance lets them finish."""


def harder(profile: Profile, level: str) -> Profile:
    """Return a variant of a cluster, named for its difficulty."""
    difficulty = DIFFICULTIES[level]
    return replace(
        profile,
        cluster_id=f"{profile.cluster_id}-{level}",
        streams=tuple(_with_one_gpu(stream, difficulty.one_gpu_share) for stream in profile.streams),
        alarm_rate=0.0,
        false_alarms=FalseAlarms(difficulty.completed_share),
        month_variation=difficulty.month_variation,
        shared_faults=tuple(
            _moved(shared, copy, profile.days)
            for shared in profile.shared_faults
            for copy in range(difficulty.shared_fault_copies)
        ),
        maintenance=tuple(_killing(planned, number) for number, planned in enumerate(profile.maintenance)),
        logs=replace(
            profile.logs,
            failure_only_checks=difficulty.failure_only_checks,
            accounting_skips_days=difficulty.accounting_skips_days,
            accounting_lacks_hours=difficulty.accounting_lacks_hours,
            charges_whole_nodes=True,
        ),
    )


def _with_one_gpu(stream: Stream, share: float) -> Stream:
    """Give jobs of one GPU a share of the lowest class's time, and take it from the other sizes in proportion."""
    if stream.name != "scavenger":
        return stream
    others = sum(size.share for size in stream.sizes if size.gpus > 1)
    sizes = (
        replace(size, share=share if size.gpus == 1 else size.share * (1 - share) / others) for size in stream.sizes
    )
    return replace(stream, sizes=tuple(sizes))


def _moved(shared: SharedFault, copy: int, days: int) -> SharedFault:
    """Move a copy of an event to another time and place. The first copy is not moved."""
    return replace(
        shared,
        day=(shared.day + 11.7 * copy) % days,
        first_position=(shared.first_position + 0.29 * copy) % 0.9,
    )


def _killing(planned: Maintenance, number: int) -> Maintenance:
    kind = number % (len(KILLED_AS) + 1)
    return replace(planned, ends_jobs_as=KILLED_AS[kind]) if kind < len(KILLED_AS) else planned
