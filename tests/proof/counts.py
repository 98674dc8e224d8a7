"""Trials of what is made of counts: rates, MTTF, predictions, ratios, shares, means of ratios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from assets.model.coincidence import Share, binomial_share, chance_of_coincidence
from assets.model.ettr import MINUTES_PER_DAY
from assets.model.failure_rate import RateInterval, garwood_interval
from assets.model.mean_ratio import mean_ratio_interval
from assets.model.mttf import mttf_at_scale, mttf_from_runtime
from assets.model.prediction import prediction_interval
from assets.model.rate_ratio import rate_ratio
from assets.model.run_outlook import run_outlook
from tests.proof.lived_runs import ettr_of_a_run
from tests.proof.trial import Outcome, Rule, Trial, conservative, near, too_narrow

Generator = np.random.Generator
Run = Callable[[Generator, int], Outcome]

RATE = 0.0065
"""Failures per node-day."""
SIZES = np.array([0.55, 0.25, 0.12, 0.06, 0.02])
"""Shares of five job sizes among attempts that end well; among failed ones large jobs are more frequent."""
FAILED_SIZES = SIZES * np.array([0.5, 0.8, 1.5, 2.0, 4.0]) / np.dot(SIZES, [0.5, 0.8, 1.5, 2.0, 4.0])
CHANCE = np.array([0.001, 0.002, 0.005, 0.012, 0.03])
"""Probability that an attempt of the size sees an event by chance."""


def gamma_interval_paper(event_count: ArrayLike, exposure: float) -> RateInterval:
    """Estimate rates with quantiles of Gamma(k, T), as the paper does; there are none of no event.

    The upper limit lacks the event that Garwood's k + 1 adds, so that few events are covered much too rarely.
    """
    count = np.asarray(event_count, dtype=float)
    shape = np.where(count > 0, count, np.nan)
    low, high = (special.gammaincinv(shape, tail) / exposure for tail in (0.05, 0.95))
    return replace(garwood_interval(count, exposure), low=low, high=high)


def rate_of(expected: float, interval: Callable[..., RateInterval]) -> Run:
    """Poisson counts over the node-days that bring so many failures."""

    def run(rng: Generator, rounds: int) -> Outcome:
        rate = interval(rng.poisson(expected, rounds), expected / RATE)
        return Outcome.of(rate.low, rate.value, rate.high, RATE)

    return run


def mttf_of_attempts(rng: Generator, rounds: int) -> Outcome:
    """Lives of an MTTF of 100 hours, cut off by ends of the attempts' own: runtime is random too."""
    life, end = rng.exponential(100.0, (rounds, 40)), rng.exponential(33.0, (rounds, 40))
    mttf = mttf_from_runtime((life <= end).sum(axis=1), np.minimum(life, end).sum(axis=1))
    return Outcome.of(mttf.low, mttf.hours, mttf.high, 100.0)


def mttf_projected(rng: Generator, rounds: int) -> Outcome:
    """Sixty-five failures expected in 10,000 node-days, projected to 2,048 nodes."""
    mttf = mttf_at_scale(garwood_interval(rng.poisson(RATE * 10_000, rounds), 10_000.0), 2048)
    return Outcome.of(mttf.low, mttf.hours, mttf.high, 24 / (2048 * RATE))


def prediction_of(expected: float, ratio: float) -> Run:
    """Make a past count, the limits it gives, and then the future count itself."""

    def run(rng: Generator, rounds: int) -> Outcome:
        future = prediction_interval(rng.poisson(expected, rounds), expected / RATE, ratio * expected / RATE)
        count = rng.poisson(ratio * expected, rounds)
        return Outcome((future.low <= count) & (count <= future.high), future.value, ratio * expected)

    return run


def ratio_of(expected: float, other: float, truth: float) -> Run:
    """Two Poisson counts over exposures that make the rates differ by the true ratio."""

    def run(rng: Generator, rounds: int) -> Outcome:
        ratio = rate_ratio(rng.poisson(expected, rounds), expected / truth, rng.poisson(other, rounds), other)
        return Outcome.of(ratio.low, ratio.value, ratio.high, truth)

    return run


def mean_of(sample_count: int) -> Run:
    """Ratios that lie as the ETTR of long runs does: Beta(9, 1)."""

    def run(rng: Generator, rounds: int) -> Outcome:
        ettr = rng.beta(9.0, 1.0, (rounds, sample_count))
        mean = mean_ratio_interval(sample_count, ettr.mean(axis=1), ettr.std(axis=1, ddof=1))
        return Outcome.of(mean.low, mean.value, mean.high, 0.9)

    return run


def shares(truth: float, found: list[Share]) -> Outcome:
    """Hold shares against the one planted."""
    return Outcome.of([f.low for f in found], [f.value for f in found], [f.high for f in found], truth)


def share_of_attempts(rng: Generator, rounds: int) -> Outcome:
    """Five of a hundred attempts."""
    return shares(0.05, [binomial_share(int(k), 200) for k in rng.binomial(200, 0.05, rounds)])


