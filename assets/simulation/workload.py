"""Draws all submissions of a simulation, as columns, before the clock starts: user, size, time, outcome.

Retries, requeues and later pieces of a chained run are created during the simulation.
"""

from __future__ import annotations

from array import array
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import NAME_BITS
from assets.simulation.profiles import HOUR, Profile, SizeClass, Stream
from assets.simulation.states import CANCELLED, COMPLETED, FAILED, OUT_OF_MEMORY, QOS, QOS_SCAVENGER, STATES, TIMEOUT

IntArray = NDArray[np.int64]

LIMIT_HOURS = np.array([1, 2, 4, 8, 12, 24, 48, 72, 120, 168])
MIN_SECONDS = 40
LARGE_GPUS = 64
HIGH_SHARE, HIGH_SHARE_LARGE = 0.06, 0.2
"""Share of the main stream's submissions, and of its large ones, that have the highest class."""
PIECE_SECONDS = 30 * HOUR
"""Long runs of many GPUs are often cut into chained jobs of at most this length, except in the highest class."""
EARLY_FAILURE = (0.03, 0.7)
"""Failed and cancelled work ends at a share of its run time between these two."""
CHECKPOINT_SECONDS, CHECKPOINT_SHARES = np.array([900, 1800, 3600, 7200]), (0.15, 0.25, 0.45, 0.15)
"""Checkpoint intervals of runs, and their shares. The logs do not show them."""
USER_EXITS = ((1, 0), (1, 0), (1, 0), (1, 0), (2, 0), (6, 0), (0, 11), (127, 0), (0, 9))
"""Exit code and signal of users' own failures."""
USER_XIDS = (31, 13, 43)
USER_XID_SHARE = 0.05
UNSTARTED_CANCEL_SHARE = 0.25
FAMILIES = {
    1: ("eval", "ablate", "probe", "tokenize", "notebook"),
    8: ("finetune", "distill", "sweep", "bench"),
    64: ("sft", "rlhf", "encoder", "midtrain"),
    1 << 30: ("pretrain", "scaling", "longctx"),
}
"""Families of job names by the largest number of GPUs they use."""
FAMILY_NAMES = tuple(name for names in FAMILIES.values() for name in names)


Workload = dict[str, "array[int]"]
"""Columns of submissions, ordered by arrival, as `_size_class` draws them. Times are seconds."""


def _arrivals(rng: np.random.Generator, profile: Profile, gpus: int, count: int) -> IntArray:
    """Draw arrival times. A backlog waits at the start; otherwise the cluster would be empty in its first days."""
    first_weekday = profile.first_day.weekday() * 24
    opening_share = min(0.3, 0.45 / profile.days)
    if gpus >= LARGE_GPUS:
        # Large jobs are few, so they are spread evenly: a dozen random dates would decide the load of a month.
        times = ((np.arange(count) + rng.random(count)) * profile.horizon / count).astype(np.int64)
        return np.where(rng.random(count) < 2 * opening_share, rng.integers(600, 4 * HOUR, count), times)
    day = 0.35 + np.exp(-0.5 * ((np.arange(24) - 14.5) / 3.8) ** 2)
    week = np.concatenate([day * factor for factor in (1.0, 1.05, 1.05, 1.0, 0.9, 0.45, 0.4)])  # from Monday on
    weights = np.resize(np.roll(week, -first_weekday), profile.days * 24)
    hours = rng.choice(len(weights), count, p=weights / weights.sum())
    times = hours * HOUR + rng.integers(0, HOUR, count)
    opening = rng.random(count) < opening_share
    times[opening] = rng.integers(600, 4 * HOUR, int(opening.sum()))
    return times


def _durations(rng: np.random.Generator, size: SizeClass, outcomes: NDArray[np.int64], longest: int) -> IntArray:
    seconds = size.median_hours * HOUR * np.exp(size.sigma * rng.standard_normal(len(outcomes)))
    early = (outcomes == FAILED) | (outcomes == CANCELLED)
    seconds[early] *= rng.uniform(*EARLY_FAILURE, int(early.sum()))
    out_of_memory = outcomes == OUT_OF_MEMORY
    seconds[out_of_memory] = rng.uniform(60, 1800, int(out_of_memory.sum()))
    return np.clip(seconds, MIN_SECONDS, longest).astype(np.int64)


