"""Simulates one job run thousands of times, to give the distribution of its ETTR and not only the expectation.

Failures are a Poisson process in scheduled time, so they strike during restarts and checkpoint writes too. Durations
are minutes, runs are arrays of shape (n,), and the random generator is a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.ettr import MINUTES_PER_DAY
from assets.model.failure_rate import CONFIDENCE_LEVEL

MAX_FAILURES = 1_000_000.0
"""Expected failures of one run beyond which simulating it is refused: it would not end, or not fit into memory."""
BATCH_FAILURES = 500_000.0


@dataclass(frozen=True)
class SimulatedRuns:
    """What became of n runs.

    Attributes
    ----------
    value
        Productive time over wall-clock time of all runs together, which estimates `expected_ettr_exact`.
    standard_error
        Of `value`.
    low, high
        Quantiles of the ETTR of a single run, which is to be expected between them.
    confidence_level
        Share of the runs between `low` and `high`.
    ettr, productive_days, wallclock_days, interruption_count
        Run by run, shape (n,); wall-clock time is queued and scheduled time.
    """

    value: float
    standard_error: float
    low: float
    high: float
    confidence_level: float
    ettr: NDArray[np.float64]
    productive_days: NDArray[np.float64]
    wallclock_days: NDArray[np.float64]
    interruption_count: NDArray[np.int64]


def simulate_runs(
    failures_per_day: ArrayLike,
    checkpoint_minutes: float,
    *,
    restart_minutes: float,
    write_minutes: float = 0.0,
    queue_minutes: float = 0.0,
    productive_days: float | None = None,
    scheduled_days: ArrayLike | None = None,
    run_count: int,
    generator: np.random.Generator,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> SimulatedRuns:
    """Simulate runs until their work is done, or until the time they were given is over.

    Parameters
    ----------
    failures_per_day
        Interruptions per day of scheduled time, lambda = N x r_f: one number, or one per run, shape (run_count,),
        such as draws from the posterior of a measured rate.
    checkpoint_minutes
        Productive minutes dt between two checkpoints, above 0.
    restart_minutes, write_minutes, queue_minutes
        Minutes u0 at the start of each attempt, w that each checkpoint stops the work, q in the queue before each
        attempt.
    productive_days
        Days of productive work in a run, rounded up to whole checkpoint intervals.
    scheduled_days
        Days for which a run holds its nodes, one number or one per run. Give this or `productive_days`.
    run_count
        Number n of runs.
    generator
        Source of randomness.
    confidence_level
        Share of runs to put between `low` and `high`.

    Returns
    -------
    SimulatedRuns

    Raises
    ------
    ValueError
        Both lengths or none; an interval, length or number of runs of 0 or less; anything else below 0; a run that
        would fail more than a million times.

    Notes
    -----
    By productive days: attempt after attempt, an exponential time to failure pays the restart and then as many
    segments of dt + w as fit; the rest is lost. By scheduled days T: the number of failures is Poisson(lambda T), and
    given it the attempts are the spacings of uniform points on [0, T]; the last attempt is ended by the run itself and
    loses nothing.

    Assumptions: failures are memoryless, durations are fixed, and every checkpoint can be read. If failures cluster in
    bad weeks, the true distribution is wider.

    References
    ----------
    Kokolis et al., HPCA 2025, who check their formula by simulation at 8,000 GPUs.

    Examples
    --------
    16,000 GPUs in nodes of eight, 6.5 failures per 1,000 node-days, a checkpoint each hour, for 30 days:

    >>> runs = simulate_runs(
    ...     13.0, 60, restart_minutes=5, scheduled_days=30, run_count=2000, generator=np.random.default_rng(7)
    ... )
    >>> print(f"{runs.value:.3f}, one run: {runs.low:.2f} to {runs.high:.2f}")
    0.720, one run: 0.70 to 0.74
    """
    minutes = np.array([checkpoint_minutes, restart_minutes, write_minutes, queue_minutes], dtype=float)
    rates = np.broadcast_to(np.asarray(failures_per_day, dtype=float), (run_count,))
    if run_count < 1 or not minutes[0] > 0 or not np.all(minutes >= 0) or not np.all(rates >= 0):
        raise ValueError("a simulation needs runs, a checkpoint interval above 0 and nothing below 0")
    if (productive_days is None) == (scheduled_days is None):
        raise ValueError("give productive_days or scheduled_days")
    durations = minutes / MINUTES_PER_DAY
    if productive_days is not None:
        productive, wallclock, interruptions = _until_done(rates, productive_days, durations, generator)
    else:
        lengths = np.broadcast_to(np.asarray(scheduled_days, dtype=float), (run_count,))
        productive, wallclock, interruptions = _until_time_is_over(rates, lengths, durations, generator)
    ettr = productive / wallclock
    value = float(productive.sum() / wallclock.sum())
    deviation = np.std(productive - value * wallclock, ddof=1) if run_count > 1 else np.nan
    tail = (1.0 - confidence_level) / 2.0
    low, high = np.quantile(ettr, [tail, 1.0 - tail])
    return SimulatedRuns(
        value=value,
        standard_error=float(deviation / np.sqrt(run_count) / wallclock.mean()),
        low=float(low),
        high=float(high),
        confidence_level=confidence_level,
        ettr=ettr,
        productive_days=productive,
        wallclock_days=wallclock,
        interruption_count=interruptions,
    )


_Lives = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def _until_done(
    rates: NDArray[np.float64], productive_days: float, durations: NDArray[np.float64], generator: np.random.Generator
) -> _Lives:
    """Advance all unfinished runs by one attempt at a time."""
    checkpoint, restart, write, queue = durations
    if not productive_days > 0:
        raise ValueError(f"a run has work to do, not {productive_days!r} productive days")
    # A length that is a whole number of intervals must not gain one by rounding.
    needed = np.ceil(productive_days / checkpoint * (1.0 - 1e-12))
    with np.errstate(over="ignore"):
        _refuse_endless(needed * np.expm1(rates * (checkpoint + write)) * np.exp(rates * restart))
    left = np.full(rates.shape, needed)
    wallclock, interruptions = np.zeros(rates.shape), np.zeros(rates.shape, dtype=np.int64)
    running = np.arange(rates.size)
    while running.size:
        with np.errstate(divide="ignore"):
            until_failure = generator.standard_exponential(running.size) / rates[running]
        written = np.floor(np.maximum(until_failure - restart, 0.0) / (checkpoint + write))
        is_done = written >= left[running]
        to_the_end = restart + left[running] * (checkpoint + write)
        wallclock[running] += queue + np.where(is_done, to_the_end, until_failure)
        interruptions[running] += ~is_done
        left[running] = np.where(is_done, 0.0, left[running] - written)
        running = running[~is_done]
    return np.full(rates.shape, needed * checkpoint), wallclock, interruptions


def _until_time_is_over(
    rates: NDArray[np.float64],
    lengths: NDArray[np.float64],
    durations: NDArray[np.float64],
    generator: np.random.Generator,
) -> _Lives:
    """Lay all attempts of a batch of runs end to end in one array; batches keep it small."""
    if not np.all(lengths > 0):
        raise ValueError("a run holds its nodes for more than 0 scheduled days")
    _refuse_endless(rates * lengths)
    interruptions = generator.poisson(rates * lengths)
    productive = np.empty(rates.shape)
    batches = np.cumsum(interruptions + 1) // BATCH_FAILURES
    for runs in np.split(np.arange(rates.size), np.flatnonzero(np.diff(batches)) + 1):
        productive[runs] = _productive(interruptions[runs], lengths[runs], durations, generator)
    return productive, lengths + durations[3] * (interruptions + 1), interruptions


def _productive(
    interruptions: NDArray[np.int64],
    lengths: NDArray[np.float64],
    durations: NDArray[np.float64],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Cut each run's time at its failures and add up the work that was saved, and the work at the very end."""
    checkpoint, restart, write, _ = durations
    ends = np.cumsum(interruptions + 1)
    starts, last = ends - interruptions - 1, ends - 1
    spacings = generator.standard_exponential(int(ends[-1]))
    spacings *= np.repeat(lengths / np.add.reduceat(spacings, starts), interruptions + 1)
    work = np.maximum(spacings - restart, 0.0)
    segments = np.floor(work / (checkpoint + write))
    saved = segments * checkpoint
    saved[last] += np.minimum(work[last] - segments[last] * (checkpoint + write), checkpoint)
    return np.add.reduceat(saved, starts)


def _refuse_endless(expected_failures: NDArray[np.float64]) -> None:
    if np.any(expected_failures > MAX_FAILURES):
        raise ValueError(f"a run would fail {np.max(expected_failures):.3g} times; simulate a shorter part of it")
