"""Places of planted marts: a rack of nodes that fail five times as often, a switch that loses four at once, a lemon."""

import pytest

from assets.estimates.est_location_rates import est_location_rates
from tests.estimates.five_clusters import read
from tests.warehouses import filled

# Racks of eight nodes, switches of four, 100 days. Failures lie hours apart except for three bursts of switch 6.
MARTS = """
insert into marts.dim_clusters (cluster_id, gpus_per_node, gpu_count, gpu_node_count)
values ('hall', 8, 256, 32), ('flat', 8, 256, 32);
insert into marts.dim_nodes by name
select
    cluster_id, 'n' || i as node_id, if(cluster_id = 'hall', 'r' || i // 8, null) as rack,
    if(cluster_id = 'hall', 's' || i // 4, null) as switch, 'h100' as gpu_model, true as is_gpu_node
from marts.dim_clusters cross join range(32) as numbers (i);
insert into estimates.est_lemon_nodes (cluster_id, node_id, verdict) values ('hall', 'n20', 'lemon');
insert into marts.fct_node_days by name
select cluster_id, node_id, date '2026-01-01' + d::integer as day_date, 24.0 as study_hours
from marts.dim_nodes cross join range(100) as days (d);

create temp table failures as
select i, 'one by one' as way, (i * 7 + k * 457) % 2300 + i / 40.0 as hour
from range(32) as nodes (i)
cross join range(20) as numbers (k)
where k < case when i // 8 = 1 then 5 when i = 20 then 12 else 1 end
union all
select 24 + n, 'at once', 400 * b + 60.5 + n / 60.0 from range(4) as nodes (n) cross join range(1, 4) as bursts (b);
insert into marts.fct_attempt_exposures by name
select
    cluster_id, 'a' || row_number() over (order by hour, i) as attempt_id, 'n' || i as culprit_node_id,
    timestamp '2026-01-01' + to_seconds(3600 * hour) as failed_at, 1.0 as failure_probability, null as incident_id,
    'NODE_FAIL' as state, false as is_paper_failure, 64 as gpu_count, 64 as gpu_size_bin, 8 as node_count,
    failed_at - interval 1 hour as seen_from_at, failed_at as seen_to_at, 3600.0 as exposure_seconds,
    8 / 24.0 as node_days, 0.0 as entry_seconds, 3600.0 as exit_seconds, 0.0 as gap_seconds
from failures cross join (values ('hall'), ('flat')) as clusters (cluster_id);
"""


def estimated(folder, *changes):
    """Return the places of all clusters, by cluster, kind and name."""
    warehouse = filled(folder, MARTS, *changes)
    est_location_rates(warehouse=warehouse)
    rows = read(warehouse, "est_location_rates")
    return {(row["cluster_id"], row["place_kind"], row["place"]): row for row in rows}


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    return estimated(tmp_path_factory.mktemp("places"))


def test_only_kinds_with_several_places_have_rows(places):
    assert {key[:2] for key in places} == {("hall", "rack"), ("hall", "switch")}
    assert len(places) == 4 + 8 + 2


def test_rates_are_failures_over_days_in_use_and_ratios_against_the_rest_without_lemons(places):
    rack = places["hall", "rack", "r1"]
    assert (rack["event_count"], rack["exposure"], rack["node_count"]) == (40, 800, 8)
    assert rack["failures_per_1000_node_days"] == pytest.approx(50)
    # 8 of r0, 7 of r2 and 20 of r3, in 2,300 node-days; n20 is a lemon of r2.
    assert rack["ratio"] == pytest.approx(0.05 / (35 / 2300))
    everything = places["hall", "rack", None]
    assert (everything["event_count"], everything["exposure"], everything["ratio"]) == (87, 3200, None)


def test_the_bad_rack_is_found_and_the_rack_of_a_lemon_is_not(places):
    verdicts = {key[2]: row["verdict"] for key, row in places.items() if key[1] == "rack" and key[2]}
    assert verdicts["r1"] == "fails more"
    assert verdicts["r2"] not in {"fails more", "both"}
    assert places["hall", "rack", "r2"]["failures_per_1000_node_days"] > 20


def test_the_switch_that_loses_four_nodes_at_once_is_found_and_ends_a_large_job_once(places):
    switch, whole = places["hall", "switch", "s6"], places["hall", "switch", None]
    assert (switch["burst_count"], switch["verdict"], switch["mttf_hours"]) == (3, "fails together", None)
    # 12 of its 16 failures, less those expected by chance; three bursts are few.
    assert 0.3 < switch["common_cause_share_low"] < 0.7 < switch["common_cause_share"] <= 12 / 16
    assert switch["expected_burst_count"] < 0.3
    assert {key[2] for key, row in places.items() if "together" in row["verdict"] and key[1] == "switch"} == {
        "s6",
        None,
    }
    # 8 of 32 nodes: each failure alone ends the job with 1/4, a burst of four with 1 - (3/4)^4.
    assert whole["large_gpu_count"] == 64
    assert whole["independent_mttf_hours"] == pytest.approx(24 * 100 / (87 / 4))
    assert whole["mttf_hours"] == pytest.approx(24 * 100 / (75 / 4 + 3 * (1 - 0.75**4)))


