"""Reader of `slurmctld/`, for what only the controller knows: who preempted whom, which node failed a job, who drained.

Lines in any LogTimeFormat with a date, and lines that came through syslog. Most lines are of no interest and counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.reader import Batch, ReadingPlan, Step, prevailing
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.slurmctld import messages as slurmctld_messages
from assets.sources.text import doubled_hours, line_rules, nodelists, times, undated, unknown_lines
from assets.sources.text.pseudonyms import KEPT, REASON, TEXT
from assets.sql import literal

KIND = "slurmctld"
TABLE = "slurmctld_events"
DIALECTS = ("bracketed", "bracketed_short", "syslog", "syslog_iso")
VERSION = 8
PRIVACY = {
    **dict.fromkeys(("kind", "preempt_mode", "state", "rule_pattern"), KEPT),
    "reason": REASON,
    "message": TEXT,
}
COVERS = ("min(logged_at)", "max(logged_at)")

_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_MONTH = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_SYSLOG_TAG = r"(?P<host>\S+) slurmctld(?:\[\d+\])?: "
_THREAD = r"(?:[^\[\]]|\[\d+\])*"
"""What LogTimeFormat=thread_id adds: the process, the name of its thread, such as `worker[3]`, and an address."""
_SHAPES = {
    "bracketed": rf"^\[(?P<stamp>{_ISO})[^\]]*\] (?P<body>.*)$",
    "bracketed_short": rf"^\[(?P<stamp>{_MONTH})(?:\.(?P<microseconds>\d+))?{_THREAD}\] (?P<body>.*)$",
    "syslog": rf"^(?:<\d+>)?(?P<stamp>{_MONTH}) {_SYSLOG_TAG}(?P<body>.*)$",
    "syslog_iso": rf"^(?:<\d+>)?(?P<stamp>{_ISO}) {_SYSLOG_TAG}(?P<body>.*)$",
}
_BEGINS = {
    "bracketed": "line[1] = '[' and line[2] between '0' and '9'",
    "bracketed_short": "line[1] = '[' and line[2] between 'A' and 'Z'",
    "syslog": "line[1] <> '['",
    "syslog_iso": "line[1] <> '['",
}
"""What spares most lines all patterns but their own."""


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Name the form of the first lines' times; a log without dates is refused."""
    dialect = prevailing(_SHAPES, sample)
    if dialect:
        return dialect
    raise SourceError(
        path,
        "unsupported_schema: no line begins with a date in brackets or a syslog header of slurmctld",
        f"{export_again('slurmctld')} with LogTimeFormat=iso8601_ms (the default), rfc5424_ms, rfc3339 or short; "
        "LogTimeFormat=clock has no dates.",
    )


def is_timed_by_modification(path: str, dialect: str) -> bool:
    """Tell whether the years of a log are inferred backwards from its modification."""
    return dialect in ("bracketed_short", "syslog") and not undated.is_named_by_time(path)


def _may_fit(patterns: Sequence[str]) -> str:
    return f"regexp_matches(line, {literal(line_rules.scanning_pattern(patterns))})" if patterns else "false"


