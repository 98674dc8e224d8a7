"""slurmctld.log: who preempted whom, which node failed a job, what is left alone."""

from __future__ import annotations

from collections import Counter

from assets.sources.slurmctld import reader as slurmctld
from tests.sources.batches import TESTBED, load, read


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
        "controller_started": 2,
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
