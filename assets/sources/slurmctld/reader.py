"""Reader of `slurmctld/`: facts that only the controller knows, such as who preempted whom or which node failed a job.

It reads lines in any LogTimeFormat with a date, and lines that came through syslog or the journal. Most lines are
irrelevant and only counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.other_forms import recognised, translation_of
from assets.sources.reader import Batch, ReadingPlan, Rows, Step, prevailing
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.slurmctld.wordings import RELEVANT, WORDINGS, groups_of
from assets.sources.text import doubled_hours, line_rules, nodelists, times, undated, unknown_lines
from assets.sources.text.pseudonyms import KEPT, REASON, TEXT
from assets.sql import fill

KIND = "slurmctld"
TABLE = "slurmctld_events"
DIALECTS = ("bracketed", "bracketed_short", "syslog", "syslog_iso")
VERSION = f"11.{hashlib.sha256(repr(WORDINGS).encode()).hexdigest()[:8]}"
PRIVACY = {
    **dict.fromkeys(("kind", "preempt_mode", "state", "rule_pattern", "version"), KEPT),
    "reason": REASON,
    "message": TEXT,
}
ROWS = Rows(time="logged_at", free_texts=("reason", "message"), are_sampled=True, may_lack_years=True)
COVERS = ("min(logged_at)", "max(logged_at)")

_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_MONTH = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
_SYSLOG_TAG = r"(?P<host>\S+) slurmctld(?:\[\d+\])?: "
_THREAD = r"(?:[^\[\]]|\[\d+\])*"
"""Text that LogTimeFormat=thread_id adds: the process, the name of its thread, such as `worker[3]`, and an address."""
_STDOUT = "(?:slurmctld: )?"
"""Text before a line on standard output."""
_SHAPES = {
    "bracketed": rf"^{_STDOUT}\[(?P<stamp>{_ISO})[^\]]*\] (?P<body>.*)$",
    "bracketed_short": rf"^{_STDOUT}\[(?P<stamp>{_MONTH})(?:\.(?P<microseconds>\d+))?{_THREAD}\] (?P<body>.*)$",
    "syslog": rf"^(?:<\d+>)?(?P<stamp>{_MONTH}) {_SYSLOG_TAG}(?P<body>.*)$",
    "syslog_iso": rf"^(?:<\d+>)?(?P<stamp>{_ISO}) {_SYSLOG_TAG}(?P<body>.*)$",
}
_FIRST_CHARACTERS = {
    "bracketed": "(line[1] = '[' and line[2] between '0' and '9' or line[1] = 's')",
    "bracketed_short": "(line[1] = '[' and line[2] between 'A' and 'Z' or line[1] = 's')",
    "syslog": "line[1] <> '['",
    "syslog_iso": "line[1] <> '['",
}
"""Conditions on lines of each form; other lines skip its pattern."""


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Return the form of the times in the first lines; refuse a log without dates."""
    dialect = prevailing(_SHAPES, sample) or recognised(KIND, sample, cluster)
    if dialect:
        return dialect
    raise SourceError(
        path,
        "unsupported_schema: no line begins with a date in brackets or a syslog header of slurmctld",
        f"{export_again('slurmctld')} with LogTimeFormat=iso8601_ms (the default), rfc5424_ms, rfc3339 or short; "
        "LogTimeFormat=clock has no dates.",
    )


def is_timed_by_modification(path: str, dialect: str) -> bool:
    """Return whether the years of a log are inferred backwards from its modification."""
    has_no_year = dialect in ("bracketed_short", "syslog") or translation_of(KIND, dialect) is not None
    return has_no_year and not undated.is_named_by_time(path)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the relevant lines."""
    zone, patterns = batch.cluster.settings.timezone, batch.cluster.settings.kernel.patterns
    stamps = rf"""
    select file_id, line_number, regexp_extract(line, '^(?:<\d+>|{_STDOUT}\[)?({_MONTH})', 1) as stamp
    from lines
    where regexp_matches(line, '^(?:<\d+>|{_STDOUT}\[)?{_MONTH}')"""
    lines = fill(
        "sources/slurmctld/lines.sql",
        relevant=f"{RELEVANT}|{unknown_lines.SCAN}",
        site_pattern=line_rules.scanning_pattern(patterns),
        site_patterns=tuple(patterns),
        shapes=tuple((name, _FIRST_CHARACTERS[name], shape, groups_of(shape)) for name, shape in _SHAPES.items()),
        wordings=WORDINGS,
        has_offset=times.has_offset("iso"),
        leap_year_time=undated.in_leap_year("month_stamp"),
        month_time=undated.dated("leap_year_time", "year_anchor"),
        utc=doubled_hours.utc(zone),
        is_unsettled=doubled_hours.is_unsettled(zone),
        with_turns=doubled_hours.joined("local_times", "slurmctld_turns"),
        has_weight=unknown_lines.has_weight("line", "body"),
    )
    lists = "select node_list from slurmctld_parsed union all select node_list from slurmctld_others"
    is_implausible = times.is_implausible("logged_at", "modified_at")
    return ReadingPlan(
        prepare=[
            *undated.year_steps(stamps, "slurmctld_years"),
            *doubled_hours.turn_steps(zone, "slurmctld_years", "slurmctld_turns"),
            lines,
            fill("sources/slurmctld/events.sql", wordings=WORDINGS, is_implausible=is_implausible),
            nodelists.expansion_step(lists, "slurmctld_node_lists"),
            fill("sources/slurmctld/outcomes.sql", is_implausible=is_implausible),
        ],
        loaded=fill("sources/slurmctld/loaded.sql"),
        skipped=SKIPPED,
        # Only a line that is known to matter can be quarantined.
        quarantined="from slurmctld_problems",
    )


SKIPPED = """
select file_id, line_number, case when line is null then 'blank' else 'not_relevant' end as reason
from lines
anti join loaded_lines using (file_id, line_number)
anti join quarantined_lines using (file_id, line_number)"""


def dispositions() -> Sequence[Step]:
    """Mark lines that are in several files or twice in one: copies, overlapping rotations, the log's syslog twin."""
    return mark_repeats(
        TABLE,
        key="cluster_id, logged_at, kind, message, coalesce(node_id, node_name)",
        best="path, line_number",
    )
