"""Published traces of jobs: tables whose columns are known or named in cluster.toml, and the attempts of Philly."""

from __future__ import annotations

import json
from typing import Any

from tests.sources.folders import attempts, counts, load, make, rows

RAN = "2023-03-01 00:28:17+08:00,2023-03-01 00:28:20+08:00,2023-03-01 01:28:20+08:00,3600,3,28800"
NEVER_RAN = "2023-03-01 00:28:17+08:00,,2023-03-01 01:28:20+08:00,0,3,"
ACME = f"""job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
5778432,u1,1,8.0,120,Pretrain,COMPLETED,{RAN}
dlctk69.s0,u1,2,16,120,"Eval, small",FAILED,{RAN}
5778434,u1,0,0,2,Other,CANCELLED,{NEVER_RAN}
5778435,u1,0
5778436,u1,1,8,2,Other,WEIRD,{NEVER_RAN}
"""


def test_a_trace_whose_columns_are_known(tmp_path: Any) -> None:
    con = load(make(tmp_path, {"c1/sacct/seren.csv": ACME}))
    assert counts(con) == (6, 3, 1, 2)
    reasons = rows(con, "select line_number, reason from ops.quarantine order by line_number")
    assert [tuple(row.values()) for row in reasons] == [(5, "field_count"), (6, "unknown_state")]
    by_id = {row["job_id"]: row for row in attempts(con)}
    assert by_id["5778432"]["job_id_raw"] == 5778432
    assert by_id["dlctk69-s0"]["job_id_raw"] > 2**60, "a number made of the text"
    assert by_id["dlctk69-s0"]["job_name"] == "Eval, small"
    assert {row["gpu_count"] for row in by_id.values()} == {0, 8, 16}
    assert {str(row["submitted_at"]) for row in by_id.values()} == {"2023-02-28 16:28:17"}
    assert all(row["node_ids"] == [] and row["node_list"] is None for row in by_id.values())


def test_a_trace_with_columns_and_words_of_its_own(tmp_path: Any) -> None:
    config = """
timezone = "Asia/Shanghai"
[trace]
delimiter = ";"
states = { "Done" = "COMPLETED", "evicted" = "PREEMPTED" }
[trace.columns]
job_id = "Task"
submit = "Created"
start = "Begun"
duration = "Seconds"
state = "Outcome"
gpus = "Accelerators"
"""
    text = (
        "Task;Created;Begun;Seconds;Outcome;Accelerators\n"
        "1;2023-03-01 08:00:00;2023-03-01 08:10:00;600;done;64\n2;2023-03-01 08:00:00;2023-03-01 08:10:00;60;Evicted;\n"
    )
    con = load(make(tmp_path, {"c1/sacct/own.csv": text, "c1/cluster.toml": config}))
    shown = ("state", "gpu_count", "elapsed_seconds")
    assert [(*(row[name] for name in shown), str(row["started_at"])) for row in attempts(con)] == [
        ("COMPLETED", 64, 600, "2023-03-01 00:10:00"),
        ("PREEMPTED", None, 60, "2023-03-01 00:10:00"),
    ]


def test_gpus_of_a_trace_are_counted_on_all_nodes_and_a_share_of_one_is_unknown(tmp_path: Any) -> None:
    config = '[trace.columns]\njob_id = "Task"\nsubmit = "Created"\nstart = "Begun"\nend = "Over"\n'
    config += 'state = "Outcome"\nnodes = "Machines"\ngpus_per_node = "Cards"\n'
    ran = "2024-05-01 00:00:00,2024-05-01 01:00:00,2024-05-01 03:00:00"
    text = (
        f"Task,Created,Begun,Over,Outcome,Machines,Cards\n1,{ran},COMPLETED,4,8\n2,{ran},COMPLETED,1,0\n"
        f"3,{ran},FAILED,1,0.5\n4,{ran},FAILED,2,\n5,{ran},FAILED,,8\n"
        "6,2024-05-01 00:00:00,,2024-05-01 03:00:00,CANCELLED,2,8\n"
    )
    con = load(make(tmp_path, {"c1/sacct/own.csv": text, "c1/cluster.toml": config}))
    assert [(row["gpu_count"], row["gpu_count_source"], row["requested_gpu_count"]) for row in attempts(con)] == [
        (32, "tres", 32),
        (0, "tres", 0),
        (None, "no_count", None),
        (None, "no_count", None),
        (None, "no_count", None),
        (0, "nothing_allocated", 16),
    ]


def test_the_jobs_of_philly(tmp_path: Any) -> None:
    jobs = [
        {
            "status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_10238", "user": "ce2f",
            "submitted_time": "2017-10-07 02:09:59",
            "attempts": [
                {"start_time": "2017-10-07 02:10:05", "end_time": "2017-10-07 02:11:05",
                 "detail": [{"ip": "m41", "gpus": ["gpu0", "gpu1"]}]},
                {"start_time": "2017-10-07 02:12:05", "end_time": "2017-10-07 03:11:05",
                 "detail": [{"ip": "m42", "gpus": ["gpu0"]}, {"ip": "m43", "gpus": ["gpu0"]}]},
            ],
        },
        {"status": "Killed", "vc": "x", "jobid": "application_1506638472019_10239", "attempts": [], "user": "u",
         "submitted_time": "2017-10-07 02:09:59"},
    ]  # fmt: skip
    config = 'timezone = "America/Los_Angeles"'
    con = load(make(tmp_path, {"c1/sacct/jobs.json": json.dumps(jobs, indent=1), "c1/cluster.toml": config}))
    found = [(row["state"], row["gpu_count"], row["node_ids"], str(row["started_at"])) for row in attempts(con)]
    assert sorted(found) == [
        ("CANCELLED", 0, [], "None"),
        ("COMPLETED", 2, ["m42", "m43"], "2017-10-07 09:12:05"),
        ("REQUEUED", 2, ["m41"], "2017-10-07 09:10:05"),
    ]
