"""Rows of the five clusters, computed by hand: one table for all estimates."""

from __future__ import annotations

import pytest
from scipy import stats

from assets.model.rate_ratio import rate_ratio

RATE = "failures_per_1000_node_days"
LOW, HIGH = f"{RATE}_low", f"{RATE}_high"
ONE_OF_A_SHARE = stats.binomtest(2, 3).proportion_ci(0.90, "exact")
IN_INCIDENTS = rate_ratio(3, 828, 1, 3, dispersion=(5 / 9 + 1) / (1 / 3 + 1))
"""Two attempts in one incident and one alone: 3 with a variance of 4 + 1, against a single one."""
PER_HOUR, USEFUL = 0.08 / 24, 1 - 0.08 / 24 * (5 / 60 + 0.5)
"""32 nodes at 2.5 failures per 1,000 node-days: 0.08 a day."""
PUBLISHED = USEFUL / ((1 + PER_HOUR) * (1 + 5 / 60 / 128) + USEFUL / 128)
"""The paper's expected ETTR of 128 productive hours after 60 minutes in the queue."""
YOUNG = (2 * 5 * 1440 / 0.08) ** 0.5
"""Young's interval for writes of 5 minutes: sqrt(10 x 18,000) = 424.3 minutes."""
UNCOMPARED = dict.fromkeys(("ratio", "ratio_low", "ratio_high", "p_value")) | {"method": "no_exposure"}
UNFITTED = dict.fromkeys(("beta", "beta_low", "beta_high", "p_value", "is_equivalent")) | {"verdict": "cannot tell"}
UNPLANNED = dict.fromkeys((
    RATE, "mttf_hours", "expected_interruptions", "checkpoint_minutes_young", "checkpoint_minutes_daly",
    "checkpoint_minutes_optimal", "checkpoint_minutes_optimal_high", "ettr_optimal", "probability_ettr_ge_target",
))  # fmt: skip

