with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at,
        price_per_gpu_hour,
        currency,
        checkpoint_minutes
    from {{ ref('dim_clusters') }}
),

periods as (
    select
        clusters.cluster_id,
        names.period,
        case names.period
            when 'study' then clusters.study_from_at
            when 'last_30_days' then clusters.study_to_at - interval 30 day
            else clusters.study_to_at - interval 60 day
        end as from_at,
        if(names.period = '30_days_before', clusters.study_to_at - interval 30 day, clusters.study_to_at) as to_at
    from clusters
    cross join (values ('study'), ('last_30_days'), ('30_days_before')) as names (period)
),

losses as (
    select
        cluster_id,
        failed_at as lost_at,
        failure_category as loss,
        incident_id as event_id,
        true as is_failure,
        posterior_probability as probability,
        lost_gpu_hours
    from {{ ref('fct_failures') }}
    union all
    select
        cluster_id,
        preempted_at as lost_at,
        'preemption' as loss,
        instigator_attempt_id as event_id,
        false as is_failure,
        second_order_probability as probability,
        lost_gpu_hours
    from {{ ref('fct_preemptions') }}
    where is_second_order
    union all
    select
        attempts.cluster_id,
        attempts.ended_at as lost_at,
        attempts.end_reason as loss,
        attempts.attempt_id as event_id,
        false as is_failure,
        1 as probability,
        {{ lost_gpu_hours('attempts.runtime_seconds', 'attempts.gpu_count', 'clusters.checkpoint_minutes') }}
            as lost_gpu_hours
    from {{ ref('fct_attempts') }} as attempts
    inner join clusters using (cluster_id)
    where attempts.end_reason = 'capacity'
),

-- The study has all that its accounting holds, as the credit statement does.
losses_of_periods as (
    select
        losses.*,
        periods.period
    from losses
    inner join periods
        on
            losses.cluster_id = periods.cluster_id
            and (periods.period = 'study' or (losses.lost_at > periods.from_at and losses.lost_at <= periods.to_at))
),

members as (
    select * from losses_of_periods
    union all
    select * replace ('all' as loss) from losses_of_periods
    where loss != 'capacity'
),

events as (
    select
        cluster_id,
        period,
        loss,
        count(*) filter (where is_failure) as failure_count,
        count(*) filter (where lost_gpu_hours is null) as gpu_unknown_count,
        {{ exact_sum('if(is_failure, probability, null)') }} as expected_failure_count,
        {{ exact_sum('lost_gpu_hours') }} as lost_gpu_hours,
        max(probability) as event_probability,
        {{ exact_sum('probability * lost_gpu_hours') }} as expected_lost_gpu_hours
    from members
    group by cluster_id, period, loss, is_failure, event_id
),

sums as (
    select
        cluster_id,
        period,
        loss,
        sum(failure_count) as failure_count,
        sum(gpu_unknown_count) as gpu_unknown_count,
        {{ exact_sum('expected_failure_count') }} as expected_failure_count,
        {{ exact_sum('lost_gpu_hours') }} as lost_gpu_hours,
        {{ exact_sum('expected_lost_gpu_hours') }} as expected_lost_gpu_hours,
        {{ exact_sum(incident_variance('expected_lost_gpu_hours', 'event_probability'), 9) }} as loss_variance,
        max(expected_lost_gpu_hours / nullif(event_probability, 0)) as largest_loss
    from events
    group by cluster_id, period, loss
),

rows_to_fill as (
    select distinct
        cluster_id,
        loss
    from sums
    union
    select
        cluster_id,
        'all' as loss
    from clusters
)

select
    periods.cluster_id,
    periods.period,
    periods.from_at,
    periods.to_at,
    wanted.loss,
    clusters.price_per_gpu_hour,
    if(clusters.price_per_gpu_hour is not null, clusters.currency, null) as currency,
    epoch(periods.to_at - periods.from_at) / 86400 as exposure,
    cast(coalesce(sums.failure_count, 0) as bigint) as failure_count,
    coalesce(sums.expected_failure_count, 0) as expected_failure_count,
    -- nothing was lost, or something of unknown size
    if(sums.loss is null, 0, sums.lost_gpu_hours) as lost_gpu_hours,
    if(sums.loss is null, 0, sums.expected_lost_gpu_hours) as expected_lost_gpu_hours,
    if(sums.loss is null, 0, sums.loss_variance) as loss_variance,
    if(sums.loss is null, 0, sums.largest_loss) as largest_loss,
    if(sums.gpu_unknown_count > 0, format('losses left out, GPUs unknown: {}', sums.gpu_unknown_count), null) as note
from periods
inner join clusters using (cluster_id)
inner join rows_to_fill as wanted using (cluster_id)
left join sums
    on periods.cluster_id = sums.cluster_id and periods.period = sums.period and wanted.loss = sums.loss
