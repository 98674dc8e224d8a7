"""A site that rotates logs, overwrites exports and fails to copy files: a cluster's folder night by night.

The site knows each line by its number. So it knows which lines were ever readable, and it can write each of them once,
into one file of each log. In `test_nights`, hypothesis draws the events; `tests.soak` refreshes a home.
"""

from __future__ import annotations

import gzip
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.logs import XID, export, result_line, slurmctld_line, table

BEGIN = datetime(2024, 3, 1, tzinfo=UTC)
NODES = [f"node{number:03d}" for number in range(12)]
FAILED: Sequence[bytes] = (
    b"",
    b"ssh: connect to host login1 port 22: Connection refused\n",
    b"sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection to host:dbd:6819\n",
    bytes(range(256)) * 8,
)
"""Content of a file after a failed copy or export."""


def slurmctld(at: datetime, rng: Random) -> str:
    node = rng.choice(NODES)
    said = (
        f"error: Nodes {node} not responding, setting DOWN",
        f"update_node: node {node} reason set to: broken {rng.randrange(9)}",
        f"update_node: node {node} state set to DRAINED",
        f"sched: Allocate JobId={rng.randrange(999)} NodeList={node}",
    )
    return slurmctld_line(at.replace(microsecond=1000 * rng.randrange(1000)), rng.choice(said))


def syslog(at: datetime, rng: Random) -> str:
    fault = XID.format(bus=rng.choice(("07", "0f")), code=rng.choice((48, 63, 79)))
    said = rng.choice((fault, fault, "eth0: link is quiet"))
    return f"{at:%b} {at.day:2} {at:%T} {rng.choice(NODES)} kernel: [ 10.5] {said}"


def gcm(at: datetime, rng: Random) -> str:
    # Each check has another name, because the reader folds results that stay the same.
    return result_line(rng.choice(NODES), at, f"check {at.timestamp():.0f}", rng.choice((0, 2)))


LOGS: dict[str, Callable[[datetime, Random], str]] = {
    "slurmctld/slurmctld.log": slurmctld,
    "kernel/messages": syslog,
    "health/checks.jsonl": gcm,
}
Numbers = tuple[int, ...]


@dataclass
class Log:
    """A log: its rotated files by name, as line numbers, and the text of every line by its number."""

    name: str
    rotation: str
    keep: int
    is_dated_late: bool
    """Whether its files have dates of two years later, as copies do."""
    lines: list[str] = field(default_factory=list)
    files: dict[str, Numbers] = field(default_factory=dict)

    def write(self, at: datetime, rng: Random) -> None:
        """Write the lines of the hours before a moment, some of them twice."""
        count = rng.choice((0, 3, 12)) if self.lines else 12
        written = []
        for part in range(count):
            text = LOGS[self.name](at - timedelta(hours=20) + timedelta(hours=18 * part / count), rng)
            written += [text] * (2 if self.name.startswith("kernel") and rng.random() < 0.1 else 1)
        new = tuple(range(len(self.lines), len(self.lines) + len(written)))
        self.lines += written
        self.files[self.name] = (*(() if self.rotation == "replaced" else self.files.get(self.name, ())), *new)

    def rotate(self, at: datetime) -> None:
        """Rename the files as logrotate does."""
        now = self.files.get(self.name, ())
        match self.rotation:
            case "numbered" | "numbered, packed":
                packed = ".gz" if self.rotation.endswith("packed") else ""
                # The newest rotated file is packed a night later, as with delaycompress.
                old = [
                    self.files.pop(f"{self.name}.{place}{packed if place > 1 else ''}", None)
                    for place in range(1, self.keep)
                ]
                for place, numbers in enumerate([now, *old], 1):
                    if numbers is not None:
                        self.files[f"{self.name}.{place}{packed if place > 1 else ''}"] = numbers
                self.files[self.name] = ()
            case "dated" | "dated, packed":
                packed = ".gz" if self.rotation.endswith("packed") else ""
                self.files[f"{self.name}-{at:%Y%m%d}{packed}"] = now
                for name in sorted(self.files.keys() - {self.name})[: -self.keep]:
                    del self.files[name]
                self.files[self.name] = ()
            case "copytruncate":
                self.files |= {f"{self.name}.1": now, self.name: ()}

    def date(self, at: datetime) -> datetime:
        """Return the date of a file that is copied at a moment."""
        return at + timedelta(days=770 * self.is_dated_late)

    def text(self, numbers: Iterable[int]) -> str:
        """Write lines, given by their numbers."""
        return "".join(f"{self.lines[number]}\n" for number in numbers)


ROTATIONS = ("numbered", "numbered, packed", "dated", "dated, packed", "copytruncate", "replaced")


