"""Ledgers made by hand: a few nodes, on which only those things happen that a test adds."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from assets.simulation.causes import BY_CATEGORY
from assets.simulation.clusters import read_cluster
from assets.simulation.ledger import Ledger, Symptoms
from assets.simulation.logs.health import write_health
from assets.simulation.logs.record import Record
from assets.simulation.profiles import LogHabits, Profile
from assets.simulation.states import COMPLETED, EVICT

Row = dict[str, Any]
DEMO_LLM = read_cluster("demo-llm")
DISK_FULL = Symptoms(checks=[("disk usage", "Disk usage of / is 97%, above the critical threshold 95%.")])


def site(node_count: int = 3, days: int = 3, habits: dict[str, Any] | None = None, **changes: Any) -> Profile:
    """Give a small profile with all checks from its first day; `habits` are what it keeps of its logs."""
    made = replace(DEMO_LLM, node_count=node_count, days=days, logs=LogHabits(**(habits or {})), checks_introduced=())
    return replace(made, **changes)


class Handmade:
    """A ledger to put things into."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.ledger = profile, Ledger()

    def fault(self, node: int, at: int, cleared: int, mechanism: int = EVICT, **columns: Any) -> None:
        """Let a node break; found at once unless `checks_from` says otherwise."""
        symptoms = columns.pop("symptoms", DISK_FULL)
        row = {"epilog_job": -1, "detected": at, "checks_from": at, "cause": BY_CATEGORY["pcie"]} | columns
        self.ledger.faults.append(node=node, at=at, cleared=cleared, mechanism=mechanism, has_evidence=True, **row)
        self.ledger.symptoms.append(symptoms)

    def outage(self, node: int, start: int, end: int) -> None:
        """Take a node out of service; it restarts and comes back when the time is over."""
        self.ledger.outages.append(node=node, requested=start, start=start, end=end, fault=-1, ticket=-1)
        self.ledger.reasons.append("maint: by hand")
        if end >= 0:
            self.ledger.reboots.append(node=node, at=end - 240)

    def attempt(self, nodes: list[int], start: int, end: int, state: int = COMPLETED, app_xid: int = 0) -> int:
        """Let a job of its own run on whole nodes; gives its job id."""
        job = self.ledger.jobs.append(job_id=1000 + len(self.ledger.jobs), gpus=8 * len(nodes))
        self.ledger.attempts.append(
            job=job, start=start, end=end, state=state, app_xid=app_xid, mask=255, requeued_at=-1
        )
        self.ledger.nodes.append(nodes)
        return 1000 + job

    def record(self, seed: int = 1) -> Record:
        """End the recording."""
        self.ledger.freeze()
        return Record(self.profile, self.ledger, seed)

    def health(self, folder: Path) -> list[Row]:
        """Write the health log and read it back: times in simulated seconds, and the `file` of each row."""
        record = self.record()
        write_health(record, folder)
        rows = []
        for path in sorted(folder.iterdir()):
            for line in gzip.decompress(path.read_bytes()).decode().splitlines():
                parts = json.loads(line)
                row = parts["int"] | parts["double"] | parts["normal"] | {"file": path.name}
                rows.append(row | {"at": row["start_time"] - record.epoch, "epoch": record.epoch})
        return rows
