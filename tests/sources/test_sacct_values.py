"""The values of accounting records: states, resources, times, ids, and which records are copies of one attempt."""

import duckdb
import pytest

from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.distinct_values import exclusion_text
from assets.sources.sacct.values import (
    LARGEST_ID,
    STATES,
    ValueProblem,
    read_exclusions,
    read_memory,
    read_state,
    read_tres,
)
from tests.logs import BASE, export
from tests.sources.folders import load, make, rows


def test_durations_are_read_as_slurm_prints_them(tmp_path):
    """Of three jobs one tells its time as a number, one as a duration, and one was suspended."""
    printed = [{"ElapsedRaw": "3600"}, {"Elapsed": "00:59:00"}, {"Elapsed": "00:50:00", "Suspended": "00:10:00"}]
    records = [
        {"JobID": str(n), "ElapsedRaw": None, "Elapsed": None, "Suspended": None, **printed_values}
        for n, printed_values in enumerate(printed, 1)
    ]
    con = load(make(tmp_path, {"c1/sacct/a.psv": export(records)}))
    assert con.execute("select elapsed_seconds, suspended_seconds from raw.sacct order by job_id_raw").fetchall() == [
        (3600, None), (3540, None), (3000, 600),
    ]  # fmt: skip


def test_records_of_one_second_are_told_apart_by_the_index_of_slurm_24_11(tmp_path):
    """Of half of the clusters it is above 2^63: the highest of its 64 bits are the cluster's."""
    times = {"Submit": "2024-05-02T10:00:00", "Start": "2024-05-02T10:00:01"}
    records = [
        {**times, "State": "NODE_FAIL", "End": "2024-05-02T10:05:00", "DBIndex": "14724106016270072832"},
        {**times, "State": "COMPLETED", "End": "2024-05-02T11:00:00", "DBIndex": "14724106016270085120"},
    ]
    con = load(make(tmp_path, {"c1/sacct/a.txt": export(records)}))
    found = rows(con, "select state, disposition from raw.sacct order by db_index")
    assert found == [
        {"state": "NODE_FAIL", "disposition": "loaded"},
        {"state": "COMPLETED", "disposition": "loaded"},
    ]


def test_the_end_of_a_window_is_not_that_of_a_job_that_runs(tmp_path):
    """As `sacct -T` and slurmrestd print it."""
    printed_values = {"Submit": "2024-05-02T10:00:00", "Start": "2024-05-02T10:00:01", "End": "2024-05-03T00:00:00"}
    records = [
        {**printed_values, "State": state, "ElapsedRaw": "50399"} for state in ("RUNNING", "SUSPENDED", "PENDING")
    ]
    numbered = [{**record, "JobID": str(n)} for n, record in enumerate(records, 1)]
    con = load(make(tmp_path, {"c1/sacct/a.txt": export(numbered)}))
    assert con.execute("select ended_at, elapsed_seconds from raw.sacct").fetchall() == [(None, 50399)] * 3


def test_states():
    assert all(read_state(state).name == state for state in STATES)
    assert read_state("CANCELLED+").name == "CANCELLED"
    assert read_state("NODE_FA+").was_cut
    for text in ("", "+", "RE+", "S+", "FOO", "?", "completed"):
        with pytest.raises(ValueProblem):
            read_state(text)


@pytest.mark.parametrize("text", ["cpu", "gres/gpu=", "gres/gpu=many", "cpu=1.5", "cpu=4,,node=1"])
def test_bad_tres(text):
    with pytest.raises(ValueProblem, match=r"is not (name=value|a count)"):
        read_tres(text)


@pytest.mark.parametrize(
    ("text", "mib", "per"),
    [
        ("750G", 768000.0, "job"),
        ("1T", 1048576.0, "job"),
        ("512K", 0.5, "job"),
        ("4000", 4000.0, "job"),
        ("?", None, "job"),
    ],
)
def test_memory(text, mib, per):
    memory = read_memory(text)
    assert (memory.mib, memory.per) == (mib, per)


@pytest.mark.parametrize(
    ("line", "lists"),
    [
        ("sbatch -x n1 a.sh", ["n1"]),
        ("sbatch -xn1 a.sh", ["n1"]),
        ("srun --parsable --exclude n[1-2] --gres gpu:8 python -x skip", ["n[1-2]"]),
        ("sbatch --nodes=2 -p train -N 4 -H --exclude=n1 a.sh --exclude=n2", ["n1"]),
        ("sbatch --wrap 'echo -x n1'", []),
        ("salloc --exclusive -x n1", ["n1"]),
        ("sbatch it's -x n1", []),
        ("sbatch -x", []),
    ],
)
def test_exclusions(line, lists):
    assert read_exclusions(line) == lists
    assert read_exclusions(said_about_exclusions(line) or "") == lists


def test_epoch_zero_is_no_moment(tmp_path):
    con = load(make(tmp_path, {"c1/sacct/a.psv": export([{"Eligible": "1970-01-01T00:00:00"}])}))
    assert con.execute("select eligible_at, submitted_at is null from raw.sacct").fetchall() == [(None, False)]


def said_about_exclusions(line: str) -> str | None:
    with duckdb.connect() as con:
        rows = con.execute(f"select {exclusion_text()} from (select $1 as {TEXTS['SubmitLine']})", [line]).fetchall()
    return rows[0][0]


def test_lines_that_differ_behind_their_only_exclusion_say_the_same_of_it():
    said = {said_about_exclusions(f"sbatch --time={n} -x n[1-2] a.sh --seed {n}") for n in range(3)}
    assert len(said) == 1
    assert read_exclusions(said.pop()) == ["n[1-2]"]


