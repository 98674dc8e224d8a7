"""Expected cost of infrastructure: weighted by probability, with limits, by period and by cause."""

import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_lost_gpu_hours import est_lost_gpu_hours
from assets.model.loss_limits import loss_interval
from tests.estimates.five_clusters import read
from tests.warehouses import filled

LOSSES = """
insert into marts.dim_clusters (
    cluster_id, study_from_at, study_to_at, price_per_gpu_hour, currency, has_health_checks, has_kernel_messages,
    has_node_events, has_slurmctld_log, is_simulated
)
select
    cluster_id, '2026-01-01', '2026-04-01', price, 'EUR', true, false, false, false, false
from (values ('c', 2), ('quiet', null), ('blind', 2)) as clusters (cluster_id, price);
insert into marts.fct_attempt_exposures (
    cluster_id, attempt_id, state, seen_from_at, seen_to_at, node_days, failed_at, failure_probability, is_paper_failure
)
select
    cluster_id, 'whole', if(cluster_id = 'blind', 'FAILED', 'COMPLETED'), '2026-01-01', '2026-04-01', 90, null, 0, false
from marts.dim_clusters;
insert into marts.fct_attempts (cluster_id, attempt_id, state, ended_at)
select cluster_id, attempt_id, state, seen_to_at from marts.fct_attempt_exposures;
insert into marts.fct_attempt_nodes (cluster_id, attempt_id, node_id) values ('blind', 'whole', 'n');
insert into marts.fct_failures (
    cluster_id, attempt_id, failed_at, failure_category, posterior_probability, incident_id, lost_gpu_hours
)
values
    ('c', 'a1', '2026-01-10', 'pcie', 1, 'i1', 10), ('c', 'a2', '2026-01-10', 'pcie', 1, 'i1', 30),
    ('c', 'b', '2026-02-10', 'ib_link', 0.5, 'i2', 20), ('c', 'd', '2026-03-20', 'ib_link', 0.25, 'i3', 80),
    ('c', 'e', '2026-03-21', 'pcie', 1, 'i4', null);
insert into marts.fct_preemptions (
    cluster_id, attempt_id, preempted_at, instigator_attempt_id, is_second_order, second_order_probability,
    lost_gpu_hours
)
values
    ('c', 'v1', '2026-02-11', 'b2', true, 0.5, 4), ('c', 'v2', '2026-02-11', 'b2', true, 0.5, 4),
    ('c', 'v3', '2026-02-11', 'other', false, 0, 100);
insert into marts.fct_attempts (cluster_id, attempt_id, state, ended_at, end_reason, runtime_seconds, gpu_count)
values
    ('c', 's1', 'NODE_FAIL', '2026-03-25', 'capacity', 7200, 16),
    ('c', 's2', 'NODE_FAIL', '2026-01-25', 'capacity', 900, 8),
    ('c', 'p', 'NODE_FAIL', '2026-03-25', 'planned', 7200, 16);
update marts.dim_clusters set checkpoint_minutes = 60;
"""


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    house = filled(tmp_path_factory.mktemp("losses"), LOSSES)
    for asset in (est_failure_rates, est_lost_gpu_hours):
        asset(warehouse=house)
    return lambda **key: read(house, "est_lost_gpu_hours", **key)


def test_each_loss_counts_as_far_as_it_is_likely(losses):
    """40 of an incident, 10 and 20 of uncertain ones, 4 of two victims of one restart; the paper counts all in full."""
    (row,) = losses(cluster_id="c", period="study", loss="all")
    assert row["expected_lost_gpu_hours"] == pytest.approx(40 + 10 + 20 + 4)
    assert row["lost_gpu_hours"] == pytest.approx(10 + 30 + 20 + 80 + 8)
    assert (row["failure_count"], row["expected_failure_count"]) == (5, pytest.approx(3.75))
    assert row["expected_lost_cost"] == pytest.approx(2 * 74)
    assert (row["currency"], row["note"]) == ("EUR", "losses left out, GPUs unknown: 1")


def test_a_loss_is_at_least_what_the_logs_show_where_their_reach_is_in_doubt(tmp_path):
    house = filled(
        tmp_path,
        LOSSES,
        "insert into estimates.est_evidence_reach (cluster_id, statement, is_doubtful) "
        "values ('c', 'checks saw at most half', true), ('quiet', 'nearly all', false), ('blind', 'x', true)",
    )
    for asset in (est_failure_rates, est_lost_gpu_hours):
        asset(warehouse=house)
    notes = {
        name: [row["note"] for row in read(house, "est_lost_gpu_hours", cluster_id=name, loss="all")]
        for name in ("c", "quiet", "blind")
    }
    caveat = "at least, of what the logs show, and the leading cause may be another: checks saw at most half"
    assert [note.rpartition("unknown: 1; ")[2] for note in notes["c"]] == [caveat] * 3
    assert notes["quiet"] == [None] * 3
    assert not any("at least" in note for note in notes["blind"])


def test_the_limits_know_incidents_and_doubt(losses):
    """w m^2 (2 - w): 40^2 of a sure one, 0.5 x 20^2 x 1.5, 0.25 x 80^2 x 1.75, and 0.5 x 8^2 x 1.5 of the restart."""
    (row,) = losses(cluster_id="c", period="study", loss="all")
    expected = loss_interval(74, 1600 + 300 + 2800 + 48, 80)
    assert row["expected_lost_gpu_hours_low"] == pytest.approx(float(expected.low))
    assert row["expected_lost_cost_high"] == pytest.approx(2 * float(expected.high))
    assert row["method"] == "weighted_poisson"


