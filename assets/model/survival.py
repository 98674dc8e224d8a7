"""Test whether a job becomes more or less likely to fail as it runs: Weibull's shape from times to failure.

Most times are censored. Shape 1 is a constant hazard, which a single MTTF assumes; below 1 jobs fail early, above 1
late. A failure may be uncertain, and one incident may fail several jobs; the fit accounts for both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, stats

from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.goodness_of_fit import kaplan_meier_distance, span_test

MINIMUM_INCIDENTS = 5
"""Fewest incidents for a shape: all jobs that one incident ended count as one, as they have one age."""
EQUIVALENCE_FACTOR = 1.1
"""A hazard is constant if the limits of the shape lie within this factor of 1."""

CONSTANT, RISES, FALLS, CANNOT_TELL = "constant", "rises", "falls", "cannot tell"

WEIBULL_PROFILE = "weibull_profile"
TOO_FEW_EVENTS = "too_few_events"
NO_EXPOSURE = "no_exposure"

# Shapes from 0.05 to 20. If the likelihood still rises at an end, it has no maximum that a machine could have. The fall
# of the likelihood from such an end bounds the shape safely: in a wider search a smaller fall is enough. A scale
# follows from the end itself.
LOG_SHAPES = (float(np.log(0.05)), float(np.log(20.0)))


@dataclass(frozen=True)
class WeibullFit:
    """A Weibull distribution of times to failure, in the unit of the durations.

    Attributes
    ----------
    shape, shape_low, shape_high
        k; `nan` if it is unknown, `inf` for a limit that does not exist.
    scale, scale_low, scale_high
        Time by which a share of 1 - 1/e would have failed; `nan` if it needs a shape outside the search.
    p_value
        Robust Wald test of shape 1; `nan` if the likelihood has no maximum.
    verdict
        Of the hazard: `constant` (limits of the shape within 1/1.1 and 1.1), `rises`, `falls` or `cannot tell`.
    kolmogorov_distance
        Largest distance between Kaplan and Meier's estimate of survival and the fitted one, 0 to 1; `nan` without
        a fit.
    fit_p_value
        Goodness of fit by observed and expected failures in spans of age; small: not a Weibull distribution.
    variance_ratio
        Variance of the logarithm of the shape, clustered by incident, over that of independent failures; 1 or more.
        Of the number of failures, if the likelihood has no maximum.
    event_count, incident_count, exposure
        Failures and incidents, as sums of probabilities, and the watched time.
    confidence_level
        Nominal probability that limits contain the true value.
    method
        `weibull_profile`, `too_few_events` or `no_exposure`.
    """

    shape: float
    shape_low: float
    shape_high: float
    scale: float
    scale_low: float
    scale_high: float
    p_value: float
    verdict: str
    kolmogorov_distance: float
    fit_p_value: float
    variance_ratio: float
    event_count: float
    incident_count: float
    exposure: float
    confidence_level: float
    method: str


@dataclass(frozen=True)
class _Lifetimes:
    """Ages over a reference age, so that powers of them stay near 1.

    `events` and `jobs` count jobs; `incident` numbers the incidents of several elements, from 0 without gaps, -1 for
    none.
    """

    end: NDArray[np.float64]
    entry: NDArray[np.float64]
    events: NDArray[np.float64]
    jobs: NDArray[np.float64]
    incident: NDArray[np.int64]

    def watched(self, log_shape: float) -> float:
        """Return the sum of the watched cumulative hazards, at scale 1."""
        shape = np.exp(log_shape)
        return float(np.dot(self.jobs, self.end**shape - self.entry**shape))

    def best_log_scale(self, log_shape: float) -> float:
        """Return the scale of the highest likelihood at a shape."""
        return float(np.log(self.watched(log_shape) / self.events.sum()) / np.exp(log_shape))

    def log_likelihood(self, log_shape: float, log_scale: float) -> float:
        """Return the log-likelihood of both parameters."""
        shape, failed = np.exp(log_shape), self.events > 0
        logs = float(np.dot(self.events[failed], np.log(self.end[failed])))
        with np.errstate(over="ignore"):
            hazard = self.watched(log_shape) * np.exp(-shape * log_scale)
        return float(self.events.sum() * (log_shape - shape * log_scale) + (shape - 1.0) * logs - hazard)

    def of_shape(self, log_shape: float) -> float:
        """Return the log-likelihood of a shape, at its best scale."""
        return self.log_likelihood(log_shape, self.best_log_scale(log_shape))

    def best_log_shape(self, log_scale: float) -> float:
        """Return the shape of the highest likelihood at a scale."""
        found = optimize.minimize_scalar(
            lambda log_shape: -self.log_likelihood(log_shape, log_scale), bounds=LOG_SHAPES, method="bounded"
        )
        return float(found.x)

    def of_scale(self, log_scale: float) -> float:
        """Return the log-likelihood of a scale, at its best shape."""
        return self.log_likelihood(self.best_log_shape(log_scale), log_scale)

    @property
    def incident_count(self) -> float:
        """Return the expected incidents: the sum of the largest probability of each, and of failures without one."""
        struck = self.incident >= 0
        largest = np.zeros(int(self.incident.max(initial=-1)) + 1)
        np.maximum.at(largest, self.incident[struck], (self.events / self.jobs)[struck])
        return float(largest.sum() + self.events[~struck].sum())

    def information(self, log_shape: float, log_scale: float) -> NDArray[np.float64]:
        """Return the observed information of both logarithms at the peak, (2, 2)."""
        shape, late = np.exp(log_shape), self.entry > 0
        ends = np.log(self.end) - log_scale
        entries = np.log(np.where(late, self.entry, 1.0)) - np.where(late, log_scale, 0.0)
        hazard, before = np.exp(shape * ends), np.where(late, np.exp(shape * entries), 0.0)
        first = shape * np.dot(self.jobs, hazard * ends - before * entries)
        second = first + shape**2 * np.dot(self.jobs, hazard * ends**2 - before * entries**2)
        both = shape * (self.events.sum() - np.dot(self.jobs, hazard - before) - first)
        scale = shape**2 * np.dot(self.jobs, hazard - before)
        return np.array([[second - shape * np.dot(self.events, ends), both], [both, scale]])

    def scatters(self, log_shape: float, log_scale: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the variation of the score of both logarithms, (2, 2) each: of single failures, and by incident."""
        shape, failed = np.exp(log_shape), self.events > 0
        ends, events = np.log(self.end[failed]) - log_scale, self.events[failed]
        scores = np.stack([1.0 + shape * ends, np.full(ends.size, -shape)])
        incident = self.incident[failed]
        alone = incident < 0
        size = int(incident.max(initial=-1)) + 1
        probability = np.zeros(size)
        np.maximum.at(probability, incident[~alone], events[~alone] / self.jobs[failed][~alone])
        sums = (
            np.array([np.bincount(incident[~alone], (events * score)[~alone], size) for score in scores]) / probability
        )
        one_by_one = (events * scores) @ scores.T
        by_incident = (probability * (2.0 - probability) * sums) @ sums.T
        uncertain = events[alone] * np.where(self.jobs[failed][alone] == 1.0, 2.0 - events[alone], 1.0)
        return one_by_one, by_incident + (uncertain * scores[:, alone]) @ scores[:, alone].T


