"""Kernel messages as rsyslog collects them from all nodes: ISO times with offset, one file per local day.

The messages come from faults, users' own GPU errors, restarts, and healthy machines.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from assets.simulation.logs.conditions import Conditions, Ints
from assets.simulation.logs.record import QUARTER_HOUR, Record, write_lines
from assets.simulation.profiles import DAY
from assets.simulation.states import OUT_OF_MEMORY
from assets.simulation.symptoms import xid_line

BOOT_LINE = "Linux version 5.15.0-1061-nvidia (buildd@lcy02-amd64-086) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0) #62-Ubuntu SMP"
FIRST_DRIVER = "535.104.05"
CHATTER = (
    "perf: interrupt took too long (2511 > 2500), lowering kernel.perf_event_max_sample_rate to 79500",
    "workqueue: nvidia_release hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND",
    "nfs: server nfs01 OK",
    "audit: backlog limit exceeded",
)
REPEATS = {13: 6, 31: 1, 43: 1}
"""Number of times that the driver repeats the Xids of users' programs."""
MICRO = 1_000_000
TIME_BITS = 46
"""A node and a microsecond are combined into one number, with the time in these low bits."""


class Lines:
    """Kernel lines: microsecond, node, and the number of a text. Many are added as columns, others one by one."""

    def __init__(self) -> None:
        self.texts: list[str] = [BOOT_LINE, *CHATTER]
        self.columns: list[Ints] = []
        self.single: list[tuple[int, int, int]] = []

    def say(self, at: float, node: int, text: str) -> None:
        """Add a line."""
        self.single.append((max(0, round(at * MICRO)), node, len(self.texts)))
        self.texts.append(text)


def _add_faults(record: Record, lines: Lines, rng: np.random.Generator) -> None:
    faults = record.ledger.faults
    fractions = rng.uniform(0, 1, len(faults)).tolist()
    rows = zip(record.ledger.symptoms, faults["at"].tolist(), faults["node"].tolist(), fractions, strict=True)
    for symptoms, at, node, fraction in rows:
        for offset, text in symptoms.kernel:
            if at + fraction + offset < record.profile.horizon:
                lines.say(at + fraction + offset, node, text)


def _add_programs(record: Record, lines: Lines, rng: np.random.Generator) -> None:
    """Add the lines that users' programs cause: errors on their GPUs, and too much memory."""
    attempts, nodes = record.ledger.attempts, record.ledger.nodes
    xids, out_of_memory = attempts["app_xid"], attempts["state"] == OUT_OF_MEMORY
    rows = np.flatnonzero((attempts["end"] >= 0) & (np.diff(nodes.starts) > 0) & ((xids > 0) | out_of_memory))
    columns = (
        xids[rows], out_of_memory[rows], attempts["end"][rows], nodes.values[nodes.starts[rows]], attempts["mask"][rows],
        rng.integers(20_000, 4_000_000, len(rows)),
    )  # fmt: skip
    for xid, is_out, end, node, mask, process in zip(*(column.tolist() for column in columns), strict=True):
        if xid:
            text = xid_line(xid, int(mask).bit_length() - 1, process)
            for repeat in range(REPEATS[xid]):
                lines.say(end - 1 + 0.01 * repeat, node, text)
        if is_out:
            text = f"Memory cgroup out of memory: Killed process {process} (python) total-vm:98231044kB, anon-rss:96012288kB, file-rss:72192kB"
            lines.say(end - 0.5, node, text)