def test_causes_and_preemptions_add_up_to_all_in_every_period(losses):
    expected = {"study": 74, "last_30_days": 20, "30_days_before": 14}
    for period, whole in expected.items():
        parts = {row["loss"]: row["expected_lost_gpu_hours"] for row in losses(cluster_id="c", period=period)}
        assert parts.pop("capacity") is not None
        assert parts.pop("all") == pytest.approx(whole)
        assert sum(value or 0 for value in parts.values()) == pytest.approx(whole)
        assert set(parts) == {"pcie", "ib_link", "preemption"}


def test_what_a_cloud_took_back_is_a_loss_of_its_own(losses):
    """Half an hour of 16 GPUs in March, and in January a run of a quarter of an hour on 8."""
    rows = {row["period"]: row for row in losses(cluster_id="c", loss="capacity")}
    hours = {period: row["expected_lost_gpu_hours"] for period, row in rows.items()}
    assert hours == {"study": 8 + 2, "last_30_days": 8, "30_days_before": 0}
    assert (rows["study"]["failure_count"], rows["study"]["expected_lost_cost"]) == (0, 2 * 10)
    assert not losses(cluster_id="quiet", loss="capacity")


def test_no_loss_has_no_upper_limit_and_what_nobody_could_see_is_unknown(losses):
    (quiet,), (blind,) = (losses(cluster_id=name, period="study") for name in ("quiet", "blind"))
    names = ("expected_lost_gpu_hours", "expected_lost_gpu_hours_low", "expected_lost_gpu_hours_high", "failure_count")
    assert [quiet[name] for name in names] == [0, 0, None, 0]
    assert quiet["expected_lost_cost"] is None
    assert [blind[name] for name in names] == [None] * 4
    assert blind["method"] == "not_observable"
    assert "not observable" in blind["note"]


STEADY = """
insert into marts.dim_clusters (cluster_id, study_from_at, study_to_at, has_health_checks, is_simulated)
values ('steady', '2026-01-01', '2026-02-10', true, false);
insert into marts.fct_attempt_exposures (
    cluster_id, attempt_id, state, seen_from_at, seen_to_at, node_days, gpu_hours, failed_at, failure_probability,
    is_paper_failure
)
values
    ('steady', 'whole', 'RUNNING', '2026-01-01', '2026-02-10', 40, 40 * 500, null, 0, false),
    ('steady', 'f', 'NODE_FAIL', '2026-01-02', '2026-01-02', 0, 0, '2026-01-02', 1, true);
insert into marts.fct_failures (
    cluster_id, attempt_id, failed_at, failure_category, posterior_probability, incident_id, lost_gpu_hours
)
select 'steady', 'a' || n, timestamp '2026-01-01 12:00' + n * interval 1 day, 'pcie', 1, 'i' || n, 10
from range(-2, 40) as days (n);
insert into marts.fct_node_days (cluster_id, node_id, day_date, study_hours, in_use_hours)
select 'steady', 'n', cast(unnest(range(date '2026-01-01', date '2026-02-10', interval 1 day)) as date), 24, 24;
"""
"""Forty days of a job of 500 GPU-hours a day that loses ten on each, and two losses before accounting is complete."""
UNLOGGED = """
insert into ops.sight (cluster_id, node_id, kind, day_date)
select 'steady', 'n', 'kernel', cast(unnest(range(date '2026-01-0{}', date '2026-02-10', interval 1 day)) as date)
"""


@pytest.mark.parametrize(
    ("more", "seen_before", "note"),
    [
        ("select 1", 10, "10 days seen"),
        ("insert into marts.dim_study_gaps values ('steady', '2026-01-02 12:00', '2026-01-04 12:00');"
         "update marts.fct_attempt_exposures set entry_seconds = 0, exit_seconds = 40 * 86400,"
         "exposure_seconds = 38 * 86400, gap_seconds = 2 * 86400, gpu_hours = 38 * 500 where gpu_hours > 0",
         8, "8 days seen"),
        (UNLOGGED.format(3), 8,
         "8 days seen; days left out, most nodes had no log that was understood: 2"),
        (UNLOGGED.format(5), 6,
         "days seen: 6, and 7 are needed; days left out, most nodes had no log that was understood: 4"),
        ("update marts.dim_clusters set study_from_at = '2026-01-11'", 0, "days seen: 0, and 7 are needed"),
    ],
    ids=["cut to the study", "without a gap", "without blind days", "too few", "none"],
)  # fmt: skip
def test_a_period_is_cut_to_what_was_seen(tmp_path, more, seen_before, note):
    """Ten GPU-hours of 500 are lost on each day: 20 of 1,000 in each period, whatever part of it was seen."""
    house = filled(tmp_path, STEADY, more)
    for asset in (est_failure_rates, est_lost_gpu_hours):
        asset(warehouse=house)
    rows = {row["period"]: row for row in read(house, "est_lost_gpu_hours", loss="all")}
    last, before, study = (rows[name] for name in ("last_30_days", "30_days_before", "study"))
    seen = [(row["expected_lost_gpu_hours"], row["exposure"]) for row in (last, before)]
    assert seen == [(300, 30), (10 * seen_before, seen_before)]
    assert study["expected_lost_gpu_hours"] == 420
    assert [row["expected_lost_per_1000_gpu_hours"] for row in (study, last)] == pytest.approx([20, 20])
    assert before["expected_lost_per_1000_gpu_hours"] == (pytest.approx(20) if seen_before >= 7 else None)
    assert (last["note"], before["note"]) == (None, note)
