"""What files cover: by cluster.toml, by manifests, by the times of their lines, and never by their modification."""

import json
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from assets.sources import manifests
from assets.sources.events import reader as events
from assets.sources.intake.account.covered_times import CoveredFile, Interval, JobNumbers, by_times, joined
from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.find.folder import survey
from assets.sources.kernel import reader as kernel
from assets.sources.sacct import reader as sacct
from assets.sources.settings import read_settings
from assets.sources.slurmctld import reader as slurmctld
from assets.sources.squeue import reader as squeue
from tests.logs import export
from tests.sources.folders import load, make, rows

LOGS = {reader.KIND: reader for reader in (kernel, events, slurmctld, squeue, manifests)}
READERS = {sacct.KIND: sacct, **LOGS}
MAY = datetime(2024, 5, 1)


def covered(first_hour, last_hour, record_count=24):
    return CoveredFile(MAY + timedelta(hours=first_hour), MAY + timedelta(hours=last_hour), record_count)


def in_hours(intervals):
    return [
        tuple(round((moment - MAY).total_seconds() / 3600, 3) for moment in (interval.from_at, interval.to_at))
        for interval in intervals
    ]


def spans(tmp_path, files, settings=""):
    """Kind, beginning, end and source of what a folder's files cover."""
    folder = make(tmp_path, {"c1/cluster.toml": settings, **{f"c1/{path}": text for path, text in files.items()}})
    con = load(folder, readers=LOGS)
    write_spans(con, survey(folder, LOGS))
    return con.execute("select kind, from_at, to_at, known_by from ops.spans order by all").fetchall()


def test_quiet_weeks_within_a_file_are_no_gap():
    # five records in twelve weeks: as much room beside them as between them, three weeks
    assert in_hours(by_times([covered(0, 2016, 5)])) == [(-504, 2520)]


def test_a_missing_weekly_file_is_a_gap_and_a_quiet_weekend_is_not():
    weeks = [covered(168 * week, 168 * week + 113, 1000) for week in range(3)]
    missing = [covered(168 * week, 168 * week + 113, 1000) for week in (4, 5)]
    assert in_hours(by_times([*missing, *weeks], is_extended=False)) == [(0, 449), (672, 953)]


def test_a_missing_daily_file_of_a_busy_log_is_a_gap_and_the_night_is_not():
    days = [covered(24 * day + 8, 24 * day + 18, 500) for day in (0, 1, 3)]
    assert in_hours(by_times(days, is_extended=False)) == [(8, 42), (80, 90)]


def test_records_as_seldom_as_days_tell_no_missing_day():
    days = [covered(24 * day, 24 * day + 20, 2) for day in (0, 1, 3)]
    assert len(by_times(days)) == 1


def test_snapshots_are_as_far_apart_as_they_usually_are():
    five_minutes = [covered(number / 12, number / 12, 3) for number in [*range(48), *range(480, 500)]]
    assert in_hours(by_times(five_minutes, is_extended=False)) == [(0, 3.917), (40, 41.583)]


NO_NUMBERS = JobNumbers(0, 0, usual_share=0, usual_jobs=500)
OF_A_DAY = JobNumbers(500, 501, usual_share=0, usual_jobs=500)


def accounting(days, *, ended_later=0, names=True, numbers=NO_NUMBERS):
    """Intervals of daily accounting files with 500 records each, whose jobs end so many days later at most."""
    files = [
        CoveredFile(
            MAY + timedelta(days=day, hours=1),
            MAY + timedelta(days=day + ended_later, hours=23),
            500,
            MAY + timedelta(days=day) if names else None,
            MAY + timedelta(days=day, hours=22),
        )
        for day in days
    ]
    return in_hours(by_times(files, is_extended=False, job_numbers=lambda from_at, to_at: numbers))


def test_days_that_no_file_of_accounting_is_named_by_are_missing():
    days = [0, 1, 2, 12, 13]
    assert accounting(days) == [(1, 71), (289, 335)]
    assert accounting(days, ended_later=11) == [(1, 72), (289, 599)], "those that outlived the days hide them no more"


def test_a_weekend_without_a_file_may_have_been_idle():
    days = [0, 1, 4, 5]
    assert accounting(days) == [(1, 143)]
    assert accounting(days, numbers=OF_A_DAY) == [(1, 47), (97, 143)]


