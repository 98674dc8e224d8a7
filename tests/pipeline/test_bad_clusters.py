"""A cluster that cannot be built keeps yesterday's numbers, marked as stale; the others are as if it were not there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from assets.bad_clusters.ends import ENDS
from assets.estimates import table
from assets.raw import assets as raw
from orchestration.checks import asset_checks
from orchestration.checks.verdicts import Verdict
from orchestration.publication.freshness import is_up_to_date
from orchestration.runs.failures import RefreshFailed
from orchestration.settings.home import Home
from tests.conftest import CAPTURE, refresh
from tests.homes import ask, copy_of, faultline
from tests.pipeline.stale import cluster
from tests.published import Content, facts_of_cluster

FAULTLINE = Path(sys.executable).with_name("faultline")
IN_NIGHT = ("is_stale", "stale_reason", "built_at")
"""What a stale cluster's row says of the night."""
BAD = {
    "a": ("sources", r"a: its rows could not be settled \(ConversionException: Conversion Error: odd\)"),
    "b": ("build", r"\w+ could not be built: Runtime Error in model"),
    "c": ("build", r"\w+ could not be built: Runtime Error in model"),
    "d": ("estimates", r"estimates.est_failure_rates could not be made of its rows: FloatingPointError: overflow"),
    "e": ("estimates_est_failure_rates_expectations", r".*odd_rates: an odd rate"),
}
"""What fails on the rows of each cluster of one night, and what is said of it. Nothing fails on those of g."""


def content(home: Home, cluster_id: str) -> Content:
    """Give all that is published of a cluster, save comparisons with others and what a row says of the night."""
    return facts_of_cluster(home.published_file, cluster_id, left_out=IN_NIGHT)


def contents(home: Home) -> dict[str, Content]:
    return {name: content(home, name) for name in (*BAD, "g")}


def pairs(home: Home) -> set[tuple[str, str]]:
    found = "select cluster_id, other_cluster_id from estimates.est_rate_ratios where comparison = 'clusters'"
    return {*ask(home, found)}


def plant(home: Home, patch: pytest.MonkeyPatch) -> None:
    """Let each step fail on the rows of its clusters."""
    with duckdb.connect(str(home.working_file)) as con:
        con.execute("update raw.sacct set elapsed_seconds = 9223372036854775807 where cluster_id in ('b', 'c')")
    mark, interval, judge = raw.mark_doubtful_files, table.weighted_interval, asset_checks.judge

    def fail_on_a(con):
        mark(con)
        if con.execute("from ops.files where cluster_id = 'a'").fetchall():
            raise duckdb.ConversionException("Conversion Error: odd")

    def fail_on_d(*arguments):
        if any(count > 6.5 for count in arguments[0]):
            raise FloatingPointError("overflow encountered in exp")
        return interval(*arguments)

    def find_fault_with_e(warehouse, tables):
        found = judge(warehouse, tables)
        if ("estimates", "est_failure_rates") in found:
            odd = Verdict("estimates.est_failure_rates", "odd_rates", False, True, "an odd rate", "no odd rates", "e")
            found["estimates", "est_failure_rates"].append(odd)
        return found

    patch.setattr(raw, "mark_doubtful_files", fail_on_a)
    patch.setattr(table, "weighted_interval", fail_on_d)
    patch.setattr(asset_checks, "judge", find_fault_with_e)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Nights of six clusters: all well; new jobs, and all but one at fault; all mended."""
    home = Home.at(tmp_path_factory.mktemp("nights") / "home")
    for name in (*BAD, "g"):
        cluster().write(home.sources / name)
    refresh(home)
    found = {"home": home, "before": contents(home)}
    for name, jobs in {"a": 61, "d": 100, "e": 61, "g": 65}.items():
        cluster(jobs).write(home.sources / name)
    with pytest.MonkeyPatch.context() as patch:
        plant(home, patch)
        refresh(home)
    ends = f"select cluster_id, cluster_end, is_stale, stage, array_to_string(reasons, '') from ({ENDS}) order by 1"
    found |= {"bad": contents(home), "pairs": pairs(home), "ends": ask(home, ends)}
    for name in "bc":
        cluster(61).write(home.sources / name)
    refresh(home)
    return found | {"mended": contents(home)}


@pytest.mark.slow
def test_each_is_left_out_by_its_own_step_and_keeps_the_numbers_of_the_last_publication(nights):
    assert [row[:4] for row in nights["ends"]] == [
        *((name, "last good", True, stage) for name, (stage, _) in BAD.items()),
        ("g", "built", False, None),
    ]
    for (*_, said), (_, reason) in zip(nights["ends"], BAD.values(), strict=False):
        assert re.match(reason, said)
    assert {name: nights["bad"][name] for name in BAD} == {name: nights["before"][name] for name in BAD}
    assert nights["pairs"] == {(one, other) for one in "abcdeg" for other in "abcdeg" if one < other}


@pytest.mark.slow
def test_no_row_of_another_is_different_and_once_mended_all_is_as_a_clean_build_says(nights, tmp_path):
    assert nights["bad"]["g"] == nights["mended"]["g"]
    assert len(nights["mended"]["g"]["marts.fct_attempts"]) == 65
    clean = Home.at(tmp_path / "clean")
    shutil.copytree(nights["home"].sources, clean.sources)
    refresh(clean)
    assert contents(clean) == nights["mended"]


def test_refused_accounting_leaves_yesterdays_numbers_and_commands_and_report_say_so(testbed_home, many_clusters_home):
    home = many_clusters_home
    before = content(testbed_home, "testbed")
    assert content(home, "testbed") == before
    assert sum(bool(rows) for rows in before.values()) > 30
    assert len(content(home, "b")["marts.fct_attempts"]) == 60
    assert ("b", "testbed") in pairs(home)

    assert is_up_to_date(home)
    command = [FAULTLINE, "refresh", "--strict", "--home", home.root]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    kept, said = "testbed could not be built and keeps its last good numbers:", done.stderr.splitlines()
    assert said[said.index(kept) + 1].startswith("  ")
    assert all(text in done.stdout for text in (kept, "sacct_all.psv: 7 of 102 lines quarantined", "nothing new"))
    found = {row["cluster_id"]: row for row in json.loads(faultline(home, "status", "--json").stdout)["clusters"]}
    assert (found["testbed"]["is_stale"], found["b"]["is_stale"]) == (True, False)
    assert "quarantined" in found["testbed"]["stale_reason"]
    assert found["testbed"]["data_through_at"]
    assert re.search(r"STALE: its numbers are of .*; there are no newer ones:", faultline(home, "status").stdout)
    assert "is stale, as of" in home.report.read_text()


FAKE_DBT = """#!{python}
import json, os, shutil, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("1.11.16"))
import duckdb
from pathlib import Path
target = Path(os.environ["DBT_TARGET_PATH"])
target.mkdir(parents=True, exist_ok=True)
with duckdb.connect(os.environ["FAULTLINE_WAREHOUSE"]) as con:
    left_out = con.execute("select cluster_id from ops.cluster_failures where stage = 'trial'").fetchall()
