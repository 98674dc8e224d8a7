"""Impossible numbers are refused, and unknown ones stay unknown: two tables for all functions of the model."""

from __future__ import annotations

from importlib import import_module
from pkgutil import resolve_name

import numpy as np
import pytest

NAN, INF = np.nan, np.inf
COSTS = {"restart_minutes": 5}
RNG = np.random.default_rng(1)
GARWOOD = import_module("assets.model.failure_rate").garwood_interval(65, 10_000.0)
GROUP = import_module("assets.model.gamma_poisson").Group(0.01, 4.0)
MONTHS = import_module("assets.model.month_variation").month_variation([], [])
REFUSED = [
    ("failure_rate.garwood_interval", [(-1, 1), (1.5, 1), (1, -1), (1, INF), (1, 1, 0), (1, 1, 90)]),
    ("change_effects.ratio_of_ratios", [([1, 2], [1, 1])]),
    ("change_points.find_rate_changes", [([], []), ([1], [1.0, 1.0]), ([-1], [1.0]), ([0, 0], [0.0, 0.0])]),
    ("change_points.find_rate_changes", [([1, 1], [1.0, 1.0], {"minimum_cells": 0})]),
    ("change_points.find_rate_changes", [([1, 1], [1.0, 1.0], {"family_size": 0})]),
    ("checkpoint.young_minutes", [(0.0, 5), (1.0, -5)]),
    ("checkpoint.daly_minutes", [(0.0, 5), (1.0, -5)]),
    ("checkpoint.optimal_minutes", [(0.0, 5), (1.0, -5)]),
    ("checkpoint.longest_minutes", [(1.0, target, COSTS) for target in (0.0, 1.0, 1.5)]),
    ("coincidence.chance_of_coincidence", [([1], [2], [3], [2]), ([1, 1], [2], [1], [2]), ([1], [2], [1], [2], 1.0)]),
    ("coincidence.standardised_rate", [([1, 1], [10, 10], [0.5, 0.4]), ([1], [10, 10], [0.5, 0.5])]),
    ("lemons.culprits.infer_culprits", [
        ([0], [2], [1.0, 1.0], RNG), ([0], [-1], [1.0, 1.0], RNG), ([1], [0], [1.0, 1.0], RNG),
        ([0], [], [1.0, 1.0], RNG), ([0], [0], [1.0], RNG, [1.5])]),
    ("dispersion.pearson_dispersion", [([0, 1], [0.0, 1.0], {"parameter_count": 1})]),
    ("dispersion.neighbour_dispersion", [([1, 2], [1.0])]),
    ("ettr.expected_ettr", [
        (1.0, 0, COSTS), (1.0, 60, {"restart_minutes": -1}), (1.0, 60, COSTS | {"productive_days": 0})]),
    ("incident_counts.count_incidents", [
        ([0], [0.0], [1], 1), ([0], [1.1], [1], 1), ([0], [1.0], [0.5], 1), ([1], [1.0], [1], 1),
        ([0, 0], [1.0], [1], 1)]),
    ("incident_counts.weighted_interval", [(3.0, -1.0, 1.0), (3.0, 1.0, 1.0)]),
    ("lemons.evaluation.evaluate_forward", [([True], [1], [1], [1], {"normal_rate": 0.0})]),
    ("forecast.forecast_count", [(3, 3, 0.0, 1.0, MONTHS), (-1, 1, 1.0, 1.0, MONTHS), (NAN, 1, 1.0, 1.0, MONTHS)]),
    ("lemons.gate.compare_with_even_fleets", [([0.0, 0.0], [0.0, 0.0], GROUP, RNG)]),
    ("lemons.signals.stand_out", [(np.zeros((3, 6)),), (np.zeros((3, 7)), {"xids": 1}, {})]),
    ("lemons.two_groups.fit_two_groups", [([-1], [1]), ([1], [INF]), ([1, 2], [1])]),
    ("loss_limits.loss_interval", [(-1, 1, 1), (1, -1, 1), (1, 1, -1)]),
    ("mean_ratio.mean_ratio_interval", [(3, 1.2, 0.1), (3, 0.5, -0.1), (3, 0.5, 0.1, 1.0), (3, 0.5, 0.1, 0.0)]),
    ("mean_ratio.mean_or_bounds", [(3, 0.9, 0.1, 0.91, 0.99)]),
    ("month_variation.month_variation", [([1, 2], [1.0]), ([-1], [1.0]), ([1], [NAN]), ([1], [-1.0])]),
    ("mttf.mttf_at_scale", [(GARWOOD, 0)]),
    ("mttf.nodes_of", [(8, 0)]),
    ("prediction.prediction_interval", [(1, 1.0, -1.0)]),
    ("prediction.prediction_at_known_rate", [(mean,) for mean in (-1.0, INF, NAN)]),
    ("rate_ratio.rate_ratio", [
        (-1, 1, 1, 1), (1, -1, 1, 1), (1, 1, 1, INF), (1, 1, -2, 1), (1, 1, 1, 1, {"confidence_level": 90}),
        (1, 1, 1, 1, {"dispersion": 0.9})]),
    ("repairs.Spells.of", [([-1], [0], [0])]),
    ("run_plan.assumed_rate", [(rate,) for rate in (0.0, -1.0, INF, NAN)]),
    ("scale.dependence.scale_test", [([1], [1.0, 2.0], [1, 2]), ([-1], [1.0], [1]), ([1], [1.0], [0])]),
    ("scale.dependence.scale_test", [([1], [0.0], [1])]),
    ("scale.dependence.scale_test", [([1, 2], [9, 9], [1, 2], {"event_variance": v}) for v in ([1.0], [-1.0, 1.0])]),
    ("spares.probability_without_spare", [(1.0, -1.0, 1)]),
    ("stratified_odds.stratified_odds", [([0], [3], [2], [0], [5], 1)]),
    ("survival.fit_weibull", [
        ([0.0], [1]), ([1.0], [1], [1.0]), ([1.0], [1], [-1.0]), ([1.0], [2]), ([1.0], [-1]), ([[1.0]], [[1]])]),
]  # fmt: skip
"""Function by module, and arguments of calls; a mapping at the end has those by name."""
CASES = [(name, call) for name, calls in REFUSED for call in calls]


