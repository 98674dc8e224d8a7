"""The log habits of a profile decide which logs are kept, and never change their content."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Lemon, LogHabits
from tests.simulation.simulated import Row, Simulated, epoch, expand

DEMO_LLM = read_cluster("demo-llm")
HOUR = 3600
KEEPS_LITTLE = {"step_share": 0.0, "has_submit_lines": False, "has_controller_log": False}
ABOUT_JOBS = re.compile(r"_slurm_rpc|sched|_job_complete|Time limit exhausted")
COLUMNS = ("raw", "shown", "state", "submit", "start", "user", "partition", "count", "nodes", "excluded", "reason")

Keep = Callable[..., Simulated]


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    """Return a function that simulates a cluster with given habits into a separate folder."""

    def run(days: int = 7, nodes: int = 64, **habits: Any) -> Simulated:
        profile = replace(DEMO_LLM, days=days, node_count=nodes, logs=LogHabits(**habits))
        out = tmp_path / "-".join(map(str, habits.items())).replace(" ", "")
        return Simulated(simulate(profile, out, seed=2).clusters[0])

    return run


def test_a_site_that_keeps_little_has_the_same_accounting(keep: Keep) -> None:
    much, little = keep(), keep(**KEEPS_LITTLE)
    rows = little.psv("sacct/*.psv")
    assert "SubmitLine" not in rows[0]
    assert not [row for row in rows if "." in row["JobID"]]
    assert not (little.summary.sources / "slurmctld").exists()
    assert not (little.summary.sources / "squeue").exists()
    named = [any(row["is_named"] for row in site.truth("preemptions")) for site in (much, little)]
    assert named == [True, False], "only a controller's log names an instigator"
    allocations = [row for row in much.psv("sacct/*.psv") if "." not in row["JobID"]]
    assert [row | {"SubmitLine": None} for row in rows] == [row | {"SubmitLine": None} for row in allocations]


def test_a_controllers_log_without_jobs_has_the_rest_unchanged(keep: Keep) -> None:
    def said(cluster: Simulated) -> list[str]:
        return [re.sub(r"\.\d{3}\]", "]", line) for line in cluster.text("slurmctld/slurmctld.log")]

    everything, rest = said(keep()), said(keep(has_job_lines=False))
    assert rest == [line for line in everything if not ABOUT_JOBS.search(line)]
    for kind in ("preempted JobId", "Requeuing", "on failed node|due to failure of node", "state set to"):
        assert [line for line in rest if re.search(kind, line)], kind


def queue(path: Path) -> list[Row]:
    return [dict(zip(COLUMNS, line.split("|"), strict=True)) for line in path.read_text(encoding="utf-8").splitlines()]


def test_snapshots_show_who_waits_and_who_runs(keep: Keep) -> None:
    cluster = keep(squeue_seconds=31 * HOUR)
    found = {row["JobIDRaw"]: re.search(r"--exclude=(\S+)", row["SubmitLine"]) for row in cluster.attempts()}
    excluded = {raw: set(match[1].split(",")) if match else set() for raw, match in found.items()}
    paths = sorted(cluster.summary.sources.glob("squeue/*"))
    assert len(paths) == 5  # 31 hours apart: one a day, and one day without
    for path in paths:
        at = int(path.name.split(".")[1])
        expected = set()
        for row in cluster.attempts():
            start, end = row["Start"] or 2**60, row["End"] or 2**60
            if start <= at < end:
                expected.add((row["JobIDRaw"], row["JobID"], "RUNNING", row["NodeList"], row["User"], start))
            elif row["Submit"] <= at < min(start, end):
                expected.add((row["JobIDRaw"], row["JobID"], "PENDING", "", row["User"], None))
        lines = queue(path)
        seen = [
            (r["raw"], r["shown"], r["state"], r["nodes"], r["user"], epoch(r["start"].replace("N/A", "")))
            for r in lines
        ]
        assert len(seen) == len(set(seen)) > 3
        assert set(seen) == expected
        assert [row["state"] for row in lines] == sorted(row["state"] for row in lines)
        assert all(int(row["count"]) == len(expand(row["nodes"])) for row in lines if row["nodes"])
        assert all(set(expand(row["excluded"])) == excluded[row["raw"]] for row in lines if row["excluded"])
        assert all(row["excluded"] for row in lines if excluded[row["raw"]])
    assert {row["state"] for path in paths for row in queue(path)} == {"PENDING", "RUNNING"}


def test_tickets_of_an_unresolved_lemon_name_what_its_faults_showed(tmp_path: Path) -> None:
    lemon = Lemon(0.3, "unresolved", 3.0)
    kept = Simulated(simulate(replace(DEMO_LLM, days=30, lemons=(lemon,)), tmp_path, seed=2).clusters[0])
    node = f"node{DEMO_LLM.node_at(lemon.position) + 1:03d}"
    tickets = [line.split(",") for line in kept.text("tickets/tickets.csv")[1:]]
    found = {row[4] for row in tickets if row[1] == node}
    assert found and "unresolved" not in found
