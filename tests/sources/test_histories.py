"""Awkward histories of a sources folder: what was read of a file stays when its name gets other bytes, until forgotten.

`HISTORIES` is a table: the files of each night, and what must hold after it. `test_nights` draws histories at random.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.sources.formats import READERS
from assets.sources.intake import batch
from assets.sources.intake.account.doubtful_files import cut_files, mark_cut_exports
from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.account.superseding import shortened_files
from assets.sources.intake.across_files import settle
from assets.sources.intake.cluster_failures import failing_by_sources
from assets.sources.intake.find import folder as folder_module
from assets.sources.intake.find.clusters import write_clusters
from assets.sources.intake.find.folder import are_of_known_sizes, survey
from assets.sources.intake.find.known_files import forget_files, known_files, with_history
from assets.sources.intake.loading import load_kinds
from assets.sources.intake.read import batch_lines
from assets.sources.sacct import reader as sacct
from tests.logs import export, numbered, slurmctld_line
from tests.sources.folders import ONLY_SACCT, connect, everything, facts, load, load_results, make, violations

DAY = datetime(2026, 3, 1)
TABLES = {kind: reader.TABLE for kind, reader in READERS.items()}
Span = tuple[datetime | None, datetime | None]
"""Beginning and end of what a kind covers; None is not compared."""


def day(number: int, hours: range = range(24)) -> str:
    """Write what the controller's log says of some hours of a day."""
    moments = [DAY + timedelta(days=number, hours=hour) for hour in hours]
    return "".join(
        slurmctld_line(at, f"error: Nodes node{at.hour:03d} not responding, setting DOWN\n") for at in moments
    )


def job(number: int, at: datetime, **fields: str) -> Mapping[str, str]:
    moments = {"Submit": at, "Eligible": at, "Start": at, "End": at + timedelta(hours=1)}
    return {"JobID": str(number), **{name: f"{moment:%FT%T}" for name, moment in moments.items()}, **fields}


def jobs(days: range, **fields: str) -> list[Mapping[str, str]]:
    return [
        job(1 + of_day * 10 + number, DAY + timedelta(days=of_day, hours=number), **fields)
        for of_day in days
        for number in range(10)
    ]


@dataclass
class Night:
    """The files that a night puts below `c1` (None takes one away), and what must hold once they are read."""

    files: Mapping[str, str | bytes | None]
    is_full: bool = False
    facts_of: int | None = None
    """The rows that count are those of this night."""
    versions: Sequence[tuple[str, int, int]] | None = None
    """Older versions: the file, the lines that count, the lines that others state."""
    statuses: Mapping[str, str] | None = None
    said: Sequence[str] | None = None
    """Parts of the lines that are said; empty if nothing is."""
    spans: Mapping[str, Sequence[Span]] | None = None
    rows: Mapping[str, Sequence[tuple[Any, ...]]] | None = None
    """What queries return."""


BASE = {"sacct/base.txt": export(jobs(range(1), NodeList="node[000-023]"))}
BAD = "ssh: connect to host slurm port 22: Connection refused\n"
LOG, EXPORT = "slurmctld/log", "sacct/sacct.txt"
FOUR_DAYS = export(jobs(range(1, 5)))
TICKETS = "ticket_id,node,opened,closed\n"
OPEN_TICKETS = "select ticket_id, closed_at is null from raw.tickets where disposition = 'loaded' order by 1"
STATES = "select job_id_raw, state from raw.sacct where disposition = 'loaded' and job_id_raw > 100 order by 1"
INVENTORY = "NodeName=node001 Gres=gpu:a100:8 BootTime=2026-02-01T00:00:00 State={}\n"
NODE = "select split_part(state, ' ', 1) from raw.nodes where node_name = 'node001' and disposition = 'loaded'"


def day_with(states: Sequence[str], number: int) -> dict[str, str]:
    """Return an export of a day's jobs and of jobs from 101 in these states."""
    open_end = {"RUNNING": {"End": "Unknown"}}
    shown = [job(place, DAY, State=state, **open_end.get(state, {})) for place, state in enumerate(states, 101)]
    return {EXPORT: export([*shown, *jobs(range(number, number + 1))])}