def plan_reading(batch: Batch) -> ReadingPlan:
    """Say how the relevant lines are read."""
    zone, patterns = batch.cluster.settings.timezone, batch.cluster.settings.kernel.patterns
    shapes = ", ".join(_extract(name) for name in _SHAPES)
    stamps = rf"""
    select file_id, line_number, regexp_extract(line, '^(?:<\d+>|\[)?({_MONTH})', 1) as stamp
    from lines
    where regexp_matches(line, '^(?:<\d+>|\[)?{_MONTH}')"""
    month_stamp = "coalesce(nullif(bracketed_short.stamp, ''), nullif(syslog.stamp, ''))"
    # A table of its own: DuckDB would try the later conditions, each a regular expression or two, on every line.
    candidates = f"""
create or replace temp table slurmctld_candidates as
with relevant as materialized (
    select file_id, line_number, line
    from lines
    where regexp_matches(line, '{slurmctld_messages.RELEVANT}|{unknown_lines.SCAN}')
        or {_may_fit(patterns)}
)
select *, true as is_relevant from relevant
union all
select file_id, line_number, line, false as is_relevant
from sampled_lines anti join relevant using (file_id, line_number)"""
    shaped = rf"""
create or replace temp table slurmctld_lines as
with shapes as (
    select file_id, line_number, line, is_relevant, {shapes} from slurmctld_candidates
),
-- An asof join sorts what it joins, so lines that tell their year stay out of it.
anchored as (
    select undated.file_id, undated.line_number, years.year_anchor
    from (select file_id, line_number from shapes where {month_stamp} is not null) as undated
    asof join slurmctld_years as years
        on years.file_id = undated.file_id and years.line_number <= undated.line_number
),
chosen as (
    select
        shapes.file_id,
        shapes.line_number,
        shapes.is_relevant,
        shapes.line,
        replace(coalesce(nullif(bracketed.stamp, ''), nullif(syslog_iso.stamp, '')), ',', '.') as stamp,
        case when length(stamp) > 26 then regexp_replace(stamp, '(\.\d{{6}})\d+', '\1') else stamp end as iso,
        {undated.in_leap_year(month_stamp)} as leap_year_time,
        coalesce(try_cast(bracketed_short.microseconds as double), 0) / 1e6 as fraction,
        anchored.year_anchor,
        coalesce(
            nullif(bracketed.body, ''), nullif(bracketed_short.body, ''), nullif(syslog.body, ''),
            nullif(syslog_iso.body, '')
        ) as body,
        case
            when body[1] in ('e', 'f', 'i', 'v', 's')
                then regexp_replace(body, '^(?:slurmctld: +)?(?:(?:error|fatal|info|verbose): +)?', '')
            else body
        end as message
    from shapes
    left join anchored on anchored.file_id = shapes.file_id and anchored.line_number = shapes.line_number
),
local_times as (
    select
        *,
        case when {times.has_offset("iso")} then try_cast(iso as timestamptz)::timestamp end as utc_time,
        case
            when iso is null
                then {undated.dated("leap_year_time", "year_anchor")} + to_microseconds((fraction * 1e6)::bigint)
            when not {times.has_offset("iso")} then try_cast(iso as timestamp)
        end as local_time
    from chosen
)
select
    local_times.file_id,
    line_number,
    coalesce(utc_time, {doubled_hours.utc(zone)}) as logged_at,
    {doubled_hours.is_unsettled(zone)} as is_unsettled,
    iso is null as has_no_year,
    message,
    case when is_relevant then {slurmctld_messages.wording_place("message")} end as wording,
    is_relevant and {unknown_lines.has_weight("line", "body")} as has_weight,
    case when is_relevant and wording is null then {line_rules.first_pattern("message", patterns)} end as rule_pattern
from local_times
{doubled_hours.joined("local_times", "slurmctld_turns")}"""
    events = f"create or replace temp table slurmctld_parsed as {slurmctld_messages.events('slurmctld_lines')}"
    problems = f"create or replace temp table slurmctld_problems as {_PROBLEMS}"
    others = f"create or replace temp table slurmctld_others as {_OTHERS}"
    lists = "select node_list from slurmctld_parsed union all select node_list from slurmctld_others"
    expansion = nodelists.expansion_step(lists, "slurmctld_node_lists")
    years = undated.year_steps(stamps, "slurmctld_years")
    turns = doubled_hours.turn_steps(zone, "slurmctld_years", "slurmctld_turns")
    warnings = """
insert into file_warnings
select distinct file_id, 'ambiguous_dst' from slurmctld_lines where is_unsettled and wording is not null"""
    stated = f"""
insert into stated_times
select
    slurmctld_lines.file_id,
    slurmctld_lines.line_number,
    null as node_name,
    slurmctld_lines.logged_at,
    slurmctld_lines.has_no_year
from slurmctld_lines
inner join batch_files on batch_files.file_id = slurmctld_lines.file_id
where not {_IS_IMPLAUSIBLE}"""
    return ReadingPlan(
        prepare=[
            *years,
            *turns,
            candidates,
            shaped,
            warnings,
            events,
            others,
            expansion,
            problems,
            stated,
            UNKNOWN_LINES,
        ],
        loaded=LOADED,
        skipped=SKIPPED,
        # Only a line that was understood to matter can be quarantined.
        quarantined="from slurmctld_problems",
        # Lines without a year get one from all lines of their file, lines of an hour that comes twice from their order.
        resume_points=f"""
            select
                file_id,
                last_line as line_number,
                0 as lines_again,
                {doubled_hours.not_before("reached.stated_at", zone)} as not_before,
                [] as left_out
            from file_lines
            left join (select file_id, max(stated_at) as stated_at from stated_times group by file_id) as reached
                using (file_id)
            where file_id not in (select file_id from slurmctld_years)
                and file_id not in (select file_id from slurmctld_turns where turn_line is null)
        """,
    )


