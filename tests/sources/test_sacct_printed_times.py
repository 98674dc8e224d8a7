"""Times of accounting in the forms that locales print: one reading is found, or the file is refused."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.sources.sacct.printed_times import month_of
from tests.logs import export
from tests.sources.folders import load, make

GERMAN = ["Jan", "Feb", "Mär", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]
FRENCH = ["janv.", "févr.", "mars", "avril", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."]
SPANISH = ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"]
SPANISH_DAYS = ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"]


def named(names: list[str], form: str) -> Any:
    return lambda at: at.strftime(form.replace("%b", names[at.month - 1]))


FORMS = {
    "day first, slashes": "%d/%m/%Y %H:%M:%S", "month first, slashes": "%m/%d/%Y %H:%M:%S",
    "day first, dots": "%d.%m.%Y %H:%M:%S", "day first, dashes": "%d-%m-%Y %H:%M:%S",
    "day first, spaces": "%d %m %Y %H:%M:%S", "day first, one digit": "%-d/%-m/%Y %-H:%M:%S",
    "year first, slashes": "%Y/%m/%d %H:%M:%S", "year first, dots": "%Y. %m. %d. %H:%M:%S",
    "two digits of a year, day first": "%d/%m/%y %H:%M:%S", "two digits of a year, month first": "%m/%d/%y %H:%M:%S",
    "two digits of a year, year first": "%y-%m-%d %H:%M:%S",
    "year first, names": "%Y %b %d %H:%M:%S",
    "ctime": "%a %b %d %H:%M:%S %Y", "date": "%a %d %b %Y %H:%M:%S", "12 hours": "%m/%d/%Y %I:%M:%S %p",
    "12 hours, day first, small": lambda at: at.strftime("%d/%m/%Y %I:%M:%S %p").lower(),
    "12 hours, ctime": "%a %d %b %Y %I:%M:%S %p CET", "clock first": "%H:%M:%S %d.%m.%Y",
    "clock with dots": "%d/%m/%Y %H.%M.%S", "long names": "%d %B %Y %H:%M:%S", "names first": "%b %d, %Y %H:%M:%S",
    "German": named(GERMAN, "%d. %b %Y %H:%M:%S"), "French": named(FRENCH, "%d %b %Y à %H:%M:%S"),
    "Spanish weekdays": lambda at: f"{SPANISH_DAYS[at.weekday()]} {named(SPANISH, '%d %b %Y %H:%M:%S')(at)}",
    "Portuguese": named(SPANISH, "%d de %b de %Y %H:%M:%S"), "Japanese": "%Y年%m月%d日 %H時%M分%S秒",
    "Korean": lambda at: f"{at:%Y년 %m월 %d일} {'오전' if at.hour < 12 else '오후'} {at:%I:%M:%S}",
}  # fmt: skip


def shown(form: Any, at: datetime) -> str:
    return form(at) if callable(form) else at.strftime(form)


def records(form: Any, begin: datetime, count: int, step: timedelta, hours: float = 2) -> list[dict[str, str]]:
    found = []
    for number in range(1, count + 1):
        start = begin + number * step
        submit, end = start - timedelta(minutes=9), start + timedelta(hours=hours)
        times = {"Submit": submit, "Eligible": start, "Start": start, "End": end}
        found.append({
            "JobID": str(number), "ElapsedRaw": str(int(hours * 3600)),
            **{name: shown(form, at) for name, at in times.items()},
        })  # fmt: skip
    return found


def read(tmp_path: Any, content: str, toml: str = "", **more: str) -> duckdb.DuckDBPyConnection:
    files = {"c1/sacct/a.txt": content, "c1/cluster.toml": toml, **more}
    return load(make(tmp_path, files))


def moments(con: duckdb.DuckDBPyConnection, file: str = "a") -> list[tuple[Any, ...]]:
    return con.execute(
        "select job_id_raw % 1000, submitted_at, started_at, ended_at from raw.sacct where path = $1 order by 1",
        [f"c1/sacct/{file}.txt"],
    ).fetchall()


def refusals(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    return con.execute("select reason, next_step from ops.files where status = 'refused'").fetchall()


def expected(begin: datetime, count: int, step: timedelta, hours: float = 2) -> list[tuple[Any, ...]]:
    starts = [begin + number * step for number in range(1, count + 1)]
    ends = [start + timedelta(hours=hours) for start in starts]
    return [(n, s - timedelta(minutes=9), s, e) for n, (s, e) in enumerate(zip(starts, ends, strict=True), 1)]


MARCH, STEP = datetime(2026, 3, 1, 0, 30), timedelta(hours=13)


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Jobs of one time in every form, as files of one folder."""
    files = {}
    for place, (form, pattern) in enumerate(FORMS.items()):
        jobs = records(pattern, MARCH, 70, STEP)
        own = [{**job, "JobID": str(1000 * place + number)} for number, job in enumerate(jobs, 1)]
        files[f"c1/sacct/{form}.txt"] = export(own)
    return load(make(tmp_path_factory.mktemp("forms"), files))


