"""Settings that make an export of `sacct -P` readable: names of columns without a header, the form of times."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.sources.errors import SourceErrors
from assets.sources.sacct.detection import XDMOD
from tests.logs import BASE, export
from tests.sources.folders import attempts, counts, load, make

BEGIN = datetime(2024, 5, 1, 9, 30)
DAYS = range(1, 31)
FORMS = [
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%y-%m-%d %H:%M:%S",
    "%a %b %d %H:%M:%S %Y", "%a %d %b %Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%H:%M:%S %d.%m.%Y",
]  # fmt: skip


def jobs(form: str) -> str:
    """Return a job of two hours on each of thirty days, with times in a form."""
    records = []
    for number in DAYS:
        start = BEGIN + timedelta(days=number)
        moments = {"Submit": start, "Eligible": start, "Start": start, "End": start + timedelta(hours=2)}
        times = {name: at.strftime(form) for name, at in moments.items()}
        records.append({"JobID": str(number), "Cluster": "", **times})
    return export(records)


def moments(con: duckdb.DuckDBPyConnection, cluster: str = "c1") -> list[tuple[Any, ...]]:
    """Return when the jobs of a cluster were submitted and ended."""
    found = "select submitted_at, ended_at from raw.sacct where cluster_id = $1 order by job_id_raw"
    return con.execute(found, [cluster]).fetchall()


EXPECTED = [(BEGIN + timedelta(days=number), BEGIN + timedelta(days=number, hours=2)) for number in DAYS]


def test_a_form_is_read_once_it_is_set_and_the_refusal_names_the_setting(tmp_path: Path) -> None:
    """If the day comes first, the suggested line is correct."""
    texts = {f"c{number}": jobs(form) for number, form in enumerate(FORMS)}
    con = load(make(tmp_path, {f"{cluster}/sacct/a.txt": text for cluster, text in texts.items()}))
    refused = con.execute("select reason, next_step from ops.files order by cluster_id").fetchall()
    assert len(refused) == len(FORMS)
    for reason, next_step in refused:
        assert reason.startswith("unknown_times")
        assert re.search(r'\[accounting\] and below it time_format = "[^"]*%[^"]*"', next_step)
    (offered,) = re.findall(r'time_format = "([^"]*)"', refused[0][1])
    settings = {
        f"c{number}/cluster.toml": f'[accounting]\ntime_format = "{form}"\n'
        for number, form in enumerate([offered, *FORMS[1:]])
    }
    con = load(make(tmp_path, settings))
    for cluster in texts:
        assert moments(con, cluster) == EXPECTED, cluster


RECORD = {
    **BASE, "Group": "g", "GID": "1", "Elapsed": "01:00:00", "NCPUS": "64", "ReqCPUS": "64", "ReqMem": "1G",
    "Timelimit": "02:00:00",
}  # fmt: skip


def test_the_hint_of_a_known_layout_makes_it_readable(tmp_path: Path) -> None:
    text = export([{**RECORD, "JobName": "a|b"}, {**RECORD, "JobID": "7", "JobIDRaw": "7"}], columns=XDMOD)
    headless = text.split("\n", 1)[1]
    with pytest.raises(SourceErrors) as refusal:
        load(make(tmp_path / "without", {"c1/sacct/a.log": headless}))
    hint = str(refusal.value)
    columns = hint[hint.index("columns = [") :]
    config = f'timezone = "UTC"\n[sacct]\n{columns}'
    con = load(make(tmp_path / "with", {"c1/sacct/a.log": headless, "c1/cluster.toml": config}))
    assert counts(con) == (2, 2, 0, 0)
    assert {row["job_name"] for row in attempts(con)} == {"a|b", "train"}
