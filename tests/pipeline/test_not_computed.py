"""An estimate that cannot be computed: without rows, named everywhere and no obstacle, unless others need it."""

import json
import os
import subprocess
import sys

import pytest

from orchestration.alerts.sending import tell_of_publication
from orchestration.doctor.doctor import doctor
from orchestration.publication.folders import current_publication
from orchestration.publication.freshness import is_up_to_date
from orchestration.settings.environment import read_settings
from orchestration.settings.home import PROJECT
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
"""The first holds 8 GB at once, which DuckDB cannot spill."""
PROGRAM = """
import importlib, json, sys
for table, query in json.loads(sys.argv.pop(1)).items():
    module = importlib.import_module(f"assets.{table}")
    module.read = lambda con, *_, query=query: con.execute(query).df()
from orchestration.cli import main
main()
"""


@pytest.fixture
def home(testbed_home, tmp_path):
    return copy_of(testbed_home, tmp_path)


@pytest.fixture
def web(monkeypatch):
    with web_server() as web:
        monkeypatch.setenv("FAULTLINE_ALERT_WEBHOOK", web.address)
        yield web


def refresh(home, queries):
    """Publish what is made of the marts that are there, with other queries of some estimates."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(queries), "refresh", "--from-marts", "--json", "--home", home.root],
        cwd=PROJECT, env=os.environ | {"FAULTLINE_MEMORY": "500MB"}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_all_else_is_published_and_the_next_refresh_tries_again(home, web):
    before, seen = facts_of(home.published_file), current_publication(home)
    done = refresh(home, QUERIES)
    assert done.returncode == 1
    assert current_publication(home).number == seen.number + 1
    after = facts_of(home.published_file)
    assert {name for name in before if before[name] != after[name]} <= {OUT_OF_MEMORY, UNFORESEEN, READS_IT}
    assert [after[name] for name in (OUT_OF_MEMORY, UNFORESEEN, READS_IT)] == [[], [], []]

    failed = "select table_name, observed from ops.checks where check_name = 'computed' and not is_blocking order by 1"
    reasons = dict(ask(home, failed))
    assert [*reasons] == [READS_IT, OUT_OF_MEMORY, UNFORESEEN]
    assert reasons[READS_IT] == f"{UNFORESEEN} could not be computed"
    assert reasons[OUT_OF_MEMORY].startswith("OutOfMemoryException: Out of Memory Error: ")
    assert reasons[UNFORESEEN] == "InvalidInputException: Invalid Input Error: unforeseen"
    comments = dict(ask(home, "select 'estimates.' || table_name, comment from duckdb_tables()"))
    assert all(comments[table].endswith(f"has no rows: {reason}") for table, reason in reasons.items())

    said = [f"{table} could not be computed and is published without rows: {why}" for table, why in reasons.items()]
    assert json.loads(done.stdout)["message"].splitlines() == said
    status = faultline(home, "status")
    assert status.exit_code == 1
    assert [line[11:] for line in status.stdout.splitlines() if line.startswith("estimate ")] == said
    assert [finding.what for finding in doctor(home) if "could not be computed" in finding.what] == said
    tell_of_publication(read_settings(home.root), print)
    (text,) = [text for text in web.texts if "could not be computed" in text]
    assert text.splitlines() == [f"Faultline, {home.root}: estimates could not be computed", *said]
    page = home.report.read_text()
    for table, why in reasons.items():
        # Before all else, and in each section that shows it.
        assert page.count(f"{table} could not be computed: {why[:40]}") >= 2, table
    assert "On none of" not in page
    assert "unforeseen" in home.other_output.read_text()

    assert not is_up_to_date(home)
    again = refresh(home, {})
    assert (again.returncode, json.loads(again.stdout)["not_computed"]) == (0, [])
    assert facts_of(home.published_file) == before
    assert is_up_to_date(home)
    assert faultline(home, "status").exit_code == 0


def test_one_that_others_need_stops_the_publication(home, web):
    before = home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes()
    done = refresh(home, {"estimates.est_lost_gpu_hours": QUERIES[OUT_OF_MEMORY]})
    assert done.returncode == 1
    assert "memory ran out" in json.loads(done.stdout)["message"]
    assert before == (home.published_file.read_bytes(), home.published_file.resolve(), home.report.read_bytes())
    assert "the refresh failed" in web.texts[0]