def fit_weibull(
    duration: ArrayLike,
    event_count: ArrayLike,
    entry: ArrayLike = 0.0,
    job_count: ArrayLike = 1.0,
    confidence_level: float = CONFIDENCE_LEVEL,
    *,
    incident: ArrayLike = -1,
) -> WeibullFit:
    """Fit a Weibull distribution to times to failure.

    Parameters
    ----------
    duration
        Age at which watching ended, by failure or otherwise, above 0, shape (n,). Jobs of nearly the same age may
        share an element.
    event_count
        How many of the element's jobs failed at that age; the others were censored. True and False will do, and for a
        single job the probability that it failed.
    entry
        Age at which watching began, above 0 for what ran before the records began (left truncation).
    job_count
        Jobs of the element.
    confidence_level
        Of the limits, between 0 and 1.
    incident
        Number of the incident that ended the element's jobs, from 0; below 0 if each job stands alone.

    Returns
    -------
    WeibullFit
        Without limits and values below `MINIMUM_INCIDENTS` incidents; a failure without an incident is its own.

    Raises
    ------
    ValueError
        Ages of 0 or less, entries that are negative or not before the end, more failures than jobs.

    Notes
    -----
    Hazard ``k / s (t / s)^(k - 1)``. The log-likelihood is ``sum of p log f(t) + (1 - p) log S(t) - log S(e)``, that is
    ``sum of p log h(t) - sum over jobs of ((t / s)^k - (e / s)^k)``, with entry age e and the probability p of having
    failed. At a given k the best scale is ``s^k = sum(t^k - e^k) / sum(p)``, which leaves one dimension.

    Jobs of an incident fail together. The variance of ``log k`` and ``log s`` is the sandwich ``A^-1 B A^-1``. A is
    the observed information, and B the variation of the score: the sum over incidents of ``w (2 - w) a a'``, where w is
    the largest p of the incident and a the sum of ``p / w`` times the derivatives of its jobs' ``log h(t)``. With
    failures that are certain and alone B is ``sum of p a a'`` and agrees with A; `variance_ratio` is the variance over
    the variance with that B. Limits are those of the profile likelihood, of the shape and of the scale each, where it
    has fallen by half the chi-square quantile (1 degree). If the ratio is above 1, they are where it has fallen by
    half the ratio times the quantile of F with 1 and one degree less than incidents. The test of shape 1 is
    Wald's: ``log k`` over its standard error, by Student's t with the same degrees. The goodness of fit compares
    failures with those expected in up to 10 spans of age of equal expectation, chi-square with two degrees less than
    spans (Akritas).

    If the likelihood has no maximum there is no curvature. The ratio is then that of the number of failures: the sum
    of ``w (2 - w) m^2`` over the sum of p, where m is the sum of ``p / w``. Such a fit has limits of the shape only.

    Assumptions: all jobs have the same hazard. A mixture of different hazards (good and bad nodes, sizes within a bin)
    looks like a falling hazard. Censoring is independent of health: if users cancel jobs that are about to fail, the
    hazard is too low. Ages are as coarse as the detection of failures. The limits are those of large samples: at 10
    failures 90% limits cover about 89%, and also with 18 incidents of 3 jobs of one age.

    References
    ----------
    W. Q. Meeker and L. A. Escobar, *Statistical Methods for Reliability Data* (1998), chapters 8 and 11. D. Y. Lin and
    L. J. Wei, "The robust inference for the Cox proportional hazards model", JASA 84 (1989) 1074-1078. A. Rotnitzky and
    N. P. Jewell, "Hypothesis testing of regression parameters in semiparametric generalized linear models for cluster
    correlated data", Biometrika 77 (1990) 485-497, on the drop. M. G. Akritas, "Pearson-type goodness-of-fit tests: the
    univariate case", JASA 83 (1988) 222-230.

    Examples
    --------
    >>> fit = fit_weibull([30, 90, 160, 250, 380, 500, 500, 500], [1, 1, 1, 1, 1, 1, 0, 0])
    >>> print(f"{fit.shape:.3f} [{fit.shape_low:.3f}, {fit.shape_high:.3f}], scale {fit.scale:.0f}, {fit.verdict}")
    1.167 [0.600, 1.986], scale 399, cannot tell
    """
    end, entered, events, jobs, struck = (
        np.array(x)
        for x in np.broadcast_arrays(
            *(np.asarray(values, dtype=float) for values in (duration, entry, event_count, job_count, incident))
        )
    )
    if end.ndim != 1 or np.any(end <= 0) or np.any(entered < 0) or np.any(entered >= end):
        raise ValueError("watching ends after it begins, at an age above 0, and begins at an age of 0 or more")
    if np.any(events < 0) or np.any(events > jobs):
        raise ValueError("failures are 0 or more, and no more than jobs")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    together = (struck >= 0) & (events > 0)
    incidents = np.full(end.size, -1)
    incidents[together] = np.unique(struck[together], return_inverse=True)[1]
    lifetimes = _Lifetimes(end, entered, events, jobs, incidents)
    exposure = float(np.dot(jobs, end - entered))
    total = (float(events.sum()), lifetimes.incident_count, exposure, confidence_level)
    if exposure == 0 or lifetimes.incident_count < MINIMUM_INCIDENTS:
        nothing = (np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, np.nan, CANNOT_TELL, np.nan, np.nan, np.nan)
        return WeibullFit(*nothing, *total, TOO_FEW_EVENTS if exposure > 0 else NO_EXPOSURE)
    reference = float(np.exp(np.dot(events, np.log(end)) / events.sum()))
    return _fit(replace(lifetimes, end=end / reference, entry=entered / reference), reference, total)


