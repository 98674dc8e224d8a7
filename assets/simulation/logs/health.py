"""Health checks as GCM's file sink writes them: JSON lines, gzip, one file per UTC day.

Every check runs every five minutes. As at real sites, few good results are kept; failures are all kept, until the node
restarts. A node that is dead or restarting writes nothing.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.conditions import (
    ALL,
    ANSWERS,
    DAILY,
    EXISTS,
    FREQUENT,
    NUMBERS,
    SOUND,
    WELL,
    Conditions,
    Ints,
    fails_until,
)
from assets.simulation.logs.record import Record
from assets.simulation.profiles import DAY
from assets.simulation.service import check_phase
from assets.simulation.states import ALARM
from assets.simulation.symptoms import XID_CAUSES

PROLOG, EPILOG = "mounted directory", "xid errors"
LEVEL = 3
"""Level of gzip: a sixth more bytes than level 6, in half the time."""
GZIP = 16 + zlib.MAX_WBITS
OK, WARN, CRITICAL = 0, 1, 2
PERIODIC, BEFORE_JOB, AFTER_JOB = "nagios", "prolog", "epilog"
VALIDATION_SECONDS = 60
"""All checks of a node run this long before it is put back into service, one per second."""


class Wording(NamedTuple):
    """The content of a result, except its time, node and job."""

    result: int
    check: str
    message: str
    kind: str


class Wordings:
    """All wordings of results, numbered in order of their first use."""

    def __init__(self) -> None:
        self.numbers: dict[Wording, int] = {}

    def number(self, result: int, check: str, message: str, kind: str = PERIODIC) -> int:
        """Return the number of a wording."""
        return self.numbers.setdefault(Wording(result, check, message, kind), len(self.numbers))

    def good(self, check: str, kind: str = PERIODIC) -> int:
        """Return the number of a check's good result."""
        return self.number(OK, check, ALL[check], kind)


class Series(NamedTuple):
    """Columns of results from `first` to before `until`, `every` seconds. The job of a periodic check is 0.

    `needs` is the condition under which the result is kept.
    """

    first: Ints
    until: Ints
    every: Ints
    node: Ints
    check: Ints
    wording: Ints
    job: Ints
    needs: Ints


def _series(*columns: Any) -> Series:
    return Series(*(column.astype(np.int64) for column in np.broadcast_arrays(*columns)))


