"""What Slurm writes of each completed job (jobcomp): lines of text, and documents for Elasticsearch and Kafka."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sources.folders import attempts, counts, load, make, rows

JOBCOMP = (
    "JobId=51 UserId=alice(1001) GroupId=users(100) Name=train x=y JobState=NODE_FAIL Partition=train TimeLimit=30 "
    "StartTime=2024-05-01T10:00:00 EndTime=2024-05-01T10:30:00 NodeList=node[1-4] NodeCnt=4 ProcCnt=256 "
    "WorkDir=/home/a b ReservationName= Tres=cpu=256,mem=1T,node=4,billing=256,gres/gpu=32 Account=nlp QOS=normal "
    "WcKey= Cluster=c1 SubmitTime=2024-05-01T09:00:00 EligibleTime=2024-05-01T09:00:00 DerivedExitCode=0:0 "
    "ExitCode=143:0 \n"
)


def test_lines_of_job_completion(tmp_path: Any) -> None:
    task = JOBCOMP.replace("JobId=51 ", "JobId=60 ").replace("WcKey=", "WcKey= ArrayJobId=59 ArrayTaskId=3")
    text = f"{JOBCOMP}\nnot a record\n{task}JobId=53 UserId=al"
    con = load(make(tmp_path, {"c1/sacct/jobcomp.log": text}))
    assert counts(con) == (5, 2, 1, 2)
    first, second = attempts(con)
    shown = ("job_id", "job_id_raw", "state", "job_name", "user_name", "uid", "gpu_count", "node_ids", "exit_code")
    assert [first[name] for name in shown] == [
        "51", 51, "NODE_FAIL", "train x=y", "alice", 1001, 32, ["node1", "node2", "node3", "node4"], 15,
    ]  # fmt: skip
    assert (first["time_limit_seconds"], first["elapsed_seconds"]) == (1800, 1800)
    assert (second["job_id"], second["array_task_id"], second["job_id_raw"]) == ("59_3", 3, 60)
    assert rows(con, "select is_partial from ops.files") == [{"is_partial": True}]


@pytest.mark.parametrize(
    ("given", "gpu_count", "source"),
    [
        ("NodeCnt=4 ProcCnt=256", 32, "tres"),
        ("NodeCnt=4 ProcCnt=512", None, "no_tres"),
        ("NodeCnt=3 ProcCnt=256", None, "no_tres"),
    ],
)
def test_what_a_job_asked_for_counts_where_it_got_no_more(
    tmp_path: Any, given: str, gpu_count: int | None, source: str
) -> None:
    """A job that has whole nodes to itself has GPUs that it did not ask for, and jobcomp/filetxt tells the request."""
    con = load(make(tmp_path, {"c1/sacct/jobcomp.log": JOBCOMP.replace("NodeCnt=4 ProcCnt=256", given)}))
    completion = [attempts(con)[0][name] for name in ("gpu_count", "gpu_count_source", "requested_gpu_count")]
    assert completion == [gpu_count, source, 32]


def test_a_record_that_slurm_cut_takes_nothing_of_the_next_one(tmp_path: Any) -> None:
    """Slurm's buffer holds 1,023 bytes, so a long folder takes the end of the line with it."""
    cut = JOBCOMP.replace("WorkDir=/home/a b", f"WorkDir=/{'d' * 1024}")[:1023]
    con = load(make(tmp_path, {"c1/sacct/jobcomp.log": cut + JOBCOMP.replace("JobId=51 ", "JobId=52 ")}))
    assert [row["job_id_raw"] for row in attempts(con)] == [52]
    assert [row["reason"] for row in rows(con, "select reason from ops.quarantine")] == ["truncated_record"]


def test_a_job_name_of_two_lines_is_read_from_job_completion(tmp_path: Any) -> None:
    con = load(make(tmp_path, {"c1/sacct/jobcomp.log": JOBCOMP.replace("train x=y", "train\nx=y")}))
    assert counts(con) == (1, 1, 0, 0)
    assert attempts(con)[0]["job_name"] == "train x=y"


