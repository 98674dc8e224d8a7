"""What was planted, as Parquet beside the logs and never among them: causes, culprits, instigators, lemons, rates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assets.simulation.causes import CAUSES, visible_category
from assets.simulation.logs.record import Record
from assets.simulation.profiles import DAY
from assets.simulation.states import DRAIN, MECHANISMS, STATES

Table = dict[str, list[Any]]


def _epoch(record: Record, seconds: int) -> int | None:
    return record.epoch + seconds if seconds >= 0 else None


def _attempts(record: Record) -> Table:
    ledger = record.ledger
    attempts, jobs = ledger.attempts, ledger.jobs
    job = attempts["job"]
    return {
        "job_id_raw": jobs["job_id"][job].tolist(),
        "submitted_epoch": (record.epoch + attempts["submit"]).tolist(),
        "started_epoch": [_epoch(record, s) for s in attempts["start"].tolist()],
        "ended_epoch": [_epoch(record, s) for s in attempts["end"].tolist()],
        "state": [STATES[s] for s in attempts["state"].tolist()],
        "run_number": jobs["run"][job].tolist(),
        "gpu_count": jobs["gpus"][job].tolist(),
        "nodes": [[record.node_names[n] for n in ledger.nodes[row].tolist()] for row in range(len(ledger.nodes))],
        "gpu_mask": attempts["mask"].tolist(),
        "productive_seconds": attempts["productive"].tolist(),
    }


def _key(record: Record, attempt: int) -> tuple[int, int]:
    attempts = record.ledger.attempts
    return int(record.ledger.jobs["job_id"][attempts["job"][attempt]]), record.epoch + int(attempts["submit"][attempt])


def _failures(record: Record) -> Table:
    ledger, faults, failures = record.ledger, record.ledger.faults, record.ledger.failures
    keys = [_key(record, attempt) for attempt in failures["attempt"].tolist()]
    rows = failures["fault"]
    causes, mechanisms, evidence = (faults[name][rows].tolist() for name in ("cause", "mechanism", "has_evidence"))
    return {
        "job_id_raw": [key[0] for key in keys],
        "submitted_epoch": [key[1] for key in keys],
        "failed_epoch": (record.epoch + failures["at"]).tolist(),
        "state": [STATES[state] for state in ledger.attempts["state"][failures["attempt"]].tolist()],
        "true_category": [CAUSES[cause].category for cause in causes],
        "visible_category": [visible_category(*seen) for seen in zip(causes, mechanisms, evidence, strict=True)],
        "culprit_node": [record.node_names[node] for node in failures["node"].tolist()],
        "mechanism": [MECHANISMS[mechanism] for mechanism in mechanisms],
        "has_evidence": evidence,
        "incident_number": faults["incident"][rows].tolist(),
        "fault_number": rows.tolist(),
        "fault_epoch": (record.epoch + faults["at"][rows]).tolist(),
    }


def _faults(record: Record) -> Table:
    faults = record.ledger.faults
    ended = np.bincount(record.ledger.failures["fault"], minlength=len(faults))
    return {
        "fault_number": list(range(len(faults))),
        "node": [record.node_names[n] for n in faults["node"].tolist()],
        "fault_epoch": (record.epoch + faults["at"]).tolist(),
        "detected_epoch": [_epoch(record, s) for s in faults["detected"].tolist()],
        "cleared_epoch": [_epoch(record, s) for s in faults["cleared"].tolist()],
        "category": [CAUSES[c].category for c in faults["cause"].tolist()],
        "mechanism": [MECHANISMS[m] for m in faults["mechanism"].tolist()],
        "is_permanent": faults["is_permanent"].tolist(),
        "is_shared": faults["is_shared"].tolist(),
        "has_evidence": faults["has_evidence"].tolist(),
        "incident_number": faults["incident"].tolist(),
        "failed_attempt_count": ended[: len(faults)].tolist(),
    }


def _preemptions(record: Record) -> Table:
    rows = record.ledger.preemptions
    victims = [_key(record, attempt) for attempt in rows["victim"].tolist()]
    instigators = [_key(record, attempt) for attempt in rows["instigator"].tolist()]
    return {
        "job_id_raw": [key[0] for key in victims],
        "submitted_epoch": [key[1] for key in victims],
        "preempted_epoch": (record.epoch + rows["at"]).tolist(),
        "instigator_job_id_raw": [key[0] for key in instigators],
        "instigator_submitted_epoch": [key[1] for key in instigators],
        "is_named": rows["is_named"].tolist(),
        "is_second_order": rows["is_second_order"].tolist(),
    }


def _outages(record: Record) -> Table:
    outages, faults = record.ledger.outages, record.ledger.faults
    return {
        "node": [record.node_names[n] for n in outages["node"].tolist()],
        "requested_epoch": (record.epoch + outages["requested"]).tolist(),
        "started_epoch": (record.epoch + outages["start"]).tolist(),
        "ended_epoch": [_epoch(record, s) for s in outages["end"].tolist()],
        "reason": list(record.ledger.reasons),
        "category": [CAUSES[int(faults["cause"][f])].category if f >= 0 else None for f in outages["fault"].tolist()],
        "is_planned": outages["is_planned"].tolist(),
        "ticket_id": [t if t >= 0 else None for t in outages["ticket"].tolist()],
    }


def _nodes(record: Record) -> Table:
    profile = record.profile
    lemons = {profile.node_at(lemon.position): lemon for lemon in profile.lemons}
    nodes = range(profile.node_count)
    return {
        "node": record.node_names,
        "is_lemon": [n in lemons for n in nodes],
        "root_cause": [lemons[n].root_cause if n in lemons else None for n in nodes],
        "faults_per_1000_node_days": [1000 * (lemons[n].rate if n in lemons else profile.fault_rate) for n in nodes],
    }


def _runs(record: Record) -> Table:
    ledger = record.ledger
    attempts = ledger.attempts
    run = ledger.jobs["run"][attempts["job"]]
    count = len(ledger.runs)
    return {
        "run_number": list(range(count)),
        "job_name": [record.run_name(code) for code in ledger.runs["name"].tolist()],
        "gpu_count": ledger.runs["gpus"].tolist(),
        "attempt_count": np.bincount(run, minlength=count).tolist(),
        "productive_seconds": np.bincount(run, attempts["productive"], minlength=count).astype(np.int64).tolist(),
    }


def planted(record: Record) -> dict[str, Any]:
    """Sum up what was planted and what came of it."""
    profile, ledger = record.profile, record.ledger
    attempts, faults = ledger.attempts, ledger.faults
    gpus = ledger.jobs["gpus"][attempts["job"]]
    ends = np.where(attempts["end"] >= 0, attempts["end"], profile.horizon)
    days = np.where(attempts["start"] >= 0, ends - attempts["start"], 0) / DAY
    node_days = days * np.maximum(gpus // profile.gpus_per_node, 1)
    failed = ledger.failures["attempt"]
    shared = faults["is_shared"][ledger.failures["fault"]]
    return {
        "simulated": True,
        "cluster_id": profile.cluster_id,
        "seed": record.seed,
        "days": profile.days,
        "node_count": profile.node_count,
        "faults_per_1000_node_days": 1000 * profile.mean_fault_rate,
        "faults_per_1000_node_days_without_lemons": 1000 * profile.fault_rate,
        "fault_count": int((faults["mechanism"] != DRAIN).sum()),
        "drain_count": int((faults["mechanism"] == DRAIN).sum()),
        "attempt_count": len(attempts),
        "failed_attempt_count": len(failed),
        "failed_attempt_count_shared_faults": int(shared.sum()),
        "attempt_node_days": round(float(node_days.sum()), 3),
        "failed_attempt_count_gt_128": int((gpus[failed] > 128).sum()),
        "attempt_node_days_gt_128": round(float(node_days[gpus > 128].sum()), 3),
        "utilization": round(ledger.used_gpu_seconds(profile.horizon) / profile.gpu_seconds, 4),
        "checkpoint_seconds": profile.checkpoint_seconds,
        "restart_seconds": profile.restart_seconds,
    }


TABLES = {
    "attempts": _attempts,
    "failures": _failures,
    "faults": _faults,
    "preemptions": _preemptions,
    "outages": _outages,
    "nodes": _nodes,
    "runs": _runs,
}


def write_truth(record: Record, folder: Path) -> None:
    """Write one Parquet file per table and `planted.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in TABLES.items():
        table = pa.table(build(record)).replace_schema_metadata(
            {"simulated": "true", "cluster_id": record.profile.cluster_id}
        )
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    (folder / "planted.json").write_text(json.dumps(planted(record), indent=2) + "\n", encoding="utf-8")
