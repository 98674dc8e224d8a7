"""Reader of `inventory/`: `scontrol show node`, in blocks or one node per line: what a node has and who drained it.

Other inventories are first translated into such lines. A snapshot shows only its own moment. The newest one says what a
node has; snapshots with states take precedence over those without, such as configurations. Reasons and boots are read
from all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from assets.log_kinds import export_again
from assets.sources.errors import SourceError
from assets.sources.other_forms import begins_json, recognised
from assets.sources.reader import Batch, ReadingPlan, Rows, Step
from assets.sources.repeats import mark_repeats
from assets.sources.settings import ClusterSettings
from assets.sources.text import times, undated
from assets.sources.text.nodelists import MAX_NAME_LENGTH
from assets.sources.text.pseudonyms import KEPT, REASON, USER
from assets.sql import fill

KIND = "inventory"
TABLE = "nodes"
DIALECTS = ("scontrol_blocks", "scontrol_lines")
VERSION = 11
PRIVACY = {
    **dict.fromkeys(("state", "gpu_model", "partitions", "host_names", "kernel_version", "slurm_version"), KEPT),
    **dict.fromkeys(("rack", "switch", "nvlink_domain", "position"), KEPT),
    "reason": REASON,
    "reason_user": USER,
}
ROWS = Rows(time="captured_at", free_texts=("reason",), are_of_moments=True)
_STATED = "filter (where captured_at <> modified_at)"
COVERS = (f"min(captured_at) {_STATED}", f"max(captured_at) {_STATED}")

_TELLS_PLACES_ONLY = (
    "gpu_count is null and cpu_count is null and coalesce(rack, switch, nvlink_domain, position) is not null"
)
MAX_PARTITIONS = 64
"""Number of partitions of a node that are kept: the first ones."""
_COMMAND = export_again("inventory")
_RECORD = re.compile(r"^NodeName=\S+ .*$", re.M)


def detect(sample: str, path: str, cluster: ClusterSettings) -> str:
    """Return the form: one of scontrol's two, or one that is translated; refuse others, and say what they are."""
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
    """Return whether a sample is output of `scontrol show partition`."""
    return " AllocNodes=" in sample and bool(re.search(r"^PartitionName=", sample, re.M)) and "NodeName=" not in sample


def is_timed_by_modification(path: str, _dialect: str) -> bool:
    """Return whether a snapshot without a time gets that of its file's modification, as its name has no time either."""
    return not undated.is_named_by_time(path)


def plan_reading(batch: Batch) -> ReadingPlan:
    """Return the plan that reads the snapshots."""
    zone = batch.cluster.settings.timezone
    nodes = fill(
        "sources/inventory/nodes.sql",
        gres=f"(?:{'|'.join(batch.cluster.settings.accelerators.gres)})",
        times=tuple(
            (
                name,
                times.is_dated(name),
                times.stated(name, zone),
                times.is_implausible(f"{name}_stated", "modified_at"),
            )
            for name in ("boot_time", "start_time", "busy_time", "seen_time", "reason_time")
        ),
        named_at=undated.named_moment("batch_files.path"),
        max_name_length=MAX_NAME_LENGTH,
        max_partitions=MAX_PARTITIONS,
    )
    return ReadingPlan(prepare=[nodes], loaded=LOADED, skipped=SKIPPED, quarantined=QUARANTINED)


LOADED = f"""
select * exclude (stated_gpu_count, is_node) replace (partitions[:{MAX_PARTITIONS}] as partitions)
from inventory_nodes
where is_node"""

QUARANTINED = """
select
    file_id,
    line_number,
    'unsupported_schema' as reason,
    if(node_name is null, 'no node name', 'not the name of one node') as detail
from inventory_nodes
where not is_node
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
        best=f"(state is null)::integer, ({_TELLS_PLACES_ONLY})::integer, captured_at desc, path, line_number desc",
    )
