"""Research traces of jobs as accounting: CSV with a header, columns mapped under `[trace]`, and Philly's JSON.

The columns of Helios and of Acme (Seren, Kalos) are known by name. Tables like these do not say which nodes a job had,
so nothing can be told of nodes, nor of causes that rest on them. Philly's does, by attempt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assets.sources.intake.read.json_records import Damaged, json_records
from assets.sources.reader import SetAside, SourceFile
from assets.sources.sacct.record_lines import WITHOUT_NODES, damaged_line, record_line, strange_line
from assets.sources.sacct.values import LARGEST_ID, STATES
from assets.sources.settings import ClusterSettings
from assets.sources.text.text_lines import cells_of, lines_of, rows_of

KNOWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "job_id": ("job_id", "jobid"),
    "user": ("user", "user_id"),
    "account": ("account",),
    "partition": ("vc", "partition"),
    "qos": ("qos",),
    "job_name": ("job_name", "jobname", "type"),
    "submit": ("submit_time", "submitted_time"),
    "start": ("start_time",),
    "end": ("end_time",),
    "duration": ("duration",),
    "state": ("state", "status"),
    "gpus": ("gpu_num", "num_gpus", "gpus"),
    "gpus_per_node": ("gpus_per_node",),
    "nodes": ("node_num", "num_nodes", "nodes"),
    "cpus": ("cpu_num", "num_cpus", "cpus"),
}
"""What the columns of known traces are called, by their meaning."""
REQUIRED = ("job_id", "submit", "state")
"""A trace needs all of these, and at least one of `GPUS`."""
GPUS = frozenset({"gpus", "gpus_per_node"})
STATE_WORDS = {
    "pass": "COMPLETED", "passed": "COMPLETED", "success": "COMPLETED", "succeeded": "COMPLETED",
    "finished": "COMPLETED",
    "killed": "CANCELLED", "canceled": "CANCELLED", "error": "FAILED", "fail": "FAILED", "failure": "FAILED",
}  # fmt: skip
DELIMITERS = (",", ";", "\t", "|")
_NEVER = {"", "none", "null", "nan", "nat", "-", "unknown"}
_NO_COUNT = "NONE"
"""What Slurm prints for GPUs without a count."""


def is_trace(sample: str, cluster: ClusterSettings) -> bool:
    """Tell whether the first line names the columns without which nothing can be told of jobs."""
    first = next((line for line in sample.split("\n") if line.strip()), "")
    return columns_of(first.removesuffix("\r"), cluster) is not None


def is_philly(sample: str) -> bool:
    """Tell whether a sample of JSON is of Philly's log of jobs."""
    return re.search(r'"jobid"\s*:', sample) is not None and re.search(r'"attempts"\s*:', sample) is not None


def columns_of(header: str, cluster: ClusterSettings) -> tuple[str, dict[str, int]] | None:
    """Return the delimiter of a header and the place of each column by its meaning; None if it is no trace's."""
    configured = cluster.settings.trace
    named = {str(meaning): name for meaning, name in configured.columns.items()}
    for delimiter in [configured.delimiter] if configured.delimiter else DELIMITERS:
        names = [name.strip().lower() for name in cells_of(header, delimiter)]
        places = {}
        for meaning, known in KNOWN_NAMES.items():
            wanted = (named[meaning].lower(),) if meaning in named else known
            if name := next((name for name in wanted if name in names), None):
                places[meaning] = names.index(name)
        has_all = all(meaning in places for meaning in REQUIRED) and not GPUS.isdisjoint(places)
        if len(names) > len(REQUIRED) + 1 and has_all:
            return delimiter, places
    return None


def translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write the rows of a table as lines."""
    lines = lines_of(pieces)
    header, found = "", None
    while found is None and (line := next(lines, None)) is not None:
        header, found = line, columns_of(line, cluster)
        yield SetAside(line, "header" if found else "blank")
    if found is None:
        return
    delimiter, places = found
    width = len(cells_of(header, delimiter))
    for text, row in rows_of(lines, delimiter):
        if not text.strip():
            yield SetAside(text, "blank")
        elif len(row) != width:
            yield SetAside(text, "field_count", f"{len(row)} fields where the header names {width}")
        else:
            yield record_line(row_texts(row, places, cluster), WITHOUT_NODES)


def row_texts(row: Sequence[str], places: Mapping[str, int], cluster: ClusterSettings) -> dict[str, Any]:
    """Return the fields of sacct that a row states."""
    cells = {meaning: row[place].strip() for meaning, place in places.items()}
    job_cells = {meaning: cell for meaning, cell in cells.items() if cell.lower() not in _NEVER}
    counts = {name: _count(job_cells.get(name)) for name in ("cpus", "nodes")}
    tres = {"cpu": counts["cpus"], "gres/gpu": _gpus(job_cells), "node": counts["nodes"]}
    resources = ",".join(f"{name}={count}" for name, count in tres.items() if count is not None)
    says_whether_it_ran = not {"start", "duration"}.isdisjoint(places)
    has_run = "start" in job_cells or bool(_seconds(job_cells.get("duration"))) or not says_whether_it_ran
    return {
        **_ids(job_cells.get("job_id")),
        "User": job_cells.get("user"),
        "Account": job_cells.get("account"),
        "Partition": job_cells.get("partition"),
        "QOS": job_cells.get("qos"),
        "JobName": job_cells.get("job_name"),
        "Submit": _moment(job_cells.get("submit")),
        "Start": _moment(job_cells.get("start")),
        "End": _moment(job_cells.get("end")),
        "ElapsedRaw": _seconds(job_cells.get("duration")),
        "State": state_of(cells["state"], cluster),
        "NNodes": counts["nodes"],
        "AllocTRES": resources if has_run else None,
        "ReqTRES": resources,
    }


def state_of(word: str, cluster: ClusterSettings) -> str:
    """Return Slurm's word for a trace's, by `[trace] states` and the words that are known; else the word itself."""
    configured = {name.lower(): state for name, state in cluster.settings.trace.states.items()}
    lower = word.lower()
    return configured.get(lower) or (word.upper() if word.upper() in STATES else STATE_WORDS.get(lower, word))


def _ids(text: str | None) -> dict[str, Any]:
    """Return a job's id as shown, and as a number: of an id that is none, a number made of its text."""
    if text is None:
        return {}
    if text.isascii() and text.isdigit() and int(text) < LARGEST_ID:
        return {"JobID": text, "JobIDRaw": text}
    digest = hashlib.sha256(text.encode(errors="replace")).digest()
    shown = re.sub(r"[._+\[\]]", "-", text)
    return {"JobID": shown, "JobIDRaw": int.from_bytes(digest[:8], "big") % LARGEST_ID + LARGEST_ID}


def _gpus(job_cells: Mapping[str, str]) -> int | str:
    """Return the GPUs of a job on all its nodes, or NONE where no whole number is told: unknown is not zero."""
    if "gpus" in job_cells or "gpus_per_node" not in job_cells:
        count = _count(job_cells.get("gpus"))
    else:
        per_node, nodes = _count(job_cells["gpus_per_node"]), _count(job_cells.get("nodes"))
        count = None if per_node is None or nodes is None else per_node * nodes
    return _NO_COUNT if count is None else count


def _count(text: str | None) -> int | None:
    """Return a count that a program may have written as 8.0; a share of a thing, such as half a GPU, is no count."""
    match = re.fullmatch(r"(\d{1,18})(?:\.0*)?", text or "", re.ASCII)
    return int(match[1]) if match else None


def _seconds(text: str | None) -> int | None:
    match = re.fullmatch(r"(\d{1,18})(?:\.\d*)?", text or "", re.ASCII)
    return int(match[1]) if match else None


def _moment(text: str | None) -> str:
    """Return a moment as sacct prints it: `2023-03-01 00:28:17+08:00` has a T and no fractions."""
    if text is None:
        return "Unknown"
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?", text, re.ASCII)
    return f"{match[1]}T{match[2]}{match[3] or ''}" if match else text


def translate_philly(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write each attempt of Philly's jobs as a line, and a job that never ran as one."""
    for record in json_records(pieces):
        if isinstance(record, Damaged):
            yield damaged_line(record)
        elif isinstance(record.value, dict) and isinstance(record.value.get("attempts"), list):
            yield from (record_line(texts) for texts in _philly_attempts(record.value, cluster))
        else:
            yield strange_line(record.value, "no job with attempts")


def _philly_attempts(job: Mapping[str, Any], cluster: ClusterSettings) -> Iterator[dict[str, Any]]:
    """Yield the attempts; the job's state is that of the last one, and the others were followed by another attempt."""
    about = {
        **_ids(str(job["jobid"]) if job.get("jobid") else None), "User": job.get("user"), "Partition": job.get("vc"),
    }  # fmt: skip
    state, submitted = state_of(str(job.get("status") or ""), cluster), _philly_moment(job.get("submitted_time"))
    attempts = [attempt for attempt in job["attempts"] if isinstance(attempt, dict)]
    if not attempts:
        yield {**about, "State": state, "Submit": submitted, "NodeList": "None assigned"}
    for number, attempt in enumerate(attempts, start=1):
        start, end = (_philly_moment(attempt.get(name)) for name in ("start_time", "end_time"))
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


def _philly_moment(value: Any) -> str:
    return _moment(value if isinstance(value, str) and value.lower() not in _NEVER else None)
