with
{{ seen_periods() }},

clusters as (
    select
        cluster_id,
        price_per_gpu_hour,
        currency,
        checkpoint_minutes
    from {{ ref('dim_clusters') }}
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

-- An attempt lost at midnight ran on the day before.
losses_of_periods as (
    select
        losses.*,
        periods.period,
        coalesce(
            losses.lost_at > periods.from_at and losses.lost_at <= periods.to_at
            and gaps.cluster_id is null and not days.is_blind,
            false
        ) as is_seen
    from losses
    inner join periods using (cluster_id)
    left join period_days as days
        on
            periods.cluster_id = days.cluster_id
            and periods.period = days.period
            and cast(losses.lost_at - interval 1 microsecond as date) = days.day_date
    left join {{ ref('dim_study_gaps') }} as gaps
        on
            losses.cluster_id = gaps.cluster_id
            and losses.lost_at > gaps.from_at
            and losses.lost_at <= gaps.to_at
),

-- The study has all losses in accounting, as the credit statement does. Its rate has only observed ones.
counted_losses as (
    select * from losses_of_periods
    where is_seen or period = 'study'
),

members as (
    select * from counted_losses
    union all
    select * replace ('all' as loss) from counted_losses
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
        {{ exact_sum('probability * lost_gpu_hours') }} as expected_lost_gpu_hours,
        {{ exact_sum('if(is_seen, probability * lost_gpu_hours, 0)') }} as seen_lost_gpu_hours
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
        {{ exact_sum('seen_lost_gpu_hours') }} as seen_lost_gpu_hours,
        {{ exact_sum(incident_variance('expected_lost_gpu_hours', 'event_probability'), 9) }} as loss_variance,
        max(expected_lost_gpu_hours / nullif(event_probability, 0)) as largest_loss
    from events
    group by cluster_id, period, loss
),

allocations as (
    select
        days.cluster_id,
        period_days.period,
        {{ exact_sum('days.gpu_hours * period_days.share') }} as gpu_hours
    from {{ ref('inp_exposure_days_summed') }} as days
    inner join period_days using (cluster_id, day_date)
    where not period_days.is_blind
    group by days.cluster_id, period_days.period
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
    periods.seen_days as exposure,
    periods.blind_day_count,
    allocations.gpu_hours as allocated_gpu_hours,
    cast(coalesce(sums.failure_count, 0) as bigint) as failure_count,
    coalesce(sums.expected_failure_count, 0) as expected_failure_count,
    -- no loss, or a loss of unknown size
    if(sums.loss is null, 0, sums.lost_gpu_hours) as lost_gpu_hours,
    if(sums.loss is null, 0, sums.expected_lost_gpu_hours) as expected_lost_gpu_hours,
    if(sums.loss is null, 0, sums.seen_lost_gpu_hours) as seen_lost_gpu_hours,
    if(sums.loss is null, 0, sums.loss_variance) as loss_variance,
    if(sums.loss is null, 0, sums.largest_loss) as largest_loss,
    if(sums.gpu_unknown_count > 0, format('losses left out, GPUs unknown: {}', sums.gpu_unknown_count), null) as note
from seen_periods as periods
inner join clusters using (cluster_id)
inner join rows_to_fill as wanted using (cluster_id)
left join allocations using (cluster_id, period)
left join sums
    on periods.cluster_id = sums.cluster_id and periods.period = sums.period and wanted.loss = sums.loss
