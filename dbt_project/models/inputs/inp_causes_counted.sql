with clusters as (
    select cluster_id
    from {{ ref('dim_clusters') }}
    where has_accounting
),

categories as (
    select failure_category
    from {{ ref('dim_failure_categories') }}
    where is_infrastructure and is_cause
),

-- Accounting alone shows that a node was lost, and that something failed.
shown_by_accounting as (
    select unnest(['node_fail_unattributed', 'unattributed']) as failure_category
),

vendors as (
    select distinct
        cluster_id,
        gpu_vendor
    from {{ ref('inp_node_days_seen') }}
),

showable as (
    select
        clusters.cluster_id,
        categories.failure_category,
        vendors.gpu_vendor,
        coalesce(bit_or(signatures.kind), 0) as kinds,
        categories.failure_category in (from shown_by_accounting) as is_shown_by_accounting
    from clusters
    cross join categories
    left join vendors on clusters.cluster_id = vendors.cluster_id
    left join {{ ref('inp_cause_signatures_listed') }} as signatures
        on
            categories.failure_category = signatures.failure_category
            and coalesce(signatures.cluster_id, clusters.cluster_id) = clusters.cluster_id
            and coalesce(signatures.gpu_vendor, vendors.gpu_vendor, '') = coalesce(vendors.gpu_vendor, '')
    group by clusters.cluster_id, categories.failure_category, vendors.gpu_vendor
),

-- Groups of like node-days with their share of each day's work, or of its use if GPU-hours are unknown.
node_days as (
    select
        cluster_id,
        day_date,
        gpu_vendor,
        kinds,
        sum(allocated_gpu_hours) as gpu_hours,
        sum(in_use_hours) as in_use_hours
    from {{ ref('inp_node_days_seen') }}
    group by cluster_id, day_date, gpu_vendor, kinds
),

seen_days as (
    select
        node_days.cluster_id,
        showable.failure_category,
        node_days.day_date,
        sum(node_days.gpu_hours) as gpu_hours,
        sum(node_days.in_use_hours) as in_use_hours,
        coalesce(sum(node_days.gpu_hours) filter (where node_days.kinds & showable.kinds > 0), 0) as seen_gpu_hours,
        coalesce(sum(node_days.in_use_hours) filter (where node_days.kinds & showable.kinds > 0), 0)
            as seen_in_use_hours
    from node_days
    inner join showable
        on node_days.cluster_id = showable.cluster_id and node_days.gpu_vendor = showable.gpu_vendor
    group by node_days.cluster_id, showable.failure_category, node_days.day_date
),

day_exposures as (
    select
        cluster_id,
        day_date,
        sum(gpu_hours) as gpu_hours,
        sum(without_gpu_hours_count) as unknown_count
    from {{ ref('inp_exposure_days_summed') }}
    group by cluster_id, day_date
),

cluster_exposures as (
    select
        cluster_id,
        cast(sum(gpu_hours) as double) as gpu_hours,
        sum(unknown_count) as unknown_count
    from day_exposures
    group by cluster_id
),

causes as (
    select
        cluster_id,
        failure_category,
        bool_or(is_shown_by_accounting) as is_shown_by_accounting,
        bit_or(kinds) as kinds
    from showable
    group by cluster_id, failure_category
),

exposures as (
    select
        causes.cluster_id,
        causes.failure_category,
        cast(sum(cast(
            day_exposures.gpu_hours
            * case
                when causes.is_shown_by_accounting then 1
                when seen_days.gpu_hours > 0 then seen_days.seen_gpu_hours / seen_days.gpu_hours
                when seen_days.in_use_hours > 0 then seen_days.seen_in_use_hours / seen_days.in_use_hours
                else 0
            end as decimal(38, 12)
        )) as double) as gpu_hours,
        causes.is_shown_by_accounting or coalesce(bool_or(seen_days.seen_in_use_hours > 0), false) as is_observable
    from causes
    left join day_exposures using (cluster_id)
    left join seen_days using (cluster_id, failure_category, day_date)
    group by causes.cluster_id, causes.failure_category, causes.is_shown_by_accounting
),

-- An end shortly after midnight may have evidence before it. A failure without a culprit may be on any of its nodes. A
-- single outer join with this condition would compare each failure with each node of each attempt.
failed_nodes as (
    select
        cluster_id,
        attempt_id,
        failure_category,
        node_id,
        cast(unnest([failed_at, failed_at - interval 1 hour]) as date) as day_date
    from (
        select
            cluster_id,
            attempt_id,
            failure_category,
            failed_at,
            culprit_node_id as node_id
        from {{ ref('inp_exposures_failed') }}
        where culprit_node_id is not null
        union all
        select
            failed.cluster_id,
            failed.attempt_id,
            failed.failure_category,
            failed.failed_at,
            attempt_nodes.node_id
        from {{ ref('inp_exposures_failed') }} as failed
        inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
        where failed.culprit_node_id is null
    ) as nodes
),

seen_failures as (
    select distinct
        failed_nodes.cluster_id,
        failed_nodes.attempt_id
    from failed_nodes
    inner join {{ ref('inp_node_days_seen') }} as sight using (cluster_id, node_id, day_date)
    inner join showable using (cluster_id, failure_category, gpu_vendor)
    where sight.kinds & showable.kinds > 0
),

