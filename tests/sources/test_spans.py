"""Files cover spans by cluster.toml, by manifests, or by the times of their lines, never by their modification time."""

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
    """Return kind, beginning, end and source of the spans of a folder's files."""
    folder = make(tmp_path, {"c1/cluster.toml": settings, **{f"c1/{path}": text for path, text in files.items()}})
    con = load(folder, readers=LOGS)
    write_spans(con, survey(folder, LOGS))
    return con.execute("select kind, from_at, to_at, known_by from ops.spans order by all").fetchall()


WEEKLY = [covered(168 * week, 168 * week + 113, 1000) for week in (4, 0, 1, 2, 5)]
"""Busy from Monday to Friday; the fourth week is missing."""


@pytest.mark.parametrize(
    ("files", "is_extended", "expected"),
    [
        # Five records in twelve weeks: the margin is as long as the distance between records, three weeks.
        pytest.param([covered(0, 2016, 5)], True, [(-504, 2520)], id="quiet-weeks-in-a-file-are-no-gap"),
        pytest.param(WEEKLY, False, [(0, 449), (672, 953)], id="missing-week-is-a-gap-and-a-weekend-is-none"),
        pytest.param(
            [covered(24 * day + 8, 24 * day + 18, 500) for day in (0, 1, 3)],
            False, [(8, 42), (80, 90)], id="missing-day-of-a-busy-log-is-a-gap-and-the-night-is-none",
        ),
        pytest.param(
            [covered(24 * day, 24 * day + 20, 2) for day in (0, 1, 3)],
            False, [(0, 92)], id="records-as-seldom-as-days-show-no-missing-day",
        ),
        pytest.param(
            [covered(number / 12, number / 12, 3) for number in [*range(48), *range(480, 500)]],
            False, [(0, 3.917), (40, 41.583)], id="snapshots-are-as-far-apart-as-usual",
        ),
    ],
)  # fmt: skip
def test_a_gap_is_longer_than_files_and_records_usually_leave(files, is_extended, expected):
    assert in_hours(by_times(files, is_extended=is_extended)) == expected


NO_NUMBERS = JobNumbers(0, 0, usual_share=0, usual_jobs=500)
OF_A_DAY = JobNumbers(500, 501, usual_share=0, usual_jobs=500)


WEEK_OF_JOBS = [day for day in range(110) if day not in (40, 77)]
FEW, TOO_FEW = JobNumbers(5, 6, usual_share=0, usual_jobs=7), JobNumbers(4, 5, usual_share=0, usual_jobs=7)
ONE_PARTITION = JobNumbers(50, 55, usual_share=0.31, usual_jobs=7)


def daily(days, hours=(1, 23, 22), record_count=500, ended_later=0, names=True):
    """Return accounting files: the hours of the first and last record and of the last start, and a day in the name."""
    first, last, start = hours
    return [
        CoveredFile(
            MAY + timedelta(days=day, hours=first),
            MAY + timedelta(days=day + ended_later, hours=last),
            record_count,
            MAY + timedelta(days=day) if names else None,
            MAY + timedelta(days=day, hours=start),
        )
        for day in days
    ]


@pytest.mark.parametrize(
    ("files", "numbers", "expected"),
    [
        pytest.param(daily([0, 1, 2, 12, 13]), NO_NUMBERS, [(1, 71), (289, 335)], id="days-that-no-file-is-named-by"),
        pytest.param(
            daily([0, 1, 2, 12, 13], ended_later=11), NO_NUMBERS,
            [(1, 72), (289, 599)], id="jobs-that-outlive-missing-days-do-not-hide-them",
        ),
        pytest.param(daily([0, 1, 4, 5]), NO_NUMBERS, [(1, 143)], id="weekend-may-have-been-idle"),
        pytest.param(daily([0, 1, 4, 5]), OF_A_DAY, [(1, 47), (97, 143)], id="weekend-whose-jobs-are-missing"),
        pytest.param(daily([0, 1, 2, 12, 13], names=False), NO_NUMBERS, [(1, 335)], id="no-day-in-names"),
        pytest.param(
            daily([0, 1, 2, 12, 13], names=False), OF_A_DAY,
            [(1, 71), (289, 335)], id="no-day-in-names-and-missing-numbers",
        ),
        pytest.param(
            daily(WEEK_OF_JOBS, (3, 20, 19), 7), FEW,
            [(3, 956), (987, 1844), (1875, 2636)], id="single-days-however-few-their-jobs",
        ),
        pytest.param(daily(WEEK_OF_JOBS, (3, 20, 19), 7), TOO_FEW, [(3, 2636)], id="too-few-numbers"),
        pytest.param(daily(WEEK_OF_JOBS, (3, 20, 19), 7), ONE_PARTITION, [(3, 2636)], id="one-partition-of-several"),
    ],
)  # fmt: skip
def test_missing_days_of_accounting_are_gaps(files, numbers, expected):
    found = by_times(files, is_extended=False, job_numbers=lambda from_at, to_at: numbers)
    assert in_hours(found) == expected