def job(key: int, state: int, night: int) -> dict[str, str | None]:
    """Return an accounting record. `state` counts the nights since the job began; it ends after one or two."""
    begin = BEGIN + timedelta(days=night - state, hours=key % 10)
    end = begin + timedelta(hours=8 + 24 * (key % 3 == 0))
    now = BEGIN + timedelta(days=night + 1)
    has_ended = end < now
    return {
        "JobID": str(key), "NodeList": NODES[key % len(NODES)],
        **dict.fromkeys(("Submit", "Eligible", "Start"), f"{begin:%FT%T}"),
        "End": f"{end:%FT%T}" if has_ended else "Unknown",
        "State": ("FAILED" if key % 5 == 0 else "COMPLETED") if has_ended else "RUNNING",
        "ElapsedRaw": str(int((min(end, now) - begin).total_seconds())),
    }  # fmt: skip


def outage(key: int, state: int, night: int) -> dict[str, str | None]:
    """Return a row of sacctmgr show event. It is open in its first night."""
    begin = BEGIN + timedelta(days=night - state, hours=key % 20)
    end = f"{begin + timedelta(hours=9):%FT%T}" if state else "Unknown"
    return {
        "Cluster": "c1", "NodeName": NODES[key % len(NODES)], "TimeStart": f"{begin:%FT%T}", "TimeEnd": end,
        "State": "DOWN", "Reason": f"broken {key}", "User": "root(0)",
    }  # fmt: skip


def events(records: Iterable[dict[str, str | None]]) -> str:
    """Write rows as sacctmgr does. No rows give an empty text."""
    found = [{name: str(text) for name, text in record.items()} for record in records]
    return table(found[0], (record.values() for record in found)) if found else ""


@dataclass(frozen=True)
class Form:
    """The form of a kind's records, by key, nights since their begin, and night; and the form of their file."""

    record: Callable[[int, int, int], dict[str, str | None]]
    written: Callable[[Iterable[dict[str, str | None]]], str]
    settles_after: int
    """Nights after which a record no longer changes."""


EXPORTS = {
    "sacct/sacct.psv": Form(job, export, 2),
    "events/events.psv": Form(outage, events, 1),
}


@dataclass
class Export:
    """A nightly export of all or the last records, under one name or under a new name each night."""

    name: str
    window: str
    begun: list[int] = field(default_factory=list)
    """The night in which each record begins, by its key."""

    def write(self, night: int, rng: Random) -> None:
        self.begun += [night] * rng.choice((2, 5, 20))

    def keys(self, night: int) -> Numbers:
        form = EXPORTS[self.name]
        first = 0 if self.window == "all" else night - form.settles_after
        return tuple(key for key, begun in enumerate(self.begun) if first <= begun <= night)

    def file(self, night: int) -> str:
        if self.window != "a file a night":
            return self.name
        stem, _, ending = self.name.rpartition(".")
        return f"{stem}-{(BEGIN + timedelta(days=night)):%F}.{ending}"

    def text(self, records: Iterable[tuple[int, int]]) -> str:
        """Write records, each given by its key and the night whose state it shows."""
        form = EXPORTS[self.name]
        return form.written(
            form.record(
                key, min(night - self.begun[key], form.settles_after), min(night, self.begun[key] + form.settles_after)
            )
            for key, night in records
        )


WINDOWS = ("all", "some nights", "a file a night")


