"""Reader of `health/`: GCM health-check records in every shape its sinks write, and the failures LBNL NHC logs.

The dialects are read by `gcm_records`, `gcm_documents` and `nhc_records`, and files that hold GCM's records alone by
`whole_files`. Results of DCGM, gpud, NVSentinel, Azure's NHC and event logs of machines are first translated into GCM's
records (`translations`). This module tells them apart, joins them, drops unchanged results (`unchanged_results`)
and marks repeats. Other tools' files are refused with the command that makes a readable one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.health import gcm_documents, gcm_records, nhc_records, unchanged_results
from assets.sources.health import whole_files as health_whole
from assets.sources.other_forms import recognised, translation_of
from assets.sources.reader import Batch, ReadingPlan, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.text import times, undated
from assets.sources.text.pseudonyms import CHECK_TEXT, KEPT

KIND = "health"
TABLE = "health_checks"
DIALECTS = ("gcm", "gcm_document", "nhc")
VERSION = 10
PRIVACY = {
    **dict.fromkeys(("check_name", "check_type", "result", "result_quality"), KEPT),
    "message": CHECK_TEXT,
}
COVERS = ("min(coalesce(unchanged_since, observed_at))", "max(observed_at)")

_NHC = re.compile(
    r"Health check failed:|node-mark-o(?:ff|n)line|^\s*(?:ERROR|DEBUG|NOTICE):\s+nhc:|^\S+ \| (?:ERROR|Healthy)", re.M
)
_GCM_TEXT = re.compile(
    r"^(?:OK|WARN|CRITICAL|UNKNOWN) - |^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+\] - \[[A-Z]+\] - ", re.M
)


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Tell GCM's JSON lines, a GCM document over several lines, NHC logs and the translated ones apart."""
    first = next((line.strip() for line in sample.splitlines() if line.strip()), "")
    if '"health_check"' in sample:
        return "gcm_document" if gcm_documents.is_spread_over_lines(sample) else "gcm"
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
            "Put records of `health_checks --sink=file` or `--sink=stdout` here, or JSON of `dcgmi diag -j`, gpud or "
            "NVSentinel; records of sacct, squeue and sinfo belong into other folders.",
        )
    raise SourceError(
        path,
        "unsupported_schema: no results of GCM, NHC, DCGM, gpud or NVSentinel, and no system event log",
        f"{export_again('health')} as syslog wrote it, with time and host.",
    )


def is_timed_by_modification(path: str, dialect: str) -> bool:
    """Tell whether the years of a log of NHC, or its times, are those of its modification."""
    form = translation_of(KIND, dialect)
    states_no_time = dialect == "nhc" or (form is not None and "end_time" in form.lacks)
    return states_no_time and not undated.is_named_by_time(path)


take = health_whole.take


def plan_reading(batch: Batch) -> ReadingPlan:
    """Say how the records of both tools are read."""
    steps: list[Step] = []
    if batch.dialects - {"gcm_document", "nhc"}:
        steps += gcm_records.result_steps()
    if "gcm_document" in batch.dialects:
        steps += gcm_documents.RESULT_STEPS
    if "nhc" in batch.dialects:
        steps += nhc_records.result_steps(batch.cluster.settings.timezone)
    unfolded = batch.cluster.settings.health.unfolded
    return ReadingPlan(
        prepare=[EMPTY_RESULTS, *steps, SETTLED_CLOCKS, IMPLAUSIBLE, *unchanged_results.steps(unfolded), BAD_LINES],
        loaded=LOADED,
        skipped=SKIPPED,
        quarantined="from health_bad_lines",
        resume_points=RESUME_POINTS,
    )


