"""Health checks as GCM's file sink writes them: JSON lines, gzip, one file per UTC day.

Every check runs every five minutes, but good results are thinned out, as sites do. A failing check is kept every time
it runs, until the node restarts. A node that is dead or restarting says nothing.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.checks import ALL, DAILY, EPILOG, FREQUENT, PROLOG
from assets.simulation.logs.conditions import Conditions, FloatArray, cleared_at, outside
from assets.simulation.logs.record import Record
from assets.simulation.profiles import DAY
from assets.simulation.service import BOOT_SECONDS, check_phase
from assets.simulation.symptoms import XID_CAUSES

OK, WARN, CRITICAL = 0, 1, 2
TYPES = ("nagios", "prolog", "epilog")


@dataclass
class Results:
    """Check results in columns; `texts` holds each distinct (check, message) once."""

    times: list[FloatArray] = field(default_factory=list)
    columns: list[NDArray[np.int64]] = field(default_factory=list)
    texts: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(
        self, times: FloatArray, node: int, result: int, check: str, message: str, kind: int = 0, job_id: int = 0
    ) -> None:
        """Add results of one check on one node."""
        text = self.texts.setdefault((check, message), len(self.texts))
        self.times.append(times)
        self.columns.append(np.tile(np.array([[node, result, text, kind, job_id]]), (len(times), 1)))


def _routine(record: Record, conditions: Conditions, results: Results) -> None:
    period, horizon = record.profile.check_seconds, record.profile.horizon
    for node in range(record.profile.node_count):
        first = check_phase(node, period)
        for number, (check, message) in enumerate(FREQUENT.items()):
            offset = number * (record.profile.logs.frequent_seconds // 3) // period * period
            times = np.arange(first + offset, horizon, record.profile.logs.frequent_seconds, dtype=float)
            results.add(conditions.well(times, node, check), node, OK, check, message)
        for number, (check, message) in enumerate(DAILY.items()):
            offset = (number * DAY // len(DAILY) + node * 7 * period) // period * period % DAY
            results.add(
                conditions.well(np.arange(first + offset, horizon, DAY, dtype=float), node, check),
                node,
                OK,
                check,
                message,
            )


def _validations(record: Record, conditions: Conditions, results: Results) -> None:
    """Add the full round of checks a node passes before it is put back."""
    outages = record.ledger.outages
    for node, end in zip(outages["node"].tolist(), outages["end"].tolist(), strict=True):
        if end >= 0:
            for number, (check, message) in enumerate(ALL.items()):
                results.add(conditions.well(np.array([end - 60.0 + number]), node, check), node, OK, check, message)


def _failing(record: Record, conditions: Conditions, results: Results) -> None:
    faults, period = record.ledger.faults, record.profile.check_seconds
    for fault, symptoms in enumerate(record.ledger.symptoms):
        node, found = int(faults["node"][fault]), int(faults["checks_from"][fault])
        if found < 0:
            continue
        first = found + (check_phase(node, period) - found) % period
        ticks = np.arange(
            first, min(cleared_at(record, fault) - BOOT_SECONDS, record.profile.horizon), period, dtype=float
        )
        job_id = int(faults["epilog_job"][fault])
        for check, message in symptoms.checks:
            if job_id >= 0:
                results.add(np.array([float(found)]), node, CRITICAL, check, message, TYPES.index("epilog"), job_id)
            results.add(outside(ticks, conditions.silent[node]), node, CRITICAL, check, message)


def _around_jobs(record: Record, conditions: Conditions, results: Results) -> None:
    attempts, jobs = record.ledger.attempts, record.ledger.jobs
    for attempt in range(len(record.ledger.nodes)):
        nodes = record.ledger.nodes[attempt]
        job_id = int(jobs["job_id"][attempts["job"][attempt]])
        start, end, xid = (int(attempts[name][attempt]) for name in ("start", "end", "app_xid"))
        for position, node in enumerate(nodes.tolist()):
            if end == start:
                continue
            before = conditions.well(np.array([float(start)]), node, PROLOG)
            results.add(before, node, OK, PROLOG, FREQUENT[PROLOG], TYPES.index("prolog"), job_id)
            after = conditions.well(np.array([float(end)]), node, EPILOG) if end >= 0 else np.zeros(0)
            if xid and position == 0:
                message = f"non-critical XID error: {xid}, XID causes: {XID_CAUSES[xid]}. "
                results.add(after, node, WARN, EPILOG, message, TYPES.index("epilog"), job_id)
            else:
                results.add(after, node, OK, EPILOG, FREQUENT[EPILOG], TYPES.index("epilog"), job_id)


def write_health(record: Record, folder: Path) -> None:
    """Write `health-<day>.jsonl.gz` for every UTC day."""
    conditions, results = Conditions(record), Results()
    for part in (_routine, _validations, _failing, _around_jobs):
        part(record, conditions, results)
    rng = record.rng("health")
    columns = np.concatenate(results.columns)
    times = np.concatenate(results.times)
    times = np.round(times + rng.uniform(0.02, 0.95, len(times)), 3) + record.epoch
    ends = np.round(times + rng.exponential(0.04, len(times)) + 0.001, 3)
    order = np.lexsort((columns[:, 2], columns[:, 0], times))
    times, ends, columns = times[order], ends[order], columns[order]
    cluster = record.profile.cluster_id
    heads = [
        f'{{"node": "{name}", "cluster": "{cluster}", "derived_cluster": "{cluster}", "health_check": '
        for name in record.node_names
    ]
    texts = [(json.dumps(check), json.dumps(message)) for check, message in results.texts]
    folder.mkdir(parents=True, exist_ok=True)
    days = (times // DAY).astype(np.int64)
    for day in np.unique(days).tolist():
        rows = slice(int(np.searchsorted(days, day)), int(np.searchsorted(days, day, side="right")))
        lines = [
            f'{{"int": {{"result": {result}, "job_id": {job_id}}}, "double": {{"start_time": {start:.3f}, "end_time": {end:.3f}}}, '
            f'"normal": {heads[node]}{texts[text][0]}, "type": "{TYPES[kind]}", "_msg": {texts[text][1]}}}, "tags": {{}}}}\n'
            for start, end, (node, result, text, kind, job_id) in zip(
                times[rows].tolist(), ends[rows].tolist(), columns[rows].tolist(), strict=True
            )
        ]
        name = f"health-{record.utc(day * DAY - record.epoch):%Y-%m-%d}.jsonl.gz"
        with (folder / name).open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as zipped:
            zipped.write("".join(lines).encode())
