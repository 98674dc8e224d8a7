"""The results of health checks as columns, one day at a time: good results, failing results, and results around jobs.

The text of a result is a number in `Wordings`. Its time is the second at which the check begins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assets.simulation.logs.checks import ALL, DAILY, EPILOG, FREQUENT, NUMBERS, PROLOG
from assets.simulation.logs.conditions import Conditions, Ints, fails_until
from assets.simulation.logs.record import Record
from assets.simulation.service import check_phase
from assets.simulation.states import ALARM
from assets.simulation.xids import XID_CAUSES

OK, WARN, CRITICAL = 0, 1, 2
PERIODIC, BEFORE_JOB, AFTER_JOB = "nagios", "prolog", "epilog"
VALIDATION_SECONDS = 60
"""All checks of a node run this long before it is put back into service, one per second."""


class Results(NamedTuple):
    """Columns of results. The job of a periodic check is 0."""

    seconds: Ints
    nodes: Ints
    wordings: Ints
    jobs: Ints


class Wording(NamedTuple):
    """The content of a result, except its time, node and job."""

    result: int
    check: str
    message: str
    kind: str


class Wordings:
    """All wordings of results, numbered in order of their first use."""

    def __init__(self) -> None:
        self._numbers: dict[Wording, int] = {}

    def number(self, result: int, check: str, message: str, kind: str = PERIODIC) -> int:
        """Return the number of a wording."""
        return self._numbers.setdefault(Wording(result, check, message, kind), len(self._numbers))

    def good(self, check: str, kind: str = PERIODIC) -> int:
        """Return the number of a check's good result."""
        return self.number(OK, check, ALL[check], kind)

    def all(self) -> list[Wording]:
        """Return the wordings in order of their numbers."""
        return list(self._numbers)


