"""A refresh from marts: it publishes estimates and report from the present marts, whoever built them.

An estimate that cannot be computed is published without rows until the next refresh, and named everywhere.
"""

import json
import os
import subprocess
import sys

import duckdb
import pytest

from orchestration import spark
from orchestration.alerts.sending import tell_of_publication
from orchestration.doctor.doctor import doctor
from orchestration.publication.freshness import is_up_to_date
from orchestration.settings.environment import read_settings
from orchestration.settings.home import PROJECT, Home
from tests.homes import ask, copy_of, faultline
from tests.orchestration.alerts.receivers import web_server
from tests.published import facts_of

OUT_OF_MEMORY = "estimates.est_hidden_failures"
UNFORESEEN = "estimates.est_rate_changes"
READS_IT = "estimates.est_changes"
QUERIES = {
    OUT_OF_MEMORY: "select list(number) as numbers from range(1000000000) as numbers (number)",
    UNFORESEEN: "select error('unforeseen')",
}
"""The first needs 8 GB at once, which DuckDB cannot spill."""
PROGRAM = """
import importlib, json, sys
for table, query in json.loads(sys.argv.pop(1)).items():
    module = importlib.import_module(f"assets.{table}")
    module.read = lambda con, *_, query=query: con.execute(query).df()
from orchestration.cli import main
main()
"""
HALVED = {
    "est_failure_rates": "sum(failure_count) filter (counted_as in ('attempts', 'incidents'))",
    "est_mttf_by_size": "sum(failure_count)",
    "est_rate_ratios": "sum(failure_count + other_failure_count)",
    "est_lost_gpu_hours": "sum(expected_failure_count) filter (loss = 'all' and period = 'study')",
    "est_scale_tests": "sum(event_count)",
}
"""Sums of probabilities, from inputs that are tables and from views."""


def import_marts(home, folder, probability):
    """Import marts into a home in which each failure has another probability."""
    with duckdb.connect(str(home.build_file), read_only=True) as con:
        for (mart,) in con.execute(spark.MARTS).fetchall():
            (folder / mart).mkdir(parents=True)
            columns = f"* replace ({probability} as posterior_probability)" if mart == "fct_failures" else "*"
            con.execute(f"copy (select {columns} from marts.{mart}) to '{folder / mart}/part.parquet' (format parquet)")
    spark.import_marts(home, folder)


def refresh(home, queries):
    """Publish from the present marts, with other queries for some estimates."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(queries), "refresh", "--from-marts", "--json", "--home", home.root],
        cwd=PROJECT, env=os.environ | {"FAULTLINE_MEMORY": "500MB"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def home(testbed_home, tmp_path):
    """A home with imported marts, in which each failure is half as likely."""
    home = Home.at(copy_of(testbed_home, tmp_path).root)
    import_marts(home, tmp_path / "halved", "posterior_probability / 2")
    return home


def test_estimates_are_of_the_imported_marts_and_one_that_fails_is_empty_and_named(
    home, testbed_home, tmp_path, monkeypatch
):
    before = facts_of(testbed_home.published_file)
    done = refresh(home, QUERIES)
    assert done.returncode == 1
    for table, expected in HALVED.items():
        ((whole,),), ((half,),) = (ask(of, f"select {expected} from estimates.{table}") for of in (testbed_home, home))
        assert (whole > 0, half) == (True, pytest.approx(whole / 2)), table
    after = facts_of(home.published_file)
    assert [after[name] for name in (OUT_OF_MEMORY, UNFORESEEN, READS_IT)] == [[], [], []]
    assert {name for name in before if before[name] and not after[name]} <= {OUT_OF_MEMORY, UNFORESEEN, READS_IT}

    failed = "select table_name, observed from ops.checks where check_name = 'computed' and not is_blocking order by 1"
    reasons = dict(ask(home, failed))
    assert [*reasons] == [READS_IT, OUT_OF_MEMORY, UNFORESEEN]
    assert reasons[READS_IT] == f"{UNFORESEEN} could not be computed"
    assert reasons[OUT_OF_MEMORY].startswith("OutOfMemoryException: Out of Memory Error: ")
    assert reasons[UNFORESEEN] == "InvalidInputException: Invalid Input Error: unforeseen"
    said = [f"{table} could not be computed and is published without rows: {why}" for table, why in reasons.items()]
    assert json.loads(done.stdout)["message"].splitlines() == said
    status = faultline(home, "status")
    assert (status.exit_code, [line for line in said if line not in status.stdout]) == (1, [])
    assert [finding.what for finding in doctor(home) if "could not be computed" in finding.what] == said
    with web_server() as web:
        monkeypatch.setenv("FAULTLINE_ALERT_WEBHOOK", web.address)
        tell_of_publication(read_settings(home.root), print)
    assert [text.splitlines()[1:] for text in web.texts if "could not be computed" in text] == [said]
    page = home.report.read_text()
    # At the top, and in each section that shows it.
    assert all(page.count(f"{table} could not be computed: {why[:40]}") >= 2 for table, why in reasons.items())
    assert "unforeseen" in home.other_output.read_text()

    assert not is_up_to_date(home)


@pytest.mark.slow
def test_the_next_refresh_computes_the_estimates_that_failed(home, testbed_home, tmp_path):
    refresh(home, QUERIES)
    import_marts(home, tmp_path / "again", "posterior_probability * 2")
    again = refresh(home, {})
    assert (again.returncode, json.loads(again.stdout)["not_computed"]) == (0, [])
    assert facts_of(home.published_file) == facts_of(testbed_home.published_file)
    assert is_up_to_date(home)
    assert faultline(home, "status").exit_code == 0
