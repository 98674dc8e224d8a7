"""Accounting as Slurm writes it in JSON: `sacct --json` and slurmrestd's `/slurmdb/*/jobs`, from Slurm 21.08 on.

The versions differ in how they write numbers (plain, or with `set` and `infinite`), states (a text, or a list with
flags) and signals. Steps are left out, as they are not attempts. Exit codes of versions that write 0 for any plain exit
are unknown unless the job is COMPLETED.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assets.sources.intake.read.json_records import Record
from assets.sources.other_forms import SetAside, Translation, begins_json
from assets.sources.reader import SourceFile
from assets.sources.sacct.detection import CONTROLLER_JOB, ERROR
from assets.sources.sacct.record_lines import record_line
from assets.sources.settings import ClusterSettings
from assets.sources.translations.json_documents import each_record, unsupported

NO_VALUE = 0xFFFFFFF0
"""From this number on, 32-bit numbers mean none, unlimited and the like."""
_FLAGS = (
    "COMPLETING", "STAGE_OUT", "CONFIGURING", "EXPEDITING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
    "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING",
)  # fmt: skip
"""`sacct` prints the first of these in a job's list of states, else the base state."""

_JOB = re.compile(r'"job_id"\s*:')
_JOBS = re.compile(r'"jobs"\s*:\s*\[')


def _is_document(sample: str, _cluster: ClusterSettings) -> bool:
    if not begins_json(sample) or CONTROLLER_JOB.search(sample):
        return False
    return bool(_JOB.search(sample) or (_JOBS.search(sample) and not ERROR.search(sample)))


def _lines(record: Record, _file: SourceFile, _cluster: ClusterSettings) -> Iterator[str | SetAside]:
    is_job = isinstance(record.value, dict) and "job_id" in record.value
    yield record_line(job_texts(record.value)) if is_job else unsupported(record.value, "no job with a job_id")


