"""Weibull shapes of planted lifetimes: recovered through classes of age, with what ran before the records began."""

import numpy as np
import pytest

from assets.estimates.est_time_to_failure import est_time_to_failure
from assets.model.survival import fit_weibull
from tests.estimates.five_clusters import read
from tests.homes import ask, change

FLEET = """
insert into marts.fct_attempts by name
select
    'empty' as cluster_id, 'w' || i as attempt_id, true as is_terminal, fails as is_infrastructure_failure,
    'i' || i as incident_id,
    64 as gpu_count, 64 as gpu_size_bin, 8 as node_count, seconds as runtime_seconds, seconds / 10800 as node_days,
    timestamp '2026-01-01' + to_seconds(begins) as started_at,
    timestamp '2026-01-01' + to_seconds(begins + seconds) as ended_at
from (
    select
        unnest($seconds) as seconds, unnest($fails) as fails, unnest($begins) as begins, unnest(range(len($fails))) as i
) t;
"""


def lifetimes(shape, jobs=4000, scale_hours=300.0):
    """Return runtimes, whether they failed, and starts, in seconds; a month of starts."""
    rng = np.random.default_rng(71)
    failing, leaving = scale_hours * rng.weibull(shape, jobs), rng.exponential(60.0, jobs)
    seconds = np.maximum(np.minimum(failing, leaving) * 3600, 1).astype(int)
    return seconds, failing <= leaving, rng.integers(0, 30 * 86_400, jobs)


def fit_of(warehouse, seconds, fails, begins):
    change(warehouse, FLEET, values={"seconds": seconds.tolist(), "fails": fails.tolist(), "begins": begins.tolist()})
    est_time_to_failure(warehouse=warehouse)
    (row,) = read(warehouse, "est_time_to_failure", cluster_id="empty")
    return row


@pytest.mark.parametrize(("shape", "verdict"), [(0.7, "falls"), (1.0, "constant"), (1.4, "rises")])
def test_a_planted_shape_is_recovered(warehouse, shape, verdict):
    seconds, fails, begins = lifetimes(shape)
    row = fit_of(warehouse, seconds, fails, begins)
    assert (row["gpu_size_bin"], row["attempt_count"], row["method"]) == (64, 4000, "weibull_profile")
    assert row["weibull_shape_low"] <= shape <= row["weibull_shape_high"]
    assert row["scale_hours_low"] <= 300 <= row["scale_hours_high"]
    assert (row["event_count"], row["late_entry_count"]) == (fails.sum(), 0)
    assert row["exposure"] == pytest.approx(seconds.sum() / 3600, rel=1e-3)
    assert row["verdict"] == verdict
    assert row["kolmogorov_distance"] < 0.1
    assert row["goodness_of_fit_p_value"] > 0.01
    assert (row["confidence_level"], row["exposure_unit"], row["note"]) == (0.9, "hours", None)


def test_classes_of_age_do_not_move_the_fit(warehouse):
    seconds, fails, begins = lifetimes(0.8)
    row = fit_of(warehouse, seconds, fails, begins)
    exact = fit_weibull(seconds / 3600, fails)
    assert row["weibull_shape"] == pytest.approx(exact.shape, rel=1e-3)
    assert row["weibull_shape_high"] == pytest.approx(exact.shape_high, rel=1e-3)
    assert row["scale_hours"] == pytest.approx(exact.scale, rel=2e-3)
    (count,) = ask(warehouse, "select count(*) from inputs.inp_ages_classed where cluster_id = 'empty'")[0]
    assert count < 1500


def test_jobs_that_ran_before_the_records_began_enter_at_their_age(warehouse):
    """Records begin on day 15: jobs that ended before are missing, jobs that began before remain if they survived."""
    change(warehouse, "update marts.dim_clusters set study_from_at = '2026-01-16' where cluster_id = 'empty'")
    seconds, fails, begins = lifetimes(1.0, jobs=6000, scale_hours=80.0)
    begins %= 18 * 86_400
    kept = begins + seconds > 15 * 86_400
    row = fit_of(warehouse, seconds[kept], fails[kept], begins[kept])
    assert row["late_entry_count"] > 300
    assert row["weibull_shape_low"] <= 1.0 <= row["weibull_shape_high"]
    assert row["scale_hours"] == pytest.approx(80.0, rel=0.1)
    naive = fit_weibull(seconds[kept] / 3600, fails[kept])
    assert naive.scale_low > 85.0, "without the age of entry the same jobs seem to live longer than they do"


