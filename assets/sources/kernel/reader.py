"""Reader of `kernel/`: GPU errors and the other lines of a kernel log that bear on a node's health.

`envelopes` unwraps the lines and `symptoms` reads the text. This module picks the relevant lines, turns times since
boot into moments, and joins the lines of one fault into one event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.kernel import envelopes
from assets.sources.kernel import rules as kernel_rules
from assets.sources.kernel import symptoms as kernel_symptoms
from assets.sources.kernel.rules import KernelRule
from assets.sources.other_forms import begins_json, recognised, translation_of
from assets.sources.reader import Batch, ReadingPlan, Step, prevailing
from assets.sources.settings import ClusterSettings
from assets.sources.text import doubled_hours, line_rules, times, undated, unknown_lines
from assets.sources.text.pseudonyms import KEPT, TEXT

KIND = "kernel"
TABLE = "kernel_messages"
JOURNAL = "journal_json"
"""What `journalctl -o json` prints."""
DIALECTS = (
    "syslog", "syslog_iso", "syslog_dated", "printed", JOURNAL, "dmesg_ctime", "dmesg_decoded", "dmesg_plain", "kmsg",
)  # fmt: skip
VERSION = 14
PRIVACY = {
    **dict.fromkeys(("time_quality", "kind", "rule", "pci_address"), KEPT),
    "process_name": "process",
    **dict.fromkeys(("recovery_action", "message"), TEXT),
}
COVERS = ("min(occurred_at)", "max(occurred_at)")

COALESCE_SECONDS = 5
"""Lines of one device and code no further apart state one fault: an Xid 13 prints up to 18 within milliseconds. Lines
that a rule calls a repetition of others are of their fault so near them, whatever device they name."""

REPEATED_SECONDS = 60
"""So near each other, a fault of a device and its repetition are one: a driver that has lost a GPU says so, without a
number, whenever a program asks for it."""

_TRUST_IN_TIMES = ("exact", "second", "local_assumed", "year_inferred", "dmesg_t", "boot_relative", "ambiguous_dst")
"""From best to worst. Of several copies of a line, the one with the best time is kept."""

_DIALECT_HEADS = {
    JOURNAL: r"^\{",
    "dmesg_decoded": r"^[a-z]+ *:[a-z]+ *: ",
    "kmsg": r"^\d+,\d+,\d+,[^;]*;",
    "dmesg_ctime": r"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] ",
    "dmesg_plain": r"^(?:<\d+>)?\[ *\d+\.\d+\] ",
    "syslog_iso": r"^(?:<\d+>)?(?:1 )?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
    "syslog": r"^(?:<\d+>)?[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d",
    "syslog_dated": (
        r"^(?:[A-Z][a-z]{2},? \d{4}-|1\d{9}[. ]|\d{4}/\d\d/|(?:[A-Z][a-z]{2},? )?"
        r"(?:\d{4} [A-Z][a-z]{2} |\d{1,2} [A-Z][a-z]{2} \d{4} |[A-Z][a-z]{2} {1,2}\d{1,2} \d{4} ))"
    ),
    "printed": rf"^[/A-Za-z0-9][\w./-]*: ?{envelopes.PRINTED.removeprefix('^')}",
}
# A line of text without any envelope is still looked at, so that it is quarantined rather than lost.
_MAX_LINES_TRIED = 20
_BARE = re.compile(r"^(?:\S+ \S+: )?.*(?:NVRM: Xid|SXid \()", re.M)


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Name the envelope most of the first lines come in; each line is read in its own, whatever the name."""
    dialect = prevailing(_DIALECT_HEADS, sample)
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
    """Tell whether the first record of JSON has journald's fields."""
    for line in sample.split("\n")[:_MAX_LINES_TRIED] if begins_json(sample) else []:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            return record.keys() >= {"MESSAGE", "__REALTIME_TIMESTAMP"}
    return False


def is_timed_by_modification(path: str, dialect: str) -> bool:
    """Tell whether the years of a log are inferred backwards from its modification."""
    has_no_year = dialect in ("syslog", "printed") or translation_of(KIND, dialect) is not None
    return has_no_year and not undated.is_named_by_time(path)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Say how the relevant lines are read."""
    zone, patterns = batch.cluster.settings.timezone, batch.cluster.settings.kernel.patterns
    rules = [*kernel_rules.of_site(patterns), *kernel_rules.BUILT_IN]
    return ReadingPlan(
        prepare=[
            _candidates(patterns),
            *envelopes.message_steps("kernel_candidates", zone, are_printed="printed" in batch.dialects),
            *_classified(rules),
            BOOTS,
            _outcomes(rules),
            STATED_TIMES,
            UNKNOWN_LINES,
        ],
        loaded=LOADED,
        skipped=SKIPPED,
        quarantined=QUARANTINED,
        resume_points=_resume_points(zone),
    )


def _resume_points(zone: str) -> str:
    # Lines without a year get one from all lines of their file, and lines without a date from the others of their boot.
    # The order of all tells which pass of an hour that comes twice is meant. A fault of three lines is read as a whole.
    return f"""
