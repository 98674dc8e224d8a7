"""Reader of `inventory/`: `scontrol show node`, in blocks or one node a line: what a node has and who drained it.

Other inventories are first translated into such lines. A snapshot shows only its own moment. What a node has is told
by the newest one, and by one that tells a state before one that tells none, as configurations do; reasons and boots
are read from all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.other_forms import begins_json, recognised
from assets.sources.reader import Batch, ReadingPlan, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.text import times, undated
from assets.sources.text.nodelists import MAX_NAME_LENGTH
from assets.sources.text.pseudonyms import KEPT, REASON, USER
from assets.sql import literal

KIND = "inventory"
TABLE = "nodes"
DIALECTS = ("scontrol_blocks", "scontrol_lines")
VERSION = 8
PRIVACY = {
    **dict.fromkeys(("state", "gpu_model", "partitions", "host_names"), KEPT),
    "reason": REASON,
    "reason_user": USER,
}
_STATED = "filter (where captured_at <> modified_at)"
COVERS = (f"min(captured_at) {_STATED}", f"max(captured_at) {_STATED}")

MAX_MEMORY_MIB = 2**40
"""More than any machine has, by a factor of a thousand."""
MAX_GPUS = 1024
"""More GPUs, or slices of GPUs, than any machine has, by a factor of ten."""
IMPOSSIBLE_GPUS = "impossible_gpu_count"
"""Beside the files in which a node has more, in `ops.files.warnings`."""

_COMMAND = export_again("inventory")
_RECORD = re.compile(r"^NodeName=\S+ .*$", re.M)


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Tell scontrol's two forms and the translated ones apart; name what else was found."""
    first = next((line.strip() for line in sample.splitlines() if line.strip()), "")
    if re.match(r"(scontrol|slurm_load_\w+|sinfo):? .*error|\w+: error:", first):
        raise SourceError(path, f"command_error_output: {first[:120]}", _COMMAND, line=1)
    if (form := recognised(KIND, sample, cluster)) is not None:
        return form
    if is_list_of_partitions(sample):
        raise SourceError(path, "unsupported_schema: a list of partitions, not of nodes", _COMMAND)
    if begins_json(sample):
        raise SourceError(path, "unsupported_schema: JSON in which no node begins", _COMMAND)
    record = _RECORD.search(sample)
    if record is not None:
        return "scontrol_lines" if " CPUTot=" in record[0] or " State=" in record[0] else "scontrol_blocks"
    raise SourceError(
        path,
        "unsupported_schema: no line begins with NodeName=, and none names a column of nodes and one more",
        f"{_COMMAND}; or name the columns of a CSV in {cluster.cluster_id}/cluster.toml: [inventory.columns] and below "
        'it node = "...", gpus = "..."',
    )


def is_list_of_partitions(sample: str) -> bool:
    """Tell whether a sample is of `scontrol show partition`."""
    return " AllocNodes=" in sample and bool(re.search(r"^PartitionName=", sample, re.M)) and "NodeName=" not in sample


def is_timed_by_modification(path: str, _dialect: str) -> bool:
    """Tell whether a snapshot that states no time has that of its file's modification: its name tells none."""
    return not undated.is_named_by_time(path)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Say how the snapshots are read."""
    return ReadingPlan(
        prepare=[
            LINES,
            RECORDS,
            _typed(batch.cluster.settings.timezone, batch.cluster.settings.accelerators.gres),
            WARNINGS,
        ],
        loaded=LOADED,
        skipped=SKIPPED,
        quarantined=QUARANTINED,
    )


# Both forms become one text per node. The reason is free text and stands last but for comments. Who gave it, and when,
# stands behind its first line.
LINES = """
create or replace temp table inventory_lines as
select
    file_id,
    line_number,
    line,
    sum(starts_with(line, 'NodeName=')::integer) over (partition by file_id order by line_number) as record