@pytest.mark.parametrize("behind", ["-x n2", "--exclude=n2", "'a b' -x n2", '"-x" n2'])
def test_what_stands_behind_the_first_exclusion_is_read_where_it_may_be_another(behind):
    line = f"sbatch -x n1 {behind} a.sh"
    assert read_exclusions(said_about_exclusions(line)) == read_exclusions(line)


WITHIN_THE_DOUBLED_HOUR = [
    ("01:59:51", "01:00:03", "01:01:20", 77, "09:00:03", "09:01:20"),
    ("01:10:00", "01:20:00", "01:50:00", 1800, "08:20:00", "08:50:00"),
    ("01:10:00", "01:20:00", "01:50:00", 5400, "08:20:00", "09:50:00"),
    ("00:10:00", "01:20:00", "01:10:00", 3000, "08:20:00", "09:10:00"),
]
"""Submit, start, end (local), elapsed seconds, and what start and end are in UTC."""


def test_a_job_within_the_doubled_hour_does_not_start_before_its_submission(tmp_path):
    records = []
    for number, (submit, start, end, elapsed, *_) in enumerate(WITHIN_THE_DOUBLED_HOUR):
        moments = {"Submit": submit, "Eligible": submit, "Start": start, "End": end}
        record = {name: f"2023-11-05T{time}" for name, time in moments.items()}
        records.append(record | {"JobID": f"{number}", "ElapsedRaw": f"{elapsed}"})
    files = {"c1/sacct/a.txt": export(records), "c1/cluster.toml": 'timezone = "America/Los_Angeles"\n'}
    found = rows(load(make(tmp_path, files)), "select started_at, ended_at from raw.sacct order by job_id_raw")
    assert [(f"{row['started_at']:%T}", f"{row['ended_at']:%T}") for row in found] == [
        (started_at, ended_at) for *_, started_at, ended_at in WITHIN_THE_DOUBLED_HOUR
    ]


def test_without_jobidraw_parts_of_arrays_and_of_heterogeneous_jobs_are_jobs_of_their_own(tmp_path):
    columns = [name for name in BASE if name != "JobIDRaw"]
    shown = ["70_1", "70_2", "701", "702", "1_23", "12_3", "123", "23+0", "23+1", "70_1"]
    text = export(({"JobID": job} for job in shown), columns=columns)
    con = load(make(tmp_path, {"c1/sacct/a.txt": text}))
    found = dict(con.execute("select job_id, job_id_raw from raw.sacct where disposition = 'loaded'").fetchall())
    assert sorted(found) == sorted(set(shown))
    assert len(set(found.values())) == len(found)
    assert {job: number for job, number in found.items() if number < LARGEST_ID} == {"701": 701, "702": 702, "123": 123}
    assert all(number < 2 * LARGEST_ID for number in found.values())
    assert con.execute("select count(*) from raw.sacct where disposition = 'duplicate'").fetchone() == (1,)
    assert con.execute(
        "select array_job_id, array_task_id, het_job_id, het_offset from raw.sacct where job_id in ('12_3', '23+1') "
        "order by job_id"
    ).fetchall() == [(12, 3, None, None), (None, None, 23, 1)]


NO_JOB_IDS = ["70_", "_1", "7 0", "70-1", "0x1f", "7e3", "7.0"]


@pytest.fixture(scope="module")
def of_no_job_ids(tmp_path_factory):
    """An export for each of them, with a good record before it, loaded at once."""
    columns = [name for name in BASE if name != "JobIDRaw"]
    texts = {shown: export([{"JobID": "51"}, {"JobID": shown}], columns=columns) for shown in NO_JOB_IDS}
    folder = tmp_path_factory.mktemp("no_job_ids")
    return load(make(folder, {f"c1/sacct/{shown}.txt": text for shown, text in texts.items()}))


@pytest.mark.parametrize("shown", NO_JOB_IDS)
def test_what_is_no_job_id_makes_no_number(of_no_job_ids, shown):
    found = of_no_job_ids.execute("select job_id from raw.sacct where path = ?", [f"c1/sacct/{shown}.txt"]).fetchall()
    assert found == [("51",)]


REQUEUED_AT_ONCE = [
    {
        "JobIDRaw": "66",
        "DBIndex": "1",
        "State": "REQUEUED",
        "Start": "2024-05-01T08:00:00",
        "End": "2024-05-01T08:00:00",
    },
    {"JobIDRaw": "66", "DBIndex": "2", "State": "PENDING", "Start": "Unknown", "End": "Unknown"},
    {
        "JobIDRaw": "66",
        "DBIndex": "2",
        "State": "COMPLETED",
        "Start": "2024-05-01T08:02:00",
        "End": "2024-05-01T09:00:00",
    },
]
"""A prolog that fails at once, and the attempt after it, which was submitted in the same second."""


@pytest.mark.parametrize("is_indexed", [True, False])
def test_an_attempt_requeued_in_the_second_of_its_submission_is_not_its_successor(tmp_path, is_indexed):
    submitted = {"JobID": "66", "Submit": "2024-05-01T08:00:00", "Eligible": "2024-05-01T08:00:00"}
    records = [submitted | record for record in REQUEUED_AT_ONCE]
    columns = [*(name for name in BASE if name != "DBIndex"), *(["DBIndex"] if is_indexed else [])]
    files = {
        "c1/sacct/1.txt": export(records[:2], columns=columns),
        "c1/sacct/2.txt": export([records[0], records[2]], columns=columns),
    }
    found = rows(load(make(tmp_path, files)), "select state, disposition from raw.sacct order by state, disposition")
    assert [(row["state"], row["disposition"]) for row in found] == [
        ("COMPLETED", "loaded"),
        ("PENDING", "duplicate"),
        ("REQUEUED", "duplicate"),
        ("REQUEUED", "loaded"),
    ]
