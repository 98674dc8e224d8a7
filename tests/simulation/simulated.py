"""Reads the logs and the truth of a simulated cluster without any code of the pipeline."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq

from assets.simulation import SimulatedCluster

ZONE = ZoneInfo("America/Los_Angeles")
Row = dict[str, Any]


def epoch(local: str) -> int | None:
    """Turn a naive wall-clock time of the logs into epoch seconds; None for 'Unknown' and 'None'."""
    return (
        None
        if local in ("Unknown", "None", "")
        else int(datetime.fromisoformat(local).replace(tzinfo=ZONE).timestamp())
    )


def expand(node_list: str) -> list[str]:
    """Expand Slurm's compressed node list."""
    if node_list == "None assigned":
        return []
    bracket = re.fullmatch(r"node\[(.+)\]", node_list)
    if not bracket:
        return [node_list]
    names = []
    for part in bracket[1].split(","):
        low, _, high = part.partition("-")
        names += [f"node{number:0{len(low)}d}" for number in range(int(low), int(high or low) + 1)]
    return names


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@dataclass(frozen=True)
class Simulated:
    """A simulated cluster with its logs and its truth at hand."""

    summary: SimulatedCluster

    def truth(self, table: str) -> list[Row]:
        rows: list[Row] = pq.read_table(self.summary.truth / f"{table}.parquet").to_pylist()
        return rows

    def text(self, pattern: str) -> list[str]:
        return [
            line
            for path in sorted(self.summary.sources.glob(pattern))
            for line in path.read_text(encoding="utf-8").splitlines()
        ]

    def psv(self, pattern: str) -> list[Row]:
        rows = []
        for path in sorted(self.summary.sources.glob(pattern)):
            header, *lines = path.read_text(encoding="utf-8").splitlines()
            rows += [dict(zip(header.split("|"), line.split("|"), strict=True)) for line in lines]
        return rows

    def attempts(self) -> list[Row]:
        """Read the accounting rows of allocations, times in epoch seconds."""
        rows = []
        for row in self.psv("sacct/*.psv"):
            if "." not in row["JobID"]:
                times = {name: epoch(row[name]) for name in ("Submit", "Eligible", "Start", "End")}
                gpus = re.search(r"gres/gpu=(\d+)", row["AllocTRES"])
                held = {"nodes": expand(row["NodeList"]), "gpus": int(gpus[1]) if gpus else 0}
                rows.append(row | times | held | {"state": row["State"].split()[0]})
        return rows

    def health(self) -> list[Row]:
        rows = []
        for path in sorted(self.summary.sources.glob("health/*.jsonl.gz")):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                for line in file:
                    record = json.loads(line)
                    rows.append(record["int"] | record["double"] | record["normal"])
        return rows
