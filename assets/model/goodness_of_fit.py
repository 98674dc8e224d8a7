"""Test whether a fitted hazard describes times to failure that are mostly censored, by Cox-Snell residuals.

The residual of a job is the model's cumulative hazard over the time it was watched. If the model is true, residuals are
times to failure of a unit exponential, censored where the jobs were.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

MAX_SPANS = 10
EVENTS_PER_SPAN = 5
"""Fewest expected failures in each span of age."""


def kaplan_meier_distance(
    residual: ArrayLike, entry_residual: ArrayLike, event_count: ArrayLike, job_count: ArrayLike
) -> float:
    """Return the largest distance of Kaplan and Meier's survival of the residuals from ``exp(-r)``.

    Parameters
    ----------
    residual, entry_residual
        Cumulative hazard at the end of watching and at its beginning, shape (n,).
    event_count, job_count
        Failures and jobs of each element, shape (n,).

    Returns
    -------
    float
        Kolmogorov's distance, 0 to 1; `nan` without failures.

    Notes
    -----
    ``S(r) = product over failures up to r of (1 - failures / jobs at risk)``; jobs that ended at r are at risk at r,
    those that entered at r are not. The distance is taken on both sides of every step.

    Limitations: if nearly all jobs are censored, survival stays near 1 under every model, and a small distance says
    nothing. At high ages few jobs are at risk, and the distance is mostly noise.

    References
    ----------
    E. L. Kaplan and P. Meier, JASA 53 (1958) 457-481. D. R. Cox and E. J. Snell, JRSS B 30 (1968) 248-275.

    Examples
    --------
    >>> print(f"{kaplan_meier_distance([0.2, 0.5, 1.0, 2.5], [0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]):.3f}")
    0.181
    """
    end, entry, events, jobs = _floats(residual, entry_residual, event_count, job_count)
    if not events.sum() > 0:
        return float("nan")
    at, where = np.unique(end, return_inverse=True)
    failed, left = (np.bincount(where, weights, at.size) for weights in (events, jobs))
    entries = np.sort(entry)
    entered = np.concatenate([[0.0], np.cumsum(jobs[np.argsort(entry, kind="stable")])])
    at_risk = entered[np.searchsorted(entries, at, side="left")] - (np.cumsum(left) - left)
    survival = np.cumprod(1.0 - failed / at_risk)
    before = np.concatenate([[1.0], survival[:-1]])
    is_step, model = failed > 0, np.exp(-at)
    return float(np.max(np.maximum(np.abs(survival - model), np.abs(before - model))[is_step]))


def span_test(
    residual: ArrayLike,
    entry_residual: ArrayLike,
    event_count: ArrayLike,
    job_count: ArrayLike,
    parameter_count: int,
) -> float:
    """Compare failures with those expected, in spans of age.

    Parameters
    ----------
    residual, entry_residual, event_count, job_count
        As in `kaplan_meier_distance`.
    parameter_count
        Parameters fitted to these data.

    Returns
    -------
    float
        P-value, small for a bad fit; `nan` with fewer than 5 failures for each of `parameter_count + 1` spans.

    Notes
    -----
    Up to 10 spans with an equal number of expected failures, at least 5 in each. The statistic
    ``sum((observed - expected)^2 / expected)`` is compared with chi-square with ``spans - parameters`` degrees: the
    total costs no further degree, because the fitted scale makes it agree.

    Limitations: with few failures the test finds nothing. With tens of thousands it finds differences that do not
    matter.

    References
    ----------
    M. G. Akritas, "Pearson-type goodness-of-fit tests: the univariate case", JASA 83 (1988) 222-230.

    Examples
    --------
    >>> ages = [0.1 * i for i in range(1, 31)]  # uniform, not exponential
    >>> print(f"{span_test(ages, [0.0] * 30, [1] * 30, [1] * 30, parameter_count=1):.3f}")
    0.013
    """
    end, entry, events, jobs = _floats(residual, entry_residual, event_count, job_count)
    spans = min(MAX_SPANS, int(events.sum()) // EVENTS_PER_SPAN)
    if spans <= parameter_count:
        return float("nan")
    at = np.unique(end)
    expected = _watched(end, jobs, at) - _watched(entry, jobs, at)
    borders = np.searchsorted(expected, expected[-1] * np.arange(1, spans) / spans)
    borders = np.unique(np.append(borders, at.size - 1))
    if borders.size <= parameter_count:
        return float("nan")
    seen = np.cumsum(events[np.argsort(end, kind="stable")])[np.searchsorted(np.sort(end), at, side="right") - 1]
    of_span = np.diff(seen[borders], prepend=0.0)
    expected_of_span = np.diff(expected[borders], prepend=0.0)
    statistic = float(np.sum((of_span - expected_of_span) ** 2 / expected_of_span))
    return float(stats.chi2.sf(statistic, borders.size - parameter_count))


def _watched(residual: NDArray[np.float64], jobs: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum the residuals, each limited to `at`."""
    order = np.argsort(residual, kind="stable")
    ordered, weight = residual[order], jobs[order]
    ended = np.concatenate([[0.0], np.cumsum(weight * ordered)])
    still = weight.sum() - np.concatenate([[0.0], np.cumsum(weight)])
    place = np.searchsorted(ordered, at, side="right")
    watched: NDArray[np.float64] = ended[place] + still[place] * at
    return watched


def _floats(*values: ArrayLike) -> list[NDArray[np.float64]]:
    return [np.array(x) for x in np.broadcast_arrays(*(np.asarray(value, dtype=float) for value in values))]
