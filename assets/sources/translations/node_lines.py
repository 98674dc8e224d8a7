"""Write other inventories as lines that `scontrol -o show node` would print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from assets.sources.other_forms import SetAside
from assets.sources.text.nodelists import NodeListError, expand

MAX_NODES = 16_384
"""Most nodes that a line may name."""
MAX_NAMED = 1_000_000
"""Most nodes that the lists of a file may name together."""
MAX_SNAPSHOT = 200_000
"""The partitions of a node are joined within a snapshot. Larger snapshots are cut into parts of this size."""
NO_REASON = frozenset({"", "none", "(null)", "n/a", "null"})
_NO_TIME = frozenset({"", "unknown", "none", "n/a", "(null)", "0"})
_GRES_NOTHING = "(null)"


@dataclass(frozen=True)
class Node:
    """One node in an inventory; None means that the inventory does not state it."""

    name: str
    state: str | None = None
    gres: str | None = None
    """As Slurm prints it; empty if the node has none."""
    tres: str | None = None
    gpu_count: int | None = None
    gpu_model: str | None = None
    cpus: Any = None
    memory: Any = None
    partitions: tuple[str, ...] = field(default=())
    booted: Any = None
    started: Any = None
    busy: Any = None
    reason: str | None = None
    reason_user: str | None = None
    reason_time: Any = None
    host_name: str | None = None
    address: str | None = None
    rack: str | None = None
    switch: str | None = None
    nvlink_domain: str | None = None
    position: str | None = None
    slurm_version: str | None = None
    system: str | None = None
    captured_at: Any = None
    """When the inventory was taken."""


def node_line(node: Node) -> str:
    """Return a node as a line of scontrol, with the time of capture as `SeenAt`."""
    gres, tres = node.gres, node.tres
    if node.gpu_count is not None:
        gres = f"gpu:{node.gpu_model}:{node.gpu_count}" if node.gpu_model else f"gpu:{node.gpu_count}"
        tres = f"gres/gpu={node.gpu_count}"
    facts = {
        "NodeName": node.name,
        "CPUTot": _digits(node.cpus),
        "Gres": _GRES_NOTHING if gres is not None and gres.lower() in NO_REASON else gres,
        "NodeAddr": node.address or None,
        "NodeHostName": node.host_name or None,
        "Version": node.slurm_version or None,
        "OS": node.system or None,
        "RealMemory": _digits(node.memory),
        "State": (node.state or "").upper() or None,
        "Partitions": ",".join(node.partitions) or None,
        "BootTime": _moment(node.booted),
        "SlurmdStartTime": _moment(node.started),
        "LastBusyTime": _moment(node.busy),
        "SeenAt": _moment(node.captured_at),
        "CfgTRES": tres or None,
        "Rack": node.rack or None,
        "Switch": node.switch or None,
        "NvlinkDomain": node.nvlink_domain or None,
        "Position": node.position or None,
    }
    known = {key: "_".join(str(value).split()) for key, value in facts.items() if value is not None}
    line = " ".join(f"{key}={value}" for key, value in known.items())
    reason = " ".join((node.reason or "").split())
    if reason.lower() in NO_REASON:
        return line
    if not node.reason_user or node.reason_user.lower() in _NO_TIME:
        return f"{line} Reason={reason}"
    user = re.sub(r"\(\d+\)$|[\[\]@\s]", "", node.reason_user)
    return f"{line} Reason={reason} [{user}@{_moment(node.reason_time) or 'Unknown'}]"


def _digits(value: Any) -> str | None:
    """Return a whole number; `sinfo` prints 64+ if the nodes of a line differ."""
    match = re.fullmatch(r"\s*(\d{1,18})(?:\.0*)?\+?\s*", str(value), re.ASCII)
    return match[1] if match else None


def _moment(value: Any) -> str | None:
    text = str(value if value is not None else "").strip()
    return None if text.lower() in _NO_TIME else text.replace(" ", "T")


def node_names(text: str) -> list[str]:
    """Return the names in a list of nodes.

    Raises
    ------
    NodeListError
        It is not a list, or names more nodes than a line may.
    """
    names = expand(text, MAX_NODES)
    if not names:
        raise NodeListError("bad_nodelist", "no node is named")
    return names


def lines_of_snapshot(nodes: Iterable[Node | SetAside]) -> Iterator[str | SetAside]:
    """Yield the nodes of a snapshot as lines. The first line of a node has all its partitions, others are skipped."""
    kept = list(nodes)
    partitions: dict[str, dict[str, None]] = {}
    for node in kept:
        if isinstance(node, Node):
            partitions.setdefault(node.name, {}).update(dict.fromkeys(node.partitions))
    written: set[str] = set()
    for node in kept:
        if isinstance(node, SetAside):
            yield node
        elif node.name in written:
            yield SetAside(node_line(node), "other_partition")
        else:
            written.add(node.name)
            yield node_line(replace(node, partitions=tuple(partitions[node.name])))