def count(kind: str, number: int) -> dict[str, Sequence[tuple[Any, ...]]]:
    """Return the query of a kind's rows without those of the base, with their number."""
    return {f"select count(*) from raw.{TABLES[kind]} where path not like '%/base.txt'": [(number,)]}


def spoilt_and_back(name: str, good: str | bytes, bad: str | bytes, **then: Any) -> list[Night]:
    """Put a file into place, spoil it, and mend it: what counts is always the same."""
    return [Night({name: good}), Night({name: bad}, facts_of=0, **then), Night({name: good}, facts_of=0, versions=[])]


HISTORIES: dict[str, list[Night]] = {
    "log is empty after rotation": spoilt_and_back(LOG, day(0), "", versions=[(LOG, 24, 0)], said=[]),
    "copy failed": spoilt_and_back(LOG, day(0), BAD, versions=[(LOG, 24, 0)], said=["not read"]),
    "half a copy of a log": spoilt_and_back(
        LOG, day(0), day(0, range(12)), said=["shorter than before within the same time"]
    ),
    "record that a corrected export no longer holds": [
        Night({EXPORT: FOUR_DAYS}),
        Night(
            {EXPORT: export([*jobs(range(1, 3)), *jobs(range(3, 5))[1:]])},
            facts_of=0, versions=[(EXPORT, 1, 39)], rows=count("sacct", 40),
            said=["1 lines that only its older version has stay"],
        ),
    ],
    **{
        f"export cut {how}": spoilt_and_back(
            EXPORT, FOUR_DAYS, cut, statuses={EXPORT: "cut_off"}, said=["sacct.txt: cut off: "]
        )
        for how, cut in {
            "within an early line": FOUR_DAYS[: int(0.3 * len(FOUR_DAYS))],
            "within its last line": FOUR_DAYS[: int(0.999 * len(FOUR_DAYS))],
            "between lines": FOUR_DAYS[: FOUR_DAYS.rindex("\n", 0, int(0.96 * len(FOUR_DAYS)) - 1) + 1],
        }.items()
    },
    "export cut off at first covers the time to its last whole line": [
        Night(
            {EXPORT: export([job(0, DAY, End=f"{DAY + timedelta(days=9):%FT%T}"), *jobs(range(2))])[:-40]},
            said=["sacct.txt: cut off: its last line has no end"],
            spans={"sacct": [(None, DAY + timedelta(days=1, hours=8))]},
        )
    ],
    "file of a past day that still ends within a line": [
        Night(
            {"slurmctld/log-2026-03-01": day(0, range(4))[:-9], LOG: day(0, range(4))[:-9]},
            statuses={"slurmctld/log-2026-03-01": "read", LOG: "read"}, said=[],
        ),
        Night({}, statuses={"slurmctld/log-2026-03-01": "cut_off", LOG: "read"}, said=["log-2026-03-01"]),
        Night({}, statuses={"slurmctld/log-2026-03-01": "cut_off"}, said=[]),
        Night({}, is_full=True, statuses={"slurmctld/log-2026-03-01": "cut_off"}, said=["log-2026-03-01"]),
        Night(
            {"slurmctld/log-2026-03-01": day(0, range(4)), LOG: day(0, range(4))},
            statuses={"slurmctld/log-2026-03-01": "read", LOG: "read"}, said=[],
        ),
    ],
    "newer record counts, and an ended one before one that runs": [
        Night(day_with(["FAILED", "COMPLETED", "RUNNING"], 2)),
        Night(
            day_with(["COMPLETED", "RUNNING", "COMPLETED"], 3),
            rows={STATES: [(101, "COMPLETED"), (102, "COMPLETED"), (103, "COMPLETED")]},
        ),
        Night(
            day_with([], 4),
            rows={STATES: [(101, "COMPLETED"), (102, "COMPLETED"), (103, "COMPLETED")], **count("sacct", 33)},
        ),
    ],
    "newest version of a ticket counts": [
        Night({"tickets/t.csv": f"{TICKETS}1,node001,2026-03-01,2026-03-02\n2,node001,2026-03-01,2026-03-02\n"}),
        Night(
            {"tickets/t.csv": f"{TICKETS}1,node001,2026-03-01,\n3,node001,2026-03-04,2026-03-05\n"},
            rows={OPEN_TICKETS: [("1", True), ("2", False), ("3", False)]},
        ),
    ],
    "snapshots stay and configurations do not": [
        Night({"inventory/nodes.txt": INVENTORY.format("DOWN"), "inventory/slurm.conf": "NodeName=node001\n"}),
        Night(
            {"inventory/nodes.txt": INVENTORY.format("IDLE"), "inventory/slurm.conf": "NodeName=node001 Gres=gpu:4\n"},
            versions=[("inventory/nodes.txt", 0, 0)],
        ),
    ],
    "later snapshot counts though no node states a later time": [
        Night({"inventory/nodes.txt": INVENTORY.format("IDLE")}, rows={NODE: [("IDLE",)]}),
        Night(
            {"inventory/nodes.txt": INVENTORY.format("DOWN Reason=broken [root@2026-03-05T10:00:00]")},
            rows={NODE: [("DOWN",)]},
        ),
        Night({"inventory/nodes.txt": INVENTORY.format("IDLE")}, rows={NODE: [("IDLE",)]}),
        Night({"inventory/nodes.txt": INVENTORY.format("MAINT")}, rows={NODE: [("MAINT",)]}),
        Night({}, is_full=True, rows={NODE: [("MAINT",)]}),
        Night({"inventory/nodes.txt": "slurm_load_node error: no controller\n"}, rows={NODE: [("MAINT",)]}),
    ],
    "versions stay as they were read when settings change": [
        Night({LOG: day(0)}),
        Night({LOG: day(1)}),
        Night(
            {"cluster.toml": 'timezone = "Asia/Tokyo"\n'},
            said=["1 older version or missing file was read with other settings"],
            rows={
                "select version_of is null, count(*), min(logged_at) from raw.slurmctld_events"
                " join ops.files using (path) group by 1 order by 1": [
                    (False, 24, DAY),
                    (True, 24, DAY + timedelta(days=1, hours=-9)),
                ]
            },
        ),
    ],
    "nothing is covered after the last line of a log that is refused now": [
        Night({LOG: day(0)}, spans={"slurmctld": [(None, DAY + timedelta(days=1))]}),
        Night({LOG: BAD}, spans={"slurmctld": [(None, DAY + timedelta(hours=23))]}),
        Night({"slurmctld/other": day(1)}, spans={"slurmctld": [(None, DAY + timedelta(days=2))]}),
    ],
    "refused day is covered as far as it was read": [
        Night(
            {
                f"slurmctld/log-2026-03-0{number + 1}": day(number, hours)
                for number, hours in enumerate((range(24), range(12), range(24)))
            },
            spans={"slurmctld": [(None, None)]},
        ),
        Night(
            {"slurmctld/log-2026-03-02": BAD},
            spans={
                "slurmctld": [
                    (None, DAY + timedelta(days=1, hours=11)),
                    (DAY + timedelta(days=2, seconds=-1), None),
                ]
            },
        ),
    ],
    "versions of a log are parts of one, and those of an export have spans of their own": [
        Night({LOG: day(0), EXPORT: export(jobs(range(1, 2)))}),
        Night(
            {LOG: day(3), EXPORT: export(jobs(range(31, 32)))},
            spans={"slurmctld": [(None, None)], "sacct": [(None, None)] * 2},
        ),
    ],
    "note in a folder of logs": [
        Night(
            {LOG: day(0), "slurmctld/README": "Copied each night.\n", "slurmctld/Notes.rst": "By hand.\n"},
            statuses={LOG: "read", "sacct/base.txt": "read"},
            said=["slurmctld/Notes.rst: not read: by its name a note", "slurmctld/README: not read"],
        )
    ],
}  # fmt: skip


