"""What every log writer gets: the ledger, the wall clock with daylight saving, the names, and random generators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import NAME_BITS, Ledger
from assets.simulation.profiles import DAY, Profile
from assets.simulation.workload import FAMILY_NAMES

ACCOUNTS = ("nlp", "codegen", "vision", "speech", "rl", "bio", "robotics", "evals")
USERS = (
    "avocet", "bittern", "curlew", "dunlin", "egret", "fulmar", "gannet", "heron", "ibis", "jackdaw", "kestrel", "lapwing", "merlin",
    "nightjar", "osprey", "plover", "quail", "raven", "siskin", "turnstone", "umbrellabird", "vireo", "wigeon", "xenops", "yellowhammer",
    "zebrafinch", "auklet", "brambling", "crake", "dipper", "eider", "finch", "grebe", "hobby", "hoopoe", "junco", "kite", "linnet", "martin", "noddy",
)  # fmt: skip
FIRST_UID = 21_000
SLURM_USER = "slurm(64030)"
ROOT_USER = "root(0)"
CPUS_PER_GPU = 16
MEMORY_MB_PER_GPU = 120_000


QUARTER_HOUR = 900
"""Offsets from UTC change only at a quarter of an hour."""


class WallClock:
    """Converts columns of simulated seconds to local time; second 0 is the first day's local midnight."""

    def __init__(self, zone: ZoneInfo, first_day: date) -> None:
        self.zone, self._first_day = zone, np.datetime64(first_day, "D")
        self.epoch = midnight(first_day, zone)

    def _local(self, seconds: NDArray[Any]) -> NDArray[np.int64]:
        """Return local time as seconds since 1970 on the wall clock."""
        utc = seconds.astype(np.int64) + self.epoch
        quarters, where = np.unique(utc // QUARTER_HOUR, return_inverse=True)
        return utc + np.array([_offset(self.zone, quarter) for quarter in quarters.tolist()], np.int64)[where]

    def texts(self, seconds: NDArray[Any]) -> list[str]:
        """Format times as Slurm does: whole seconds without a zone."""
        written: list[str] = np.datetime_as_string(self._local(seconds).astype("datetime64[s]")).tolist()
        return written

    def texts_with_milliseconds(self, seconds: NDArray[Any], milliseconds: NDArray[Any]) -> list[str]:
        """Format times as the controller's log does."""
        local = (self._local(seconds) * 1000 + milliseconds).astype("datetime64[ms]")
        written: list[str] = np.datetime_as_string(local).tolist()
        return written

    def days(self, seconds: NDArray[Any]) -> NDArray[np.int64]:
        """Count the local days since the first one."""
        return self._local(seconds) // DAY - self._first_day.astype(np.int64)

    def date(self, day: int) -> str:
        """Format the date of a local day."""
        return str(self._first_day + day)


def midnight(day: date, zone: ZoneInfo) -> int:
    """Return the epoch seconds at which a day begins."""
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())


@lru_cache(maxsize=200_000)
def _offset(zone: ZoneInfo, quarter: int) -> int:
    """Return the seconds from UTC to local time in a quarter of an hour since 1970."""
    shift = datetime.fromtimestamp(quarter * QUARTER_HOUR, UTC).astimezone(zone).utcoffset() or timedelta()
    return int(shift.total_seconds())


@dataclass(frozen=True)
class Record:
    """A simulated cluster ready to be written."""

    profile: Profile
    ledger: Ledger
    seed: int

    @cached_property
    def wall_clock(self) -> WallClock:
        """The cluster's wall clock, for whole columns of times."""
        return WallClock(ZoneInfo(self.profile.timezone), self.profile.first_day)

    @property
    def epoch(self) -> int:
        """Epoch seconds of the first midnight."""
        return self.wall_clock.epoch

    def rng(self, writer: str) -> np.random.Generator:
        """Return a random generator for one writer. A change of one writer leaves the bytes of the others alone."""
        return np.random.default_rng([self.seed, *self.profile.cluster_id.encode(), *writer.encode()])

    def local(self, seconds: float) -> datetime:
        """Convert simulated seconds to the cluster's wall clock."""
        return datetime.fromtimestamp(self.epoch + seconds, self.wall_clock.zone)

    def text(self, seconds: float) -> str:
        """Format wall-clock time as Slurm does: whole seconds without a zone."""
        return f"{self.local(int(seconds)):%Y-%m-%dT%H:%M:%S}"

    @cached_property
    def node_names(self) -> list[str]:
        """Names of the nodes, by index."""
        width = max(3, len(str(self.profile.node_count)))
        return [f"node{number:0{width}d}" for number in range(1, self.profile.node_count + 1)]

    def node_list(self, nodes: Sequence[int] | NDArray[Any]) -> str:
        """Format nodes as Slurm does: node[001-004,007]. At least one node is given, in ascending order."""
        if len(nodes) == 1:
            return self.node_names[nodes[0]]
        gaps = np.flatnonzero(np.diff(nodes) != 1).tolist()
        spans = zip([0, *(gap + 1 for gap in gaps)], [*gaps, len(nodes) - 1], strict=True)
        numbers = [(self.node_names[nodes[first]][4:], self.node_names[nodes[last]][4:]) for first, last in spans]
        return f"node[{','.join(low if low == high else f'{low}-{high}' for low, high in numbers)}]"

    def node_lists(self, attempts: NDArray[Any]) -> list[str]:
        """Return the node lists of attempts; an empty text for an attempt without nodes."""
        held = self.ledger.nodes
        spans = zip(held.starts[attempts].tolist(), held.starts[attempts + 1].tolist(), strict=True)
        return [self.node_list(held.values[low:high]) if high > low else "" for low, high in spans]

    @cached_property
    def utilisation(self) -> NDArray[np.float64]:
        """Mean utilisation of the GPUs of every attempt, 0 to 1, as jobstats measured it."""
        jobs = self.ledger.jobs
        rng, job = self.rng("utilisation"), self.ledger.attempts["job"]
        is_idle = np.isin(jobs["user"], self.profile.idle_users)
        of_jobs = np.where(is_idle, rng.uniform(0, 0.03, len(jobs)), rng.beta(6, 2, len(jobs)).clip(0.1))
        return of_jobs[job].round(4)

    @cached_property
    def users(self) -> list[str]:
        """Login names of the users, by number."""
        count = int(self.ledger.jobs["user"].max(initial=-1)) + 1
        return [
            USERS[user % len(USERS)] + ("" if user < len(USERS) else str(user // len(USERS))) for user in range(count)
        ]

    def run_name(self, code: int) -> str:
        """Return the job name of a run from its stored number."""
        return f"{FAMILY_NAMES[code >> NAME_BITS]}-{code & (1 << NAME_BITS) - 1:05x}"

    def shown_job_ids(self, jobs: NDArray[Any]) -> list[str]:
        """Return job ids as sacct shows them: 123 or, for a task of an array, 123_4."""
        columns = (self.ledger.jobs[name][jobs].tolist() for name in ("job_id", "array_id", "array_task"))
        return [f"{array}_{task}" if array else str(own) for own, array, task in zip(*columns, strict=True)]


def write_lines(path: Path, lines: list[str]) -> None:
    """Write a text file, a line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