def test_a_single_day_that_no_file_is_named_by_is_missing_however_few_its_jobs_are():
    quiet = [day for day in range(110) if day not in (40, 77)]
    few = [
        CoveredFile(
            MAY + timedelta(days=day, hours=3),
            MAY + timedelta(days=day, hours=20),
            7,
            MAY + timedelta(days=day),
            MAY + timedelta(days=day, hours=19),
        )
        for day in quiet
    ]

    def intervals(numbers):
        return in_hours(by_times(few, is_extended=False, job_numbers=lambda from_at, to_at: numbers))

    whole = [(3, 109 * 24 + 20)]
    assert intervals(JobNumbers(5, 6, usual_share=0, usual_jobs=7)) == [
        (3, 39 * 24 + 20),
        (41 * 24 + 3, 76 * 24 + 20),
        (78 * 24 + 3, 109 * 24 + 20),
    ]
    assert intervals(JobNumbers(4, 5, usual_share=0, usual_jobs=7)) == whole
    assert intervals(JobNumbers(50, 55, usual_share=0.31, usual_jobs=7)) == whole, "one partition of several"


def test_files_without_a_day_in_their_names_leave_a_gap_where_job_numbers_are_missing():
    days = [0, 1, 2, 12, 13]
    assert accounting(days, names=False) == [(1, 335)]
    assert accounting(days, names=False, numbers=OF_A_DAY) == [(1, 71), (289, 335)]


def test_files_of_successive_days_leave_no_gap_between_them():
    # of each second day, two records at its beginning
    files = [
        CoveredFile(MAY + timedelta(days=day), MAY + timedelta(days=day, minutes=1), 2, MAY + timedelta(days=day))
        for day in range(0, 8, 2)
    ]
    assert len(by_times(files, is_extended=False, job_numbers=lambda from_at, to_at: OF_A_DAY)) == 1


def test_windows_up_to_the_last_second_of_a_day_touch():
    days = [
        Interval(MAY + timedelta(days=day), MAY + timedelta(days=day + 1, seconds=-1), "manifest") for day in (0, 1, 3)
    ]
    assert in_hours(joined(days)) == [(0, 48), (72, 96)]


def test_lines_of_no_interest_tell_what_a_log_covers(tmp_path):
    lines = [f"{MAY + timedelta(hours=hour):%FT%TZ} n1 kernel: eth0: link is quiet" for hour in range(0, 48, 2)]
    found = spans(tmp_path, {"kernel/n1.log": "\n".join(lines)})
    assert found == [("kernel", datetime(2024, 4, 30, 22), datetime(2024, 5, 3), "log")]


def test_an_empty_file_of_a_day_covers_the_day_its_name_says(tmp_path):
    found = spans(tmp_path, {"squeue/squeue.20240503.txt": "JOBID|EXC_NODES\n"})
    assert found == [("squeue", datetime(2024, 5, 3), datetime(2024, 5, 3, 23, 59, 59), "log")]


def test_the_modification_of_a_file_tells_nothing(tmp_path):
    assert spans(tmp_path, {"squeue/squeue.txt": "JOBID|EXC_NODES\n51|node001\n"}) == []


def test_a_copy_of_a_log_and_of_half_a_log_cover_what_the_log_does(tmp_path):
    # records every two hours: with and without copies the span begins two hours before the first and ends two after
    messages = ("NVRM: Xid (PCI:0000:c7:00): 79, pid=1, GPU has fallen off the bus.", "eth0: link is quiet")
    lines = [
        f"{MAY + timedelta(hours=hour):%FT%TZ} node001 kernel: {messages[hour % 4 == 2]}\n" for hour in range(0, 48, 2)
    ]
    events = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    events += "".join(
        f"c1|node001|{MAY + timedelta(days=day):%FT%T}|{MAY + timedelta(days=day, hours=1):%FT%T}|DOWN|fan|root(0)\n"
        for day in (2, 6, 10)
    )
    once = spans(tmp_path / "once", {"kernel/a.log": "".join(lines), "events/a.psv": events})
    assert once[-1] == ("kernel", datetime(2024, 4, 30, 22), datetime(2024, 5, 3), "log")
    twice = {
        "kernel/a.log": "".join(lines),
        "kernel/copy.log": "".join(lines),
        "kernel/half.log": "".join(lines[:12]),
        "events/a.psv": events,
        "events/copy.psv": events,
    }
    assert spans(tmp_path / "twice", twice) == once


