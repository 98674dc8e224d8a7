"""Rows about both clusters: their totals, and the differences between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from assets.simulation.causes import UNATTRIBUTED
from assets.simulation.profiles import HOUR
from assets.simulation.states import PENDING, STATES
from tests.calibration import paper
from tests.calibration.estimates import Estimate, difference, quotient, rate, share
from tests.calibration.losses import lost_gpu_hours
from tests.calibration.observed import Observed
from tests.calibration.rows import (
    SCALE,
    WHOLE,
    Part,
    Row,
    Sheet,
    about,
    above,
    below,
    between,
    exactly,
    negative,
    positive,
)
from tests.calibration.sheets import part_of

SIMILAR_POINTS = 5.0
ABOUT_THREE, ABOUT_TEN = (2.0, 4.0), (5.0, 20.0)
MID_SIZES = (16, 1024)


@dataclass(frozen=True)
class Totals:
    """What the comparison needs of one cluster. Shares are in percent, rates per GPU-hour.

    Attributes
    ----------
    attributed_rate
        Failures with a cause, over all jobs.
    loss_peak_gpus
        The size bin that lost most goodput.
    """

    cluster_id: str
    part: Part
    job_count: int
    gpu_hours: float
    states: dict[str, Estimate]
    infrastructure: Estimate
    infrastructure_time: Estimate
    attributed_rate: Estimate
    one_gpu_jobs: Estimate
    lost_gpu_hours: float
    loss_peak_gpus: int
    root_causes: dict[str, int]


def total(seen: Observed) -> Totals:
    """Compute the totals of a cluster."""
    ended, time = seen.is_ended, seen.gpu_seconds[seen.is_ended]
    gpu_hours = float(seen.gpu_seconds.sum()) / HOUR
    attributed = seen.incident[seen.failures.category != UNATTRIBUTED]
    lost, _, size = lost_gpu_hours(seen)
    bins, of = np.unique(size, return_inverse=True)
    by_size = np.bincount(of, lost, minlength=1)
    profile = seen.profile
    lemons = {profile.node_at(lemon.position): lemon.root_cause for lemon in profile.lemons}
    return Totals(
        cluster_id=profile.cluster_id,
        part=part_of(seen),
        job_count=int((seen.state != PENDING).sum()),
        gpu_hours=gpu_hours,
        states={name: share(seen.state[ended] == number) for number, name in enumerate(STATES)},
        infrastructure=share(seen.is_failed[ended]),
        infrastructure_time=share(seen.is_failed[ended], time),
        attributed_rate=rate(attributed, gpu_hours),
        one_gpu_jobs=share(seen.gpus[ended & seen.is_started] == 1),
        lost_gpu_hours=float(lost.sum()),
        loss_peak_gpus=int(bins[by_size.argmax()]) if len(bins) else 0,
        root_causes=dict(Counter(lemons.values())),
    )


def compare(first: Totals, second: Totals) -> list[Row]:
    """Compare the two clusters with what the paper says about both.

    Parameters
    ----------
    first, second
        RSC-1 and RSC-2.
    """
    part = Part(
        first.part.has_all_nodes and second.part.has_all_nodes, first.part.has_all_days and second.part.has_all_days
    )
    both, against = Sheet("both", part), Sheet(f"{second.cluster_id} to {first.cluster_id}", part)
    jobs, hours = first.job_count + second.job_count, first.gpu_hours + second.gpu_hours
    both.write("", "jobs", jobs, about(paper.JOBS_TOGETHER, 5), unit="", needs=WHOLE)
    both.write("", "GPU-hours", hours, above(paper.GPU_HOURS_TOGETHER), unit="", needs=WHOLE)
    gaps = [difference(second.states[name], found) for name, found in first.states.items()]
    gap = max(gaps, key=lambda found: abs(found.value))
    furthest = Estimate(abs(gap.value), gap.error, gap.counted)
    against.write(
        "3", "largest difference of a state's share", furthest, below(SIMILAR_POINTS, "similar"), unit="points"
    )
    fewer = difference(second.infrastructure, first.infrastructure)
    against.write("3", "attempts failed by infrastructure, difference", fewer, negative("lower"), unit="points")
    less = difference(second.infrastructure_time, first.infrastructure_time)
    against.write("3", "their GPU time, difference", less, negative("lower"), unit="points", needs=(SCALE,))
    lower = quotient(first.attributed_rate, second.attributed_rate)
    band = between(*ABOUT_THREE, "lower by about three times")
    against.write("4", "failures with a cause per GPU-hour, how much lower", lower, band, unit="times")
    more = difference(second.one_gpu_jobs, first.one_gpu_jobs)
    against.write("6", "jobs of 1 GPU, difference", more, positive("more"), unit="points")
    lost = quotient(Estimate(first.lost_gpu_hours), Estimate(second.lost_gpu_hours))
    band = between(*ABOUT_TEN, "ten times less")
    against.write("8", "lost goodput, how much less", lost, band, unit="times", needs=WHOLE)
    band = between(*MID_SIZES, "mid sizes")
    against.write("8", "size that loses most goodput", second.loss_peak_gpus, band, unit="GPUs", needs=WHOLE)
    found = Counter[str]()
    for totals in (first, second):
        found.update({name.casefold(): count for name, count in totals.root_causes.items()})
    for name, count in paper.ROOT_CAUSES.items():
        seen = found[name.casefold()]
        both.write("II", f"lemons by root cause: {name}", seen, exactly(count), unit="", needs=(SCALE,))
    return both.rows[:2] + against.rows + both.rows[2:]