def _fit(lifetimes: _Lifetimes, reference: float, total: tuple[float, float, float, float]) -> WeibullFit:
    """Find the peak, walk down both sides of it, and compare the result with the data."""
    log_shape, peak = _highest(lifetimes.of_shape)
    log_scale = lifetimes.best_log_scale(log_shape)
    level, freedom = total[3], lifetimes.incident_count - 1.0
    one_by_one, by_incident = lifetimes.scatters(log_shape, log_scale)
    if not _is_searched(log_shape, 1e-6):
        ratio = max(1.0, float(by_incident[1, 1] / one_by_one[1, 1]))
        low, high = _shape_limits(lifetimes, log_shape, peak - _drop(ratio, level, freedom))
        nan = float("nan")
        scale_and_test = (nan, nan, nan, nan)
        return WeibullFit(
            nan, low, high, *scale_and_test, _verdict(low, high), nan, nan, ratio, *total, WEIBULL_PROFILE
        )
    inverse = np.linalg.inv(lifetimes.information(log_shape, log_scale))
    alone, clustered = (np.diag(inverse @ b @ inverse) for b in (one_by_one, by_incident))
    ratio, ratio_of_scale = np.maximum(1.0, clustered / alone)
    low, high = _shape_limits(lifetimes, log_shape, peak - _drop(ratio, level, freedom))
    scale_low, scale_high = _scale_limits(lifetimes, log_scale, peak - _drop(ratio_of_scale, level, freedom))
    p_value = float(2.0 * stats.t.sf(abs(log_shape) / np.sqrt(ratio * inverse[0, 0]), freedom))
    shape, scale = float(np.exp(log_shape)), float(np.exp(log_scale))
    residuals = ((lifetimes.end / scale) ** shape, (lifetimes.entry / scale) ** shape, lifetimes.events, lifetimes.jobs)
    return WeibullFit(
        shape, low, high, scale * reference, scale_low * reference, scale_high * reference, p_value,
        _verdict(low, high), kaplan_meier_distance(*residuals), span_test(*residuals, parameter_count=2), float(ratio),
        *total, WEIBULL_PROFILE,
    )  # fmt: skip