def completion(**facts: str) -> str:
    """Return the line with other facts."""
    line = JOBCOMP
    for name, value in facts.items():
        begins = line.index(f" {name}=") + len(name) + 2
        line = line[:begins] + value + line[line.index(" ", begins) :]
    return line


def test_what_ends_as_pending_was_requeued(tmp_path: Any) -> None:
    """Slurm writes a line when a job is requeued, in the state that the job then has."""
    again = {"SubmitTime": "2024-05-01T10:30:00", "StartTime": "2024-05-01T10:31:00", "EndTime": "2024-05-01T11:00:00"}
    text = completion(JobState="PENDING") + completion(JobState="COMPLETED", **again)
    first, second = attempts(load(make(tmp_path, {"c1/sacct/jobcomp.log": text})))
    assert (first["state"], first["elapsed_seconds"], second["state"]) == ("REQUEUED", 1800, "COMPLETED")


def test_a_prolog_that_fails_is_a_requeue_although_it_also_completed(tmp_path: Any) -> None:
    both = [completion(JobState=state, EndTime="2024-05-01T10:00:00") for state in ("COMPLETED", "PENDING")]
    con = load(make(tmp_path, {"c1/sacct/jobcomp.log": "".join(both)}))
    assert counts(con) == (2, 1, 1, 0)
    assert [row["state"] for row in rows(con, "select state from raw.sacct where disposition = 'loaded'")] == [
        "REQUEUED"
    ]


def test_the_parts_of_a_resized_job_are_attempts(tmp_path: Any) -> None:
    """All parts tell the job's own submission; sacct tells when the job was resized."""
    resized, ended = "2024-05-01T10:10:00", "2024-05-01T10:20:00"
    text = "".join([
        completion(JobState="RESIZING", EndTime=resized),
        completion(JobState="RESIZING", StartTime=resized, EndTime=ended, NodeList="node[1-2]", NodeCnt="2"),
        completion(JobState="COMPLETED", StartTime=ended, NodeList="node1", NodeCnt="1"),
    ])  # fmt: skip
    con = load(make(tmp_path, {"c1/sacct/jobcomp.log": text}))
    assert counts(con) == (3, 3, 0, 0)
    found = rows(con, "select submitted_at, started_at, elapsed_seconds, len(node_ids) as node_count from raw.sacct")
    assert [(row["submitted_at"].minute, row["elapsed_seconds"], row["node_count"]) for row in found] == [
        (0, 600, 4), (10, 600, 2), (20, 600, 1),
    ]  # fmt: skip


def test_documents_of_job_completion(tmp_path: Any) -> None:
    document = {
        "jobid": 51, "username": "alice", "user_id": 1001, "@submit": "2024-05-01T09:00:00",
        "@eligible": "2024-05-01T09:00:00", "@start": "2024-05-01T10:00:00", "@end": "2024-05-01T11:00:00",
        "elapsed": 3600, "partition": "train", "nodes": "node[001-002]", "total_nodes": 2, "total_cpus": 128,
        "exit_code": "0:9", "derived_ec": "0:0", "state": "NODE_FAIL", "failed_node": "node002", "cluster": "c1",
        "tres_alloc": "cpu=128,gres/gpu=16,node=2", "time_limit": 60, "job_name": "train",
    }  # fmt: skip
    lines = json.dumps({"index": {"_index": "slurm"}}) + "\n" + json.dumps(document) + "\n"
    hits = json.dumps({"hits": {"total": 1, "hits": [{"_id": "x", "_source": document | {"jobid": 52}}]}})
    zone = 'timezone = "Europe/Berlin"'
    con = load(make(tmp_path, {"c1/sacct/a.json": lines, "c1/sacct/b.json": hits, "c1/cluster.toml": zone}))
    assert counts(con) == (3, 2, 1, 0)
    assert [
        (row["job_id"], str(row["started_at"]), row["gpu_count"], row["failed_node_id"], row["exit_signal"])
        for row in attempts(con)
    ] == [("51", "2024-05-01 10:00:00", 16, "node002", 9), ("52", "2024-05-01 10:00:00", 16, "node002", 9)]
