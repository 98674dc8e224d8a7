"""Ten questions as analysts put them to the published file."""

from __future__ import annotations

from pathlib import Path

import duckdb

from assets.warehouse import one_value

QUERIES = {
    "states": "select cluster_id, state, attempt_count, gpu_hours from marts.agg_job_states order by all",
    "hours between failures by size": """
        select cluster_id, gpu_size_bin, sum(runtime_seconds) / 3600 / nullif(count_if(is_infrastructure_failure), 0)
        from marts.fct_attempts where is_terminal group by all order by all""",
    "causes by month": """
        select cluster_id, date_trunc('month', failed_at) as month, failure_category, count(*), sum(lost_gpu_hours)
        from marts.fct_failures group by all order by all""",
    "waiting time by QOS and size": """
        select cluster_id, qos, gpu_size_bin, count(*), quantile_cont(queue_seconds, [0.5, 0.9])
        from marts.fct_attempts where started_at is not null group by all order by all""",
    "users with the largest losses": """
        select user_name, account, sum(lost_gpu_hours) as lost from marts.agg_lost_hours_by_account
        group by all order by lost desc limit 20""",
    "nodes with most failures a day in use": """
        select node_id, sum(failure_count) as failures, sum(in_use_hours) / 24 as days from marts.fct_node_days
        where cluster_id = '{cluster}' group by all having days > 10 order by failures / days desc limit 20""",
    "all that happened on one node": """
        select observed_at, source, check_name, failure_category, message from marts.fct_health_events
        where cluster_id = '{cluster}' and node_id = (select min(node_id) from marts.dim_nodes) order by observed_at""",
    "attempts on one node": """
        select a.attempt_id, a.started_at, a.ended_at, a.state from marts.fct_attempt_nodes n
        join marts.fct_attempts a using (cluster_id, attempt_id)
        where n.cluster_id = '{cluster}' and n.node_id = (select min(node_id) from marts.dim_nodes)
        order by a.started_at""",
    "ETTR of long runs": """
        select cluster_id, gpu_size_bin, count(*), avg(ettr), avg(ettr_low), avg(ettr_high)
        from marts.fct_job_runs where scheduled_hours >= 24 group by all order by all""",
    "preemptions by failure of another job": """
        select i.user_name, count(*) as victims, sum(p.lost_gpu_hours) as lost from marts.fct_preemptions p
        join marts.fct_attempts i on i.cluster_id = p.cluster_id and i.attempt_id = p.instigator_attempt_id
        where p.is_second_order group by all order by lost desc limit 20""",
}


def questions(path: Path) -> dict[str, str]:
    """Give the queries for a published file: those about one cluster ask about its first."""
    with duckdb.connect(str(path), read_only=True) as con:
        cluster = one_value(con, "select min(cluster_id) from marts.dim_clusters")
    return {name: sql.format(cluster=cluster) for name, sql in QUERIES.items()}
