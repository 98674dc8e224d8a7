"""What was read of a file stays when its name gets other bytes, until it is forgotten."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from assets.sources.errors import SourceErrors
from assets.sources.formats import READERS
from assets.sources.intake.account.doubtful_files import cut_files, mark_cut_exports
from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.account.superseding import shortened_files
from assets.sources.intake.across_files import settle
from assets.sources.intake.cluster_failures import failing_by_sources
from assets.sources.intake.find.clusters import write_clusters
from assets.sources.intake.find.folder import survey
from assets.sources.intake.find.known_files import known_files, with_history
from assets.sources.intake.loading import load_kinds
from assets.sources.reader import Reader
from tests.logs import XID, export, kernel_line, result_line, slurmctld_line
from tests.sources.folders import connect, make, violations

DAY = datetime(2026, 3, 1)
TABLES = {kind: reader.TABLE for kind, reader in READERS.items()}


def slurmctld(at: datetime) -> str:
    return slurmctld_line(at, f"error: Nodes node{at.hour:03d} not responding, setting DOWN\n")


def kernel(at: datetime) -> str:
    return kernel_line(f"node{at.hour:03d}", at, XID.format(bus="07", code=79)) + "\n"


def health(at: datetime) -> str:
    return result_line(f"node{at.hour:03d}", at, "check ib", 2 * (at.hour % 2)) + "\n"


LOGS = {"slurmctld": slurmctld, "kernel": kernel, "health": health}


def day(kind: str, number: int, hours: range = range(24)) -> str:
    """Write what a log tells of some hours of a day."""
    return "".join(LOGS[kind](DAY + timedelta(days=number, hours=hour)) for hour in hours)


def job(number: int, at: datetime, **fields: str) -> Mapping[str, str]:
    moments = {"Submit": at, "Eligible": at, "Start": at, "End": at + timedelta(hours=1)}
    times = {name: f"{moment:%Y-%m-%dT%H:%M:%S}" for name, moment in moments.items()}
    return {"JobID": str(number), **times, **fields}


def jobs(days: range, **fields: str) -> list[Mapping[str, str]]:
    return [
        job(1 + of_day * 10 + number, DAY + timedelta(days=of_day, hours=number), **fields)
        for of_day in days
        for number in range(10)
    ]


class Site:
    """A sources folder through several nights, and the warehouse that it is loaded into."""

    def __init__(self, folder, kinds: tuple[str, ...]) -> None:
        self.folder, self.con = folder, connect()
        self.readers: Mapping[str, Reader] = {kind: READERS[kind] for kind in kinds}
        self.at = DAY + timedelta(days=30)
        if "sacct" in kinds:
            make(folder, {"c1/sacct/base.txt": export(jobs(range(1), NodeList="node[000-023]"))})
        self.said: list[str] = []

    def night(self, files: Mapping[str, str | bytes | None], full: bool = False) -> None:
        """Put files into the folder, take out those that are None, and load what is there."""
        for name, text in files.items():
            if text is None:
                (self.folder / "c1" / name).unlink()
        self.at += timedelta(days=1)
        make(self.folder, {f"c1/{name}": text for name, text in files.items() if text is not None}, self.at)
        known = known_files(self.con)
        found = self.found = survey(self.folder, self.readers, known, full=full, with_history=with_history(known))
        write_clusters(self.con, found)
        results = load_kinds(self.con, found, self.readers, f"{self.at}", full=full)
        settle(self.con, found, self.readers)
        mark_cut_exports(self.con, READERS["sacct"])
        assert violations(self.con) == []
        self.said = [
            *map(str, found.warnings),
            *(line for result in results.values() for line in result.warnings),
            *shortened_files(self.con, f"{self.at}"),
            *cut_files(self.con, f"{self.at}"),
        ]

    def facts(self, kind: str) -> list[tuple]:
        """Return the rows of a kind that count, without where they stand."""
        return self.con.execute(
            f"select * exclude (path, line_number) from raw.{TABLES[kind]} where disposition = 'loaded' order by all"
        ).fetchall()

    def count(self, kind: str) -> int:
        """Return how many rows the working file holds of a kind."""
        return self.con.execute(f"select count(*) from raw.{TABLES[kind]} where path not like '%/base.txt'").fetchone()[
            0
        ]

    def versions(self) -> list[tuple[str, int, int]]:
        """Return the older versions: of which file, how many lines count, how many others state."""
        return self.con.execute(
            """
            select version_of, loaded, coalesce((
                select sum(line_count) from ops.skips
                where skips.path = files.path and reason = 'superseded'
            ), 0)::integer
            from ops.files where version_of is not null order by all
            """
        ).fetchall()


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        pytest.param("kernel", "", id="empty"),
        pytest.param("slurmctld", "ssh: connect to host slurm port 22: Connection refused\n", id="ssh"),
        pytest.param("health", "slurm_load_jobs error: Unable to contact slurm controller\n", id="slurm"),
        pytest.param("kernel", bytes(range(256)) * 16, id="garbage"),
    ],
)
def test_an_export_that_failed_deletes_nothing(kind, bad, tmp_path):
    site = Site(tmp_path, (kind,))
    site.night({f"{kind}/log": day(kind, 0)})
    before = site.facts(kind)
    site.night({f"{kind}/log": bad})
    assert site.facts(kind) == before
    assert site.versions() == [(f"c1/{kind}/log", 24, 0)]
    assert bool(site.said) == bool(bad), "rotation leaves a log empty"
    site.night({f"{kind}/log": day(kind, 0)})
    assert (site.facts(kind), site.versions()) == (before, [])


@pytest.mark.parametrize("kind", [*LOGS, "sacct"])
def test_half_a_copy_keeps_all(kind, tmp_path):
    site, name = Site(tmp_path, (kind,)), f"{kind}/log"
    text = export(jobs(range(1, 4))) if kind == "sacct" else day(kind, 0) + day(kind, 1)
    site.night({name: text})
    before, rows = site.facts(kind), site.count(kind)
    site.night({name: text[: len(text) // 2]})
    assert site.facts(kind) == before
    assert site.count(kind) == rows
    assert [line for line in site.said if "shorter than before within the same time" in line]
    site.night({name: text})
    assert (site.facts(kind), site.versions()) == (before, [])


def test_a_line_that_was_being_written_is_not_kept(tmp_path):
    site = Site(tmp_path, ("slurmctld",))
    text = day("slurmctld", 0, range(3))
    site.night({"slurmctld/log": text + slurmctld(DAY + timedelta(hours=3)).replace(", setting DOWN\n", "")})
    assert site.count("slurmctld") == 4
    site.night({"slurmctld/log": day("slurmctld", 1)})
    assert site.versions() == [("c1/slurmctld/log", 3, 1)]


def test_a_record_that_a_corrected_export_no_longer_holds_stays(tmp_path):
    site, records = Site(tmp_path, ("sacct",)), jobs(range(1, 5))
    site.night({"sacct/sacct.txt": export(records)})
    site.night({"sacct/sacct.txt": export([*records[:20], *records[21:]])})
    assert (site.versions(), site.count("sacct")) == ([("c1/sacct/sacct.txt", 1, 39)], 40)
    assert [line for line in site.said if "1 lines that only its older version has stay" in line]


STATUSES = "select status from ops.files where path = 'c1/sacct/sacct.txt'"


@pytest.mark.parametrize("share", [0.3, 0.96, 0.999])
def test_an_export_that_was_cut_deletes_nothing_and_a_line_says_so(share, tmp_path):
    site, text = Site(tmp_path, ("sacct",)), export(jobs(range(1, 5)))
    site.night({"sacct/sacct.txt": text})
    before = site.facts("sacct")
    for cut in (text[: int(share * len(text))], text[: text.rindex("\n", 0, int(share * len(text)) - 1) + 1]):
        site.night({"sacct/sacct.txt": cut})
        assert site.facts("sacct") == before
        assert site.con.execute(STATUSES).fetchall() == [("cut_off",)]
        assert [line for line in site.said if "sacct.txt: cut off: " in line]
        assert failing_by_sources(site.con, site.found) == {}
    site.night({"sacct/sacct.txt": text})
    assert (site.facts("sacct"), site.versions(), site.said) == (before, [], [])
    assert site.con.execute(STATUSES).fetchall() == [("read",)]


def test_an_export_that_is_cut_off_at_first_covers_the_time_to_its_last_whole_line(tmp_path):
    site, text = (
        Site(tmp_path, ("sacct",)),
        export([job(0, DAY, End=f"{DAY + timedelta(days=9):%FT%T}"), *jobs(range(2))]),
    )
    site.night({"sacct/base.txt": None, "sacct/sacct.txt": text[:-40]})
    assert [line for line in site.said if "sacct.txt: cut off: its last line has no end" in line]
    assert max(to_at for _, to_at in spans(site, "sacct")) == DAY + timedelta(days=1, hours=8)
    assert failing_by_sources(site.con, site.found) == {}


def test_a_file_of_a_past_day_that_still_ends_within_a_line_is_cut_off(tmp_path):
    site, text = Site(tmp_path, ("slurmctld",)), day("slurmctld", 0, range(4))
    status = "select path, status from ops.files order by path"
    dated, others = "c1/slurmctld/log-2026-03-01", "c1/slurmctld/log"
    site.night({"slurmctld/log-2026-03-01": text[:-9], "slurmctld/log": text[:-9]})
    assert (site.con.execute(status).fetchall(), site.said) == ([(others, "read"), (dated, "read")], [])
    for is_full, said in ((False, [dated]), (False, []), (True, [dated])):
        site.night({}, full=is_full)
        assert site.con.execute(status).fetchall() == [(others, "read"), (dated, "cut_off")]
        assert [line.partition(":")[0] for line in site.said] == said
    site.night({"slurmctld/log-2026-03-01": text, "slurmctld/log": text})
    assert (site.con.execute(status).fetchall(), site.said) == ([(others, "read"), (dated, "read")], [])


def test_a_version_without_rows_goes_unless_it_shows_hosts_that_no_other_file_does(tmp_path):
    site = Site(tmp_path, ("kernel", "slurmctld"))
    quiet = [kernel_line(f"node{number:03d}", DAY + timedelta(days=number), "eth0: up") + "\n" for number in range(3)]
    for number in range(3):
        controller = slurmctld_line(DAY + timedelta(days=number), "sched: Allocate JobId=1\n")
        site.night({"kernel/log": quiet[number], "slurmctld/log": controller})
    assert site.versions() == [("c1/kernel/log", 0, 0)] * 2
    site.night({"kernel/log": "".join(reversed(quiet))})
    assert site.versions() == []


def test_of_versions_of_a_file_the_newer_record_counts_and_what_ended_beats_what_runs(tmp_path):
    site, at = Site(tmp_path, ("sacct",)), DAY + timedelta(days=1)
    running = {"State": "RUNNING", "End": "Unknown"}
    old = [job(101, at, State="FAILED"), job(102, at), job(103, at, **running), *jobs(range(2, 3))]
    new = [job(101, at, State="COMPLETED"), job(102, at, **running), job(103, at), *jobs(range(3, 4))]
    states = "select job_id_raw, state from raw.sacct where disposition = 'loaded' and job_id_raw > 100 order by 1"
    states_after = [(101, "COMPLETED"), (102, "COMPLETED"), (103, "COMPLETED")]
    site.night({"sacct/sacct.txt": export(old)})
    site.night({"sacct/sacct.txt": export(new)})
    assert site.con.execute(states).fetchall() == states_after
    site.night({"sacct/sacct.txt": export(jobs(range(4, 5)))})
    assert site.con.execute(states).fetchall() == states_after
    assert site.count("sacct") == 33


def test_slices_of_an_attempt_stay_where_each_night_writes_its_window_over_the_last(tmp_path):
    """As `sacct -T` shows a job of ten hours from 20:00 and one that goes on, which both start again at 0:00."""
    site, edges = Site(tmp_path, ("sacct",)), [DAY + timedelta(hours=20), *(DAY + timedelta(days=n) for n in (1, 2, 3))]
    for night, (start, end) in enumerate(itertools.pairwise(edges)):
        known = {"Submit": f"{edges[0]:%FT%T}", "Start": f"{start:%FT%T}"}
        running = {"End": f"{end:%FT%T}", "State": "RUNNING", "ElapsedRaw": str(int((end - start).total_seconds()))}
        ended = {"End": f"{start + timedelta(hours=6):%FT%T}", "ElapsedRaw": "21600"}
        seen = [(201, ended if night == 1 else running)] if night < 2 else []
        sliced = [job(number, start, **known, **fields) for number, fields in [*seen, (202, running)]]
        site.night({"sacct/sacct.txt": export([*sliced, *jobs(range(night + 1, night + 2))])})
    slices = "select disposition, elapsed_seconds // 3600 from raw.sacct where job_id_raw = $1 order by started_at"
    assert site.con.execute(slices, [201]).fetchall() == [("coalesced", 4), ("loaded", 6)]
    assert site.con.execute(slices, [202]).fetchall() == [("coalesced", 4), ("coalesced", 24), ("loaded", 24)]


def test_the_newest_version_of_a_ticket_counts(tmp_path):
    site, head = Site(tmp_path, ("tickets",)), "ticket_id,node,opened,closed\n"
    make(site.folder, {"c1/cluster.toml": ""})
    site.night({"tickets/t.csv": f"{head}1,node001,2026-03-01,2026-03-02\n2,node001,2026-03-01,2026-03-02\n"})
    site.night({"tickets/t.csv": f"{head}1,node001,2026-03-01,\n3,node001,2026-03-04,2026-03-05\n"})
    open_ones = "select ticket_id, closed_at is null from raw.tickets where disposition = 'loaded' order by 1"
    assert site.con.execute(open_ones).fetchall() == [("1", True), ("2", False), ("3", False)]


def test_snapshots_stay_and_configurations_do_not(tmp_path):
    site = Site(tmp_path, ("inventory",))
    line = "NodeName=node001 CPUTot=64 Gres=gpu:a100:8 RealMemory=1 State={} Reason={}\n"
    for state, reason, count in (("DOWN", "broken", 8), ("IDLE", "none", 4)):
        conf = f"NodeName=node001 Gres=gpu:{count}\n"
        site.night({"inventory/nodes.txt": line.format(state, reason), "inventory/slurm.conf": conf})
    assert [path for path, *_ in site.versions()] == ["c1/inventory/nodes.txt"]


def test_a_later_snapshot_counts_though_no_node_tells_a_later_time(tmp_path):
    site = Site(tmp_path, ("inventory",))
    states = ("State=IDLE", "State=DOWN Reason=broken [root@2026-03-05T10:00:00]", "State=IDLE", "State=MAINT")
    loaded = "select split_part(state, ' ', 1) from raw.nodes where node_name = 'node001' and disposition = 'loaded'"
    for state in states:
        site.night({"inventory/nodes.txt": f"NodeName=node001 Gres=gpu:a100:8 BootTime=2026-02-01T00:00:00 {state}\n"})
        expected = [(state.split()[0].removeprefix("State="),)]
        assert site.con.execute(loaded).fetchall() == expected
    site.night({}, full=True)
    assert site.con.execute(loaded).fetchall() == expected
    site.night({"inventory/nodes.txt": "slurm_load_node error: Unable to contact slurm controller\n"})
    assert site.con.execute(loaded).fetchall() == expected


def test_the_same_bytes_read_again_take_the_place_of_their_rows_and_kept_versions_stay_as_read(tmp_path):
    site = Site(tmp_path, ("slurmctld",))
    site.night({"slurmctld/log": day("slurmctld", 0)})
    site.night({"slurmctld/log": day("slurmctld", 1)})
    before = site.facts("slurmctld")
    site.night({"cluster.toml": 'timezone = "Asia/Tokyo"\n'})
    after = site.facts("slurmctld")
    assert len(after) == 48
    assert len({*before} & {*after}) == 24
    assert [line for line in site.said if "1 older version or file that is gone was read with other settings" in line]


def spans(site: Site, kind: str) -> list[tuple[datetime, datetime]]:
    write_spans(site.con, site.found)
    query = "select from_at, to_at from ops.spans where kind = ? order by all"
    return site.con.execute(query, [kind]).fetchall()


BAD = "ssh: connect to host slurm port 22: Connection refused\n"


def test_nothing_is_covered_after_the_last_line_of_a_log_that_is_refused_now(tmp_path):
    site = Site(tmp_path, ("slurmctld",))
    site.night({"slurmctld/log": day("slurmctld", 0)})
    ((_, before),) = spans(site, "slurmctld")
    assert before > DAY + timedelta(hours=23), "quiet hours after the last line are covered"
    site.night({"slurmctld/log": BAD})
    assert [to_at for _, to_at in spans(site, "slurmctld")] == [DAY + timedelta(hours=23)]
    site.night({"slurmctld/other": day("slurmctld", 1)})
    assert [to_at for _, to_at in spans(site, "slurmctld")] == [before + timedelta(days=1)], "another file goes on"


def test_a_refused_day_is_covered_as_far_as_it_was_read(tmp_path):
    site, hours = Site(tmp_path, ("slurmctld",)), {0: range(24), 1: range(12), 2: range(24)}
    site.night({f"slurmctld/log-2026-03-0{number + 1}": day("slurmctld", number, hours[number]) for number in range(3)})
    assert len(spans(site, "slurmctld")) == 1
    site.night({"slurmctld/log-2026-03-02": BAD})
    ((_, until), (after, _)) = spans(site, "slurmctld")
    assert (until, after) == (DAY + timedelta(days=1, hours=11), DAY + timedelta(days=2) - timedelta(seconds=1))


def test_versions_of_a_log_are_parts_of_one_and_versions_of_an_export_have_spans_of_their_own(tmp_path):
    site = Site(tmp_path, ("sacct", "slurmctld"))
    for number in (0, 3):
        log = day("slurmctld", number)
        site.night({"slurmctld/log": log, "sacct/sacct.txt": export(jobs(range(10 * number + 1, 10 * number + 2)))})
    assert len(spans(site, "slurmctld")) == 1
    assert len(spans(site, "sacct")) == 2, "numbers of jobs between them are on no record"


def test_accounting_that_is_refused_now_leaves_its_cluster_out_only_if_nothing_was_read_of_it(tmp_path):
    site = Site(tmp_path, ("sacct",))
    site.night({"sacct/base.txt": export(jobs(range(2)))})
    site.night({"sacct/base.txt": BAD})
    assert (site.found.failing, failing_by_sources(site.con, site.found)) == ({}, {})
    assert len(site.facts("sacct")) == 20
    assert max(to_at for _, to_at in spans(site, "sacct")) == DAY + timedelta(days=1, hours=10)
    with pytest.raises(SourceErrors):
        site.night({"sacct/other.txt": BAD})


def test_accounting_that_is_cut_off_now_counts_beside_its_older_version(tmp_path):
    site = Site(tmp_path, ("sacct",))
    whole = gzip.compress(export(jobs(range(200))).encode())
    site.night({"sacct/base.txt": None, "sacct/all.gz": whole})
    before = site.facts("sacct")
    site.night({"sacct/all.gz": whole[: len(whole) // 2]})
    assert failing_by_sources(site.con, site.found) == {}
    assert site.facts("sacct") == before


@pytest.mark.parametrize("name", ["readme.txt", "README", "Notes.rst"])
def test_a_note_in_a_folder_of_logs_is_skipped_with_a_word(name, tmp_path):
    site = Site(tmp_path, ("slurmctld",))
    site.night({"slurmctld/log": day("slurmctld", 0), f"slurmctld/{name}": "Copied from the controller each night.\n"})
    assert site.con.execute("select path from ops.files where kind = 'slurmctld'").fetchall() == [("c1/slurmctld/log",)]
    (said,) = site.said
    assert said.startswith(f"c1/slurmctld/{name}: not read: by its name a note")