def test_nodes_of_one_job_are_where_the_scheduler_put_them(tmp_path):
    # Each burst is one job on the four nodes of the switch: their being together shows nothing.
    jobs = """
    update marts.fct_attempt_exposures set attempt_id = 'job' || date_trunc('hour', failed_at)
    where cluster_id = 'hall' and culprit_node_id in ('n24', 'n25', 'n26', 'n27');
    insert into marts.fct_attempt_nodes by name
    select distinct 'hall' as cluster_id, attempt_id, 'n' || i as node_id
    from marts.fct_attempt_exposures cross join range(24, 28) as nodes (i) where attempt_id like 'job%';
    """
    switch = estimated(tmp_path, jobs)["hall", "switch", "s6"]
    assert switch["burst_count"] == 3
    assert switch["expected_burst_count"] == pytest.approx(3, abs=0.2)
    assert switch["verdict"] != "fails together"


def test_unlikely_failures_join_no_bursts(tmp_path, places):
    # All the time, every nine minutes, one of two nodes may have failed.
    doubtful = """
    insert into marts.fct_attempt_exposures by name
    select * exclude (i) replace (
        'doubtful' || i as attempt_id, 'n' || (30 + i % 2) as culprit_node_id,
        timestamp '2026-01-01' + to_minutes(9 * i::integer) as failed_at, 0.001 as failure_probability
    )
    from (from marts.fct_attempt_exposures where cluster_id = 'hall' order by attempt_id limit 1)
    cross join range(15000) as numbers (i)
    """
    for key, row in estimated(tmp_path, doubtful).items():
        more = 15 if row["place"] in {None, "r3", "s7"} else 0
        assert row["event_count"] == pytest.approx(places[key]["event_count"] + more, abs=0.1)
        assert row["burst_count"] == places[key]["burst_count"]


def test_a_cluster_that_is_blind_on_the_days_of_its_failures_is_seen_on_others(tmp_path):
    # Logs of all nodes, but on no day with a failure.
    sight = """
    insert into ops.sight (cluster_id, node_id, kind, day_date)
    select cluster_id, node_id, 'kernel', day_date from marts.fct_node_days
    where cluster_id = 'hall' and day_date not in (select failed_at::date from marts.fct_attempt_exposures);
    """
    rows = estimated(tmp_path, sight).values()
    assert rows and {row["event_count"] for row in rows} == {0}


def test_days_without_an_understood_log_do_not_count(tmp_path):
    # Only the nodes of r1 send logs, on the first fifty days.
    sight = """
    insert into ops.sight (cluster_id, node_id, kind, day_date)
    select cluster_id, node_id, 'kernel', day_date from marts.fct_node_days
    where cluster_id = 'hall' and day_date < '2026-02-20'
        and node_id in (select node_id from marts.dim_nodes where rack = 'r1');
    """
    rows = estimated(tmp_path, sight).values()
    hours = [(i * 7 + k * 457) % 2300 + i / 40 for i in range(8, 16) for k in range(5)]
    assert {row["place_kind"] for row in rows} == {"switch"}
    assert sum(row["exposure"] for row in rows if row["place"]) == 8 * 50
    assert sum(row["event_count"] for row in rows if row["place"]) == sum(hour < 50 * 24 for hour in hours)


def test_places_with_the_same_nodes_are_one_finding(places, tmp_path):
    """Rack r1 has the nodes of s2 and s3, which all fail more; s4 is half of r2 and fails as others do."""
    assert places["hall", "rack", "r1"]["same_nodes_as"] == "switch s2; switch s3"
    same = [places["hall", "switch", name]["same_nodes_as"] for name in ("s2", "s3", "s4")]
    assert same == ["rack r1", "rack r1", None]
    leaves = estimated(tmp_path, "update marts.dim_nodes set switch = replace(rack, 'r', 'leaf')")
    assert leaves["hall", "rack", "r1"]["same_nodes_as"] == "switch leaf1"
    assert leaves["hall", "switch", "leaf1"]["same_nodes_as"] == "rack r1"
    assert leaves["hall", "rack", "r2"]["same_nodes_as"] == "switch leaf2"


def test_no_difference_is_said_only_where_twice_the_rate_would_be_found(places):
    verdicts = {(row["verdict"], row["detectable_effect"] <= 2) for row in places.values() if row["ratio"] is not None}
    assert ("no difference", False) not in verdicts
    # r3 without its worst node has 7 nodes: of n failures of both a share of 700 days in those and the rest's
    row = places["hall", "rack", "r3"]
    assert row["detectable_effect"] > 2
    assert row["verdict"] in {"cannot tell", "fails together"}
