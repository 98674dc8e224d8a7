"""Reader of `health/`: GCM's health-check records, as any of its sinks writes them, and failures that LBNL NHC logs.

`gcm_records.sql` reads a record a line, `gcm_other_lines.sql` arrays and text, `gcm_documents.sql` records over several
lines, and `nhc_records.sql` the lines of NHC. All fill `health_results`, which `outcomes.sql` and `loaded.sql` turn
into rows. Results of some other programs are translated into GCM's records first. Files of other tools are refused
with the command that makes a readable file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import duckdb

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.health.unchanged_results import counts_each
from assets.sources.other_forms import recognised, translation_of
from assets.sources.reader import Batch, ReadingPlan, Rows, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.text import doubled_hours, times, undated
from assets.sources.text.check_subjects import SUBJECTS
from assets.sources.text.pseudonyms import CHECK_TEXT, KEPT
from assets.sql import fill, literal
from assets.warehouse import one_value

__all__ = [
    "COVERS", "DIALECTS", "KIND", "PRIVACY", "ROWS", "TABLE", "VERSION", "detect", "dispositions",
    "is_timed_by_modification", "plan_reading",
]  # fmt: skip

KIND = "health"
TABLE = "health_checks"
DIALECTS = ("gcm", "gcm_document", "nhc")
VERSION = 11
PRIVACY = {
    **dict.fromkeys(("check_name", "check_type", "result", "result_quality"), KEPT),
    "message": CHECK_TEXT,
}
ROWS = Rows(time="observed_at", free_texts=("check_name", "message"), come_from_nodes=True, may_lack_years=True)
COVERS = ("min(coalesce(unchanged_since, observed_at))", "max(observed_at)")


_NHC = re.compile(
    r"Health check failed:|node-mark-o(?:ff|n)line|^[ \t]*(?:ERROR|DEBUG|NOTICE):\s+nhc:|^\S+ \| (?:ERROR|Healthy)",
    re.M,
)
_GCM_TEXT = re.compile(
    r"^(?:OK|WARN|CRITICAL|UNKNOWN) - |^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\] - \[[A-Z]+\] - ", re.M
)

_XID = r"(?i)\bxid(?:\s+errors?)?(?:\s+detected)?(?:\s*\([^)]*\))?\s*[:=#]?[\s\[]*(\d{1,3})(?:$|[^\w.]|\.(?:$|\D))"
"""The number after "Xid" and after the bracket with the PCI address, never one inside it, as in reasons of nodes.

A time since boot, as in `[ 79.25] NVRM: Xid (...): 48`, is not such a number.
"""


def _numbers_once(texts: str) -> str:
    """Return SQL for the distinct numbers in a list of texts, in order and without 0."""
    first = f"list_filter({texts}, lambda text, place: list_position({texts}, text) = place)"
    return f"list_filter(list_transform({first}, lambda text: try_cast(text as integer)), lambda number: number > 0)"


_MARKED = "replace(message, 'non-critical XID error: ', 'non-critical: ')"
_CODES = (
    f"regexp_extract_all({_MARKED}, 'XID error: (\\d+)', 1) || regexp_extract_all({_MARKED}, 'non-critical: (\\d+)', 1)"
)
XID_CODES = f"case when contains(message, 'XID error: ') then {_numbers_once(_CODES)} else [] end"
"""The Xids of a message of GCM, critical ones first; 0 means none."""
START, END = times.has_offset("start_time"), times.has_offset("end_time")


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Return the dialect: GCM's JSON lines, a GCM document over several lines, NHC logs, or a translated form."""
    first = next((line.strip() for line in sample.splitlines() if line.strip()), "")
    if '"health_check"' in sample:
        return "gcm_document" if _is_spread_over_lines(sample) else "gcm"
    if (dialect := recognised(KIND, sample, cluster)) is not None:
        return dialect
    if _NHC.search(sample):
        return "nhc"
    if _GCM_TEXT.search(sample):
        return "gcm"
    if first.startswith(("{", "[")):
        raise SourceError(
            path,
            "unsupported_schema: JSON without GCM's field 'health_check'",
            "Put records of `health_checks --sink=file` or `--sink=stdout` here, or JSON of `dcgmi diag -j` or "
            "NVSentinel; records of sacct, squeue and sinfo belong into other folders.",
        )
    raise SourceError(
        path,
        "unsupported_schema: no results of GCM, NHC, DCGM or NVSentinel, and no system event log",
        f"{export_again('health')} as syslog wrote it, with time and host.",
    )


def is_timed_by_modification(path: str, dialect: str) -> bool:
    """Return whether the years of a log of NHC, or its times, come from its modification."""
    form = translation_of(KIND, dialect)
    states_no_time = dialect == "nhc" or (form is not None and not form.has_times)
    return states_no_time and not undated.is_named_by_time(path)


