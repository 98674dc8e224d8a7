"""Verdicts on checks with drawn counts: how often a check is dropped by mistake, and whether the limits cover."""

import numpy as np
import pytest

from assets.model.check_scores import DROP, KEEP, TUNE, Onsets, early_count, lead_quantiles, true_share, verdict

RUNS = 1000
HOURS = 90 * 24


def drawn(generator, share, *, mean=40.0, unknown=0.0, per_storm=1):
    """Draw onsets of 90 days: storms of one alarm or more, each storm true or false as a whole."""
    storms = generator.poisson(mean / per_storm)
    is_true = np.repeat(generator.random(storms) < share, per_storm)
    is_known = generator.random(is_true.size) >= unknown
    hour = np.repeat(generator.integers(0, HOURS, storms), per_storm)
    squared = float((np.bincount(hour) ** 2).sum()) if hour.size else 0.0
    return Onsets(is_true.size, int(is_known.sum()), float(is_true[is_known].sum()), 0.0, squared, HOURS)


@pytest.mark.parametrize("settings", [{}, {"unknown": 0.2}, {"per_storm": 8, "mean": 160.0}, {"mean": 400.0}])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_limits_cover_the_true_share(share, settings):
    generator = np.random.default_rng(7)
    found = [true_share(drawn(generator, share, **settings)) for _ in range(RUNS)]
    covered = [limits.low <= share <= limits.high for limits in found if np.isfinite(limits.value)]
    assert np.mean(covered) >= 0.88


@pytest.mark.parametrize("settings", [{}, {"per_storm": 8, "mean": 160.0}, {"unknown": 0.3}, {"mean": 400.0}])
def test_a_check_on_the_border_is_rarely_judged(settings):
    generator = np.random.default_rng(8)
    dropped = [verdict(true_share(drawn(generator, 0.2, **settings)), 0.0, 40.0) == DROP for _ in range(RUNS)]
    judged = [verdict(true_share(drawn(generator, 0.5, **settings)), 0.0, 40.0) in {KEEP, TUNE} for _ in range(RUNS)]
    assert np.mean(dropped) <= 0.1
    assert np.mean(judged) <= 0.15


def test_noise_and_good_checks_are_told_apart():
    generator = np.random.default_rng(9)
    noise = [verdict(true_share(drawn(generator, 0.02)), 0.0, 40.0) for _ in range(RUNS)]
    good = [verdict(true_share(drawn(generator, 0.9)), 0.0, 40.0) for _ in range(RUNS)]
    assert noise.count(DROP) >= 0.9 * RUNS
    assert good.count(KEEP) >= 0.95 * RUNS


def test_noise_that_alone_shows_failures_is_tuned():
    noise = true_share(Onsets(400, 400, 4.0, 0.0, 440, HOURS))
    assert verdict(noise, 0.5, 20.0) == DROP
    assert verdict(noise, 4.0, 20.0) == TUNE
    # Four of a thousand are few.
    assert verdict(noise, 4.0, 1000.0) == DROP


def test_probabilities_widen_the_limits():
    sure, doubtful = (true_share(Onsets(80, 80, 1.0, variance, 80, HOURS)) for variance in (0.0, 0.6))
    assert (sure.value, doubtful.value) == (1 / 80, 1 / 80)
    assert 0 == doubtful.low < sure.low
    assert doubtful.high > sure.high


def test_chance_coincidences_have_no_lead():
    assert np.isnan(lead_quantiles([-200.0, 30.0], [0.1, 0.2])).all()


def test_noise_with_a_true_early_warning_is_tuned():
    assert early_count([240.0, 1500.0, 10.0, -5.0], [1.0, 0.5, 1.0, 1.0]) == 1.5
    noise = true_share(Onsets(400, 400, 20.0, 0.0, 440, HOURS))
    assert [verdict(noise, early, 40.0) for early in (0.9, 1.5)] == [DROP, TUNE]


def test_one_storm_tells_as_little_as_one_alarm():
    storm = true_share(Onsets(672, 672, 0.0, 0.0, 672.0 * 672, HOURS))
    assert storm.high > 0.9