with unfinished as (
    select file_id, min(line_number) as line_number
    from (
        select * from kernel_classified
        where is_relevant
        qualify row_number() over (partition by file_id, host order by line_number desc) <= 3
    )
    where is_first_of_three or is_tail
    group by file_id
),
reached as (select file_id, max(stated_at) as stated_at from stated_times group by file_id)
select
    file_lines.file_id,
    least(file_lines.last_line, unfinished.line_number) as line_number,
    0 as lines_again,
    {doubled_hours.not_before("reached.stated_at", zone)} as not_before,
    [] as left_out
from file_lines
left join unfinished on unfinished.file_id = file_lines.file_id
left join reached on reached.file_id = file_lines.file_id
where file_lines.file_id not in (select file_id from kernel_years)
    and file_lines.file_id not in (select file_id from kernel_turns where turn_line is null)
    and file_lines.file_id not in (
        select file_id from kernel_classified where occurred_at is null and uptime_seconds is not null
    )"""


STATED_TIMES = f"""
insert into stated_times
select outcomes.file_id, outcomes.line_number, outcomes.host, outcomes.occurred_at, outcomes.has_no_year
from kernel_outcomes as outcomes
inner join batch_files on batch_files.file_id = outcomes.file_id
where not {times.is_implausible("outcomes.occurred_at", "batch_files.modified_at")}"""


def _candidates(patterns: Sequence[str]) -> str:
    # A message that journalctl gives as bytes is looked at whatever it says. Of lines that have nothing but the weight
    # of an error no rule is asked, and of sampled lines only time and host count.
    others = (
        f"{line_rules.may_fit('line', patterns)} "
        f"""or (line[1] = '{{' and (not json_valid(line) or regexp_matches(line, '"MESSAGE"\\s*:\\s*\\[')))"""
    )
    return f"""
create or replace temp table kernel_candidates as
with found as materialized (
    select file_id, line_number, line
    from lines
    where {kernel_rules.scan(kernel_rules.BUILT_IN, "line", unknown_lines.SCAN)} or {others}
)
select *, {kernel_rules.scan(kernel_rules.BUILT_IN, "line")} or {others} as is_relevant from found
union all
select file_id, line_number, line, false as is_relevant
from sampled_lines anti join found using (file_id, line_number)"""


def _classified(rules: Sequence[KernelRule]) -> list[Step]:
    named = f"""
create or replace temp table kernel_named as
with named as (
    select *, case when is_relevant then {kernel_rules.rule_of(rules, "message", "tag")} end as rule
    from kernel_unwrapped
    inner join kernel_candidates using (file_id, line_number)
)
-- Beside it, DuckDB would plan every pattern once more for each kind, which takes a second.
select
    * exclude (line),
    {kernel_rules.kind_of(rules, "rule")} as kind,
    starts_with(message, 'NVRM: The NVIDIA GPU') as is_first_of_three,
    coalesce(contains(message, 'fallen off the bus and is not'), false) as is_last_of_three,
    starts_with(message, 'NVRM:')
    and (contains(message, 'installed in this system has') or is_last_of_three) as is_tail
from named"""
    return [named, _INCOMPLETE, _CLASSIFIED]


# "fallen off the bus" may come as three lines; only with the third is the first one a fault.
_INCOMPLETE = """
create or replace temp table kernel_incomplete as
select file_id, line_number
from (
    select
        file_id,
        line_number,
        kind,
        is_tail,
        not is_first_of_three
        or lead(is_last_of_three, 1, false) over nearby
        or lead(is_last_of_three, 2, false) over nearby as is_told,
        'fell_off_bus' in (lag(kind, 1, '') over nearby, lag(kind, 2, '') over nearby) as is_after_first
    from kernel_named
    where
        is_relevant
        and file_id in (select file_id from kernel_named where is_first_of_three or is_tail)
    window nearby as (partition by file_id, host order by line_number)
)
where kind = 'fell_off_bus' and (is_told and not (is_tail and is_after_first)) is not true"""

_CLASSIFIED = """
create or replace temp view kernel_classified as
select
    named.* exclude (is_last_of_three) replace (case when incomplete.file_id is null then named.kind end as kind)