def test_one_job_in_two_files_is_not_two_that_began_together(tmp_path):
    # BASE runs from 10:00 to 11:00; what ran before it is not known, so that accounting begins with its end
    folder = make(tmp_path, {"c1/sacct/a.psv": export([{}]), "c1/sacct/copy.psv": export([{}])})
    con = load(folder, readers=READERS)
    write_spans(con, survey(folder, READERS))
    begins = con.execute("select from_at from ops.spans where kind = 'sacct'").fetchall()
    assert begins == [(datetime(2024, 5, 1, 11),)]


def daily_exports(job_ids, missing=()):
    """Exports of 12 days by day; `job_ids` gives the numbers of the jobs that a day's export shows, one an hour."""
    shown = {}
    for day in range(12):
        records = []
        for hour, number in enumerate(job_ids(day)):
            begin = MAY + timedelta(days=day, hours=hour)
            record = {"JobID": str(number), "End": f"{begin + timedelta(minutes=59):%FT%T}"}
            records.append({**record, **dict.fromkeys(("Submit", "Start"), f"{begin:%FT%T}")})
        if day not in missing:
            shown[f"c1/sacct/{MAY + timedelta(days=day):%F}.psv"] = export(records)
    return shown


@pytest.mark.parametrize(
    ("job_ids", "missing", "gaps"),
    [
        pytest.param(lambda day: range(100 + 7 * day, 107 + 7 * day), (4, 8), [(4, 5), (8, 9)], id="all-jobs"),
        pytest.param(lambda day: range(100 + 14 * day, 114 + 14 * day, 2), (4, 5), [], id="half-of-the-jobs"),
        pytest.param(lambda day: range(100 + 8 * day, 107 + 8 * day), (4,), [(4, 5)], id="one-number-a-day-unused"),
        pytest.param(lambda day: range(100 + 4 * day, 104 + 4 * day), (4,), [], id="too-few-numbers"),
    ],
)
def test_a_missing_day_is_told_by_more_unused_job_numbers_than_usual(tmp_path, job_ids, missing, gaps):
    folder = make(tmp_path, daily_exports(job_ids, missing))
    con = load(folder)
    write_spans(con, survey(folder, {"sacct": sacct}))
    found = con.execute("select from_at, to_at from ops.spans order by all").fetchall()
    between = [(before[1], after[0]) for before, after in pairwise(found)]
    assert [((from_at - MAY).days + 1, (to_at - MAY).days) for from_at, to_at in between] == gaps


def test_numbers_of_array_tasks_are_given_out_when_they_start(tmp_path):
    # an array submitted on the first day, of which seven tasks start a day
    folder = make(tmp_path, daily_exports(lambda day: range(100 + 7 * day, 107 + 7 * day), missing=(6,)))
    for path in folder.rglob("*.psv"):
        lines = path.read_text().splitlines()
        names = lines[0].split("|")
        tasks = [dict(zip(names, line.split("|"), strict=True)) for line in lines[1:]]
        for task in tasks:
            task |= {"JobID": f"100_{task['JobIDRaw']}", "Submit": f"{MAY:%FT%T}"}
        path.write_text(export(tasks))
    con = load(folder)
    write_spans(con, survey(folder, {"sacct": sacct}))
    assert con.execute("select count(*) from ops.spans").fetchall() == [(2,)]