def _repeated(counts: Ints) -> tuple[Ints, Ints]:
    """Return the row number and the repetition number of every repetition."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def _in_order(times: Any, chosen: Any) -> Ints:
    """Return the chosen rows in order of time."""
    rows: Ints = np.flatnonzero(chosen)
    return rows[np.argsort(times[rows], kind="stable")]


def _next_tick(period: int, node: int, second: int) -> int:
    return second + (check_phase(node, period) - second) % period


def _routine(record: Record, wordings: Wordings, names: dict[str, str], every: int, step: int) -> Series:
    """Return good results of periodic checks. Few are kept, at regular intervals that are spread over the fleet."""
    period, nodes = record.profile.check_seconds, np.arange(record.profile.node_count)
    checks = [check for check in names if check not in record.profile.logs.failure_only_checks]
    phases = np.array([check_phase(node, period) for node in nodes.tolist()])
    place = np.arange(len(checks))[:, None] * every // max(len(checks), 1) + nodes * step
    firsts = (phases + place // period * period % every).ravel()
    numbers = np.repeat(np.array([NUMBERS[check] for check in checks], np.int64), len(nodes))
    said = np.repeat(np.array([wordings.good(check) for check in checks], np.int64), len(nodes))
    return _series(firsts, record.profile.horizon, every, np.tile(nodes, len(checks)), numbers, said, 0, WELL)


def _validations(record: Record, wordings: Wordings) -> Series:
    """Return good results of all checks, which run before a node returns to service."""
    outages, said = record.ledger.outages, np.array([wordings.good(check) for check in ALL])
    rows, silent = _in_order(outages["end"], outages["end"] >= 0), record.profile.logs.failure_only_checks
    checks = np.array([number for check, number in NUMBERS.items() if check not in silent], np.int64)
    at = (outages["end"][rows] - VALIDATION_SECONDS + checks[:, None]).ravel()
    checks, nodes = np.repeat(checks, len(rows)), np.tile(outages["node"][rows], len(checks))
    return _series(at, at + 1, 1, nodes, checks, said[checks], 0, WELL)


def _failing(record: Record, wordings: Wordings) -> tuple[Series, Series]:
    """Return every run of failing checks; then the epilogs that found faults, and one good result after each alarm."""
    faults, period, horizon = record.ledger.faults, record.profile.check_seconds, record.profile.horizon
    columns = (faults[name].tolist() for name in ("node", "checks_from", "mechanism", "epilog_job"))
    runs: list[tuple[int, ...]] = []
    points: list[tuple[int, ...]] = []
    rows = zip(record.ledger.symptoms, fails_until(record).tolist(), *columns, strict=True)
    for symptoms, until, node, found, mechanism, job in rows:
        for check, message in symptoms.checks if found >= 0 else ():
            number, first = NUMBERS[check], _next_tick(period, node, found)
            said = wordings.number(CRITICAL, check, message)
            runs.append((first, min(until, horizon), period, node, number, said, 0, ANSWERS))
            if job >= 0:
                said = wordings.number(CRITICAL, check, message, AFTER_JOB)
                points.append((found, found + 1, 1, node, number, said, job, EXISTS))
            is_reported = check not in record.profile.logs.failure_only_checks
            if mechanism == ALARM and is_reported and (passing := _next_tick(period, node, until)) < horizon:
                # No good result follows an alarm that ends while the check has a true reason to fail.
                points.append((passing, passing + 1, 1, node, number, wordings.good(check), 0, SOUND))
    return tuple(_series(*np.array(found, np.int64).reshape(-1, 8).T) for found in (runs, sorted(points)))  # type: ignore[return-value]


def _around_jobs(record: Record, wordings: Wordings) -> tuple[Series, Series]:
    """Return the checks before and after a job, on each node. Good results are kept for a share of the attempts."""
    ledger, attempts, silent = record.ledger, record.ledger.attempts, record.profile.logs.failure_only_checks
    starts, ends, app_xids = attempts["start"], attempts["end"], attempts["app_xid"]
    sizes, jobs = np.diff(ledger.nodes.starts), ledger.jobs["job_id"][attempts["job"]]
    kept = record.rng("job checks").random(len(sizes)) < record.profile.logs.job_check_share
    ran = (sizes > 0) & (starts >= 0) & (ends != starts)
    good = {PROLOG: wordings.good(PROLOG, BEFORE_JOB), EPILOG: wordings.good(EPILOG, AFTER_JOB)}
    by_xid = np.full(max(XID_CAUSES) + 1, good[EPILOG], np.int64)
    for xid in np.unique(app_xids[app_xids > 0]).tolist():
        message = f"non-critical XID error: {xid}, XID causes: {XID_CAUSES[xid]}. "
        by_xid[xid] = wordings.number(WARN, EPILOG, message, AFTER_JOB)

    def results(chosen: Ints, counts: Ints, times: Ints, check: str) -> Series:
        rows, position = _repeated(counts)
        rows = chosen[rows]
        xids = np.where((position == 0) & (check == EPILOG), app_xids[rows], 0)
        said = by_xid[xids] if check == EPILOG else good[check]
        nodes, at = ledger.nodes.values[ledger.nodes.starts[:-1][rows] + position], times[rows]
        made = _series(at, at + 1, 1, nodes, NUMBERS[check], said, jobs[rows], WELL)
        is_kept = (xids > 0) | (check not in silent)
        return Series(*(column[is_kept] for column in made))

    begun = _in_order(starts, ran & kept)
    ended = _in_order(ends, ran & (ends >= 0) & (kept | (app_xids > 0)))
    after = results(ended, np.where(kept[ended], sizes[ended], 1), ends, EPILOG)
    return results(begun, sizes[begun], starts, PROLOG), after


def _phrases(record: Record, wordings: Wordings) -> tuple[NDArray[Any], ...]:
    """Return the text before the job and the text after the node by wording, and the text of each node."""
    cluster = json.dumps(record.profile.cluster_id)
    heads = [f'{{"int": {{"result": {wording.result}, "job_id": ' for wording in wordings.numbers]
    nodes = [f'"normal": {{"node": {json.dumps(name)}, ' for name in record.node_names]
    tails = [
        f'"cluster": {cluster}, "derived_cluster": {cluster}, "health_check": {json.dumps(wording.check)}, '
        f'"type": "{wording.kind}", "_msg": {json.dumps(wording.message)}}}, "tags": {{}}}}\n'
        for wording in wordings.numbers
    ]
    return tuple(np.array(texts, object) for texts in (heads, nodes, tails))


def write_health(record: Record, folder: Path) -> None:
    """Write `health-<day>.jsonl.gz` for every UTC day."""
    conditions, wordings, rng, logs = Conditions(record), Wordings(), record.rng("health"), record.profile.logs
    parts = [
        _routine(record, wordings, FREQUENT, logs.frequent_seconds, 0),
        _routine(record, wordings, DAILY, logs.daily_seconds, 7 * record.profile.check_seconds),
        _validations(record, wordings),
        *_failing(record, wordings),
        *_around_jobs(record, wordings),
    ]
    series = Series(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    heads, nodes, tails = _phrases(record, wordings)
    folder.mkdir(parents=True, exist_ok=True)
    for day in range(record.epoch // DAY, (record.epoch + record.profile.horizon) // DAY + 1):
        low = day * DAY - record.epoch
        ticks = series.first + np.maximum(0, -((series.first - low) // series.every)) * series.every
        ends = np.minimum(series.until, low + DAY)
        rows, repetition = _repeated(np.maximum(0, -((ticks - ends) // series.every)))
        seconds = ticks[rows] + repetition * series.every[rows]
        kept = conditions.allow(series.node[rows], series.check[rows], seconds, series.needs[rows])
        rows, begun = rows[kept], 1000 * (seconds[kept] + record.epoch) + rng.integers(20, 950, int(kept.sum()))
        ended = begun + 1 + rng.exponential(40.0, len(begun)).astype(np.int64)
        order = np.lexsort((series.wording[rows], series.node[rows], begun))
        rows, said = rows[order], series.wording[rows[order]]
        times = (*np.divmod(begun[order], 1000), *np.divmod(ended[order], 1000))
        columns = (heads[said], series.job[rows], *times, nodes[series.node[rows]], tails[said])
        text = "".join(
            f'{head}{job}}}, "double": {{"start_time": {start}.{ms:03d}, "end_time": {end}.{end_ms:03d}}}, {node}{tail}'
            for head, job, start, ms, end, end_ms, node, tail in zip(
                *(column.tolist() for column in columns), strict=True
            )
        )
        if text:
            # The gzip header has no time, so the same seed gives the same bytes.
            name = f"health-{np.datetime64(day, 'D')}.jsonl.gz"
            (folder / name).write_bytes(zlib.compress(text.encode(), LEVEL, GZIP))
