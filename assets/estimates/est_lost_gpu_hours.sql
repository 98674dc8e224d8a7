-- The work that infrastructure cost each cluster: in the study, in its last 30 days and in the 30 days before; in all and
-- by cause. Failures of an incident, and the preemptions that one restart made, are real or none together.
-- What is added up is added as decimals: exactly, so that a sum does not depend on the order in which threads deliver it.
with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at,
        price_per_gpu_hour,
        currency
    from marts.dim_clusters
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
    from marts.fct_failures
    union all
    select
        cluster_id,
        preempted_at as lost_at,
        'preemption' as loss,
        instigator_attempt_id as event_id,
        false as is_failure,
        second_order_probability as probability,
        lost_gpu_hours
    from marts.fct_preemptions
    where is_second_order
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
),

events as (
    select
        cluster_id,
        period,
        loss,
        count(*) filter (where is_failure) as failure_count,
        count(*) filter (where lost_gpu_hours is null) as gpu_unknown_count,
        sum(cast(probability as decimal(38, 15))) filter (where is_failure) as expected_failure_count,
        sum(cast(lost_gpu_hours as decimal(38, 12))) as lost_gpu_hours,
        max(probability) as event_probability,
        cast(sum(cast(probability * lost_gpu_hours as decimal(38, 12))) as double) as expected_lost_gpu_hours
    from members
    group by cluster_id, period, loss, is_failure, event_id
),

-- An event of probability w that cost m adds w m^2 (2 - w), as failures do in est_failure_rates.
sums as (
    select
        cluster_id,
        period,
        loss,
        sum(failure_count) as failure_count,
        sum(gpu_unknown_count) as gpu_unknown_count,
        cast(sum(expected_failure_count) as double) as expected_failure_count,
        cast(sum(lost_gpu_hours) as double) as lost_gpu_hours,
        cast(sum(cast(expected_lost_gpu_hours as decimal(38, 12))) as double) as expected_lost_gpu_hours,
        cast(sum(cast(
            expected_lost_gpu_hours * expected_lost_gpu_hours / nullif(event_probability, 0) * (2 - event_probability)
                as decimal(38, 9)
        )) as double) as loss_variance,
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
),

unseen as (
    select
        cluster_id,
        failure_count is null as is_unseen,
        note
    from estimates.est_failure_rates
    where population = 'all' and counted_as = 'attempts'
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
    coalesce(unseen.is_unseen, true) as is_unseen,
    cast(coalesce(sums.failure_count, 0) as bigint) as failure_count,
    coalesce(sums.expected_failure_count, 0) as expected_failure_count,
    -- nothing was lost, or something of unknown size
    if(sums.loss is null, 0, sums.lost_gpu_hours) as lost_gpu_hours,
    if(sums.loss is null, 0, sums.expected_lost_gpu_hours) as expected_lost_gpu_hours,
    if(sums.loss is null, 0, sums.loss_variance) as loss_variance,
    if(sums.loss is null, 0, sums.largest_loss) as largest_loss,
    nullif(concat_ws(
        '; ',
        case when coalesce(unseen.is_unseen, true) then coalesce(unseen.note, 'no accounting') end,
        if(sums.gpu_unknown_count > 0, format('losses left out, GPUs unknown: {}', sums.gpu_unknown_count), null),
        case
            when evidence.is_doubtful and not coalesce(unseen.is_unseen, true)
                then 'at least, of what the logs show, and the leading cause may be another: ' || evidence.statement
        end
    ), '') as note
from periods
inner join clusters using (cluster_id)
inner join rows_to_fill as wanted using (cluster_id)
left join sums
    on periods.cluster_id = sums.cluster_id and periods.period = sums.period and wanted.loss = sums.loss
left join unseen on periods.cluster_id = unseen.cluster_id
left join estimates.est_evidence_reach as evidence
    on periods.cluster_id = evidence.cluster_id and evidence.month_date is null
order by periods.cluster_id, periods.period, wanted.loss
