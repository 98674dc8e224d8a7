"""Expected share of a run's time that is productive (ETTR), in the published linear form and in the exact renewal form.

Both take the failures per day of the whole job (nodes x failures per node-day) and durations in minutes. Inputs are
broadcast, so that a grid is one call. Measuring ETTR from a scheduler's records is not done here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

MINUTES_PER_DAY = 1440.0


def expected_ettr(
    failures_per_day: ArrayLike,
    checkpoint_minutes: ArrayLike,
    *,
    restart_minutes: ArrayLike,
    write_minutes: ArrayLike = 0.0,
    queue_minutes: ArrayLike = 0.0,
    productive_days: ArrayLike = np.inf,
) -> NDArray[np.float64]:
    """Return the expected ETTR of a run by the paper's formula, which is linear in the failure rate.

    Parameters
    ----------
    failures_per_day
        Interruptions per day of scheduled time of the whole job, lambda = N x r_f.
    checkpoint_minutes
        Productive minutes dt between two checkpoints, above 0.
    restart_minutes
        Minutes u0 from the start of an attempt to its first productive step.
    write_minutes
        Minutes w that one checkpoint stops the work.
    queue_minutes
        Minutes q in the queue, before the first attempt and after each interruption.
    productive_days
        Days R of productive work in the whole run; infinite leaves out the first start and the first queue.

    Returns
    -------
    ndarray
        Ratio 0 to 1, of the inputs' common shape; `nan` if an input is `nan`.

    Raises
    ------
    ValueError
        A checkpoint interval or run length of 0 or less, any other input below 0.

    Notes
    -----
    ``a / ((1 + lambda q)(1 + w/dt + u0/R) + (q/R) a)`` with ``a = 1 - lambda (u0 + dt/2)``.

    Assumptions: no failure happens during a restart or a write, and each failure loses exactly half an interval of
    work. The formula is right while lambda (u0 + dt) is small, and too low beyond. If `a` is below 0 the result is
    0, although such a run does advance a little; use `expected_ettr_exact` there.

    References
    ----------
    Kokolis et al., HPCA 2025, gives it for q = 0 and an infinite run. The full form follows from W = Q + R + U with
    Q = q (1 + n), U = u0 + w R/dt + n (u0 + dt/2) and n = lambda (R + U) interruptions.

    Examples
    --------
    16,000 GPUs in nodes of eight, 6.5 failures per 1,000 node-days, a checkpoint each hour or every five minutes:

    >>> expected_ettr(2000 * 0.0065, [60, 5], restart_minutes=5).round(3).tolist()
    [0.684, 0.932]
    """
    rate, length = _checked(failures_per_day=failures_per_day, productive_days=productive_days)
    dt, u0, w, q = _days(checkpoint_minutes, restart_minutes, write_minutes, queue_minutes)
    useful = np.maximum(1.0 - rate * (u0 + dt / 2.0), 0.0)
    return useful / ((1.0 + rate * q) * (1.0 + w / dt + u0 / length) + q / length * useful)


def expected_ettr_exact(
    failures_per_day: ArrayLike,
    checkpoint_minutes: ArrayLike,
    *,
    restart_minutes: ArrayLike,
    write_minutes: ArrayLike = 0.0,
    queue_minutes: ArrayLike = 0.0,
    productive_days: ArrayLike = np.inf,
) -> NDArray[np.float64]:
    """Return the expected ETTR of a run as a renewal process: failures also happen during restarts and writes.

    Parameters
    ----------
    failures_per_day, checkpoint_minutes, restart_minutes, write_minutes, queue_minutes, productive_days
        As in `expected_ettr`.

    Returns
    -------
    ndarray
        Ratio 0 to 1: productive time over expected wall-clock time.

    Raises
    ------
    ValueError
        As in `expected_ettr`.

    Notes
    -----
    A segment of dt + w is repeated, each time after a restart u0, until it has no failure. Scheduled time per
    productive time is then ``s = exp(lambda u0) (exp(lambda (dt + w)) - 1) / (lambda dt)``, the first start adds
    ``(exp(lambda u0) - 1) / (lambda R)``, and with the queue
    ``ETTR = 1 / (s (1 + lambda q) + q/R)``. For an infinite run this is
    ``lambda dt exp(-lambda u0) / ((exp(lambda (dt + w)) - 1)(1 + lambda q))``.

    Assumptions: failures are memoryless, all durations are fixed, and every written checkpoint can be read. For a run
    of finite length the result is the ratio of two expectations, not the expectation of the ratio, and the length is a
    whole number of intervals.

    References
    ----------
    J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
    Computer Systems 22 (2006) 303-312: the complete expression for the total wall-clock time.

    Examples
    --------
    >>> expected_ettr_exact(2000 * 0.0065, [60, 5], restart_minutes=5).round(4).tolist()
    [0.7202, 0.9345]
    """
    rate, length = _checked(failures_per_day=failures_per_day, productive_days=productive_days)
    dt, u0, w, q = _days(checkpoint_minutes, restart_minutes, write_minutes, queue_minutes)
    with np.errstate(over="ignore", invalid="ignore"):
        segments = (dt + w) / dt * special.exprel(rate * (dt + w)) * np.exp(rate * u0)
        first_start = np.where(np.isinf(length), 0.0, u0 * special.exprel(rate * u0) / length)
    return 1.0 / ((segments + first_start) * (1.0 + rate * q) + q / length)


def _days(
    checkpoint_minutes: ArrayLike, restart_minutes: ArrayLike, write_minutes: ArrayLike, queue_minutes: ArrayLike
) -> list[NDArray[np.float64]]:
    minutes = _checked(
        checkpoint_minutes=checkpoint_minutes,
        restart_minutes=restart_minutes,
        write_minutes=write_minutes,
        queue_minutes=queue_minutes,
    )
    return [values / MINUTES_PER_DAY for values in minutes]


def _checked(**inputs: ArrayLike) -> list[NDArray[np.float64]]:
    arrays = {name: np.asarray(values, dtype=float) for name, values in inputs.items()}
    for name, values in arrays.items():
        if np.any(values < 0) or (name in {"checkpoint_minutes", "productive_days"} and np.any(values == 0)):
            raise ValueError(f"{name} is too small: {inputs[name]!r}")
    return list(arrays.values())