KEYS = {
    "est_attribution_chance": ("cluster_id", "failure_category"),
    "est_failure_rates": ("cluster_id", "population", "counted_as"),
    "est_mttf_by_size": ("cluster_id", "gpu_size_bin"),
    "est_mttf_projections": ("cluster_id", "gpu_count"),
    "est_ettr_by_size": ("cluster_id", "gpu_size_bin"),
    "est_ettr_grid": ("scenario", "gpu_count", RATE, "checkpoint_minutes"),
    "est_checkpoint_plans": ("cluster_id", "gpu_count"),
    "est_rate_changes": ("cluster_id",),
    "est_rate_ratios": ("cluster_id", "other_cluster_id", "population", "counted_as"),
    "est_scale_tests": ("cluster_id",),
    "est_time_to_failure": ("cluster_id", "gpu_size_bin"),
}
ROWS = [
    # 10 of 100 attributed; by chance 1% of the 80 small and 10% of the 20 large ones: 2.8%.
    ("est_attribution_chance", ("large", "pcie"), {
        "attributed_count": 10, "failed_count": 100, "coincidence_count": 2, "completed_count": 110,
        "attributed_ratio": 0.1, "chance_ratio": 0.028, "corrected_ratio": 0.072 / 0.972,
        "credible_ratio": 0.72 / 0.972, "event_count": 10, "exposure": 100.0, "method": "abbott_mover", "note": None}),
    ("est_attribution_chance", ("large", "ib_link"), {
        "chance_ratio": 0.0, "chance_ratio_low": 0.0, "chance_ratio_high": 2.9957 * 0.2 / 10,
        "corrected_ratio": 0.02, "attributed_ratio": 0.02, "corrected_ratio_low": 0.0}),
    ("est_attribution_chance", ("small", "pcie"), {
        "attributed_ratio": 0.1, "chance_ratio": 0.0, "note": "no control for the sizes of 75.0%"}),
    ("est_attribution_chance", ("quiet", "pcie"), {
        "attributed_ratio": 0.2, "chance_ratio": None, "corrected_ratio": None, "credible_ratio": None,
        "method": "no_control", "note": "chance is unknown"}),
    # 2 failures in 192 + 160 + 320 node-days and 128 of what still runs; both are one incident: twice the variance.
    ("est_failure_rates", ("large", "gpus_gt_128", "attempts"), {
        "failure_count": 2, "failure_variance": 4, "node_days": 800.0, RATE: 2.5, LOW: 2 * 0.0512933 / 0.8,
        HIGH: 2 * 4.7439 / 0.8, "event_count": 2, "exposure": 800.0, "method": "garwood_dispersed", "note": None}),
    ("est_failure_rates", ("large", "gpus_gt_128", "attempts_paper"), {
        "failure_count": 2, "failure_variance": 2, "node_days": 800.0, "method": "garwood", LOW: 0.35536 / 0.8,
        HIGH: 6.2958 / 0.8}),
    ("est_failure_rates", ("large", "gpus_gt_128", "incidents"), {"failure_count": 1}),
    ("est_failure_rates", ("large", "gpus_gt_128", "incidents_paper"), {"failure_count": 1}),
    ("est_failure_rates", ("large", "all", "attempts"), {"failure_count": 3}),
    ("est_failure_rates", ("large", "all", "incidents"), {"failure_count": 2, "node_days": 828.0}),
    ("est_failure_rates", ("small", "all", "incidents"), {"failure_count": 1}),
    ("est_failure_rates", ("small", "gpus_gt_128", "attempts"), {
        RATE: None, LOW: None, HIGH: None, "failure_count": 0, "node_days": 0.0, "method": "no_exposure",
        "note": "no attempt ran with more than 128 GPUs"}),
    ("est_failure_rates", ("empty", "all", "attempts"), {RATE: None, "note": "no attempt ran"}),
    ("est_failure_rates", ("quiet", "all", "attempts"), {
        "failure_count": 0, "node_days": 105.0, RATE: None, LOW: 0.0, HIGH: 1000 * 2.99573 / 105,
        "method": "garwood_upper_limit", "note": "only the upper limit is known"}),
    ("est_failure_rates", ("quiet", "gpus_gt_128", "attempts"), {"node_days": 100.0, "note": "GPU count unknown: 1"}),
    ("est_failure_rates", ("untracked", "gpus_gt_128", "attempts"), {
        "failure_count": None, "node_days": None, RATE: None, "note": "the GPU count of every attempt is unknown"}),
    ("est_failure_rates", ("untracked", "all", "attempts"), {RATE: 100.0}),
    ("est_mttf_by_size", ("large", 256), {
        "failure_count": 1, "runtime_hours": 264.0, "mttf_hours": 264.0, "mttf_hours_low": 264 / 4.7439,
        "mttf_hours_high": 264 / 0.0512933, "method": "garwood", "note": None,
        # 2.5 failures per 1,000 node-days; two of one incident have the limits of one event of twice the weight.
        "mttf_theory_hours": 300.0, "mttf_theory_hours_low": 300 / 4.7439, "theory_population": "gpus_gt_128"}),
    ("est_mttf_by_size", ("large", 1), {"mttf_theory_hours": 9600.0}),
    ("est_mttf_by_size", ("large", 8), {"mttf_theory_hours": 9600.0}),
    ("est_mttf_by_size", ("large", 1024), {"mttf_theory_hours": 75.0}),
    ("est_mttf_by_size", ("small", 16), {"mttf_theory_hours": 24 / (4 / 3), "theory_population": "nodes"}),
    ("est_mttf_by_size", ("quiet", 256), {
        "failure_count": 0, "mttf_hours": None, "mttf_hours_high": None, "mttf_hours_low": 75 / 2.99573,
        "mttf_theory_hours": None, "mttf_theory_hours_low": None, "theory_population": None,
        "note": "no failure rate for the theory line"}),
    ("est_mttf_by_size", ("untracked", None), {
        "failure_count": 1, "mttf_hours": 120.0, "mttf_theory_hours": None, "note": "GPU count is unknown"}),
    ("est_mttf_by_size", ("empty", None), {
        "attempt_count": 0, "mttf_hours": None, "mttf_hours_low": None, "note": "no attempt ran"}),
    ("est_mttf_projections", ("large", 16_384), {
        "node_count": 2048, "population": "gpus_gt_128", "mttf_hours": 24 / (2048 * 0.0025),
        "mttf_hours_low": 24 / (2048 * 2 * 4.7439 / 800), "mttf_hours_high": 24 / (2048 * 2 * 0.0512933 / 800),
        "event_count": 2, "exposure": 800.0, "failures_30d": 61_440 * 0.0025}),
    ("est_mttf_projections", ("large", 2000), {"is_cluster_size": True}),
    ("est_mttf_projections", ("large", 1024), {"is_largest_job": True}),
    ("est_mttf_projections", ("quiet", 1024), {
        "mttf_hours": None, "mttf_hours_high": None, "mttf_hours_low": 24 / (128 * 2.99573 / 105),
        "note": "only the lower limit is known"}),
    ("est_mttf_projections", ("empty", 64), {
        "mttf_hours": None, "mttf_hours_low": None, "mttf_hours_high": None, "note": "the cluster has no node-days"}),
    # Runs of 0.98, 0.94 and 0.93: 4 h queued, 390 scheduled, four starts of 5 minutes and half an hour lost in each.
    ("est_ettr_by_size", ("large", 256), {
        "run_count": 3, "population": "runs_ge_24h", "method": "bounds_of_few_runs", "ettr_measured": 0.95,
        "ettr_bound_low": 0.94, "ettr_bound_high": 0.96, "ettr_measured_low": 0.93, "ettr_measured_high": 0.98,
        "event_count": 1, "exposure": 390.0, "note": "the lowest and the highest in place of limits",
        "progress_ratio": (238 / 240 + 118 / 120 + 28 / 30) / 3, "progress_ratio_low": 28 / 30,
        "progress_ratio_high": 238 / 240, "queue_hours": 4, "restart_hours": 4 * 5 / 60, "lost_work_hours": 1.5,
        "productive_hours": 384, "write_hours": 390 - 4 * 5 / 60 - 1.5 - 384, "wallclock_hours": 394,
        "queue_wallclock_ratio": 4 / 394, "productive_wallclock_ratio": 384 / 394}),
    ("est_ettr_by_size", ("large", 256), {
        "progress_ratio_bound_low": (237.5 / 240 + 117.5 / 120 + 27.5 / 30) / 3,
        "progress_ratio_bound_high": (238.5 / 240 + 118.5 / 120 + 28.5 / 30) / 3,
        "ettr_expected_v2": (1 - 0.08 / 1440 * (5 + YOUNG / 2)) / (1 + 5 / YOUNG),
        "node_count_median": 32, "queue_minutes_mean": 60, "productive_hours_mean": 128, "ettr_expected": PUBLISHED,
        "ettr_expected_exact": PUBLISHED, "rate_population": "gpus_gt_128"}),
    ("est_ettr_by_size", ("large", 512), {
        "ettr_measured": 0.97, "ettr_measured_low": None, "ettr_measured_high": None, "note": "a single run"}),
    ("est_ettr_by_size", ("quiet", 256), {
        "ettr_expected": None, "ettr_expected_exact": None, "note": "known by its lower limit only"}),
    ("est_ettr_by_size", ("untracked", None), {"node_count_median": 2, "note": "runs whose GPU count is unknown"}),
    ("est_ettr_by_size", ("quiet", None), {
        "node_count_median": None, "ettr_expected": None, "ettr_expected_low": None, "note": "nodes unknown"}),
    # The paper's golden values, in its form and in the exact one.
    ("est_ettr_grid", ("free_writes", 16_000, 6.5, 60), {
        "ettr_expected": pytest.approx(0.684, abs=1e-3), "ettr_expected_exact": pytest.approx(0.720, abs=1e-3),
        "node_count": 2000, "restart_minutes": 5, "write_minutes": 0, "mttf_hours": 24 / 13}),
    ("est_ettr_grid", ("free_writes", 16_000, 6.5, 5), {"ettr_expected_exact": pytest.approx(0.9345, abs=1e-3)}),
    ("est_ettr_grid", ("free_writes", 100_000, 2.34, 21), {"ettr_expected": pytest.approx(0.685, abs=1e-3)}),
    ("est_ettr_grid", ("fast_restart", 100_000, 2.34, 2), {"ettr_expected": pytest.approx(0.939, abs=1e-3)}),
    ("est_ettr_grid", ("free_writes", 100_000, 6.5, 5), {"checkpoint_minutes_longest": None}),
    # 2.5 failures per 1,000 node-days on 128 nodes: 0.32 a day, one in 75 hours, 9.6 in 30 days; Young by hand.
    ("est_checkpoint_plans", ("large", 1024), {
        "population": "gpus_gt_128", "counted_as": "attempts", "event_count": 2, "exposure": 800.0, "node_count": 128,
        RATE: 2.5, "mttf_hours": 75.0, "expected_interruptions": 9.6,
        "checkpoint_minutes_young": (2 * 5 * 1440 / 0.32) ** 0.5, "ettr_optimal": 0.9525}),
    ("est_checkpoint_plans", ("small", 8), {"population": "nodes", "counted_as": "incidents", "node_count": 2}),
    ("est_checkpoint_plans", ("quiet", 1024), UNPLANNED | {
        "mttf_hours_low": 24 / (128 * 2.99573 / 105), "ettr_optimal_high": 1, "expected_interruptions_low": 0,
        "method": "garwood_upper_limit", "note": "no failure in 105 node-days: only bounds are known"}),
    ("est_checkpoint_plans", ("empty", 1024), {
        "mttf_hours_low": None, "expected_interruptions_high": None, "ettr_optimal_low": None,
        "note": "the cluster has no node-days"}),
    # 10 incidents in 40 days and 14 in 20, 13.8 node-days each: gain 6.3, penalty 3 log 60 + 2 log 2 = 13.7.
    ("est_rate_changes", ("large",), {
        "changed_at": None, "rate_after": None, "ratio": None, "annotation": None, "method": "no_change",
        "event_count": 24, "day_count": 60, "exposure": 828.0, "rate_before": 24 / 0.828,
        "trend_verdict": "no drift shown", "note": "no change of rate found in 60 days"}),
    *(("est_rate_changes", (name,), {
        "failure_category": "all", "changed_at": None, "ratio": None, "method": "no_exposure", "event_count": 0,
        "exposure": 0.0, "day_count": 0, "note": "no node-days"}) for name in ("small", "untracked", "empty")),
    ("est_rate_changes", ("quiet",), {
        "method": "no_events", "note": "no incident", "event_count": 0, "exposure": 105.0, "day_count": 5,
        "rate_before": None, "rate_before_high": 1000 * 2.99573 / 105}),
    # 2 incidents in 828 node-days over 1 in 3: a share of 2 in 3 where 0.996 is expected.
    ("est_rate_ratios", ("large", "small", "all", "incidents"), {
        "failure_count": 2, "node_days": 828.0, "other_failure_count": 1, "other_node_days": 3.0,
        "ratio": (2 / 828) / (1 / 3), "rate": 2000 / 828, "other_rate": 1000 / 3,
        "ratio_low": ONE_OF_A_SHARE.low / (1 - ONE_OF_A_SHARE.low) * 3 / 828,
        "ratio_high": ONE_OF_A_SHARE.high / (1 - ONE_OF_A_SHARE.high) * 3 / 828,
        "p_value": 2 * stats.binom.cdf(2, 3, 828 / 831), "event_count": 3, "exposure": 831.0,
        "method": "conditional_binomial", "note": None, "is_reference": False}),
    ("est_rate_ratios", ("large", "small", "all", "attempts"), {
        "ratio_low": float(IN_INCIDENTS.low), "ratio_high": float(IN_INCIDENTS.high),
        "p_value": float(IN_INCIDENTS.p_value), "method": "conditional_beta", "note": None}),
    ("est_rate_ratios", ("large", "quiet", "all", "attempts"), {
        "ratio": None, "ratio_high": None, "note": "the ratio has a lower limit only"}),
    ("est_rate_ratios", ("empty", "large", "all", "attempts"), UNCOMPARED | {"note": "no node-days on one side"}),
    ("est_rate_ratios", ("large", "untracked", "gpus_gt_128", "attempts"), UNCOMPARED | {"note": "unknown for one"}),
    ("est_rate_ratios", ("large", "quiet", "gpus_gt_128", "attempts"), {"event_count": 2}),
    ("est_rate_ratios", ("quiet", "small", "gpus_gt_128", "attempts"), UNCOMPARED),
    # Three sizes have failures: 1 in 352, 1 in 320 and 1 in 10 node-days; 128 still run.
    ("est_scale_tests", ("large",), {"event_count": 3, "exposure": 826.0, "size_count": 5}),
    ("est_scale_tests", ("small",), {
        "beta": None, "beta_low": None, "size_count": 2, "note": "every failure at one end of the sizes"}),
    ("est_scale_tests", ("quiet",), UNFITTED | {
        "method": "no_events", "event_count": 0, "exposure": 100.0, "note": "GPU count or nodes unknown: 1"}),
    ("est_scale_tests", ("untracked",), UNFITTED | {
        "method": "no_exposure", "event_count": None, "exposure": None, "note": "no attempt has both known GPUs"}),
    ("est_scale_tests", ("empty",), UNFITTED | {
        "method": "no_exposure", "event_count": 0, "exposure": 0.0, "note": "no attempt in the study period"}),
    ("est_time_to_failure", ("large", 512), dict.fromkeys(
        ("weibull_shape", "weibull_shape_low", "scale_hours", "p_value")) | {
        "verdict": "cannot tell", "method": "too_few_events", "event_count": 1, "note": "at least 5 incidents"}),
]  # fmt: skip
"""Estimate, values of its key, and the values of some columns; a note contains the given words."""
SIZES = {
    ("est_mttf_by_size", "large"): [1, 8, 128, 256, 512, 1024],
    ("est_mttf_by_size", "untracked"): [None],
    ("est_ettr_by_size", "large"): [256, 512],
    ("est_ettr_by_size", "small"): [],
    ("est_time_to_failure", "large"): [1, 8, 128, 256, 512, 1024],
    ("est_time_to_failure", "quiet"): [256, None],
}


