"""Reader of `squeue/`: snapshots that show which nodes a job excludes (`%x`), one of the signs of a bad node.

Lines of jobs that exclude nothing are counted and left; so are whole snapshots without that column. Records of GCM's
`slurm_job_monitor` are read as well (`EXC_NODES`); those of nodes, which it writes too, are left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.reader import Batch, ReadingPlan, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.squeue import gcm_jobs
from assets.sources.text import delimited, nodelists, undated
from assets.sources.text.delimited import named_field

KIND = "squeue"
TABLE = "squeue_exclusions"
DIALECTS = ("squeue_delimited", "squeue_unlabelled", "squeue_without_exclusions", "gcm_jobs")
VERSION = 5
PRIVACY: Mapping[str, str] = {}
_STATED = "filter (where seen_at <> modified_at)"
COVERS = (f"min(seen_at) {_STATED}", f"max(seen_at) {_STATED}")

_COMMAND = (
    f"{export_again('squeue')} (%x works in every version, the long form ExcNodes of -O needs Slurm 24.05 or later)"
)
_HEADER = r"^\D*\bJOBID\b\D*$"
# `squeue -h` of the command above: columns 1, 4 and 10 are the job, its submission and its excluded nodes.
# With SLURM_TIME_FORMAT=%s times are seconds since 1970.
_UNLABELLED = re.compile(r"^\d+\|[^|]*\|[A-Z_]+\|(?:[^|]*\d\d:\d\d:\d\d[^|]*|\d{9,11})\|(?:[^|]*\|){6}[^|]*$")


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Find the column of excluded nodes; a snapshot without it is accepted, an error message is not."""
    lines = [line for line in sample.splitlines() if line.strip()]
    first = lines[0].strip() if lines else ""
    if re.match(r"(squeue|slurm_load_\w+):? .*error", first):
        raise SourceError(path, f"command_error_output: {first[:120]}", _COMMAND, line=1)
    if gcm_jobs.is_of_the_monitor(sample):
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
    """Tell whether a snapshot is as old as its file, as its name tells no time; GCM's records tell their own."""
    return dialect != "gcm_jobs" and not undated.is_named_by_time(path)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Say how the exclusions are read."""
    return ReadingPlan(
        prepare=[
            *delimited.field_steps("list_contains(names, 'excnodes')", "reason", "squeue_fields"),
            EXCLUSIONS,
            ROWS,
            *(gcm_jobs.ROW_STEPS if "gcm_jobs" in batch.dialects else ()),
            nodelists.expansion_step("select node_list from squeue_rows", "squeue_node_lists"),
            BAD_LINES,
        ],
        loaded=_loaded(batch.cluster.settings.timezone),
        skipped=SKIPPED,
        quarantined="from squeue_bad_lines",
    )


# Few jobs exclude nodes; the others need no further look.
EXCLUSIONS = f"""
create or replace temp table squeue_excluding as
select
    squeue_fields.file_id,
    squeue_fields.line_number,
    names,
    fields,
    {named_field("excnodes")} as node_list
from squeue_fields
join batch_files on batch_files.file_id = squeue_fields.file_id and batch_files.dialect = 'squeue_delimited'
where names is not null
    and (fields is null or lower({named_field("excnodes")}) not in ('(null)', 'n/a', 'none'))"""

# The first column named JOBID that is a number is the job's own id: `%A`, or `%i` of a job that is no array task.
# Digits are looked for, as a cast reads `25_4` as 254.
ROWS = f"""
create or replace temp table squeue_rows as
with labelled as (
    select
        file_id,
        line_number,
        fields is null as is_cut,
        coalesce(
            list_filter(
                list_transform(
                    list_filter(list_zip(names, fields), lambda pair: pair[1] = 'jobid'),
                    lambda pair: try_cast(nullif(regexp_extract(trim(pair[2]), '^\\d+$'), '') as bigint)
                ),
                lambda job: job is not null
            )[1],
            try_cast(nullif(regexp_extract(fields[list_position(names, 'jobid')], '^ *(\\d+)', 1), '') as bigint)
        ) as job_id_raw,
        node_list,
        null::timestamp as collected_at
    from squeue_excluding
),
unlabelled as (
    select
        lines.file_id,
        lines.line_number,
        len(string_split(lines.line, '|')) < 11 as is_cut,
        try_cast(nullif(regexp_extract(lines.line, '^(\\d+)\\|', 1), '') as bigint) as job_id_raw,
        nullif(trim(string_split(lines.line, '|')[10]), '') as node_list,
        null::timestamp as collected_at
    from lines
    join batch_files on batch_files.file_id = lines.file_id and batch_files.dialect = 'squeue_unlabelled'
    where lines.line is not null
        and not regexp_matches(lines.line, '{_HEADER}')
)
select * from labelled
union all
select * from unlabelled where is_cut or lower(node_list) not in ('(null)', 'n/a', 'none')"""

# A line that states several jobs is quarantined whole when one of them is bad: a line has one outcome.
BAD_LINES = """
create or replace temp table squeue_bad_lines as
select
    squeue_rows.file_id,
    squeue_rows.line_number,
    min(case
        when squeue_rows.is_cut and batch_files.dialect = 'gcm_jobs' then 'bad_json'
        when squeue_rows.is_cut then 'field_count'
        when squeue_rows.job_id_raw is null then 'bad_job_id'
        else lists.problem
    end) as reason,
    min(case when not squeue_rows.is_cut then lists.problem_detail end) as detail
from squeue_rows
join batch_files on batch_files.file_id = squeue_rows.file_id
left join squeue_node_lists as lists on lists.node_list = squeue_rows.node_list
where squeue_rows.is_cut or squeue_rows.job_id_raw is null or lists.problem is not null
group by squeue_rows.file_id, squeue_rows.line_number"""


def _loaded(zone: str) -> str:
    """Return the query of the exclusions; times of day in names of files are of the zone."""
    return f"""
select
    squeue_rows.file_id,
    squeue_rows.line_number,
    squeue_rows.job_id_raw,
    unnest(lists.node_names) as node_name,
    coalesce(
        squeue_rows.collected_at, {undated.file_moment("batch_files.path", "batch_files.modified_at", zone)}
    ) as seen_at
from squeue_rows
join squeue_node_lists as lists on lists.node_list = squeue_rows.node_list
join batch_files on batch_files.file_id = squeue_rows.file_id
anti join squeue_bad_lines as bad
    on bad.file_id = squeue_rows.file_id and bad.line_number = squeue_rows.line_number"""


SKIPPED = f"""
select
    lines.file_id,
    lines.line_number,
    case
        when lines.line is null then 'blank'
        when regexp_matches(lines.line, '{_HEADER}') then 'header'
        when batch_files.dialect = 'squeue_without_exclusions' then 'no_excluded_nodes_column'
        when batch_files.dialect = 'gcm_jobs' and contains(lines.line, '"NODE_NAME"') then 'node_record'
        else 'no_excluded_nodes'
    end as reason
from lines
join batch_files on batch_files.file_id = lines.file_id
anti join loaded_lines
    on loaded_lines.file_id = lines.file_id and loaded_lines.line_number = lines.line_number
anti join quarantined_lines as bad
    on bad.file_id = lines.file_id and bad.line_number = lines.line_number"""


def dispositions() -> Sequence[Step]:
    """Keep the first sight of every job's excluding a node; snapshots repeat it every few minutes."""
    return mark_repeats(
        TABLE, key="cluster_id, job_id_raw, coalesce(node_id, node_name)", best="seen_at, path, line_number"
    )
