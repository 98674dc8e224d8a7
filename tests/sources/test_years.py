"""Lines without a year get it from accounting of the same time, else from the date of their file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

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
KERNEL, NHC, SLURMCTLD = "kernel/kern.log", "health/nhc.log", "slurmctld/slurmctld.log"
LOGS = {
    NHC: "Jun  3 09:58:01 node001 nhc[77]: Health check failed: check_hw_ib: No IB port is ACTIVE.\n",
    KERNEL: f"Jun  3 09:58:01 node001 kernel: [  10.5] {XID}\n",
    # Slurm writes microseconds without zeros before them.
    SLURMCTLD: "[Jun  3 09:58:01.250] update_node: node node001 state set to DOWN\n",
}
THIRD = datetime(2024, 6, 3, 9, 58, 1)
TIMES = """
    select path[strpos(path, '/') + 1:], occurred_at from raw.kernel_messages where cluster_id = $1
    union all select path[strpos(path, '/') + 1:], observed_at from raw.health_checks where cluster_id = $1
    union all select path[strpos(path, '/') + 1:], logged_at from raw.slurmctld_events where cluster_id = $1
    order by all
"""


def accounting(*days: str) -> dict[str, str]:
    """Return an export with a job on each of some days."""
    times = [{"Submit": f"{day}T09:00:00", "Start": f"{day}T09:30:00", "End": f"{day}T10:00:00"} for day in days]
    return {"sacct/a.psv": export({"JobID": str(number), **at} for number, at in enumerate(times, 1))}


def undated(*stamps: str) -> str:
    """Return lines of a kernel log without years."""
    return "".join(f"{stamp} node001 kernel: {XID}\n" for stamp in stamps)


def dated(day: str) -> str:
    """Return a line of a kernel log with its year."""
    return f"{day}T10:00:00+00:00 node001 kernel: {XID}\n"


@dataclass
class Case:
    """Files of a cluster, the times of its log rows, and warnings for logs without accounting."""

    files: dict[str, str]
    times: list[tuple[str, datetime]] | None = None
    warnings: list[str] = field(default_factory=list)


def of_june(days: tuple[str, ...], year: int) -> Case:
    """Expect the kernel log in a year, given accounting of some days."""
    return Case(accounting(*days) | {KERNEL: LOGS[KERNEL]}, [(KERNEL, THIRD.replace(year=year))])


def turn_of_the_year(year: int, *days: str) -> Case:
    """Expect lines from the last hour of a year to a leap day in place, given accounting of some days."""
    stamps = ("Dec 31 23:00:00", "Feb 28 23:00:00", "Feb 29 01:00:00", "Mar  1 01:00:00")
    moments = (datetime(year - 1, 12, 31, 23), *(datetime(year, *at) for at in ((2, 28, 23), (2, 29, 1), (3, 1, 1))))
    return Case(accounting(*days) | {KERNEL: undated(*stamps)}, [(KERNEL, moment) for moment in moments])


BERLIN, OLD = {"cluster.toml": 'timezone = "Europe/Berlin"\n'}, accounting("2024-11-20", "2024-06-03")
DAYS = {f"kernel/{day}.log": dated(day) for day in ("2024-05-10", "2024-06-20", "2022-06-01")}
FIRST_JOBS = export([{"Submit": "2024-06-01T09:00:00", "Start": "2024-06-01T09:30:00", "End": "2024-06-03T10:00:00"}])
CASES = {
    "every log is of the year of accounting": Case(
        accounting("2024-05-30", "2024-06-10") | LOGS,
        [(NHC, THIRD), (KERNEL, THIRD), (SLURMCTLD, THIRD.replace(microsecond=250))],
    ),
    "both years fit": of_june(("2024-06-03", "2026-06-03"), 2026),
    "two years before the date fit": of_june(("2022-06-03", "2023-06-03"), 2023),
    "a month before accounting": of_june(("2024-07-02",), 2024),
    "accounting of another season": of_june(("2024-07-10",), 2026),
    "no line is later than its file": of_june(("2027-06-03",), 2026),
    "ends at the date of its file": Case(
        OLD | {KERNEL: undated("Nov 21 23:58:01")}, [(KERNEL, datetime(2026, 11, 21, 23, 58, 1))]
    ),
    "ends at the date in its name": Case(
        OLD | {f"{KERNEL}-20250604": undated("Jun  3 23:58:01")},
        [(f"{KERNEL}-20250604", datetime(2025, 6, 3, 23, 58, 1))],
    ),
    "turn of the year and leap day": turn_of_the_year(2020, "2020-02-01", "2021-02-01", "2022-02-01"),
    "turn of the year and leap day without accounting": turn_of_the_year(2024, "2017-07-01"),
    # Summer time began on 29 March 2026 and on 31 March 2024.
    "local times keep their hour": Case(
        accounting("2024-03-30") | BERLIN | {KERNEL: undated("Mar 30 12:00:00", "Mar 31 12:00:00")},
        [(KERNEL, datetime(2024, 3, 30, 11)), (KERNEL, datetime(2024, 3, 31, 10))],
    ),
    "local times keep their hour in a later year": Case(
        accounting("2024-03-30", "2026-03-30") | BERLIN | {KERNEL: undated("Mar 30 12:00:00", "Mar 31 12:00:00")},
        [(KERNEL, datetime(2026, 3, 30, 10)), (KERNEL, datetime(2026, 3, 31, 10))],
    ),
    "lines with a year stay in it": Case(
        accounting("2024-06-10", "2024-08-01") | {KERNEL: LOGS[KERNEL] + dated("2024-08-01")},
        [(KERNEL, THIRD), (KERNEL, datetime(2024, 8, 1, 10))],
    ),
    "accounting of some days may be late": Case(
        DAYS | accounting("2024-05-01", "2024-06-01"), None,
        ["2022-06-01.log overlaps_no_accounting: 2022-06-01 to 2022-06-01"],
    ),
    "logs of times without accounting": Case(
        DAYS | accounting("2024-05-20", "2024-06-01"), None,
        [f"{day}.log overlaps_no_accounting: {day} to {day}" for day in ("2022-06-01", "2024-05-10", "2024-06-20")],
    ),
    "hours in which the first jobs ran": Case({"sacct/a.psv": FIRST_JOBS, KERNEL: dated("2024-06-02")}),
}  # fmt: skip


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """All cases, each a cluster, loaded at once."""
    folder = tmp_path_factory.mktemp("years")
    for number, case in enumerate(CASES.values()):
        make(folder / f"c{number}", case.files, COPIED)
    con = load(folder, readers=READERS)
    write_spans(con, survey(folder, READERS, known_files(con)))
    return con


@pytest.mark.parametrize("name", CASES)
def test_lines_without_a_year_are_of_the_year_that_fits(name: str, con: duckdb.DuckDBPyConnection) -> None:
    case, number = CASES[name], [*CASES].index(name)
    of_cluster = [f"c{number}"]
    found = con.execute(TIMES, of_cluster).fetchall()
    assert case.times is None or found == sorted(case.times)
    files = (
        "select path, first_at, last_at, warnings from ops.files where cluster_id = $1 and kind <> 'sacct' order by 1"
    )
    warned = []
    for path, first_at, last_at, warnings in con.execute(files, of_cluster).fetchall():
        moments = [moment for log, moment in found if path.endswith(log)]
        assert (first_at, last_at) == (min(moments), max(moments))
        warned += [f"{path.rpartition('/')[2]} {warning}" for warning in warnings]
    assert case.times is not None or warned == case.warnings
    spans = "select min(from_at), max(to_at) from ops.spans where cluster_id = $1 and kind = 'kernel'"
    ((from_at, to_at),) = con.execute(spans, of_cluster).fetchall()
    moments = [moment for log, moment in found if log.startswith("kernel")]
    assert from_at <= min(moments) <= max(moments) <= to_at
    assert from_at.year >= min(moments).year - 1


def read(folder: Path, *steps: dict[str, str]) -> duckdb.DuckDBPyConnection:
    """Load files of one cluster, one step after another."""
    con: Any = None
    for files in steps:
        con = load(make(folder, {f"c1/{name}": text for name, text in files.items()}, COPIED), con, READERS)
    return con


def test_years_and_warnings_do_not_depend_on_what_comes_first(tmp_path: Path) -> None:
    steps = [
        accounting("2023-06-01", "2023-06-10"),
        {"sacct/b.psv": accounting("2024-05-30", "2024-06-10")["sacct/a.psv"], KERNEL: LOGS[KERNEL], **BERLIN},
        {NHC: LOGS[NHC], SLURMCTLD: LOGS[SLURMCTLD], "kernel/2022.log": dated("2022-06-01")},
    ]
    at_once = everything(read(tmp_path / "once", {name: text for step in steps for name, text in step.items()}))
    # A cluster is not read before it has accounting. Logs come both before and after the accounting that decides.
    assert everything(read(tmp_path / "late", *(steps[number] for number in (0, 2, 1)))) == at_once


def test_a_log_whose_year_is_settled_repeats_one_that_states_it(tmp_path: Path) -> None:
    journal = {"kernel/journal.log": f"2024-06-03T09:58:01.123456+00:00 node001 kernel: {XID}\n"}
    con = read(tmp_path, accounting("2024-06-10") | {KERNEL: LOGS[KERNEL]} | journal)
    found = con.execute("select path, disposition from raw.kernel_messages order by path").fetchall()
    assert found == [("c1/kernel/journal.log", "loaded"), ("c1/kernel/kern.log", "duplicate")]


def test_most_lines_decide() -> None:
    days = {date(2026, 6, 3): 2, date(2026, 1, 3): 1}
    year_of_june = (date(2024, 6, 1), date(2024, 6, 30))
    assert years_back(days, [year_of_june, (date(2025, 1, 1), date(2025, 1, 5))]) == 2
    assert years_back(days, [year_of_june], has_leap_day=True) == 0
    assert years_back({date(2028, 2, 29): 1}, [(date(2025, 2, 1), date(2025, 3, 1))]) == 3
    assert years_back(days, []) == 0
