"""Nodes in JSON of `scontrol show node`, `sinfo`, slurmrestd and GCM's `slurm_job_monitor`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.translations.json_documents import records_of
from assets.sources.translations.node_lines import MAX_SNAPSHOT, Node, lines_of_snapshot

_NODE = re.compile(r'"NODE_NAME"\s*:|"(?:nodes|sinfo)"\s*:\s*\[')


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the nodes as lines. Another time of capture begins another snapshot."""
    snapshot: list[Node | SetAside] = []
    captured_at: Any = None
    for record in records_of(pieces, "nodes", "sinfo"):
        if isinstance(record, SetAside):
            snapshot.append(record)
            continue
        found = _nodes_of(record.value)
        if not found:
            is_job = isinstance(record.value, dict) and "JOBID" in _flat(record.value)
            detail = None if is_job else "no name of a node"
            found = [SetAside(str(record.value), "job_record" if is_job else "unsupported_schema", detail)]
        first = found[0]
        if isinstance(first, Node) and first.captured_at != captured_at:
            yield from lines_of_snapshot(snapshot)
            snapshot, captured_at = [], first.captured_at
        snapshot += found
        if len(snapshot) > MAX_SNAPSHOT:
            yield from lines_of_snapshot(snapshot)
            snapshot = []
    yield from lines_of_snapshot(snapshot)


def _nodes_of(record: Any) -> list[Node | SetAside]:
    if not isinstance(record, dict):
        return []
    flat = _flat(record)
    if flat.get("NODE_NAME"):
        return [_gcm_node(flat)]
    group = record.get("nodes")
    if isinstance(group, dict) and isinstance(group.get("nodes"), list):
        return [_grouped_node(str(name), record) for name in group["nodes"]]
    return [_node(record)] if isinstance(record.get("name"), str) and record["name"] else []


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a record of GCM, which is flat or in the parts of the file sink's envelope."""
    parts = [record, *map(record.get, ("int", "double", "normal"))]
    return {name: value for part in parts if isinstance(part, dict) for name, value in part.items()}


def _gcm_node(document: Mapping[str, Any]) -> Node:
    return Node(
        str(document["NODE_NAME"]),
        state=_text(document.get("STATE")),
        gpu_count=gpus if isinstance(gpus := document.get("NUM_GPUS"), int) else None,
        cpus=document.get("CPUS_TOTAL"),
        memory=document.get("MEMORY"),
        partitions=(str(document["PARTITION"]),) if document.get("PARTITION") else (),
        reason=_text(document.get("REASON")),
        reason_user=_text(document.get("USER")),
        reason_time=document.get("TIMESTAMP"),
        captured_at=document.get("collection_unixtime"),
    )


def _node(document: Mapping[str, Any]) -> Node:
    states = [*_list(document.get("state")), *_list(document.get("state_flags"))]
    return Node(
        document["name"],
        state="+".join(states),
        gres=_text(document.get("gres")),
        tres=_text(document.get("tres")),
        cpus=document.get("cpus"),
        memory=document.get("real_memory"),
        partitions=tuple(_list(document.get("partitions"))),
        booted=_number(document.get("boot_time")),
        started=_number(document.get("slurmd_start_time")),
        busy=_number(document.get("last_busy")),
        reason=_text(document.get("reason")),
        reason_user=_text(document.get("reason_set_by_user")),
        reason_time=_number(document.get("reason_changed_at")),
        host_name=_text(document.get("hostname")),
        address=_text(document.get("address")),
        slurm_version=_text(document.get("version")),
        system=_text(document.get("operating_system")),
    )


def _grouped_node(name: str, document: Mapping[str, Any]) -> Node:
    """Return a node of a group of equal nodes, as `sinfo --json` shows them from Slurm 23.02 on."""

    def part(key: str) -> Mapping[str, Any]:
        value = document.get(key)
        return value if isinstance(value, dict) else {}

    return Node(
        name,
        state="+".join(_list(part("node").get("state"))),
        gres=_text(part("gres").get("total")),
        cpus=part("cpus").get("minimum"),
        memory=part("memory").get("minimum"),
        partitions=(str(part("partition")["name"]),) if part("partition").get("name") else (),
        reason=_text(part("reason").get("description")),
        reason_user=_text(part("reason").get("user")),
        reason_time=_number(part("reason").get("time")),
    )


def _list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)] if value else []


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    """Return a number that may be written with `set`; None for 0 or a number that is not set."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") else None
    return value if isinstance(value, int) and value > 0 else None


_EXAMPLE = (
    '{"nodes": [{"name": "node001", "state": ["IDLE", "DRAIN"], "gres": "gpu:h100:8", "partitions": ["train"], '
    '"reason": "xid 79", "reason_set_by_user": "root", "reason_changed_at": 1795248349, "boot_time": 1795248284}]}\n'
)
FORMS = (Translation("node_json", "inventory", holds(_NODE, in_json=True), _translate, _EXAMPLE),)
