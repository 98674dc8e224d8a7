"""Writes what was planted as Parquet, apart from the logs: causes, culprits, instigators, lemons and rates.

The tables are made of the columns of the ledger. Names are stored once, as dictionaries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from assets.simulation.causes import CAUSES
from assets.simulation.evidence import has_evidence, is_named, visible_categories
from assets.simulation.ledger import Ledger
from assets.simulation.logs.record import Record
from assets.simulation.logs.sacct import Accounting
from assets.simulation.profiles import DAY
from assets.simulation.rates import expected_faults, held_node_days, month_starts, rate_changes
from assets.simulation.states import ALARM, COMPLETED, DRAIN, MECHANISMS, STATES

Table = dict[str, Any]
ROWS_PER_GROUP = 1 << 18
"""Rows of a Parquet row group. Names are built per group, so that the names of millions of runs take little memory."""
CATEGORIES = [cause.category for cause in CAUSES]
ENDED_BY = ("fault", "maintenance")
LARGE_GPUS = 128
"""The reference rate counts attempts with more GPUs than this."""


def whole(values: NDArray[Any]) -> pa.Array:
    """Convert whole numbers of any width to 64 bits."""
    return pa.array(values.astype(np.int64, copy=False))


def epochs(record: Record, seconds: NDArray[Any]) -> pa.Array:
    """Convert simulated seconds to epoch seconds, and -1 to null."""
    return pa.array(record.epoch + seconds.astype(np.int64), mask=seconds < 0)


def named(codes: NDArray[Any], names: Sequence[str]) -> pa.Array:
    """Convert numbers of names to a dictionary column. A negative number becomes null."""
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), pa.array(list(names)))


def _keys(record: Record, attempts: Any, prefix: str = "") -> Table:
    """Return the two columns that identify an attempt."""
    ledger = record.ledger
    return {
        f"{prefix}job_id_raw": whole(ledger.jobs["job_id"][ledger.attempts["job"][attempts]]),
        f"{prefix}submitted_epoch": epochs(record, ledger.attempts["submit"][attempts]),
    }


def _attempts(record: Record) -> Table:
    """One row per attempt. An attempt without a fault or maintenance ended as its user or Slurm wanted."""
    ledger = record.ledger
    attempts, jobs, held = ledger.attempts, ledger.jobs, ledger.nodes
    job, accounting = attempts["job"], Accounting(record.profile, ledger)
    ended_by = np.full(len(attempts), -1)
    ended_by[ledger.failures["attempt"]] = 0
    ended_by[ledger.planned_ends["attempt"]] = 1
    is_exported = np.zeros(len(attempts), np.bool_)
    is_exported[accounting.shown] = True
    return {
        **_keys(record, slice(None)),
        "started_epoch": epochs(record, attempts["start"]),
        "ended_epoch": epochs(record, attempts["end"]),
        "state": named(attempts["state"], STATES),
        "run_number": whole(jobs["run"][job]),
        "gpu_count": whole(jobs["gpus"][job]),
        "nodes": pa.ListArray.from_arrays(
            pa.array(held.starts.astype(np.int32)), named(held.values, record.node_names)
        ),
        "gpu_mask": whole(attempts["mask"]),
        "productive_seconds": whole(attempts["productive"]),
        "ended_by": named(ended_by, ENDED_BY),
        "has_false_evidence": has_evidence(ledger, only_false=True),
        "is_exported": is_exported,
        "exported_state": named(accounting.column("state"), STATES),
        "gpu_utilisation": (
            record.utilisation if record.profile.logs.has_job_summaries else pa.nulls(len(attempts), pa.float64())
        ),
    }


def _texts(values: Iterable[str | None]) -> pa.Array:
    return pa.array(values, pa.string())


def _planned_ends(record: Record) -> Table:
    """One row per attempt that planned maintenance ended."""
    ended = record.ledger.planned_ends
    return {
        **_keys(record, ended["attempt"]),
        "ended_epoch": epochs(record, ended["at"]),
        "state": named(record.ledger.attempts["state"][ended["attempt"]], STATES),
        "node": named(ended["node"], record.node_names),
    }


def _hidden_faults(record: Record) -> Table:
    """One row per node with a hidden fault: its kind, and how many attempts it ended."""
    faults, ended = record.profile.hidden_faults, record.ledger.hidden_ends
    return {
        "node": _texts(record.node_names[record.profile.node_at(fault.position)] for fault in faults),
        "kind": _texts(fault.kind for fault in faults),
        "attempt_count": whole(np.bincount(ended["fault"], minlength=len(faults))),
    }


def _driver_rollouts(record: Record) -> Table:
    """One row per driver roll-out and node, with the effect on faults of a category."""
    profile = record.profile
    rows = [
        (rollout, node, at)
        for rollout in profile.driver_rollouts
        for node in range(profile.node_count)
        if (at := rollout.changed_at(node, profile.node_count)) is not None
    ]
    return {
        "version": _texts(rollout.version for rollout, _, _ in rows),
        "node": _texts(record.node_names[node] for _, node, _ in rows),
        "changed_epoch": epochs(record, np.array([at for _, _, at in rows], np.int64)),
        "category": _texts(rollout.category for rollout, _, _ in rows),
        "factor": pa.array([rollout.factor for rollout, _, _ in rows], pa.float64()),
    }


def _failures(record: Record) -> Table:
    ledger, faults, failures = record.ledger, record.ledger.faults, record.ledger.failures
    rows = failures["fault"]
    return {
        **_keys(record, failures["attempt"]),
        "failed_epoch": epochs(record, failures["at"]),
        "state": named(ledger.attempts["state"][failures["attempt"]], STATES),
        "true_category": named(faults["cause"][rows], CATEGORIES),
        "visible_category": _texts(visible_categories(ledger)),
        "culprit_node": named(failures["node"], record.node_names),
        "mechanism": named(faults["mechanism"][rows], MECHANISMS),
        "has_evidence": faults["has_evidence"][rows],
        "incident_number": whole(faults["incident"][rows]),
        "fault_number": whole(rows),
        "fault_epoch": epochs(record, faults["at"][rows]),
    }


def _faults(record: Record) -> Table:
    faults = record.ledger.faults
    return {
        "fault_number": whole(np.arange(len(faults))),
        "node": named(faults["node"], record.node_names),
        "fault_epoch": epochs(record, faults["at"]),
        "detected_epoch": epochs(record, faults["detected"]),
        "cleared_epoch": epochs(record, faults["cleared"]),
        "category": named(faults["cause"], CATEGORIES),
        "co_occurring": pa.array([list(shown.others) for shown in record.ledger.symptoms], pa.list_(pa.string())),
        "mechanism": named(faults["mechanism"], MECHANISMS),
        "is_false_alarm": faults["mechanism"] == ALARM,
        "is_drained": np.isin(np.arange(len(faults)), record.ledger.drained_faults()),
        "is_permanent": faults["is_permanent"],
        "is_shared": faults["is_shared"],
        "has_evidence": faults["has_evidence"],
        "incident_number": whole(faults["incident"]),
        "failed_attempt_count": whole(np.bincount(record.ledger.failures["fault"], minlength=len(faults))),
    }


def _ends_jobs(ledger: Ledger) -> NDArray[np.bool_]:
    """Return which faults can end jobs. Findings of low severity and false alarms cannot."""
    return ~np.isin(ledger.faults["mechanism"], (DRAIN, ALARM))


def _relapses(record: Record) -> Table:
    """One row per fault that returned because a repair did not work."""
    relapses = record.ledger.relapses
    return {"fault_number": whole(relapses["fault"]), "repaired_fault_number": whole(relapses["repaired"])}


def _incidents(record: Record) -> Table:
    """One row per incident that could end jobs. It ends when its last node returns; null if a node is still out."""
    faults = record.ledger.faults
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero(_ends_jobs(record.ledger)).tolist():
        members.setdefault(int(faults["incident"][row]), []).append(row)
    of = [members[number] for number in sorted(members)]
    firsts = np.array([rows[0] for rows in of], np.int64)
    ends = [-1 if (faults["cleared"][rows] < 0).any() else faults["cleared"][rows].max() for rows in of]
    failed = np.bincount(record.ledger.failures["fault"], minlength=len(faults))
    return {
        "incident_number": whole(faults["incident"][firsts]),
        "category": named(faults["cause"][firsts], CATEGORIES),
        "started_epoch": epochs(record, np.array([faults["at"][rows].min() for rows in of], np.int64)),
        "ended_epoch": epochs(record, np.array(ends, np.int64)),
        "fault_count": pa.array([len(rows) for rows in of], pa.int64()),
        "node_count": pa.array([len(set(faults["node"][rows].tolist())) for rows in of], pa.int64()),
        "failed_attempt_count": pa.array([failed[rows].sum() for rows in of], pa.int64()),
        "is_shared": faults["is_shared"][firsts],
    }


def _preemptions(record: Record) -> Table:
    """One row per preempted attempt. Only a controller's log can name the instigator."""
    rows = record.ledger.preemptions
    return {
        **_keys(record, rows["victim"]),
        "preempted_epoch": epochs(record, rows["at"]),
        **_keys(record, rows["instigator"], "instigator_"),
        "is_named": rows["is_named"] & record.profile.logs.has_controller_log,
        "is_second_order": rows["is_second_order"],
    }


