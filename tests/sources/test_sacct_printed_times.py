"""Times of accounting in another form than sacct's own: read by the format that is set, or refused with the line."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pytest

from tests.logs import export
from tests.sources.folders import load, make

BEGIN = datetime(2024, 5, 1, 9, 30)
FORMS = [
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%y-%m-%d %H:%M:%S",
    "%a %b %d %H:%M:%S %Y", "%a %d %b %Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%H:%M:%S %d.%m.%Y",
]  # fmt: skip


def records(form: str, count: int = 30) -> list[dict[str, str]]:
    found = []
    for number in range(1, count + 1):
        start = BEGIN + number * timedelta(days=1)
        moments = {"Submit": start, "Eligible": start, "Start": start, "End": start + timedelta(hours=2)}
        found.append({"JobID": str(number), **{name: at.strftime(form) for name, at in moments.items()}})
    return found


def read(tmp_path: Any, content: str, toml: str = "", **more: str) -> duckdb.DuckDBPyConnection:
    return load(make(tmp_path, {"c1/sacct/a.txt": content, "c1/cluster.toml": toml, **more}))


def moments(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return con.execute("select job_id_raw, submitted_at, ended_at from raw.sacct order by 1").fetchall()


EXPECTED = [
    (number, BEGIN + number * timedelta(days=1), BEGIN + number * timedelta(days=1, hours=0) + timedelta(hours=2))
    for number in range(1, 31)
]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_once_it_is_set_and_the_refusal_has_a_line_that_sets_one(form, tmp_path):
    con = read(tmp_path, export(records(form)))
    ((reason, next_step),) = con.execute("select reason, next_step from ops.files").fetchall()
    assert reason.startswith("unknown_times: times such as ")
    assert re.search(r'\[accounting\] and below it time_format = "[^"]*%[^"]*"', next_step)
    assert "SLURM_TIME_FORMAT=%s" in next_step
    con = read(tmp_path, export(records(form)), f'[accounting]\ntime_format = "{form}"\n')
    assert moments(con) == EXPECTED


def test_the_line_to_paste_reads_the_file_where_the_day_comes_first(tmp_path):
    text = export(records("%d/%m/%Y %H:%M:%S"))
    ((next_step,),) = read(tmp_path, text).execute("select next_step from ops.files").fetchall()
    line = re.search(r'time_format = "[^"]*"', next_step)[0]
    assert moments(read(tmp_path, text, f"[accounting]\n{line}\n")) == EXPECTED


def test_files_in_sacct_s_own_form_are_read_whatever_is_set(tmp_path):
    own = export(records("%Y-%m-%dT%H:%M:%S"))
    epoch = export([{**record, "JobID": str(int(record["JobID"]) + 100)} for record in records("%s")])
    con = read(tmp_path, own, '[accounting]\ntime_format = "%d/%m/%Y %H:%M:%S"\n', **{"c1/sacct/b.txt": epoch})
    assert [row[1:] for row in moments(con)] == [row[1:] for row in EXPECTED] * 2


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("9999-12-31T23:59:59", "implausible_time"),
        ("0001-01-01T00:00:00", "implausible_time"),
        ("01/05/2024 10:00:00", "bad_timestamp"),
    ],
)
def test_a_few_odd_times_are_quarantined(printed, reason, tmp_path):
    own = records("%Y-%m-%dT%H:%M:%S")
    con = read(tmp_path, export([{**own[0], "End": printed}, *own[1:]]))
    assert con.execute("select line_number, reason from ops.quarantine").fetchall() == [(2, reason)]
    con = read(tmp_path, export([{**record, "Submit": printed} for record in own]))
    found = con.execute(
        "select status, coalesce(split_part(files.reason, ':', 1), quarantine.reason) from ops.files "
        "left join ops.quarantine using (path) group by all"
    ).fetchall()
    assert found == [("read", reason)]
