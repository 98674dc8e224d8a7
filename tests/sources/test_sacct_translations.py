"""Accounting in other forms than `sacct -P` gives the rows that the text of the same jobs gives."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from assets.sources.errors import SourceError, SourceErrors
from assets.sources.sacct import reader as sacct
from assets.sources.sacct.detection import XDMOD
from assets.sources.sacct.job_documents import job_texts
from tests.sources.batches import cluster_of
from tests.sources.folders import BASE, CAPTURE, DIALECTS, PROJECT, counts, export, load, make, rows

DOCUMENT = (DIALECTS / "sacct.json.gz").read_bytes()
JOBS = json.loads(gzip.decompress(DOCUMENT))["jobs"]
GCM = PROJECT / "tests" / "fixtures" / "gcm"

NOT_IN_JSON = {
    "db_index": "the database's own number is not written",
    "uid": "users are named, not numbered",
    "submit_line": "it came with data_parser 0.0.39",
    "excluded_node_ids": "they are read from the submit line",
    "flags": "JSON has other names for them",
    "time_quality": "JSON has epoch seconds, this text local times",
}
LOST_IN_JSON = ("exit_code", "exit_signal", "derived_exit_code", "derived_exit_signal", "cancelled_by_uid", "state_raw")
"""Of these 0.0.38 tells a part."""


def attempts(con: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    places = "cluster_id, path, line_number, disposition"
    return rows(con, f"select * exclude ({places}) from raw.sacct order by job_id_raw, submitted_at")


@pytest.fixture(scope="module")
def of_text(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    text = (CAPTURE / "testbed" / "sacct" / "sacct_all.psv").read_bytes()
    return attempts(load(make(tmp_path_factory.mktemp("text"), {"testbed/sacct/all.psv": text})))


def test_json_of_the_genuine_cluster_gives_the_rows_of_its_text(tmp_path: Any, of_text: list[dict[str, Any]]) -> None:
    con = load(make(tmp_path, {"testbed/sacct/all.json.gz": DOCUMENT}))
    of_json = attempts(con)
    assert counts(con) == (102, 102, 0, 0), "one line for each record"
    assert len(of_json) == len(of_text) == 102
    differing = {name for one, other in zip(of_json, of_text, strict=True) for name in one if one[name] != other[name]}
    assert differing == {*NOT_IN_JSON, *LOST_IN_JSON}
    for told, printed in zip(of_json, of_text, strict=True):
        for name in ("exit_code", "exit_signal", "derived_exit_code", "derived_exit_signal", "cancelled_by_uid"):
            assert told[name] in {None, printed[name]}, "unknown, never wrong"
        assert told["state_raw"] in {printed["state_raw"], printed["state"]}
    signals = [row["exit_signal"] for row in of_json if row["state"] == "FAILED" and row["exit_signal"]]
    assert signals == [11, 53], "signals are told"
    assert {row["exit_code"] for row in of_json if row["state"] == "FAILED"} == {None, 0}, "plain exits are not"
    assert {row["exit_code"] for row in of_json if row["state"] == "COMPLETED"} == {0}
    assert [row["cancelled_by_uid"] for row in of_json if row["cancelled_by_uid"] is not None] == [0], "only root's"


def value(number: int | None, *, infinite: bool = False) -> dict[str, Any]:
    return {"set": number is not None and not infinite, "infinite": infinite, "number": number or 0}


def newer(job: dict[str, Any], code: int = 0, signal: int = 0) -> dict[str, Any]:
    """Write a job of 0.0.38 as data_parser 0.0.40 and later do."""
    status = ["SIGNALED"] if signal else ["SUCCESS"] if code == 0 else ["ERROR"]
    ended = {"status": status, "return_code": value(code), "signal": {"id": value(signal or None), "name": ""}}
    return job | {
        "array": job["array"] | {"task_id": value(job["array"]["task_id"]), "task": ""},
        "het": job["het"] | {"job_offset": value(job["het"]["job_offset"])},
        "state": {"current": [job["state"]["current"]], "reason": job["state"]["reason"]},
        "time": job["time"] | {"limit": value(job["time"]["limit"]), "planned": value(3)},
        "exit_code": ended,
        "derived_exit_code": ended | {"return_code": value(0)},
        "kill_request_user": job["kill_request_user"] or "",
        "submit_line": "sbatch -x node003 train.sh",
        "failed_node": "",
        "restart_cnt": 2,
        "steps": [],
    }  # fmt: skip


def with_sluid(job: dict[str, Any]) -> dict[str, Any]:
    return newer(job) | {"sluid": "sABCDEFGH0000", "original_sluid": "sABCDEFGH0000", "steps": None, "comment": None}


@pytest.mark.parametrize("form", [newer, with_sluid])
def test_newer_documents_give_the_same_rows(
    form: Callable[[dict[str, Any]], dict[str, Any]], tmp_path: Any, of_text: list[dict[str, Any]]
) -> None:
    document = {"jobs": [form(job) for job in JOBS], "meta": {"plugin": {"data_parser": "v0.0.42"}}, "errors": []}
    of_json = attempts(load(make(tmp_path, {"testbed/sacct/all.json": json.dumps(document, indent=2)})))
    ignored = {*NOT_IN_JSON, *LOST_IN_JSON, "restart_count", "sluid"}
    for one, other in zip(of_json, of_text, strict=True):
        assert {n: one[n] for n in one if n not in ignored} == {n: other[n] for n in other if n not in ignored}
    assert {row["restart_count"] for row in of_json} == {2}
    sluid = "sABCDEFGH0000" if form is with_sluid else None
    assert {row["sluid"] for row in of_json} == {sluid}
    assert {tuple(row["excluded_node_ids"]) for row in of_json} == {("node003",)}


@pytest.mark.parametrize(
    ("change", "field", "printed"),
    [
        ({"time": {"limit": value(0, infinite=True)}}, "TimelimitRaw", None),
        ({"time": {"start": 0, "end": 1795246464}}, "Start", "Unknown"),
        ({"time": {"start": value(1795246464)}}, "Start", 1795246464),
        ({"time": {"submission": 4294967294}}, "Submit", "Unknown"),
        ({"state": {"current": ["PENDING", "REQUEUED"]}}, "State", "REQUEUED"),
        ({"state": {"current": ["RUNNING", "COMPLETING"]}}, "State", "COMPLETING"),
        ({"state": {"current": ["CANCELLED"]}, "kill_request_user": "1004"}, "State", "CANCELLED by 1004"),
        ({"exit_code": {"status": ["ERROR"], "return_code": value(143)}}, "ExitCode", "143:0"),
        ({"state": {"current": ["FAILED"]}, "exit_code": {"status": [], "return_code": value(0)}}, "ExitCode", None),
        ({"exit_code": {"status": [], "return_code": value(0), "signal": {"id": value(9)}}}, "ExitCode", "0:9"),
        ({"exit_code": 256}, "ExitCode", None),
        ({"array": {"job_id": 0, "task_id": value(None)}}, "JobID", 52),
        ({"array": {"job_id": 40, "task_id": value(0)}}, "JobID", "40_0"),
        ({"array": {"job_id": 40, "task_id": value(None), "task": "1-3"}}, "JobID", "40_[1-3]"),
        ({"het": {"job_id": 50, "job_offset": value(2)}}, "JobID", "50+2"),
        (
            {"tres": {"allocated": [
                {"type": "gres", "name": "gpu", "count": 8}, {"type": "gres", "name": "gpu:a100", "count": 8},
                {"type": "energy", "name": "", "count": -2},
            ]}},
            "AllocTRES", "gres/gpu=8,gres/gpu:a100=8",
        ),
        ({"tres": None}, "AllocTRES", ""),
    ],
)  # fmt: skip
def test_values_of_documents(change: dict[str, Any], field: str, printed: Any) -> None:
    assert job_texts({"job_id": 52, **change})[field] == printed


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"jobs": [], "errors": [{"description": "no connection to slurmdbd"}]}', "command_error_output"),
        ('{"jobs": [{"job_id": 1, "job_state": ["RUNNING"]}]}', "unsupported_schema"),
        ('{"nodes": []}', "unsupported_schema"),
        ("1|2|3|COMPLETED\n", "no_header"),
    ],
)
def test_what_is_no_accounting_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(SourceError) as refusal:
        sacct.detect(text, "c1/sacct/x", cluster_of())
    assert refusal.value.what.startswith(reason)
    assert "no connection" in refusal.value.what or reason != "command_error_output"


def test_a_document_without_jobs_is_read_and_empty(tmp_path: Any) -> None:
    con = load(make(tmp_path, {"c1/sacct/a.json": '{"jobs": [], "errors": []}', "c1/sacct/b.psv": export([{}])}))
    assert rows(con, "select status, lines_in from ops.files where path like '%.json'") == [
        {"status": "read", "lines_in": 0}
    ]


def test_damaged_and_strange_records_are_quarantined_alone(tmp_path: Any) -> None:
    good = json.dumps(newer(JOBS[0]))
    strange = json.dumps(newer(JOBS[1]) | {"state": {"current": ["STRANGE"]}})
    text = f'{{"jobs": [{good}, 7, {{"name": "x"}}, {good[:200]} xx {good[200:]}, {strange}'
    con = load(make(tmp_path, {"testbed/sacct/a.json": text + "]}", "testbed/sacct/b.psv": export([{}])}))
    found = rows(con, "select line_number, reason from ops.quarantine order by line_number")
    assert [(row["line_number"], row["reason"]) for row in found] == [
        (2, "unsupported_schema"), (3, "unsupported_schema"), (4, "bad_json"), (5, "unknown_state"),
    ]  # fmt: skip


def test_a_document_that_was_cut_off_is_partial(tmp_path: Any) -> None:
    text = gzip.decompress(DOCUMENT)[:1_000_000]
    con = load(make(tmp_path, {"testbed/sacct/a.json": text}))
    (file,) = rows(con, "select loaded, quarantined, is_partial from ops.files")
    assert file == {"loaded": 42, "quarantined": 1, "is_partial": True}
    assert rows(con, "select reason from ops.quarantine") == [{"reason": "truncated_record"}]


@pytest.mark.parametrize("name", ["sacct_publish.file_sink.jsonl", "sacct_publish.stdout_sink.json"])
def test_rows_that_gcm_publishes(name: str, tmp_path: Any) -> None:
    con = load(make(tmp_path, {f"test_cluster/sacct/{name}": (GCM / name).read_bytes()}))
    assert counts(con) == (4, 2, 2, 0)
    assert rows(con, "select reason, line_count from ops.skips") == [{"reason": "step", "line_count": 2}]
    shown = ("job_id", "state", "gpu_count", "db_index")
    assert [(*(row[name] for name in shown), str(row["submitted_at"])) for row in attempts(con)] == [
        ("201729", "FAILED", 1024, 454021, "2023-01-14 22:28:34"),
        ("201844", "REQUEUED", 256, 454211, "2023-01-15 07:15:55"),
    ]


def test_both_sinks_together_are_one(tmp_path: Any) -> None:
    files = {f"test_cluster/sacct/{path.name}": path.read_bytes() for path in GCM.glob("sacct_publish*")}
    assert counts(load(make(tmp_path, files))) == (8, 2, 6, 0)


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


def test_a_job_that_never_was_eligible_is_read_from_job_completion(tmp_path: Any) -> None:
    held = JOBCOMP.replace("EligibleTime=2024-05-01T09:00:00", "EligibleTime=unknown")
    con = load(make(tmp_path, {"c1/sacct/jobcomp.log": held}))
    assert counts(con) == (1, 1, 0, 0)
    assert attempts(con)[0]["eligible_at"] is None


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
    told = [attempts(con)[0][name] for name in ("gpu_count", "gpu_count_source", "requested_gpu_count")]
    assert told == [gpu_count, source, 32]


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


RECORD = {
    **BASE, "Group": "g", "GID": "1", "Elapsed": "01:00:00", "NCPUS": "64", "ReqCPUS": "64", "ReqMem": "1G",
    "Timelimit": "02:00:00",
}  # fmt: skip


def test_the_hint_of_a_known_layout_makes_it_readable(tmp_path: Any) -> None:
    text = export([{**RECORD, "JobName": "a|b"}, {**RECORD, "JobID": "7", "JobIDRaw": "7"}], columns=XDMOD)
    headless = text.split("\n", 1)[1]
    with pytest.raises(SourceErrors) as refusal:
        load(make(tmp_path / "without", {"c1/sacct/a.log": headless}))
    hint = str(refusal.value)
    columns = hint[hint.index("columns = [") :]
    config = f'timezone = "UTC"\n[sacct]\n{columns}'
    con = load(make(tmp_path / "with", {"c1/sacct/a.log": headless, "c1/cluster.toml": config}))
    assert counts(con) == (2, 2, 0, 0)
    assert {row["job_name"] for row in attempts(con)} == {"a|b", "train"}


def test_the_hint_counts_the_columns_of_an_unknown_layout() -> None:
    with pytest.raises(SourceError) as refusal:
        sacct.detect("1;COMPLETED;a\n2;FAILED;b\n", "c1/sacct/x", cluster_of())
    assert "name the 3 columns in their order" in refusal.value.next_step
    assert 'delimiter = ";"' in refusal.value.next_step


EXIT_CODES = {"143:0": 15, "134:0": 6, "128:0": 128, "15:0": 15, "0:9": 0}


@pytest.fixture(scope="module")
def exit_codes_read(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The attempts of one export with a job for each exit code."""
    numbered = [(str(number), printed) for number, printed in enumerate(EXIT_CODES, 1)]
    jobs = [
        {"JobID": number, "JobIDRaw": number, "JobName": printed, "State": "FAILED", "ExitCode": printed}
        for number, printed in numbered
    ]
    return attempts(load(make(tmp_path_factory.mktemp("exit_codes"), {"c1/sacct/a.psv": export(jobs)})))


@pytest.mark.parametrize("printed", EXIT_CODES)
def test_exit_codes_above_128_are_those_of_older_slurm(printed: str, exit_codes_read: list[dict[str, Any]]) -> None:
    found = [row["exit_code"] for row in exit_codes_read if row["job_name"] == printed]
    assert found == [EXIT_CODES[printed]]


def test_columns_and_states_of_the_newest_slurm(tmp_path: Any) -> None:
    new = {"SLUID": "s1", "OriginalSLUID": "s0", "Exclusive": "NODE", "OverSubscribe": "NO", "SegmentSize": "4"}
    records = [
        {**new, "JobID": str(number), "JobIDRaw": str(number), "State": state}
        for number, state in enumerate(["EXPEDITING", "REQUEUE_HOLD", "COMPLETED", "REQUEUE_FED", "SPECIAL_EXIT"], 1)
    ]
    con = load(make(tmp_path, {"c1/sacct/a.psv": export(records)}))
    assert counts(con) == (6, 5, 1, 0)
    assert {row["sluid"] for row in attempts(con)} == {"s1"}
