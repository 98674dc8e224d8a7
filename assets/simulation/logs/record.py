"""What every log writer gets: the ledger, the wall clock, the names, and random generators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import NAME_BITS, Ledger
from assets.simulation.logs.wall_clock import WallClock
from assets.simulation.profiles import Profile
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


@dataclass(frozen=True)
class Record:
    """A simulated cluster ready to be written."""

    profile: Profile
    ledger: Ledger
    seed: int

    @cached_property
    def zone(self) -> ZoneInfo:
        """The zone of the cluster's wall clocks."""
        return ZoneInfo(self.profile.timezone)

    @cached_property
    def wall_clock(self) -> WallClock:
        """The wall clocks of the cluster, for whole columns of times."""
        return WallClock(self.zone, self.profile.first_day, self.profile.days)

    @property
    def epoch(self) -> int:
        """Epoch seconds of the first midnight."""
        return self.wall_clock.epoch

    def rng(self, writer: str) -> np.random.Generator:
        """Return a random generator for one writer. A change of one writer leaves the bytes of the others alone."""
        return np.random.default_rng([self.seed, *self.profile.cluster_id.encode(), *writer.encode()])

    def local(self, seconds: float) -> datetime:
        """Convert simulated seconds to the cluster's wall clock."""
        return datetime.fromtimestamp(self.epoch + seconds, self.zone)

    def utc(self, seconds: float) -> datetime:
        """Convert simulated seconds to UTC."""
        return datetime.fromtimestamp(self.epoch + seconds, UTC)

    def text(self, seconds: float) -> str:
        """Format wall-clock time as Slurm does: whole seconds without a zone."""
        return f"{self.local(int(seconds)):%Y-%m-%dT%H:%M:%S}"

    @cached_property
    def node_names(self) -> list[str]:
        """Names of the nodes, by index."""
        width = max(3, len(str(self.profile.node_count)))
        return [f"node{number:0{width}d}" for number in range(1, self.profile.node_count + 1)]

    @cached_property
    def _node_numbers(self) -> list[str]:
        return [name.removeprefix("node") for name in self.node_names]

    def node_list(self, nodes: Sequence[int] | NDArray[Any]) -> str:
        """Format nodes as Slurm does: node[001-004,007]. At least one node is given, in ascending order."""
        if len(nodes) == 1:
            return self.node_names[nodes[0]]
        numbers = self._node_numbers
        array = np.asarray(nodes)
        gaps = np.flatnonzero(array[1:] != array[:-1] + 1)
        if not len(gaps):
            return f"node[{numbers[nodes[0]]}-{numbers[nodes[-1]]}]"
        firsts, lasts = [nodes[0], *array[gaps + 1].tolist()], [*array[gaps].tolist(), nodes[-1]]
        parts = [
            numbers[first] if first == last else f"{numbers[first]}-{numbers[last]}"
            for first, last in zip(firsts, lasts, strict=True)
        ]
        return f"node[{','.join(parts)}]"

    def node_lists(self, attempts: NDArray[Any]) -> list[str]:
        """Write the nodes of attempts; nothing for an attempt that never got any."""
        ledger = self.ledger
        values, lows, highs = ledger.nodes.values, ledger.nodes.starts[attempts], ledger.nodes.starts[attempts + 1]
        names, counts = self.node_names, highs - lows
        texts = [""] * len(attempts)
        alone = np.flatnonzero(counts == 1)
        for row, node in zip(alone.tolist(), values[lows[alone]].tolist(), strict=True):
            texts[row] = names[node]
        gangs = np.flatnonzero(counts > 1)
        for row, low, high in zip(gangs.tolist(), lows[gangs].tolist(), highs[gangs].tolist(), strict=True):
            texts[row] = self.node_list(values[low:high])
        return texts

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
