"""Variants of a cluster whose logs have the defects of real logs. They test how well a refresh recovers the truth.

The defects: false alarms, checks that log only failures, exports that begin and end in the middle of jobs, nodes that
many small jobs share, maintenance that kills jobs, months that differ, incidents that end several jobs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from assets.simulation.profiles import FalseAlarms, Maintenance, Profile, SharedFault, Stream

MONTH_VARIATION = 0.3
"""Coefficient of variation of the rate of faults between months."""
SKIPPED_DAYS, LACKING_HOURS = 5.0, 12.0
"""What the accounting's export leaves out at its start and at its end, as in `LogHabits`."""
KILLED_AS = ("NODE_FAIL", "CANCELLED", None)
"""The states in which maintenance ends the jobs of its nodes, in turn. Every third maintenance lets them finish."""


@dataclass(frozen=True)
class Difficulty:
    """How hard a variant is.

    The share of completed attempts with evidence in their window, as in `FalseAlarms`; the share of the GPU time of the
    lowest class that jobs of one GPU take (many share a node); how often each event that strikes neighbouring
    nodes happens, at different times and places; the checks whose good results are never kept.
    """

    completed_share: float
    one_gpu_share: float
    shared_fault_copies: int
    failure_only_checks: tuple[str, ...]


FEW_CHECKS = ("check pci", "service status")
MORE_CHECKS = (*FEW_CHECKS, "check ibstat", "check dcgmi nvlink status", "nvidia smi ecc_uncorrected")
DIFFICULTIES = {"default": Difficulty(0.003, 0.1, 4, FEW_CHECKS), "hard": Difficulty(0.01, 0.2, 6, MORE_CHECKS)}


def harder(profile: Profile, level: str) -> Profile:
    """Return a variant of a cluster, named for its difficulty."""
    difficulty = DIFFICULTIES[level]
    return replace(
        profile,
        cluster_id=f"{profile.cluster_id}-{level}",
        streams=tuple(_with_one_gpu(stream, difficulty.one_gpu_share) for stream in profile.streams),
        alarm_rate=0.0,
        false_alarms=FalseAlarms(difficulty.completed_share),
        month_variation=MONTH_VARIATION,
        shared_faults=tuple(
            _moved(shared, copy, profile.days)
            for shared in profile.shared_faults
            for copy in range(difficulty.shared_fault_copies)
        ),
        maintenance=tuple(_killing(planned, number) for number, planned in enumerate(profile.maintenance)),
        logs=replace(
            profile.logs,
            failure_only_checks=difficulty.failure_only_checks,
            accounting_skips_days=SKIPPED_DAYS,
            accounting_lacks_hours=LACKING_HOURS,
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
    position = (shared.first_position + 0.29 * copy) % 0.9
    return replace(shared, day=(shared.day + 11.7 * copy) % days, first_position=position)


def _killing(planned: Maintenance, number: int) -> Maintenance:
    state = KILLED_AS[number % len(KILLED_AS)]
    return replace(planned, ends_jobs_as=state) if state else planned
