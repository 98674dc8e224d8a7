"""Limits on a mean of ratios: by hand, at the edges, and by how often they cover."""

import numpy as np
import pytest
from scipy import stats

from assets.model.mean_ratio import BOUNDS_OF_FEW_RUNS, LOGIT_T, NO_SPREAD, mean_or_bounds, mean_ratio_interval


def test_limits_agree_with_the_delta_method_written_out():
    half = stats.t.ppf(0.95, 9) * 0.04 / (np.sqrt(10) * 0.95 * 0.05)
    centre = np.log(0.95 / 0.05)
    interval = mean_ratio_interval(10, 0.95, 0.04)
    assert interval.low == pytest.approx(1 / (1 + np.exp(half - centre)))
    assert interval.high == pytest.approx(1 / (1 + np.exp(-half - centre)))
    assert interval.method == LOGIT_T


def test_limits_stay_between_zero_and_one():
    interval = mean_ratio_interval(3, 0.99, 0.012)
    assert 0 < interval.low < 0.99 < interval.high < 1


def test_fewer_than_ten_runs_have_bounds_and_ten_have_limits():
    found = mean_or_bounds([1, 9, 10], [0.9, 0.9, 0.9], [np.nan, 0.1, 0.1], [0.9, 0.3, 0.3], [0.9, 0.99, 0.99])
    assert found.method.tolist() == [NO_SPREAD, BOUNDS_OF_FEW_RUNS, LOGIT_T]
    assert np.isnan([found.low[0], found.high[0]]).all()
    assert (found.low[1], found.high[1]) == (0.3, 0.99)
    limits = mean_ratio_interval(10, 0.9, 0.1)
    assert (found.low[2], found.high[2]) == (limits.low, limits.high)


def test_limits_of_nine_runs_would_cover_the_mean_in_60_percent_where_one_run_in_ten_is_bad():
    rng = np.random.default_rng(61)
    ettr = np.where(rng.random((20_000, 9)) < 0.1, rng.beta(2, 8, (20_000, 9)), rng.beta(90, 6, (20_000, 9)))
    limits = mean_ratio_interval(9, ettr.mean(axis=1), ettr.std(axis=1, ddof=1))
    truth = 0.1 * 0.2 + 0.9 * 90 / 96
    assert ((limits.low <= truth) & (truth <= limits.high)).mean() == pytest.approx(0.6, abs=0.02)
