"""Trials of what is fitted to series and lifetimes: slope over job size, Weibull's shape, changes of a rate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assets.model.change_points import find_rate_changes, laplace_trend
from assets.model.rate_ratio import rate_ratio
from assets.model.scale.dependence import scale_test
from assets.model.scale.verdicts import CONSTANT, FALLS, GROWS
from assets.model.survival import fit_weibull
from tests.proof.trial import Outcome, Trial, at_least, at_most, conservative, near

Generator = np.random.Generator
Run = Callable[[Generator, int], Outcome]

NODES = 2.0 ** np.arange(9)
NODE_DAYS = np.array([30.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 120.0, 70.0]) * 1000
"""Sizes from 1 to 256 nodes, and exposures as a large cluster has them."""


def expected(failures: float, beta: float) -> NDArray[np.float64]:
    """Spread failures over the sizes by exposure and slope."""
    weight = NODE_DAYS * NODES**beta
    share: NDArray[np.float64] = weight / weight.sum()
    return failures * share


def slope_of(failures: float, beta: float, variance_factor: float = 1.0) -> Run:
    """Counts over job sizes, Poisson or scattered by a factor of their variance."""
    mean = expected(failures, beta)

    def run(rng: Generator, rounds: int) -> Outcome:
        if variance_factor == 1.0:
            counts = rng.poisson(mean, (rounds, mean.size))
        else:
            counts = rng.negative_binomial(mean / (variance_factor - 1), 1 / variance_factor, (rounds, mean.size))
        tests = [scale_test(count, NODE_DAYS, NODES) for count in counts]
        return Outcome.of([t.low for t in tests], [t.beta for t in tests], [t.high for t in tests], beta)

    return run


def scale_verdicts(failures: float, beta: float, *verdicts: str) -> Run:
    """How often the verdict is one of these."""

    def run(rng: Generator, rounds: int) -> Outcome:
        counts = rng.poisson(expected(failures, beta), (rounds, NODES.size))
        return Outcome.of_verdicts([scale_test(count, NODE_DAYS, NODES).verdict in verdicts for count in counts])

    return run


def weibull_of(shape: float, jobs: int) -> Run:
    """Lives cut off at random, a fifth of them watched from a later age on only."""

    def run(rng: Generator, rounds: int) -> Outcome:
        fits = []
        for _ in range(rounds):
            failing, leaving = rng.weibull(shape, jobs) * 100, rng.exponential(60.0, jobs)
            entry = np.where(rng.random(jobs) < 0.2, rng.uniform(0.0, 30.0, jobs), 0.0)
            end = np.minimum(failing, leaving)
            seen = end > entry
            fits.append(fit_weibull(end[seen], (failing <= leaving)[seen], entry[seen]))
        low, high = [f.shape_low for f in fits], [f.shape_high for f in fits]
        return Outcome.of(low, [f.shape for f in fits], high, shape)

    return run


def change_located(rng: Generator, rounds: int) -> Outcome:
    """One failure a day, 2.5 from day 80 of 200 on; rounds that find exactly one change."""
    rate = np.where(np.arange(200) < 80, 1.0, 2.5)
    series = (find_rate_changes(rng.poisson(rate), np.ones(200)) for _ in range(rounds))
    found = [s for s in series if s.start.size == 2]
    low, day, high = ([int(getattr(s, name)[1]) for s in found] for name in ("start_low", "start", "start_high"))
    return Outcome.of(low, day, high, 80.0)


def changes_found(per_day: float, days: int, factor: float = 1.0, variance_factor: float = 1.0) -> Run:
    """How often a series shows a change: of a constant rate, or of one that is multiplied half-way."""
    rate = np.where(np.arange(days) < days // 2, per_day, factor * per_day)

    def run(rng: Generator, rounds: int) -> Outcome:
        if variance_factor == 1.0:
            series = rng.poisson(rate, (rounds, days))
        else:
            series = rng.negative_binomial(rate / (variance_factor - 1), 1 / variance_factor, (rounds, days))
        return Outcome.of_verdicts([find_rate_changes(counts, np.ones(days)).start.size > 1 for counts in series])

    return run


def trend_alarms(rng: Generator, rounds: int) -> Outcome:
    """How often a constant rate over days of unlike exposure has a trend with p below 0.1."""
    exposure = rng.uniform(1.0, 30.0, 90)
    series = rng.poisson(0.05 * exposure, (rounds, 90))
    return Outcome.of_verdicts([laplace_trend(counts, exposure).p_value < 0.1 for counts in series])


def ratio_alarms(rng: Generator, rounds: int) -> Outcome:
    """How often equal rates differ with p below 0.1."""
    ratio = rate_ratio(rng.poisson(20.0, rounds), 2.0, rng.poisson(30.0, rounds), 3.0)
    return Outcome.of_verdicts(ratio.p_value < 0.1)


BETA, SHAPE = "slope of the rate over job size (`scale_test`)", "Weibull shape (`fit_weibull`)"
CUT = "some cut off, some entering late"

TRIALS = (
    Trial(BETA, "60 failures, 9 sizes, true slope 0", 0.9, conservative(0.9), 3000, 400, 201, slope_of(60, 0.0), False),
    Trial(BETA, "600 failures, slope 0.1", 0.9, conservative(0.9), 3000, 400, 202, slope_of(600, 0.1), False),
    Trial(
        BETA, "600 failures with three times the variance, slope 0", 0.9, near(0.9), 4000, 400, 203,
        slope_of(600, 0.0, 3.0), False,
    ),
    Trial(SHAPE, f"120 jobs, shape 0.7, {CUT}", 0.9, near(0.9), 400, 60, 204, weibull_of(0.7, 120)),
    Trial(SHAPE, f"120 jobs, shape 1.5, {CUT}", 0.9, near(0.9), 400, 60, 205, weibull_of(1.5, 120)),
    Trial(
        "day of a change (`find_rate_changes`)", "1 failure a day, 2.5 from day 80 of 200 on", 0.9, conservative(0.9),
        600, 150, 206, change_located, False,
    ),
)  # fmt: skip

CHANGE, SCALE = "a change (`find_rate_changes`)", "of job size (`scale_test`)"

VERDICTS = (
    Trial(CHANGE, "constant, 1 a day, 90 days", 0.02, at_most(0.02), 1000, 200, 301, changes_found(1.0, 90)),
    Trial(CHANGE, "constant, 0.1 a day, 334 days", 0.02, at_most(0.02), 300, 60, 302, changes_found(0.1, 334)),
    Trial(
        CHANGE, "constant, 1 a day, three times the variance, 200 days", 0.02, at_most(0.02), 700, 150, 303,
        changes_found(1.0, 200, variance_factor=3.0),
    ),
    Trial(CHANGE, "1 a day, doubled half-way, 200 days", 0.9, at_least(0.9), 500, 150, 304, changes_found(1, 200, 2.0)),
    Trial(CHANGE, "1 a day, tripled half-way, 90 days", 0.9, at_least(0.9), 800, 200, 305, changes_found(1, 90, 3.0)),
    Trial(
        CHANGE, "1 a day, 1.5 from half-way on, 90 days", 0.05, at_least(0.05), 1000, 200, 311,
        changes_found(1, 90, 1.5),
    ),
    Trial(
        "a trend with p < 0.1 (`laplace_trend`)", "constant rate, 90 days of unlike exposure", 0.1, near(0.1), 20_000,
        3000, 306, trend_alarms,
    ),
    Trial(
        "unlike rates with p < 0.1 (`rate_ratio`)", "20 and 30 expected, one rate", 0.1, at_most(0.1), 200_000, 20_000,
        307, ratio_alarms,
    ),
    Trial(
        f"no effect {SCALE}", "3,000 failures, slope 0.05, the margin itself", 0.05, at_most(0.05), 3000, 500, 308,
        scale_verdicts(3000, 0.05, CONSTANT),
    ),
    Trial(
        f"no effect {SCALE}", "10,000 failures, slope 0", 0.9, at_least(0.9), 1000, 300, 309,
        scale_verdicts(10_000, 0.0, CONSTANT),
    ),
    Trial(
        f"an effect {SCALE}", "60 failures, slope 0", 0.1, at_most(0.1), 3000, 400, 310,
        scale_verdicts(60, 0.0, GROWS, FALLS),
    ),
)  # fmt: skip
