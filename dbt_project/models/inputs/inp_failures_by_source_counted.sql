with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from {{ ref('dim_clusters') }}
),

failures as (
    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        failures.state,
        failures.failure_category,
        failures.posterior_probability as probability
    from {{ ref('fct_failures') }} as failures
    inner join clusters using (cluster_id)
    where failures.failed_at > clusters.study_from_at and failures.failed_at <= clusters.study_to_at
),

-- Without a vendor, the node may be of any vendor.
shown_by_both as (
    select
        clusters.cluster_id,
        signatures.failure_category
    from clusters
    inner join {{ ref('inp_cause_signatures_listed') }} as signatures
        on coalesce(signatures.cluster_id, clusters.cluster_id) = clusters.cluster_id
    where not signatures.repeats_kernel
    group by clusters.cluster_id, signatures.failure_category
    having bit_or(signatures.kind) & 3 = 3
),

sources as (
    select
        failures.cluster_id,
        failures.attempt_id,
        bool_or(events.source = 'kernel') as is_in_kernel,
        bool_or(events.source = 'health_check') as is_in_checks,
        coalesce(bool_or(sight.kinds & 3 = 3), false) as has_both
    from failures
    inner join {{ ref('fct_failure_evidence') }} as evidence using (cluster_id, attempt_id)
    inner join {{ ref('fct_health_events') }} as events
        on evidence.cluster_id = events.cluster_id and evidence.event_id = events.event_id
    left join {{ ref('inp_node_days_seen') }} as sight
        on
            evidence.cluster_id = sight.cluster_id
            and evidence.node_id = sight.node_id
            and cast(failures.failed_at as date) = sight.day_date
    where failures.state in ('FAILED', 'REQUEUED')
    group by failures.cluster_id, failures.attempt_id
),

sourced as (
    select
        failures.cluster_id,
        cast(date_trunc('month', failures.failed_at) as date) as month_date,
        failures.failure_category,
        failures.probability,
        shown_by_both.failure_category is not null as is_shown_by_both,
        coalesce(sources.is_in_kernel and (sources.has_both or shown_by_both.failure_category is null), false)
            as is_in_kernel,
        coalesce(sources.is_in_checks and (sources.has_both or shown_by_both.failure_category is null), false)
            as is_in_checks
    from failures
    left join sources using (cluster_id, attempt_id)
    left join shown_by_both using (cluster_id, failure_category)
    where failures.state in ('FAILED', 'REQUEUED')
)

select
    cluster_id,
    month_date,
    failure_category as category,
    is_shown_by_both,
    coalesce({{ exact_sum('if(is_in_kernel and is_in_checks, probability, null)', 9) }}, 0) as common,
    coalesce({{ exact_sum('if(is_in_kernel and not is_in_checks, probability, null)', 9) }}, 0) as kernel_only,
    coalesce({{ exact_sum('if(not is_in_kernel and is_in_checks, probability, null)', 9) }}, 0) as checks_only,
    coalesce({{ exact_sum('if(is_in_kernel or is_in_checks, null, probability)', 9) }}, 0) as uncompared
from sourced
group by cluster_id, month_date, failure_category, is_shown_by_both