def _is_spread_over_lines(sample: str) -> bool:
    """Return whether a record, or an array of records, takes several lines, as `jq .` and editors write it."""
    lines = [line for line in sample.splitlines() if line.strip()]
    start = next((place for place, line in enumerate(lines) if line.startswith(("{", "["))), None)
    if start is None:
        return False
    first = lines[start].strip()
    if first in ("{", "[", "[{") or first.endswith("},"):
        return True
    return not first.endswith(("}", "]")) and start + 1 < len(lines) and lines[start + 1].startswith((" ", "\t"))


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the records of both tools."""
    steps: list[Step] = [EMPTY_RESULTS]
    if batch.dialects - {"gcm_document", "nhc"}:
        steps += [
            fill("sources/health/gcm_records.sql", start_has_offset=START, end_has_offset=END, xid_codes=XID_CODES),
            _read_other_lines,
        ]
    if "gcm_document" in batch.dialects:
        steps.append(
            fill("sources/health/gcm_documents.sql", start_has_offset=START, end_has_offset=END, xid_codes=XID_CODES)
        )
    if "nhc" in batch.dialects:
        steps += _nhc_steps(batch.cluster.settings.timezone)
    outcomes = fill(
        "sources/health/outcomes.sql",
        noise_seconds=times.CLOCK_NOISE_SECONDS,
        start_is_implausible=times.is_implausible("started_at", "batch_files.modified_at"),
        end_is_implausible=times.is_implausible("observed_at", "batch_files.modified_at"),
        subjects=SUBJECTS,
        counts_each=counts_each(batch.cluster),
    )
    return ReadingPlan(
        prepare=[*steps, outcomes],
        loaded=fill("sources/health/loaded.sql"),
        skipped=SKIPPED,
        quarantined="from health_bad_lines",
    )


# One row per result, skipped line (`skip_reason`) or bad line (`problem`).
EMPTY_RESULTS = """
create or replace temp table health_results (
    file_id integer, line_number bigint, node_name varchar, check_name varchar, check_type varchar, result varchar,
    result_quality varchar, started_at timestamp, observed_at timestamp, job_id_raw bigint, xid_codes integer[],
    message varchar, stands_alone boolean default false, skip_reason varchar, problem varchar, problem_detail varchar,
    dated_by_file_at timestamp
)"""

SKIPPED = """
select file_id, line_number, 'blank' as reason from lines where line is null
union all
select file_id, line_number, skip_reason from health_results where skip_reason is not null
union all
select file_id, line_number, 'unchanged' from health_unchanged"""


def _read_other_lines(con: duckdb.DuckDBPyConnection) -> None:
    """Read the lines that are not objects; clean logs have none, and are not read again."""
    missing = one_value(
        con,
        """
        select count(*) - (select count(*) from health_results)
        from lines inner join batch_files using (file_id)
        where dialect not in ('gcm_document', 'nhc') and line is not null
        """,
    )
    if missing:
        con.execute(
            fill("sources/health/gcm_other_lines.sql", start_has_offset=START, end_has_offset=END, xid_codes=XID_CODES)
        )


def _nhc_steps(zone: str) -> list[str]:
    stamps = r"""
        select lines.file_id, lines.line_number, line[:15] as stamp
        from lines join batch_files on batch_files.file_id = lines.file_id and batch_files.dialect = 'nhc'
        where regexp_matches(line, '^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ')"""
    results = fill(
        "sources/health/nhc_records.sql",
        leap_year_time=undated.in_leap_year("nullif(syslog.stamp, '')"),
        dated=undated.dated("leap_year_time", "years.year_anchor"),
        iso_has_offset=times.has_offset("iso"),
        file_moment=undated.file_moment("batch_files.path", "batch_files.modified_at", zone),
        utc=doubled_hours.utc(zone),
        with_turns=doubled_hours.joined("nhc_lines", "nhc_turns"),
        is_unsettled=doubled_hours.is_unsettled(zone),
        end_is_implausible=times.is_implausible("results.observed_at", "batch_files.modified_at"),
        quoted_xid_codes=_numbers_once(f"regexp_extract_all(body, {literal(_XID)}, 1)"),
    )
    return [
        *undated.year_steps(stamps, "nhc_years"),
        *doubled_hours.turn_steps(zone, "nhc_years", "nhc_turns"),
        results,
    ]


def dispositions() -> Sequence[Step]:
    """Mark results that a copy of the file or an overlapping file repeats."""
    return mark_repeats(
        TABLE,
        key=(
            "cluster_id, coalesce(node_id, node_name), check_name, check_type, result, started_at, observed_at, "
            "job_id_raw, message, unchanged_since"
        ),
        best="path, line_number",
    )
