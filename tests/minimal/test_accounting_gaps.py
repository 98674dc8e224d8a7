"""Missing days of accounting add neither exposure nor failures. Idle days are not missing."""

import pytest
from pytest import approx

from tests.logs import Cluster, at
from tests.minimal.reading import ask, halves, rate, spans

HEADER = "JobID|User|Account|Partition|QOS|Submit|Start|End|ElapsedRaw|State|NNodes|AllocTRES|NodeList"
DAYS = (*range(4), *range(20, 24))
"""Days after 1 May that were exported, of 24."""


def record(job_id, nodes, node_count, start, end, state="COMPLETED"):
    hours = f"{start:%FT%T}|{start:%FT%T}|{end:%FT%T}|{int((end - start).total_seconds())}"
    tres = f"cpu={64 * node_count},gres/gpu={8 * node_count},node={node_count}"
    return f"{job_id}|alice|nlp|train|normal|{hours}|{state}|{node_count}|{tres}|{nodes}"


def daily(name, days=DAYS, *, empty_days=(), is_idle=False):
    """Return daily exports: jobs of two hours on a node, one after the other, and one of 8 nodes from day 3 to day 23.

    A job of the second day and one of the 22nd fail with their nodes. A job still runs at the end. Job numbers of days
    without export are missing unless the cluster was idle.
    """
    cluster = Cluster()
    for day in empty_days:
        cluster.file(f"sacct/{name(day)}", HEADER)
    for number, day in enumerate(days):
        cluster.file(f"sacct/{name(day)}", HEADER)
        first_id = 1000 + 13 * (number if is_idle else day)
        for turn in range(12):
            state = "NODE_FAIL" if (day, turn) in ((1, 5), (21, 5)) else "COMPLETED"
            hour = 24 * day + 2 * turn
            cluster.file(f"sacct/{name(day)}", record(first_id + turn, "n1", 1, at(hour), at(hour + 2), state))
        if day == 22:
            cluster.file("sacct/" + name(day), record(1038, "m[1-8]", 8, at(48), at(528)))
    running = record(first_id + 12, "n2", 1, at(574), at(576), "RUNNING").replace(f"{at(576):%FT%T}", "Unknown")
    return cluster.file(f"sacct/{name(23)}", running)


def by_day(day):
    return f"sacct-{at(days=day):%F}.psv"


def by_number(day):
    return f"part{day}.psv"


CLUSTERS = {
    "sixteen-days-missing": daily(by_day),
    "sixteen-files-missing": daily(by_number),
    "sixteen-days-empty": daily(by_day, empty_days=range(4, 20)),
    "sixteen-days-idle": daily(by_number, is_idle=True),
    "windows-with-a-gap": Cluster(
        '[[spans]]\nkind = "sacct"\nfrom = 2024-05-01\nto = 2024-05-03\n'
        '[[spans]]\nkind = "sacct"\nfrom = 2024-05-06\nto = 2024-05-08\n'
    )
    .job(1, "n1", at(0), at(days=1))
    .job(2, "n[1-2]", at(days=1), at(days=6))
    .job(3, "n3", at(days=1), at(days=3), "NODE_FAIL")
    .job(4, "n4", at(days=3), at(days=4))
    .job(5, "n5", at(days=4), at(days=7), "NODE_FAIL"),
}


def test_days_missing_between_daily_exports_add_neither_exposure_nor_failures(minimal):
    """Up to day 4 from the first end at 02:00, and from the first end after the gap, 02:00 of day 20, to day 24.

    Node n1 runs 94 + 94 hours, n2 2 hours, the 8 nodes 48 + 46 hours: 942 node-hours. The day counted whole, 4,032
    node-hours, would give 11.9 per 1,000 node-days.
    """
    for cluster in ("sixteen-days-missing", "sixteen-files-missing"):
        assert [span[:2] for span in spans(minimal, cluster, "sacct")] == [(2 / 24, 4), (20 + 2 / 24, 24)]
        for population in ("all", "whole_nodes"):
            assert rate(minimal, cluster, population, "attempts") == (2, approx(942 / 24), approx(2000 / (942 / 24)))
        assert rate(minimal, cluster, "nodes", "incidents") == (2, approx(942 / 24), approx(2000 / (942 / 24)))
        assert halves(minimal, cluster) == (1, approx((94 + 2 + 8 * 46) / 24), 1, approx((94 + 8 * 48) / 24))
        scores = "month_node_days, month_failure_count from estimates.est_forecast_scores"
        assert ask(minimal, cluster, scores) == [(approx(942 / 24), 2)]
        notes = "distinct note from estimates.est_failure_rates where population = 'all'"
        assert "days left out, accounting is missing: 16.08" in ask(minimal, cluster, notes)[0][0]


# The job of 8 nodes was seen for its first 48 hours, and from an age of 434 hours until it ended at 480.
TRUTHS = {
    "a job that outlives missing days enters again at its age": (
        "sixteen-days-missing",
        "entry_seconds / 3600, exit_seconds / 3600, gap_seconds / 3600, exposure_seconds / 3600 "
        "from marts.fct_attempt_exposures where node_count = 8",
        [(0, 480, approx(386), approx(94))],
    ),
    "and so it does for the time to failure": (
        "sixteen-days-missing",
        "attempt_count, late_entry_count, exposure from estimates.est_time_to_failure where gpu_size_bin = 64",
        [(1, 1, approx(94))],
    ),
    "missing days are no days of daily rates": (
        "sixteen-days-missing",
        "count(*) from marts.agg_failure_rates_daily where day_date between date '2024-05-06' and date '2024-05-20'",
        [(0,)],
    ),
    # n1 alone, and then the 8 nodes too.
    "the others have what ran": (
        "sixteen-days-missing",
        "round(node_days, 6) from marts.agg_failure_rates_daily "
        "where day_date in (date '2024-05-02', date '2024-05-03', date '2024-05-22') order by day_date",
        [(1,), (9,), (9,)],
    ),
    "use of nodes on missing days is unknown": (
        "sixteen-days-missing",
        "node_id, date_diff('day', date '2024-05-01', day_date) as day, in_use_hours, study_hours, failure_count "
        "from marts.fct_node_days where node_id in ('n1', 'm1') and day in (3, 10, 20) order by node_id, day",
        [
            ("m1", 3, 24, 24, 0),
            ("m1", 10, 24, 0, None),
            ("m1", 20, 24, 22, 0),
            ("n1", 3, 24, 24, 0),
            ("n1", 10, None, 0, None),
            ("n1", 20, 24, 22, 0),
        ],
    ),
}


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


def test_idle_days_count_where_exports_of_them_are_empty_or_no_job_number_is_missing(minimal):
    """Node n1 runs 190 hours without the first two, n2 2 hours, 8 nodes 480 hours: a rate of 11.9."""
    for cluster in ("sixteen-days-empty", "sixteen-days-idle"):
        assert len(spans(minimal, cluster, "sacct")) == 1
        assert rate(minimal, cluster, "all", "attempts")[:2] == (2, approx((190 + 2 + 8 * 480) / 24))


def test_what_a_site_says_to_be_missing_is_left_out(minimal):
    """From day 0 to 2 and from 5 to 7 job 1 runs 1 day, 2 on two nodes 1 and 1, 3 1, 4 none, 5 the last two.

    Job 3 fails on day 3, which is missing; job 5 at the very end.
    """
    assert rate(minimal, "windows-with-a-gap", "all", "attempts")[:2] == (1, approx(8))
    assert rate(minimal, "windows-with-a-gap", "nodes", "incidents")[:2] == (1, approx(8))
