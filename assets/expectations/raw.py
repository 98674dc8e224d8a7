"""What must hold for the tables of `raw`. Each function gives the suite of the table with its name.

One odd row is no news. Most rows being odd means that something was misread.
"""

from __future__ import annotations

from assets.expectations.rules import (
    EARLIEST_RECORD,
    Rule,
    believable_time,
    in_order,
    no_finding,
    no_row,
    not_negative,
    of_data,
    one_of,
)


def health_checks() -> list[Rule]:
    """Demand results a check can have, at times a node can have been checked."""
    row = ("path", "line_number", "node_name", "check_name")
    rules = [
        one_of("result", ("OK", "WARN", "CRITICAL", "UNKNOWN"), "every result is OK, WARN, CRITICAL or UNKNOWN"),
        one_of("result_quality", ("ran", "disabled", "could_not_run"), "it is known whether the check ran"),
        believable_time("observed_at", *row),
        in_order("started_at", "observed_at", *row),
        no_row(
            "xid_codes_possible",
            "len(list_filter(xid_codes, lambda code: code not between 1 and 999)) > 0",
            (*row, "xid_codes"),
            "an XID lies between 1 and 999",
            warns=True,
        ),
        _mostly_known_nodes(),
    ]
    return of_data(rules)


def kernel_messages() -> list[Rule]:
    """Demand possible codes and believable times."""
    row = ("path", "line_number", "node_name")
    rules = [
        believable_time("occurred_at", *row),
        no_row(
            "code_possible",
            "(kind = 'xid' and (code is null or code not between 1 and 999))"
            " or (kind = 'sxid' and (code is null or code not between 1 and 99999))",
            (*row, "kind", "code"),
            "an Xid lies between 1 and 999, an SXid between 1 and 99999",
            warns=True,
        ),
        no_row(
            "lines_counted",
            "disposition = 'loaded' and (line_count < 1 or repeat_count < 1)",
            (*row, "line_count", "repeat_count"),
            "an event stands for at least one line",
        ),
        _mostly_known_nodes(),
    ]
    return of_data(rules)


def node_events() -> list[Rule]:
    """Demand intervals that run forward, on nodes of the cluster."""
    row = ("path", "line_number", "node_name")
    rules = [
        one_of("event_kind", ("node", "cluster"), "an event concerns a node or the cluster"),
        believable_time("started_at", *row),
        believable_time("ended_at", *row),
        in_order("started_at", "ended_at", *row),
        no_row(
            "node_named",
            "event_kind = 'node' and node_name is null",
            ("path", "line_number", "state", "reason"),
            "an event of a node names the node",
        ),
        _mostly_known_nodes("event_kind = 'node'"),
    ]
    return of_data(rules)


MAX_GPUS_PER_NODE = 64


def nodes() -> list[Rule]:
    """Demand machines that can exist."""
    row = ("path", "line_number", "node_name")
    rules = [
        no_row(
            "gpu_count_possible",
            f"gpu_count not between 0 and {MAX_GPUS_PER_NODE}",
            (*row, "gpu_count"),
            f"a node has between 0 and {MAX_GPUS_PER_NODE} GPUs, unless they are parts of GPUs (MIG)",
            warns=True,
        ),
        no_row(
            "size_possible",
            "cpu_count < 1 or memory_mib < 0",
            (*row, "cpu_count", "memory_mib"),
            "a node has at least one CPU and no negative memory",
        ),
        believable_time("captured_at", *row),
        believable_time("booted_at", *row),
    ]
    return of_data(rules)


MAX_DUPLICATE_SHARE = 0.9

MAX_ODD_RECORD_SHARE = 0.02

