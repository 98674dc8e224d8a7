"""What the faults that were planted in a testbed must come out as, by the truth that its workload writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Failure = tuple[int, str, str, str]
"""Job, state of the attempt, culprit node, category."""

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


def planted_failures(truth: Mapping[str, Any]) -> set[Failure]:
    """Give the failures that must be found, and no others may be, but those of jobs that shared a broken node."""
    found = set()
    for episode in truth["node_episodes"]:
        kind = f"xid {episode['detail'].split()[0]}" if episode["kind"] == "xid" else episode["kind"]
        if kind in MEANING:
            found |= {(int(job), MEANING[kind][0], episode["node"], MEANING[kind][1]) for job in episode["jobs"]}
    return found


def jobs_on_broken_nodes(truth: Mapping[str, Any]) -> dict[int, set[str]]:
    """Give the nodes that broke under each job, whether the fault was meant for it or not."""
    found: dict[int, set[str]] = {}
    for event in truth["events"]:
        for job in (*event.get("jobs", ()), *event.get("jobs_on_node", ())):
            if event.get("node"):
                found.setdefault(int(job), set()).add(event["node"])
    return found
