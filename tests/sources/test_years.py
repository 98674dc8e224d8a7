"""The years of lines that tell none: from accounting of the same time, else from the date of their file."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pytest

from assets.sources.formats import READERS
from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.account.years import years_back
from assets.sources.intake.find.folder import survey
from assets.sources.intake.find.known_files import known_files
from tests.logs import export
from tests.sources.folders import everything, load, make

COPIED = datetime(2026, 11, 22, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
LOGS = {
    "health/nhc.log": "Jun  3 09:58:01 node001 nhc[77]: Health check failed: check_hw_ib: No IB port is ACTIVE.\n",
    "kernel/kern.log": f"Jun  3 09:58:01 node001 kernel: [  10.5] {XID}\n",
    "slurmctld/slurmctld.log": "[Jun  3 09:58:01.250] update_node: node node001 state set to DOWN\n",
}
TIMES = {
    "health/nhc.log": "select observed_at from raw.health_checks",
    "kernel/kern.log": "select occurred_at from raw.kernel_messages order by line_number",
    "slurmctld/slurmctld.log": "select logged_at from raw.slurmctld_events",
}


def accounting(*days: str) -> str:
    """Return an export with a job on each of some days."""
    return export(
        {
            "JobID": str(number),
            "JobIDRaw": str(number),
            "Submit": f"{day}T09:00:00",
            "Start": f"{day}T09:30:00",
            "End": f"{day}T10:00:00",
        }
        for number, day in enumerate(days, 1)
    )


def read(folder: Path, *steps: dict[str, str], settings: str = "") -> duckdb.DuckDBPyConnection:
    """Load files of one cluster as they come, those of a step at a time."""
    con = None
    make(folder, {"c1/cluster.toml": settings})
    for files in steps:
        make(folder, {f"c1/{name}": text for name, text in files.items()}, COPIED)
        con = load(folder, con, READERS)
    assert con is not None
    return con


def times(con: duckdb.DuckDBPyConnection, log: str) -> list[datetime]:
    return [moment for (moment,) in con.execute(TIMES[log]).fetchall()]


@pytest.mark.parametrize("log", LOGS)
def test_a_line_without_a_year_is_of_the_year_of_accounting(tmp_path: Path, log: str) -> None:
    folder = {"sacct/a.psv": accounting("2024-05-30", "2024-06-10"), log: LOGS[log]}
    con = read(tmp_path, folder)
    (moment,) = times(con, log)
    assert moment.replace(microsecond=0) == datetime(2024, 6, 3, 9, 58, 1)
    kind = log.partition("/")[0]
    of_file = con.execute("select first_at, last_at, warnings from ops.files where kind = $1", [kind]).fetchall()
    assert of_file == [(moment, moment, [])]
    write_spans(con, survey(tmp_path, READERS, known_files(con)))
    assert con.execute("select year(from_at), year(to_at) from ops.spans where kind = $1", [kind]).fetchall() == [
        (2024, 2024)
    ]


def test_years_do_not_depend_on_what_comes_first(tmp_path: Path) -> None:
    steps = [
        {"sacct/a.psv": accounting("2023-06-01", "2023-06-10")},
        {"sacct/b.psv": accounting("2024-05-30", "2024-06-10"), "kernel/kern.log": LOGS["kernel/kern.log"]},
        {"health/nhc.log": LOGS["health/nhc.log"], "slurmctld/slurmctld.log": LOGS["slurmctld/slurmctld.log"]},
    ]
    at_once = everything(read(tmp_path / "once", {name: text for step in steps for name, text in step.items()}))
    # A cluster is not read before it has accounting. Logs come before the accounting that decides, and after it.
    for order in ((0, 2, 1), (1, 2, 0)):
        in_order = read(tmp_path / f"{order}", *(steps[number] for number in order))
        assert everything(in_order) == at_once, order


@pytest.mark.parametrize(
    ("days", "year"),
    [
        pytest.param(("2024-06-03", "2026-06-03"), 2026, id="both-years-fit"),
        pytest.param(("2022-06-03", "2023-06-03"), 2023, id="two-years-before-the-date-fit"),
        pytest.param(("2024-07-02",), 2024, id="a-month-before-accounting"),
        pytest.param(("2024-07-10",), 2026, id="accounting-of-another-season"),
        pytest.param(("2027-06-03",), 2026, id="no-line-is-later-than-its-file"),
    ],
)
def test_the_date_of_the_file_decides_between_years_that_fit(tmp_path: Path, days: tuple[str, ...], year: int) -> None:
    con = read(tmp_path, {"sacct/a.psv": accounting(*days), "kernel/kern.log": LOGS["kernel/kern.log"]})
    assert [moment.year for moment in times(con, "kernel/kern.log")] == [year]


def test_a_log_that_ends_at_the_date_of_its_file_is_of_its_year(tmp_path: Path) -> None:
    old = {"sacct/a.psv": accounting("2024-11-20", "2024-06-03")}
    live = read(tmp_path / "1", {**old, "kernel/kern.log": f"Nov 21 23:58:01 node001 kernel: {XID}\n"})
    assert [moment.year for moment in times(live, "kernel/kern.log")] == [2026]
    rotated = read(tmp_path / "2", {**old, "kernel/kern.log-20250604": f"Jun  3 23:58:01 node001 kernel: {XID}\n"})
    assert [moment.year for moment in times(rotated, "kernel/kern.log")] == [2025]


def test_the_turn_of_the_year_and_a_leap_day_stay_where_they_are(tmp_path: Path) -> None:
    stamps = ("Dec 31 23:00:00", "Feb 28 23:00:00", "Feb 29 01:00:00", "Mar  1 01:00:00")
    log = "".join(f"{stamp} node001 kernel: {XID}\n" for stamp in stamps)
    expected = [
        datetime(2019, 12, 31, 23), datetime(2020, 2, 28, 23), datetime(2020, 2, 29, 1), datetime(2020, 3, 1, 1),
    ]  # fmt: skip
    files = {"sacct/a.psv": accounting("2020-02-01", "2021-02-01", "2022-02-01"), "kernel/kern.log": log}
    assert times(read(tmp_path / "1", files), "kernel/kern.log") == expected
    alone = read(tmp_path / "2", {**files, "sacct/a.psv": accounting("2017-07-01")})
    assert times(alone, "kernel/kern.log") == [moment.replace(year=moment.year + 4) for moment in expected]


def test_local_times_keep_their_hour_in_another_year(tmp_path: Path) -> None:
    # Summer time began on 29 March 2026 and on 31 March 2024.
    log = "".join(f"Mar {day} 12:00:00 node001 kernel: {XID}\n" for day in (30, 31))
    steps = {"sacct/a.psv": accounting("2024-03-30"), "kernel/kern.log": log}, {"sacct/b.psv": accounting("2026-03-30")}
    berlin = 'timezone = "Europe/Berlin"\n'
    assert times(read(tmp_path / "1", steps[0], settings=berlin), "kernel/kern.log") == [
        datetime(2024, 3, 30, 11),
        datetime(2024, 3, 31, 10),
    ]
    assert times(read(tmp_path / "2", *steps, settings=berlin), "kernel/kern.log") == [
        datetime(2026, 3, 30, 10),
        datetime(2026, 3, 31, 10),
    ]


def test_lines_with_a_year_stay_in_it(tmp_path: Path) -> None:
    both = LOGS["kernel/kern.log"] + f"2024-08-01T10:00:00+00:00 node001 kernel: {XID}\n"
    con = read(tmp_path, {"sacct/a.psv": accounting("2024-06-10"), "kernel/kern.log": both})
    assert times(con, "kernel/kern.log") == [datetime(2024, 6, 3, 9, 58, 1), datetime(2024, 8, 1, 10)]
    assert con.execute("select first_at, last_at from ops.files where kind = 'kernel'").fetchall() == [
        (datetime(2024, 6, 3, 9, 58, 1), datetime(2024, 8, 1, 10))
    ]


def test_a_log_whose_year_is_settled_repeats_one_that_tells_it(tmp_path: Path) -> None:
    files = {"sacct/a.psv": accounting("2024-06-10"), "kernel/kern.log": LOGS["kernel/kern.log"]}
    undated = {"kernel/journal.log": f"2024-06-03T09:58:01.123456+00:00 node001 kernel: {XID}\n"}
    con = read(tmp_path, {**files, **undated})
    found = con.execute("select path, disposition from raw.kernel_messages order by path").fetchall()
    assert found == [("c1/kernel/journal.log", "loaded"), ("c1/kernel/kern.log", "duplicate")]


def test_a_log_of_a_time_without_accounting_is_told(tmp_path: Path) -> None:
    def warned(folder: str, *days: str) -> list[tuple[str, list[str]]]:
        logs = {
            f"kernel/{day}.log": f"{day}T10:00:00+00:00 node001 kernel: {XID}\n"
            for day in ("2024-05-10", "2024-06-20", "2022-06-01")
        }
        con = read(tmp_path / folder, logs | {"sacct/a.psv": accounting(*days)})
        return con.execute(
            "select path[11:], warnings from ops.files where kind = 'kernel' and warnings <> [] order by path"
        ).fetchall()

    old = ("2022-06-01.log", ["overlaps_no_accounting: 2022-06-01 to 2022-06-01"])
    assert warned("1", "2024-05-01", "2024-06-01") == [old], "accounting of some days may be late"
    assert warned("2", "2024-05-20", "2024-06-01") == [
        old,
        ("2024-05-10.log", ["overlaps_no_accounting: 2024-05-10 to 2024-05-10"]),
        ("2024-06-20.log", ["overlaps_no_accounting: 2024-06-20 to 2024-06-20"]),
    ]
    assert warned("2", "2022-05-20", "2024-06-21") == [], "accounting that comes later takes the warning away"


def test_a_log_of_hours_in_which_the_first_jobs_ran_overlaps_accounting(tmp_path: Path) -> None:
    job = {"JobID": "1", "Submit": "2024-06-01T09:00:00", "Start": "2024-06-01T09:30:00"}
    files = {
        "sacct/a.psv": export([job | {"End": "2024-06-03T10:00:00"}]),
        "kernel/kern.log": f"2024-06-02T10:00:00+00:00 node001 kernel: {XID}\n",
    }
    con = read(tmp_path, files)
    assert con.execute("select warnings from ops.files where kind = 'kernel'").fetchall() == [([],)]


def test_most_lines_decide() -> None:
    days = {date(2026, 6, 3): 2, date(2026, 1, 3): 1}
    year_of_june = (date(2024, 6, 1), date(2024, 6, 30))
    assert years_back(days, [year_of_june, (date(2025, 1, 1), date(2025, 1, 5))]) == 2
    assert years_back(days, [year_of_june], has_leap_day=True) == 0
    assert years_back({date(2028, 2, 29): 1}, [(date(2025, 2, 1), date(2025, 3, 1))]) == 3
    assert years_back(days, []) == 0