def _add_chatter(record: Record, lines: Lines, rng: np.random.Generator) -> None:
    profile, silent = record.profile, Conditions(record).silent
    count = int(rng.poisson(profile.logs.chatter_per_node_day * profile.node_count * profile.days))
    times, nodes = rng.integers(0, profile.horizon * MICRO, count), rng.integers(0, profile.node_count, count)
    texts = rng.integers(1, 1 + len(CHATTER), count)
    heard = ~silent.cover(nodes, times // MICRO)
    lines.columns.append(np.stack((times[heard], nodes[heard], texts[heard])))


def _add_drivers(record: Record, lines: Lines, _rng: np.random.Generator) -> None:
    """Add the driver's line at loading: on the first day, with each new version, and after each start."""
    profile = record.profile
    for node in range(profile.node_count if profile.driver_rollouts else 0):
        versions = [(60, FIRST_DRIVER)]
        for rollout in profile.driver_rollouts:
            at = rollout.changed_at(node, profile.node_count)
            versions += [(at, rollout.version)] if at is not None else []
        starts = record.ledger.reboots["at"][record.ledger.reboots["node"] == node].tolist()
        loads = versions + [(at + 30, max(v for v in versions if v[0] <= at + 30)[1]) for at in starts if at > 60]
        for at, version in loads:
            lines.say(at, node, f"NVRM: loading NVIDIA UNIX x86_64 Kernel Module  {version}  Release Build")


def _uptimes(record: Record, times: Ints, nodes: Ints, texts: Ints) -> Ints:
    """Return the microseconds since each line's node last started. The line about a start comes first after it."""
    ages = record.rng("kernel boots").integers(DAY * MICRO, 30 * DAY * MICRO, record.profile.node_count)
    # Shifted, so that starts before the first day have no negative times.
    before = 30 * DAY * MICRO
    boots = texts == 0
    started = np.concatenate((before - ages, times[boots] + before))
    at = np.concatenate((np.arange(record.profile.node_count), nodes[boots]))
    keys = np.sort((at << TIME_BITS) + started)
    asked = (nodes << TIME_BITS) + times + before
    return asked - keys[np.searchsorted(keys, asked, side="right") - 1]


def _stamps(record: Record, times: Ints) -> list[str]:
    """Format times as rsyslog does: the wall clock to the microsecond, and its offset from UTC."""
    seconds, micros = np.divmod(times, MICRO)
    quarters, where = np.unique(seconds // QUARTER_HOUR, return_inverse=True)
    offsets = [record.local(quarter * QUARTER_HOUR).isoformat()[-6:] for quarter in quarters.tolist()]
    columns = (record.wall_clock.texts(seconds), micros.tolist(), where.tolist())
    return [f"{text}.{micro:06d}{offsets[quarter]}" for text, micro, quarter in zip(*columns, strict=True)]


def write_kernel(record: Record, folder: Path) -> None:
    """Write `kern-<day>.log`. A line has the seconds since its node's last start, as with printk."""
    lines, rng = Lines(), record.rng("kernel")
    reboots = np.stack((record.ledger.reboots["at"], record.ledger.reboots["node"])).astype(np.int64)
    booted = reboots[0] * MICRO + rng.integers(0, MICRO, reboots.shape[1])
    lines.columns.append(np.stack((booted, reboots[1], np.zeros_like(booted))))
    for add in (_add_faults, _add_programs, _add_chatter, _add_drivers):
        add(record, lines, rng)
    single = np.array(lines.single, np.int64).reshape(-1, 3).T
    times, nodes, texts = np.concatenate((single, *lines.columns), axis=1)
    order = np.lexsort((texts, nodes, times))
    times, nodes, texts = times[order], nodes[order], texts[order]
    uptimes = _uptimes(record, times, nodes, texts)
    days = record.wall_clock.days(times // MICRO)
    for day in np.unique(days).tolist():
        rows = np.flatnonzero(days == day)
        columns = (nodes[rows], texts[rows], *np.divmod(uptimes[rows], MICRO))
        written = [
            f"{stamp} {record.node_names[node]} kernel: [{second:5d}.{micro:06d}] {lines.texts[text]}"
            for stamp, node, text, second, micro in zip(
                _stamps(record, times[rows]), *(column.tolist() for column in columns), strict=True
            )
        ]
        write_lines(folder / f"kern-{record.wall_clock.date(day)}.log", written)
