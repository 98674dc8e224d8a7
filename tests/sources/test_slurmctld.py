"""slurmctld.log: who preempted whom, which node failed a job, what is left alone."""

from __future__ import annotations

from collections import Counter

import pytest

from assets.sources.slurmctld import reader as slurmctld
from tests.sources.batches import TESTBED, load, read
from tests.sources.cases import Case, cases_of, check_case


@pytest.mark.parametrize("case", cases_of("slurmctld"))
def test_case(case: Case) -> None:
    check_case(slurmctld, case)


def test_the_genuine_capture_is_read_whole() -> None:
    outcome = read(slurmctld, (TESTBED / "slurmctld" / "slurmctld.log").read_text(encoding="utf-8"))
    assert outcome.line_count == 597
    assert not outcome.quarantined
    assert Counter(row["kind"] for row in outcome.loaded) == {
        "job_requeued": 21,
        "state_set": 17,
        "node_returned": 15,
        "reason_set": 8,
        "node_rebooted": 6,
        "job_node_failure": 5,
        "node_not_responding": 4,
        "prolog_failure": 2,
        "drained_by_slurm": 2,
        "preempted": 2,
        "preempted_without_instigator": 1,
    }
    named = {
        kind: {
            (row["job_id_raw"], row["instigator_job_id_raw"], row["node_name"])
            for row in outcome.loaded
            if row["kind"] == kind
        }
        for kind in ("preempted", "preempted_without_instigator", "job_node_failure")
    }
    assert named == {
        "preempted": {(59, 63, None), (61, 63, None)},
        "preempted_without_instigator": {(60, None, None)},
        "job_node_failure": {
            (44, None, "node009"),
            (45, None, "node010"),
            (51, None, "node001"),
            (52, None, "node003"),
            (64, None, "node004"),
        },
    }


def test_threads_have_brackets_in_their_names_and_microseconds_no_zeros_before_them() -> None:
    """LogTimeFormat=thread_id, as Slurm 24.11 writes it."""
    outcome = read(
        slurmctld,
        "[Nov 26 23:54:41.49093  15579 worker[31]   0x7f6b50afd6c0] update_node: node n1 reason set to: fan\n"
        "[Nov 26 23:54:41.49146  15579 worker[31]   0x7f6b50afd6c0] update_node: node n1 state set to DRAINED\n"
        "[Nov 26 23:54:42.7      15579 slurmctld    0x7f6b50afd6c0] error: Nodes n[2-3] not responding, setting DOWN\n",
    )
    assert [(row["kind"], row["node_name"], row["logged_at"].microsecond) for row in outcome.loaded] == [
        ("reason_set", "n1", 49093),
        ("state_set", "n1", 49146),
        ("node_not_responding", "n2", 7),
        ("node_not_responding", "n3", 7),
    ]


@pytest.mark.parametrize(
    ("shown", "state"),
    [("DRAINED", "DRAINED"), ("DRAINING$", "DRAINING$"), ("DRAINED$", "DRAINED$"), ("IDLE$", "IDLE")],
)
def test_a_drain_tells_of_a_reservation_for_maintenance(shown: str, state: str) -> None:
    (row,) = read(slurmctld, f"[2026-11-26T23:54:41.490] update_node: node n1 state set to {shown}\n").loaded
    assert row["state"] == state


def test_the_log_its_rotation_and_its_copy_count_once() -> None:
    lines = [f"[2026-11-21T07:33:{second:02d}.866] Requeuing JobId={second // 2}\n" for second in range(30)]
    table = load(
        slurmctld,
        {"slurmctld.log": "".join(lines[10:])},
        {"slurmctld.log.1": "".join(lines[:20]), "copy.log": "".join(lines[:5])},
    )
    assert Counter(row["disposition"] for row in table) == {"loaded": 30, "duplicate": 15}
    again = load(
        slurmctld,
        {"slurmctld.log.1": "".join(lines[:20]), "copy.log": "".join(lines[:5])},
        {"slurmctld.log": "".join(lines[10:])},
    )
    assert table == again


def test_every_node_of_a_line_has_its_row() -> None:
    table = load(
        slurmctld, {"a": "[2026-11-21T07:33:40.866] error: Nodes r[1-2]n[01-03] not responding, setting DOWN\n"}
    )
    assert [row["node_name"] for row in table] == ["r1n01", "r1n02", "r1n03", "r2n01", "r2n02", "r2n03"]
    assert {row["disposition"] for row in table} == {"loaded"}


def test_a_node_that_kept_a_job_is_drained_with_its_reason() -> None:
    """The line with the reason follows the one that all drains have."""
    text = (
        "[2026-11-27T05:19:55.294] drain_nodes: node bx001 state set to DRAIN\n"
        "[2026-11-27T05:19:55.294] error: Duplicate jobid on nodes bx[001-002], set to state DRAIN\n"
    )
    found = [(row["node_name"], row["kind"], row["state"], row["reason"]) for row in load(slurmctld, {"a": text})]
    assert found == [
        ("bx001", "drained_by_slurm", "DRAIN", None),
        ("bx001", "drained_by_slurm", "DRAIN", "Duplicate jobid"),
        ("bx002", "drained_by_slurm", "DRAIN", "Duplicate jobid"),
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "node n1 not resumed by ResumeTimeout(1800), setting DOWN and POWERED_DOWN",
            ("node_not_resumed", "n1", "DOWN"),
        ),
        (
            "node n1 not resumed by ResumeTimeout(600) - marking down and power_save",
            ("node_not_resumed", "n1", "DOWN"),
        ),
        ("powering down node n1", ("node_powered_down", "n1", None)),
        (
            "Invalid node state transition requested for node n1 from=IDLE to=RESUME",
            ("state_shown", "n1", "IDLE"),
        ),
        (
            "Invalid node state transition requested for node n1 from=DOWN* to=UNDRAIN",
            ("state_shown", "n1", "DOWN"),
        ),
        ("error: Invalid state for node n1, was IDLE with 2 running jobs", ("state_shown", "n1", "IDLE")),
    ],
)
def test_what_a_node_is_stands_between_the_lines(message: str, expected: tuple[str, str, str | None]) -> None:
    (row,) = read(slurmctld, f"[2026-11-26T23:54:41.490] {message}\n").loaded
    assert (row["kind"], row["node_name"], row["state"]) == expected
