"""Reader of `squeue/`: snapshots that show which nodes a job excludes (`%x`), a sign of a bad node.

Lines of jobs that exclude nothing are skipped; so are whole snapshots without that column. Records of jobs by GCM's
`slurm_job_monitor` are read as well: the file sink's envelope, flat objects, arrays of these on a line. In these the
excluded nodes are `EXC_NODES`, a list that is absent when empty. Records of nodes, which the same command writes, are
skipped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.reader import Batch, ReadingPlan, Rows, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.text import delimited, nodelists, undated
from assets.sources.text.delimited import named_field
from assets.sql import fill

KIND = "squeue"
TABLE = "squeue_exclusions"
DIALECTS = ("squeue_delimited", "squeue_unlabelled", "squeue_without_exclusions", "gcm_jobs")
VERSION = 5
PRIVACY: Mapping[str, str] = {}
ROWS = Rows(time="seen_at", free_texts=(), are_of_moments=True)
_STATED = "filter (where seen_at <> modified_at)"
COVERS = (f"min(seen_at) {_STATED}", f"max(seen_at) {_STATED}")

_COMMAND = (
    f"{export_again('squeue')} (%x works in every version, the long form ExcNodes of -O needs Slurm 24.05 or later)"
)
_HEADER = r"^\D*\bJOBID\b\D*$"
# In `squeue -h` of the command above, columns 1, 4 and 10 are the job, its submission and its excluded nodes.
# With SLURM_TIME_FORMAT=%s times are seconds since 1970.
_UNLABELLED = re.compile(r"^\d+\|[^|]*\|[A-Z_]+\|(?:[^|]*\d\d:\d\d:\d\d[^|]*|\d{9,11})\|(?:[^|]*\|){6}[^|]*$")
_RECORD_OF_GCM = re.compile(r'"JOBID(?:_RAW)?":|"NODE_NAME":')


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Find the column of excluded nodes; a snapshot without it is accepted, an error message is not."""
    lines = [line for line in sample.splitlines() if line.strip()]
    first = lines[0].strip() if lines else ""
    if re.match(r"(squeue|slurm_load_\w+):? .*error", first):
        raise SourceError(path, f"command_error_output: {first[:120]}", _COMMAND, line=1)
    if sample.lstrip().startswith(("{", "[")) and _RECORD_OF_GCM.search(sample):
        return "gcm_jobs"
    delimiter = delimited.header_delimiter(first)
    names = re.split(r"\s+" if delimiter is None else re.escape(delimiter), first.upper())
    names = [name.strip() for name in names]
    if "JOBID" in " ".join(names) and delimiter is not None and "EXC_NODES" in names:
        return "squeue_delimited"
    if "EXC_NODES" in first.upper():
        raise SourceError(path, "fixed_width_output: columns are padded and node lists cut off", _COMMAND, line=1)
    if "JOBID" in names or "JOBID" in first.upper():
        return "squeue_without_exclusions"
    if _UNLABELLED.match(first):
        return "squeue_unlabelled"
    raise SourceError(path, "no_header: the first line does not name JOBID", _COMMAND, line=1)


def is_timed_by_modification(path: str, dialect: str) -> bool:
    """Return whether a snapshot gets the time of its file's modification, as its records and name have none."""
    return dialect != "gcm_jobs" and not undated.is_named_by_time(path)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the exclusions."""
    zone = batch.cluster.settings.timezone
    return ReadingPlan(
        prepare=[
            *delimited.field_steps("list_contains(names, 'excnodes')", "reason", "squeue_fields"),
            fill("sources/squeue/rows.sql", node_list=named_field("excnodes"), header=_HEADER),
            *([fill("sources/squeue/gcm_rows.sql")] if "gcm_jobs" in batch.dialects else ()),
            nodelists.expansion_step("select node_list from squeue_rows", "squeue_node_lists"),
            fill("sources/squeue/bad_lines.sql"),
        ],
        loaded=fill(
            "sources/squeue/loaded.sql",
            file_moment=undated.file_moment("batch_files.path", "batch_files.modified_at", zone),
        ),
        skipped=fill("sources/squeue/skipped.sql", header=_HEADER),
        quarantined="from squeue_bad_lines",
    )


def dispositions() -> Sequence[Step]:
    """Keep the first snapshot in which a job excludes a node; later ones repeat it every few minutes."""
    return mark_repeats(
        TABLE, key="cluster_id, job_id_raw, coalesce(node_id, node_name)", best="seen_at, path, line_number"
    )