# Unchanged results of a day are found together, so a file is read on from the first result of its last day. Results of
# the days before that come behind it stay as they were read. Unsorted files are read whole.
RESUME_POINTS = f"""
with results as (from health_results where skip_reason is null and problem is null),
days as (
    select
        file_id,
        observed_at::date as day_date,
        min(line_number) as first_line,
        max(line_number) as last_line,
        max(observed_at) as last_at
    from results
    group by file_id, day_date
),
last_days as (
    select
        file_id,
        any_value(last_day) as last_day,
        min(first_line) filter (day_date >= last_day) as line_number,
        max(last_line) filter (day_date < last_day) as line_before
    from (select *, {unchanged_results.last_day("max(last_at) over (partition by file_id)")} as last_day from days)
    group by file_id having coalesce(line_before - line_number, 0) < {unchanged_results.MAX_LINES_BEHIND}
),
behind as (
    select results.file_id, list(distinct results.line_number) as left_out
    from results
    inner join last_days on last_days.file_id = results.file_id and results.line_number > last_days.line_number
    where results.observed_at::date < last_days.last_day
    group by results.file_id
),
found as (
    select last_days.file_id, last_days.line_number, last_days.last_day, behind.left_out
    from last_days left join behind on behind.file_id = last_days.file_id
    union all
    ({health_whole.LAST_DAYS})
)
select
    found.file_id,
    found.line_number,
    0 as lines_again,
    found.last_day::timestamp as not_before,
    coalesce(found.left_out, []) as left_out
from found
inner join batch_files on batch_files.file_id = found.file_id and batch_files.dialect = 'gcm'"""

# One row per result read, or per line that is none (`skip_reason`) or cannot be one (`problem`).
EMPTY_RESULTS = """
create or replace temp table health_results (
    file_id integer, line_number bigint, node_name varchar, check_name varchar, check_type varchar, result varchar,
    result_quality varchar, started_at timestamp, observed_at timestamp, job_id_raw bigint, xid_codes integer[],
    message varchar, stands_alone boolean default false, skip_reason varchar, problem varchar, problem_detail varchar,
    dated_by_file_at timestamp
)"""

# What a check said is known, and when it ended; only how long it ran is lost.
SETTLED_CLOCKS = f"""
update health_results set started_at = observed_at
where started_at > observed_at and started_at <= observed_at + interval {times.CLOCK_NOISE_SECONDS} second"""

IMPLAUSIBLE = f"""
update health_results set
    problem = case when started_at > observed_at then 'end_before_start' else 'implausible_time' end,
    problem_detail = concat(started_at, ' to ', observed_at, ' (UTC)')
from batch_files
where batch_files.file_id = health_results.file_id
    and problem is null
    and skip_reason is null
    and (
        started_at > observed_at
        or {times.is_implausible("observed_at", "batch_files.modified_at")}
        or {times.is_implausible("started_at", "batch_files.modified_at")}
    )"""

# A line with several results is quarantined whole when one of them is bad: a line has one outcome.
BAD_LINES = """
create or replace temp table health_bad_lines as
select file_id, line_number, min(problem) as reason, min(problem_detail) as detail
from health_results
where problem is not null
group by file_id, line_number"""

LOADED = f"""
select
    results.file_id, line_number, results.node_name, results.check_name, check_type, result, result_quality,
    started_at, observed_at, job_id_raw, xid_codes, message,
    case when observed_at = stretches.last_at then stretches.first_at end as unchanged_since, dated_by_file_at
from health_results as results
left join health_stretches as stretches
    on stretches.file_id = results.file_id and {unchanged_results.IS_OF_STRETCH}
anti join health_unchanged as unchanged
    on unchanged.file_id = results.file_id and unchanged.line_number = results.line_number
anti join health_bad_lines as bad on bad.file_id = results.file_id and bad.line_number = results.line_number
where skip_reason is null
union all by name
{health_whole.KEPT}"""

SKIPPED = """
select file_id, line_number, 'blank' as reason from lines where line is null
union all
select file_id, line_number, skip_reason from health_results where skip_reason is not null
union all
select file_id, line_number, 'unchanged' from health_unchanged"""


def dispositions() -> Sequence[Step]:
    """Mark results that are stated again, by the same file copied or by files that overlap."""
    return mark_repeats(
        TABLE,
        key=(
            "cluster_id, coalesce(node_id, node_name), check_name, check_type, result, started_at, observed_at, "
            "job_id_raw, message, unchanged_since"
        ),
        best="path, line_number",
    )
