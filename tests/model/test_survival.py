"""Weibull fits against Meeker and Escobar, scipy and lifelines; coverage, and the size of the goodness of fit."""

import numpy as np
import pytest
from scipy import optimize, stats

from assets.model.goodness_of_fit import kaplan_meier_distance, span_test
from assets.model.survival import fit_weibull

# Kilometres of vehicle shock absorbers, 11 failures of 38 (O'Connor; Meeker and Escobar 1998, table C.2).
KILOMETRES = np.array(
    [6700, 6950, 7820, 8790, 9120, 9660, 9820, 11310, 11690, 11850, 11880, 12140, 12200, 12870, 13150, 13330, 13470,
     14040, 14300, 17520, 17540, 17890, 18450, 18960, 18980, 19410, 20100, 20100, 20150, 20320, 20900, 22700, 23490,
     26510, 27410, 27490, 27890, 28100]
)  # fmt: skip
HAS_FAILED = np.isin(np.arange(38), [0, 4, 12, 14, 18, 19, 26, 30, 31, 33, 35])

AGES = [30, 90, 160, 250, 380, 500, 500, 500, 120, 310]
FAILED = [1, 1, 1, 1, 1, 1, 0, 0, 1, 1]
ENTRIES = [0, 0, 100, 0, 50, 200, 0, 300, 0, 150]


def test_shock_absorbers_of_meeker_and_escobar():
    """Their sigma 0.3164 and mu 10.23: shape 3.16, scale 27,719 km."""
    fit = fit_weibull(KILOMETRES, HAS_FAILED)
    assert (fit.shape, fit.scale) == pytest.approx((3.1605, 27_718.7), rel=1e-4)
    assert (1 / fit.shape, np.log(fit.scale)) == pytest.approx((0.3164, 10.23), abs=5e-4)
    assert (fit.event_count, fit.exposure, fit.verdict) == (11, 625_000, "rises")


def test_right_censored_fit_agrees_with_scipy():
    data = stats.CensoredData(uncensored=KILOMETRES[HAS_FAILED], right=KILOMETRES[~HAS_FAILED])
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    fit = fit_weibull(KILOMETRES, HAS_FAILED)
    assert (fit.shape, fit.scale) == pytest.approx((shape, scale), rel=1e-5)


def test_left_truncated_fit_agrees_with_lifelines():
    """WeibullFitter().fit(ages, failed, entry=entries) of lifelines 0.30.3."""
    fit = fit_weibull(AGES, FAILED, ENTRIES)
    assert (fit.shape, fit.scale) == pytest.approx((1.0411821, 260.75971), rel=1e-5)
    late = fit_weibull(AGES, FAILED)
    assert (late.shape, late.scale) == pytest.approx((1.2833655, 356.63021), rel=1e-5)


def test_limits_are_where_the_likelihood_of_both_parameters_falls_to_the_quantile():
    fit = fit_weibull(KILOMETRES, HAS_FAILED)

    def log_likelihood(shape, scale):
        model = stats.weibull_min(shape, scale=scale)
        return model.logpdf(KILOMETRES[HAS_FAILED]).sum() + model.logsf(KILOMETRES[~HAS_FAILED]).sum()

    peak = log_likelihood(fit.shape, fit.scale)
    for shape in (fit.shape_low, fit.shape_high):
        scale = ((KILOMETRES**shape).sum() / 11) ** (1 / shape)
        assert 2 * (peak - log_likelihood(shape, scale)) == pytest.approx(2.705543, abs=1e-4)
    for scale in (fit.scale_low, fit.scale_high):
        highest = -optimize.minimize_scalar(lambda x, s=scale: -log_likelihood(x, s), bounds=(0.5, 9)).fun
        assert 2 * (peak - highest) == pytest.approx(2.705543, abs=1e-4)
    exponential = log_likelihood(1.0, 625_000 / 11)
    assert fit.p_value == pytest.approx(stats.chi2.sf(2 * (peak - exponential), 1), rel=1e-5)


def test_jobs_that_share_an_element_count_each():
    alone = fit_weibull(AGES + [400] * 5, [*FAILED, 1, 1, 0, 0, 0])
    shared = fit_weibull([*AGES, 400], [*FAILED, 2], job_count=[1] * 10 + [5])
    assert (shared.shape, shared.scale) == pytest.approx((alone.shape, alone.scale))
    assert shared.kolmogorov_distance == pytest.approx(alone.kolmogorov_distance)
    assert (shared.event_count, shared.exposure) == (alone.event_count, alone.exposure)


def test_the_unit_of_the_ages_changes_the_scale_only():
    hours = fit_weibull(AGES, FAILED, ENTRIES)
    seconds = fit_weibull(3600 * np.array(AGES), FAILED, 3600 * np.array(ENTRIES))
    assert (seconds.shape, seconds.scale / 3600) == pytest.approx((hours.shape, hours.scale), rel=1e-5)
    assert seconds.shape_low == pytest.approx(hours.shape_low, rel=1e-5)
    assert seconds.scale_high / 3600 == pytest.approx(hours.scale_high, rel=1e-5)


