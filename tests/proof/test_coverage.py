"""Limits hold the truth as often as they promise, verdicts fall as seldom as allowed, and forms agree with runs."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from tests.model.planted_fleets import Setting
from tests.proof import counts, fits
from tests.proof.agreement import SETTINGS, compare
from tests.proof.lemon_lists import SETTINGS as LEMON_SETTINGS
from tests.proof.lemon_lists import try_lists
from tests.proof.page import COVERAGE, PAGE, page, with_published
from tests.proof.trial import Measured, Outcome, Trial, at_least, at_most, conservative, near, too_narrow


def setting_in_words(setting: Setting) -> str:
    rate = f"{setting.factor} times {'fleet' if setting.is_of_fleet else 'normal'}"
    return f"{setting.days} d, {setting.lemon_count} lemons, {rate}, {setting.known_share:.0%} known"


@cache
def quick(trial: Trial) -> Measured:
    return trial.measure(trial.quick_rounds)


def named(trial: Trial) -> str:
    return f"{trial.estimator}, {trial.simulated}"


@pytest.mark.slow
@pytest.mark.parametrize("trial", COVERAGE, ids=named)
def test_limits_hold_the_truth_as_often_as_they_promise(trial):
    measured = quick(trial)
    assert trial.rule.holds(measured.share, measured.error), measured


@pytest.mark.slow
@pytest.mark.parametrize("trial", COVERAGE, ids=named)
def test_values_are_off_by_less_than_they_scatter(trial):
    measured = quick(trial)
    assert math.isnan(measured.bias) or abs(measured.bias) <= measured.spread / 2 + 3 * measured.bias_error, measured


@pytest.mark.slow
@pytest.mark.parametrize("trial", fits.VERDICTS, ids=named)
def test_verdicts_fall_as_seldom_and_as_often_as_asked(trial):
    measured = quick(trial)
    assert trial.rule.holds(measured.share, measured.error), measured


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: f"{setting.gpu_count} GPUs, {setting.checkpoint} min")
def test_expected_ettr_is_that_of_runs(setting):
    found = compare(setting, 400)
    assert abs(found.errors_apart) < 3.5
    assert found.standard_error < 0.002
    if setting.published_holds:
        assert abs(found.published_bias) < 0.05


FOR_EACH_PUSH = [Setting(28, 20), Setting(90, 10)]
"""The fits of the others take a minute, and the page has them all on more fleets."""


@pytest.mark.parametrize(
    "setting",
    [
        pytest.param(setting, id=setting_in_words(setting), marks=[] if setting in FOR_EACH_PUSH else pytest.mark.slow)
        for setting in LEMON_SETTINGS
    ],
)
def test_lists_of_lemons_hold_what_they_promise(setting):
    found = try_lists(setting, 3)
    assert found.is_as_asked(), found
    if setting.days * setting.factor >= 28 * 20 and setting.lemon_count:
        assert found.recall >= 0.3


def test_the_papers_limits_fail_where_exact_ones_are_asked_for():
    paper = next(trial for trial in counts.TRIALS if trial.rule == too_narrow(0.9))
    measured = paper.measure(20_000)
    assert not near(0.9).holds(measured.share, measured.error)
    assert not conservative(0.9).holds(measured.share, measured.error)


@pytest.mark.parametrize("expected", [3, 10, 50])
def test_simulated_coverage_is_the_one_that_can_be_counted_out(expected):
    """Sum the probabilities of all counts whose limits hold the rate: no random numbers."""
    count = np.arange(300)
    for interval in (counts.garwood_interval, counts.gamma_interval_paper):
        limits = interval(count, expected / counts.RATE)
        covers = (limits.low <= counts.RATE) & (limits.high >= counts.RATE)
        exact = stats.poisson.pmf(count[covers], expected).sum()
        trial = Trial("", "", 0.9, near(0.9), 0, 0, 5, counts.rate_of(expected, interval))
        measured = trial.measure(40_000)
        assert measured.share == pytest.approx(exact, abs=3.5 * measured.error)


def test_limits_that_are_too_narrow_would_be_seen():
    """Limits of 70% in place of 90% break every rule, at the rounds of the quick test."""
    trial = next(trial for trial in fits.TRIALS if trial.rule == near(0.9) and trial.estimator == fits.BETA)

    def at_seventy(rng, rounds):
        tests = [
            fits.scale_test(count, fits.NODE_DAYS, fits.NODES, confidence_level=0.7)
            for count in rng.poisson(fits.expected(600, 0.0), (rounds, fits.NODES.size))
        ]
        return Outcome.of([t.low for t in tests], [t.beta for t in tests], [t.high for t in tests], 0.0)

    measured = replace(trial, run=at_seventy).measure(trial.quick_rounds)
    assert not near(0.9).holds(measured.share, measured.error)
    assert not conservative(0.9).holds(measured.share, measured.error)


@pytest.mark.parametrize(
    ("rule", "held", "missed"),
    [
        (near(0.9), (0.85, 0.011), (0.85, 0.009)),
        (conservative(0.9), (0.99, 0.001), (0.879, 0.1)),
        (too_narrow(0.9), (0.77, 0.01), (0.87, 0.01)),
        (at_most(0.02), (0.03, 0.004), (0.03, 0.003)),
        (at_least(0.9), (0.89, 0.004), (0.89, 0.003)),
    ],
    ids=str,
)
def test_rules_allow_what_they_say(rule, held, missed):
    assert rule.holds(*held) and not rule.holds(*missed)


def test_errors_are_those_of_the_planted_truth():
    def run(rng, rounds):
        return Outcome.of([1.0, 3.0, 0.0, 0.0], [2.2, 1.8, np.nan, 2.6], [3.0, 4.0, 9.0, 1.0], 2.0)

    measured = Trial("", "", 0.9, near(0.9), 4, 4, 0, run).measure(4)
    assert (measured.share, measured.silent) == (0.5, 0.25)
    assert measured.bias == pytest.approx(0.1) and measured.spread == pytest.approx(np.sqrt(0.11 / 3))


def test_the_page_has_every_row():
    text = PAGE.read_text(encoding="utf-8")
    assert with_published(text) == text
    for trial in COVERAGE:
        assert f"| {trial.estimator}" in text, named(trial)
    for trial in fits.VERDICTS:
        assert f"| {trial.estimator} | {trial.simulated} |" in text, named(trial)


@pytest.mark.slow
def test_the_page_is_what_the_command_writes():
    assert page() == PAGE.read_text(encoding="utf-8")
