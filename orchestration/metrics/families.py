"""The metrics of a home: names, help, labels, and the statements that compute the values.

Values about clusters come from the current publication, also after a rollback. An unknown value has no sample, never
zero; neither has an estimate from too little data.
Times are exported instead of ages, because a textfile is as old as the last refresh: the age of the data is
`time() - faultline_data_through_timestamp_seconds`. Every value is a gauge: counts fall when logs are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assets.bad_clusters.cluster_outcomes import CLUSTER_OUTCOMES


@dataclass(frozen=True)
class Family:
    """The metrics that one statement computes.

    Attributes
    ----------
    sql
        Returns the labels and one column for each metric. Rows about a cluster have `cluster` and `simulated`.
    labels
        Names of labels.
    metrics
        Help by the name of the metric, without `faultline_`.
    limited
        The metrics that also have `_low` and `_high`.
    """

    sql: str
    labels: Sequence[str]
    metrics: Mapping[str, str]
    limited: Sequence[str] = ()

    def columns(self) -> list[tuple[str, str]]:
        """Return name and help of every metric, including limits."""
        found = []
        for name, text in self.metrics.items():
            found.append((name, text))
            if name in self.limited:
                found += [(f"{name}_low", f"Lower limit. {text}"), (f"{name}_high", f"Upper limit. {text}")]
        return found


_CLUSTER = "clusters.cluster_id as cluster, clusters.is_simulated::varchar as simulated"
_CLUSTERS = "from marts.dim_clusters as clusters"

PUBLISHED = (
    Family(
        f"""
        select
            {_CLUSTER},
            epoch(clusters.data_through_at) as data_through_timestamp_seconds,
            epoch(coalesce(
                clusters.built_at,
                (select published_at from ops.published order by rowid desc limit 1)
            )) as built_timestamp_seconds,
            coalesce(clusters.is_stale, false)::int as cluster_is_stale,
            clusters.node_count as nodes,
            clusters.gpu_count as gpus
        {_CLUSTERS}
        """,
        ("cluster", "simulated"),
        {
            "data_through_timestamp_seconds": "The moment up to which the accounting of the cluster is known.",
            "built_timestamp_seconds": "When the cluster's numbers were built; older than the publication if stale.",
            "cluster_is_stale": "1: the last refresh could not build or fetch the cluster, and its numbers are older.",
            "nodes": "Nodes of the cluster.",
            "gpus": "GPUs of the cluster.",
        },
    ),
    Family(
        f"""
        select cluster_id as cluster, 1 as cluster_is_without_numbers
        from ({CLUSTER_OUTCOMES}) where cluster_end = 'no numbers'
        """,
        ("cluster",),
        {"cluster_is_without_numbers": "1: the cluster was never built, and nothing is known of it."},
    ),
    Family(
        f"""
        select
            {_CLUSTER},
            (select count(*) from marts.fct_attempts as a where a.cluster_id = clusters.cluster_id) as attempts,
            losses.failure_count as infrastructure_failures,
            if(losses.has_enough_data, losses.expected_failure_count, null) as expected_infrastructure_failures
        {_CLUSTERS}
        left join estimates.est_lost_gpu_hours as losses
            on clusters.cluster_id = losses.cluster_id and losses.period = 'study' and losses.loss = 'all'
        where clusters.has_accounting
        """,
        ("cluster", "simulated"),
        {
            "attempts": "Attempts of jobs in the study.",
            "infrastructure_failures": "Attempts that infrastructure ended in the whole study by the paper's rule.",
            "expected_infrastructure_failures": "The same, each weighted by its probability.",
        },
    ),
    Family(
        f"""
        select
            {_CLUSTER}, population, confidence_level::varchar as confidence,
            failures_per_1000_node_days, failures_per_1000_node_days_low, failures_per_1000_node_days_high
        {_CLUSTERS}
        inner join estimates.est_failure_rates using (cluster_id)
        where is_reference and has_enough_data
        """,
        ("cluster", "simulated", "population", "confidence"),
        {"failures_per_1000_node_days": "Infrastructure failures per 1,000 node-days, over the whole study."},
        ("failures_per_1000_node_days",),
    ),
    Family(
        f"""
        select
            {_CLUSTER}, confidence_level::varchar as confidence, reach as evidence_reach_ratio,
            low as evidence_reach_ratio_low, high as evidence_reach_ratio_high
        {_CLUSTERS}
        inner join estimates.est_evidence_reach as evidence using (cluster_id)
        where evidence.month_date is null and evidence.has_enough_data
        """,
        ("cluster", "simulated", "confidence"),
        {"evidence_reach_ratio": "Share of the failures that the evidence showed. Absent: unknown."},
        ("evidence_reach_ratio",),
    ),
    Family(
        f"""
        select
            {_CLUSTER}, availability as availability_ratio, availability_low as availability_ratio_low,
            availability_high as availability_ratio_high, error_budget_left as error_budget_left_ratio,
            error_budget_left_low as error_budget_left_ratio_low, error_budget_left_high as error_budget_left_ratio_high
        {_CLUSTERS}
        inner join marts.agg_availability_monthly as months using (cluster_id)
        qualify row_number() over (partition by months.cluster_id order by months.month_date desc) = 1
        """,
        ("cluster", "simulated"),
        {
            "availability_ratio": "Share of node-hours without planned work that nodes were in service, this month.",
            "error_budget_left_ratio": "Share left of the budget of this month's hours so far; negative: overspent.",
        },
        ("availability_ratio", "error_budget_left_ratio"),
    ),
    Family(
        f"""
        select
            {_CLUSTER}, job, projections.gpu_count::varchar as job_gpus, confidence_level::varchar as confidence,
            mttf_hours, mttf_hours_low, mttf_hours_high
        {_CLUSTERS}
        inner join estimates.est_mttf_projections as projections using (cluster_id)
        inner join (values ('1024_gpus'), ('whole_cluster')) as jobs (job)
            on if(job = 'whole_cluster', projections.is_cluster_size, projections.gpu_count = 1024)
        where projections.has_enough_data
        """,
        ("cluster", "simulated", "job", "job_gpus", "confidence"),
        {"mttf_hours": "Mean time to failure of a job that fills the cluster, and of one of 1,024 GPUs, projected."},
        ("mttf_hours",),
    ),
    Family(
        f"""
        select
            {_CLUSTER}, gpu_size_bin::varchar as job_gpus, confidence_level::varchar as confidence,
            ettr_measured as ettr_measured_ratio, ettr_measured_low as ettr_measured_ratio_low,
            ettr_measured_high as ettr_measured_ratio_high, progress_ratio, progress_ratio_low, progress_ratio_high,
            ettr_expected as ettr_expected_ratio, ettr_expected_low as ettr_expected_ratio_low,
            ettr_expected_high as ettr_expected_ratio_high
        {_CLUSTERS}
        inner join estimates.est_ettr_by_size using (cluster_id)
        where gpu_size_bin is not null and has_enough_data
        """,
        ("cluster", "simulated", "job_gpus", "confidence"),
        {
            "progress_ratio": "Share of scheduled time that runs of at least 24 hours spent on progress, by size.",
            "ettr_measured_ratio": "The paper's ETTR: the same over waiting and scheduled time.",
            "ettr_expected_ratio": "The paper's ETTR as the failure rate lets expect.",
        },
        ("progress_ratio", "ettr_measured_ratio", "ettr_expected_ratio"),
    ),
    Family(
        f"""
        select
            {_CLUSTER}, period, confidence_level::varchar as confidence, expected_lost_gpu_hours,
            expected_lost_gpu_hours_low, expected_lost_gpu_hours_high, lost_gpu_hours
        {_CLUSTERS}
        inner join estimates.est_lost_gpu_hours as losses using (cluster_id)
        where losses.loss = 'all' and losses.has_enough_data
        """,
        ("cluster", "simulated", "period", "confidence"),
        {
            "expected_lost_gpu_hours": "GPU-hours of work that infrastructure is expected to have cost in a period.",
            "lost_gpu_hours": "The same by the paper's rule, which takes each failure as certain.",
        },
        ("expected_lost_gpu_hours",),
    ),
    Family(
        f"""
        select
            {_CLUSTER},
            count(*) filter (where verdict = 'lemon') as lemons,
            count(*) filter (where verdict = 'watch') as nodes_to_watch
        {_CLUSTERS}
        inner join estimates.est_lemon_nodes using (cluster_id)
        where has_enough_data
        group by all
        having count(*) filter (where verdict <> 'not enough data') > 0
        """,
        ("cluster", "simulated"),
        {
            "lemons": "Nodes on the list of lemons. Absent: the data do not allow a list.",
            "nodes_to_watch": "Nodes to watch. Absent: the data do not allow a list.",
        },
    ),
    Family(
        """
        select
            files.cluster_id as cluster, coalesce(clusters.is_simulated, false)::varchar as simulated, kind,
            sum(loaded) as lines_loaded, sum(skipped) as lines_skipped, sum(quarantined) as lines_quarantined,
            count(*) as files, count(*) filter (where status = 'refused') as files_refused
        from ops.files as files
        left join marts.dim_clusters as clusters using (cluster_id)
        group by all
        """,
        ("cluster", "simulated", "kind"),
        {
            "lines_loaded": "Lines of logs that were loaded.",
            "lines_skipped": "Lines of logs that were skipped with a reason.",
            "lines_quarantined": "Lines of logs that were not understood.",
            "files": "Files of logs.",
            "files_refused": "Files of logs that cannot be read.",
        },
    ),
    Family(
        """
        select
            count(*) filter (where passed) as checks_passed,
            count(*) filter (where not passed and is_blocking) as checks_failed,
            count(*) filter (where not passed and not is_blocking) as checks_warned
        from ops.checks
        where run_id = (select run_id from ops.published order by rowid desc limit 1)
        """,
        (),
        {
            "checks_passed": "Checks that the publication passed.",
            "checks_failed": "Checks that kept a cluster's new numbers from being published.",
            "checks_warned": "Checks that failed as a warning.",
        },
    ),
    Family(
        """
        select tables.entry.key as "table", tables.entry.value::bigint as published_rows
        from (
            select unnest(map_entries(cast(row_counts as map(varchar, bigint)))) as entry
            from (select row_counts from ops.published order by rowid desc limit 1)
        ) as tables
        """,
        ("table",),
        {"published_rows": "Rows of a published table."},
    ),
)
"""Metrics from the published file."""
HEADLINE = ("failures_per_1000_node_days", "mttf_hours", "progress_ratio", "expected_lost_gpu_hours")
"""The metrics that Dagster plots over the publications."""

RUNS = Family(
    """
    select status, count(*) as runs, avg(epoch(ended_at - started_at)) as run_seconds_mean
    from ops.runs
    where status <> 'running'
    group by status
    """,
    ("status",),
    {
        "runs": "Refreshes in the home's history, by how they ended.",
        "run_seconds_mean": "Their mean duration.",
    },
)
LAST_RUN = Family(
    """
    select
        epoch(started_at) as last_run_started_timestamp_seconds,
        epoch(ended_at - started_at) as last_run_duration_seconds,
        (status = 'succeeded')::int as last_run_succeeded
    from ops.runs
    where status <> 'running'
    order by rowid desc
    limit 1
    """,
    (),
    {
        "last_run_started_timestamp_seconds": "When the last refresh started that has ended.",
        "last_run_duration_seconds": "How long it took.",
        "last_run_succeeded": "1: it published; 0: it failed.",
    },
)
LAST_RUN_STAGES = Family(
    """
    select stage, seconds as last_run_stage_seconds
    from ops.stages
    where run_id = (select run_id from ops.runs where status <> 'running' order by rowid desc limit 1)
    """,
    ("stage",),
    {"last_run_stage_seconds": "How long the steps of each of its stages took."},
)
OF_RUNS = (RUNS, LAST_RUN, LAST_RUN_STAGES)
"""Metrics from the working file, which also has failed runs; while a refresh runs, from the published file."""

OF_HOME = {
    "publication_timestamp_seconds": "When the publication that readers see was made.",
    "newest_publication_timestamp_seconds": "When the newest publication was made, which a rollback hides.",
    "publication_is_pinned": "1: `faultline rollback` has pinned what readers see.",
    "freshness_limit_seconds": "A newest publication that is older than this is stale (FAULTLINE_FRESHNESS_HOURS).",
    "alert_channels_failing": "Channels whose last alert did not arrive.",
}
"""Help of the metrics of the home itself."""
