"""A cluster may have only records of failures. With accounting, the records are evidence that creates no failure."""

import datetime as dt

import pytest

from assets.report.names import hide_names
from assets.report.page import chapter
from assets.report.queries import ClusterData, QueryRows, read_queries
from assets.report.what_if import start_of
from tests.logs import Cluster, at
from tests.minimal.reading import ask

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

REPAIRS = (
    "node,from,to,cause,done",
    "n1,2024-05-02T00:00Z,2024-05-02T06:00Z,DIMM,Replaced DIMM",
    "n1,2024-05-12T06:00Z,2024-05-12T08:00Z,DIMM,rebooted",
    "n2,2024-05-20T00:00Z,2024-05-20T01:00Z,DIMM,kind words 3",
)
SERVICE_OF_REPAIRS = """
    [failures.columns]
    action = "done"
    [[failures.in_service]]
    units = 2
    from = 2024-05-01
    to = 2024-07-01
"""

GPUS = """
    [failures.columns]
    unit = "part"
    action = "done"
    [[failures.in_service]]
    units = 8
    from = 2024-05-01
    to = 2024-05-11
"""
GPUS_OF_NODES = (
    "node,part,from,to,cause,done",
    *(f"n{number},gpu0,2024-05-02,2024-05-04,all," for number in (1, 2, 3)),
    "n4,gpu0,2024-05-05,2024-05-06,all,N/A",
    "n5,-,2024-05-07,2024-05-08,N/A,-",
)
DISKS = """
    [failures.columns]
    unit = "disk"
    [[failures.in_service]]
    units = 1
    from = 2024-05-01
    to = 2099-05-01
"""

CLUSTERS = {
    "failures-of-gpus": Cluster(GPUS).file("failures/list.csv", *GPUS_OF_NODES),
    "failures-of-disks": Cluster(DISKS).file(
        "failures/list.csv", "disk,from,to", "d1,2024-05-02,2024-05-05", "d2,2024-05-02,2024-05-05", "d3,2024-05-06,"
    ),
    "failures-with-events": Cluster()
    .event("n1", at(days=1), at(days=2), "DOWN", "riser")
    .file("failures/list.csv", "node,from,to,cause", "n1,2024-05-02T06:00,,power", "n2,2024-05-02,2024-05-03,DIMM"),
    "failures-without-ends": Cluster(GPUS).file(
        "failures/list.csv", GPUS_OF_NODES[0], "n1,,2024-05-02,,,", "n2,,2024-05-03,,,", "n3,,2024-05-04,,,"
    ),
    "failures-alone": Cluster(SETTINGS).file("failures/list.csv", *RECORDS),
    "failures-without-units": Cluster().file("failures/list.csv", "node,from", "n1,2024-05-02", "n1,2024-05-03"),
    "failures-with-repairs": Cluster(SERVICE_OF_REPAIRS).file("failures/list.csv", *REPAIRS),
    "failures-and-jobs": Cluster()
    .job(1, "n1", at(0), at(10), "NODE_FAIL")
    .job(2, "n1", at(0, days=20), at(10, days=20))
    .file("failures/list.csv", "node,from,to,cause", f"n1,{at(10):%FT%TZ},{at(12):%FT%TZ},DIMM"),
}


