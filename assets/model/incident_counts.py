"""Counts of failed attempts that come in incidents and are uncertain, and limits of their rates.

One broken switch fails many attempts at once, so a count of attempts varies more than a Poisson count. A failure that
was inferred from a health check is a failure only with some probability. Both widen the limits of a rate.

An incident I of a population has the probability w that it is real, the greatest of its members' probabilities p. If
it is real, it has ``m = sum p / w`` attempts. All counts here are sums over the incidents of one population.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.failure_rate import CONFIDENCE_LEVEL, RateInterval, dispersed_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class IncidentCounts:
    """Sums over the incidents of each group; all arrays have shape (groups,).

    Attributes
    ----------
    attempt_count
        Expected attempts, k = sum w m, which is the sum of p.
    attempt_variance
        V = sum w m^2 (2 - w), in squared attempts.
    incident_count
        Expected incidents, sum w.
    incident_variance
        sum w (2 - w), in squared incidents.
    """

    attempt_count: Floats
    attempt_variance: Floats
    incident_count: Floats
    incident_variance: Floats


def count_incidents(
    group: ArrayLike, incident_probability: ArrayLike, attempts_per_incident: ArrayLike, group_count: int
) -> IncidentCounts:
    """Sum incidents by group, for instance by cluster and population.

    Parameters
    ----------
    group
        Group of each incident, shape (n,), whole numbers from 0 to group_count - 1. An incident with attempts in
        several populations has a row in each of them, with its attempts there.
    incident_probability
        w, shape (n,), above 0 and at most 1.
    attempts_per_incident
        m, shape (n,), 1 or more.
    group_count
        Number of groups, including those without an incident.

    Returns
    -------
    IncidentCounts
        Groups without an incident have zeros.

    Raises
    ------
    ValueError
        Probabilities outside (0, 1], fewer than one attempt per incident, arrays of different length, unknown groups.

    Notes
    -----
    Real incidents are treated as a Poisson process, and each is real with its own w. The variance of k about the
    expected number of failed attempts is the sum of two parts: ``sum w m^2``, the scatter of a compound Poisson count,
    and ``sum w (1 - w) m^2``, the uncertainty whether each incident is real.

    Examples
    --------
    Two groups; the second has no incident. In the first, three attempts failed together, one alone, and one perhaps:

    >>> counts = count_incidents([0, 0, 0], [1.0, 1.0, 0.5], [3, 1, 1], group_count=2)
    >>> counts.attempt_count.tolist(), counts.attempt_variance.tolist()
    ([4.5, 0.0], [10.75, 0.0])
    >>> counts.incident_count.tolist(), counts.incident_variance.tolist()
    ([2.5, 0.0], [2.75, 0.0])
    """
    of = np.asarray(group, dtype=np.intp)
    w, m = np.asarray(incident_probability, dtype=float), np.asarray(attempts_per_incident, dtype=float)
    if not of.shape == w.shape == m.shape or of.ndim != 1:
        raise ValueError(f"groups of shape {of.shape}, probabilities of {w.shape} and attempts of {m.shape}")
    if not np.all((w > 0) & (w <= 1)):
        raise ValueError("an incident that counts has a probability above 0 and at most 1")
    if not np.all(m >= 1 - 1e-9):
        raise ValueError("an incident has at least one attempt")
    if of.size and not 0 <= of.min() <= of.max() < group_count:
        raise ValueError(f"groups go from 0 to {group_count - 1}")

    def total(values: Floats) -> Floats:
        return np.bincount(of, weights=values, minlength=group_count).astype(np.float64)

    return IncidentCounts(total(w * m), total(w * m**2 * (2 - w)), total(w), total(w * (2 - w)))


def weighted_interval(
    event_count: ArrayLike,
    event_variance: ArrayLike,
    exposure: ArrayLike,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> RateInterval:
    """Put limits on the rates of many groups at once, from the sums of `count_incidents` or of a database.

    Parameters
    ----------
    event_count
        Attempts k = sum w m, or incidents sum w, of each group; any shape, 0 or more, `nan` for unknown.
    event_variance
        V of the same count, plus the variance that the parameters of the attribution add; broadcast.
    exposure
        Exposure T, for instance node-days, 0 or more; broadcast.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    RateInterval
        Per unit of exposure. Garwood's own limits if every incident is certain and has one attempt.

    Raises
    ------
    ValueError
        As in `dispersed_interval`; a variance below 0.

    Notes
    -----
    Garwood's limits at shape ``k / phi`` over ``T / phi`` with ``phi = V / k``, and 1 if k = 0. As m >= 1 and w <= 1,
    phi is never below 1. If all p = 1, phi is the ``sum m^2 / sum m`` of a compound Poisson count.

    phi is not shrunk towards a common value when there are few incidents. Both directions were measured. Shrinking it
    down lowers the coverage (0.80 instead of 0.86 where 5 incidents of 3 attempts are expected). Shrinking it up does
    not raise any coverage below nominal (0.91 instead of 0.91 at 1.15 attempts per incident).

    Assumptions: there are enough incidents to show how much their sizes differ. If 3 incidents are expected, with 3
    attempts on average and geometrically distributed, 90% limits cover the truth in 84% of cases; from 10 incidents
    on, in 89% and more.

    References
    ----------
    W. Feller, *An Introduction to Probability Theory and Its Applications* I, section XII.2, on compound Poisson
    counts; P. McCullagh and J. A. Nelder, *Generalized Linear Models*, 2nd ed. (1989), section 6.2.

    Examples
    --------
    Twelve failed attempts in 1,000 node-days: one by one, and as four incidents of three.

    >>> rate = weighted_interval([12, 12], [12, 36], 1000.0)
    >>> (1000 * rate.low).round(1).tolist(), (1000 * rate.high).round(1).tolist()
    ([6.9, 4.1], [19.4, 27.5])
    """
    count, variance = np.asarray(event_count, dtype=float), np.asarray(event_variance, dtype=float)
    if np.any(variance < 0):
        raise ValueError(f"a variance is 0 or more, not {event_variance!r}")
    with np.errstate(divide="ignore", invalid="ignore"):
        dispersion = np.where(count > 0, variance / count, 1.0)
    # Sums of floats from a database may be below 1 by a last digit.
    dispersion = np.where(np.abs(dispersion - 1.0) < 1e-9, 1.0, dispersion)
    return dispersed_interval(count, exposure, dispersion, confidence_level)
