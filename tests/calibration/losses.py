"""Rows about the cost of failures: lost goodput and crash loops (Figure 8), ETTR of the largest runs (Figure 9)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assets.simulation.crash_loops import crash_loops
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.states import PREEMPTED, QOS, REQUEUED, TIMEOUT
from tests.calibration.estimates import Estimate, mean, ratio
from tests.calibration.observed import Observed
from tests.calibration.paper import Paper
from tests.calibration.rows import WHOLE, Sheet, above, exactly, near, within_twice

MAX_LOST_SECONDS = HOUR // 2
"""Half the hour between checkpoints that the paper assumes."""
CHECKPOINT_SECONDS, RESTART_SECONDS = HOUR, 300
ETTR_GPUS = (2048, 4096)
TOP_PRIORITY = len(QOS) - 1
LARGEST_LOSS_BINS, MIN_SHARE_OF_LARGE_JOBS = (2048, 4096), 50.0


def size_bins(gpus: NDArray[np.int32]) -> NDArray[np.int64]:
    """Round GPUs up to powers of two."""
    return (2 ** np.ceil(np.log2(np.maximum(gpus, 1)))).astype(np.int64)


def lost_gpu_hours(seen: Observed) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return for each loss of work the GPU-hours, the part of them that is second order, and the size bin."""
    preemptions = seen.ledger.preemptions
    victims = preemptions["victim"][preemptions["is_second_order"]]
    attempts = np.concatenate([seen.failures.attempt, victims])
    lost = np.minimum(seen.seconds[attempts], MAX_LOST_SECONDS) * seen.gpus[attempts].astype(np.float64) / HOUR
    is_second = np.arange(len(attempts)) >= len(seen.failures.attempt)
    return lost, np.where(is_second, lost, 0), size_bins(seen.gpus[attempts])


def write_lost_goodput(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 8: the second-order share, the sizes that lose most, and the crash loop."""
    if words.second_order is None or words.crash_loop is None:
        return
    lost, second, size = lost_gpu_hours(seen)
    share_of_second = ratio(second, lost, 100)
    counted = f"{second.sum():,.0f} of {lost.sum():,.0f} GPU-hours"
    found = Estimate(share_of_second.value, share_of_second.error, counted)
    sheet.write("8", "lost goodput that is second order", found, near(words.second_order, 2), needs=WHOLE)
    largest = ratio(np.where(np.isin(size, LARGEST_LOSS_BINS), lost, 0), lost, 100)
    quantity = "lost goodput of jobs of 2,048 and 4,096 GPUs"
    sheet.write("8", quantity, largest, above(MIN_SHARE_OF_LARGE_JOBS, "mostly"), needs=WHOLE)
    loops = crash_loops(seen.ledger, seen.is_failed)
    of_size = np.flatnonzero(seen.ledger.runs["gpus"][loops["run"]] == words.crash_loop.gpus)
    worst = of_size[loops["failures"][of_size].argmax()] if len(of_size) else None
    requeues = float(loops["restarts"][worst]) if worst is not None else np.nan
    victims = float(loops["victims"][worst]) if worst is not None else np.nan
    name = f"crash loop of {words.crash_loop.gpus:,} GPUs"
    sheet.write("8", f"{name}: requeues", requeues, exactly(words.crash_loop.requeues), unit="", needs=WHOLE)
    sheet.write("8", f"{name}: preemptions", victims, within_twice(words.crash_loop.preemptions), unit="", needs=WHOLE)


def run_ettr(seen: Observed) -> NDArray[np.float64]:
    """Return the measured ETTR of each run at top priority on 2,048 to 4,096 GPUs with at least 24 h of scheduled time.

    ETTR is `R / W` with `W` = time queued since eligible + time scheduled, and `R = max(0, t - u0 - lost)` per attempt.
    An interruption or a time limit loses half the assumed checkpoint interval. The natural end loses nothing.
    """
    runs, count = seen.ledger.runs, len(seen.ledger.runs)
    chosen = (runs["qos"] == TOP_PRIORITY) & (runs["gpus"] >= ETTR_GPUS[0]) & (runs["gpus"] <= ETTR_GPUS[1])
    rows = np.flatnonzero(chosen[seen.run] & seen.is_started)
    run, seconds = seen.run[rows], seen.seconds[rows].astype(np.float64)
    queued = (seen.start[rows] - seen.ledger.attempts["eligible"][rows]).clip(0)
    worked = (seconds - RESTART_SECONDS).clip(0)
    interrupted = seen.is_failed[rows] | np.isin(seen.state[rows], (PREEMPTED, REQUEUED, TIMEOUT))
    lost = np.where(interrupted, np.minimum(worked, CHECKPOINT_SECONDS / 2), 0)
    scheduled = np.bincount(run, seconds, minlength=count)
    productive = np.bincount(run, worked - lost, minlength=count)
    wallclock = scheduled + np.bincount(run, queued, minlength=count)
    long = scheduled >= DAY
    return productive[long] / wallclock[long]


def write_ettr(sheet: Sheet, seen: Observed, words: Paper) -> None:
    """Write Figure 9: the mean ETTR of the largest runs, assuming hourly checkpoints and restarts of 5 minutes."""
    if words.ettr is None:
        return
    values = run_ettr(seen)
    found = mean(values)
    counted = Estimate(found.value, found.error, f"{len(values):,} runs")
    quantity = "ETTR of runs of 24 h and more, top priority, 2,048 to 4,096 GPUs"
    sheet.write("9", quantity, counted, above(words.ettr), unit="", needs=WHOLE)