from kernel_named as named
left join kernel_incomplete as incomplete
    on incomplete.file_id = named.file_id and incomplete.line_number = named.line_number"""


# Within one boot every line with both a date and an uptime tells when the uptime began.
BOOTS = """
create or replace temp table kernel_boots as
with lines_of_boot as (
    select
        file_id,
        line_number,
        host,
        uptime_seconds,
        occurred_at,
        stamp_kind,
        message,
        sum((kind is not distinct from 'boot')::integer) over (partition by file_id, host order by line_number) as boot
    from kernel_classified
    where uptime_seconds < 1e10 and file_id in (select file_id from kernel_classified where occurred_at is null)
),
anchors as (
    select
        file_id,
        host,
        boot,
        coalesce(
            occurred_at,
            make_timestamp(try_cast(
                nullif(regexp_extract(message, 'setting system clock to .* UTC \\((\\d{1,11})\\)', 1), '') as bigint
            ) * 1000000)
        ) - to_microseconds((uptime_seconds * 1e6)::bigint) as booted_at,
        stamp_kind is not distinct from 'month' as has_no_year
    from lines_of_boot
)
select
    lines_of_boot.file_id,
    lines_of_boot.line_number,
    min(anchors.booted_at) as booted_at,
    arg_min(anchors.has_no_year, anchors.booted_at) as has_no_year
from lines_of_boot
join anchors
    on anchors.file_id = lines_of_boot.file_id
    and anchors.host is not distinct from lines_of_boot.host
    and anchors.boot = lines_of_boot.boot
where lines_of_boot.occurred_at is null
group by lines_of_boot.file_id, lines_of_boot.line_number"""

_SPEAKS_OF_XID = "regexp_matches(message, 'NVRM: Xid \\(|SXid \\(')"


def _outcomes(rules: Sequence[KernelRule]) -> str:
    return f"""
create or replace temp table kernel_outcomes as
with symptoms as (
    {kernel_symptoms.symptoms("select * from kernel_classified")}
),
anchored as (
    select
        symptoms.* replace (
            coalesce(
                symptoms.occurred_at,
                boots.booted_at + to_microseconds((least(symptoms.uptime_seconds, 1e10) * 1e6)::bigint)
            ) as occurred_at
        ),
        coalesce(if(symptoms.occurred_at is null, boots.has_no_year, stamp_kind = 'month'), false) as has_no_year
    from symptoms
    left join kernel_boots as boots
        on boots.file_id = symptoms.file_id and boots.line_number = symptoms.line_number
)
select
    anchored.*,
    case
        when is_bad_json or (message is null and is_relevant) then null
        when kind is null and is_tail then 'continuation'
        when kind is null and stamp_kind is null and tag is null and {_SPEAKS_OF_XID} then null
        when kind is null and tag <> 'kernel' and {_SPEAKS_OF_XID} then 'untrusted_source'
        when kind is null then 'not_relevant'
        when not {kernel_rules.is_trusted(rules, "tag", "kind")} then 'untrusted_source'
    end as skip_reason,
    case
        when is_bad_json then 'bad_json'
        when message is null then 'missing_message'
        when kind in ('xid', 'sxid') and coalesce(code, 0) = 0 then 'bad_xid'
        when occurred_at is null and uptime_seconds is not null then 'boot_relative_time'
        when occurred_at is null and stamp_kind is not null then 'bad_timestamp'
        when occurred_at is null or host is null then 'missing_time_or_node'
        when {times.is_implausible("occurred_at", "batch_files.modified_at")} then 'implausible_time'
    end as problem,
    case
        when is_bad_json then 'not a complete JSON object'
        when message is null then 'a record among lines of a log, without MESSAGE'
        when kind in ('xid', 'sxid') and coalesce(code, 0) = 0
            then 'the code after the device is missing, 0 or too large'
        when occurred_at is null and uptime_seconds is not null
            then 'seconds since a boot whose time the file does not tell; export with journalctl or dmesg -T'
        when occurred_at is null and stamp_kind = 'month'
            then 'no such moment, like 29 February, in the year that the name or modification of the file tells'
        when occurred_at is null then 'no time in a form that is known'
        when host is null then 'no host in the line or the name of the file'
        else occurred_at || ' (UTC)'
    end as problem_detail
from anchored
inner join batch_files on batch_files.file_id = anchored.file_id"""


# Other programs than the kernel are not believed.
UNKNOWN_LINES = f"""
insert into unknown_lines by name
select
    outcomes.file_id, outcomes.line_number, outcomes.host as node_name, outcomes.occurred_at as seen_at,
    outcomes.has_no_year, outcomes.message
