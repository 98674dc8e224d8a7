"""A cluster that cannot be built keeps yesterday's numbers, marked as stale; the others are as if it were not there."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from assets.estimates import table
from orchestration.checks import asset_checks
from orchestration.checks.verdicts import Verdict
from orchestration.cli import app
from orchestration.home import Home
from orchestration.publication.freshness import is_up_to_date
from tests.conftest import refresh
from tests.pipeline.stale import break_lines, cluster
from tests.published import Content, facts_of_cluster

FAULTLINE = Path(sys.executable).with_name("faultline")
IN_NIGHT = ("is_stale", "stale_reason", "built_at")
"""What a stale cluster's row says of the night."""


def content(home: Home, cluster_id: str) -> Content:
    """Give all that is published of a cluster, save comparisons with others and what a row says of the night."""
    return facts_of_cluster(home.published_file, cluster_id, left_out=IN_NIGHT)


def compared(home: Home) -> set[tuple[str, str]]:
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        return set(
            con.execute(
                "select cluster_id, other_cluster_id from estimates.est_rate_ratios where comparison = 'clusters'"
            ).fetchall()
        )


@pytest.fixture(scope="module")
def night(testbed_home, many_clusters_home):
    """A night in which the capture's accounting is broken and a cluster b is new, and what commands tell after it."""
    home = many_clusters_home
    facts = {"before": content(testbed_home, "testbed")}
    facts |= {"after": content(home, "testbed"), "b": content(home, "b")}
    facts["compared"] = {pair for pair in compared(home) if set(pair) <= {"b", "testbed"}}
    facts["report"] = home.report.read_text()
    facts["is_up_to_date"] = is_up_to_date(home)
    for name, options in (("json", ["--json"]), ("words", [])):
        facts[name] = CliRunner().invoke(app, ["status", *options, "--home", str(home.root)])
    facts["strict"] = subprocess.run(
        [FAULTLINE, "refresh", "--strict", "--home", home.root], capture_output=True, text=True, check=False
    )
    return facts


def test_the_poisoned_cluster_keeps_yesterdays_numbers_in_every_table(night):
    assert night["after"] == night["before"]
    assert sum(bool(rows) for rows in night["before"].values()) > 30


def test_the_other_has_new_numbers_and_both_are_compared(night):
    assert len(night["b"]["marts.fct_attempts"]) == 60
    assert night["compared"] == {("b", "testbed")}


def test_the_refresh_says_what_was_kept_and_why(night):
    assert "testbed could not be built and keeps its last good numbers:" in night["strict"].stdout
    assert "sacct_all.psv: 7 of 102 lines quarantined" in night["strict"].stdout
    problems = night["strict"].stderr.splitlines()
    assert problems[0] == "testbed could not be built and keeps its last good numbers:"
    assert all(line.startswith("  ") for line in problems[1:])


def test_status_and_report_show_it(night):
    found = {entry["cluster_id"]: entry for entry in json.loads(night["json"].stdout)["clusters"]}
    assert (found["testbed"]["is_stale"], found["b"]["is_stale"]) == (True, False)
    assert "quarantined" in found["testbed"]["stale_reason"]
    assert found["testbed"]["data_through_at"]
    assert re.search(r"STALE: its numbers are of .*; there are no newer ones:", night["words"].stdout)
    assert "is stale, as of" in night["report"]


def test_a_refresh_without_news_changes_nothing_and_strict_exits_with_one(night):
    assert night["is_up_to_date"]
    assert night["strict"].returncode == 1
    assert "nothing new" in night["strict"].stdout


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Nights of clusters a and b: both well; a broken and b with a new job; a mended."""
    home = Home.at(tmp_path_factory.mktemp("nights") / "home")
    cluster().write(home.sources / "a")
    cluster().write(home.sources / "b")
    refresh(home)
    facts = {"home": home, "a": content(home, "a"), "compared": compared(home)}

    saved = (home.sources / "a/sacct/sacct.psv").read_bytes()
    break_lines(home, "a", "sacct.psv")
    cluster(70).write(home.sources / "b")
    refresh(home)
    facts["poisoned"] = {"a": content(home, "a"), "b": content(home, "b"), "compared": compared(home)}

    (home.sources / "a/sacct/sacct.psv").write_bytes(saved)
    refresh(home)
    facts["mended"] = {"a": content(home, "a"), "b": content(home, "b")}
    return facts


@pytest.mark.slow
def test_once_mended_all_is_as_if_nothing_had_happened(story):
    assert story["poisoned"]["a"] == story["mended"]["a"] == story["a"]
    assert story["mended"]["b"] == story["poisoned"]["b"]
    assert story["poisoned"]["compared"] == story["compared"] == {("a", "b")}


@pytest.mark.slow
def test_without_a_cluster_no_row_of_another_is_different_and_a_clean_build_says_the_same(story, tmp_path):
    clean = Home.at(tmp_path / "clean")
    shutil.copytree(story["home"].sources, clean.sources)
    refresh(clean)
    assert content(clean, "a") == story["mended"]["a"]
    assert content(clean, "b") == story["mended"]["b"]
    shutil.rmtree(clean.sources / "a")
    alone = Home.at(tmp_path / "alone")
    shutil.copytree(clean.sources, alone.sources)
    refresh(alone)
    assert content(alone, "b") == story["mended"]["b"]
    assert compared(alone) == set()


@pytest.mark.slow
def test_an_estimate_that_fails_on_a_clusters_rows_is_made_without_it(story, tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home")
    shutil.copytree(story["home"].root, home.root, symlinks=True)
    real = table.weighted_interval

    def fail_on_more_than_six(*arguments):
        if any(count > 6.5 for count in arguments[0]):
            raise FloatingPointError("overflow encountered in exp")
        return real(*arguments)

    monkeypatch.setattr("assets.estimates.table.weighted_interval", fail_on_more_than_six)
    cluster(100).write(home.sources / "b")
    cluster(61).write(home.sources / "a")
    refresh(home)
    assert content(home, "b") == story["mended"]["b"]
    assert len(content(home, "a")["marts.fct_attempts"]) == 61


@pytest.mark.slow
def test_a_cluster_whose_check_fails_when_all_is_built_is_taken_out_again(story, tmp_path, monkeypatch):
    home = Home.at(tmp_path / "home")
    shutil.copytree(story["home"].root, home.root, symlinks=True)
    real = asset_checks.judge

    def judge(warehouse, tables):
        found = real(warehouse, tables)
        if ("estimates", "est_failure_rates") in found:
            odd = Verdict("estimates.est_failure_rates", "odd_rates", False, True, "an odd rate", "no odd rates", "b")
            found["estimates", "est_failure_rates"].append(odd)
        return found

    monkeypatch.setattr(asset_checks, "judge", judge)
    cluster(100).write(home.sources / "b")
    cluster(61).write(home.sources / "a")
    refresh(home)
    assert content(home, "b") == story["mended"]["b"]
    assert len(content(home, "a")["marts.fct_attempts"]) == 61
    assert compared(home) == {("a", "b")}
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        stale = con.execute("select is_stale, stale_reason from marts.dim_clusters order by cluster_id").fetchall()
    assert stale[0] == (False, None)
    assert stale[1][0] and "odd_rates: an odd rate" in stale[1][1]
