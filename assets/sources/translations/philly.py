"""Philly's log of jobs (`cluster_job_log`): one document, with the attempts of each job and their nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from assets.sources.intake.read.json_records import Record
from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.sacct.record_lines import record_line
from assets.sources.settings import ClusterSettings
from assets.sources.translations.job_traces import NEVER, ids_of, moment_of, state_of
from assets.sources.translations.json_documents import each_record, unsupported

_JOB, _ATTEMPTS = re.compile(r'"jobid"\s*:'), re.compile(r'"attempts"\s*:')


def _lines(record: Record, _file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write each attempt of a job as a line, and a job that never ran as one."""
    if isinstance(record.value, dict) and isinstance(record.value.get("attempts"), list):
        yield from map(record_line, _attempts(record.value, cluster))
    else:
        yield unsupported(record.value, "no job with attempts")


def _attempts(job: Mapping[str, Any], cluster: ClusterSettings) -> Iterator[dict[str, Any]]:
    """Yield the attempts; the job's state is that of the last one, and the others were followed by another attempt."""
    about = {
        **ids_of(str(job["jobid"]) if job.get("jobid") else None), "User": job.get("user"), "Partition": job.get("vc"),
    }  # fmt: skip
    state, submitted = state_of(str(job.get("status") or ""), cluster), _moment(job.get("submitted_time"))
    attempts = [attempt for attempt in job["attempts"] if isinstance(attempt, dict)]
    if not attempts:
        yield {**about, "State": state, "Submit": submitted, "NodeList": "None assigned"}
    for number, attempt in enumerate(attempts, start=1):
        start, end = (_moment(attempt.get(name)) for name in ("start_time", "end_time"))
        details = [part for part in attempt.get("detail") or [] if isinstance(part, dict)]
        gpus = sum(len(part["gpus"]) for part in details if isinstance(part.get("gpus"), list))
        yield {
            **about,
            "State": state if number == len(attempts) else "REQUEUED",
            "Submit": submitted if number == 1 or start == "Unknown" else start,
            "Start": start,
            "End": end,
            "Restarts": number - 1,
            "NodeList": ",".join(str(part["ip"]) for part in details if part.get("ip")) or "None assigned",
            "NNodes": len(details),
            "AllocTRES": f"gres/gpu={gpus},node={len(details)}" if details else None,
        }


def _moment(value: Any) -> str:
    return moment_of(value if isinstance(value, str) and value.lower() not in NEVER else None)


_EXAMPLE = (
    '[{"status": "Pass", "vc": "ee9e8c", "jobid": "application_1506638472019_10238", "user": "ce2f", '
    '"submitted_time": "2017-10-07 02:09:59", "attempts": [{"start_time": "2017-10-07 02:10:05", '
    '"end_time": "2017-10-07 02:11:05", "detail": [{"ip": "m41", "gpus": ["gpu0", "gpu1"]}]}]}]\n'
)
FORMS = (Translation("philly", "sacct", holds(_JOB, _ATTEMPTS, in_json=True), each_record(_lines), _EXAMPLE),)
