"""A cluster that cannot be built keeps yesterday's numbers, marked as stale; the others are as without it.

Wrong settings are in `test_one_life.py`, and the search for the failing clusters in `tests/bad_clusters`.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from assets.bad_clusters.cluster_outcomes import CLUSTER_OUTCOMES
from assets.estimates import table
from assets.raw import assets as raw
from orchestration.checks import asset_checks
from orchestration.checks.verdicts import Verdict
from orchestration.publication.freshness import is_up_to_date
from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.homes import ask, change, faultline
from tests.pipeline.stale import cluster
from tests.published import Content, facts_of_cluster

FAULTLINE = Path(sys.executable).with_name("faultline")
IN_NIGHT = ("is_stale", "stale_reason", "built_at")
"""Columns of a stale cluster's row about the night."""
BAD = {
    "a": ("sources", r"a: its rows could not be settled \(ConversionException: Conversion Error: odd\)"),
    "b": ("build", r"\w+ could not be built: Runtime Error in model"),
    "c": ("build", r"\w+ could not be built: Runtime Error in model"),
    "d": ("estimates", r"estimates.est_failure_rates could not be made of its rows: FloatingPointError: overflow"),
    "e": ("estimates_est_failure_rates_expectations", r".*odd_rates: an odd rate"),
}
"""The stage at which each cluster's rows fail in one night, and the reason. The rows of g do not fail."""


def content(home: Home, cluster_id: str) -> Content:
    """Return all published rows of a cluster, without comparisons with others and columns about the night."""
    return facts_of_cluster(home.published_file, cluster_id, left_out=IN_NIGHT)


def contents(home: Home) -> dict[str, Content]:
    """Return the published rows of each cluster."""
    return {name: content(home, name) for name in (*BAD, "g")}


def pairs(home: Home) -> set[tuple[str, str]]:
    """Return the pairs of compared clusters."""
    found = "select cluster_id, other_cluster_id from estimates.est_rate_ratios where comparison = 'clusters'"
    return {*ask(home, found)}


def plant(home: Home, patch: pytest.MonkeyPatch) -> None:
    """Make each step fail on the rows of its clusters."""
    rows = "update raw.sacct set elapsed_seconds = 9223372036854775807 where cluster_id in ('b', 'c')"
    change(home.working_file, rows)
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


@pytest.mark.slow
def test_each_is_left_out_by_its_own_step_and_once_mended_all_is_as_a_clean_build_says(tmp_path):
    """Three nights of six clusters: all good; new jobs, and all but one failing; all repaired."""
    home = Home.at(tmp_path / "home")
    for name in (*BAD, "g"):
        cluster().write(home.sources / name)
    refresh(home)
    before = contents(home)
    for name, jobs in {"a": 61, "d": 100, "e": 61, "g": 65}.items():
        cluster(jobs).write(home.sources / name)
    with pytest.MonkeyPatch.context() as patch:
        plant(home, patch)
        refresh(home)
    columns = "cluster_id, cluster_end, is_stale, stage, array_to_string(reasons, '')"
    *bad, good = ask(home, f"select {columns} from ({CLUSTER_OUTCOMES}) order by 1")
    assert [row[:4] for row in bad] == [(name, "last good", True, stage) for name, (stage, _) in BAD.items()]
    assert all(re.match(reason, row[4]) for row, (_, reason) in zip(bad, BAD.values(), strict=True))
    assert good[:4] == ("g", "built", False, None)
    found = contents(home)
    assert {name: found[name] for name in BAD} == {name: before[name] for name in BAD}
    assert pairs(home) == {(one, other) for one in "abcdeg" for other in "abcdeg" if one < other}

    for name in "bc":
        cluster(61).write(home.sources / name)
    refresh(home)
    mended = contents(home)
    assert found["g"] == mended["g"]
    assert len(mended["g"]["marts.fct_attempts"]) == 65
    clean = Home.at(tmp_path / "clean")
    shutil.copytree(home.sources, clean.sources)
    refresh(clean)
    assert contents(clean) == mended


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
    for text in (done.stdout, done.stderr):
        assert "testbed could not be built and keeps its last good numbers:" in text
    assert "sacct_all.psv: 7 of 102 lines quarantined" in done.stdout
    found = {row["cluster_id"]: row for row in json.loads(faultline(home, "status", "--json").stdout)["clusters"]}
    assert (found["testbed"]["is_stale"], found["b"]["is_stale"]) == (True, False)
    assert "quarantined" in found["testbed"]["stale_reason"]
    assert found["testbed"]["data_through_at"]
    assert "STALE" in faultline(home, "status").stdout and "is stale, as of" in home.report.read_text()