class Site:
    """A sources folder through several nights, and the warehouse that it is loaded into."""

    def __init__(self, folder: Path, nights: Sequence[Night]) -> None:
        kinds = ("sacct", *(name.split("/")[0] for night in nights for name in night.files if "/" in name))
        self.folder, self.con, self.readers = folder, connect(), {kind: READERS[kind] for kind in dict.fromkeys(kinds)}
        self.at, self.facts = DAY + timedelta(days=30), list[dict[str, list[tuple[Any, ...]]]]()
        make(folder, {f"c1/{name}": text for name, text in BASE.items()})

    def live(self, night: Night) -> None:
        """Change the files, load them, and check that what must hold does."""
        self.at += timedelta(days=1)
        for name in (name for name, text in night.files.items() if text is None):
            (self.folder / "c1" / name).unlink()
        make(self.folder, {f"c1/{name}": text for name, text in night.files.items() if text is not None}, self.at)
        known = known_files(self.con)
        found = survey(self.folder, self.readers, known, full=night.is_full, with_history=with_history(known))
        write_clusters(self.con, found)
        results = load_kinds(self.con, found, self.readers, f"{self.at}", full=night.is_full)
        settle(self.con, found, self.readers)
        mark_cut_exports(self.con, sacct)
        assert violations(self.con) == []
        assert failing_by_sources(self.con, found) == {}
        said = [
            *map(str, found.warnings),
            *(line for result in results.values() for line in result.warnings),
            *shortened_files(self.con, f"{self.at}"),
            *cut_files(self.con, f"{self.at}"),
        ]
        self.facts.append(
            {
                kind: self.ask(
                    f"select * exclude (path, line_number) from raw.{TABLES[kind]}"
                    " where disposition = 'loaded' order by all"
                )
                for kind in self.readers
            }
        )
        self._check(night, said, found)

    def _check(self, night: Night, said: list[str], found: Any) -> None:
        if night.facts_of is not None:
            assert self.facts[-1] == self.facts[night.facts_of]
        if night.versions is not None:
            assert self.ask(VERSIONS) == list(night.versions)
        if night.statuses is not None:
            statuses = dict(self.ask("select path[4:], status from ops.files where version_of is null"))
            assert {name: statuses.get(name) for name in night.statuses} == night.statuses
        if night.said is not None:
            assert [part for part in night.said if not any(part in line for line in said)] == [], said
            assert bool(said) == bool(night.said), said
        if night.spans is not None:
            write_spans(self.con, found)
            for kind, spans in night.spans.items():
                edges = self.ask(f"select from_at, to_at from ops.spans where kind = '{kind}' order by all")
                assert len(edges) == len(spans), edges
                for edge, expected in zip(itertools.chain(*edges), itertools.chain(*spans), strict=True):
                    assert expected in (None, edge)
        for query, rows in (night.rows or {}).items():
            assert self.ask(query) == list(rows), query

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        return self.con.execute(query).fetchall()


