"""The lines of the controller's log about nodes (lost, restarted, drained, back) and about failed prologs."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from typing import NamedTuple

from assets.simulation.logs.record import Record
from assets.simulation.service import BOOT_SECONDS, PROLOG_ERROR, REBOOTED


class NodeLine(NamedTuple):
    """A line: its second, its rank within the second, and its text."""

    at: int
    rank: int
    text: str


class _Boots:
    """The restarts of each node."""

    def __init__(self, record: Record) -> None:
        self._times: dict[int, list[int]] = {}
        reboots = record.ledger.reboots
        for at, node in sorted(zip(reboots["at"].tolist(), reboots["node"].tolist(), strict=True)):
            self._times.setdefault(node, []).append(at)

    def last(self, node: int, until: int) -> int:
        """Return the node's last restart up to a second."""
        times = self._times[node]
        return times[bisect.bisect_right(times, until) - 1]


def node_lines(record: Record) -> Iterator[NodeLine]:
    """Return the lines about nodes, not sorted by time."""
    names = ("node", "requested", "start", "end", "is_silent", "is_down")
    rows = list(zip(*(record.ledger.outages[name].tolist() for name in names), strict=True))
    boots, follows = _Boots(record), {(row[0], row[2]) for row in rows}
    for (node, requested, start, end, is_silent, is_down), reason in zip(rows, record.ledger.reasons, strict=True):
        name = record.node_names[node]
        if is_silent:
            yield NodeLine(start, 5, f"error: Nodes {name} not responding, setting DOWN")
        elif reason == REBOOTED:
            booted = record.epoch + boots.last(node, start)
            times = f"boot_time={booted} last response={booted - 60}"
            yield NodeLine(start, 3, f"validate_node_specs: Node {name} unexpectedly rebooted {times}")
        elif reason == PROLOG_ERROR:
            text = f"error: validate_node_specs: Prolog or job env setup failure on node {name}, draining the node"
            yield NodeLine(requested, 3, text)
            yield NodeLine(requested, 4, f"drain_nodes: node {name} state set to DRAIN")
        else:
            state = "DOWN" if is_down else "DRAINED" if requested == start else "DRAINING"
            yield NodeLine(requested, 3, f"update_node: node {name} reason set to: {reason}")
            yield NodeLine(requested, 6, f"update_node: node {name} state set to {state}")
        # An outage with two reasons has two intervals. The node is back only after the second.
        if end >= 0 and (node, end) not in follows:
            back = f"node {name} returned to service" if is_silent else f"update_node: node {name} state set to IDLE"
            yield NodeLine(end - BOOT_SECONDS // 4, 1, f"Node {name} now responding")
            yield NodeLine(end, 1, back)
    yield from _prolog_lines(record)


def _prolog_lines(record: Record) -> Iterator[NodeLine]:
    attempts, failures, outages = record.ledger.attempts, record.ledger.failures, record.ledger.outages
    known = zip(outages["fault"].tolist(), record.ledger.reasons, strict=True)
    prolog = {fault for fault, reason in known if reason == PROLOG_ERROR}
    ids = record.ledger.jobs["job_id"][attempts["job"][failures["attempt"]]].tolist()
    for fault, at, job_id in zip(failures["fault"].tolist(), failures["at"].tolist(), ids, strict=True):
        if fault in prolog and record.ledger.faults["detected"][fault] >= 0:
            yield NodeLine(at, 2, f"error: Prolog launch failure, JobId={job_id}")
