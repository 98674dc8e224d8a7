"""What the warehouse holds depends only on the files that are there: not on when, in which order or how they came."""

import gzip
import os
import shutil
from dataclasses import replace

import pytest
import zstandard

from assets.sources.formats import READERS
from assets.sources.intake import batch
from assets.sources.intake.across_files import settle
from assets.sources.intake.cluster_failures import failing_by_sources
from assets.sources.intake.find.folder import survey
from assets.sources.intake.find.known_files import forget_files, known_files, with_history
from assets.sources.intake.loading import load_kinds
from assets.sources.intake.read import batch_lines
from assets.sources.sacct import reader as sacct
from tests.logs import export, numbered
from tests.sources.folders import (
    MODIFIED,
    ONLY_SACCT,
    connect,
    counts,
    facts,
    load,
    load_results,
    make,
    rows,
    violations,
)


def everything(con):
    """Return all that a load leaves, save who read it."""
    tables = ("raw.sacct", "raw.node_names", "raw.node_lists", "ops.skips", "ops.quarantine")
    left = [con.execute(f"select * from {table} order by all").fetchall() for table in tables]
    return [*left, con.execute("select * exclude (run_id) from ops.files order by all").fetchall()]


def test_a_vanished_file_leaves_its_rows_until_it_is_forgotten(tmp_path):
    folder = make(
        tmp_path,
        {"c1/sacct/a.txt": export(numbered([1, 2])), "c1/sacct/b.txt": export(numbered([2, 3], NodeList="other"))},
    )
    con = load(folder)
    before = facts(con)
    (folder / "c1/sacct/b.txt").unlink()
    result = load_results(folder, con)["sacct"]
    assert (result.files_read, result.files_removed, result.files_vanished, result.warnings) == (0, 0, 1, [])
    assert facts(con) == before
    assert con.execute("select path from ops.files where not is_present").fetchall() == [("c1/sacct/b.txt",)]
    again = load_results(folder, con, full=True)["sacct"]
    assert (again.files_read, again.files_vanished, again.warnings) == (1, 1, [])
    assert facts(con) == before
    forget_files(con, sacct, [("c1", "c1/sacct/b.txt")])
    load(folder, con)
    assert everything(con) == everything(load(folder))


