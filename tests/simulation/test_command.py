"""The command `faultline simulate`: what it prints for people and programs, and how it refuses."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from orchestration.cli import app
from tests.simulation.simulated import content

SMALL = ("--days", "1", "--scale", "0.25")
DAY = timedelta(days=1)
FIXED = ("--until", "2026-04-05")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_it_prints_what_was_made_as_json(tmp_path: Path) -> None:
    done = run("demo", "--out", str(tmp_path), *SMALL, "--dirt", "0.01", "--json")
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    assert values["profile"] == "demo"
    for cluster in values["clusters"]:
        assert Path(cluster["sources"]) == tmp_path / "sources" / cluster["cluster_id"]
        spoiled = pq.read_table(Path(cluster["truth"]) / "dirt.parquet")
        assert len(spoiled) == cluster["spoiled_line_count"] > 0


def test_it_says_where_the_logs_are(tmp_path: Path) -> None:
    done = run("demo", "--out", str(tmp_path), *SMALL)
    assert done.exit_code == 0, done.output
    assert "(simulated)" in done.stdout
    assert "spoiled" not in done.stdout


def test_its_help_names_the_profiles() -> None:
    done = run("--help")
    for profile in ("rsc1", "rsc2", "demo"):
        assert profile in done.stdout


def test_the_demo_ends_where_it_is_told(tmp_path: Path) -> None:
    """The profile's first day and length give the same date, and other profiles keep theirs."""
    simulate("demo", tmp_path / "profile")
    assert run("demo", "--out", str(tmp_path / "fixed"), *FIXED).exit_code == 0
    assert content(tmp_path / "fixed") == content(tmp_path / "profile")
    assert run("rsc2", "--out", str(tmp_path), *SMALL, "--scale", "0.01").exit_code == 0
    assert (tmp_path / "sources" / "rsc2" / "sacct" / f"sacct-{read_cluster('rsc2').first_day}.psv").is_file()


def test_the_demo_ends_at_the_last_midnight(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    assert run("demo", "--out", str(tmp_path), *SMALL).exit_code == 0
    for cluster in ("demo-llm", "demo-vision"):
        days = {
            (at.astimezone(ZoneInfo(read_cluster(cluster).timezone)) - DAY).date() for at in (before, datetime.now(UTC))
        }
        newest = max((tmp_path / "sources" / cluster / "sacct").iterdir()).name
        assert newest in {f"sacct-{day - DAY * early}.psv" for day in days for early in (0, 1)}


@pytest.mark.parametrize("date", ["0001-01-01", "9999-12-31"])
def test_a_date_without_days_before_it_is_refused(tmp_path: Path, date: str) -> None:
    done = run("demo", "--out", str(tmp_path), "--until", date)
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)


def test_a_refusal_is_one_line_on_stderr(tmp_path: Path) -> None:
    done = run("rsc9", "--out", str(tmp_path), *SMALL)
    assert done.exit_code == 1
    assert done.stderr.startswith("faultline: unknown profile 'rsc9'")
    assert run("demo", "--out", str(tmp_path), "--dirt", "0.9").exit_code == 2
