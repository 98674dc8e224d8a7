"""Clusters that two SQL files make up: `cluster.sql` says what happens, `lines.sql` how growing files show it.

They share no code with the simulated clusters or with what is measured. The scale multiplies nodes, attempts and
episodes of checks; the days stay.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import duckdb

BEFORE, LAST_DAY = "before", "last-day"
_DAMAGED = Path(__file__).with_name("damaged.sql")
_SETTINGS = """\
# A simulated cluster: these logs were made by `tests/benchmarks/{name}`, nothing in them happened.
simulated = true
timezone = "{timezone}"
gpus_per_node = {gpus_per_node}
gpu_model = "{gpu_model}"
"""
_FILES = {
    "health": ("health.jsonl", "", True),
    "kernel": ("kern.log", "", True),
    "slurmctld": ("slurmctld.log", "", True),
    "events": ("events.psv", "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n", False),
    "inventory": ("scontrol_node.txt", "", False),
    "tickets": ("tickets.csv", "ticket_id,node,opened,closed,component,action,status,summary\n", False),
}
"""By kind: its file, the file's first line, and whether some of its lines are damaged."""
_BLOCK = 1 << 24


@dataclass(frozen=True)
class MadeCluster:
    """A cluster, its size at scale 1, and the folder of its two SQL files.

    Attributes
    ----------
    name
        Of the workload.
    cluster
        As in its logs.
    folder
        Holds `cluster.sql` and `lines.sql`.
    sacct
        Columns of the accounting.
    last_day
        Seconds since 1970 at which it begins.
    nodes, min_nodes, days, attempts, episodes
        Sizes. An episode is some bad results of a check on a node, and the good one after them.
    variables
        What else `cluster.sql` asks for.
    """

    name: str
    cluster: str
    folder: Path
    sacct: str
    timezone: str
    gpus_per_node: int
    gpu_model: str
    last_day: int
    nodes: int
    min_nodes: int
    days: int
    attempts: int
    episodes: int
    variables: Mapping[str, str] = field(default_factory=dict)

    def sources_of(self, scale: Fraction, logs: Path) -> Path:
        """Give the folder of a scale, `LOGS/<name>-<scale>` with `-` for the slash; make it if it is missing."""
        folder = logs / f"{self.name}-{scale}".replace("/", "-")
        if not folder.exists():
            unfinished = folder.with_name(f"{folder.name}.unfinished")
            shutil.rmtree(unfinished, ignore_errors=True)
            self.write(unfinished, scale)
            unfinished.rename(folder)
        return folder

    def write(self, folder: Path, scale: Fraction) -> None:
        """Write the logs of all days but the last to `before`, and what the last day adds to them to `last-day`."""
        folder.mkdir(parents=True)
        with duckdb.connect(str(folder / "made.duckdb")) as con:
            sizes = {
                "nodes": max(self.min_nodes, int(self.nodes * scale)),
                "days": self.days,
                "attempts": int(self.attempts * scale),
                "episodes": int(self.episodes * scale),
            }
            for name, value in {**sizes, **self.variables}.items():
                con.execute(f"set variable {name} = ?", [value])
            for path in (self.folder / "cluster.sql", self.folder / "lines.sql", _DAMAGED):
                con.execute(path.read_text(encoding="utf-8"))
            for kind, (name, first_line, is_damaged) in {"sacct": ("sacct.psv", self.sacct, True), **_FILES}.items():
                for part in (BEFORE, LAST_DAY):
                    place = folder / part / self.cluster / kind / name
                    place.parent.mkdir(parents=True)
                    _write(con, kind, place, first_line if part == BEFORE else "", is_damaged)
        (folder / "made.duckdb").unlink()
        # An inventory is of the time at which its file was written.
        os.utime(folder / BEFORE / self.cluster / "inventory" / _FILES["inventory"][0], (self.last_day, self.last_day))
        settings = _SETTINGS.format(
            name=self.name, timezone=self.timezone, gpus_per_node=self.gpus_per_node, gpu_model=self.gpu_model
        )
        (folder / BEFORE / self.cluster / "cluster.toml").write_text(settings, encoding="utf-8")


def _write(con: duckdb.DuckDBPyConnection, kind: str, place: Path, first_line: str, is_damaged: bool) -> None:
    """Write the lines of a part; an accented letter, which only damage brings, becomes a byte that is not UTF-8."""
    lines = "unnest(damaged(line, hash(line)))" if is_damaged else "line"
    days = "<" if place.parents[2].name == BEFORE else ">="
    made = place.with_name("made")
    con.execute(
        f"copy (select {lines} from {kind}_lines where logged_at {days} began_at() + to_days(getvariable('days') - 1)"
        f" order by logged_at, line) to '{made}' (format csv, header false, delimiter '\x01', quote '', escape '')"
    )
    with made.open("rb") as source, place.open("wb") as target:
        target.write(first_line.encode())
        while block := source.readlines(_BLOCK):
            target.write(b"".join(block).replace("é".encode(), "é".encode("latin-1")))
    made.unlink()


def hold_back(folder: Path, sources: Path) -> Callable[[], None]:
    """Copy all days but the last to `sources`, and give what appends the last day to these files."""
    shutil.copytree(folder / BEFORE, sources, dirs_exist_ok=True)

    def append() -> None:
        for part in sorted((folder / LAST_DAY).rglob("*")):
            if part.is_file():
                with part.open("rb") as source, (sources / part.relative_to(folder / LAST_DAY)).open("ab") as target:
                    shutil.copyfileobj(source, target)

    return append