-- A failure without GPU-hours would raise the rate of the others. If no attempt has GPU-hours, there is no rate.
failures as (
    select
        attempts.cluster_id,
        attempts.attempt_id,
        attempts.failure_category,
        coalesce(attempts.incident_id, attempts.attempt_id) as incident_id,
        attempts.failure_probability,
        seen_failures.attempt_id is not null
        or attempts.failure_category in (from shown_by_accounting) as is_seen,
        attempts.gpu_hours is not null or cluster_exposures.gpu_hours is null as has_exposure
    from {{ ref('inp_exposures_failed') }} as attempts
    inner join cluster_exposures using (cluster_id)
    left join seen_failures using (cluster_id, attempt_id)
    where attempts.failure_probability > 0
),

unseen_failures as (
    select
        cluster_id,
        failure_category,
        count(*) as failure_count
    from failures
    where not is_seen
    group by cluster_id, failure_category
),

counted_failures as (
    select * from failures
    where is_seen and has_exposure
),

counts as (
    {{ incident_counts('counted_failures', ['cluster_id', 'failure_category']) }}
),

parameter_variances as (
    {{ parameter_variances('counted_failures', ['cluster_id', 'failure_category']) }}
),

-- By the paper's rule, each attributed failure is certain and all ended attempts count, as in
-- {{ ref('agg_failure_rates_by_cause') }}.
paper_counts as (
    select
        cluster_id,
        failure_category,
        count(*) as failure_count,
        count(distinct coalesce(incident_id, attempt_id)) as incident_count
    from {{ ref('fct_failures') }}
    inner join clusters using (cluster_id)
    group by cluster_id, failure_category
),

paper_exposures as (
    select
        cluster_id,
        sum(gpu_count * runtime_seconds) / 3600 as gpu_hours,
        count(*) filter (where gpu_count * runtime_seconds is null) as unknown_count
    from {{ ref('fct_attempts') }}
    where is_terminal
    group by cluster_id
),

listed as (
    select
        causes.*,
        exposures.gpu_hours,
        exposures.is_observable,
        exposures.gpu_hours / nullif(cluster_exposures.gpu_hours, 0) as seen_ratio,
        cluster_exposures.unknown_count,
        coalesce(unseen_failures.failure_count, 0) as unseen_failure_count
    from causes
    inner join exposures using (cluster_id, failure_category)
    left join cluster_exposures using (cluster_id)
    left join unseen_failures using (cluster_id, failure_category)
    left join counts using (cluster_id, failure_category)
    left join paper_counts using (cluster_id, failure_category)
    where
        causes.failure_category != 'unattributed'
        or counts.failure_count is not null
        or paper_counts.failure_count is not null
),

counted as (
    select
        listed.*,
        'attempts' as counted_as,
        counts.failure_count,
        coalesce(counts.failure_variance, 0) + coalesce(parameter_variances.variance, 0) as failure_variance,
        counts.incident_count
    from listed
    left join counts using (cluster_id, failure_category)
    left join parameter_variances using (cluster_id, failure_category)
    union all by name
    -- The paper's rule counts its failures over all GPU-hours, as in the mart.
    select
        listed.* replace (
            if(
                paper_counts.failure_count > 0 or listed.is_shown_by_accounting,
                paper_exposures.gpu_hours,
                paper_exposures.gpu_hours * listed.seen_ratio
            ) as gpu_hours,
            listed.is_observable or paper_counts.failure_count > 0 as is_observable,
            paper_exposures.unknown_count as unknown_count,
            if(paper_counts.failure_count > 0, 1, listed.seen_ratio) as seen_ratio,
            0 as unseen_failure_count
        ),
        'attempts_paper' as counted_as,
        paper_counts.failure_count,
        coalesce(paper_counts.failure_count, 0) as failure_variance,
        paper_counts.incident_count
    from listed
    left join paper_counts using (cluster_id, failure_category)
    left join paper_exposures using (cluster_id)
)

select
    cluster_id,
    failure_category,
    counted_as,
    if(is_observable, coalesce(failure_count, 0), null) as failure_count,
    failure_variance,
    if(is_observable, coalesce(incident_count, 0), null) as incident_count,
    if(unknown_count > 0, gpu_hours, coalesce(gpu_hours, 0)) as gpu_hours,
    seen_ratio,
    nullif(concat_ws(
        '; ',
        case
            when not is_observable and kinds = 0 then 'not observable: no rule and no check shows it on these nodes'
            when not is_observable
                then 'not observable: no ' || list_aggregate(
                    list_filter(
                        [
                            if(kinds & 1 > 0, 'kernel log', null),
                            if(kinds & 2 > 0, 'health check', null),
                            if(kinds & 4 > 0, 'log of node events', null)
                        ],
                        lambda name: name is not null
                    ),
                    'string_agg', ' or '
                ) || ' was understood'
            when coalesce(gpu_hours, 0) = 0 then 'no GPU-hours are known'
            when failure_count is null then 'never seen: only the upper limit is known'
        end,
        if(is_observable and seen_ratio < 0.9995, format('seen in {:.3g}% of the GPU-hours', 100 * seen_ratio), null),
        if(
            unseen_failure_count > 0, format('failures left out, no log of their nodes: {}', unseen_failure_count), null
        ),
        if(unknown_count > 0 and gpu_hours > 0, format('attempts left out, GPU-hours unknown: {}', unknown_count), null)
    ), '') as note
from counted
