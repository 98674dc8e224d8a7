"""What must hold for raw.sacct: times, counts and states that a Slurm accounting can contain."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import (
    believable_time,
    columns,
    in_order,
    no_finding,
    no_row,
    not_negative,
    of_data,
    one_of,
)

MAX_GPUS_PER_NODE = 64
MAX_DUPLICATE_SHARE = 0.9
MAX_ODD_RECORD_SHARE = 0.02
ROW = ("path", "line_number", "job_id")

STATES = (
    *("PENDING", "RUNNING", "SUSPENDED", "COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED"),
    *("BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY", "COMPLETING", "STAGE_OUT", "CONFIGURING", "EXPEDITING", "RESIZING"),
    *("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING"),
)


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns(
            *("cluster_id", "path", "line_number", "disposition", "job_id", "job_id_raw", "submitted_at"),
            *("started_at", "ended_at", "elapsed_seconds", "state", "node_ids", "gpu_count", "warnings"),
        ),
        one_of("state", STATES, "every state is one Slurm knows"),
        not_negative("elapsed_seconds", *ROW),
        not_negative("suspended_seconds", *ROW),
        in_order("started_at", "ended_at", *ROW),
        believable_time("submitted_at", *ROW),
        believable_time("started_at", *ROW),
        believable_time("ended_at", *ROW),
        not_negative("gpu_count", *ROW),
        no_row(
            "gpu_count_possible",
            f"gpu_count > {MAX_GPUS_PER_NODE} * len(node_ids) and len(node_ids) > 0",
            (*ROW, "gpu_count"),
            f"a job has at most {MAX_GPUS_PER_NODE} GPUs on a node, unless they are parts of GPUs (MIG)",
            warns=True,
        ),
    ]
    return [
        *of_data(rules),
        no_finding("records_present", RECORDS_PRESENT, "every cluster has accounting records"),
        no_finding(
            "duplicates_share",
            DUPLICATES_SHARE,
            f"at most {MAX_DUPLICATE_SHARE:.0%} of a cluster's records are repeats",
            warns=True,
        ),
        no_finding("odd_records", ODD_RECORDS, "few records carry a warning of the reader", warns=True),
    ]


# One query over the table keeps the `{batch}` placeholder; the outer join finds clusters that have no row at all.
RECORDS_PRESENT = """
    with counted as (
        select cluster_id, count(*) as record_count
        from {batch}
        where disposition = 'loaded'
        group by cluster_id
    )

    select cluster_id, concat(cluster_id, ': no accounting record was read from its sacct folder') as finding
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
