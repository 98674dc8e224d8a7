"""Writes the logs of a minimal cluster, one call for each line or few lines, in the forms in which Slurm writes them.

`python -m tests.minimal.cluster NAME DIR` writes one cluster of this folder's tests into `DIR/NAME` to look at.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self

from assets.sources.text.nodelists import expand

START = datetime(2024, 5, 1)
"""What `at` counts from, UTC."""

Moment = datetime | None
"""A moment of UTC; None where Slurm writes `Unknown`: not over, or never begun."""


def at(hours: float = 0, *, days: float = 0, minutes: float = 0, seconds: float = 0) -> datetime:
    """Return the moment so long after midnight of 1 May 2024.

    >>> at(10, minutes=30).isoformat()
    '2024-05-01T10:30:00'
    """
    return START + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _shown(moment: Moment) -> str:
    return "Unknown" if moment is None else moment.isoformat(timespec="seconds")


class Cluster:
    """The logs of one cluster; every method adds to them and gives the cluster back.

    Parameters
    ----------
    settings
        Text of `cluster.toml`; without it there is no such file.
    gpus_per_node
        GPUs of each node, for the GPU counts of jobs and the inventory that do not tell their own.
    """

    def __init__(self, settings: str = "", gpus_per_node: int = 8) -> None:
        self.gpus_per_node = gpus_per_node
        self._jobs: list[dict[str, str]] = []
        self._lines: dict[str, list[str]] = {"cluster.toml": settings.splitlines()} if settings else {}

    def job(
        self,
        job_id: int | str,
        nodes: str,
        start: Moment,
        end: Moment,
        state: str = "COMPLETED",
        submit: Moment = None,
        **fields: str,
    ) -> Self:
        """Add a record of accounting: whole nodes, submitted at the start unless told otherwise.

        Parameters
        ----------
        nodes
            As NodeList shows them, `n[1-4]` or `None assigned`.
        start, end
            None is shown as `Unknown`: a job that waits has neither, a running one no end.
        fields
            Any other columns by sacct's names, such as `Restarts="1"`; they replace what would stand there.
        """
        count = len(expand(nodes)) if nodes != "None assigned" else 0
        elapsed = int((end - start).total_seconds()) if start and end else 0
        gpus = count * self.gpus_per_node
        resources = f"cpu={count * 64},gres/gpu={gpus},node={count}" if count else ""
        self._jobs.append(
            {
                "JobID": str(job_id),
                "JobIDRaw": str(job_id),
                "JobName": f"job{job_id}",
                "User": "alice",
                "Account": "nlp",
                "Partition": "train",
                "QOS": "normal",
                "Submit": _shown(submit or start),
                "Eligible": _shown(submit or start),
                "Start": _shown(start),
                "End": _shown(end),
                "ElapsedRaw": str(elapsed),
                "State": state,
                "ExitCode": "1:0" if state in ("FAILED", "NODE_FAIL") else "0:0",
                "NNodes": str(count or 1),
                "AllocTRES": resources,
                "ReqTRES": resources,
                "NodeList": nodes,
                **fields,
            }
        )
        return self

    def inventory(self, nodes: str, **fields: str) -> Self:
        """Add nodes as `scontrol -o show node` shows them, a line for each; fields such as `State="IDLE+DRAIN"`."""
        for node in expand(nodes):
            shown = {
                "NodeName": node,
                "Gres": f"gpu:a100:{self.gpus_per_node}",
                "State": "IDLE",
                "CfgTRES": f"cpu=64,gres/gpu={self.gpus_per_node}",
                "Partitions": "train",
                **fields,
            }
            self.file("inventory/scontrol_node.txt", " ".join(f"{key}={value}" for key, value in shown.items()))
        return self

    def event(self, node: str, start: datetime, end: Moment, state: str, reason: str, user: str = "root(0)") -> Self:
        """Add an interval out of service as `sacctmgr -P show event` shows it."""
        if "events/events.psv" not in self._lines:
            self.file("events/events.psv", "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User")
        return self.file("events/events.psv", "|".join(("c", node, _shown(start), _shown(end), state, reason, user)))

    def slurmctld(self, moment: datetime, *messages: str) -> Self:
        """Add messages of slurmctld.log, all of one moment."""
        stamp = moment.isoformat(timespec="milliseconds")
        return self.file("slurmctld/slurmctld.log", *(f"[{stamp}] {message}" for message in messages))

    def check(
        self, node: str, moment: datetime, name: str, result: int = 2, message: str = "", kind: str = "nagios"
    ) -> Self:
        """Add a health-check record of GCM's file sink: result 0 is OK, 1 WARN, 2 CRITICAL, 3 UNKNOWN."""
        seconds = (moment - datetime(1970, 1, 1)).total_seconds()
        record = {
            "int": {"result": result, "job_id": 0},
            "double": {"start_time": seconds - 1, "end_time": seconds},
            "normal": {"node": node, "cluster": "c", "health_check": name, "type": kind, "_msg": message},
            "tags": {},
        }
        return self.file("health/health_checks.jsonl", json.dumps(record))

    def kernel(self, node: str, moment: datetime, message: str) -> Self:
        """Add a kernel message as syslog writes it with a full date."""
        return self.file("kernel/kern.log", f"{moment.isoformat()}+00:00 {node} kernel: {message}")

    def file(self, path: str, *lines: str) -> Self:
        """Add lines as they stand to a file below the cluster's folder."""
        self._lines.setdefault(path, []).extend(lines)
        return self

    def write(self, folder: Path) -> None:
        """Write the cluster's files below a folder, which is the cluster's own."""
        files = dict(self._lines)
        if self._jobs:
            columns = list(dict.fromkeys(column for job in self._jobs for column in job))
            records = ["|".join(job.get(column, "") for column in columns) for job in self._jobs]
            files["sacct/sacct.psv"] = ["|".join(columns), *records]
        for name, lines in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def all_clusters() -> dict[str, Cluster]:
    """Collect `CLUSTERS` of every test module of this folder.

    Raises
    ------
    ValueError
        Two modules give a cluster of one name.
    """
    clusters: dict[str, Cluster] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        own = importlib.import_module(f"{__package__}.{path.stem}").CLUSTERS
        if both := sorted(clusters.keys() & own.keys()):
            raise ValueError(f"{path.name} names clusters that another module names too: {', '.join(both)}")
        clusters |= own
    return clusters


def write_all(sources: Path, names: Iterable[str] = ()) -> None:
    """Write the named clusters of this folder's tests, or all of them, each into its folder below `sources`."""
    clusters = all_clusters()
    for name in names or clusters:
        clusters[name].write(sources / name)


if __name__ == "__main__":
    write_all(Path(sys.argv[2]), [sys.argv[1]])
