"""Reader of `kernel/`: GPU errors and the other lines of a kernel log that bear on a node's health.

`candidates.sql` picks the lines worth examining, `envelopes.sql` splits off time, host and program, `outcomes.sql`
finds the kind of fault of each, and `events.sql` joins the lines of one fault.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.kernel import envelopes
from assets.sources.kernel import rules as kernel_rules
from assets.sources.other_forms import begins_json, recognised, translation_of
from assets.sources.reader import Batch, ReadingPlan, Rows, Step, prevailing
from assets.sources.settings import ClusterSettings
from assets.sources.text import line_rules, times, undated, unknown_lines
from assets.sources.text.pseudonyms import KEPT, TEXT
from assets.sql import fill

KIND = "kernel"
TABLE = "kernel_messages"
JOURNAL = "journal_json"
"""What `journalctl -o json` prints."""
DIALECTS = (
    "syslog", "syslog_iso", "syslog_dated", "printed", JOURNAL, "dmesg_ctime", "dmesg_decoded", "dmesg_plain", "kmsg",
)  # fmt: skip
VERSION = f"17.{hashlib.sha256(repr(kernel_rules.BUILT_IN).encode()).hexdigest()[:8]}"
PRIVACY = {
    **dict.fromkeys(("time_quality", "kind", "rule", "pci_address", "version"), KEPT),
    "process_name": "process",
    **dict.fromkeys(("recovery_action", "message"), TEXT),
}
ROWS = Rows(
    time="occurred_at",
    free_texts=("process_name", "recovery_action", "message"),
    are_sampled=True,
    come_from_nodes=True,
    may_lack_years=True,
)
COVERS = ("min(occurred_at)", "max(occurred_at)")

_RELATIVE = "dmesg_relative"
"""Output of `dmesg -e` and `-H`, which is refused."""
_DIALECT_HEADS = {
    JOURNAL: r"^\{",
    "dmesg_decoded": r"^[a-z]+ *:[a-z]+ *: ",
    "kmsg": r"^\d+,\d+,\d+,[^;]*;",
    "dmesg_ctime": r"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ",
    _RELATIVE: r"^(?:[a-z]+ *:[a-z]+ *: )?\[(?:[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d| +\+\d+\.\d+)\] ",
    "dmesg_plain": r"^(?:<\d+>)?\[ *\d+\.\d+\] ",
    "syslog_iso": r"^(?:<\d+>)?(?:1 )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
    "syslog": r"^(?:<\d+>)?[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d",
    "syslog_dated": (
        r"^(?:[A-Z][a-z]{2},? \d{4}-|1\d{9}[. ]|\d{4}/\d\d/|(?:[A-Z][a-z]{2},? )?"
        r"(?:\d{4} [A-Z][a-z]{2} |\d{1,2} [A-Z][a-z]{2} \d{4} |[A-Z][a-z]{2} {1,2}\d{1,2} \d{4} ))"
    ),
    "printed": rf"^[/A-Za-z0-9][\w./-]*: ?{envelopes.PRINTED.removeprefix('^')}",
}
_MAX_LINES_TRIED = 20
# A line of text without any envelope is still examined, so that it is quarantined rather than lost.
_BARE = re.compile(r"^(?:\S+ \S+: )?.*(?:NVRM: Xid|SXid \()", re.M)


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Return the envelope of most of the first lines; each line is read by its own envelope."""
    dialect = prevailing(_DIALECT_HEADS, sample)
    if dialect == _RELATIVE:
        what = "unsupported_schema: dmesg -e, whose lines state minutes and the time since the line before"
        raise SourceError(path, what, "Export it with dmesg -T.")
    if dialect in (None, JOURNAL) and _is_journal(sample):
        return JOURNAL
    if dialect in (None, JOURNAL) or (dialect == "syslog_iso" and not begins_json(sample)):
        dialect = recognised(KIND, sample, cluster) or dialect
    if dialect:
        return dialect
    if _BARE.search(sample):
        return "syslog"
    raise SourceError(
        path,
        "unsupported_schema: no line looks like syslog, journalctl, dmesg, /dev/kmsg or a log shipper's output",
        f"{export_again('kernel')}, or copy /var/log/kern.log or syslog.",
    )


def _is_journal(sample: str) -> bool:
    """Return whether the first record of JSON has journald's fields."""
    for line in sample.split("\n")[:_MAX_LINES_TRIED] if begins_json(sample) else []:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            return record.keys() >= {"MESSAGE", "__REALTIME_TIMESTAMP"}
    return False


def is_timed_by_modification(path: str, dialect: str) -> bool:
    """Return whether the years of a log are inferred backwards from its modification."""
    has_no_year = dialect in ("syslog", "printed") or translation_of(KIND, dialect) is not None
    return has_no_year and not undated.is_named_by_time(path)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the relevant lines."""
    zone, patterns = batch.cluster.settings.timezone, batch.cluster.settings.kernel.patterns
    candidates = fill(
        "sources/kernel/candidates.sql",
        pattern=kernel_rules.scanning_pattern(kernel_rules.BUILT_IN),
        pattern_with_weight=kernel_rules.scanning_pattern(kernel_rules.BUILT_IN, unknown_lines.SCAN),
        site_pattern=line_rules.scanning_pattern(patterns),
    )
    outcomes = fill(
        "sources/kernel/outcomes.sql",
        site_rules=kernel_rules.of_site(patterns),
        rules=kernel_rules.BUILT_IN,
        is_implausible=times.is_implausible("occurred_at", "modified_at"),
        has_weight=unknown_lines.has_weight("candidates.line", "outcomes.message"),
    )
    return ReadingPlan(
        prepare=[
            candidates,
            *envelopes.unwrapping_steps(zone, are_printed="printed" in batch.dialects),
            outcomes,
        ],
        loaded=LOADED,
        skipped=SKIPPED,
        quarantined=QUARANTINED,
    )


LOADED = """
select
    file_id, line_number, host as node_name, occurred_at, time_quality, kind, rule, code, pci_address, mig_gpu_instance,
    mig_compute_instance, link, process_id, process_name, is_fatal, recovery_action, repeat_count,
    1 as line_count, message, version, case when has_no_year then occurred_at end as dated_by_file_at
from kernel_outcomes
where skip_reason is null and problem is null"""

QUARANTINED = """
select file_id, line_number, problem as reason, problem_detail as detail
from kernel_outcomes
where skip_reason is null and problem is not null"""

SKIPPED = """
select
    lines.file_id,
    lines.line_number,
    case when lines.line is null then 'blank' else coalesce(outcomes.skip_reason, 'not_relevant') end as reason
from lines
left join kernel_outcomes as outcomes
    on outcomes.file_id = lines.file_id and outcomes.line_number = lines.line_number
where outcomes.file_id is null or outcomes.skip_reason is not null"""


def dispositions() -> Sequence[Step]:
    """Mark lines that several files share, then join the lines of one fault into its first."""
    rules = kernel_rules.BUILT_IN
    return [
        fill(
            "sources/kernel/events.sql",
            rules_of_evidence=tuple(rule.rule for rule in rules if rule.is_evidence),
            repeating_kinds=tuple(dict.fromkeys((rule.kind, rule.repeats) for rule in rules if rule.repeats)),
        )
    ]
