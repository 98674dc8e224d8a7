"""The columns of sacct that are read: the columns of raw.sacct that each fills, how, and its first version of Slurm.

Other columns are ignored. Versions are from `src/sacct/sacct.c` in Slurm's releases; a column without one is in every
supported version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assets.sources.text.pseudonyms import KEPT, STATE, TEXT, UID, USER

PLAIN = {
    "text": "{}",
    # Slurm prints None for nothing.
    "text_or_none": "nullif({}, 'None')",
    "integer": "try_cast({} as integer)",
    "bigint": "try_cast({} as bigint)",
    # Printed as an unsigned number. From Slurm 24.11 on the highest bits are the cluster's: the upper half becomes
    # negative, so numbers stay distinct, and in order if they share these bits.
    "bits": f"coalesce(try_cast({{0}} as bigint), try_cast(try_cast({{0}} as ubigint)::hugeint - {2**64} as bigint))",
}
"""Parsers, as SQL, of columns whose own text alone gives the first raw column."""
Parser = Literal[
    "text", "text_or_none", "integer", "bigint", "bits", "moment", "duration", "lookup", "count", "code", "number",
    "beside", "compared",
]  # fmt: skip
"""How a text becomes values: as `PLAIN` says, or by `typed_records.py`.

A `moment` becomes UTC. Each distinct text of a `lookup` is read once in Python. A `count` may be printed as 1.50K. A
`code` is an exit code with a signal. A `number` is a job's number with its parts. If a column parsed as
`beside` is empty, another column replaces it. A `compared` column is checked and not kept.
"""


@dataclass(frozen=True)
class Column:
    """One column of an export."""

    field: str
    """Its name in the header."""
    parser: Parser
    fills: tuple[str, ...]
    """Columns of raw.sacct that need it, alone or with others."""
    since: str = ""
    """First version of Slurm with it."""
    is_required: bool = False
    is_free_text: bool = False
    """Whether users may write anything, including the delimiter and line breaks. Secrets in it are masked."""
    holds: str = TEXT
    """What a plain text says about people, in the terms of `pseudonyms`; decides what pseudonymous clusters keep."""


_JOB = ("job_id", "job_id_raw")
_ARRAY = ("array_job_id", "array_task_id", "het_job_id", "het_offset")
_LENGTH = ("elapsed_seconds", "suspended_seconds", "warnings")
_GPUS = ("gpu_count", "gpu_count_source", "gpu_type", "cpu_count")

COLUMNS = (
    Column("JobID", "number", (*_JOB, *_ARRAY)),
    Column("JobIDRaw", "number", _JOB),
    Column("Cluster", "compared", ()),
    Column("User", "beside", ("user_name",)),
    Column("UID", "bigint", ("uid", "user_name")),
    Column("Account", "text", ("account",), holds="account"),
    Column("Partition", "text", ("partition",), holds=KEPT),
    Column("QOS", "text", ("qos",), holds=KEPT),
    Column("JobName", "text", ("job_name",), is_free_text=True, holds="job"),
    Column("Submit", "moment", ("submitted_at", "time_quality"), is_required=True),
    Column("Eligible", "moment", ("eligible_at", "time_quality")),
    Column("Start", "moment", ("started_at", "time_quality"), is_required=True),
    Column("End", "moment", ("ended_at", "time_quality"), is_required=True),
    Column("Elapsed", "duration", _LENGTH),
    Column("ElapsedRaw", "duration", _LENGTH),
    Column("Suspended", "duration", _LENGTH),
    Column("State", "lookup", ("state", "state_raw", "cancelled_by_uid"), is_required=True),
    Column("ExitCode", "code", ("exit_code", "exit_signal")),
    Column("DerivedExitCode", "code", ("derived_exit_code", "derived_exit_signal")),
    Column("NodeList", "lookup", ("node_list", "node_ids")),
    Column("NNodes", "count", ("requested_node_count", "requested_memory_mib")),
    Column("AllocNodes", "count", ("requested_node_count",)),
    Column("ReqNodes", "count", ("requested_node_count", "requested_memory_mib")),
    Column("AllocCPUS", "count", ("cpu_count", "requested_memory_mib")),
    Column("NCPUS", "count", ("cpu_count", "requested_memory_mib")),
    Column("AllocTRES", "lookup", _GPUS),
    Column("ReqTRES", "lookup", ("requested_gpu_count", "requested_memory_mib")),
    Column("ReqMem", "lookup", ("requested_memory_mib",)),
    Column("TimelimitRaw", "duration", ("time_limit_seconds",), since="18.08"),
    Column("Timelimit", "duration", ("time_limit_seconds",)),
    Column("Reason", "text_or_none", ("pending_reason",), since="19.05", holds=KEPT),
    Column("Flags", "text", ("flags",), since="19.05", holds=KEPT),
    Column(
        "SubmitLine", "text", ("submit_line", "excluded_node_ids"), since="21.08", is_free_text=True, holds="command"
    ),
    Column("Restarts", "integer", ("restart_count",), since="24.11"),
    Column("FailedNode", "lookup", ("failed_node_id",), since="23.02"),
    Column("DBIndex", "bits", ("db_index",), since="20.02"),
    Column("SLUID", "text", ("sluid",), since="24.11", holds=KEPT),
    # Only the GPU facts of jobstats' summary are kept, and nothing of other comments.
    Column("AdminComment", "lookup", ("gpu_utilisation", "warnings")),
)
FIELDS = tuple(column.field for column in COLUMNS)
REQUIRED = tuple(column.field for column in COLUMNS if column.is_required)
_FREE_BUT_NOT_KEPT = (
    *("Comment", "AdminComment", "SystemComment", "WorkDir", "WCKey", "Extra", "Constraints", "Container"),
    *("StdIn", "StdOut", "StdErr", "Reservation"),
)
FREE_TEXT = frozenset({*_FREE_BUT_NOT_KEPT, *(column.field for column in COLUMNS if column.is_free_text)})
"""Columns in which a delimiter may be part of the value."""
TEXTS = {field: f"text_{field.lower()}" for field in FIELDS}
"""The SQL names of the printed texts, NULL when empty or not exported."""
PRIVACY = {
    **dict.fromkeys(
        (
            "job_id", "time_quality", "state", "node_list", "node_ids", "gpu_count_source", "gpu_type",
            "failed_node_id", "excluded_node_ids", "warnings",
        ),
        KEPT,
    ),
    "user_name": USER,
    "uid": UID,
    "cancelled_by_uid": UID,
    "state_raw": STATE,
    **{column.fills[0]: column.holds for column in COLUMNS if column.parser in {"text", "text_or_none"}},
}  # fmt: skip

PLAIN_COLUMNS = tuple(
    (PLAIN[column.parser].format(TEXTS[column.field]), column.fills[0]) for column in COLUMNS if column.parser in PLAIN
)
"""SQL and names of the columns of raw.sacct that are made from one printed text."""
