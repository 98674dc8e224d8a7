"""The nodes as the scheduler sees them: which GPUs are free, which attempts use them, which nodes accept work.

The GPUs of a node are the bits of a byte, so handing out the same GPU twice is noticed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]

FAR = 2**40
"""A time after the end of every simulation."""
LOWEST = [[bits & ~(bits & (bits - 1)) for bits in range(256)]]
"""Mask of the lowest `count` GPUs among the free ones `bits`: `LOWEST[count - 1][bits]`."""
for _ in range(7):
    LOWEST.append([mask | LOWEST[0][bits & ~mask & 255] for bits, mask in enumerate(LOWEST[-1])])


class NodePool:
    """The GPUs of all nodes, at most eight per node."""

    def __init__(self, node_count: int, gpus_per_node: int) -> None:
        if gpus_per_node > 8:
            raise ValueError(f"gpus_per_node is {gpus_per_node}; a node's GPUs are the bits of one byte, so at most 8")
        self.count = node_count
        self.gpus_per_node = gpus_per_node
        self.full = (1 << gpus_per_node) - 1
        self.free = [self.full] * node_count
        self.accepts = np.ones(node_count, np.bool_)  # not while a node is out of service, draining, or silent
        self.idle = np.ones(node_count, np.bool_)  # accepts work, and nothing runs
        self.idle_count = node_count
        # How long an attempt may stay at most, to its time limit or the end of its protection; 0 for an empty node.
        self.hold_until = np.zeros(node_count, np.int64)
        self.gang = np.zeros(node_count, np.int32)  # nodes of the attempt that came last
        self.occupants: list[dict[int, int]] = [{} for _ in range(node_count)]
        self._partly_free: list[set[int]] = [set() for _ in range(gpus_per_node + 1)]

    def set_accepts(self, node: int, accepts: bool) -> None:
        """Open a node to new work, or close it."""
        self._forget(node)
        self.accepts[node] = accepts
        self._remember(node)

    def _forget(self, node: int) -> None:
        if self.idle[node]:
            self.idle[node] = False
            self.idle_count -= 1
        else:
            self._partly_free[self.free[node].bit_count()].discard(node)

    def _remember(self, node: int) -> None:
        if not self.accepts[node]:
            return
        if self.free[node] == self.full:
            self.idle[node] = True
            self.idle_count += 1
        elif self.free[node]:
            self._partly_free[self.free[node].bit_count()].add(node)

    def place_gang(self, need: int, allowed: BoolArray) -> list[int] | None:
        """Find whole nodes for a job: the lowest allowed nodes that are idle. None if there are too few."""
        nodes = np.flatnonzero(allowed)
        return nodes[:need].tolist() if len(nodes) >= need else None

    def place_small(self, gpus: int, allowed: BoolArray, excluded: tuple[int, ...] = ()) -> tuple[int, int] | None:
        """Find a node and a GPU mask for a part of a node: the fullest node with room, else the highest idle one."""
        for count in range(gpus, self.gpus_per_node):
            fitting = self._partly_free[count]
            if excluded:
                fitting = fitting.difference(excluded)
            if fitting:
                node = max(fitting)
                return node, LOWEST[gpus - 1][self.free[node]]
        nodes = np.flatnonzero(allowed)
        return (int(nodes[-1]), LOWEST[gpus - 1][self.full]) if len(nodes) else None

    def take(self, occupant: int, nodes: list[int], mask: int, hold_until: int) -> None:
        """Give GPUs to an attempt. Raises if one of them is taken."""
        for node in nodes:
            if self.free[node] & mask != mask:
                raise RuntimeError(f"occupant {occupant} was given GPUs that are in use on node {node}")
            self.occupants[node][occupant] = hold_until
        if mask == self.full:
            rows = np.array(nodes)
            self.gang[rows] = len(nodes)
            self.idle_count -= int(self.idle[rows].sum())
            self.idle[rows] = False
            self.hold_until[rows] = hold_until
            for node in nodes:
                self.free[node] = 0
        else:
            node = nodes[0]
            self.gang[node] = 1
            self._forget(node)
            self.free[node] &= ~mask
            self._remember(node)
            self.hold_until[node] = max(self.hold_until[node], hold_until)

    def release(self, occupant: int, nodes: list[int], mask: int) -> list[int]:
        """Take an attempt's GPUs back, and return the nodes that are empty now."""
        emptied = []
        for node in nodes:
            here = self.occupants[node]
            del here[occupant]
            if here:
                self._forget(node)
                self.free[node] |= mask
                self.hold_until[node] = max(here.values())
                self._remember(node)
            else:
                emptied.append(node)
        if emptied:
            if mask == self.full:
                rows = np.array(emptied)
                opened = self.accepts[rows]
                self.idle[rows] = opened
                self.idle_count += int(opened.sum())
                self.hold_until[rows] = 0
                for node in emptied:
                    self.free[node] = self.full
            else:
                node = emptied[0]
                self._forget(node)
                self.free[node] = self.full
                self.hold_until[node] = 0
                self._remember(node)
        return emptied

    def hold(self, occupant: int, nodes: list[int]) -> None:
        """Mark an attempt as one that must not be preempted, whatever its protection was."""
        self.hold_until[nodes] = FAR
        for node in nodes:
            self.occupants[node][occupant] = FAR
