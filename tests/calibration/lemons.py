"""Rows about lemon nodes (Figure 11): their number, their share of jobs, and the large jobs that they fail."""

from __future__ import annotations

import numpy as np

from assets.simulation.profiles import DAY
from tests.calibration.estimates import mean, share
from tests.calibration.observed import Observed
from tests.calibration.paper import Paper
from tests.calibration.rows import SCALE, WHOLE, Sheet, exactly, near

LARGE_GPUS = 512
FLEET_POINTS = 0.2
"""The paper gives these shares to a tenth. A tolerance of two points would accept any fleet."""


def write_lemons(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 11."""
    lemons, days = words.lemons, seen.profile.days
    count = int(seen.is_lemon.sum())
    sheet.write("11", "lemon nodes", count, exactly(lemons.count), unit="", needs=(SCALE,))
    fleet = 100 * count / seen.profile.node_count
    sheet.write("11", "their share of the fleet", fleet, near(lemons.fleet, FLEET_POINTS), needs=(SCALE,))
    if lemons.daily_jobs is not None:
        day = (seen.start[seen.is_started] // DAY).clip(0, days - 1)
        jobs = np.bincount(day, minlength=days)
        touched = np.bincount(day, seen.ran_on_lemon[seen.is_started], minlength=days)
        daily = mean(100 * touched[jobs > 0] / jobs[jobs > 0])
        sheet.write("11", "their share of daily jobs", daily, near(lemons.daily_jobs, 2), needs=(SCALE,))
    if lemons.large_failing is None or lemons.large_failing_without is None:
        return
    failed = seen.is_failed.copy()
    large = seen.is_started & seen.is_ended & (seen.gpus >= LARGE_GPUS)
    before = share(failed[large])
    failed[seen.failures.attempt[seen.is_lemon[seen.failures.node]]] = False
    after = share(failed[large])
    quantity = f"jobs of {LARGE_GPUS} GPUs and more that failed by infrastructure"
    sheet.write("11", quantity, before, near(lemons.large_failing, 2), needs=WHOLE)
    sheet.write("11", f"{quantity}, not by a lemon", after, near(lemons.large_failing_without, 2), needs=WHOLE)
