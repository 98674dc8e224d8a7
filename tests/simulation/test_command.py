"""The command `faultline simulate`: what it prints for people and programs, and how it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from orchestration.cli import app

SMALL = ("--days", "1", "--scale", "0.25")


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


def test_a_refusal_is_one_line_on_stderr(tmp_path: Path) -> None:
    done = run("rsc9", "--out", str(tmp_path), *SMALL)
    assert done.exit_code == 1
    assert done.stderr.startswith("faultline: unknown profile 'rsc9'")
    assert run("demo", "--out", str(tmp_path), "--dirt", "0.9").exit_code == 2
