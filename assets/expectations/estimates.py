"""Rules for the tables of `estimates`, in addition to those that follow from column names.

Only a change of code can break a verdict or a sum within a row: tests check those.
"""

from __future__ import annotations

from assets.expectations.rules import Rule, no_finding

# Fewer is allowed: the time before a failure at the start of the records was not observed.
FAILURES_AMONG = """
    select
        cluster_id,
        concat(cluster_id, ' ', fits.gpu_size_bin, ': ', fits.event_count, ' of ', sizes.failure_count, ' failures')
            as finding
    from {batch} as fits
    inner join (
        select cluster_id, gpu_size_bin, count(*) filter (where is_infrastructure_failure) as failure_count
        from marts.fct_attempts
        group by all
    ) as sizes using (cluster_id)
    where fits.gpu_size_bin is not distinct from sizes.gpu_size_bin and fits.event_count > sizes.failure_count
"""

RULES: dict[str, list[Rule]] = {
    "est_rate_changes": [
        no_finding(
            "clusters_complete",
            "select cluster_id, cluster_id as finding from marts.dim_clusters "
            "anti join (from {batch} where failure_category = 'all') using (cluster_id)",
            "every cluster has a row for all its incidents",
        ),
    ],
    "est_scale_tests": [
        no_finding(
            "clusters_complete",
            "select cluster_id, cluster_id as finding from marts.dim_clusters anti join {batch} using (cluster_id)",
            "every cluster has its row",
        ),
    ],
    "est_time_to_failure": [
        no_finding("failures_among_those_of_the_size", FAILURES_AMONG, "the failures are among those of the size"),
    ],
}