def _drop(ratio: float, confidence_level: float, freedom: float) -> float:
    """Return the fall of the log-likelihood at a limit, for a variance in multiples of that of lone failures."""
    if ratio > 1.0 + 1e-9:
        return float(ratio * stats.f.ppf(confidence_level, 1, freedom) / 2.0)
    return float(stats.chi2.ppf(confidence_level, 1) / 2.0)


def _shape_limits(lifetimes: _Lifetimes, log_shape: float, floor: float) -> tuple[float, float]:
    """Find the limits of the shape around the highest one."""
    low, high = (_find_crossing(lifetimes.of_shape, log_shape, end, floor) for end in LOG_SHAPES)
    return low, high


def _scale_limits(lifetimes: _Lifetimes, log_scale: float, floor: float) -> tuple[float, float]:
    """Find the limits of the scale around the best one; `nan` if a shape outside the search would change them."""
    limits = (_find_crossing(lifetimes.of_scale, log_scale, log_scale + way, floor) for way in (-30.0, 30.0))
    low, high = (
        x if 0.0 < x < np.inf and _is_searched(lifetimes.best_log_shape(np.log(x)), 1e-3) else float("nan")
        for x in limits
    )
    return low, high


def _is_searched(log_shape: float, margin: float) -> bool:
    """Return whether the best shape lies between the ends of the search and not at one."""
    return LOG_SHAPES[0] + margin < log_shape < LOG_SHAPES[1] - margin


def _verdict(low: float, high: float) -> str:
    """Return the verdict on the hazard from the limits of the shape."""
    if low > 1.0 / EQUIVALENCE_FACTOR and high < EQUIVALENCE_FACTOR:
        return CONSTANT
    return RISES if low > 1.0 else FALLS if high < 1.0 else CANNOT_TELL


def _highest(log_likelihood: Callable[[float], float]) -> tuple[float, float]:
    """Find the shape, as a logarithm, at which a function is highest, and how high."""
    grid = np.linspace(*LOG_SHAPES, 25)
    top = int(np.argmax([log_likelihood(x) for x in grid]))
    around = (grid[max(top - 1, 0)], grid[min(top + 1, grid.size - 1)])
    found = optimize.minimize_scalar(
        lambda x: -log_likelihood(x), bounds=around, method="bounded", options={"xatol": 1e-8}
    )
    return float(found.x), -float(found.fun)


def _find_crossing(log_likelihood: Callable[[float], float], peak: float, end: float, floor: float) -> float:
    """Find the parameter between peak and end at which the log-likelihood is at the floor; 0 or `inf` if nowhere."""
    if log_likelihood(end) > floor:
        return float("inf") if end > peak else 0.0
    return float(np.exp(optimize.brentq(lambda x: log_likelihood(x) - floor, peak, end, xtol=1e-7)))