from kernel_outcomes as outcomes
inner join kernel_candidates as candidates
    on candidates.file_id = outcomes.file_id and candidates.line_number = outcomes.line_number
where
    outcomes.skip_reason = 'not_relevant'
    and outcomes.problem is null
    and coalesce(outcomes.tag, 'kernel') = 'kernel'
    and outcomes.message <> ''
    and {unknown_lines.has_weight("candidates.line", "outcomes.message")}"""

LOADED = """
select
    file_id, line_number, host as node_name, occurred_at, time_quality, kind, rule, code, pci_address, mig_gpu_instance,
    mig_compute_instance, link, process_id, process_name, is_fatal, recovery_action, repeat_count,
    1 as line_count, message, case when has_no_year then occurred_at end as dated_by_file_at
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
    # syslog, kern.log and the journal write a line with different precision, so lines are compared by the second.
    # The n-th like line of one file is the n-th of the other: repeats within a file are not copies.
    verdicts = f"""
create or replace temp table kernel_verdicts as
with occurrences as (
    select
        rowid as row_key,
        *,
        coalesce(node_id, node_name) as node,
        row_number() over (
            partition by cluster_id, path, node_name, date_trunc('second', occurred_at), message
            order by line_number
        ) as occurrence
    from raw.kernel_messages
    where disposition <> 'unknown_node'
),
copies as (
    select
        *,
        row_number() over (
            partition by cluster_id, node, date_trunc('second', occurred_at), message, occurrence
            order by list_position({list(_TRUST_IN_TIMES)}, time_quality), path, line_number
        ) as copy
    from occurrences
),
gaps as (
    select
        *,
        coalesce(
            occurred_at - lag(occurred_at) over of_symptom > interval {COALESCE_SECONDS} second, true
        ) as is_onset
    from copies
    where copy = 1
    window of_symptom as (
        partition by cluster_id, node, kind, code, pci_address order by occurred_at, path, line_number
    )
),
events as (
    select
        *,
        sum(is_onset::integer) over (
            partition by cluster_id, node, kind, code, pci_address order by occurred_at, path, line_number
        ) as event
    from gaps
),
members as (
    select
        *,
        -- an event is told by its first line, or by the first that calls it fatal, or that proves it
        first_value(row_key) over (
            partition by cluster_id, node, kind, code, pci_address, event
            order by
                is_fatal is not distinct from true desc,
                {kernel_rules.is_evidence(kernel_rules.BUILT_IN, "rule")} desc,
                occurred_at, path, line_number
        ) as told_by
    from events
),
told as (
    select * from members where row_key = told_by
),
repetitions as (
    select told.row_key, faults.row_key as repeated
    from told
    inner join ({kernel_rules.repeats(kernel_rules.BUILT_IN)}) as told_again using (kind)
    inner join told as faults
        on faults.cluster_id = told.cluster_id
        and faults.node = told.node
        and faults.occurred_at between told.occurred_at - interval {REPEATED_SECONDS} second
            and told.occurred_at + interval {REPEATED_SECONDS} second
        and regexp_full_match(concat_ws(' ', faults.kind, faults.code), told_again.repeats)
        -- of its own kind, a line that names no device repeats one that does
        and (faults.kind <> told.kind or (told.pci_address is null and faults.pci_address is not null))
        and (
            coalesce(faults.pci_address = told.pci_address, true)
            or abs(epoch(faults.occurred_at - told.occurred_at)) <= {COALESCE_SECONDS}
        )
    qualify row_number() over (
        partition by told.row_key
        order by abs(epoch(faults.occurred_at - told.occurred_at)), faults.occurred_at, faults.path, faults.line_number
    ) = 1
),
-- what repeats a repetition is of the same fault
joined as (
    select
        members.row_key,
        coalesce(further.repeated, repetitions.repeated, members.told_by) as told_by
    from members
    left join repetitions on repetitions.row_key = members.told_by
    left join repetitions as further on further.row_key = repetitions.repeated
)
select
    row_key,
    case when row_key = told_by then 'loaded' else 'coalesced' end as disposition,
    case when row_key = told_by then count(*) over (partition by told_by)::integer else 1 end as line_count
from joined
union all
select row_key, 'duplicate', 1 from copies where copy > 1"""
    update = """
update raw.kernel_messages
set disposition = verdicts.disposition, line_count = verdicts.line_count
from kernel_verdicts as verdicts
where raw.kernel_messages.rowid = verdicts.row_key
    and (raw.kernel_messages.disposition, raw.kernel_messages.line_count)
        is distinct from (verdicts.disposition, verdicts.line_count)"""
    return [verdicts, update]