@pytest.mark.parametrize(("table", "key", "expected"), ROWS)
def test_a_row_is_as_worked_out_by_hand(rows, table, key, expected):
    kind = {"comparison": "clusters"} if table == "est_rate_ratios" else {}
    (row,) = rows(table, **dict(zip(KEYS[table], key, strict=True)), **kind)
    for name, value in expected.items():
        if name == "note" and value is not None:
            assert value in row["note"]
        elif isinstance(value, float):
            assert row[name] == pytest.approx(value, rel=1e-4), name
        else:
            assert row[name] == value, name


@pytest.mark.parametrize(("table", "cluster_id"), SIZES)
def test_sizes_are_those_of_attempts_that_ran_long_enough(rows, table, cluster_id):
    assert [row["gpu_size_bin"] for row in rows(table, cluster_id=cluster_id)] == SIZES[table, cluster_id]


@pytest.mark.parametrize(
    ("table", "counts"),
    [
        ("est_checkpoint_plans", dict.fromkeys(("empty", "large", "quiet", "small", "untracked"), 15)),
        # Three populations of attempts in four countings, and the nodes.
        ("est_failure_rates", dict.fromkeys(("empty", "large", "quiet", "small", "untracked"), 13)),
        ("est_mttf_projections", {"empty": 15, "large": 16, "quiet": 15, "small": 15, "untracked": 15}),
        ("est_attribution_chance", {"large": 2, "small": 1, "quiet": 1}),
    ],
)
def test_every_cluster_has_its_rows(rows, table, counts):
    found = [row["cluster_id"] for row in rows(table)]
    assert {name: found.count(name) for name in found} == counts


def test_each_cluster_has_one_rate_to_quote_and_each_pair_one_ratio(rows):
    quoted = [row for row in rows("est_failure_rates") if row["is_reference"]]
    assert len(quoted) == len({row["cluster_id"] for row in quoted}) == 5
    assert not any(row["counted_as"].endswith("_paper") for row in quoted)
    pairs = rows("est_rate_ratios", comparison="clusters")
    assert len(pairs) == 10 * 4
    assert all(row["cluster_id"] < row["other_cluster_id"] for row in pairs)
    assert sum(row["is_reference"] for row in pairs) == 10
