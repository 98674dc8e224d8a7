"""Spans of logs. Outside of them, the answer comes from the next best source or is unknown, but never zero."""

import json
import os
import time
from datetime import UTC, date, datetime

import pytest

from tests.logs import START, Cluster, at
from tests.minimal.reading import ask, spans


def busy(days=60, settings=""):
    """A node runs a job of 12 hours from midnight to noon on each day."""
    cluster = Cluster(settings)
    for day in range(days):
        cluster.job(day + 1, "n1", at(days=day), at(12, days=day))
    return cluster


TODAY = (datetime.now(UTC).replace(tzinfo=None) - START).days


class FromAnotherMachine(Cluster):
    """Logs with files that were written 50 days later than this machine's clock."""

    def write(self, folder):
        super().write(folder)
        for path in folder.rglob("*.*"):
            os.utime(path, (time.time() + 50 * 86_400,) * 2)


def around_now(cluster, days_before, days_after):
    """A job of 12 hours on each day around today, and a kernel line at its end."""
    for day in range(TODAY - days_before, TODAY + days_after):
        cluster.job(day, "n1", at(days=day), at(12, days=day))
        cluster.kernel("n1", at(12, days=day), "NVRM: Xid (PCI:0000:0f:00): 48, pid=1, DBE")
    return cluster


CLUSTERS = {
    # A node fails at midnight every ten days. The study ends with the third failure, and with the month.
    "failures-at-midnight": Cluster(
        """
        [[spans]]
        kind = "sacct"
        from = 2024-05-02T00:00:00Z
        to = 2024-06-01T00:00:00Z
        """
    )
    .job(1, "n1", at(0), at(days=11), "NODE_FAIL")
    .job(2, "n1", at(days=11), at(days=21), "NODE_FAIL")
    .job(3, "n1", at(days=21), at(days=31), "NODE_FAIL"),
    # sacctmgr's default window is a day: one row, of the last day.
    "one-event-of-the-last-day": busy()
    .slurmctld(at(13, days=10), "update_node: node n1 reason set to: fan")
    .slurmctld(at(13, days=10), "update_node: node n1 state set to DRAINED")
    .slurmctld(at(15, days=10), "update_node: node n1 state set to IDLE")
    .slurmctld(at(13, days=59), "update_node: node n1 reason set to: disk")
    .event("n1", at(13, days=59), at(14, days=59), "DRAIN", "disk"),
    "one-event-and-no-log": busy(20).event("n1", at(13, days=10), at(14, days=10), "DRAIN", "disk"),
    "kernel-log-of-long-after": busy(60).kernel("n1", at(days=218), "NVRM: Xid (PCI:0000:0f:00): 79, pid=1, GPU lost"),
    "tickets-of-the-first-days": busy(60).file(
        "tickets/tickets.csv",
        "ticket_id,node,opened,closed,component",
        "T1,n1,2024-05-02,2024-05-03,GPU",
        "T2,n1,2024-05-05,2024-05-06,GPU",
    ),
    # A new cluster's first export: all jobs wait, so no time is known to be complete.
    "nothing-has-run": Cluster().job(1, "None assigned", None, None, "PENDING", at(2)),
    "logs-older-than-accounting": busy(10)
    .kernel("n1", at(days=-3), "NVRM: Xid (PCI:0000:0f:00): 79, pid=1, GPU lost")
    .kernel("n1", at(18, days=9), "NVRM: Xid (PCI:0000:0f:00): 48, pid=1, DBE"),
    "events-as-stated": busy(20, '[[spans]]\nkind = "events"\nfrom = 2024-05-01\n').event(
        "n1", at(13, days=10), at(14, days=10), "DRAIN", "disk"
    ),
    "events-with-a-manifest": busy(20)
    .event("n1", at(13, days=10), at(14, days=10), "DRAIN", "disk")
    .file(
        "events/events.psv.manifest.json",
        json.dumps({"command": "sacctmgr", "from": "2024-05-06T00:00:00Z", "to": "2024-05-13T00:00:00Z"}, indent=1),
    ),
    # sacct -S 2024-05-11 exports only the earlier jobs that still ran.
    "survivors": Cluster('[[annotations]]\nat = 2024-05-15\ntext = "new racks"\n')
    .job(1, "n1", at(days=0), at(days=20))
    .job(2, "n2", at(days=9), at(days=11))
    .job(3, "n2", at(days=11), at(days=13))
    .job(4, "n3", at(days=12), None, "RUNNING", ElapsedRaw=str(8 * 86400)),
    "began-together": Cluster()
    .job(1, "n1", at(days=0), at(days=4))
    .job(2, "n2", at(days=0), at(days=6))
    .job(3, "n1", at(days=4), at(days=6)),
    "clock-behind": around_now(FromAnotherMachine(), 60, 40),
    # The files were written under the same clock.
    "written-behind": around_now(Cluster(), 60, 40),
    "one-wrong-date": around_now(Cluster(), 60, 0).job(1, "n1", at(days=TODAY + 30), at(12, days=TODAY + 30)),
    # A job of four days begins every day. The export lacks the jobs that ran at its end.
    "ended-jobs-only": Cluster('[[annotations]]\nat = 2024-05-15\ntext = "new racks"\n'),
}
for day in range(41):
    CLUSTERS["ended-jobs-only"].job(day + 1, f"n{day % 4}", at(days=day), at(days=day + 4))

