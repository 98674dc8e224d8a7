"""A cluster may have records of its failures alone; beside accounting they are evidence that makes no failure."""

from tests.logs import Cluster, at

SETTINGS = """
    [failures.columns]
    unit = "part"
    [[failures.in_service]]
    units = 4
    from = 2024-05-01T00:00:00Z
    to = 2024-05-21T00:00:00Z
    [[failures.in_service]]
    units = 2
    from = 2024-05-11T00:00:00Z
    to = 2024-05-31T00:00:00Z
    [[node_reasons]]
    pattern = "riser"
    category = "pcie"
    severity = "high"
    evidence = true
"""
RECORDS = (
    "node,part,from,to,cause",
    "n1,,2024-05-02T00:00Z,2024-05-03T00:00Z,DIMM",
    "n1,,2024-05-02T12:00Z,2024-05-04T00:00Z,bad riser",
    "n2,,2024-05-02T00:00Z,2024-05-02T06:00Z,poltergeist 7",
    "n3,gpu-17,2024-05-10T00:00Z,2024-05-11T00:00Z,poltergeist 9",
    ",,2024-05-12T00:00Z,2024-05-13T00:00Z,",
    "n2,,2024-06-02T00:00Z,,DIMM",
)

CLUSTERS = {
    "failures-alone": Cluster(SETTINGS).file("failures/list.csv", *RECORDS),
    "failures-without-units": Cluster().file("failures/list.csv", "node,from", "n1,2024-05-02", "n1,2024-05-03"),
    "failures-beside-jobs": Cluster()
    .job(1, "n1", at(0), at(10), "NODE_FAIL")
    .job(2, "n1", at(0, days=20), at(10, days=20))
    .file("failures/list.csv", "node,from,to,cause", f"n1,{at(10):%FT%TZ},{at(12):%FT%TZ},DIMM"),
}


def ask(minimal, query, cluster="failures-alone"):
    return minimal.execute(query, {"cluster": cluster}).fetchall()


def test_records_are_published_with_a_category_where_a_rule_knows_their_cause(minimal):
    found = ask(
        minimal,
        """
        select node_id, unit_name, down_minutes, cause, failure_category, source_line_number
        from marts.fct_unit_failures where cluster_id = $cluster order by source_line_number
        """,
    )
    assert found == [
        ("n1", None, 1440.0, "DIMM", "main_memory", 2),
        ("n1", None, 2160.0, "bad riser", "pcie", 3),
        ("n2", None, 360.0, "poltergeist 7", None, 4),
        ("n3", "gpu-17", 1440.0, "poltergeist 9", None, 5),
        (None, None, 1440.0, None, None, 6),
        ("n2", None, None, "DIMM", "main_memory", 7),
    ]
    unmapped = "select kind, signal, event_count from marts.agg_unmapped_signals where cluster_id = $cluster"
    assert ask(minimal, unmapped) == [("failure_record", "poltergeist #", 2)]


def test_nodes_and_outages_come_of_records_alone(minimal):
    assert ask(minimal, "select node_id from marts.dim_nodes where cluster_id = $cluster order by 1") == [
        ("n1",),
        ("n2",),
        ("n3",),
    ]
    found = ask(
        minimal,
        """
        select node_id, is_open, epoch(ended_at - started_at) / 3600, failure_category, source
        from marts.fct_node_outages where cluster_id = $cluster order by node_id, started_at
        """,
    )
    assert found == [
        ("n1", False, 48.0, "pcie", "failures"),
        ("n2", False, 6.0, "unmapped", "failures"),
        ("n2", True, None, "main_memory", "failures"),
    ]


def test_a_failure_without_an_end_is_no_outage_where_no_record_has_one(minimal):
    count = "select count(*) from marts.fct_node_outages where cluster_id = $cluster"
    assert ask(minimal, count, "failures-without-units") == [(0,)]


def test_what_needs_jobs_is_unknown_and_says_why(minimal):
    for table, value in (
        ("est_failure_rates", "failure_count"),
        ("est_failure_rates", "failures_per_1000_node_days_high"),
        ("est_mttf_by_size", "mttf_hours"),
        ("est_lost_gpu_hours", "expected_lost_gpu_hours"),
        ("est_checkpoint_plans", "ettr_optimal"),
    ):
        query = f"select distinct {value}, note, has_enough_data from estimates.{table} where cluster_id = $cluster"
        assert ask(minimal, query) == [(None, "no accounting", False)]
    for table in ("fct_attempts", "fct_failures", "fct_incidents", "fct_node_days", "agg_lost_goodput"):
        assert ask(minimal, f"select count(*) from marts.{table} where cluster_id = $cluster") == [(0,)]


def test_the_time_in_service_gives_a_rate_with_limits(minimal):
    query = """
        select
            recorded_count, failure_count, incident_count, unit_days, failures_per_1000_unit_days, down_unit_days,
            failures_per_1000_unit_days_low < 30 and failures_per_1000_unit_days_high > 70, has_enough_data, note
        from estimates.est_unit_failure_rates where cluster_id = $cluster
    """
    # 80 and 40 unit-days. Two records begin at one moment. n1 is down for two days, whatever its two records say.
    assert ask(minimal, query) == [(6, 5, 4, 120.0, 1000 * 5 / 120, 3.25, True, True, None)]
    (row,) = ask(minimal, query, "failures-without-units")
    assert row[:6] == (2, None, None, None, None, None)
    assert "[[failures.in_service]]" in row[-1]


def test_beside_accounting_records_make_no_failure_and_no_outage(minimal):
    counts = """
        select
            (select count(*) from marts.fct_unit_failures where cluster_id = $cluster),
            (select count(*) from marts.fct_node_outages where cluster_id = $cluster),
            (select count(*) from marts.fct_health_events where cluster_id = $cluster),
            (select max(failure_category) from marts.fct_failures where cluster_id = $cluster)
    """
    assert ask(minimal, counts, "failures-beside-jobs") == [(1, 0, 0, "node_fail_unattributed")]
