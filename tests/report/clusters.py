"""The planted clusters as rows by table: one rich and simulated, one real with markup in every name."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

Tables = dict[str, list[dict[str, Any]]]

START = dt.datetime(2026, 9, 1)
HOSTILE = "<img src=x onerror=\"document.documentElement.dataset.pwned='yes'\">"
HOSTILE_SCRIPT = "</script><script>document.documentElement.dataset.pwned='yes'</script>"
CATEGORIES = (
    "ib_link", "ib_link", "gpu_memory", "gpu_memory", "filesystem_mount", "gpu_unavailable", "pcie",
    "node_fail_unattributed", "gpu_driver_firmware", "host_hardware", "system_services",
)  # fmt: skip
KINDS = (
    "has_health_checks", "has_kernel_messages", "has_node_events", "has_slurmctld_log", "has_tickets",
    "has_inventory", "has_exclusions",
)  # fmt: skip


def cluster_row(cluster_id: str, node_count: int, length: dt.timedelta, kinds: set[str]) -> dict[str, Any]:
    """A row of dim_clusters; only the simulated cluster has every kind of evidence."""
    return {
        "cluster_id": cluster_id,
        "is_simulated": cluster_id == "demo",
        "timezone": "UTC",
        **({"price_per_gpu_hour": 2.0, "currency": "EUR"} if cluster_id == "demo" else {}),
        "node_count": node_count,
        "gpu_count": 8 * node_count,
        "gpu_node_count": node_count,
        "gpus_per_node": 8,
        "first_at": START,
        "last_at": START + length + dt.timedelta(days=200),
        "data_through_at": START + length,
        "study_from_at": START,
        "study_to_at": START + length,
    } | {kind: kind in kinds for kind in KINDS}


def attempt_row(
    cluster_id: str, number: int, state: str, started_at: dt.datetime, hours: float, gpus: int | None, nodes: list[str]
) -> dict[str, Any]:
    """A row of fct_attempts that ended, with its nodes as `node_ids`."""
    return {
        "cluster_id": cluster_id,
        "attempt_id": f"{cluster_id}:{number}:0",
        "job_id": str(number),
        "job_id_raw": number,
        "state": state,
        "is_terminal": True,
        "time_quality": "epoch",
        "started_at": started_at,
        "ended_at": started_at + dt.timedelta(hours=hours),
        "runtime_seconds": int(hours * 3600),
        "node_count": len(nodes),
        "gpu_count": gpus,
        "gpu_hours": None if gpus is None else gpus * hours,
        "node_days": len(nodes) * hours / 24,
        "gpu_size_bin": gpus,
        "is_infrastructure_failure": False,
        "node_ids": nodes,
        "warnings": [],
    }


def attempt_node_rows(attempts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of fct_attempt_nodes; removes `node_ids` from the attempts, which have no such column."""
    return [
        {"cluster_id": attempt["cluster_id"], "attempt_id": attempt["attempt_id"], "node_id": node_id}
        for attempt in attempts
        for node_id in attempt.pop("node_ids")
    ]


def failure_row(attempt: dict[str, Any], category: str, culprit: str | None, rule: str) -> dict[str, Any]:
    """A row of fct_failures; without evidence, every other attempt has coverage."""
    attributed = category != "node_fail_unattributed"
    return {
        "cluster_id": attempt["cluster_id"],
        "attempt_id": attempt["attempt_id"],
        "failed_at": attempt["ended_at"],
        "failure_category": category,
        "gpu_size_bin": attempt["gpu_size_bin"],
        "attribution_rule": rule,
        "is_attributed": attributed,
        "posterior_probability": 0.75,
        "has_coverage": attributed or attempt["job_id_raw"] % 2 == 0,
        "culprit_node_id": culprit,
        "evidence_count": 2 if attributed else 0,
        "incident_id": f"i{attempt['job_id_raw']}",
        "lost_gpu_hours": min(attempt["runtime_seconds"] / 3600, 0.5) * attempt["gpu_count"],
    }