def _extract(name: str) -> str:
    # DuckDB gives the names to the groups by their order
    parts = re.findall(r"\?P<(\w+)>", _SHAPES[name])
    return f"case when {_BEGINS[name]} then regexp_extract(line, '{_SHAPES[name]}', {parts}) end as {name}"


_IS_IMPLAUSIBLE = times.is_implausible("logged_at", "batch_files.modified_at")

# Lines with a rule of the site, or with the weight of an error; a list that cannot be expanded leaves one without node.
_OTHERS = rf"""
select
    lines.file_id,
    lines.line_number,
    lines.logged_at,
    lines.has_no_year,
    lines.message,
    lines.rule_pattern,
    nullif(rtrim(regexp_extract(
        lines.message, '(?i)\bnode(?:s|name|list|\(s\))?[=: ]+([a-z][\w.-]*[\d\[][\w.\-\[\],]*)', 1
    ), ',.'), '') as node_list
from slurmctld_lines as lines
inner join batch_files on batch_files.file_id = lines.file_id
where
    lines.wording is null
    and (lines.rule_pattern is not null or (lines.has_weight and lines.message <> ''))
    and not {_IS_IMPLAUSIBLE}"""

_WITH_NODES = """
    select others.*, unnest(coalesce(nullif(lists.node_names, []), [null])) as node_name
    from slurmctld_others as others
    left join slurmctld_node_lists as lists on lists.node_list = others.node_list"""

UNKNOWN_LINES = f"""
insert into unknown_lines by name
select file_id, line_number, node_name, logged_at as seen_at, has_no_year, message
from ({_WITH_NODES})
where rule_pattern is null"""

_PROBLEMS = f"""
with judged as (
    select
        parsed.file_id,
        parsed.line_number,
        parsed.logged_at,
        case
            when parsed.logged_at is null then 'bad_timestamp'
            when {_IS_IMPLAUSIBLE} then 'implausible_time'
            when lists.problem is not null then lists.problem
            when parsed.kind = 'preempted' and (
                parsed.job_id_raw is null
                or coalesce(parsed.instigator_job_id_raw, parsed.instigator_array_job_id) is null
                or parsed.job_id_raw = parsed.instigator_job_id_raw
            ) then 'bad_job_id'
        end as found_problem,
        lists.problem_detail
    from slurmctld_parsed as parsed
    inner join batch_files on batch_files.file_id = parsed.file_id
    left join slurmctld_node_lists as lists on lists.node_list = parsed.node_list
)
select
    file_id,
    line_number,
    found_problem as reason,
    case found_problem
        when 'bad_timestamp' then 'no such date'
        when 'implausible_time' then logged_at || ' (UTC)'
        when 'bad_job_id' then 'it does not name two jobs'
        else problem_detail
    end as detail
from judged
where found_problem is not null"""

LOADED = f"""
select
    parsed.file_id, parsed.line_number, parsed.logged_at, parsed.kind, parsed.job_id_raw,
    parsed.instigator_job_id_raw, parsed.instigator_array_job_id, parsed.preempt_mode,
    unnest(coalesce(lists.node_names, [null])) as node_name,
    parsed.state, parsed.reason, parsed.message,
    case when parsed.has_no_year then parsed.logged_at end as dated_by_file_at
from slurmctld_parsed as parsed
left join slurmctld_node_lists as lists on lists.node_list = parsed.node_list
anti join slurmctld_problems as bad on bad.file_id = parsed.file_id and bad.line_number = parsed.line_number
where len(coalesce(lists.node_names, [null])) > 0
union all by name
select
    file_id, line_number, logged_at, 'site_rule' as kind, node_name, message, rule_pattern,
    case when has_no_year then logged_at end as dated_by_file_at
from ({_WITH_NODES})
where rule_pattern is not null"""

SKIPPED = """
select file_id, line_number, case when line is null then 'blank' else 'not_relevant' end as reason
from lines
anti join loaded_lines using (file_id, line_number)
anti join quarantined_lines using (file_id, line_number)"""


def dispositions() -> Sequence[Step]:
    """Mark lines that stand in several files or twice in one: copies, overlapping rotations, the log's syslog twin."""
    return mark_repeats(
        TABLE,
        key="cluster_id, logged_at, kind, message, coalesce(node_id, node_name)",
        best="path, line_number",
    )
