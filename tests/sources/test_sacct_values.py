"""The values of accounting records: states, resources, times, ids, and copies of one attempt."""

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
from tests.sources.folders import load, make


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
