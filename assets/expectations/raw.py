"""Rules for the tables of `raw`, in addition to those that follow from column names.

One odd row is normal. If most rows are odd, something was misread.
"""

from __future__ import annotations

from assets.expectations.columns import nodes_known
from assets.expectations.rules import Rule, no_finding, no_row, of_data, values_known

MAX_GPUS_PER_NODE = 64
MAX_DUPLICATE_SHARE = 0.9
MAX_ODD_RECORD_SHARE = 0.02
PLACE = ("path", "line_number", "node_name")

STATES = (
    *("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"),
    *("BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "COMPLETING", "STAGE_OUT", "CONFIGURING", "EXPEDITING", "RESIZING"),
    *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"),
)

SLURMCTLD_KINDS = (
    *("preempted", "preempted_without_instigator", "job_node_failure", "node_not_responding", "reason_set"),
    *("state_set", "node_returned", "node_rebooted", "prolog_failure", "epilog_failure", "drained_by_slurm"),
    *("node_invalid", "node_not_resumed", "node_powered_down", "state_shown", "job_requeued", "controller_started"),
    "site_rule",
)

COMPONENTS = ("GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU", "other", "unknown")

# `{batch}` stands for the table; the query also finds clusters without any row.
RECORDS_PRESENT = """
    with counted as (
        select cluster_id from {batch} where disposition = 'loaded'
        union
        select cluster_id from raw.unit_failures where disposition = 'loaded'
    )

    select cluster_id, concat(cluster_id, ': no record was read from its sacct or failures folder') as finding
    from raw.clusters
    where cluster_id not in (select cluster_id from counted)
    order by cluster_id
"""

DUPLICATES_SHARE = f"""
    select cluster_id, concat(
        cluster_id, ': ', count(*) filter (disposition = 'duplicate'), ' of ', count(*), ' records are repeats'
    ) as finding
    from {{batch}}
    group by cluster_id
    having count(*) filter (disposition = 'duplicate') > {MAX_DUPLICATE_SHARE} * count(*)
    order by cluster_id
"""

ODD_RECORDS = f"""
    with marked as (
        select cluster_id, unnest(warnings) as warning
        from {{batch}}
        where disposition = 'loaded'
    ),

    totals as (
        select cluster_id, count(*) as record_count
        from {{batch}}
        where disposition = 'loaded'
        group by cluster_id
    )

    select
        cluster_id,
        concat(cluster_id, ': ', count(*), ' of ', totals.record_count, ' records have ', warning) as finding
    from marked
    inner join totals using (cluster_id)
    group by cluster_id, warning, totals.record_count
    having count(*) > {MAX_ODD_RECORD_SHARE} * totals.record_count
    order by finding
"""

HEALTH_CHECKS = [
    values_known(
        "results are OK, WARN, CRITICAL or UNKNOWN, and it is known whether the check ran",
        result=("OK", "WARN", "CRITICAL", "UNKNOWN"),
        result_quality=("ran", "disabled", "could_not_run"),
    ),
    no_row(
        "codes_possible",
        "len(list_filter(xid_codes, lambda code: code not between 1 and 999)) > 0",
        (*PLACE, "check_name", "xid_codes"),
        "an XID lies between 1 and 999",
        warns=True,
    ),
    nodes_known(),
]

KERNEL_MESSAGES = [
    no_row(
        "codes_possible",
        "(kind = 'xid' and (code is null or code not between 1 and 999))"
        " or (kind = 'sxid' and (code is null or code not between 1 and 99999))",
        (*PLACE, "kind", "code"),
        "an Xid lies between 1 and 999, an SXid between 1 and 99999",
        warns=True,
    ),
    nodes_known(),
]

NODE_EVENTS = [
    values_known("an event concerns a node or the cluster", event_kind=("node", "cluster")),
    no_row(
        "node_named",
        "event_kind = 'node' and node_name is null",
        ("path", "line_number", "state", "reason"),
        "an event of a node names the node",
    ),
    nodes_known(),
]

NODES = [
    no_row(
        "gpu_count_possible",
        f"gpu_count > {MAX_GPUS_PER_NODE}",
        (*PLACE, "gpu_count"),
        f"a node has at most {MAX_GPUS_PER_NODE} GPUs, unless they are parts of GPUs (MIG)",
        warns=True,
    ),
    no_row("cpu_count_possible", "cpu_count < 1", (*PLACE, "cpu_count"), "a node has at least one CPU"),
]

SACCT = [
    values_known("every state is one Slurm knows", state=STATES),
    no_row(
        "gpu_count_possible",
        f"gpu_count > {MAX_GPUS_PER_NODE} * len(node_ids) and len(node_ids) > 0",
        ("path", "line_number", "job_id", "gpu_count"),
        f"a job has at most {MAX_GPUS_PER_NODE} GPUs on a node, unless they are parts of GPUs (MIG)",
        warns=True,
    ),
]

WHOLE_SACCT = [
    no_finding("records_present", RECORDS_PRESENT, "every cluster has records of accounting or of failures"),
    no_finding(
        "duplicates_share",
        DUPLICATES_SHARE,
        f"at most {MAX_DUPLICATE_SHARE:.0%} of a cluster's records are repeats",
        warns=True,
    ),
    no_finding("odd_records", ODD_RECORDS, "few records carry a warning of the reader", warns=True),
]

SLURMCTLD_EVENTS = [
    values_known("every line is of a kind the readers name", kind=SLURMCTLD_KINDS),
    no_row(
        "preemptions_possible",
        "kind = 'preempted' and (job_id_raw is null or job_id_raw = instigator_job_id_raw"
        " or coalesce(instigator_job_id_raw, instigator_array_job_id) is null)",
        ("path", "line_number", "job_id_raw", "instigator_job_id_raw", "instigator_array_job_id"),
        "a preemption names its victim and another job that made it",
    ),
    nodes_known(),
]

TICKETS = [values_known("every component is one of the list", component=COMPONENTS), nodes_known()]

RULES: dict[str, list[Rule]] = {
    "health_checks": of_data(HEALTH_CHECKS),
    "kernel_messages": of_data(KERNEL_MESSAGES),
    "node_events": of_data(NODE_EVENTS),
    "nodes": of_data(NODES),
    "sacct": [*of_data(SACCT), *WHOLE_SACCT],
    "slurmctld_events": of_data(SLURMCTLD_EVENTS),
    "tickets": of_data(TICKETS),
    "unit_failures": of_data([nodes_known()]),
}
"""Rules by table. Faultline itself makes the other tables of the schema."""
