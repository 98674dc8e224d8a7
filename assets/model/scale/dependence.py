"""Test whether the failure rate per node is the same at every job size, as every projection to larger jobs assumes.

The answer is `constant` only if the data exclude a relevant dependence. If no dependence was found but it is not
excluded either, the answer is `cannot tell`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from assets.model.dispersion import pearson_dispersion
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.scale.verdicts import CANNOT_TELL, CONSTANT, FALLS, GROWS

EQUIVALENCE_MARGIN = 0.05
"""A rate is the same at every size if the limits of beta lie within this margin of 0."""

POISSON_PROFILE = "poisson_profile"
QUASI_POISSON = "quasi_poisson"
ONE_SIZE = "one_size"
NO_EVENTS = "no_events"
NO_EXPOSURE = "no_exposure"

# Beyond this slope a doubling of the job multiplies the rate per node by 10^6, which means that a bound is missing.
STEEPEST = 20.0


@dataclass(frozen=True)
class ScaleTest:
    """The dependence of the rate per node-day on the nodes of the job.

    Attributes
    ----------
    beta
        Exponent: the rate is proportional to (number of nodes)^beta; `nan` without a finite estimate.
    low, high
        Limits of beta; `-inf` or `inf` if there is none.
    p_value
        Of the hypothesis beta = 0.
    is_equivalent
        Whether the limits lie within -margin and margin; None without limits.
    dispersion
        Pearson's, 1 for Poisson; `nan` for fewer than three sizes.
    incident_dispersion
        Variance of the counts from incidents and uncertain failures, over Poisson's; 1 without.
    verdict
        `constant` (equivalent), `grows`, `falls` or `cannot tell`.
    event_count, exposure, size_count
        The data behind it: events, exposure, and sizes with exposure.
    confidence_level
        Nominal probability that [low, high] covers the true beta.
    method
        `poisson_profile`, `quasi_poisson` (widened by a dispersion), `one_size`, `no_events`, `no_exposure`.
    """

    beta: float
    low: float
    high: float
    p_value: float
    is_equivalent: bool | None
    dispersion: float
    incident_dispersion: float
    verdict: str
    event_count: float
    exposure: float
    size_count: int
    confidence_level: float
    method: str


def scale_test(
    event_count: ArrayLike,
    exposure: ArrayLike,
    node_count: ArrayLike,
    confidence_level: float = CONFIDENCE_LEVEL,
    margin: float = EQUIVALENCE_MARGIN,
    *,
    event_variance: ArrayLike | None = None,
) -> ScaleTest:
    """Regress failures per node-day on the size of the job, both as logarithms.

    Parameters
    ----------
    event_count
        Failures k of each size, shape (b,); sums of the probabilities of uncertain failures will do.
    exposure
        Node-days T of each size, shape (b,); sizes with 0 are left out.
    node_count
        Nodes N of a job of the size, shape (b,), above 0.
    confidence_level
        Of the limits, between 0 and 1. With 0.90 the equivalence test (two one-sided tests) has a level of 5%.
    margin
        Largest |beta| that still counts as no dependence. 0.05: a job 1,000 times as large has a rate per node at most
        1.41 times as high or low.
    event_variance
        Variance V of each count, shape (b,), as `assets.model.incident_counts` gives it for failures that share
        incidents or are uncertain; by default k, of Poisson counts.

    Returns
    -------
    ScaleTest

    Raises
    ------
    ValueError
        Arrays of different shape, negative counts or variances, node counts of 0 or less, events without exposure.

    Notes
    -----
    ``log mu_b = log T_b + a + beta log N_b`` with Poisson counts. Given all K events the counts are multinomial with
    shares proportional to ``T_b N_b^beta``, and that likelihood of beta alone is the profile over a:
    ``l(beta) = beta sum(k_b log N_b) - K log(sum(T_b N_b^beta))``, which is concave. The limits are where
    ``2 (max l - l)`` reaches the chi-square quantile with 1 degree of freedom, times ``sum(V) / K`` if failures share
    incidents or are uncertain. With a Pearson dispersion phi above 1 it must reach phi times the F quantile with 1 and
    b - 2 degrees, if that is more (quasi-Poisson). The p-value is the larger of both as well. Because a dispersion
    above 1 also occurs by chance, the limits cover 3 to 4 points more than nominal if scatter is
    Poisson.

    Assumptions: small and large jobs differ in size only. beta is confounded with everything else that differs between
    them (nodes, users, run times), and with attribution: a job of many nodes has more events near its end by chance, so
    a FAILED job is more easily taken for an infrastructure failure. Incidents are equally large at every size.

    References
    ----------
    P. McCullagh and J. A. Nelder, *Generalized Linear Models*, 2nd ed. (1989), chapter 6. D. J. Schuirmann, J.
    Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680, on two one-sided tests.

    Examples
    --------
    >>> test = scale_test([40, 85, 155, 330], [6000.0, 12_500.0, 25_000.0, 50_000.0], [1, 4, 16, 64])
    >>> print(f"{test.beta:.4f} [{test.low:.4f}, {test.high:.4f}] {test.verdict}")
    -0.0019 [-0.0533, 0.0507] cannot tell
    """
    count, time, nodes = (np.asarray(x, dtype=float) for x in (event_count, exposure, node_count))
    if not count.shape == time.shape == nodes.shape or count.ndim != 1:
        raise ValueError(f"one count, exposure and size each, not {count.shape}, {time.shape} and {nodes.shape}")
    variance = count if event_variance is None else np.asarray(event_variance, dtype=float)
    if variance.shape != count.shape or np.any(variance < 0):
        raise ValueError(f"one variance of 0 or more for each count, not {event_variance!r}")
    if np.any(count < 0) or np.any(time < 0) or np.any(nodes <= 0):
        raise ValueError("counts and exposures are 0 or more, node counts above 0")
    if np.any((count > 0) & (time == 0)):
        raise ValueError("events of a size without exposure have no rate")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    used = time > 0
    likelihood = _SlopeLikelihood(count[used], time[used], np.log(nodes[used]))
    size_count = np.unique(nodes[used]).size
    total = (float(count.sum()), float(time.sum()), size_count, confidence_level)
    by_incidents = max(1.0, float(variance.sum() / count.sum())) if count.sum() > 0 else 1.0
    if size_count < 2 or count.sum() == 0:
        method = NO_EXPOSURE if size_count == 0 else NO_EVENTS if count.sum() == 0 else ONE_SIZE
        return ScaleTest(np.nan, -np.inf, np.inf, np.nan, None, np.nan, by_incidents, CANNOT_TELL, *total, method)
    return _fit(likelihood, total, margin, by_incidents)


@dataclass(frozen=True)
class _SlopeLikelihood:
    """The likelihood of beta given the total number of events."""

    count: NDArray[np.float64]
    time: NDArray[np.float64]
    log_nodes: NDArray[np.float64]

    def __call__(self, beta: float) -> float:
        """Return the log-likelihood, up to a constant."""
        powers = np.dot(self.time, np.exp(beta * self.log_nodes))
        return float(beta * np.dot(self.count, self.log_nodes) - self.count.sum() * np.log(powers))

    def shares(self, beta: float) -> NDArray[np.float64]:
        """Return the expected share of the events at each size."""
        powers: NDArray[np.float64] = self.time * np.exp(beta * self.log_nodes)
        return powers / powers.sum()

    def score(self, beta: float) -> float:
        """Return the slope of the log-likelihood."""
        return float(np.dot(self.count - self.count.sum() * self.shares(beta), self.log_nodes))

    def peak(self) -> float:
        """Return the maximum; minus or plus `STEEPEST` if all events are at the smallest or the largest size."""
        if self.score(STEEPEST) >= 0:
            return STEEPEST
        if self.score(-STEEPEST) <= 0:
            return -STEEPEST
        return float(optimize.brentq(self.score, -STEEPEST, STEEPEST, xtol=1e-10))

    def limit(self, beta: float, end: float, drop: float) -> float:
        """Return where the log-likelihood has fallen by `drop` from `beta` to `end`; infinite if it never does."""
        floor = self(beta) - drop
        if beta == end or self(end) > floor:
            return float(np.copysign(np.inf, end))
        return float(optimize.brentq(lambda x: self(x) - floor, beta, end, xtol=1e-10))


def _fit(
    likelihood: _SlopeLikelihood, total: tuple[float, float, int, float], margin: float, by_incidents: float
) -> ScaleTest:
    event_count, _, size_count, confidence_level = total
    beta = likelihood.peak()
    is_finite = abs(beta) < STEEPEST
    dispersion = float("nan")
    if is_finite and size_count > 2:
        dispersion = pearson_dispersion(likelihood.count, event_count * likelihood.shares(beta), parameter_count=2)
    ratio = max(0.0, 2.0 * (likelihood(beta) - likelihood(0.0)))
    quantile = by_incidents * float(stats.chi2.ppf(confidence_level, 1))
    p_value = float(stats.chi2.sf(ratio / by_incidents, 1))
    if dispersion > 1.0:
        freedom = likelihood.count.size - 2
        quantile = max(quantile, dispersion * float(stats.f.ppf(confidence_level, 1, freedom)))
        p_value = max(p_value, float(stats.f.sf(ratio / dispersion, 1, freedom)))
    method = QUASI_POISSON if dispersion > 1.0 or by_incidents > 1.0 else POISSON_PROFILE
    low, high = (likelihood.limit(beta, end, quantile / 2.0) for end in (-STEEPEST, STEEPEST))
    is_equivalent = -margin < low and high < margin
    verdict = CONSTANT if is_equivalent else GROWS if low > 0 else FALLS if high < 0 else CANNOT_TELL
    value = beta if is_finite else float("nan")
    return ScaleTest(value, low, high, p_value, is_equivalent, dispersion, by_incidents, verdict, *total, method)