def attribution(explained_share: float, of: str) -> Run:
    """Evidence that explains a share of 1,500 failed attempts, and coincides by chance with attempts of any end."""

    def run(rng: Generator, rounds: int) -> Outcome:
        found = []
        for _ in range(rounds):
            failed, control = rng.multinomial(1500, FAILED_SIZES), rng.multinomial(3000, SIZES)
            explained = rng.binomial(failed, explained_share)
            hits = explained + rng.binomial(failed - explained, CHANCE)
            found.append(getattr(chance_of_coincidence(hits, failed, rng.binomial(control, CHANCE), control), of))
        return shares(float(FAILED_SIZES @ CHANCE) if of == "chance" else explained_share, found)

    return run


def outlook_of_a_run(rng: Generator, rounds: int) -> Outcome:
    """Count failures in the past, look ahead, then live through the run at the true rate."""
    held = []
    while len(held) < rounds:
        counted = garwood_interval(rng.poisson(20), 20 / RATE)
        limits = run_outlook(
            counted, 512, 60.0, restart_minutes=5, write_minutes=0, scheduled_days=10, target=0.9,
        )  # fmt: skip
        true = ettr_of_a_run(512 * RATE, 10, 60 / MINUTES_PER_DAY, 5 / MINUTES_PER_DAY, 0.0, rng)
        held.append(limits.ettr_low <= true <= limits.ettr_high)
    return Outcome.of_verdicts(held)


def _trial(
    estimator: str, simulated: str, seed: int, run: Run, rule: Rule, rounds: int = 200_000, quick: int = 20_000
) -> Trial:
    return Trial(estimator, simulated, 0.9, rule, rounds, quick, seed, run)


EXACT, NEAR = conservative(0.9), near(0.9)
PAPER = "rate, the paper's Gamma quantiles (`gamma_interval_paper`)"
GARWOOD = "rate (`garwood_interval`)"
AHEAD = "failures to come (`prediction_interval`)"
RATIO = "ratio of two rates (`rate_ratio`)"
MEAN = "mean ETTR of runs (`mean_ratio_interval`)"
SIZED = "1,500 failed attempts, 2% explained, 3,000 in the control"

TRIALS = (
    _trial(GARWOOD, "3 failures expected", 101, rate_of(3, garwood_interval), EXACT),
    _trial(GARWOOD, "10 failures expected", 102, rate_of(10, garwood_interval), EXACT),
    _trial(GARWOOD, "50 failures expected", 103, rate_of(50, garwood_interval), EXACT),
    _trial(GARWOOD, "400 failures expected", 104, rate_of(400, garwood_interval), NEAR),
    _trial(PAPER, "3 failures expected", 101, rate_of(3, gamma_interval_paper), too_narrow(0.9)),
    _trial(PAPER, "10 failures expected", 102, rate_of(10, gamma_interval_paper), NEAR),
    _trial(PAPER, "50 failures expected", 103, rate_of(50, gamma_interval_paper), NEAR),
    _trial(
        "MTTF from runtime (`mttf_from_runtime`)", "40 attempts, MTTF 100 h, three quarters end otherwise", 105,
        mttf_of_attempts, EXACT, rounds=50_000, quick=10_000,
    ),
    _trial(
        "MTTF projected (`mttf_at_scale`)", "65 failures expected, for 2,048 nodes", 106,
        mttf_projected, EXACT,
    ),
    _trial(AHEAD, "5 expected, future as long", 107, prediction_of(5, 1), EXACT, rounds=50_000, quick=10_000),
    _trial(AHEAD, "50 expected, future 0.3 as long", 108, prediction_of(50, 0.3), EXACT, rounds=50_000, quick=10_000),
    _trial(RATIO, "10 and 20 expected, true ratio 2", 109, ratio_of(10, 20, 2.0), EXACT),
    _trial(RATIO, "400 and 400 expected, true ratio 1", 110, ratio_of(400, 400, 1.0), NEAR),
    _trial(MEAN, "5 runs from Beta(9, 1)", 111, mean_of(5), NEAR, rounds=50_000),
    _trial(MEAN, "30 runs from Beta(9, 1)", 112, mean_of(30), NEAR, rounds=50_000),
    _trial(
        "share of attempts (`binomial_share`)", "10 expected of 200", 113, share_of_attempts, EXACT, 20_000, quick=4000
    ),
    _trial(
        "share attributed by chance (`chance_of_coincidence`)", SIZED, 114, attribution(0.02, "chance"), EXACT, 8000,
        quick=1500,
    ),
    _trial(
        "share attributed, corrected (`chance_of_coincidence`)", SIZED, 114, attribution(0.02, "corrected"), EXACT,
        8000, quick=1500,
    ),
    _trial(
        "ETTR of a planned run (`run_outlook`)", "20 failures expected, 512 nodes for 10 days", 115,
        outlook_of_a_run, NEAR, 3000, quick=300,
    ),
)  # fmt: skip