VERSIONS = """
    select version_of[4:], loaded, coalesce((
        select sum(line_count) from ops.skips where skips.path = files.path and reason = 'superseded'
    ), 0)::integer
    from ops.files where version_of is not null order by all
"""


@pytest.mark.parametrize("name", HISTORIES)
def test_after_each_night_what_was_seen_counts(name: str, tmp_path: Path) -> None:
    site = Site(tmp_path, HISTORIES[name])
    for night in HISTORIES[name]:
        site.live(night)


def test_a_vanished_file_leaves_its_rows_until_it_is_forgotten(tmp_path: Path) -> None:
    texts = {"c1/sacct/a.txt": numbered([1, 2]), "c1/sacct/b.txt": numbered([2, 3], NodeList="other")}
    folder = make(tmp_path, {name: export(records) for name, records in texts.items()})
    con = load(folder)
    before = facts(con)
    (folder / "c1/sacct/b.txt").unlink()
    for is_full in (False, True):
        result = load_results(folder, con, full=is_full)["sacct"]
        assert (result.files_read, result.files_vanished, result.warnings) == (int(is_full), 1, [])
        assert facts(con) == before
    assert con.execute("select path from ops.files where not is_present").fetchall() == [("c1/sacct/b.txt",)]
    forget_files(con, sacct, [("c1", "c1/sacct/b.txt")])
    load(folder, con)
    assert everything(con) == everything(load(folder))