@pytest.mark.parametrize("form", FORMS)
def test_one_reading_is_found(form: str, together: duckdb.DuckDBPyConnection) -> None:
    assert moments(together, form) == expected(MARCH, 70, STEP)
    account = together.execute("select quarantined, warnings from ops.files where path = $1", [f"c1/sacct/{form}.txt"])
    assert account.fetchall() == [(0, [])]


def test_a_form_beside_others_and_damaged_records(tmp_path: Any) -> None:
    slashed = records("%d/%m/%Y %H:%M:%S", MARCH, 40, STEP)
    slashed[3]["End"], slashed[5]["Start"], slashed[7]["Start"] = "Unknown", "45/03/2026 10:00:00", "1/2/3 x 10:00"
    slashed[3]["State"] = "RUNNING"
    iso = export(records("%Y-%m-%dT%H:%M:%S", MARCH, 40, STEP))
    american = export(records("%m/%d/%Y %H:%M", MARCH, 40, STEP))
    con = read(tmp_path, export(slashed), **{"c1/sacct/b.txt": iso, "c1/sacct/c.txt": american})
    wanted = [row for row in expected(MARCH, 40, STEP) if row[0] not in {4, 6, 8}]
    assert [row for row in moments(con) if row[0] != 4] == wanted
    assert con.execute("select quarantined from ops.files order by path").fetchall() == [(2,), (0,), (0,)]
    assert con.execute("select count(*) from raw.sacct").fetchall() == [(118,)]


def test_local_time_and_its_changes(tmp_path: Any) -> None:
    begin = datetime(2026, 3, 27, 12)
    con = read(tmp_path, export(records("%d.%m.%Y %H:%M:%S", begin, 4, timedelta(days=1))), 'timezone = "Europe/Paris"')
    assert [row[2].hour for row in moments(con)] == [11, 10, 10, 10]


APRIL = datetime(2026, 4, 3, 0, 30)


@pytest.mark.parametrize(("order", "month"), [("%d/%m", 4), ("%m/%d", 3)])
def test_what_leaves_two_readings_is_refused_with_the_lines_to_paste(order: str, month: int, tmp_path: Any) -> None:
    text = export(records("%d/%m/%Y %H:%M:%S", APRIL, 3, timedelta(hours=2)))
    ((reason, next_step),) = refusals(read(tmp_path / "refused", text, **{"c1/sacct/b.txt": export([{}])}))
    assert reason.startswith("ambiguous_times: ")
    assert (
        '[accounting] and below it time_format = "%d/%m/%Y %H:%M:%S" or time_format = "%m/%d/%Y %H:%M:%S"' in next_step
    )
    con = read(tmp_path / "told", text, f'[accounting]\ntime_format = "{order}/%Y %H:%M:%S"')
    assert {row[2].month for row in moments(con)} == {month}


def test_a_file_that_tells_its_order_beats_the_setting(tmp_path: Any) -> None:
    text = export(records("%m/%d/%Y %H:%M:%S", MARCH, 70, STEP))
    assert moments(read(tmp_path, text, '[accounting]\ntime_format = "%d/%m/%Y %H:%M:%S"')) == expected(MARCH, 70, STEP)


@pytest.mark.parametrize("order", ["%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%y/%m/%d"])
def test_jobs_past_midnight_tell_the_order(order: str, tmp_path: Any) -> None:
    at = datetime(2026, 4, 3, 21)
    text = export(records(f"{order} %H:%M:%S", at, 6, timedelta(hours=1), hours=9))
    assert moments(read(tmp_path, text)) == expected(at, 6, timedelta(hours=1), hours=9)


@pytest.mark.parametrize("form", ["%Y%m%d%H%M%S", "%H%M%S %d%m%Y"])
def test_a_form_of_digits_alone_needs_the_setting(form: str, tmp_path: Any) -> None:
    text = export(records(form, MARCH, 10, STEP))
    ((reason, next_step),) = refusals(read(tmp_path / "refused", text, **{"c1/sacct/b.txt": export([{}])}))
    assert reason.startswith("unknown_times: ")
    assert "[accounting] and below it time_format" in next_step
    assert moments(read(tmp_path / "told", text, f'[accounting]\ntime_format = "{form}"')) == expected(MARCH, 10, STEP)


@given(st.sampled_from(sorted(FORMS)), st.integers(0, 10**6))
def test_months_of_every_form_are_known(form: str, seed: int) -> None:
    generator = random.Random(seed)
    at = datetime(2026, generator.randint(1, 12), generator.randint(1, 28))
    for names in (GERMAN, FRENCH, SPANISH):
        assert month_of(names[at.month - 1]) == at.month
    assert month_of(at.strftime("%B")) == month_of(at.strftime("%b")) == at.month