def _outages(record: Record) -> Table:
    outages, causes = record.ledger.outages, record.ledger.faults["cause"]
    fault, ticket = outages["fault"], outages["ticket"]
    category = np.full(len(fault), -1, np.int32)
    category[fault >= 0] = causes[fault[fault >= 0]]
    return {
        "node": named(outages["node"], record.node_names),
        "requested_epoch": epochs(record, outages["requested"]),
        "started_epoch": epochs(record, outages["start"]),
        "ended_epoch": epochs(record, outages["end"]),
        "reason": _texts(record.ledger.reasons),
        "category": named(category, CATEGORIES),
        "is_planned": outages["is_planned"],
        "ticket_id": pa.array(ticket.astype(np.int64), mask=ticket < 0),
    }


def _nodes(record: Record) -> Table:
    """One row per node. The rate is the mean over all days, including the bursts."""
    profile, lemons = record.profile, record.profile.lemon_nodes
    nodes = range(profile.node_count)
    return {
        "node": record.node_names,
        "is_lemon": [node in lemons for node in nodes],
        "root_cause": _texts(lemons[node].root_cause if node in lemons else None for node in nodes),
        "faults_per_1000_node_days": [1000 * profile.mean_rate_of(node) for node in nodes],
        **{
            place: _texts(profile.place_of(node).get(place) for node in nodes)
            for place in ("rack", "switch", "position")
        },
    }