def _repeated(counts: Ints) -> tuple[Ints, Ints]:
    """Return the row's number and the number of the repetition, for every repetition of every row."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)


def _whole(column: Any) -> Ints:
    wide: Ints = np.asarray(column).astype(np.int64)
    return wide


def _in_order(times: Any, chosen: Any) -> Ints:
    """Return the chosen rows and their times, in order of time."""
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(times[rows], kind="stable")]
    return np.stack((rows, _whole(times[rows])))


class Routine:
    """Good results of the periodic checks. Few are kept, at regular intervals that are spread over the fleet."""

    def __init__(self, record: Record, conditions: Conditions, wordings: Wordings) -> None:
        period, logs, nodes = record.profile.check_seconds, record.profile.logs, np.arange(record.profile.node_count)
        phases = np.array([check_phase(node, period) for node in nodes.tolist()])
        self._conditions, self._horizon = conditions, record.profile.horizon
        self._series: list[tuple[int, Ints, Ints, Ints, Ints]] = []
        for kind, every, step in ((FREQUENT, logs.frequent_seconds, 0), (DAILY, logs.daily_seconds, 7 * period)):
            checks = [check for check in kind if check not in logs.failure_only_checks]
            place = np.arange(len(checks))[:, None] * every // max(len(checks), 1) + nodes * step
            firsts = (phases + place // period * period % every).ravel()
            numbers = np.repeat([NUMBERS[check] for check in checks], len(nodes))
            said = np.repeat([wordings.good(check) for check in checks], len(nodes))
            self._series.append((every, firsts, np.tile(nodes, len(checks)), numbers, said))

    def between(self, low: int, high: int) -> Results:
        """Give the results of a span of time."""
        parts = [self._of(*series, low, min(high, self._horizon)) for series in self._series]
        return Results(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _of(self, every: int, firsts: Ints, nodes: Ints, checks: Ints, wordings: Ints, low: int, high: int) -> Results:
        ticks = firsts + np.maximum(0, -((firsts - low) // every)) * every
        rows, repetition = _repeated(np.maximum(0, -((ticks - high) // every)))
        seconds = ticks[rows] + repetition * every
        well = self._conditions.well(nodes[rows], checks[rows], seconds)
        rows, seconds = rows[well], seconds[well]
        return Results(seconds, nodes[rows], wordings[rows], np.zeros_like(rows))


class Validations:
    """Good results of all checks, which run before a node returns to service."""

    def __init__(self, record: Record, conditions: Conditions, wordings: Wordings) -> None:
        rows, self._ends = _in_order(record.ledger.outages["end"], record.ledger.outages["end"] >= 0)
        self._nodes = _whole(record.ledger.outages["node"])[rows]
        silent = record.profile.logs.failure_only_checks
        self._checks = np.array([number for check, number in NUMBERS.items() if check not in silent], np.int64)
        self._wordings = np.array([wordings.good(check) for check in ALL])
        self._conditions = conditions

    def between(self, low: int, high: int) -> Results:
        """Give the results of a span of time."""
        near = slice(*np.searchsorted(self._ends, (low, high + VALIDATION_SECONDS)).tolist())
        rows, checks = (grid.ravel() for grid in np.meshgrid(np.arange(len(self._ends))[near], self._checks))
        seconds, nodes = self._ends[rows] - VALIDATION_SECONDS + checks, self._nodes[rows]
        kept = (seconds >= low) & (seconds < high) & self._conditions.well(nodes, checks, seconds)
        return Results(seconds[kept], nodes[kept], self._wordings[checks[kept]], np.zeros(int(kept.sum()), np.int64))


class Failing:
    """Failing checks: every run, the epilog that finds the fault, and one good result after an alarm."""

    def __init__(self, record: Record, conditions: Conditions, wordings: Wordings) -> None:
        faults, self._period, horizon = record.ledger.faults, record.profile.check_seconds, record.profile.horizon
        self._conditions = conditions
        names = ("node", "checks_from", "mechanism", "epilog_job")
        columns = (faults[name].tolist() for name in names)
        series: list[tuple[int, ...]] = []
        points: list[tuple[int, ...]] = []
        rows = zip(record.ledger.symptoms, fails_until(record).tolist(), *columns, strict=True)
        for symptoms, until, node, found, mechanism, job in rows:
            if found < 0:
                continue
            first = self._next_tick(node, found)
            for check, message in symptoms.checks:
                number = NUMBERS[check]
                series.append((first, min(until, horizon), node, number, wordings.number(CRITICAL, check, message)))
                if job >= 0:
                    points.append((found, node, number, wordings.number(CRITICAL, check, message, AFTER_JOB), job))
                is_reported = check not in record.profile.logs.failure_only_checks
                if mechanism == ALARM and is_reported and (passing := self._next_tick(node, until)) < horizon:
                    points.append((passing, node, number, wordings.good(check), 0))
        self._series = tuple(np.array(series, np.int64).reshape(-1, 5).T)
        self._points = np.array(sorted(points), np.int64).reshape(-1, 5).T

    def _next_tick(self, node: int, second: int) -> int:
        return second + (check_phase(node, self._period) - second) % self._period

    def between(self, low: int, high: int) -> Results:
        """Give the results of a span of time."""
        firsts, untils, nodes, checks, wordings = self._series
        active = np.flatnonzero((firsts < high) & (untils > low))
        ticks = firsts[active] + np.maximum(0, -((firsts[active] - low) // self._period)) * self._period
        rows, repetition = _repeated(np.maximum(0, -((ticks - np.minimum(untils[active], high)) // self._period)))
        seconds, rows = ticks[rows] + repetition * self._period, active[rows]
        heard = ~self._conditions.silent.cover(nodes[rows], seconds) & self._conditions.exist(checks[rows], seconds)
        seconds, rows = seconds[heard], rows[heard]
        points = self._points[:, slice(*np.searchsorted(self._points[0], (low, high)).tolist())]
        # No good result follows an alarm that ends while the check has a true reason to fail.
        has_result = self._conditions.exist(points[2], points[0])
        has_result &= (points[4] > 0) | self._conditions.sound(points[1], points[2], points[0])
        at, where, _, said, jobs = points[:, has_result]
        return Results(
            np.concatenate((seconds, at)),
            np.concatenate((nodes[rows], where)),
            np.concatenate((wordings[rows], said)),
            np.concatenate((np.zeros_like(rows), jobs)),
        )


class AroundJobs:
    """The checks before and after a job, on each of its nodes. Good results are kept for a share of the attempts."""

    def __init__(self, record: Record, conditions: Conditions, wordings: Wordings) -> None:
        ledger, attempts = record.ledger, record.ledger.attempts
        self._conditions, self._nodes = conditions, ledger.nodes.values
        self._firsts, self._sizes = ledger.nodes.starts[:-1], np.diff(ledger.nodes.starts)
        self._jobs, self._app_xids = ledger.jobs["job_id"][attempts["job"]], attempts["app_xid"]
        self._kept = record.rng("job checks").random(len(self._sizes)) < record.profile.logs.job_check_share
        starts, ends = attempts["start"], attempts["end"]
        ran = (self._sizes > 0) & (starts >= 0) & (ends != starts)
        self._begun = _in_order(starts, ran & self._kept)
        self._ended = _in_order(ends, ran & (ends >= 0) & (self._kept | (self._app_xids > 0)))
        self._silent = record.profile.logs.failure_only_checks
        self._good = {PROLOG: wordings.good(PROLOG, BEFORE_JOB), EPILOG: wordings.good(EPILOG, AFTER_JOB)}
        self._by_xid = np.full(max(XID_CAUSES) + 1, -1, np.int64)
        for xid in np.unique(self._app_xids[self._app_xids > 0]).tolist():
            message = f"non-critical XID error: {xid}, XID causes: {XID_CAUSES[xid]}. "
            self._by_xid[xid] = wordings.number(WARN, EPILOG, message, AFTER_JOB)

    def between(self, low: int, high: int) -> Results:
        """Give the results of a span of time."""
        begun, seconds = self._begun[:, slice(*np.searchsorted(self._begun[1], (low, high)).tolist())]
        rows, position = _repeated(self._sizes[begun])
        before = self._find_results(begun[rows], position, seconds[rows], PROLOG, np.zeros_like(rows))
        ended, seconds = self._ended[:, slice(*np.searchsorted(self._ended[1], (low, high)).tolist())]
        rows, position = _repeated(np.where(self._kept[ended], self._sizes[ended], 1))
        xids = np.where(position == 0, self._app_xids[ended[rows]], 0)
        after = self._find_results(ended[rows], position, seconds[rows], EPILOG, xids)
        return Results(*(np.concatenate(columns) for columns in zip(before, after, strict=True)))

    def _find_results(self, attempts: Ints, position: Ints, seconds: Ints, check: str, xids: Ints) -> Results:
        """Return the results of one check on the attempts' nodes at these positions."""
        nodes = _whole(self._nodes[self._firsts[attempts] + position])
        said = np.where(xids > 0, self._by_xid[xids], self._good[check])
        well = self._conditions.well(nodes, np.full_like(nodes, NUMBERS[check]), seconds)
        well &= (xids > 0) | (check not in self._silent)
        return Results(seconds[well], nodes[well], said[well], _whole(self._jobs[attempts])[well])
