"""A ledger of a few rows with known answers, and a cluster to which it belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from assets.simulation.causes import BY_CATEGORY
from assets.simulation.clusters import read_cluster
from assets.simulation.ledger import NAME_BITS, Ledger, Symptoms
from assets.simulation.profiles import Profile
from assets.simulation.states import COMPLETED


class SmallLedger:
    """A ledger to put a few things into; times are simulated seconds."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    def run(self, gpus: int = 8, **columns: Any) -> int:
        """Begin a run; gives its row."""
        return self.ledger.runs.append(gpus=gpus, name=1 << NAME_BITS | 0xABC, **columns)

    def attempt(
        self, run: int, start: int, end: int, state: int = COMPLETED, nodes: tuple[int, ...] = (0,), **columns: Any
    ) -> int:
        """Let a job of its own run for a run; gives the attempt's row."""
        job = self.ledger.jobs.append(job_id=100 + len(self.ledger.jobs), run=run, gpus=self.ledger.runs["gpus"][run])
        self.ledger.nodes.append(list(nodes))
        row = {"submit": max(start - 20, 0), "eligible": max(start - 10, 0), "requeued_at": -1} | columns
        return self.ledger.attempts.append(job=job, start=start, end=end, state=state, **row)

    def fault(self, node: int, at: int, mechanism: int, category: str = "ib_link", **columns: Any) -> int:
        """Let a node break, found at once, with a kernel line unless `symptoms` says otherwise; gives the row."""
        others = columns.pop("others", ())
        shown = columns.pop("symptoms", None) or Symptoms(kernel=[(0.0, "mlx5_core ibp0: Link down")], others=others)
        self.ledger.symptoms.append(shown)
        row = {"incident": len(self.ledger.faults), "detected": at, "cleared": at + 100, "has_evidence": True}
        row |= {"checks_from": at, "epilog_job": -1, "cause": BY_CATEGORY[category]} | columns
        return self.ledger.faults.append(node=node, at=at, mechanism=mechanism, **row)

    def failed(self, attempt: int, fault: int) -> None:
        """Say that a fault ended an attempt."""
        at = self.ledger.attempts["end"][attempt]
        self.ledger.failures.append(attempt=attempt, fault=fault, node=self.ledger.faults["node"][fault], at=at)

    def preempted(self, victim: int, instigator: int, is_second_order: bool = False) -> None:
        """Say that an attempt made room for another."""
        at = self.ledger.attempts["end"][victim]
        self.ledger.preemptions.append(victim=victim, instigator=instigator, at=at, is_second_order=is_second_order)

    def frozen(self) -> Ledger:
        """End the recording."""
        self.ledger.freeze()
        return self.ledger


def site(**changes: Any) -> Profile:
    """Return a cluster of 600 nodes over 10 days, without lemons, with the id rsc1."""
    steady = {"node_count": 600, "days": 10, "lemons": (), "checks_introduced": ()}
    return replace(read_cluster("demo-llm"), **({"cluster_id": "rsc1"} | steady | changes))