STATES = (
    *("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"),
    *("BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "COMPLETING", "STAGE_OUT", "CONFIGURING", "EXPEDITING", "RESIZING"),
    *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"),
)


def sacct() -> list[Rule]:
    """Demand times, counts and states that a Slurm accounting can contain."""
    row = ("path", "line_number", "job_id")
    rules = [
        one_of("state", STATES, "every state is one Slurm knows"),
        not_negative("elapsed_seconds", *row),
        not_negative("suspended_seconds", *row),
        in_order("started_at", "ended_at", *row),
        believable_time("submitted_at", *row),
        believable_time("started_at", *row),
        believable_time("ended_at", *row),
        not_negative("gpu_count", *row),
        no_row(
            "gpu_count_possible",
            f"gpu_count > {MAX_GPUS_PER_NODE} * len(node_ids) and len(node_ids) > 0",
            (*row, "gpu_count"),
            f"a job has at most {MAX_GPUS_PER_NODE} GPUs on a node, unless they are parts of GPUs (MIG)",
            warns=True,
        ),
    ]
    return [
        *of_data(rules),
        no_finding("records_present", RECORDS_PRESENT, "every cluster has records of accounting or of failures"),
        no_finding(
            "duplicates_share",
            DUPLICATES_SHARE,
            f"at most {MAX_DUPLICATE_SHARE:.0%} of a cluster's records are repeats",
            warns=True,
        ),
        no_finding("odd_records", ODD_RECORDS, "few records carry a warning of the reader", warns=True),
    ]


# One query over the table keeps `{batch}`, the name of the table, and finds clusters that have no row at all.
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

SLURMCTLD_KINDS = (
    *("preempted", "preempted_without_instigator", "job_node_failure", "node_not_responding", "reason_set"),
    *("state_set", "node_returned", "node_rebooted", "prolog_failure", "epilog_failure", "drained_by_slurm"),
    *("node_invalid", "node_not_resumed", "node_powered_down", "state_shown", "job_requeued", "controller_started"),
)


def slurmctld_events() -> list[Rule]:
    """Demand known kinds of line, and the parts that make each kind useful."""
    row = ("path", "line_number", "kind")
    rules = [
        one_of("kind", SLURMCTLD_KINDS, "every line is of a kind the readers name"),
        believable_time("logged_at", *row),
        no_row(
            "preemption_complete",
            "kind = 'preempted' and (job_id_raw is null or "
            "coalesce(instigator_job_id_raw, instigator_array_job_id) is null)",
            (*row, "job_id_raw", "instigator_job_id_raw", "instigator_array_job_id"),
            "a preemption with an instigator names victim and instigator",
        ),
        no_row(
            "preemption_not_of_itself",
            "kind = 'preempted' and job_id_raw = instigator_job_id_raw",
            (*row, "job_id_raw"),
            "no job preempts itself",
        ),
        _mostly_known_nodes("node_name is not null"),
    ]
    return of_data(rules)


def tickets() -> list[Rule]:
    """Demand repairs that end after they began, on components the readers name."""
    row = ("path", "line_number", "ticket_id")
    components = ("GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU", "other", "unknown")
    rules = [
        one_of("component", components, "every component is one of the list"),
        believable_time("opened_at", *row),
        in_order("opened_at", "closed_at", *row),
        _mostly_known_nodes(),
    ]
    return of_data(rules)


def unit_failures() -> list[Rule]:
    """Demand failures that end after they began, with the duration between."""
    row = ("path", "line_number")
    rules = [
        believable_time("started_at", *row, earliest=EARLIEST_RECORD),
        in_order("started_at", "ended_at", *row),
        not_negative("down_minutes", *row),
        _mostly_known_nodes("node_name is not null"),
    ]
    return of_data(rules)


MAX_UNKNOWN_NODE_SHARE = 0.5


def _mostly_known_nodes(where: str = "true") -> Rule:
    """Warn when most rows of a cluster name hosts that are not its nodes: then names need an alias or a suffix rule.

    Parameters
    ----------
    where
        The rows that concern a node.
    """
    query = f"""
        select cluster_id, concat(
            cluster_id, ': ', count(*) filter (disposition = 'unknown_node'), ' of ', count(*),
            ' rows name unknown nodes, such as ', min(node_name) filter (disposition = 'unknown_node'),
            '; see [nodes] in cluster.toml'
        ) as finding
        from {{batch}}
        where {where}
        group by cluster_id
        having count(*) filter (disposition = 'unknown_node') > {MAX_UNKNOWN_NODE_SHARE} * count(*)
        order by cluster_id
    """
    return no_finding("nodes_known", query, "most rows name nodes of the cluster", warns=True)
