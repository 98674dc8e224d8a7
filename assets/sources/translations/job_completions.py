"""Accounting as Slurm's job completion plugins write it: lines of filetxt, documents of elasticsearch and kafka.

They record only jobs that have ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.sacct.record_lines import record_line
from assets.sources.settings import ClusterSettings
from assets.sources.text.text_lines import lines_of
from assets.sources.translations.job_documents import number
from assets.sources.translations.json_documents import records_of, unsupported

_KEYS = (
    "JobId|UserId|GroupId|Name|JobState|Partition|TimeLimit|StartTime|EndTime|NodeList|NodeCnt|ProcCnt|WorkDir|"
    "ReservationName|Tres|Account|QOS|WcKey|Cluster|SubmitTime|EligibleTime|ArrayJobId|ArrayTaskId|HetJobId|"
    "HetJobOffset|PackJobId|PackJobOffset|DerivedExitCode|ExitCode|Gres"
)
_FIRST_LINE = re.compile(r"^JobId=\d+ UserId=\S*\(\d+\) ", re.M)
_FACT = re.compile(rf"(?:^|(?<= ))({_KEYS})=")
_FIRST_DOCUMENT = re.compile(r'"jobid"\s*:.*"@(?:start|end|submit)"\s*:|"@(?:start|end|submit)"\s*:.*"jobid"\s*:', re.S)
_NEXT_RECORD = re.compile(r"JobId=\d+ UserId=[^ ]*\(\d+\) GroupId=")
_FIELDS = {
    "JobIDRaw": ("JobId", "jobid"), "User": ("UserId", "username"), "UID": ("", "user_id"),
    "JobName": ("Name", "job_name"), "State": ("JobState", "state"), "Partition": ("Partition", "partition"),
    "Account": ("Account", "account"), "QOS": ("QOS", "qos"), "Cluster": ("Cluster", "cluster"),
    "TimelimitRaw": ("TimeLimit", "time_limit"), "Submit": ("SubmitTime", "@submit"),
    "Eligible": ("EligibleTime", "@eligible"), "Start": ("StartTime", "@start"), "End": ("EndTime", "@end"),
    "ElapsedRaw": ("", "elapsed"), "NodeList": ("NodeList", "nodes"), "NNodes": ("NodeCnt", "total_nodes"),
    "AllocTRES": ("", "tres_alloc"), "ReqTRES": ("Tres", "tres_req"), "AllocCPUS": ("ProcCnt", "total_cpus"),
    "ExitCode": ("ExitCode", "exit_code"), "DerivedExitCode": ("DerivedExitCode", "derived_ec"),
    "FailedNode": ("", "failed_node"), "Restarts": ("", "restart_cnt"),
}  # fmt: skip
"""Names of sacct's fields in a line and in a document."""
MAX_RECORD = 4096
"""Most characters of a record; Slurm cuts records after 1,023 bytes."""
_NOTHING = {"(null)", "N/A", "Unknown", "unknown", ""}