LIMITS = ("value", "low", "high")
UNKNOWN = [
    ("failure_rate.garwood_interval", ([0, 3, NAN, 2], [0.0, 0.0, 5.0, NAN]), LIMITS, "no_exposure"),
    ("incident_counts.weighted_interval", ([NAN, 2.0], [NAN, 2.0], [10.0, NAN]), LIMITS, "no_exposure"),
    ("rate_ratio.rate_ratio", ([1, 1, NAN], [0.0, 1.0, 1.0], 1, [1.0, 0.0, 1.0]), (*LIMITS, "p_value"), "no_exposure"),
    ("change_effects.ratio_of_ratios", ([1, 2, 3, 4], [1, 1, 0, 1]), (*LIMITS, "p_value"), "no_exposure"),
    ("change_effects.ratio_of_ratios", ([0, 0, 3, 4], [1, 1, 1, 1]), (), "no_events"),
    ("mttf.mttf_from_runtime", ([0, 2], 0.0), ("hours", "low", "high"), "no_exposure"),
    (
        "mean_ratio.mean_ratio_interval",
        ([1, 4, 4, 4], [0.9, 0.9, 1.0, 0.0], [NAN, 0.0, 0.0, 0.0]),
        LIMITS[1:],
        "no_spread",
    ),
    ("loss_limits.loss_interval", ([0.0, NAN], [0.0, NAN], [0.0, NAN]), ("high",), None),
    ("change_points.laplace_trend", ([0, 0], [1.0, 1.0]), ("score", "p_value"), None),
    ("change_points.laplace_trend", ([3, 0], [1.0, 0.0]), ("score", "p_value"), None),
    ("dispersion.pearson_dispersion", ([4, 9], [4.0, 9.0], {"parameter_count": 2}), (), None),
    ("dispersion.neighbour_dispersion", ([0, 0, 0], [1.0, 1.0, 1.0]), (), None),
    ("dispersion.neighbour_dispersion", ([3, 0], [1.0, 0.0]), (), None),
    ("dispersion.neighbour_dispersion", ([3], [1.0]), (), None),
    ("ettr.expected_ettr", (NAN, 60, COSTS), (), None),
    ("ettr.expected_ettr_exact", (NAN, 60, COSTS), (), None),
    ("mttf.nodes_of", (8, NAN), (), None),
    ("mttf.nodes_of", (8, NAN, 640, 100), (), None),
    ("goodness_of_fit.span_test", ([0.1, 0.2], [0, 0], [1, 1], [1, 1], {"parameter_count": 2}), (), None),
    ("goodness_of_fit.kaplan_meier_distance", ([0.1, 0.2], [0, 0], [0, 0], [1, 1]), (), None),
]
"""Function by module, its arguments, the unknown parts of its result, and the method that it names."""


def called(name, call):
    """Call a function of the model."""
    *values, last = call
    given, named = (values, last) if isinstance(last, dict) else (call, {})
    return resolve_name(f"assets.model.{name}")(*given, **named)


@pytest.mark.parametrize(("name", "call"), CASES)
def test_what_cannot_be_is_refused(name, call):
    with pytest.raises(ValueError):
        called(name, call)


@pytest.mark.parametrize(("name", "call", "unknown", "method"), UNKNOWN)
def test_of_what_nothing_is_known_nothing_is_said(name, call, unknown, method):
    found = called(name, call)
    if method:
        assert set(np.atleast_1d(found.method)) == {method}
    for value in [getattr(found, part) for part in unknown] or ([] if method else [found]):
        assert np.isnan(value).all()