from lines
where line is not null"""

RECORDS = r"""
create or replace temp table inventory_records as
with records as (
    select file_id, min(line_number) as line_number, string_agg(trim(line), ' ' order by line_number) as text
    from inventory_lines
    where record > 0
    group by file_id, record
),
divided as (
    select
        file_id,
        line_number,
        regexp_extract(text, '^(.*?)(?: Reason=|$)', 1) as facts,
        nullif(
            regexp_extract(text, ' Reason=(.*?)(?: (?:Comment|Extra|ResumeAfterTime|InstanceId)=.*)?$', 1), ''
        ) as reason_text
    from records
)
select
    *,
    regexp_extract(
        reason_text,
        '^(.*) \[([^\[\]@]+)@([^\[\]@ ]*\d[^\[\]@ ]*|Unknown)\](?: +(.*))?$',
        ['reason', 'reason_user', 'reason_time', 'more_lines']
    ) as signed
from divided"""

_TIMES = ("BootTime", "SlurmdStartTime", "LastBusyTime", "SeenAt")


def _fact(key: str) -> str:
    return f"nullif(nullif(regexp_extract(facts, '(?:^| ){key}=(\\S*)', 1), ''), '(null)')"


def _moment(text: str, zone: str) -> str:
    return (
        f"case when regexp_matches({text}, '^\\d{{9,11}}$') then make_timestamp(try_cast({text} as bigint) * 1000000) "
        f"when {times.has_offset(text)} and {times.is_dated(text)} then try_cast({text} as timestamptz)::timestamp "
        f"else {times.utc(f'{text}_local', zone)} end"
    )


def _all(text: str, pattern: str) -> str:
    return f"regexp_extract_all({text}, {literal(pattern)}, 1)"


def _typed(zone: str, accelerators: Sequence[str]) -> str:
    names = ("boot_time", "start_time", "busy_time", "seen_time", "reason_time")
    shown = ", ".join(f"{_fact(key)} as {name}" for key, name in zip(_TIMES, names, strict=False))
    local = ", ".join(
        f"case when {times.is_dated(name)} then try_cast({name} as timestamp) end as {name}_local" for name in names
    )
    moments = ", ".join(f"{_moment(name, zone)} as {name}_told" for name in names)
    # A clock that nobody had set yet spoils one fact of a node, not the node.
    believed = ", ".join(
        f"case when not {times.is_implausible(f'{name}_told', 'modified_at')} then {name}_told end as {name}_at"
        for name in names
    )
    gres = f"(?:{'|'.join(accelerators)})"
    untyped_tres = _all("tres", rf"gres/{gres}=(\d+)")
    typed_tres = _all("tres", rf"gres/{gres}:[^=,]+=(\d+)")
    # A comma that ends one item also begins the next: each is there twice.
    gres_counts = _all("replace(gres, ',', ',,')", rf"(?:^|,){gres}(?::[^:,(]+)?:(\d+)(?:[(,]|$)")
    model_of_gres = _all("gres", rf"(?:^|,){gres}:([^:,(]*[^:,(\d][^:,(]*):\d")
    model_of_tres = _all("coalesce(tres, '')", rf"gres/{gres}:([^=,]+)=")
    # Of an accelerator that is no `gpu` the name tells the model, where nothing else does.
    name_of_gres = _all("concat_ws(',', gres, tres)", rf"(?:^|,)(?:gres/)?({gres})[:=]\d")
    gres_names = f"list_filter({name_of_gres}, lambda name: name <> 'gpu')"
    return f"""