with Path({calls!r}).open("a") as calls:
    calls.write(json.dumps([left_out, sys.argv[1:]]) + "\\n")
result = {{"unique_id": "model.faultline.stg_config__clusters", "status": "error", "message": {message!r}}}
metadata = {{"generated_at": "2026-02-01T00:00:00.000000Z"}}
(target / "run_results.json").write_text(json.dumps({{"metadata": metadata, "results": [result]}}))
shutil.copy({manifest!r}, target / "manifest.json")
{end}
"""
ROWS = "Runtime Error in model x\n  Conversion Error: out of range"


@pytest.mark.parametrize(
    ("message", "end", "said", "trials"),
    [
        (ROWS, "sys.exit(1)", "Error: out of range (the rows of no single cluster cause it); nothing was published", 2),
        ("Binder Error: no such column", "sys.exit(1)", "no such column; nothing was published", 0),
        (ROWS, "os.kill(os.getpid(), 9)", "dbt was killed (Killed), most often because the machine", 0),
    ],
)
def test_where_all_are_at_fault_or_none_the_refresh_fails_with_the_steps_own_error(
    message, end, said, trials, testbed_home, tmp_path, monkeypatch
):
    from orchestration.dbt import build

    home = copy_of(testbed_home, tmp_path)
    shutil.copytree(CAPTURE, home.sources / "other")
    calls = tmp_path / "calls"
    program, manifest = tmp_path / "dbt", str(build.manifest_of(home))
    program.write_text(
        FAKE_DBT.format(python=sys.executable, calls=str(calls), message=message, manifest=manifest, end=end)
    )
    program.chmod(0o755)
    monkeypatch.setattr(build, "DBT", program)
    before = home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes()
    with pytest.raises(RefreshFailed, match=re.escape(said)):
        refresh(home)
    assert before == (home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes())
    (_, first), *tried = map(json.loads, calls.read_text().splitlines())
    assert "--indirect-selection" not in first
    assert [left_out for left_out, _ in tried] == [[["testbed"]], [["other"]]][:trials]
    assert all("+stg_config__clusters" in arguments for _, arguments in tried)
    with duckdb.connect(str(home.working_file)) as con:
        assert con.execute("select distinct stage from ops.cluster_failures").fetchall() == []