class Site:
    """A cluster's folder of logs, which changes each night.

    Parameters
    ----------
    folder
        The cluster's folder.
    rng
        Decides what happens to files. It does not influence the content of lines.
    """

    def __init__(self, folder: Path, rng: Random) -> None:
        self.folder, self.rng, self.number, self.content = folder, rng, -1, Random(1)
        is_late = rng.random() < 0.3
        self.logs = [Log(name, rng.choice(ROTATIONS), rng.choice((2, 3)), is_late) for name in LOGS]
        self.exports = [Export(name, rng.choice(WINDOWS)) for name in EXPORTS]
        self.seen: dict[str, set[int]] = {log.name: set() for log in self.logs}
        """Numbers of the lines of each log that were in the folder when it was read."""
        self.shown: dict[str, dict[int, int]] = {export.name: {} for export in self.exports}
        """The night of the latest state that was in the folder, by export and key of the record."""
        self.there: dict[str, Numbers] = {}
        """Numbers of the whole lines of a log's file in the folder."""
        self.damaged: set[str] = set()
        """Files in the folder with half a line at their end."""
        self.backups: dict[str, list[tuple[bytes, Numbers]]] = defaultdict(list)
        """Earlier contents of the folder's files, by name."""
        self.done: list[str] = []
        """The actions so far, shown when a comparison fails."""
        # This file names the nodes and always stays.
        _put(self.folder / "sacct" / "base.psv", base().encode(), BEGIN)

    def night(self, *, is_last: bool = False) -> None:
        """Let the site write, rotate and copy. In the last night no copy fails."""
        self.number += 1
        for log in self.logs:
            log.write(self.at, self.content)
            self._copy(log, is_last=is_last)
            if self.rng.random() < 0.6:
                log.rotate(self.at)
        for made in self.exports:
            made.write(self.number, self.content)
            self._export(made, is_last=is_last)

    @property
    def at(self) -> datetime:
        """The moment at which the night's files are copied."""
        return BEGIN + timedelta(days=self.number + 1)

    def _copy(self, log: Log, *, is_last: bool) -> None:
        """Copy a log's files: some whole, some in part, some not at all, and some with an error."""
        for name in sorted(name for name in self.there if name.startswith(log.name)):
            if name not in log.files and (name in self.damaged or not is_last):
                self._tidy(log, name)
        for name, numbers in log.files.items():
            happens = (
                "copied"
                if is_last
                else self.rng.choice(("copied",) * 6 + ("not copied", "halved", "failed", "being written"))
            )
            if happens == "not copied":
                continue
            whole, packed = log.text(numbers).encode(), name.endswith(".gz")
            # Only the newest file grows. In half an archive, the set of readable lines is unknown.
            is_open = name == log.name and numbers
            is_readable_in_part = not packed or self.seen[log.name].issuperset(numbers)
            if not {"being written": is_open, "halved": is_readable_in_part}.get(happens, True):
                happens = "copied"
            content, there = gzip.compress(whole, mtime=0) if packed else whole, numbers
            if happens == "failed":
                content, there = self.rng.choice(FAILED), ()
            elif happens == "halved":
                content = content[: int(len(content) * self.rng.uniform(0.2, 0.9))]
                there = () if packed else numbers[: content.count(b"\n")]
            elif happens == "being written":
                content = content[: -self.rng.randrange(1, 20)]
                there = numbers[:-1]
            self._note(name, happens)
            _put(self.folder / name, content, log.date(self.at))
            self.there[name] = there
            self.damaged = self.damaged - {name} | ({name} if happens in ("halved", "being written") else set())
            if there and name not in self.damaged:
                self.backups[name].append((content, there))
        self.seen[log.name].update(*(self.there[name] for name in self.there if name.startswith(log.name)))

    def _tidy(self, log: Log, name: str) -> None:
        """Keep, delete or rename a file that the site no longer has, or restore an older one."""
        happens = self.rng.choice(("kept", "kept", "deleted", "deleted", "renamed", "restored"))
        path = self.folder / name
        if name in self.damaged:
            # A file that stays in the folder would keep its half line.
            happens = "mended"
            whole = log.text(self.there[name]).encode()
            _put(path, gzip.compress(whole, mtime=0) if name.endswith(".gz") else whole, log.date(self.at))
            self.damaged.remove(name)
        elif happens == "deleted":
            path.unlink()
            del self.there[name]
        elif happens == "renamed":
            ending = ".gz" if name.endswith(".gz") else ""
            other = f"{log.name}.old{self.number}{ending}"
            path.rename(self.folder / other)
            self.there[other] = self.there.pop(name)
        elif happens == "restored":
            content, self.there[name] = self.rng.choice(self.backups[name] or [(b"", ())])
            _put(path, content, log.date(self.at))
        self._note(name, happens)

    def _export(self, made: Export, *, is_last: bool) -> None:
        """Export the records: all, none, a part, or an error message instead."""
        happens = "exported" if is_last else self.rng.choice(("exported",) * 5 + ("not exported", "halved", "failed"))
        keys = made.keys(self.number)
        name, whole = made.file(self.number), made.text((key, self.number) for key in keys).encode()
        # Accounting that fails under a new name would exclude the cluster, and nothing of the night would be read.
        if happens in ("failed", "halved") and not (self.folder / name).exists():
            happens = "not exported"
        self._note(name, happens)
        if happens == "failed":
            _put(self.folder / name, self.rng.choice(FAILED), self.at)
        elif happens == "halved":
            content = whole[: int(len(whole) * self.rng.uniform(0.2, 0.85))]
            _put(self.folder / name, content, self.at)
            keys = keys[: max(content.count(b"\n") - 1, 0)]
        elif happens == "exported":
            _put(self.folder / name, whole, self.at)
        if happens in ("halved", "exported"):
            self.shown[made.name].update(dict.fromkeys(keys, self.number))

    def _note(self, name: str, happens: str) -> None:
        if happens not in ("copied", "exported", "kept"):
            self.done.append(f"night {self.number}: {name} {happens}")

    def write_once(self, folder: Path) -> None:
        """Write every line that was ever readable once, into one file of each log and export."""
        _put(folder / "sacct" / "base.psv", base().encode(), BEGIN)
        for log in self.logs:
            if self.seen[log.name]:
                text = log.text(sorted(self.seen[log.name]))
                _put(folder / log.name, text.encode(), log.date(self.at))
        for made in self.exports:
            if self.shown[made.name]:
                _put(folder / made.name, made.text(sorted(self.shown[made.name].items())).encode(), self.at)


def base() -> str:
    """Return an export of one job that ran on all nodes."""
    moments = dict.fromkeys(("Submit", "Eligible", "Start"), f"{BEGIN - timedelta(days=9):%FT%T}")
    end = f"{BEGIN - timedelta(days=8):%FT%T}"
    nodes = {"NodeList": f"node[000-{len(NODES) - 1:03d}]", "NNodes": str(len(NODES))}
    return export([{"JobID": "900000", **moments, "End": end, "ElapsedRaw": "86400", **nodes}])


def _put(path: Path, content: bytes, at: datetime) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (at.timestamp(), at.timestamp()))
