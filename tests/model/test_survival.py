"""Weibull fits against scipy and lifelines, coverage if failures come together, and size of the goodness of fit."""

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


def test_the_test_of_shape_1_is_walds_with_the_curvature_of_the_likelihood():
    fit, step = fit_weibull(AGES, FAILED, ENTRIES), 1e-4
    ages, failed, entries = np.array(AGES), np.array(FAILED), np.array(ENTRIES)

    def log_likelihood(log_shape, log_scale):
        shape, scale = np.exp(log_shape), np.exp(log_scale)
        rate = np.log(shape / scale) + (shape - 1) * np.log(ages / scale)
        return (failed * rate).sum() - ((ages / scale) ** shape - (entries / scale) ** shape).sum()

    at = np.log([fit.shape, fit.scale])
    moves = step * np.array([[1, 0], [0, 1]])
    curvature = [
        [
            -sum(a * b * log_likelihood(*(at + (a * u + b * v) / 2)) for a in (1, -1) for b in (1, -1)) / step**2
            for u in moves
        ]
        for v in moves
    ]
    error = np.sqrt(np.linalg.inv(curvature)[0, 0])
    assert fit.p_value == pytest.approx(2 * stats.t.sf(abs(at[0]) / error, 7), rel=1e-3)
    assert fit.variance_ratio == 1.0


def test_three_jobs_that_fail_as_one_tell_as_much_as_one():
    """Each job three times, failing in one incident: the curvature is three times too large, and the ratio is 3."""
    once, thrice = fit_weibull(AGES, FAILED, ENTRIES), (np.repeat(x, 3) for x in (AGES, FAILED, ENTRIES))
    incident = np.where(np.repeat(FAILED, 3), np.repeat(np.arange(10), 3), -1)
    together = fit_weibull(*thrice, incident=incident)
    assert (together.shape, together.scale) == pytest.approx((once.shape, once.scale), rel=1e-6)
    assert (together.variance_ratio, together.p_value) == pytest.approx((3.0, once.p_value), rel=1e-4)
    assert together.shape_low < once.shape_low < once.shape_high < together.shape_high
    assert together.shape_high == pytest.approx(once.shape_high, rel=0.15)


def test_a_failure_of_one_half_counts_half_in_the_likelihood():
    """sum p log f + (1 - p) log S, highest at the fitted shape and scale."""
    ages, p = np.array(AGES, dtype=float), np.array([1, 0.5, 0.5, 1, 0.9, 0.2, 0, 0, 1, 1])
    fit = fit_weibull(ages, p)

    def loss(parameters):
        model = stats.weibull_min(np.exp(parameters[0]), scale=np.exp(parameters[1]))
        return -(p * model.logpdf(ages) + (1 - p) * model.logsf(ages)).sum()

    best = np.exp(optimize.minimize(loss, [0.0, 6.0], method="Nelder-Mead", options={"xatol": 1e-7}).x)
    assert (fit.shape, fit.scale) == pytest.approx(tuple(best), rel=1e-4)
    assert fit.event_count == pytest.approx(6.1)
    assert fit.variance_ratio > 1.0


def incidents_of_gangs(rng, days, rate, gangs=10):
    """Return ages, failures and incidents of jobs that run in parallel in gangs of three, one gang hit at a time."""
    ages, failed = [], []
    for _ in range(gangs):
        struck, now = np.sort(rng.uniform(0.0, days, rng.poisson(rate * days / gangs))), 0.0
        while now < days:
            planned = min(now + rng.exponential(2.0), days)
            end = next((at for at in struck if now < at < planned), planned)
            ages, failed, now = [*ages, end - now], [*failed, end < planned], end
    incident = np.where(failed, np.arange(len(ages)), -1)
    return np.repeat(ages, 3), np.repeat(failed, 3), np.repeat(incident, 3)