def test_accounting_or_a_cluster_that_is_gone_leaves_its_rows_and_the_folder_is_asked_for(tmp_path: Path) -> None:
    folder = make(tmp_path, {f"c{n}/sacct/a.txt": export(numbered([n])) for n in (1, 2)})
    con = load(folder)
    before = facts(con)
    (folder / "c1/sacct/a.txt").unlink()
    load(folder, con)
    assert (
        facts(con),
        failing_by_sources(con, survey(folder, ONLY_SACCT, with_history=with_history(known_files(con)))),
    ) == (before, {})
    shutil.rmtree(folder / "c1")
    load(folder, con)
    assert facts(con) == before
    ((cluster, (reason,)),) = failing_by_sources(con, survey(folder, ONLY_SACCT)).items()
    assert (cluster, "`faultline refresh --forget c1`" in reason) == ("c1", True)


def test_a_touched_file_is_read_again_only_where_its_date_is_the_time_of_its_rows(tmp_path: Path) -> None:
    line = "Nov 21 07:34:23 node001 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.\n"
    logs = dict.fromkeys(("c1/kernel/kern.log", "c2/kernel/kern.log-20261121"), line)
    folder = make(tmp_path, {**logs, **{f"c{n}/sacct/a.txt": export([{}]) for n in (1, 2)}})
    con = load(folder, readers=READERS)
    for file in folder.glob("*/*/*"):
        os.utime(file, (datetime(2029, 11, 25).timestamp(),) * 2)
    results = load_results(folder, con, READERS)
    assert (results["kernel"].files_read, results["sacct"].files_read) == (1, 0)
    years = "select year(occurred_at) from raw.kernel_messages order by cluster_id"
    for found in (con, load(folder, readers=READERS)):
        assert found.execute(years).fetchall() == [(2029,), (2026,)]


def test_a_crash_in_the_middle_of_a_batch_leaves_nothing_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path, {"c1/sacct/a.txt": export(numbered([1])), "c1/sacct/b.txt": export(numbered([2]))})
    con, real, calls = connect(), batch.account_for_batch, list[int]()

    def fail_on_second(*arguments: Any) -> None:
        real(*arguments)
        calls.append(1)
        if len(calls) == 2:
            raise OSError("No space left on device")

    monkeypatch.setattr(batch_lines, "MAX_BATCH_FILES", 1)
    monkeypatch.setattr(batch, "account_for_batch", fail_on_second)
    with pytest.raises(OSError, match="No space"):
        load(folder, con)
    assert con.execute("select path from ops.files").fetchall() == [("c1/sacct/a.txt",)]
    assert con.execute("select count(*) from raw.sacct").fetchone() == (1,)
    load(folder, con)
    assert everything(con) == everything(load(folder))


READ, REFUSED = "c1/sacct/a.psv", "c1/events/events.psv"


@pytest.mark.parametrize(
    ("change", "is_known"),
    [
        pytest.param({}, True, id="nothing"),
        # What was refused may be refused again for the same reason.
        pytest.param({REFUSED: "no table of events\nmore\n"}, True, id="refused-and-longer"),
        pytest.param({READ: export([{}]) + "more\n"}, False, id="longer"),
        pytest.param({READ: "JobID|"}, False, id="shorter"),
        pytest.param({"c1/sacct/c.psv": export([{}])}, False, id="new"),
        pytest.param({"c2/sacct/a.psv": export([{}])}, False, id="new-cluster"),
    ],
)
def test_sizes_tell_what_is_new_without_opening_a_file(
    change: dict[str, str], is_known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, {READ: export([{}]), REFUSED: "no table of events\n"})
    known = known_files(load(tmp_path, readers=READERS))
    make(tmp_path, change, datetime(2027, 1, 1))
    monkeypatch.setattr(folder_module, "inspect", lambda *_: pytest.fail("a file was opened"))
    assert are_of_known_sizes(tmp_path, READERS, known) is is_known