TRUTHS = {
    "records have a category where a rule knows their cause": (
        "failures-alone",
        "node_id, unit_name, down_minutes, cause, failure_category, source_line_number from marts.fct_unit_failures "
        "order by source_line_number",
        [
            ("n1", None, 1440.0, "DIMM", "main_memory", 2),
            ("n1", None, 2160.0, "bad riser", "pcie", 3),
            ("n2", None, 360.0, "poltergeist 7", None, 4),
            ("n3", "gpu-17", 1440.0, "poltergeist 9", None, 5),
            (None, None, 1440.0, None, None, 6),
            ("n2", None, None, "DIMM", "main_memory", 7),
        ],
    ),
    "causes that no rule knows are listed": (
        "failures-alone",
        "kind, signal, event_count from marts.agg_unmapped_signals",
        [("failure_record", "poltergeist #", 2)],
    ),
    "nodes come of records alone": (
        "failures-alone",
        "node_id from marts.dim_nodes order by node_id",
        [("n1",), ("n2",), ("n3",)],
    ),
    "and so do outages": (
        "failures-alone",
        "node_id, is_open, epoch(ended_at - started_at) / 3600, failure_category, source from marts.fct_node_outages "
        "order by node_id, started_at",
        [
            ("n1", False, 48.0, "pcie", "failures"),
            ("n2", False, 6.0, "unmapped", "failures"),
            ("n2", True, None, "main_memory", "failures"),
        ],
    ),
    # 80 and 40 unit-days. Two records begin at one moment. The two records of n1 make it down for two days.
    "the time in service gives a rate with limits": (
        "failures-alone",
        "recorded_count, failure_count, incident_count, unit_days, failures_per_1000_unit_days, down_unit_days, "
        "failures_per_1000_unit_days_low < 30 and failures_per_1000_unit_days_high > 70, has_enough_data "
        "from estimates.est_unit_failure_rates where cause = 'all'",
        [(6, 5, 4, 120.0, 1000 * 5 / 120, 3.25, True, True)],
    ),
    "without it there is no rate": (
        "failures-without-units",
        "recorded_count, failure_count, incident_count, unit_days, failures_per_1000_unit_days, down_unit_days "
        "from estimates.est_unit_failure_rates where cause = 'all'",
        [(2, None, None, None, None, None)],
    ),
    # The second DIMM failed after the time in service. The two records of n1 overlap, and each cause counts its own.
    "every cause has a rate of its own": (
        "failures-alone",
        "cause, recorded_count, failure_count, incident_count, unit_days, down_unit_days, has_enough_data "
        "from estimates.est_unit_failure_rates where cause != 'all' order by cause",
        [
            ("DIMM", 2, 1, 1, 120.0, 1.0, False),
            ("bad riser", 1, 1, 1, 120.0, 1.5, False),
            ("not recorded", 1, 1, 1, 120.0, None, False),
            ("poltergeist 7", 1, 1, 1, 120.0, 0.25, False),
            ("poltergeist 9", 1, 1, 1, 120.0, 1.0, False),
        ],
    ),
    "with accounting, records stand for themselves": (
        "failures-and-jobs", "count(*) from marts.fct_unit_failures", [(1,)],
    ),
    "they make no outage": ("failures-and-jobs", "count(*) from marts.fct_node_outages", [(0,)]),
    "no event": ("failures-and-jobs", "count(*) from marts.fct_health_events", [(0,)]),
    "and no cause": (
        "failures-and-jobs", "failure_category from marts.fct_failures", [("node_fail_unattributed",)],
    ),
    "records of units alone have a period": (
        "failures-of-disks", "first_at, last_at from marts.dim_clusters", [(at(days=1), at(days=5))],
    ),
    "node events end what a record leaves open": (
        "failures-with-events",
        "node_id, is_open, source from marts.fct_node_outages order by node_id",
        [("n1", False, "sacctmgr"), ("n2", False, "failures")],
    ),
    "where no record has an end there is no outage": (
        "failures-without-units", "count(*) from marts.fct_node_outages", [(0,)],
    ),
    "what says nothing is no unit": ("failures-of-gpus", "node_id from marts.fct_node_outages", [("n5",)]),
    "and no cause or action": (
        "failures-of-gpus",
        "distinct cause, action from marts.fct_unit_failures order by cause",
        [("all", None), (None, None)],
    ),
    "few repairs are too little to tell": (
        "failures-alone",
        "has_enough_data from estimates.est_repairs where failure_category = 'pcie'",
        [(False,)],
    ),
    # The exchange held for ten days. n1 ran for 49 days after its reboot, and n2 for 41 after an unknown action.
    "recorded actions are repairs that are followed to the end of the time in service": (
        "failures-with-repairs",
        "repair_action, repair_count, event_count, round(exposure, 3), has_enough_data from estimates.est_repairs "
        "where failure_category = 'main_memory' order by repair_action",
        [("exchange", 1, 1, 10.0, True), ("reboot", 1, 0, 49.667, True), ("unknown", 1, 0, 41.958, True)],
    ),
    "actions that no rule knows are listed": (
        "failures-with-repairs", "kind, signal from marts.agg_unmapped_signals", [("repair_action", "kind words #")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


def test_what_needs_jobs_is_unknown_and_says_why(minimal):
    for table, value in (
        ("est_failure_rates", "failure_count"),
        ("est_failure_rates", "failures_per_1000_node_days_high"),
        ("est_mttf_by_size", "mttf_hours"),
        ("est_lost_gpu_hours", "expected_lost_gpu_hours"),
        ("est_checkpoint_plans", "ettr_optimal"),
    ):
        query = f"distinct {value}, note, has_enough_data from estimates.{table}"
        assert ask(minimal, "failures-alone", query) == [(None, "no accounting", False)]
    for table in ("fct_attempts", "fct_failures", "fct_incidents", "fct_node_days", "agg_lost_goodput"):
        assert ask(minimal, "failures-alone", f"count(*) from marts.{table}") == [(0,)]


@pytest.mark.parametrize(
    ("cluster", "cause", "expected"),
    [
        # Each node has a gpu0. The record of n5 has no unit and no cause.
        ("failures-of-gpus", "all", (5, 80.0, 8.0, None)),
        ("failures-of-gpus", "all (as recorded)", (4, 80.0, 7.0, "too little to tell: 3 incidents are needed")),
        (
            "failures-without-ends",
            "all",
            (3, 80.0, None, "time down unknown: no record in service has an end and a unit"),
        ),
        (
            "failures-of-disks",
            "all",
            # Five days of the open service are known. Two disks were down, but one was in service.
            (
                2,
                5.0,
                None,
                "too little to tell: 3 incidents are needed; time down unknown: more units were down than "
                "[[failures.in_service]] says were in service: units counts what the records name",
            ),
        ),
    ],
)
def test_the_time_down_is_that_of_units_and_unknown_where_no_record_tells_it(minimal, cluster, cause, expected):
    query = "failure_count, unit_days, down_unit_days, note from estimates.est_unit_failure_rates"
    assert ask(minimal, cluster, f"{query} where cause = '{cause}'") == [expected]


@pytest.fixture(scope="module")
def query_rows(minimal):
    """The rows behind a report."""
    return read_queries(minimal)


def pages(query_rows, cluster_id):
    """The pages of a cluster's report, by address."""
    (cluster,) = (row for row in query_rows["clusters"] if row["cluster_id"] == cluster_id)
    found = chapter(ClusterData(query_rows, cluster), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), 36.0)
    assert not found.not_made
    return {shown.address.partition("/")[2]: shown for shown in found.pages}


def keys(shown):
    return [part.key for part in shown.sections]


def test_the_report_of_records_alone_shows_them_and_has_nothing_of_jobs(query_rows):
    found = pages(query_rows, "failures-alone")
    first = found[""].first
    assert [(tile.value, tile.unit) for tile in first.tiles[:2]] == [("41.7", "[13.1, 99.9]"), ("6", "")]
    assert [tile.value for tile in first.tiles[3:]] == ["24.0 h", "2.71%"]
    assert [row["count"] for row in first.trend.spec["datasets"]["main"]] == [5, 1]
    assert {address: keys(shown) for address, shown in found.items() if address} == {
        "failures": ["recorded", "without-jobs"],
        "nodes": ["repairs", "nodes", "without-jobs"],
        "jobs": ["without-jobs"],
        "ettr": ["what-if", "without-jobs"],
        "losses": ["without-jobs"],
        "quality": ["gaps"],
    }
    _, causes, units = found["failures"].sections[0].parts
    rows = [[cell.text for cell in row] for row in causes.rows]
    assert (rows[0][:3], rows[-1][:4]) == (["DIMM", "2", "33.3%"], ["all causes", "6", "100%", "41.7"])
    listed = [[cell.text for cell in row[:3]] for row in units.rows]
    assert listed == [["n1", "", "2"], ["n2", "", "2"], ["n3", "gpu-17", "1"]]


def test_what_records_do_not_tell_is_unknown_in_a_report(query_rows):
    without_units, without_ends = (
        pages(query_rows, f"failures-without-{what}")[""].first.tiles for what in ("units", "ends")
    )
    assert without_units[0].value == without_units[4].value == without_ends[4].value == "unknown"
    assert "recorded" in keys(pages(query_rows, "failures-and-jobs")["failures"])
    assert "recorded" not in keys(pages(query_rows, "secrets")["failures"])


def test_where_names_are_hidden_causes_are_numbers(query_rows):
    hidden = hide_names(
        QueryRows({**query_rows, "clusters": [row | {"are_names_hidden": True} for row in query_rows["clusters"]]})
    )
    assert "poltergeist" in str(query_rows["recorded"])
    assert not [name for name, rows in hidden.items() if "poltergeist" in str(rows)]
    found = {
        row["cause"] for row in hidden["recorded"] if row["cluster_id"] == "failures-alone" and row["kind"] == "cause"
    }
    assert found == {"not recorded", "cause 1", "cause 2", "cause 3", "cause 4"}


def test_a_run_is_planned_with_the_recorded_rate_only_where_units_are_nodes(query_rows):
    rates = {
        row["cluster_id"]: start_of(ClusterData(query_rows, row))["recorded_rate"]
        for row in query_rows["clusters"]
        if row["has_records_alone"]
    }
    assert rates["failures-alone"] is None
    assert rates["failures-with-repairs"] == pytest.approx(1000 * 3 / 122)
