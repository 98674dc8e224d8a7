"""What every log writer gets: the ledger with the clock, the names and the chance to write it down."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from assets.simulation.ledger import NAME_BITS, Ledger
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
    def epoch(self) -> int:
        """Epoch seconds of the first midnight."""
        first = self.profile.first_day
        return int(datetime(first.year, first.month, first.day, tzinfo=self.zone).timestamp())

    def rng(self, writer: str) -> np.random.Generator:
        """Give a writer its own source of chance, so that one writer's changes leave the others' bytes alone."""
        return np.random.default_rng([self.seed, *writer.encode()])

    def local(self, seconds: float) -> datetime:
        """Turn simulated seconds into the cluster's wall clock."""
        return datetime.fromtimestamp(self.epoch + seconds, self.zone)

    def utc(self, seconds: float) -> datetime:
        """Turn simulated seconds into UTC."""
        return datetime.fromtimestamp(self.epoch + seconds, UTC)

    def text(self, seconds: float) -> str:
        """Give wall-clock time as Slurm prints it: no zone, whole seconds."""
        return f"{self.local(int(seconds)):%Y-%m-%dT%H:%M:%S}"

    def day(self, seconds: float) -> date:
        """Give the local date."""
        return self.local(seconds).date()

    @cached_property
    def node_names(self) -> list[str]:
        """Names of the nodes, by index."""
        width = max(3, len(str(self.profile.node_count)))
        return [f"node{number:0{width}d}" for number in range(1, self.profile.node_count + 1)]

    def node_list(self, nodes: list[int]) -> str:
        """Write nodes as Slurm does: node[001-004,007]."""
        if len(nodes) == 1:
            return self.node_names[nodes[0]]
        parts, first = [], 0
        numbers = [self.node_names[node].removeprefix("node") for node in nodes]
        for position in range(1, len(nodes) + 1):
            if position == len(nodes) or nodes[position] != nodes[position - 1] + 1:
                parts.append(numbers[first] if first == position - 1 else f"{numbers[first]}-{numbers[position - 1]}")
                first = position
        return f"node[{','.join(parts)}]"

    def user(self, user: int) -> str:
        """Give a user's login."""
        return USERS[user % len(USERS)] + ("" if user < len(USERS) else str(user // len(USERS)))

    def run_name(self, code: int) -> str:
        """Give the job name of a run from its stored number."""
        return f"{FAMILY_NAMES[code >> NAME_BITS]}-{code & (1 << NAME_BITS) - 1:05x}"

    def shown_job_id(self, job: int) -> str:
        """Give a job id as sacct shows it: 123 or, for a task of an array, 123_4."""
        jobs = self.ledger.jobs
        array = int(jobs["array_id"][job])
        return f"{array}_{int(jobs['array_task'][job])}" if array else str(int(jobs["job_id"][job]))


def write_lines(path: Path, lines: list[str]) -> None:
    """Write a text file, a line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