def job_texts(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts that `sacct -P` prints for a job, by field."""
    time, array, state = _part(job, "time"), _part(job, "array"), job.get("state")
    tres = _part(job, "tres")
    state_text = state_of(state, job.get("kill_request_user"))
    nodes = job.get("nodes")
    has_nodes = bool(nodes) and nodes != "None assigned"
    allocated, requested = _counts(tres.get("allocated")), _counts(tres.get("requested"))
    return {
        "JobID": _shown_id(job, array),
        "JobIDRaw": number(job.get("job_id")),
        "Cluster": job.get("cluster") or _part(job, "association").get("cluster"),
        "User": job.get("user") or _part(job, "association").get("user"),
        "Account": job.get("account"),
        "Partition": job.get("partition"),
        "QOS": job.get("qos"),
        "JobName": job.get("name"),
        "Submit": moment(time.get("submission")),
        "Eligible": moment(time.get("eligible")),
        "Start": moment(time.get("start")),
        "End": moment(time.get("end")),
        "ElapsedRaw": number(time.get("elapsed")),
        "Suspended": _duration(number(time.get("suspended"))),
        "State": state_text,
        "ExitCode": exit_text(job.get("exit_code"), state_text, is_derived=False),
        "DerivedExitCode": exit_text(job.get("derived_exit_code"), state_text, is_derived=True),
        "NodeList": nodes if isinstance(nodes, str) else None,
        "NNodes": number(job.get("allocation_nodes")) if has_nodes else requested.get("node"),
        "AllocTRES": _tres_text(allocated),
        "ReqTRES": _tres_text(requested),
        "ReqMem": f"{requested['mem']}M" if "mem" in requested else None,
        "TimelimitRaw": number(time.get("limit")),
        "Reason": state.get("reason") if isinstance(state, dict) else None,
        "Flags": ",".join(map(str, flags)) if isinstance(flags := job.get("flags"), list) else None,
        "SubmitLine": job.get("submit_line"),
        "Restarts": number(job.get("restart_cnt")),
        "FailedNode": job.get("failed_node"),
        "SLUID": job.get("sluid"),
        "AdminComment": _part(job, "comment").get("administrator"),
    }


def _part(job: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = job.get(name)
    return part if isinstance(part, dict) else {}


def number(value: Any) -> int | None:
    """Return a whole number from any form; None if it is not set, infinite, or a mark for none.

    >>> number(7), number({"set": True, "infinite": False, "number": 7}), number({"set": False, "number": 0})
    (7, 7, None)
    """
    if isinstance(value, dict):
        if value.get("infinite") or not value.get("set", True):
            return None
        value = value.get("number")
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return None if NO_VALUE <= value <= 0xFFFFFFFF or value >= 2**63 else value


def moment(value: Any) -> int | str:
    """Return epoch seconds as `sacct` prints them; Unknown for 0 or a missing value."""
    return number(value) or "Unknown"


def _duration(seconds: int | None) -> str | None:
    return None if seconds is None else f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _shown_id(job: Mapping[str, Any], array: Mapping[str, Any]) -> str | int | None:
    array_id, task, het = number(array.get("job_id")), number(array.get("task_id")), _part(job, "het")
    het_id, offset = number(het.get("job_id")), number(het.get("job_offset"))
    if array_id and task is not None:
        return f"{array_id}_{task}"
    if array_id and array.get("task"):
        return f"{array_id}_[{array['task']}]"
    return f"{het_id}+{offset}" if het_id and offset is not None else number(job.get("job_id"))


def state_of(state: Any, cancelled_by: Any = None) -> str:
    """Return a state as `sacct` prints it; who cancelled a job is known only for root or a user without a name.

    >>> state_of({"current": ["PENDING", "REQUEUED"]}), state_of({"current": "CANCELLED"}, "root")
    ('REQUEUED', 'CANCELLED by 0')
    """
    current = state.get("current") if isinstance(state, dict) else state
    names = [str(name) for name in current] if isinstance(current, list) else [str(current or "")]
    shown = next((flag for flag in _FLAGS if flag in names), names[0] if names else "")
    by = {"root": "0"}.get(str(cancelled_by), str(cancelled_by or ""))
    return f"{shown} by {by}" if shown == "CANCELLED" and by.isascii() and by.isdigit() else shown


def exit_text(code: Any, state: str, *, is_derived: bool) -> str | None:
    """Return `code:signal`; None if it is unknown.

    Versions that write the status as a text (0.0.39 and before) wrote 0 for every plain exit in genuine exports, so
    their 0 counts only for a COMPLETED job. No FAILED job ended with 0.
    """
    if not isinstance(code, dict):
        return None
    signal = _part(code, "signal")
    signal_id = number(signal.get("id", signal.get("signal_id")))
    value = number(code.get("return_code"))
    if signal_id:
        return f"{value or 0}:{signal_id}"
    if value is None:
        return None
    is_plain_exit = isinstance(code.get("status"), str)
    is_believed = not is_plain_exit and (is_derived or state != "FAILED")
    is_believed = is_believed or (state == "COMPLETED" and not is_derived)
    return f"{value}:0" if value or is_believed else None


def _counts(tres: Any) -> dict[str, int]:
    """Return the counts of trackable resources by name, such as `gres/gpu:a100`."""
    counts = {}
    for resource in tres if isinstance(tres, list) else []:
        if isinstance(resource, dict) and (count := number(resource.get("count"))) is not None:
            kind, name = resource.get("type"), resource.get("name")
            counts[f"{kind}/{name}" if name else str(kind)] = count
    return counts


def _tres_text(counts: Mapping[str, int]) -> str:
    return ",".join(f"{name}={count}" for name, count in counts.items())


_EXAMPLE = (
    '{"jobs": [{"job_id": 9, "cluster": "c1", "nodes": "node001", "allocation_nodes": 1, '
    '"state": {"current": ["COMPLETED"]}, "exit_code": {"return_code": {"set": true, "number": 0}}, '
    '"time": {"submission": 1714550000, "start": 1714550400, "end": 1714554000, "elapsed": 3600}, '
    '"tres": {"allocated": [{"type": "gres", "name": "gpu", "count": 8}]}}]}\n'
)
FORMS = (Translation("slurm_json", "sacct", _is_document, each_record(_lines, "jobs"), _EXAMPLE, rank=1),)