def _runs(record: Record) -> Table:
    """One row per run. An attempt that still runs has no productive time yet, so compare only runs that have ended.

    Wall-clock time is the time that the attempts were queued, from their eligibility on, or held their nodes.
    """
    ledger = record.ledger
    attempts, count = ledger.attempts, len(ledger.runs)
    run, names = ledger.jobs["run"][attempts["job"]], ledger.runs["name"]
    parts = [names[first : first + ROWS_PER_GROUP].tolist() for first in range(0, count, ROWS_PER_GROUP)]
    productive = whole(np.bincount(run, attempts["productive"], minlength=count))
    ends = np.where(attempts["end"] >= 0, attempts["end"], record.profile.horizon)
    wallclock = (ends - attempts["eligible"]).clip(0)
    return {
        "run_number": whole(np.arange(count)),
        "job_name": pa.chunked_array([_texts(map(record.run_name, part)) for part in parts], pa.string()),
        "gpu_count": whole(ledger.runs["gpus"]),
        "attempt_count": whole(np.bincount(run, minlength=count)),
        "productive_seconds": productive,
        "true_productive_seconds": productive,
        "wallclock_seconds": whole(np.bincount(run, wallclock, minlength=count)),
        "checkpoint_seconds": whole(ledger.runs["checkpoint"]),
        "is_ended": np.bincount(run[attempts["end"] < 0], minlength=count) == 0,
    }