def simulated_cluster(days: int = 20) -> Tables:
    """512 GPUs, sizes up to 256, failures of many causes, three bad nodes, every kind of evidence."""
    rng = random.Random(7)
    nodes = [f"sim{number:03d}" for number in range(1, 65)]
    attempts, failures, preemptions, outages = [], [], [], []
    for number in range(4000):
        size = rng.choices([1, 2, 4, 8, 16, 32, 64, 128, 256], [40, 8, 8, 25, 8, 5, 3, 2, 1])[0]
        hours = min(150.0, rng.lognormvariate(0.2 + 0.35 * (size.bit_length() - 1), 1.0))
        state = rng.choices(["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "PREEMPTED"], [60, 24, 4, 1, 9])[0]
        held = rng.sample(nodes, max(1, size // 8))
        started_at = START + dt.timedelta(hours=rng.uniform(0, 24 * days - hours))
        attempt = attempt_row("demo", number, state, started_at, hours, size, held)
        attempt |= {"user_name": f"user{number % 17}", "job_name": f"train-{number % 40}"}
        if len(held) * hours / 24 * 0.012 > rng.random():
            category = rng.choice(CATEGORIES)
            culprit = rng.choice(["sim007", "sim021", "sim040", *held])
            attempt |= {"state": "NODE_FAIL", "is_infrastructure_failure": True, "failure_category": category}
            failures.append(failure_row(attempt, category, culprit, "evidence_on_attempt_node"))
        elif state == "PREEMPTED":
            known, inferred = rng.random() < 0.8, rng.random() < 0.5
            preemptions.append({
                "cluster_id": "demo", "attempt_id": attempt["attempt_id"], "preempted_at": attempt["ended_at"],
                "instigator_attempt_id": "demo:1:0" if known else None, "is_inferred": known and inferred,
                "is_second_order": (is_second := bool(rng.random() < 0.2)),
                "second_order_probability": 0.75 * is_second, "lost_gpu_hours": min(hours, 0.5) * size,
            })  # fmt: skip
        attempts.append(attempt)
    for name in ("sim007", "sim021", "sim040", "sim050", "sim051"):
        for reason, is_planned in (("HC: xid errors: 79", False), ("maint: firmware", True)):
            at = START + dt.timedelta(days=rng.uniform(0, 18))
            outages.append({
                "cluster_id": "demo", "node_id": name, "started_at": at, "is_planned": is_planned, "reason": reason,
                "ended_at": at + dt.timedelta(hours=rng.uniform(0.3, 30)),
            })  # fmt: skip
    machines: list[dict[str, Any]] = [
        {"cluster_id": "demo", "node_id": n, "node_name": n, "gpu_count": 8} for n in nodes
    ]
    # The last node joined on the third day.
    machines[-1] |= {"first_seen_at": START + dt.timedelta(days=2), "last_seen_at": START + dt.timedelta(days=days)}
    return {
        "marts.dim_clusters": [cluster_row("demo", 64, dt.timedelta(days=days), set(KINDS))],
        "marts.dim_nodes": machines,
        "marts.fct_attempt_nodes": attempt_node_rows(attempts),
        "marts.fct_attempts": attempts,
        "marts.fct_failures": failures,
        "marts.fct_preemptions": preemptions,
        "marts.fct_node_outages": outages,
    }


def hostile_cluster() -> Tables:
    """Five minutes of 32 GPUs: nothing above 128 GPUs, one size unknown, markup in every name, evidence missing."""
    name = "hall-b"
    planted = (("COMPLETED", 8), ("COMPLETED", 16), ("FAILED", 8), ("NODE_FAIL", 16), ("COMPLETED", None),
               ("CANCELLED", 0), ("PREEMPTED", 8))  # fmt: skip
    attempts = []
    for number, (state, gpus) in enumerate(planted):
        nodes = ["node1", "node2"][: max(1, (gpus or 8) // 8)]
        attempt = attempt_row(name, number, state, START, (40 + 10 * number) / 3600, gpus, nodes)
        attempt |= {"user_name": HOSTILE, "job_name": HOSTILE_SCRIPT + HOSTILE, "time_quality": "local"}
        attempts.append(attempt | {"is_infrastructure_failure": state in ("FAILED", "NODE_FAIL")})
    failures = [
        failure_row(attempts[2], "gpu_memory", "node2", HOSTILE),
        failure_row(attempts[3], "node_fail_unattributed", None, "node_fail_no_node_named"),
    ]
    running = attempt_row(name, 9, "RUNNING", START, 0, 8, ["node1"])
    running |= {"is_terminal": False, "ended_at": None, "runtime_seconds": None, "gpu_hours": None, "node_days": None}
    outages = [
        {"node_id": "node2", "started_at": START, "reason": HOSTILE, "is_planned": False},
        {"node_id": "node4", "started_at": START, "ended_at": START + dt.timedelta(minutes=3), "reason": "maint: cable",
         "is_planned": True},
    ]  # fmt: skip
    nodes = [("node1", "node1"), ("node2", HOSTILE), ("node3", "node3"), ("node4", "node4")]
    return {
        "marts.dim_clusters": [
            cluster_row(name, 4, dt.timedelta(minutes=5), {"has_kernel_messages", "has_node_events"})
        ],
        "marts.dim_nodes": [{"cluster_id": name, "node_id": i, "node_name": n, "gpu_count": 8} for i, n in nodes],
        "marts.fct_attempt_nodes": attempt_node_rows([*attempts, running]),
        "marts.fct_attempts": [*attempts, running],
        "marts.fct_failures": failures,
        "marts.fct_preemptions": [
            {"cluster_id": name, "attempt_id": f"{name}:6:0", "preempted_at": START, "is_inferred": False,
             "is_second_order": False, "lost_gpu_hours": 0.2}
        ],
        "marts.fct_node_outages": [{"cluster_id": name} | outage for outage in outages],
    }  # fmt: skip


def operations() -> Tables:
    """A run with files, skips, quarantined lines and checks, with one failed check."""
    about = {"run_id": "run-1", "size_bytes": 1, "modified_at": START, "is_partial": False, "reader": "1"}
    about |= {"sha256": "ab12cd34ef56" * 5, "skipped": 1, "quarantined": 0, "warnings": []}
    files = [
        about | {"cluster_id": "demo", "path": f"demo/health/node{number:03d}.jsonl", "kind": "health",
                 "dialect": "gcm", "lines_in": 1000, "loaded": 999}
        for number in range(25)
    ]  # fmt: skip
    hostile = {"cluster_id": "hall-b", "path": f"{HOSTILE}/sacct.txt"}
    files.append(
        about | hostile | {"kind": "sacct", "dialect": "pipe", "lines_in": 12, "loaded": 10, "quarantined": 1,
                           "warnings": ["exported_without_duplicates", f"odd {HOSTILE}"]}
    )  # fmt: skip
    week = dt.timedelta(days=7)
    spans = [
        {"cluster_id": "demo", "kind": "health", "from_at": START, "to_at": START + week, "known_by": "manifest"},
        {"cluster_id": "demo", "kind": "health", "from_at": START + 2 * week, "to_at": START + 3 * week,
         "known_by": "log"},
    ]  # fmt: skip
    check = {"run_id": "run-1", "checked_at": START, "observed": "0.14", "expected": "below 0.1"}
    return {
        "ops.runs": [{"run_id": "run-1", "started_at": START, "status": "running", "code_version": "0.1.0+abc"}],
        "ops.files": files,
        "ops.spans": spans,
        "ops.skips": [hostile | {"reason": "header", "line_count": 1}],
        "ops.quarantine": [
            hostile | {"line_number": 7, "reason": "bad_timestamp", "detail": HOSTILE, "raw": HOSTILE_SCRIPT}
        ],
        "ops.checks": [
            check | {"table_name": "marts.fct_attempts", "check_name": "positive", "passed": True, "is_blocking": True},
            check | {"table_name": "raw.sacct", "check_name": "few_unknown", "passed": False, "is_blocking": False},
        ],
    }
