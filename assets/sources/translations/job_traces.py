"""Research traces of jobs: CSV with a header, whose columns are those of Helios or Acme, or are named by `[trace]`.

Such a table does not say which nodes a job had.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from assets.sources.other_forms import SetAside, Translation, begins_json
from assets.sources.reader import SourceFile
from assets.sources.sacct.record_lines import layout_without, record_line
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
"""Names of the columns of known traces, by their meaning."""
REQUIRED = ("job_id", "submit", "state")
"""A trace needs all of these, and at least one of `GPUS`."""
GPUS = frozenset({"gpus", "gpus_per_node"})
STATE_WORDS = {
    "pass": "COMPLETED", "passed": "COMPLETED", "success": "COMPLETED", "succeeded": "COMPLETED",
    "finished": "COMPLETED",
    "killed": "CANCELLED", "canceled": "CANCELLED", "error": "FAILED", "fail": "FAILED", "failure": "FAILED",
}  # fmt: skip
_LACKS = frozenset({"NodeList"})
DELIMITERS = (",", ";", "\t", "|")
NEVER = {"", "none", "null", "nan", "nat", "-", "unknown"}
_NO_COUNT = "NONE"
"""What Slurm prints for GPUs without a count."""


def _is_trace(sample: str, cluster: ClusterSettings) -> bool:
    """Tell whether the first line names all columns that a job needs."""
    if begins_json(sample):
        return False
    first = next((line for line in sample.split("\n") if line.strip()), "")
    return columns_of(first.removesuffix("\r"), cluster) is not None


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


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Write the rows of a table as lines."""
    lines = lines_of(pieces)
    header, found = "", None
    while found is None and (line := next(lines, None)) is not None:
        header, found = line, columns_of(line, cluster)
        yield SetAside(line, "header" if found else "blank")
    if found is None:
        return
    delimiter, places = found
    width, layout = len(cells_of(header, delimiter)), layout_without(_LACKS)
    for text, row in rows_of(lines, delimiter):
        if not text.strip():
            yield SetAside(text, "blank")
        elif len(row) != width:
            yield SetAside(text, "field_count", f"{len(row)} fields where the header names {width}")
        else:
            yield record_line(row_texts(row, places, cluster), layout)


def row_texts(row: Sequence[str], places: Mapping[str, int], cluster: ClusterSettings) -> dict[str, Any]:
    """Return the fields of sacct that a row states."""
    cells = {meaning: row[place].strip() for meaning, place in places.items()}
    job_cells = {meaning: cell for meaning, cell in cells.items() if cell.lower() not in NEVER}
    counts = {name: _count(job_cells.get(name)) for name in ("cpus", "nodes")}
    tres = {"cpu": counts["cpus"], "gres/gpu": _gpus(job_cells), "node": counts["nodes"]}
    resources = ",".join(f"{name}={count}" for name, count in tres.items() if count is not None)
    says_whether_it_ran = not {"start", "duration"}.isdisjoint(places)
    has_run = "start" in job_cells or bool(_seconds(job_cells.get("duration"))) or not says_whether_it_ran
    return {
        **ids_of(job_cells.get("job_id")),
        "User": job_cells.get("user"),
        "Account": job_cells.get("account"),
        "Partition": job_cells.get("partition"),
        "QOS": job_cells.get("qos"),
        "JobName": job_cells.get("job_name"),
        "Submit": moment_of(job_cells.get("submit")),
        "Start": moment_of(job_cells.get("start")),
        "End": moment_of(job_cells.get("end")),
        "ElapsedRaw": _seconds(job_cells.get("duration")),
        "State": state_of(cells["state"], cluster),
        "NNodes": counts["nodes"],
        "AllocTRES": resources if has_run else None,
        "ReqTRES": resources,
    }


def state_of(word: str, cluster: ClusterSettings) -> str:
    """Return Slurm's word for the state of a trace, by `[trace] states` or the known words; else the word itself."""
    configured = {name.lower(): state for name, state in cluster.settings.trace.states.items()}
    lower = word.lower()
    return configured.get(lower) or (word.upper() if word.upper() in STATES else STATE_WORDS.get(lower, word))


def ids_of(text: str | None) -> dict[str, Any]:
    """Return a job's id as shown and as a number; an id that is no number gets one made of its text."""
    if text is None:
        return {}
    if text.isascii() and text.isdigit() and int(text) < LARGEST_ID:
        return {"JobID": text, "JobIDRaw": text}
    digest = hashlib.sha256(text.encode(errors="replace")).digest()
    shown = re.sub(r"[._+\[\]]", "-", text)
    return {"JobID": shown, "JobIDRaw": int.from_bytes(digest[:8], "big") % LARGEST_ID + LARGEST_ID}


def _gpus(job_cells: Mapping[str, str]) -> int | str:
    """Return the GPUs of a job on all its nodes, or NONE where no whole number is stated: unknown is not zero."""
    if "gpus" in job_cells or "gpus_per_node" not in job_cells:
        count = _count(job_cells.get("gpus"))
    else:
        per_node, nodes = _count(job_cells["gpus_per_node"]), _count(job_cells.get("nodes"))
        count = None if per_node is None or nodes is None else per_node * nodes
    return _NO_COUNT if count is None else count


def _count(text: str | None) -> int | None:
    """Return a count that a program may have written as 8.0; a share, such as half a GPU, is none."""
    match = re.fullmatch(r"(\d{1,18})(?:\.0*)?", text or "", re.ASCII)
    return int(match[1]) if match else None


def _seconds(text: str | None) -> int | None:
    match = re.fullmatch(r"(\d{1,18})(?:\.\d*)?", text or "", re.ASCII)
    return int(match[1]) if match else None


def moment_of(text: str | None) -> str:
    """Return a moment as sacct prints it: `2023-03-01 00:28:17+08:00` has a T and no fractions."""
    if text is None:
        return "Unknown"
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)?\s*(Z|[+-]\d\d:?\d\d)?", text, re.ASCII)
    return f"{match[1]}T{match[2]}{match[3] or ''}" if match else text


_EXAMPLE = """job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration
7,u1,1,8,120,Pretrain,COMPLETED,2023-03-01 00:28:17,2023-03-01 00:28:20,2023-03-01 01:28:20,3600
"""
FORMS = (Translation("trace", "sacct", _is_trace, _translate, _EXAMPLE, _LACKS, rank=1),)
