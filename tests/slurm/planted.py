"""The expected failures of the faults that were planted in a testbed, from the truth that its workload writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.truth import scorer
from tests.truth.claims import KNOWN_FAILURES
from tests.truth.scorer import Measure

UNATTRIBUTED = "node_fail_unattributed"
MEANING = {
    "power_off": ("NODE_FAIL", UNATTRIBUTED),
    "reboot": ("NODE_FAIL", UNATTRIBUTED),
    "partition": ("NODE_FAIL", UNATTRIBUTED),
    "admin_down": ("NODE_FAIL", "host_hardware"),
    "prolog_fail": ("REQUEUED", "system_services"),
    "xid 79": ("FAILED", "gpu_unavailable"),
    "xid 48": ("REQUEUED", "gpu_memory"),
    "nvlink": ("FAILED", "gpu_nvlink"),
    "ib_crash": ("FAILED", "ib_link"),
    "mount_crash": ("FAILED", "filesystem_mount"),
}
"""State and category by the kind of an episode. The others fail no job, or nothing in the logs proves that they did."""
TRUTH = """
    create table truth.broken_beside (attempt_id varchar, node varchar, categories varchar[]);
    create table truth.failures as
    select
        coalesce(attempt_id, 'no attempt of ' || job) as attempt_id,
        planted.state,
        culprit_node,
        category as true_category,
        category as visible_category,
        true as has_evidence,
        number as fault_number,
        number as incident_number
    from planted left join found.attempts on job_id_raw = job and found.attempts.state = planted.state;
    -- A job on a broken node may fail or not, whether the fault was meant for it or not.
    insert into truth.failures by name
    select attempt_id, state, found.failures.failure_category as true_category, false as has_evidence
    from found.failures
    inner join found.attempts using (attempt_id, state)
    where
        attempt_id not in (select attempt_id from truth.failures)
        and (job_id_raw, culprit_node_id) in (select (job, node) from neighbours)
"""
WHOLE = tuple(replace(claim, precision=1.0, recall=1.0, least=1, spare=0) for claim in KNOWN_FAILURES)
"""No failure may be wrong, because few were planted, by hand."""
Failure = tuple[int, str, str, str]
"""Job, state of the attempt, culprit node, category."""


def planted_failures(truth: Path) -> set[Failure]:
    """Return the failures that must be found, from a testbed's truth file."""
    found = set()
    for episode in json.loads(truth.read_text(encoding="utf-8"))["node_episodes"]:
        kind = f"xid {episode['detail'].split()[0]}" if episode["kind"] == "xid" else episode["kind"]
        if kind in MEANING:
            found |= {(int(job), MEANING[kind][0], episode["node"], MEANING[kind][1]) for job in episode["jobs"]}
    return found


def failures_missed(published: Path, cluster_id: str, truth: Path, is_shared: bool) -> list[Measure]:
    """Return the measures that miss. With `is_shared`, failures of other jobs on a broken node may be found or not."""
    events = json.loads(truth.read_text(encoding="utf-8"))["events"] if is_shared else []
    with scorer.opened(published, cluster_id) as con:
        con.execute(
            "create temp table planted (number int, job int, state varchar, culprit_node varchar, category varchar);"
            "create temp table neighbours (job int, node varchar)"
        )
        con.executemany(
            "insert into planted values (?, ?, ?, ?, ?)",
            [(number, *failure) for number, failure in enumerate(sorted(planted_failures(truth)))],
        )
        rows = [
            (int(job), event["node"])
            for event in events
            for job in (*event.get("jobs", ()), *event.get("jobs_on_node", ()))
            if event.get("node")
        ]
        if rows:
            con.executemany("insert into neighbours values (?, ?)", rows)
        con.execute(TRUTH)
        scorer.run(con, scorer.HERE / "failures.sql")
        measures = scorer.judged(con, WHOLE)
        return scorer.missed(WHOLE, measures)
