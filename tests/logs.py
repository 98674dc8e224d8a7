"""Lines of logs in the forms of real sites, and `Cluster`, which writes all logs of a small cluster.

Tests take lines of ordinary logs from here, and write only the odd parts themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from assets.sources.text.nodelists import expand

START = datetime(2024, 5, 1)
"""The start of the count of `at`, UTC."""

Moment = datetime | None
"""A moment of UTC. None is Slurm's `Unknown`: not over, or never begun."""
BASE = {
    "JobID": "51", "JobIDRaw": "51", "JobName": "train", "User": "alice", "UID": "1001", "Account": "nlp",
    "Partition": "train", "QOS": "normal", "Submit": "2024-05-01T09:00:00", "Eligible": "2024-05-01T09:00:00",
    "Start": "2024-05-01T10:00:00", "End": "2024-05-01T11:00:00", "ElapsedRaw": "3600", "State": "COMPLETED",
    "ExitCode": "0:0", "DerivedExitCode": "0:0", "NNodes": "1", "AllocTRES": "cpu=64,gres/gpu:a100=8,gres/gpu=8,node=1",
    "ReqTRES": "cpu=64,gres/gpu=8,node=1", "NodeList": "node001", "SubmitLine": "sbatch train.sh", "Cluster": "c1",
}  # fmt: skip
"""An ordinary accounting record."""


def export(records: Iterable[Mapping[str, str | None]], delimiter: str = "|", columns: list[str] | None = None) -> str:
    """Write records as `sacct -P` does.

    Missing fields come from `BASE`, and `JobIDRaw` from a `JobID` that is a number. None leaves a field
    empty.
    """
    full = []
    for record in records:
        number = record.get("JobID") or ""
        full.append({**BASE, **({"JobIDRaw": number} if number.isdecimal() else {}), **record})
    names = columns or list(dict.fromkeys(name for record in full for name in record))
    return table(names, ([record.get(name) or "" for name in names] for record in full), delimiter)


def numbered(numbers: Iterable[int], **fields: str | None) -> list[Mapping[str, str | None]]:
    """Return an accounting record for each job number."""
    return [{"JobID": str(number), **fields} for number in numbers]


def table(header: Iterable[str], rows: Iterable[Iterable[str]], delimiter: str = "|") -> str:
    """Write rows below a header."""
    return "".join(f"{delimiter.join(row)}\n" for row in (header, *rows))


def result_line(
    node: str,
    at: datetime | float,
    check: str = "check pci",
    code: int = 0,
    message: str = "",
    *,
    started: float | None = None,
    kind: str = "nagios",
    job: float = 0,
    **names: str,
) -> str:
    """Write a health-check record of GCM's file sink: code 0 is OK, 1 WARN, 2 CRITICAL, 3 UNKNOWN.

    Its end is a moment of UTC or seconds since the epoch. Without a start, it takes a second.
    """
    end = at.replace(tzinfo=at.tzinfo or UTC).timestamp() if isinstance(at, datetime) else at
    record = {
        "int": {"result": code, "job_id": job},
        "double": {"start_time": end - 1 if started is None else started, "end_time": end},
        "normal": {"node": node, **names, "health_check": check, "type": kind, "_msg": message},
        "tags": {},
    }
    return json.dumps(record)


def kernel_line(node: str, at: datetime, message: str) -> str:
    """Write a kernel message in syslog's form with a full UTC date."""
    return f"{at.replace(tzinfo=None).isoformat()}+00:00 {node} kernel: {message}"


def slurmctld_line(at: datetime, message: str) -> str:
    """Write a message of slurmctld.log, in local time."""
    return f"[{at.replace(tzinfo=None).isoformat(timespec='milliseconds')}] {message}"


EVENT_COLUMNS = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "Reason", "User")
"""The columns of `sacctmgr -P show event`."""
XID = "NVRM: Xid (PCI:0000:{bus}:00): {code}, pid=1, name=python, GPU has fallen off the bus."


def at(hours: float = 0, *, days: float = 0, minutes: float = 0, seconds: float = 0) -> datetime:
    """Return a moment by its distance from midnight of 1 May 2024.

    >>> at(10, minutes=30).isoformat()
    '2024-05-01T10:30:00'
    """
    return START + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _shown(moment: Moment) -> str:
    return "Unknown" if moment is None else moment.isoformat(timespec="seconds")


class Cluster:
    """The logs of one cluster. Every method adds to them and returns the cluster.

    Parameters
    ----------
    settings
        Text of `cluster.toml`. An empty text writes no file.
    gpus_per_node
        GPUs of each node, for jobs and inventories without their own GPU count.
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
        """Add an accounting record: whole nodes, submitted at the start by default.

        Parameters
        ----------
        nodes
            As NodeList shows them, `n[1-4]` or `None assigned`.
        start, end
            None is shown as `Unknown`: a job that waits has neither, a running one no end.
        fields
            Any other columns by sacct's names, such as `Restarts="1"`. They replace default values.
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
            self.file("events/events.psv", "|".join(EVENT_COLUMNS))
        return self.file("events/events.psv", "|".join(("c", node, _shown(start), _shown(end), state, reason, user)))

    def slurmctld(self, moment: datetime, *messages: str) -> Self:
        """Add messages of slurmctld.log, all of one moment."""
        return self.file("slurmctld/slurmctld.log", *(slurmctld_line(moment, message) for message in messages))

    def check(
        self, node: str, moment: datetime, name: str, result: int = 2, message: str = "", kind: str = "nagios"
    ) -> Self:
        """Add a health-check record, as `result_line` writes it."""
        line = result_line(node, moment, name, result, message, kind=kind, cluster="c")
        return self.file("health/health_checks.jsonl", line)

    def kernel(self, node: str, moment: datetime, message: str) -> Self:
        """Add a kernel message in syslog's form with a full date."""
        return self.file("kernel/kern.log", kernel_line(node, moment, message))

    def file(self, path: str, *lines: str) -> Self:
        """Add raw lines to a file below the cluster's folder."""
        self._lines.setdefault(path, []).extend(lines)
        return self

    def write(self, folder: Path) -> None:
        """Write the cluster's files into its folder."""
        files = {name: "".join(f"{line}\n" for line in lines) for name, lines in self._lines.items()}
        if self._jobs:
            columns = list(dict.fromkeys(column for job in self._jobs for column in job))
            files["sacct/sacct.psv"] = table(columns, ([job.get(name, "") for name in columns] for job in self._jobs))
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
