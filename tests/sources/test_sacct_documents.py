"""Accounting in JSON gives the same rows as `sacct -P` of the same jobs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from assets.sources.translations.job_documents import job_texts
from tests.logs import export
from tests.sources.folders import CAPTURE, DIALECTS, attempts, counts, load, make, rows

DOCUMENT = (DIALECTS / "sacct.json.gz").read_bytes()
JOBS = json.loads(gzip.decompress(DOCUMENT))["jobs"]

NOT_IN_JSON = {
    "db_index": "the database's own number is not written",
    "uid": "users are named, not numbered",
    "submit_line": "it came with data_parser 0.0.39",
    "excluded_node_ids": "they are read from the submit line",
    "flags": "JSON has other names for them",
    "time_quality": "JSON has epoch seconds, this text local times",
}
LOST_IN_JSON = ("exit_code", "exit_signal", "derived_exit_code", "derived_exit_signal", "cancelled_by_uid", "state_raw")
"""Version 0.0.38 has a part of these."""


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
    for from_json, printed in zip(of_json, of_text, strict=True):
        for name in ("exit_code", "exit_signal", "derived_exit_code", "derived_exit_signal", "cancelled_by_uid"):
            assert from_json[name] in {None, printed[name]}, "unknown, never wrong"
        assert from_json["state_raw"] in {printed["state_raw"], printed["state"]}
    signals = [row["exit_signal"] for row in of_json if row["state"] == "FAILED" and row["exit_signal"]]
    assert signals == [11, 53], "signals are read"
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