def test_jobs_that_run_on_when_the_study_ends_are_censored_there(warehouse):
    """The records end on day 20: half of the failures come later, and the shape is the same."""
    change(warehouse, "update marts.dim_clusters set study_to_at = '2026-01-21' where cluster_id = 'empty'")
    seconds, fails, begins = lifetimes(1.0, scale_hours=80.0)
    row = fit_of(warehouse, seconds, fails, begins)
    assert row["event_count"] == (fails & (begins + seconds <= 20 * 86_400)).sum()
    watched = np.clip(20 * 86_400 - begins, 0, seconds)
    assert row["exposure"] == pytest.approx(watched.sum() / 3600, rel=1e-3)
    assert row["weibull_shape_low"] <= 1.0 <= row["weibull_shape_high"]
    assert row["scale_hours"] == pytest.approx(80.0, rel=0.1)


def test_failures_count_by_their_probability_and_incident(redo, warehouse):
    """All failures at one half, three of one age to an incident: the shape of the same jobs, with wider limits."""
    seconds, fails, begins = (np.repeat(values, 3) for values in lifetimes(0.8, jobs=600))
    certain = fit_of(warehouse, seconds, fails, begins)
    rows = redo(
        est_time_to_failure,
        "update marts.fct_attempts set incident_id = 'i' || attempt_id[2:]::integer // 3 where cluster_id = 'empty'",
        "insert into marts.fct_failures (cluster_id, attempt_id, posterior_probability) "
        "select cluster_id, attempt_id, 0.5 from marts.fct_attempts where cluster_id = 'empty'",
    )
    (uncertain,) = rows("est_time_to_failure", cluster_id="empty")
    exact = fit_weibull(seconds / 3600, 0.5 * fails, incident=np.where(fails, np.arange(1800) // 3, -1))
    assert uncertain["event_count"] == pytest.approx(0.5 * certain["event_count"])
    assert uncertain["weibull_shape"] == pytest.approx(exact.shape, rel=1e-3)
    assert uncertain["weibull_shape_low"] == pytest.approx(exact.shape_low, rel=2e-3)
    assert uncertain["p_value"] == pytest.approx(exact.p_value, rel=2e-2)
    assert exact.variance_ratio == pytest.approx(4.5, rel=1e-6), "three at a time, and 2 - p for the uncertainty"


def test_a_likelihood_without_maximum_bounds_the_shape_and_nothing_else(warehouse):
    """The six fail in incidents of their own, all in the last second that any attempt ran."""
    seconds, fails, begins = np.full(480, 69_120), np.arange(480) < 6, np.zeros(480, dtype=int)
    row = fit_of(warehouse, seconds, fails, begins)
    assert (row["verdict"], row["method"], row["event_count"]) == ("rises", "weibull_profile", 6)
    assert row["weibull_shape_low"] > 1
    unknown = ("weibull_shape", "weibull_shape_high", "scale_hours", "scale_hours_low", "scale_hours_high", "p_value",
               "kolmogorov_distance", "goodness_of_fit_p_value")  # fmt: skip
    assert [row[name] for name in unknown] == [None] * 8
    assert row["note"] == "the likelihood has no maximum: the shape has a bound only"


def test_a_limit_of_the_scale_that_takes_an_unlikely_shape_is_unknown(warehouse):
    """Six of 56 attempts fail in the last tenth of their 20 hours: a shape close to the largest one of the search."""
    seconds = np.append(np.linspace(64_800, 72_000, 6).astype(int), np.full(50, 72_000))
    row = fit_of(warehouse, seconds, np.arange(56) < 6, np.zeros(56, dtype=int))
    assert row["weibull_shape_high"] is None and row["scale_hours_low"] is None
    assert row["weibull_shape_low"] < row["weibull_shape"] < 20
    assert row["scale_hours"] < row["scale_hours_high"]
    assert row["note"] == "a limit of the scale is unknown: it takes a shape that no machine has"


def test_a_failure_in_the_first_second_counts_and_an_unknown_runtime_is_told(redo):
    rows = redo(
        est_time_to_failure,
        "update marts.fct_attempts set runtime_seconds = 0 where cluster_id = 'small' and attempt_id = 'a1'",
        "update marts.fct_attempts set runtime_seconds = null where cluster_id = 'small' and attempt_id = 'a2'",
        "update marts.fct_attempts set started_at = '2026-03-01' where cluster_id = 'small'",
    )
    failed, unknown = rows("est_time_to_failure", cluster_id="small")
    assert (failed["event_count"], failed["exposure"]) == (1, pytest.approx(1 / 3600))
    assert unknown["note"].endswith("attempts left out, runtime unknown: 1")


def test_nodes_of_unlike_rates_are_told_from_ageing(warehouse):
    """Half of the jobs fail a hundred times as often: no Weibull distribution has this shape."""
    seconds, fails, begins = lifetimes(1.0)
    early, failed, _ = lifetimes(1.0, scale_hours=3.0)
    seconds[::2], fails[::2] = early[::2], failed[::2]
    row = fit_of(warehouse, seconds, fails, begins)
    assert row["verdict"] == "falls"
    assert "not Weibull distributed" in row["note"]