DAY = "date_diff('day', date '2024-05-01', {})".format
STUDY = ", ".join(
    f"date_diff('second', timestamp '2024-05-01', {name}) / 86400"
    for name in ("study_from_at", "study_to_at", "data_through_at")
)
STUDIES = {
    # The study begins with the first end and lasts while jobs run.
    "survivors": (11, 20, 20),
    "began-together": (0, 6, 6),
    # It ends before an export of ended jobs only fades.
    "ended-jobs-only": (4, 40, 44),
    # A late log of another kind makes no day of accounting.
    "kernel-log-of-long-after": (0.5, 59.5, 59.5),
}
"""Beginning, end and latest moment in days after 1 May."""
TRUTHS = {
    "a failure at midnight is one of the day before": (
        "failures-at-midnight",
        "event_count, exposure, day_count from estimates.est_rate_changes",
        [(3, 30, 30)],
    ),
    "and of the month before; the next one has only its forecast": (
        "failures-at-midnight",
        "month_date, month_failure_count, month_node_days from estimates.est_forecast_scores order by month_date",
        [(date(2024, 5, 1), 3, 30), (date(2024, 6, 1), 0, 0)],
    ),
    "one row of events leaves the controller's outages of other days": (
        "one-event-of-the-last-day",
        "source from marts.fct_node_outages order by started_at",
        [("slurmctld",), ("sacctmgr",)],
    ),
    "a late log of another kind makes no day": (
        "kernel-log-of-long-after",
        "count(distinct day_date) from marts.fct_node_days",
        [(60,)],
    ),
    # Two tickets three days apart: from three days before the first to three days after the last is half of 8 days.
    "tickets of long ago are unknown now": (
        "tickets-of-the-first-days",
        "tickets from marts.agg_lemon_signals where window_end_date in (date '2024-05-08', date '2024-06-29') "
        "order by window_end_date",
        [(2,), (None,)],
    ),
    "a cluster in which nothing has run has no rate": (
        "nothing-has-run",
        "distinct failures_per_1000_node_days_high from estimates.est_failure_rates",
        [(None,)],
    ),
    "nor a study": ("nothing-has-run", "study_from_at, study_to_at from marts.dim_clusters", [(None, None)]),
    # The record has ten days. The last 28 days have one code on 28 April and another on 10 May.
    "codes from before accounting count as far as the window reaches": (
        "logs-older-than-accounting",
        "window_days, xid_cnt from marts.agg_lemon_signals order by window_end_date desc limit 1",
        [(10, 2)],
    ),
    "the lines of a manifest are accounted for": (
        "events-with-a-manifest",
        "kind, dialect, lines_in, loaded, skipped, quarantined from ops.files where path like '%.manifest.json'",
        [("manifest", "json", 5, 1, 4, 0)],
    ),
    # A note of day 14. `survivors` has days 11 to 19 and `ended-jobs-only` days 4 to 39, without that day.
    "a change is compared over the days of the study alone": (
        "survivors",
        "node_days_before, node_days_after from estimates.est_changes where failure_category = 'all'",
        [(7, 10)],
    ),
    "and that of an export of ended jobs too": (
        "ended-jobs-only",
        "node_days_before, node_days_after from estimates.est_changes where failure_category = 'all'",
        [(40, 100)],
    ),
}


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


@pytest.mark.parametrize(("cluster", "study"), STUDIES.items())
def test_the_study_lies_where_jobs_are_known(minimal, cluster, study):
    assert ask(minimal, cluster, f"{STUDY} from marts.dim_clusters") == [study]


def out_of_service(minimal, cluster):
    """Return the hours out of service of n1 by day after 1 May."""
    days = f"{DAY('day_date')}, out_of_service_hours from marts.fct_node_days where node_id = 'n1'"
    return dict(ask(minimal, cluster, days))


def test_days_that_no_log_covers_have_no_hours_out_of_service(minimal):
    hours = out_of_service(minimal, "one-event-of-the-last-day")
    assert (hours[10], hours[11], hours[59]) == (2, 0, 1), "the controller's log covers them"
    assert out_of_service(minimal, "one-event-and-no-log") == {day: 1 if day == 10 else None for day in range(20)}
    assert out_of_service(minimal, "events-as-stated") == {day: float(day == 10) for day in range(20)}
    hours = out_of_service(minimal, "events-with-a-manifest")
    assert [hours[day] for day in (4, 5, 10, 11, 12)] == [None, 0, 1, 0, None]


def test_a_site_or_a_manifest_says_what_a_log_covers(minimal):
    assert spans(minimal, "events-as-stated", "events") == [(0, 19.5, "cluster.toml")]
    assert spans(minimal, "events-with-a-manifest", "events") == [(5, 12, "manifest")]


def test_the_study_ends_now_where_records_are_dated_after_this_machines_clock(minimal):
    """A clock 40 days behind, or records ahead of it, are noticed. One wrong date is not."""
    ends = {}
    for name in ("clock-behind", "written-behind", "one-wrong-date"):
        ((_, end, _),) = ask(minimal, name, f"{STUDY} from marts.dim_clusters")
        ends[name] = end - TODAY
    assert 0 <= ends["clock-behind"] < 1
    assert 0 <= ends["written-behind"] <= 2
    assert ends["one-wrong-date"] == -0.5
    found = minimal.execute(
        "select cluster_id, is_blocking from ops.checks where not passed and check_name = 'after_now' order by all"
    ).fetchall()
    assert found == [("clock-behind", False), ("written-behind", False)]
