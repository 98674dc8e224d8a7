"""The genuine capture of a Slurm 22.05 cluster: every record, in every form it was exported in, whatever the order."""

import json
import random
import shutil
from collections import Counter
from datetime import UTC, datetime
from itertools import pairwise

import pytest

from assets.sources.formats import READERS
from tests.sources.folders import CAPTURE, DIALECTS, connect, counts, facts, load, load_results, make, rows

ALL = (CAPTURE / "testbed" / "sacct" / "sacct_all.psv").read_text("utf-8")
HEADER, *RECORDS = ALL.splitlines(keepends=True)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The capture alone: a home's sources may hold other clusters."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(CAPTURE / "testbed", folder / "testbed")
    return folder


@pytest.fixture(scope="module")
def capture(sources):
    return load(sources, readers=READERS)


@pytest.fixture(scope="module")
def truth():
    return json.loads((DIALECTS / "ground_truth.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def clean_facts(capture):
    return facts(capture)


def test_every_record_and_every_line(capture):
    assert len(facts(capture)) == 102
    states = dict(capture.execute("select state, count(*) from raw.sacct group by 1").fetchall())
    assert states == {
        "CANCELLED": 8, "COMPLETED": 46, "DEADLINE": 1, "FAILED": 19, "NODE_FAIL": 5, "OUT_OF_MEMORY": 1,
        "PREEMPTED": 3, "REQUEUED": 16, "RESIZING": 1, "TIMEOUT": 2,
    }  # fmt: skip
    files = rows(capture, "select kind, lines_in, loaded, skipped, quarantined from ops.files")
    assert {file["kind"]: file["lines_in"] for file in files} == {
        "sacct": 338, "health": 1477, "kernel": 11, "events": 17, "slurmctld": 597, "inventory": 289, "squeue": 82,
    }  # fmt: skip
    assert all(file["lines_in"] == file["loaded"] + file["skipped"] + file["quarantined"] for file in files)


def test_every_job_ends_as_it_was_made_to(capture, truth):
    """`expect` is the state of a job's last record; of an array's tasks, one ends like that.

    Job 50 was held and cancelled before it could start: sacct leaves it out unless asked for its state.
    """
    last = capture.execute(
        "select coalesce(array_job_id, het_job_id, job_id_raw), arg_max(state_raw, submitted_at) "
        "from raw.sacct group by coalesce(array_job_id, het_job_id, job_id_raw), job_id"
    ).fetchall()
    wanted = {(job["job_id"], job["expect"]) for job in truth["jobs"] if job["job_id"] != 50}
    assert len(wanted) == 72
    assert wanted - set(last) == set()


def test_nodes_are_those_of_the_inventory(capture):
    names = {row[0] for row in capture.execute("select distinct node_id from raw.node_names").fetchall()}
    assert names == {f"node{number:03d}" for number in range(1, 17)}
    for table in ("health_checks", "kernel_messages", "node_events", "slurmctld_events"):
        unknown = capture.execute(f"select count(*) from raw.{table} where disposition = 'unknown_node'").fetchone()
        assert unknown == (0,), table


def test_a_resized_job_has_two_records_with_one_start(capture):
    found = rows(
        capture,
        "select state, submitted_at, started_at, ended_at from raw.sacct "
        "where job_id_raw in (select job_id_raw from raw.sacct where state = 'RESIZING') order by submitted_at",
    )
    assert found[0]["state"] == "RESIZING"
    assert len({row["started_at"] for row in found[:2]}) == 1
    assert found[1]["submitted_at"] == found[0]["ended_at"]


@pytest.mark.parametrize("name", ["sacct_lean.psv", "sacct_lean_epoch.psv", "sacct_lean_noconvert_X.psv"])
def test_every_form_gives_the_same_records(name, tmp_path, clean_facts):
    folder = make(tmp_path, {"testbed/sacct/export.psv": (DIALECTS / name).read_bytes()})
    con = load(folder)
    assert facts(con) == clean_facts
    loaded, skipped = (102, 1) if name.endswith("_X.psv") else (102, 236)
    assert counts(con) == (loaded + skipped, loaded, skipped, 0)
    quality = {"sacct_lean_epoch.psv": "epoch"}.get(name, "local")
    assert con.execute("select distinct time_quality from raw.sacct").fetchall() == [(quality,)]


def test_all_forms_together_are_one(tmp_path, clean_facts):
    names = ["sacct_lean.psv", "sacct_lean_epoch.psv", "sacct_lean_noconvert_X.psv"]
    files = {f"testbed/sacct/{name}": (DIALECTS / name).read_bytes() for name in names}
    con = load(make(tmp_path, files))
    assert facts(con) == clean_facts
    assert con.execute("select sum(line_count) from ops.skips where reason = 'duplicate'").fetchone() == (204,)


def test_reading_twice_changes_nothing(tmp_path, clean_facts):
    folder = make(tmp_path, {"testbed/sacct/a.psv": ALL})
    con = connect()
    first = load_results(folder, con)["sacct"]
    before = con.execute("select * from raw.sacct order by all").fetchall()
    second = load_results(folder, con)["sacct"]
    assert (first.files_read, second.files_read, second.files_unchanged) == (1, 0, 1)
    assert con.execute("select * from raw.sacct order by all").fetchall() == before
    assert facts(load(folder, con, full=True)) == clean_facts


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_overlapping_parts_in_any_order_are_one_load(seed, tmp_path, clean_facts):
    """Files come night by night, overlap, and one comes twice under two names."""
    generator = random.Random(seed)
    cuts = sorted(generator.sample(range(len(RECORDS)), 4))
    edges = [0, *cuts, len(RECORDS)]
    parts = [RECORDS[max(0, low - 20) : high + 20] for low, high in pairwise(edges)]
    parts.append(parts[0])
    arrival = list(enumerate(parts))
    generator.shuffle(arrival)
    con = connect()
    for number, part in arrival:
        make(tmp_path, {f"testbed/sacct/part{number}.psv": HEADER + "".join(part)})
        load(tmp_path, con, run_id=f"night{number}")
    assert facts(con) == clean_facts
    at_once = load(tmp_path)
    everything = "select * exclude (run_id) from ops.files order by path"
    for query in ("select * from raw.sacct order by all", everything, "select * from ops.skips order by all"):
        assert con.execute(query).fetchall() == at_once.execute(query).fetchall()


def test_a_running_record_gives_way_to_its_end(tmp_path, clean_facts):
    names = HEADER.rstrip("\n").split("|")
    running = []
    for record in RECORDS:
        fields = record.rstrip("\n").split("|")
        if fields[names.index("State")] == "COMPLETED" and fields[names.index("Start")] != "Unknown":
            fields[names.index("State")], fields[names.index("End")] = "RUNNING", "Unknown"
            fields[names.index("ElapsedRaw")], fields[names.index("Elapsed")] = "1", "00:00:01"
        running.append("|".join(fields) + "\n")
    for order in (("1.psv", "2.psv"), ("2.psv", "1.psv")):
        con = connect()
        folder = make(tmp_path / order[0], {f"testbed/sacct/{order[0]}": HEADER + "".join(running)})
        load(folder, con)
        assert Counter(row[0] for row in con.execute("select state from raw.sacct").fetchall())["RUNNING"] == 46
        make(folder, {f"testbed/sacct/{order[1]}": ALL})
        assert facts(load(folder, con)) == clean_facts


def test_a_fixed_width_table_is_refused_with_the_right_command(tmp_path):
    from assets.sources.errors import SourceErrors

    folder = make(tmp_path, {"testbed/sacct/table.txt": (DIALECTS / "sacct_default.txt").read_bytes()})
    with pytest.raises(SourceErrors, match=r"fixed_width_output.*sacct -a -D -X -P"):
        load(folder)


def test_the_capture_is_of_one_day(capture):
    row = capture.execute("select min(submitted_at), max(ended_at) from raw.sacct").fetchone()
    assert datetime(2026, 11, 21, 8, 2, 14) == row[0]
    assert row[1].replace(tzinfo=UTC) < datetime(2026, 11, 21, 8, 10, tzinfo=UTC)
