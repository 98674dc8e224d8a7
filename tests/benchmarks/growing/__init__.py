"""The second workload: a made-up cluster of short, small jobs whose logs are one growing file of each kind.

It is unlike the simulated clusters in what is dense and what is rare, and shares no code with them or with what is
measured: two SQL files say what happens (`cluster.sql`) and how logs show it (`lines.sql`).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb

CLUSTER = "campus"
NODES, DAYS, ATTEMPTS, EPISODES = 480, 365, 4_000_000, 300_000
"""Of scale 1. An episode is a check that fails about nine times and then passes: about 3 million records of checks."""
MIN_NODES = 12
BEFORE, LAST_DAY = "before", "last-day"

_SETTINGS = """\
# A simulated cluster: these logs were made by `tests/benchmarks/growing`, nothing in them happened.
simulated = true
timezone = "Europe/Berlin"
gpus_per_node = 4
gpu_model = "A30"
"""
_SACCT = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|State|ExitCode|DerivedExitCode|Submit|Eligible|Start|End"
    "|ElapsedRaw|Suspended|NNodes|NodeList|AllocTRES|ReqTRES|TimelimitRaw|Reason|Flags|SubmitLine\n"
)
_FILES = {
    "sacct": ("sacct.psv", _SACCT, True),
    "health": ("health.jsonl", "", True),
    "kernel": ("kern.log", "", True),
    "slurmctld": ("slurmctld.log", "", True),
    "events": ("events.psv", "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n", False),
    "inventory": ("scontrol_node.txt", "", False),
    "tickets": ("tickets.csv", "ticket_id,node,opened,closed,component,action,status,summary\n", False),
}
"""By kind: its file, the file's first line, and whether some of its lines are damaged."""
_BLOCK = 1 << 24
_LAST_DAY = 1_704_067_200 + 86_400 * (DAYS - 1)
"""Seconds since 1970 at which the last day begins."""


def sources_of(scale: Fraction, logs: Path) -> Path:
    """Give the folder of a scale, `LOGS/growing-<scale>` with `-` for the slash; make it if it is missing."""
    folder = logs / f"growing-{scale}".replace("/", "-")
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write(unfinished, scale)
        unfinished.rename(folder)
    return folder


def write(folder: Path, scale: Fraction) -> None:
    """Write the logs of all days but the last to `before`, and what the last day adds to them to `last-day`.

    The scale multiplies nodes, attempts and episodes; the days stay.
    """
    folder.mkdir(parents=True)
    with duckdb.connect(str(folder / "made.duckdb")) as con:
        sizes = {
            "nodes": max(MIN_NODES, int(NODES * scale)),
            "days": DAYS,
            "attempts": int(ATTEMPTS * scale),
            "episodes": int(EPISODES * scale),
        }
        for name, value in sizes.items():
            con.execute(f"set variable {name} = {value}")
        for name in ("cluster.sql", "lines.sql"):
            con.execute(Path(__file__).with_name(name).read_text(encoding="utf-8"))
        for kind, (name, first_line, is_damaged) in _FILES.items():
            for part in (BEFORE, LAST_DAY):
                place = folder / part / CLUSTER / kind / name
                place.parent.mkdir(parents=True)
                _write(con, kind, place, first_line if part == BEFORE else "", is_damaged)
    (folder / "made.duckdb").unlink()
    # An inventory is of the time at which its file was written.
    os.utime(folder / BEFORE / CLUSTER / "inventory" / _FILES["inventory"][0], (_LAST_DAY, _LAST_DAY))
    (folder / BEFORE / CLUSTER / "cluster.toml").write_text(_SETTINGS, encoding="utf-8")


def _write(con: duckdb.DuckDBPyConnection, kind: str, place: Path, first_line: str, is_damaged: bool) -> None:
    """Write the lines of a part; an accented letter, which only damage brings, becomes a byte that is not UTF-8."""
    lines = "unnest(damaged(line, hash(line)))" if is_damaged else "line"
    days = "<" if place.parents[2].name == BEFORE else ">="
    made = place.with_name("made")
    con.execute(
        f"copy (select {lines} from {kind}_lines where logged_at {days} began_at() + to_days(getvariable('days') - 1)"
        f" order by logged_at) to '{made}' (format csv, header false, delimiter '\x01', quote '', escape '')"
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