def _size_class(rng: np.random.Generator, profile: Profile, stream: Stream, size: SizeClass) -> dict[str, IntArray]:
    budget = stream.load * size.share * profile.gpu_seconds / size.gpus
    mean = size.median_hours * HOUR * np.exp(size.sigma**2 / 2) * 0.7
    drawn = int(budget / mean * 2) + 20
    is_large = size.gpus >= LARGE_GPUS
    shares = profile.large_outcomes if is_large else profile.outcomes
    weights = np.array([shares.get(name, 0.0) for name in STATES])
    outcome = rng.choice(len(STATES), drawn, p=weights / weights.sum())
    seconds = _durations(rng, size, outcome, profile.max_run_seconds - 2 * HOUR)
    is_array = rng.random(drawn) < (0.04 if size.gpus == 1 else 0.0)
    tasks = np.where(is_array, rng.integers(3, 9, drawn), 0)
    count = int(np.searchsorted(np.cumsum(seconds * np.maximum(tasks, 1)), budget)) + 1
    outcome, seconds, tasks = outcome[:count], seconds[:count], tasks[:count]
    if stream.name == "scavenger":
        qos = np.full(count, QOS_SCAVENGER)
    else:
        qos = np.where(
            rng.random(count) < (HIGH_SHARE_LARGE if is_large else HIGH_SHARE), QOS.index("high"), QOS.index("normal")
        )
    completes = outcome == COMPLETED
    chained = is_large & completes & (seconds > PIECE_SECONDS) & (rng.random(count) < 0.6)
    chained &= qos != QOS.index("high")
    segments = np.where(chained, np.ceil(seconds / PIECE_SECONDS), 1).astype(np.int64)
    wished = seconds / segments * rng.uniform(1.3, 3.0, count) + 2 * profile.restart_seconds
    limit = LIMIT_HOURS[np.searchsorted(LIMIT_HOURS, np.minimum(wished / HOUR, 168))] * HOUR
    timed_out = outcome == TIMEOUT
    limit[timed_out] = np.minimum(limit[timed_out], LIMIT_HOURS[rng.integers(0, 5, int(timed_out.sum()))] * HOUR)
    failed, cancelled = outcome == FAILED, outcome == CANCELLED
    loses_patience = cancelled & (rng.random(count) < UNSTARTED_CANCEL_SHARE)
    has_xid = failed & (rng.random(count) < USER_XID_SHARE)
    return {
        "arrival": _arrivals(rng, profile, size.gpus, count),
        "user": _users(rng, profile.users, size.gpus, count),
        "gpus": np.full(count, size.gpus),
        "qos": qos,
        "outcome": outcome,
        "seconds": np.maximum(seconds // segments, MIN_SECONDS),  # until the outcome, without the time of restarts
        "limit": np.minimum(limit, profile.max_run_seconds),
        "segments": segments,  # number of chained jobs
        "tasks": tasks,  # of a job array; 0 for a plain job
        "can_requeue": rng.random(count) < 0.88,
        "name": _names(rng, size.gpus, count),
        "checkpoint": CHECKPOINT_SECONDS[rng.choice(len(CHECKPOINT_SECONDS), count, p=CHECKPOINT_SHARES)],
        # How long the user waits for a start; 0 means without limit.
        "patience": np.where(loses_patience, rng.integers(120, 6 * HOUR, count), 0),
        "exit": rng.integers(0, len(USER_EXITS), count),  # index in USER_EXITS, for work that fails by itself
        "app_xid": np.where(has_xid, np.array(USER_XIDS)[rng.integers(0, len(USER_XIDS), count)], 0),
    }


def _names(rng: np.random.Generator, gpus: int, count: int) -> IntArray:
    families = next(names for most, names in FAMILIES.items() if gpus <= most)
    first = FAMILY_NAMES.index(families[0])
    family = first + rng.integers(0, len(families), count)
    return family << NAME_BITS | rng.integers(0, 1 << NAME_BITS, count)


def _users(rng: np.random.Generator, users: int, gpus: int, count: int) -> IntArray:
    """Draw users, a few of whom submit much. Large work comes from the first quarter of the list."""
    pool = max(users // 4, 1) if gpus >= LARGE_GPUS else users
    weights = 1.0 / np.arange(1, pool + 1) ** 0.7
    return rng.choice(pool, count, p=weights / weights.sum())


def draw_workload(rng: np.random.Generator, profile: Profile) -> Workload:
    """Draw all submissions of a profile's days.

    Sizes above `largest_share` of the cluster are left out, and the other sizes of the stream get their time.
    """
    largest = profile.largest_share * profile.node_count * profile.gpus_per_node
    parts = []
    for stream in profile.streams:
        kept = [size for size in stream.sizes if size.gpus <= largest]
        factor = sum(size.share for size in stream.sizes) / sum(size.share for size in kept)
        parts += [_size_class(rng, profile, stream, replace(size, share=size.share * factor)) for size in kept]
    order = np.argsort(np.concatenate([part["arrival"] for part in parts]), kind="stable")
    workload: Workload = {}
    for name in list(parts[0]):
        column = np.concatenate([part.pop(name) for part in parts])[order]
        workload[name] = array("i", column.astype(np.int32).tobytes())
    return workload
