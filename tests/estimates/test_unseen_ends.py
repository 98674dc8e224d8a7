"""If attempts end FAILED and no log is understood, the count of failures is unknown: no rate and no limit."""

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


LIMIT = {"failure_count": 0, "node_days": 100.0, f"{RATE}_high": 1000 * 2.99573 / 100}
UNSEEN = dict.fromkeys(("failure_count", RATE, f"{RATE}_low", f"{RATE}_high"))
UNSEEN |= {"node_days": 100.0, "method": "no_exposure", "is_lower_bound": True, "note": "1 attempt ended FAILED on"}
OF_ALL = {"population": "all", "counted_as": "attempts"}
ROWS = [
    ("est_failure_rates", "watched", OF_ALL, LIMIT),
    ("est_failure_rates", "nobody failed", OF_ALL, LIMIT),
    # The log of 'unwatched' ends the day before; one node of two in 'half' has none.
    ("est_failure_rates", "unwatched", OF_ALL, UNSEEN),
    ("est_failure_rates", "half", OF_ALL, UNSEEN),
    ("est_failure_rates", "lost", OF_ALL, {
        "failure_count": 1, RATE: 5.0, f"{RATE}_high": 1000 * 4.7439 / 200, "is_lower_bound": True,
        "note": "a lower bound, as only NODE_FAIL counts"}),
    ("est_rate_changes", "unwatched", {}, dict.fromkeys(
        ("event_count", "rate_before", "rate_before_low", "rate_before_high")) | {"note": "not observable"}),
    ("est_rate_changes", "watched", {}, {"rate_before_high": 1000 * 2.99573 / 99}),
    ("est_mttf_by_size", "unwatched", {}, dict.fromkeys(
        ("failure_count", "mttf_hours", "mttf_hours_low")) | {"note": "not observable: no failure was seen"}),
    ("est_mttf_by_size", "watched", {}, {"mttf_hours_low": 2400 / 2.99573}),
    ("est_mttf_projections", "unwatched", {"is_cluster_size": True}, {
        "mttf_hours_low": None, "failures_30d_high": None, "note": "no failure rate: not observable"}),
]  # fmt: skip
"""Estimate, cluster, more of its key, and the values of some columns; a note contains the given words."""


@pytest.mark.parametrize(("table", "cluster_id", "key", "expected"), ROWS)
def test_what_no_log_could_have_shown_is_unknown_and_what_one_could_has_a_limit(
    house, table, cluster_id, key, expected
):
    (row,) = read(house, table, cluster_id=cluster_id, **key)
    for name, value in expected.items():
        if name == "note":
            assert value in row["note"]
        else:
            assert row[name] == (pytest.approx(value, rel=1e-4) if isinstance(value, float) else value), name