create or replace temp table inventory_nodes as
with shown as (
    select
        file_id,
        line_number,
        {_fact("NodeName")} as node_name,
        {_fact("State")} as state,
        coalesce({_fact("Gres")}, '') as gres,
        contains(facts, ' Gres=') as states_gres,
        {_fact("CfgTRES")} as tres,
        {_fact("CPUTot")} as cpus,
        {_fact("RealMemory")} as memory,
        {_fact("Partitions")} as partitions,
        {_fact("NodeHostName")} as host_name,
        {_fact("NodeAddr")} as address,
        {shown},
        nullif(signed.reason_time, '') as reason_time,
        coalesce(nullif(trim(concat_ws(' ', signed.reason, signed.more_lines)), ''), reason_text) as reason,
        nullif(signed.reason_user, '') as reason_user
    from inventory_records
),
local_times as (
    select *, {local} from shown
),
parsed_times as (
    select
        local_times.*,
        batch_files.modified_at,
        {undated.named_moment("batch_files.path")} as named_at,
        {moments}
    from local_times inner join batch_files on batch_files.file_id = local_times.file_id
),
timed as (
    select *, {believed} from parsed_times
),
counted as (
    select
        *,
        try_cast(coalesce(
            list_sum(list_transform({untyped_tres}, lambda count: try_cast(count as bigint))),
            list_sum(list_transform({typed_tres}, lambda count: try_cast(count as bigint))),
            list_sum(list_transform({gres_counts}, lambda count: try_cast(count as bigint))),
            case when states_gres then 0 end
        ) as bigint) as told_gpu_count,
        list_distinct({model_of_gres} || {model_of_tres}) as gpu_models,
        {gres_names} as gres_names
    from timed
)
select
    counted.file_id,
    counted.line_number,
    node_name,
    coalesce(
        seen_time_at,
        greatest(
            max(greatest(boot_time_at, start_time_at, busy_time_at, reason_time_at)) over (partition by file_id),
            named_at
        ),
        modified_at
    ) as captured_at,
    state,
    case when told_gpu_count <= {MAX_GPUS} then told_gpu_count::integer end as gpu_count,
    case when len(gpu_models) > 1 then 'mixed' else coalesce(gpu_models[1], gres_names[1]) end as gpu_model,
    -- scontrol prints 0 for what a node has not told yet
    case when try_cast(cpus as integer) > 0 then try_cast(cpus as integer) end as cpu_count,
    case
        when try_cast(memory as bigint) between 0 and {MAX_MEMORY_MIB} then try_cast(memory as bigint)
    end as memory_mib,
    coalesce(string_split(partitions, ','), []) as partitions,
    boot_time_at as booted_at,
    reason,
    reason_user,
    reason_time_at as reason_at,
    case
        when coalesce(host_name, address) is not null
            then list_filter(
                list_distinct([lower(host_name), lower(address)]), lambda name: name <> lower(node_name)
            )
    end as host_names,
    told_gpu_count
from counted"""


WARNINGS = f"""
insert into file_warnings
select distinct file_id, '{IMPOSSIBLE_GPUS}' from inventory_nodes where told_gpu_count > {MAX_GPUS}"""


IS_NODE = f"length(node_name) <= {MAX_NAME_LENGTH} and not regexp_matches(node_name, '[\\[\\],]')"
"""Whether a name can be the name of one node."""

LOADED = f"""
select * exclude (told_gpu_count) from inventory_nodes where {IS_NODE}"""

QUARANTINED = f"""
select
    file_id,
    line_number,
    'unsupported_schema' as reason,
    if(node_name is null, 'no node name', 'not the name of one node') as detail
from inventory_nodes
where not coalesce({IS_NODE}, false)
union all
select file_id, line_number, 'unsupported_schema' as reason, 'stands before the first node' as detail
from inventory_lines
where record = 0 and not starts_with(line, '#')"""

SKIPPED = """
select file_id, line_number, 'blank' as reason from lines where line is null
union all
select
    inventory_lines.file_id,
    inventory_lines.line_number,
    case when inventory_lines.record = 0 then 'comment' else 'continuation' end as reason
from inventory_lines
anti join inventory_records
    on inventory_records.file_id = inventory_lines.file_id
    and inventory_records.line_number = inventory_lines.line_number
where inventory_lines.record > 0 or starts_with(inventory_lines.line, '#')"""


def dispositions() -> Sequence[Step]:
    """Keep the newest snapshot of every node."""
    return mark_repeats(
        TABLE,
        key="cluster_id, coalesce(node_id, node_name)",
        best="(state is null)::integer, captured_at desc, path, line_number desc",
    )