def _checks(record: Record) -> Table:
    """One row per failed check: its counts with and without a fault, and its median lead over failed jobs."""
    ledger = record.ledger
    faults, introduced = ledger.faults, dict(record.profile.checks_introduced)
    began, is_alarm = faults["checks_from"], faults["mechanism"] == ALARM
    shown: dict[str, list[int]] = {}
    for fault in np.flatnonzero(began >= 0).tolist():
        for check, _ in ledger.symptoms[fault].checks:
            if began[fault] >= introduced.get(check, 0) * DAY:
                shown.setdefault(check, []).append(fault)
    ended = ledger.failures["fault"]
    leads = ledger.failures["at"] - began[ended]
    of_checks = [leads[np.isin(ended, found)] for found in shown.values()]
    return {
        "check_name": _texts(shown),
        "true_count": pa.array([int((~is_alarm[found]).sum()) for found in shown.values()], pa.int64()),
        "false_count": pa.array([int(is_alarm[found].sum()) for found in shown.values()], pa.int64()),
        "lead_seconds": pa.array([np.median(each) if len(each) else None for each in of_checks], pa.float64()),
    }


def _months(record: Record) -> Table:
    """One row per calendar month: its factor on the rate of faults, and the resulting counts."""
    profile, ledger, failures = record.profile, record.ledger, record.ledger.failures
    starts, factors = month_starts(profile), dict(ledger.month_factors)
    ends = [*starts[1:], profile.horizon]
    month = np.searchsorted(starts, failures["at"], "right") - 1
    table: Table = {
        "started_epoch": epochs(record, np.array(starts)),
        "ended_epoch": epochs(record, np.array(ends)),
        "factor": [factors.get(start, 1.0) for start in starts],
    }
    days = [held_node_days(ledger, low, high) for low, high in zip(starts, ends, strict=True)]
    faults = [expected_faults(profile, ledger, low, high) for low, high in zip(starts, ends, strict=True)]
    of_all = np.ones(len(ledger.attempts), np.bool_)
    populations = (("", of_all), (f"_gt_{LARGE_GPUS}", ledger.gpus() > LARGE_GPUS))
    for suffix, chosen in populations:
        table[f"attempt_node_days{suffix}"] = [float(held[chosen].sum()) for held in days]
    for suffix, chosen in populations:
        counts = np.bincount(month[chosen[failures["attempt"]]], minlength=len(starts))
        table[f"failed_attempt_count{suffix}"] = whole(counts)
    for suffix, chosen in populations:
        table[f"expected_fault_count{suffix}"] = [float(expected[chosen].sum()) for expected in faults]
    return table


def _populations(record: Record) -> Table:
    """One row per population of attempts, over the time in which the accounting is complete.

    `expected_fault_count` is the expected number of faults on the nodes while the attempts held them. The planted rate
    is this number plus the failures of shared faults (planted one by one), divided by the node-days.
    """
    profile, ledger, failures = record.profile, record.ledger, record.ledger.failures
    low, high = profile.accounting_from, profile.accounting_until
    days, expected = held_node_days(ledger, low, high), expected_faults(profile, ledger, low, high)
    inside, gpus = (failures["at"] >= low) & (failures["at"] < high), ledger.gpus()
    shared, incident = (ledger.faults[name][failures["fault"]] for name in ("is_shared", "incident"))
    visible = is_named(visible_categories(ledger))
    populations = {"all": gpus > 0, f"gpus_gt_{LARGE_GPUS}": gpus > LARGE_GPUS}
    failed = [inside & members[failures["attempt"]] for members in populations.values()]
    return {
        "population": list(populations),
        "from_epoch": [record.epoch + low] * 2,
        "until_epoch": [record.epoch + high] * 2,
        "node_days": [float(days[members].sum()) for members in populations.values()],
        "failed_attempt_count": [int(found.sum()) for found in failed],
        "visible_failed_attempt_count": [int((found & visible).sum()) for found in failed],
        "incident_count": [len(np.unique(incident[found])) for found in failed],
        "shared_failed_attempt_count": [int((found & shared).sum()) for found in failed],
        "expected_fault_count": [float(expected[members].sum()) for members in populations.values()],
    }