def test_the_site_comes_before_manifests_and_they_before_the_lines(tmp_path):
    log = "[2024-05-02T10:00:00.000] update_node: node node001 state set to DRAINED\n"
    window = json.dumps({"from": 1714608000, "to": "2024-05-10"})
    both = {"slurmctld/slurmctld.log": log, "slurmctld/slurmctld.log.manifest.json": window}
    assert spans(tmp_path / "1", {"slurmctld/slurmctld.log": log}) == [
        ("slurmctld", datetime(2024, 5, 2, 10), datetime(2024, 5, 2, 10), "log")
    ]
    # epoch 1714608000 is 2 May, and a date without a zone the cluster's midnight
    berlin = 'timezone = "Europe/Berlin"\n'
    assert spans(tmp_path / "2", both, berlin) == [
        ("slurmctld", datetime(2024, 5, 2), datetime(2024, 5, 9, 22), "manifest")
    ]
    stated = '[[spans]]\nkind = "slurmctld"\nfrom = 2024-01-01\nto = 2024-02-01\n'
    assert spans(tmp_path / "3", both, stated) == [
        ("slurmctld", datetime(2024, 1, 1), datetime(2024, 2, 1), "cluster.toml")
    ]


def test_a_file_without_a_record_covers_what_its_manifest_says(tmp_path):
    stated = {"from": "2024-05-01T00:00:00Z", "to": "2024-05-02T00:00:00Z"}
    files = {
        "events/quiet.psv": "NodeName|TimeStart|TimeEnd|State\n",
        "events/quiet.psv.manifest.json": json.dumps(stated),
    }
    assert spans(tmp_path, files) == [("events", MAY, MAY + timedelta(days=1), "manifest")]


NO_MANIFESTS = {
    "array": ('["2024-05-01"]', "not a JSON object"),
    "no end": ('{"from": "2024-05-01"}', "'to' is missing"),
    "no time": ('{"from": "May", "to": "2024-05-01"}', "'May', which is no time"),
    "backwards": ('{"from": "2024-05-02", "to": "2024-05-01"}', "must lie after"),
    "cut off": ('{"from": ', "Expecting value"),
}
"""Texts, and what is said of them."""


@pytest.fixture(scope="module")
def of_no_manifests(tmp_path_factory):
    """Load an export beside each of them, and return what was quarantined."""
    exports = {f"c1/sacct/{case}.psv": export([{}]) for case in NO_MANIFESTS}
    texts = {f"c1/sacct/{case}.psv.manifest.json": f"{text}\n" for case, (text, _) in NO_MANIFESTS.items()}
    folder = make(tmp_path_factory.mktemp("no_manifests"), {**exports, **texts})
    return rows(load(folder, readers=READERS), "select path, reason, detail from ops.quarantine")


@pytest.mark.parametrize("case", NO_MANIFESTS)
def test_what_is_no_manifest_is_quarantined(case, of_no_manifests):
    (found,) = (row for row in of_no_manifests if row["path"].startswith(f"c1/sacct/{case}.psv"))
    assert found["reason"] == "bad_manifest"
    assert NO_MANIFESTS[case][1] in found["detail"]


def test_a_span_that_cannot_be_meant_is_refused_with_what_is_allowed(tmp_path):
    def refused(text):
        (tmp_path / "cluster.toml").write_text(f"[[spans]]\n{text}")
        (error,) = read_settings(tmp_path, "c1")[1]
        return f"{error.what} {error.next_step}"

    assert "Allowed there: from, kind, to" in refused('kind = "events"\nfrom = 2024-01-01\nuntil = 2024-02-01')
    assert "'slurmctld'" in refused('kind = "controller"\nfrom = 2024-01-01')
    assert "must lie after" in refused('kind = "events"\nfrom = 2024-02-01\nto = 2024-01-01')


def test_what_a_refused_file_would_cover_is_covered_by_nothing(tmp_path):
    lines = {
        f"kernel/kern.log-202405{day:02d}": "".join(
            f"{MAY + timedelta(days=day - 1, hours=hour):%FT%TZ} n1 kernel: eth0: link is quiet\n"
            for hour in range(0, 24, 2)
        )
        for day in (1, 2, 3)
    }
    whole = spans(tmp_path / "1", lines)
    assert [(found[1].day, found[2].day) for found in whole] == [(30, 4)]
    stated = '[[spans]]\nkind = "kernel"\nfrom = 2024-05-01\nto = 2024-05-04\n'
    for settings in ("", stated):
        left = spans(tmp_path / f"2{bool(settings)}", {**lines, "kernel/kern.log-20240502": ""}, settings)
        assert not [found for found in left if found[1] < MAY + timedelta(days=1, hours=12) < found[2]]
        assert len(left) == 2
