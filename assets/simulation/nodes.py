"""The nodes as the scheduler sees them: which GPUs are free, who sits where, which nodes accept work.

GPUs of a node are bits of a byte, so that the same GPU cannot be handed out twice without it being noticed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

FAR = 2**40
"""A time after every simulation's end."""


class NodePool:
    """GPUs of all nodes; at most eight to a node.

    Attributes
    ----------
    accepts
        False while a node is out of service, draining, or silent: nothing new starts there.
    hold_until
        Per node, the latest time at which one of its occupants can still claim it: the end of its time limit, or
        for work that may be preempted the end of its protection. Zero when nobody is there.
    """

    def __init__(self, node_count: int, gpus_per_node: int) -> None:
        if gpus_per_node > 8:
            raise ValueError(
                f"gpus_per_node is {gpus_per_node}; a node's GPUs are kept as the bits of one byte, so at most 8"
            )
        self.count = node_count
        self.gpus_per_node = gpus_per_node
        self.free = np.full(node_count, (1 << gpus_per_node) - 1, np.int64)
        self.free_count = np.full(node_count, gpus_per_node, np.int64)
        self.accepts = np.ones(node_count, np.bool_)
        self.hold_until = np.zeros(node_count, np.int64)
        self.occupants: list[dict[int, int]] = [{} for _ in range(node_count)]

    def place(self, gpus: int, allowed: BoolArray) -> tuple[IntArray, IntArray] | None:
        """Find nodes and GPU masks for a job, or None.

        Whole nodes come from the low end of the fleet; small jobs fill up the fullest nodes from the high end.
        """
        if gpus >= self.gpus_per_node:
            need = gpus // self.gpus_per_node
            nodes = np.flatnonzero(allowed & (self.free_count == self.gpus_per_node))[:need]
            return (nodes, self.free[nodes]) if len(nodes) == need else None
        fits = np.flatnonzero(allowed & (self.free_count >= gpus))
        if not len(fits):
            return None
        node = fits[::-1][np.argmin(self.free_count[fits[::-1]])]
        bits, mask = int(self.free[node]), 0
        for _ in range(gpus):
            mask |= bits & -bits
            bits &= bits - 1
        return np.array([node]), np.array([mask])

    def take(self, occupant: int, nodes: IntArray, masks: IntArray, hold_until: int) -> None:
        """Give GPUs to an occupant; raises when one of them is taken."""
        if np.any(self.free[nodes] & masks != masks):
            raise RuntimeError(f"occupant {occupant} was given GPUs that are in use on nodes {nodes.tolist()}")
        self.free[nodes] &= ~masks
        self.free_count[nodes] -= np.bitwise_count(masks)
        self.hold_until[nodes] = np.maximum(self.hold_until[nodes], hold_until)
        for node in nodes.tolist():
            self.occupants[node][occupant] = hold_until

    def release(self, occupant: int, nodes: IntArray, masks: IntArray) -> list[int]:
        """Take the occupant's GPUs back and list the nodes that nobody uses any more."""
        self.free[nodes] |= masks
        self.free_count[nodes] += np.bitwise_count(masks)
        emptied = []
        for node in nodes.tolist():
            del self.occupants[node][occupant]
            self.hold_until[node] = max(self.occupants[node].values(), default=0)
            if not self.occupants[node]:
                emptied.append(node)
        return emptied

    def hold(self, occupant: int, nodes: IntArray) -> None:
        """Mark an occupant as not to be preempted, whatever its protection said."""
        self.hold_until[nodes] = FAR
        for node in nodes.tolist():
            self.occupants[node][occupant] = FAR