@pytest.mark.slow
def test_limits_cover_the_truth_where_three_jobs_fail_at_a_time():
    """30 incidents of three jobs of one age; limits that treat them as independent cover the shape in seven of ten."""
    rng, held, blind = np.random.default_rng(66), [], []
    for _ in range(600):
        ages, failed, incident = incidents_of_gangs(rng, days=40.0, rate=0.75)
        fits = fit_weibull(ages, failed, incident=incident), fit_weibull(ages, failed)
        held.append([fits[0].shape_low <= 1 <= fits[0].shape_high, fits[0].scale_low <= 40 / 3 <= fits[0].scale_high])
        blind.append(fits[1].shape_low <= 1 <= fits[1].shape_high)
    assert np.mean(held, axis=0) == pytest.approx(0.90, abs=0.035)
    assert np.mean(blind) < 0.80


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


def test_events_are_incidents_and_not_the_jobs_they_ended():
    """Six jobs of one incident are one event; five incidents of 0.9 are 4.5 expected ones."""
    ages, failed = np.full(480, 19.2), np.arange(480) < 6
    fit = fit_weibull(ages, failed, incident=np.where(failed, 0, -1))
    assert (fit.method, fit.verdict, fit.event_count, fit.incident_count) == ("too_few_events", "cannot tell", 6, 1)
    assert np.isnan([fit.shape, fit.shape_low, fit.shape_high, fit.scale, fit.scale_low, fit.scale_high]).all()
    doubtful = fit_weibull(AGES, np.array(FAILED) * 0.9, incident=[0, 0, 1, 1, 2, 3, -1, -1, 4, 4])
    assert (doubtful.method, doubtful.incident_count) == ("too_few_events", pytest.approx(4.5))
    assert fit_weibull(AGES, FAILED, incident=[0, 0, 1, 1, 2, 3, -1, -1, 4, 4]).method == "weibull_profile"


def test_without_a_maximum_the_shape_has_a_bound_that_incidents_widen():
    """Ten jobs of 480 fail in the last hour of all, six of them in one incident: five events, V / k = (36 + 4) / 10.

    At equal ages the likelihood rises with ten times the logarithm of the shape, up to the largest one in the search,
    20; four times half the quantile of F (1 and 4 degrees) below it the shape is 8.06.
    """
    ages, failed = np.full(480, 19.2), np.arange(480) < 10
    incident = np.where(failed, np.maximum(np.arange(480) - 5, 0), -1)
    together, alone = fit_weibull(ages, failed, incident=incident), fit_weibull(ages, failed)
    assert together.variance_ratio == pytest.approx(4.0)
    assert together.shape_low == pytest.approx(20 * np.exp(-4 * stats.f.ppf(0.9, 1, 4) / 2 / 10))
    assert alone.shape_low == pytest.approx(20 * np.exp(-stats.chi2.ppf(0.9, 1) / 2 / 10))
    for fit in (together, alone):
        assert fit.shape_high == np.inf
        assert np.isnan([fit.shape, fit.scale, fit.scale_low, fit.scale_high, fit.p_value]).all()
        assert np.isnan([fit.kolmogorov_distance, fit.fit_p_value]).all()


def test_a_limit_of_the_scale_that_takes_a_shape_beyond_those_searched_is_unknown():
    """Six failures in the last tenth: the shape fits at 19.8, and the scale's lower limit would need one above 20."""
    fit = fit_weibull([*np.linspace(18.0, 20.0, 6), *[20.0] * 50], [1] * 6 + [0] * 50)
    assert fit.shape == pytest.approx(19.82, abs=0.01)
    assert np.isnan(fit.scale_low) and fit.scale < fit.scale_high


def lifetimes(rng, shape, jobs):
    """Return ages of jobs that end at random, a fifth of them watched from some age on only."""
    failing, leaving = rng.weibull(shape, jobs) * 100, rng.exponential(60.0, jobs)
    entry = np.where(rng.random(jobs) < 0.2, rng.uniform(0.0, 30.0, jobs), 0.0)
    seen = np.minimum(failing, leaving) > entry
    return np.minimum(failing, leaving)[seen], (failing <= leaving)[seen], entry[seen]


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