def test_files_of_successive_days_leave_no_gap_between_them():
    # every second day has two records at its beginning
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


QUIET = "".join(f"{MAY + timedelta(hours=hour):%FT%TZ} n1 kernel: eth0: link is quiet\n" for hour in range(0, 48, 2))
CONTROLLER = {"slurmctld/slurmctld.log": "[2024-05-02T10:00:00.000] update_node: node node001 state set to DRAINED\n"}
WINDOW = {"slurmctld/slurmctld.log.manifest.json": json.dumps({"from": 1714608000, "to": "2024-05-10"})}
"""Epoch 1714608000 is 2 May, and a date without a zone is the cluster's midnight."""
BERLIN = 'timezone = "Europe/Berlin"\n'
STATED = '[[spans]]\nkind = "slurmctld"\nfrom = 2024-01-01\nto = 2024-02-01\n'


@pytest.mark.parametrize(
    ("files", "settings", "expected"),
    [
        pytest.param(
            {"kernel/n1.log": QUIET}, "",
            [("kernel", datetime(2024, 4, 30, 22), datetime(2024, 5, 3), "log")], id="lines-of-no-interest",
        ),
        pytest.param(
            {"squeue/squeue.20240503.txt": "JOBID|EXC_NODES\n"}, "",
            [("squeue", datetime(2024, 5, 3), datetime(2024, 5, 3, 23, 59, 59), "log")], id="empty-file-of-a-day",
        ),
        pytest.param({"squeue/squeue.txt": "JOBID|EXC_NODES\n51|node001\n"}, "", [], id="date-of-a-file-shows-nothing"),
        pytest.param(
            CONTROLLER, "",
            [("slurmctld", datetime(2024, 5, 2, 10), datetime(2024, 5, 2, 10), "log")], id="lines",
        ),
        pytest.param(
            CONTROLLER | WINDOW, BERLIN,
            [("slurmctld", datetime(2024, 5, 2), datetime(2024, 5, 9, 22), "manifest")], id="manifest-before-lines",
        ),
        pytest.param(
            CONTROLLER | WINDOW, STATED,
            [("slurmctld", datetime(2024, 1, 1), datetime(2024, 2, 1), "cluster.toml")], id="site-before-manifest",
        ),
        pytest.param(
            {
                "events/quiet.psv": "NodeName|TimeStart|TimeEnd|State\n",
                "events/quiet.psv.manifest.json": '{"from": "2024-05-01T00:00:00Z", "to": "2024-05-02T00:00:00Z"}',
            }, "",
            [("events", MAY, MAY + timedelta(days=1), "manifest")], id="manifest-of-a-file-without-a-record",
        ),
    ],
)  # fmt: skip
def test_what_files_cover_is_by_the_site_by_manifests_or_by_lines(files, settings, expected, tmp_path):
    assert spans(tmp_path, files, settings) == expected


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
    # BASE runs from 10:00 to 11:00. Earlier jobs are unknown, so accounting begins with its end.
    folder = make(tmp_path, {"c1/sacct/a.psv": export([{}]), "c1/sacct/copy.psv": export([{}])})
    con = load(folder, readers=READERS)
    write_spans(con, survey(folder, READERS))
    begins = con.execute("select from_at from ops.spans where kind = 'sacct'").fetchall()
    assert begins == [(datetime(2024, 5, 1, 11),)]


def daily_exports(job_ids, missing=()):
    """Return exports of 12 days by day. `job_ids` returns the job numbers of a day's export, one an hour."""
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
    # an array is submitted on the first day; seven of its tasks start each day
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


NO_MANIFESTS = {
    "array": ('["2024-05-01"]', "not a JSON object"),
    "no end": ('{"from": "2024-05-01"}', "'to' is missing"),
    "no time": ('{"from": "May", "to": "2024-05-01"}', "'May', which is no time"),
    "backwards": ('{"from": "2024-05-02", "to": "2024-05-01"}', "must lie after"),
    "cut off": ('{"from": ', "Expecting value"),
}
"""Texts and their messages."""


@pytest.fixture(scope="module")
def of_no_manifests(tmp_path_factory):
    """Load each of them with an export, and return the quarantined lines."""
    exports = {f"c1/sacct/{case}.psv": export([{}]) for case in NO_MANIFESTS}
    texts = {f"c1/sacct/{case}.psv.manifest.json": f"{text}\n" for case, (text, _) in NO_MANIFESTS.items()}
    folder = make(tmp_path_factory.mktemp("no_manifests"), {**exports, **texts})
    return rows(load(folder, readers=READERS), "select path, reason, detail from ops.quarantine")


@pytest.mark.parametrize("case", NO_MANIFESTS)
def test_what_is_no_manifest_is_quarantined(case, of_no_manifests):
    (found,) = (row for row in of_no_manifests if row["path"].startswith(f"c1/sacct/{case}.psv"))
    assert found["reason"] == "bad_manifest"
    assert NO_MANIFESTS[case][1] in found["detail"]


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
