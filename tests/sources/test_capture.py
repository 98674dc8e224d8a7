"""The genuine capture of a Slurm 22.05 cluster: every record, in every form of the export and in any order."""

import json
import re
import shutil
from datetime import datetime, timedelta
from random import Random

import pytest

from assets.sources.errors import SourceErrors
from assets.sources.formats import READERS
from tests.sources.folders import CAPTURE, DIALECTS, counts, facts, load, make, rows

WITH_HEADER, IN_ANY_ORDER = ("sacct", "events", "squeue"), ("sacct", "health", "events")
LOCAL_TIME = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?![\d.]*(?:Z|[+-]\d\d))|^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d", re.MULTILINE
)
OFFSET = timedelta(hours=5, minutes=30)
"""The offset of Asia/Kolkata, which has no summer time."""
OF_THE_RESULT = ("started_at", "observed_at", "unchanged_since", "job_id_raw", "check_type", "message")
"""Columns that differ between equal check results: the order of lines decides which results are kept."""


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The capture alone, because a home's sources may hold other clusters."""
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
    """`expect` is the state of a job's last record, or of the last record of one task of an array.

    Job 50 was held and cancelled before it could start; sacct omits it without a query for its state.
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


@pytest.mark.parametrize("name", ["sacct_lean.psv", "sacct_lean_epoch.psv", "sacct_lean_noconvert_X.psv"])
def test_every_form_gives_the_same_records(name, tmp_path, clean_facts):
    folder = make(tmp_path, {"testbed/sacct/export.psv": (DIALECTS / name).read_bytes()})
    con = load(folder)
    assert facts(con) == clean_facts
    loaded, skipped = (102, 1) if name.endswith("_X.psv") else (102, 236)
    assert counts(con) == (loaded + skipped, loaded, skipped, 0)
    quality = {"sacct_lean_epoch.psv": "epoch"}.get(name, "local")
    assert con.execute("select distinct time_quality from raw.sacct").fetchall() == [(quality,)]


def moved(found: re.Match[str]) -> str:
    """Return a local time on the clock of the other zone."""
    if "T" in found[0]:
        return (datetime.fromisoformat(found[0]) + OFFSET).isoformat()
    return (datetime.strptime(f"2026 {found[0]}", "%Y %b %d %H:%M:%S") + OFFSET).strftime("%b %e %H:%M:%S")


def logs_of(con):
    """Return the loaded rows of all logs without their places, and the spans of the logs."""
    found = {"spans": con.execute("from ops.spans order by all").fetchall()}
    for table in ("sacct", "health_checks", "kernel_messages", "slurmctld_events", "node_events", "nodes"):
        left_out = ("path", "line_number", *(OF_THE_RESULT if table == "health_checks" else ()))
        query = f"select distinct columns(lambda name: name not in {left_out}) from raw.{table}"
        found[table] = con.execute(f"{query} where disposition = 'loaded' order by all").fetchall()
        assert found[table]
    return found


@pytest.mark.parametrize("variant", ["shuffled", "of another zone"])
def test_the_same_facts_in_another_order_or_zone_give_the_same_rows(variant, capture, sources, tmp_path):
    folder = shutil.copytree(sources, tmp_path / "sources")
    for path in sorted(folder.glob("testbed/*/*")):
        kind, text = path.parent.name, path.read_text("utf-8", "surrogateescape")
        if variant == "shuffled" and kind in IN_ANY_ORDER:
            lines = text.splitlines(keepends=True)
            headers = int(kind in WITH_HEADER)
            text = "".join([*lines[:headers], *Random(1).sample(lines[headers:], len(lines) - headers)])
        elif variant == "of another zone" and kind != "health":
            text = LOCAL_TIME.sub(moved, text)
        make(folder, {f"testbed/{kind}/{path.name}": text.encode("utf-8", "surrogateescape")})
    if variant == "of another zone":
        make(folder, {"testbed/cluster.toml": 'timezone = "Asia/Kolkata"\n'})
    assert logs_of(load(folder, readers=READERS)) == logs_of(capture)


def test_a_fixed_width_table_is_refused_with_the_right_command(tmp_path):
    folder = make(tmp_path, {"testbed/sacct/table.txt": (DIALECTS / "sacct_default.txt").read_bytes()})
    with pytest.raises(SourceErrors, match=r"fixed_width_output.*sacct -a -D -X -P"):
        load(folder)
