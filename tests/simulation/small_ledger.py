"""Ledgers made by hand, with known answers: they contain only the events that a test adds."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from assets.simulation.causes import BY_CATEGORY
from assets.simulation.clusters import read_cluster
from assets.simulation.ledger import NAME_BITS, Ledger, Symptoms
from assets.simulation.logs.health import write_health
from assets.simulation.logs.record import Record
from assets.simulation.profiles import LogHabits, Profile
from assets.simulation.states import COMPLETED, EVICT

Row = dict[str, Any]
DEMO_LLM = read_cluster("demo-llm")
DISK_FULL = Symptoms(checks=[("disk usage", "Disk usage of / is 97%, above the critical threshold 95%.")])


class SmallLedger:
    """A ledger for a few events. Times are simulated seconds."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    def run(self, gpus: int = 8, **columns: Any) -> int:
        """Begin a run. Returns its row."""
        return self.ledger.runs.append(gpus=gpus, name=1 << NAME_BITS | 0xABC, **columns)

    def attempt(
        self, run: int, start: int, end: int, state: int = COMPLETED, nodes: tuple[int, ...] = (0,), **columns: Any
    ) -> int:
        """Let a job of its own run for a run. Returns its row."""
        job = self.ledger.jobs.append(job_id=100 + len(self.ledger.jobs), run=run, gpus=self.ledger.runs["gpus"][run])
        self.ledger.nodes.append(list(nodes))
        row = {"submit": max(start - 20, 0), "eligible": max(start - 10, 0), "requeued_at": -1} | columns
        return self.ledger.attempts.append(job=job, start=start, end=end, state=state, **row)

    def fault(self, node: int, at: int, mechanism: int, category: str = "ib_link", **columns: Any) -> int:
        """Let a node break, found at once, with a kernel line unless `symptoms` says otherwise. Returns its row."""
        others = columns.pop("others", ())
        shown = columns.pop("symptoms", None) or Symptoms(kernel=[(0.0, "mlx5_core ibp0: Link down")], others=others)
        self.ledger.symptoms.append(shown)
        row = {"incident": len(self.ledger.faults), "detected": at, "cleared": at + 100, "has_evidence": True}
        row |= {"checks_from": at, "epilog_job": -1, "cause": BY_CATEGORY[category]} | columns
        return self.ledger.faults.append(node=node, at=at, mechanism=mechanism, **row)

    def failed(self, attempt: int, fault: int) -> None:
        """Record that a fault ended an attempt."""
        at = self.ledger.attempts["end"][attempt]
        self.ledger.failures.append(attempt=attempt, fault=fault, node=self.ledger.faults["node"][fault], at=at)

    def preempted(self, victim: int, instigator: int, is_second_order: bool = False) -> None:
        """Record that an attempt made room for another."""
        at = self.ledger.attempts["end"][victim]
        self.ledger.preemptions.append(victim=victim, instigator=instigator, at=at, is_second_order=is_second_order)

    def frozen(self) -> Ledger:
        """End the recording."""
        self.ledger.freeze()
        return self.ledger


class Handmade(SmallLedger):
    """A ledger of one profile, to write its logs from."""

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile

    def breaks(self, node: int, at: int, cleared: int, mechanism: int = EVICT, **columns: Any) -> None:
        """Let a node break. The fault is found at once unless `checks_from` is given."""
        self.fault(node, at, mechanism, "pcie", **({"cleared": cleared, "symptoms": DISK_FULL} | columns))

    def outage(self, node: int, start: int, end: int) -> None:
        """Take a node out of service. It restarts and returns at `end`."""
        self.ledger.outages.append(node=node, requested=start, start=start, end=end, fault=-1, ticket=-1)
        self.ledger.reasons.append("maint: by hand")
        if end >= 0:
            self.ledger.reboots.append(node=node, at=end - 240)

    def job(self, nodes: list[int], start: int, end: int, state: int = COMPLETED, app_xid: int = 0) -> int:
        """Let a job of its own run on whole nodes. Returns its job id."""
        run = self.run(gpus=8 * len(nodes))
        attempt = self.attempt(run, start, end, state, tuple(nodes), app_xid=app_xid, mask=255)
        return int(self.ledger.jobs["job_id"][self.ledger.attempts["job"][attempt]])

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


def site(**changes: Any) -> Profile:
    """Return a cluster of 600 nodes over 10 days, without lemons, with the id rsc1."""
    steady = {"node_count": 600, "days": 10, "lemons": (), "checks_introduced": ()}
    return replace(DEMO_LLM, **({"cluster_id": "rsc1"} | steady | changes))


def small_site(node_count: int = 3, days: int = 3, habits: dict[str, Any] | None = None, **changes: Any) -> Profile:
    """Return a small profile with all checks from its first day. `habits` are its log habits."""
    made = replace(DEMO_LLM, node_count=node_count, days=days, logs=LogHabits(**(habits or {})), checks_introduced=())
    return replace(made, **changes)
