"""Where attempts end FAILED and no log is understood, no failure is no count: there is neither a rate nor a limit."""

import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_mttf_by_size import est_mttf_by_size
from assets.estimates.est_mttf_projections import est_mttf_projections
from assets.estimates.est_rate_changes import est_rate_changes
from assets.warehouse import OpenWarehouse
from tests.estimates.five_clusters import read
from tests.warehouses import create_tables

RATE = "failures_per_1000_node_days"
# Each cluster runs attempts of 8 GPUs on one node for 100 days; they differ in how one of them ended, and in the logs.
MARTS = """
insert into marts.dim_clusters by name
select
    cluster_id, 8 as gpus_per_node, 16 as gpu_count, 2 as gpu_node_count, has_logs as has_kernel_messages,
    false as has_health_checks, false as has_node_events, false as has_slurmctld_log,
    timestamp '2026-01-01' as study_from_at, timestamp '2026-04-11' as study_to_at
from (values ('watched', true), ('unwatched', false), ('half', true), ('lost', false), ('nobody failed', false))
    as clusters (cluster_id, has_logs);
insert into marts.fct_attempt_exposures by name
select
    cluster_id, attempt_id, state, 8 as gpu_count, 8 as gpu_size_bin, 1 as node_count, true as is_whole_node,
    8640000 as exposure_seconds, 100 as node_days, 19200 as gpu_hours, true as has_ended,
    if(state = 'NODE_FAIL', 1, 0) as failure_probability, state = 'NODE_FAIL' as is_paper_failure,
    if(state = 'NODE_FAIL', 'node_fail_unattributed', null) as failure_category,
    if(state = 'NODE_FAIL', timestamp '2026-04-10 12:00', null) as failed_at,
    timestamp '2026-01-01' as seen_from_at, timestamp '2026-04-10 12:00' as seen_to_at,
    timestamp '2026-01-01' as started_at, 0 as entry_seconds, 8640000 as exit_seconds
from (values
    ('watched', 'a', 'FAILED'), ('unwatched', 'a', 'FAILED'), ('half', 'a', 'FAILED'), ('lost', 'a', 'FAILED'),
    ('lost', 'b', 'NODE_FAIL'), ('nobody failed', 'a', 'COMPLETED')
) as attempts (cluster_id, attempt_id, state);
insert into marts.fct_attempt_nodes by name
select cluster_id, attempt_id, 'n1' as node_id from marts.fct_attempt_exposures
union all
select 'half' as cluster_id, 'a' as attempt_id, 'n2' as node_id;
insert into marts.fct_node_days by name
select cluster_id, node_id, date '2026-04-10' as day_date, 24 as in_use_hours, 2400 as study_hours
from (select distinct cluster_id, node_id from marts.fct_attempt_nodes);
insert into intermediate.int_covered_node_days by name
select cluster_id, cast(day as date) as day_date, 1 as node_days
from marts.dim_clusters, generate_series(timestamp '2026-01-01', timestamp '2026-04-09', interval 1 day) as days (day);
insert into ops.sight values
    ('watched', 'n1', 'slurmctld', '2026-04-10'), ('half', 'n1', 'kernel', '2026-04-10'),
    ('unwatched', 'n1', 'kernel', '2026-04-09');
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    house = OpenWarehouse(path=str(tmp_path_factory.mktemp("unseen") / "faultline.duckdb"))
    with house.writing() as con:
        create_tables(con)
        con.execute(MARTS)
    for asset in (est_failure_rates, est_mttf_by_size, est_mttf_projections, est_rate_changes):
        asset(warehouse=house)
    yield house
    house.close()


def rate(house, cluster_id):
    (row,) = read(house, "est_failure_rates", cluster_id=cluster_id, population="all", counted_as="attempts")
    return row


def test_what_a_log_could_have_shown_has_an_upper_limit(house):
    row = rate(house, "watched")
    assert (row["failure_count"], row["node_days"]) == (0, pytest.approx(100))
    assert row[f"{RATE}_high"] == pytest.approx(1000 * 2.9957 / 100, rel=1e-4)
    assert row["note"] == "no failure in 100 node-days: only the upper limit is known"


def test_where_a_node_was_not_seen_on_the_day_of_the_end_nothing_is_known(house):
    """Of 'unwatched' the log ends the day before; of 'half' one node of two has none."""
    for cluster_id in ("unwatched", "half"):
        row = rate(house, cluster_id)
        assert [row["failure_count"], row[RATE], row[f"{RATE}_low"], row[f"{RATE}_high"]] == [None] * 4
        assert (row["node_days"], row["method"], row["is_lower_bound"]) == (pytest.approx(100), "no_exposure", True)
        assert row["note"] == "not observable: 1 attempt ended FAILED on nodes of which no log was understood"


def test_failures_that_accounting_shows_keep_their_limits_as_a_lower_bound(house):
    row = rate(house, "lost")
    assert (row["failure_count"], row[RATE], row["is_lower_bound"]) == (1, pytest.approx(5), True)
    assert row[f"{RATE}_high"] == pytest.approx(1000 * 4.7439 / 200, rel=1e-4)
    assert row["note"].startswith("a lower bound, as only NODE_FAIL counts")


def test_without_a_failed_end_there_is_nothing_to_see(house):
    assert rate(house, "nobody failed")[f"{RATE}_high"] == pytest.approx(1000 * 2.9957 / 100, rel=1e-4)


def test_a_series_without_an_incident_has_no_rate_where_none_could_be_seen(house):
    (row,) = read(house, "est_rate_changes", cluster_id="unwatched")
    assert [row["event_count"], row["rate_before"], row["rate_before_low"], row["rate_before_high"]] == [None] * 4
    assert row["note"] == "not observable: attempts ended FAILED on nodes of which no log was understood"
    (seen,) = read(house, "est_rate_changes", cluster_id="watched")
    assert seen["rate_before_high"] == pytest.approx(1000 * 2.9957 / 99, rel=1e-4)


def test_times_to_failure_follow(house):
    """Neither a size nor a projection says how long a job lasts at least."""
    (size,) = read(house, "est_mttf_by_size", cluster_id="unwatched")
    assert [size["failure_count"], size["mttf_hours"], size["mttf_hours_low"]] == [None] * 3
    assert size["note"].startswith("not observable: no failure was seen, and attempts ended FAILED")
    (seen,) = read(house, "est_mttf_by_size", cluster_id="watched")
    assert seen["mttf_hours_low"] == pytest.approx(2400 / 2.9957, rel=1e-4)
    (whole,) = read(house, "est_mttf_projections", cluster_id="unwatched", is_cluster_size=True)
    assert [whole["mttf_hours_low"], whole["failures_30d_high"]] == [None, None]
    assert whole["note"].startswith("no failure rate: not observable: 1 attempt")