def _rate_changes(record: Record) -> Table:
    """One row per planted change of the rate of independent faults. A null category means all categories."""
    changes = rate_changes(record.profile, record.ledger)
    return {
        "changed_epoch": epochs(record, np.array([at for at, _, _, _ in changes], np.int64)),
        "category": _texts(category for _, category, _, _ in changes),
        "rate_before": pa.array([before for _, _, before, _ in changes], pa.float64()),
        "rate_after": pa.array([after for _, _, _, after in changes], pa.float64()),
    }


def planted(record: Record) -> dict[str, Any]:
    """Summarise what was planted and the resulting counts."""
    profile, ledger = record.profile, record.ledger
    faults, failures, gpus = ledger.faults, ledger.failures, ledger.gpus()
    failed, incident = failures["attempt"], faults["incident"][failures["fault"]]
    seconds = ledger.held_seconds(profile.horizon)
    node_days = seconds / DAY * np.diff(ledger.nodes.starts)
    is_large, is_visible = gpus[failed] > LARGE_GPUS, is_named(visible_categories(ledger))
    all_days, large_days = float(node_days.sum()), float(node_days[gpus > LARGE_GPUS].sum())
    mean_rate = sum(map(profile.mean_rate_of, range(profile.node_count))) / profile.node_count
    completed = has_evidence(ledger)[ledger.attempts["state"] == COMPLETED]
    incident_count = len(np.unique(incident))

    def rate(count: int, days: float) -> float | None:
        return round(1000 * count / days, 4) if days > 0 else None

    return {
        "simulated": True,
        "cluster_id": profile.cluster_id,
        "seed": record.seed,
        "days": profile.days,
        "node_count": profile.node_count,
        "lemon_count": len(profile.lemon_nodes),
        "faults_per_1000_node_days": 1000 * mean_rate,
        "faults_per_1000_node_days_without_lemons": 1000 * profile.fault_rate,
        "fault_count": int(_ends_jobs(ledger).sum()),
        "drain_count": int((faults["mechanism"] == DRAIN).sum()),
        "alarm_count": int((faults["mechanism"] == ALARM).sum()),
        "attempt_count": len(ledger.attempts),
        "failed_attempt_count": len(failed),
        "failed_attempt_count_shared_faults": int(faults["is_shared"][failures["fault"]].sum()),
        "failed_attempt_count_visible": int(is_visible.sum()),
        "attempt_node_days": round(all_days, 3),
        "failed_attempt_count_gt_128": int(is_large.sum()),
        "failed_attempt_count_gt_128_visible": int((is_large & is_visible).sum()),
        "attempt_node_days_gt_128": round(large_days, 3),
        "failures_per_1000_node_days": rate(len(failed), all_days),
        "failures_per_1000_node_days_gt_128": rate(int(is_large.sum()), large_days),
        "incidents_per_1000_node_days": rate(incident_count, all_days),
        "incidents_per_1000_node_days_gt_128": rate(len(np.unique(incident[is_large])), large_days),
        "utilization": round(float((seconds.astype(np.float64) * gpus).sum()) / profile.gpu_seconds, 4),
        "planned_end_count": len(ledger.planned_ends),
        "completed_share_with_evidence": round(float(completed.mean()), 6) if len(completed) else None,
        "attempts_per_incident": round(len(failed) / max(incident_count, 1), 3),
        "assumed_checkpoint_seconds": profile.checkpoint_seconds,
        "restart_seconds": profile.restart_seconds,
    }


BUILDERS = (
    _attempts, _failures, _planned_ends, _hidden_faults, _driver_rollouts, _faults, _relapses, _incidents, _preemptions,
    _outages, _nodes, _runs, _checks, _months, _populations, _rate_changes,
)  # fmt: skip
TABLES = {build.__name__.lstrip("_"): build for build in BUILDERS}


def write_truth(record: Record, folder: Path) -> None:
    """Write one Parquet file per table and `planted.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    label = {"simulated": "true", "cluster_id": record.profile.cluster_id}
    for name, build in TABLES.items():
        table = pa.table(build(record)).replace_schema_metadata(label)
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd", row_group_size=ROWS_PER_GROUP)
    (folder / "planted.json").write_text(json.dumps(planted(record), indent=2) + "\n", encoding="utf-8")