def _translate_lines(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the records of jobcomp/filetxt as lines of sacct."""
    parts = _ResizedJobs()
    for line in _record_lines(lines_of(pieces)):
        if not line.strip():
            yield SetAside(line, "blank")
        elif not line.startswith("JobId="):
            yield SetAside(line, "unsupported_schema", "the line does not begin with JobId=")
        elif missing := [name for name in ("JobState", "SubmitTime") if f"{name}=" not in line]:
            yield SetAside(line, "truncated_record", f"no {missing[0]} on the line")
        else:
            yield record_line(parts.with_own_submission(line_texts(line)))


class _ResizedJobs:
    """Sets the submission time of each part of a resized job to the moment of the resize, as sacct does."""

    def __init__(self) -> None:
        self._resized: dict[tuple[Any, Any], Any] = {}
        """The end of a job's latest part, by the number and the submission time that all parts state."""

    def with_own_submission(self, record: dict[str, Any]) -> dict[str, Any]:
        job = record["JobIDRaw"], record["Submit"]
        resized_at = self._resized.get(job)
        if record["State"] == "RESIZING":
            self._resized[job] = record["End"]
        return record if resized_at is None or record["Start"] != resized_at else record | {"Submit": resized_at}


def _state(shown: str | None, end: str | None) -> str | None:
    """Return the state of a record; PENDING with an end means a requeued job."""
    return "REQUEUED" if shown == "PENDING" and end else shown


def _record_lines(lines: Iterator[str]) -> Iterator[str]:
    """Yield a line for each record.

    Slurm cuts a record, including its line end, after 1,023 bytes, so the next record follows on the same line. A job's
    name may contain line ends, so a record may continue on the next line.
    """
    begun = ""
    for line in lines:
        if begun and (line.startswith("JobId=") or not line.strip()):
            yield begun
            begun = ""
        text = f"{begun} {line}" if begun else line
        starts = [0, *(found.start() for found in _NEXT_RECORD.finditer(text, 1))]
        *cut, last = (text[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True))
        yield from cut
        is_begun = last.startswith("JobId=") and "JobState=" not in last and len(last) <= MAX_RECORD
        begun = last if is_begun else ""
        if not begun:
            yield last
    if begun:
        yield begun


def line_texts(line: str) -> dict[str, Any]:
    """Return the fields of a line; values may hold spaces, so only known names begin a field.

    The first of two equal fields counts; the second may be part of a job's name.
    """
    found = list(_FACT.finditer(line))
    facts: dict[str, str] = {}
    for fact, following in zip(found, [*found[1:], None], strict=True):
        value = line[fact.end() : following.start() if following else len(line)].strip()
        facts.setdefault(fact[1], "" if value in _NOTHING else value)
    user = re.fullmatch(r"(.*)\((\d+)\)", facts.get("UserId", ""))
    # Tres is the request. A whole node, or more nodes than requested, add GPUs that were not requested.
    requested = facts.get("Tres", "")
    counts = dict(re.findall(r"(?:^|,)(cpu|node)=(\d+)(?=,|$)", requested))
    is_given = counts == {"cpu": facts.get("ProcCnt"), "node": facts.get("NodeCnt")}
    texts = {field: facts.get(name) for field, (name, _) in _FIELDS.items()}
    return texts | {
        "JobID": _shown_id(facts, "ArrayJobId", "ArrayTaskId", "HetJobId", "HetJobOffset")
        or _shown_id(facts, "", "", "PackJobId", "PackJobOffset")
        or facts.get("JobId"),
        "User": user[1] if user else facts.get("UserId"),
        "UID": user[2] if user else None,
        "State": _state(facts.get("JobState"), facts.get("EndTime")),
        "AllocTRES": requested if is_given else None,
    }


def _translate_documents(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the documents of elasticsearch or kafka as lines; the hits of a search result are unwrapped."""
    parts = _ResizedJobs()
    for record in records_of(pieces, "hits"):
        if isinstance(record, SetAside):
            yield record
            continue
        document = record.value
        outer = document.get("hits") if isinstance(document, dict) else None
        hits = outer["hits"] if isinstance(outer, dict) and isinstance(outer.get("hits"), list) else [document]
        for hit in hits:
            source = hit.get("_source", hit) if isinstance(hit, dict) else hit
            if isinstance(source, dict) and "jobid" in source:
                yield record_line(parts.with_own_submission(document_texts(source)))
            elif isinstance(source, dict) and source.keys() <= {"index", "create"}:
                yield SetAside(str(source), "not_relevant")
            else:
                yield unsupported(source, "no job with a jobid")


def document_texts(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a document, which has times in UTC."""
    shown = {name: str(value) for name, value in job.items() if isinstance(value, int | str)}
    shown = {name: value for name, value in shown.items() if value not in _NOTHING}
    texts = {field: shown.get(name) for field, (_, name) in _FIELDS.items()}
    return texts | {
        "JobID": _shown_id(shown, "array_job_id", "array_task_id", "het_job_id", "het_job_offset")
        or _shown_id(shown, "", "", "pack_job_id", "pack_job_offset")
        or shown.get("jobid"),
        "State": _state(shown.get("state"), shown.get("@end")),
        **{field: _utc(texts[field]) for field in ("Submit", "Eligible", "Start", "End")},
        **{field: number(job.get(_FIELDS[field][1])) for field in ("TimelimitRaw", "ElapsedRaw")},
        **{field: _exit_text(texts[field]) for field in ("ExitCode", "DerivedExitCode")},
    }


def _shown_id(facts: Mapping[str, str], array: str, task: str, het: str, offset: str) -> str | None:
    """Return the id of an array's task or of a part of a job, given the names of the fields with its numbers."""
    array_id, task_id, het_id, het_offset = (number(facts.get(name)) for name in (array, task, het, offset))
    if array_id and task_id is not None:
        return f"{array_id}_{task_id}"
    return f"{het_id}+{het_offset}" if het_id and het_offset is not None else None


def _utc(text: str | None) -> str | None:
    is_naive = text is not None and re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d", text) is not None
    return f"{text}Z" if is_naive else text


def _exit_text(text: str | None) -> str | None:
    """Return `code:signal`; a number alone is the system's encoding and not an exit code."""
    return text if text and ":" in text else None


_LINE = (
    "JobId=10 UserId=alice(1001) GroupId=users(100) Name=train JobState=COMPLETED Partition=gpu TimeLimit=90 "
    "StartTime=2024-05-01T10:00:00 EndTime=2024-05-01T11:00:00 NodeList=node001 NodeCnt=1 ProcCnt=64 "
    "Tres=cpu=64,node=1,gres/gpu=8 Cluster=c1 SubmitTime=2024-05-01T09:00:00 ExitCode=0:0 \n"
)
_DOCUMENT = (
    '{"jobid": 11, "username": "alice", "@submit": "2024-05-01T09:00:00", "@start": "2024-05-01T10:00:00", '
    '"@end": "2024-05-01T11:00:00", "nodes": "node001", "total_nodes": 1, "state": "COMPLETED", "cluster": "c1", '
    '"tres_alloc": "cpu=64,gres/gpu=8,node=1"}\n'
)
FORMS = (
    Translation("jobcomp_text", "sacct", holds(_FIRST_LINE, in_json=False), _translate_lines, _LINE),
    Translation("jobcomp_json", "sacct", holds(_FIRST_DOCUMENT, in_json=True), _translate_documents, _DOCUMENT),
)