def test_too_few_failures_are_no_fit():
    for failed, method in (([1, 1, 1, 1, 0], "too_few_events"), ([0] * 5, "too_few_events")):
        fit = fit_weibull([1.0, 2.0, 3.0, 4.0, 5.0], failed)
        assert (fit.method, fit.verdict, fit.event_count) == (method, "cannot tell", sum(failed))
        assert np.isnan([fit.shape, fit.shape_low, fit.shape_high, fit.scale, fit.p_value]).all()
    assert fit_weibull([], [], []).method == "no_exposure"


@pytest.mark.parametrize(
    "wrong", [([0.0], [1]), ([1.0], [1], [1.0]), ([1.0], [1], [-1.0]), ([1.0], [2]), ([1.0], [-1]), ([[1.0]], [[1]])]
)
def test_impossible_inputs_are_refused(wrong):
    with pytest.raises(ValueError):
        fit_weibull(*wrong)


def lifetimes(rng, shape, jobs):
    """Ages of jobs cut off at random, a fifth of them watched from some age on only."""
    failing, leaving = rng.weibull(shape, jobs) * 100, rng.exponential(60.0, jobs)
    entry = np.where(rng.random(jobs) < 0.2, rng.uniform(0.0, 30.0, jobs), 0.0)
    seen = np.minimum(failing, leaving) > entry
    return np.minimum(failing, leaving)[seen], (failing <= leaving)[seen], entry[seen]


def shares_covered(shape, jobs, rounds, seed):
    """Shares of fits whose limits hold the planted shape and the planted scale."""
    rng = np.random.default_rng(seed)
    fits = [fit for fit in (fit_weibull(*lifetimes(rng, shape, jobs)) for _ in range(rounds)) if fit.scale > 0]
    return np.mean([(f.shape_low <= shape <= f.shape_high, f.scale_low <= 100 <= f.scale_high) for f in fits], axis=0)


@pytest.mark.parametrize("shape", [0.7, 1.5])
def test_limits_cover_the_truth_about_as_often_as_promised(shape):
    assert shares_covered(shape, 120, 150, seed=65) == pytest.approx(0.90, abs=0.07)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "jobs"), [(0.7, 60), (1.0, 60), (1.0, 300), (1.5, 300)])
def test_limits_cover_the_truth_within_two_points_of_nominal(shape, jobs):
    assert shares_covered(shape, jobs, 3000, seed=61) == pytest.approx(0.90, abs=0.02)


def test_a_planted_shape_is_recognised_and_a_constant_hazard_confirmed():
    rng = np.random.default_rng(62)
    for shape, verdict in ((0.7, "falls"), (1.0, "constant"), (1.4, "rises")):
        fit = fit_weibull(*lifetimes(rng, shape, 6000))
        assert (fit.verdict, fit.method) == (verdict, "weibull_profile")
        assert fit.shape_low <= shape <= fit.shape_high
        assert fit.fit_p_value > 0.01 and fit.kolmogorov_distance < 0.05


def test_a_bathtub_is_no_weibull():
    rng = np.random.default_rng(63)
    ages = np.where(rng.random(2000) < 0.3, rng.exponential(1.0, 2000), rng.normal(100.0, 5.0, 2000))
    fit = fit_weibull(ages, np.ones(2000))
    assert fit.fit_p_value < 1e-6
    assert fit.kolmogorov_distance > 0.1


def test_kaplan_meier_with_late_entries_agrees_with_lifelines():
    """KaplanMeierFitter().fit(ages, failed, entry=entries): 0.64 from 90, 0.32768 from 250, 0.131072 at 500."""
    residual, entry = np.array(AGES) / 250.0, np.array(ENTRIES) / 250.0
    steps = {30: 0.8, 90: 0.64, 120: 0.512, 160: 0.4096, 250: 0.32768, 310: 0.262144, 380: 0.196608, 500: 0.131072}
    after, ages = np.array([*steps.values()]), np.array([*steps]) / 250.0
    model, before = np.exp(-ages), np.append(1.0, after[:-1])
    expected = max(np.abs(after - model).max(), np.abs(before - model).max())
    assert kaplan_meier_distance(residual, entry, FAILED, np.ones(10)) == pytest.approx(expected, abs=1e-6)


def test_the_goodness_of_fit_rejects_a_true_model_as_often_as_it_says():
    rng, p_values = np.random.default_rng(64), []
    for _ in range(1000):
        ages, failed, entry = lifetimes(rng, 1.0, 300)
        rate = failed.sum() / (ages - entry).sum()
        p_values.append(span_test(rate * ages, rate * entry, failed, np.ones(ages.size), parameter_count=1))
    assert np.mean(np.array(p_values) < 0.10) == pytest.approx(0.10, abs=0.025)


def test_the_goodness_of_fit_needs_failures():
    assert np.isnan(span_test([0.1, 0.2], [0, 0], [1, 1], [1, 1], parameter_count=2))
    assert np.isnan(kaplan_meier_distance([0.1, 0.2], [0, 0], [0, 0], [1, 1]))
