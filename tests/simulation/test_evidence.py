"""The logs show the planted faults and nothing else."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from tests.simulation.simulated import Row, Simulated, epoch

BEFORE, AFTER = 600, 300
CRITICAL = 2
LOW_SEVERITY = re.compile(r"row remap pending|Correctable ECC logging|Disk usage")


@pytest.fixture(scope="module")
def health(demo: Simulated) -> list[Row]:
    return demo.health()


@pytest.fixture(scope="module")
def kernel(demo: Simulated) -> list[tuple[float, str, str]]:
    lines = []
    for line in demo.text("kernel/*.log"):
        stamp, node, _, rest = line.split(" ", 3)
        lines.append((datetime.fromisoformat(stamp).timestamp(), node, rest.split("] ", 1)[1]))
    return lines


def starts(demo: Simulated) -> dict[tuple[int, int], int]:
    return {(row["job_id_raw"], row["submitted_epoch"]): row["started_epoch"] for row in demo.truth("attempts")}


def test_every_visible_failure_left_its_evidence(
    demo: Simulated, health: list[Row], kernel: list[tuple[float, str, str]]
) -> None:
    started = starts(demo)
    events = demo.psv("events/events.psv")
    severe = [row for row in health if row["result"] == CRITICAL and not LOW_SEVERITY.search(row["_msg"])]
    seen = 0
    for failure in demo.truth("failures"):
        low, high, node = failure["failed_epoch"] - BEFORE, failure["failed_epoch"] + AFTER, failure["culprit_node"]
        low = max(low, started[failure["job_id_raw"], failure["submitted_epoch"]])
        checks = [r for r in severe if r["node"] == node and low <= r["end_time"] <= high]
        words = r"Xid \(\S+: (48|74|79|95|119),|SXid|AER: Uncorrected|Link down|not responding|1 UE|controller is down"
        lines = [text for at, where, text in kernel if where == node and low <= at <= high and re.search(words, text)]
        reasons = [
            row["Reason"] for row in events if row["NodeName"] == node and low <= (epoch(row["TimeStart"]) or 0) <= high
        ]
        reasons = [reason for reason in reasons if not LOW_SEVERITY.search(reason)]
        match failure["visible_category"]:
            case None:
                assert not checks and not lines and not reasons
            case "node_fail_unattributed":
                assert not checks and not lines
                assert reasons[0] in ("Not responding", "Node unexpectedly rebooted")
            case _:
                assert checks or lines or reasons[0].startswith(("PSU failure", "Prolog error")), failure
                seen += 1
    assert seen >= 5


def test_the_controller_names_each_failed_node(demo: Simulated) -> None:
    named, lines = set(), demo.text("slurmctld/*")
    assert [line[1:24] for line in lines] == sorted(line[1:24] for line in lines)
    for line in lines:
        found = re.search(
            r"\[(\S+)\.\d+\] (?:requeue job JobId=(\d+) due to failure of|Killing JobId=(\d+) on failed) node (\S+)",
            line,
        )
        if found:
            named.add((int(found[2] or found[3]), epoch(found[1]), found[4]))
    planted = {
        (f["job_id_raw"], f["failed_epoch"], f["culprit_node"])
        for f in demo.truth("failures")
        if f["state"] == "NODE_FAIL"
    }
    assert planted and named == planted


def test_the_controller_names_instigators_as_planted(demo: Simulated) -> None:
    named, unnamed = set(), set()
    for line in demo.text("slurmctld/*"):
        if found := re.search(
            r"\[(\S+)\.\d+\] preempted JobId=(\d+) has been \w+ to reclaim resources for JobId=(\d+)", line
        ):
            named.add((int(found[2]), int(found[3]), epoch(found[1])))
        elif found := re.search(r"\[(\S+)\.\d+\] slurm_job_preempt: preempted JobId=(\d+) had to be killed", line):
            unnamed.add((int(found[2]), epoch(found[1])))
    truth = demo.truth("preemptions")
    assert named == {
        (r["job_id_raw"], r["instigator_job_id_raw"], r["preempted_epoch"]) for r in truth if r["is_named"]
    }
    assert unnamed == {(r["job_id_raw"], r["preempted_epoch"]) for r in truth if not r["is_named"]}


def test_outages_are_the_planted_ones(demo: Simulated) -> None:
    logged = sorted(
        (row["NodeName"], epoch(row["TimeStart"]), epoch(row["TimeEnd"]) or 0, row["Reason"])
        for row in demo.psv("events/events.psv")
        if row["NodeName"]
    )
    truth = sorted((r["node"], r["started_epoch"], r["ended_epoch"] or 0, r["reason"]) for r in demo.truth("outages"))
    assert logged == truth


def test_excluded_nodes_are_not_used(demo: Simulated) -> None:
    excluding = 0
    for row in demo.attempts():
        if found := re.search(r"--exclude=(\S+)", row["SubmitLine"]):
            excluding += 1
            assert not set(found[1].split(",")) & set(row["nodes"])
    assert excluding > 5


def test_a_lemons_tickets_name_its_root_cause(demo: Simulated) -> None:
    lemons = {row["node"]: row["root_cause"] for row in demo.truth("nodes") if row["is_lemon"]}
    rows = [line.split(",") for line in demo.text("tickets/tickets.csv")[1:]]
    found = {(row[1], row[4]) for row in rows if row[1] in lemons}
    assert found
    assert found <= set(lemons.items())