def test_accounting_that_vanished_wholly_still_builds_its_cluster(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": export(numbered([1])), "c2/sacct/a.txt": export(numbered([2]))})
    con = load(folder)
    (folder / "c1/sacct/a.txt").unlink()
    found = survey(folder, ONLY_SACCT, with_history=with_history(known_files(con)))
    assert sorted(found.clusters) == ["c1", "c2"]
    load_kinds(con, found, ONLY_SACCT, "run")
    assert [row[0] for row in facts(con)] == ["c1", "c2"]


def test_a_clusters_folder_that_is_gone_leaves_its_rows_and_makes_it_fail(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": export(numbered([1])), "c2/sacct/a.txt": export(numbered([2]))})
    con = load(folder)
    before = everything(con)
    shutil.rmtree(folder / "c1")
    load(folder, con)
    assert everything(con) == before
    assert failing_by_sources(con, survey(folder, ONLY_SACCT)) == {
        "c1": [
            "c1: its folder is gone from the sources folder. Put it back, or forget it: "
            "`faultline refresh --forget c1` lists what was read of it, and with --yes deletes that."
        ]
    }


def test_a_file_touched_but_not_changed_is_not_read_again(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": export(numbered([1]))})
    con = load(folder)
    (folder / "c1/sacct/a.txt").touch()
    assert load_results(folder, con)["sacct"].files_unchanged == 1
    assert load_results(folder, con, full=True)["sacct"].files_read == 1


XID = "node001 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus."
OF_ONE_NODE = {
    "c1/sacct/a.txt": export(numbered([1])),
    "c1/kernel/kern.log": f"Nov 21 07:34:23 {XID}\n",
    "c1/slurmctld/slurmctld.log": "[Nov 21 07:34:23.100] error: Nodes node001 not responding, setting DOWN\n",
    "c1/health/nhc.log": "Nov 21 07:34:23 node001 nhc[1]: ERROR:  nhc:  Health check failed:  check_fs_free:  /tmp\n",
    "c1/squeue/squeue.txt": "JOBID|EXC_NODES|STATE\n1|node001|RUNNING\n",
    "c1/inventory/nodes.txt": "NodeName=node001 CPUTot=64 Gres=gpu:a100:8 RealMemory=1 State=IDLE\n",
}
YEARS_LATER = MODIFIED.timestamp() + 3 * 365 * 86_400
NAMES_WITH_A_DATE = {
    "kern.log": "kern.log-20261121", "squeue.txt": "squeue.2026-11-21.txt", "slurmctld.log": "slurmctld.log-20261121",
}  # fmt: skip


def times(con):
    """Return the times that rows of every kind tell."""
    return con.execute(
        """
        select 'kernel', occurred_at from raw.kernel_messages
        union all select 'slurmctld', logged_at from raw.slurmctld_events
        union all select 'health', observed_at from raw.health_checks
        union all select 'squeue', seen_at from raw.squeue_exclusions
        union all select 'inventory', captured_at from raw.nodes
        order by all
        """
    ).fetchall()


def test_a_touched_file_whose_rows_tell_its_time_is_read_again(tmp_path):
    folder = make(tmp_path, OF_ONE_NODE)
    con = load(folder, readers=READERS)
    before = times(con)
    assert len(before) == 5
    for name in OF_ONE_NODE:
        os.utime(folder / name, (YEARS_LATER, YEARS_LATER))
    found = load_results(folder, con, READERS)
    assert {kind for kind, result in found.items() if result.files_read} == {kind for kind, _ in before}
    assert times(con) == times(load(folder, readers=READERS))
    assert not set(times(con)) & set(before)


@pytest.mark.slow
def test_a_touched_file_whose_name_tells_its_time_is_not_read_again(tmp_path):
    logs = {
        path.replace(name, dated): text
        for path, text in OF_ONE_NODE.items()
        for name, dated in NAMES_WITH_A_DATE.items()
        if path.endswith(name)
    }
    folder = make(tmp_path, {"c1/sacct/a.txt": OF_ONE_NODE["c1/sacct/a.txt"], **logs})
    con = load(folder, readers=READERS)
    before = times(con)
    for name in logs:
        os.utime(folder / name, (YEARS_LATER, YEARS_LATER))
    assert not any(result.files_read for result in load_results(folder, con, READERS).values())
    assert times(con) == before == times(load(folder, readers=READERS))
    assert len(before) == len(logs)


def test_other_settings_read_again_what_they_change(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": export(numbered([1]))})
    con = load(folder)
    make(folder, {"c1/cluster.toml": "price_per_gpu_hour = 2.0\n"})
    assert load_results(folder, con)["sacct"].files_unchanged == 1
    assert con.execute("select price_per_gpu_hour from raw.clusters").fetchone() == (2.0,)
    make(folder, {"c1/cluster.toml": 'timezone = "Asia/Tokyo"\n'})
    assert load_results(folder, con)["sacct"].files_read == 1
    assert str(con.execute("select started_at from raw.sacct").fetchone()[0]) == "2024-05-01 01:00:00"


def test_the_same_bytes_under_two_names_count_once(tmp_path):
    text = export(numbered([1, 2]))
    con = load(make(tmp_path, {"c1/sacct/a.txt": text, "c1/sacct/b.txt": text}))
    assert len(facts(con)) == 2
    assert con.execute("select loaded, skipped from ops.files order by path").fetchall() == [(2, 1), (0, 3)]


def test_the_same_job_number_on_two_clusters_is_two_jobs(tmp_path):
    text = export(numbered([1]))
    con = load(make(tmp_path, {"c1/sacct/a.txt": text, "c2/sacct/a.txt": text}))
    assert [row[0] for row in facts(con)] == ["c1", "c2"]
    assert con.execute("select path, warnings from ops.files order by path").fetchall() == [
        ("c1/sacct/a.txt", []),
        ("c2/sacct/a.txt", ["other_cluster: rows say 'c1', the folder is 'c2'"]),
    ]


@pytest.mark.parametrize("pack", [gzip.compress, lambda content: zstandard.ZstdCompressor().compress(content)])
def test_compressed_files_read_like_plain_ones(pack, tmp_path):
    text = export(numbered(range(100)))
    suffix = "gz" if pack is gzip.compress else "zst"
    plain = load(make(tmp_path / "plain", {"c1/sacct/a.txt": text}))
    packed = load(make(tmp_path / "packed", {f"c1/sacct/a.txt.{suffix}": pack(text.encode())}))
    assert facts(packed) == facts(plain)
    assert counts(packed) == counts(plain)


def test_a_cut_off_archive_gives_what_it_holds_and_is_read_again_when_whole(tmp_path):
    text = export(numbered(range(2000)))
    whole = gzip.compress(text.encode())
    folder = make(tmp_path, {"c1/sacct/a.txt.gz": whole[: len(whole) // 2]})
    con = load(folder)
    file = rows(con, "select * from ops.files")[0]
    assert file["is_partial"]
    assert 0 < file["loaded"] < 2000
    assert rows(con, "select reason, line_number from ops.quarantine") == [
        {"reason": "truncated_record", "line_number": file["lines_in"]}
    ]
    make(folder, {"c1/sacct/a.txt.gz": whole})
    load(folder, con)
    assert len(facts(con)) == 2000
    assert not rows(con, "select * from ops.files")[0]["is_partial"]


def test_a_crash_in_the_middle_of_a_batch_leaves_nothing_of_it(tmp_path, monkeypatch):
    folder = make(tmp_path, {"c1/sacct/a.txt": export(numbered([1])), "c1/sacct/b.txt": export(numbered([2]))})
    con = connect()
    monkeypatch.setattr(batch_lines, "MAX_BATCH_FILES", 1)
    real, calls = batch.account_for_batch, []

    def fail_on_second(*arguments):
        real(*arguments)
        calls.append(1)
        if len(calls) == 2:
            raise OSError("No space left on device")

    monkeypatch.setattr(batch, "account_for_batch", fail_on_second)
    with pytest.raises(OSError, match="No space"):
        load(folder, con)
    assert con.execute("select path from ops.files").fetchall() == [("c1/sacct/a.txt",)]
    assert con.execute("select count(*) from raw.sacct").fetchone() == (1,)
    monkeypatch.setattr(batch, "account_for_batch", real)
    load(folder, con)
    assert everything(con) == everything(load(folder))


def test_a_reader_that_loses_a_line_is_found_out(tmp_path):
    class Loses:
        KIND, TABLE, DIALECTS, VERSION, COVERS, ROWS = "sacct", "sacct", sacct.DIALECTS, 1, sacct.COVERS, sacct.ROWS
        detect = staticmethod(sacct.detect)
        dispositions = staticmethod(sacct.dispositions)

        @staticmethod
        def plan_reading(given):
            plan = sacct.plan_reading(given)
            return replace(plan, skipped=f"from ({plan.skipped}) where reason <> 'header'")

    folder = make(tmp_path, {"c1/sacct/a.txt": export(numbered([1]))})
    con = connect()
    load_kinds(con, survey(folder, {"sacct": Loses}), {"sacct": Loses}, "run")
    ((status, reason),) = con.execute("select status, reason from ops.files").fetchall()
    assert status == "refused"
    assert "2 lines, 1 outcomes; c1/sacct/a.txt, line 1: 0 outcomes" in reason
    assert con.execute("select count(*) from raw.sacct").fetchone() == (0,)


def test_violations_name_the_file(tmp_path):
    con = load(make(tmp_path, {"c1/sacct/a.txt": export(numbered([1]))}))
    con.execute("delete from raw.sacct")
    settle(con, survey(tmp_path, ONLY_SACCT), ONLY_SACCT)
    assert violations(con) == [("c1", "c1/sacct/a.txt", 2, 0, 1, 0)]


def test_exports_of_many_months_with_other_columns(tmp_path):
    """A file per month; the third month's export has other columns and another delimiter."""
    files = {f"c1/sacct/{month:02d}.txt": export(numbered([month])) for month in range(1, 13)}
    columns = ["State", "JobIDRaw", "Submit", "End", "Start", "JobID"]
    files["c1/sacct/03.txt"] = export(numbered([3]), delimiter="\x1f", columns=columns)
    con = load(make(tmp_path, files))
    found = rows(con, "select job_id_raw, user_name, path from raw.sacct order by 1")
    assert [row["job_id_raw"] for row in found] == list(range(1, 13))
    assert [row["user_name"] for row in found] == ["alice"] * 2 + [None] + ["alice"] * 9
    assert con.execute("select dialect from ops.files where path = 'c1/sacct/03.txt'").fetchone() == ("unit_separator",)
