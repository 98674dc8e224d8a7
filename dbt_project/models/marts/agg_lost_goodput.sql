with

attempts as (

    select * from {{ ref('fct_attempts') }}
    where is_terminal

),

failures as (

    select * from {{ ref('fct_failures') }}

),

preemptions as (

    select * from {{ ref('fct_preemptions') }}

),

sizes as (

    select distinct
        cluster_id,
        gpu_size_bin
    from attempts

),

losses as (

    select
        attempts.cluster_id,
        attempts.gpu_size_bin,
        'first' as loss_order,
        coalesce(failures.incident_id, failures.attempt_id) as event_id,
        failures.posterior_probability as probability,
        failures.lost_gpu_hours
    from failures
    inner join attempts
        on
            failures.cluster_id = attempts.cluster_id
            and failures.attempt_id = attempts.attempt_id

    union all

    -- The size is that of the victim, which lost the work, not of the job that room was made for.
    select
        attempts.cluster_id,
        attempts.gpu_size_bin,
        case
            when preemptions.is_second_order then 'second'
            when preemptions.instigator_attempt_id is null then 'unknown'
            else 'none'
        end as loss_order,
        coalesce(preemptions.instigator_attempt_id, preemptions.attempt_id) as event_id,
        preemptions.second_order_probability as probability,
        preemptions.lost_gpu_hours
    from preemptions
    inner join attempts
        on
            preemptions.cluster_id = attempts.cluster_id
            and preemptions.attempt_id = attempts.attempt_id

),

lost as (

    select
        cluster_id,
        gpu_size_bin,
        count(case when loss_order = 'first' then 1 end) as failure_count,
        count(case when loss_order = 'second' then 1 end) as second_order_count,
        count(case when loss_order = 'unknown' then 1 end) as instigator_unknown_count,
        {{ exact_sum("case when loss_order = 'first' then lost_gpu_hours end") }} as first_order_gpu_hours,
        {{ exact_sum("case when loss_order = 'second' then lost_gpu_hours end") }} as second_order_gpu_hours,
        {{ exact_sum("case when loss_order = 'unknown' then lost_gpu_hours end") }} as instigator_unknown_gpu_hours,
        {{ exact_sum("case when loss_order = 'first' then probability end") }} as expected_failure_count,
        count(case when loss_order in ('first', 'second') then 1 end) as loss_count,
        {{ exact_sum("case when loss_order in ('first', 'second') then probability * lost_gpu_hours end") }}
            as expected_lost_gpu_hours
    from losses
    group by cluster_id, gpu_size_bin

),

events as (

    select
        cluster_id,
        gpu_size_bin,
        max(probability) as probability,
        {{ exact_sum('probability * lost_gpu_hours') }} as expected_lost_gpu_hours
    from losses
    where loss_order in ('first', 'second')
    group by cluster_id, gpu_size_bin, loss_order, event_id

),

variances as (

    select
        cluster_id,
        gpu_size_bin,
        {{ exact_sum(loss_variance_of_event('expected_lost_gpu_hours', 'probability')) }} as loss_variance,
        max(expected_lost_gpu_hours / nullif(probability, 0)) as largest_loss
    from events
    group by cluster_id, gpu_size_bin

)

select
    sizes.cluster_id,
    sizes.gpu_size_bin,
    coalesce(lost.failure_count, 0) as failure_count,
    case when coalesce(lost.failure_count, 0) = 0 then 0 else lost.first_order_gpu_hours end as first_order_gpu_hours,
    coalesce(lost.second_order_count, 0) as second_order_count,
    case
        when coalesce(lost.second_order_count, 0) = 0 then 0
        else lost.second_order_gpu_hours
    end as second_order_gpu_hours,
    coalesce(lost.instigator_unknown_count, 0) as instigator_unknown_count,
    case
        when coalesce(lost.instigator_unknown_count, 0) = 0 then 0
        else lost.instigator_unknown_gpu_hours
    end as instigator_unknown_gpu_hours,
    coalesce(lost.expected_failure_count, 0) as expected_failure_count,
    case when coalesce(lost.loss_count, 0) = 0 then 0 else lost.expected_lost_gpu_hours end as expected_lost_gpu_hours,
    case
        when coalesce(lost.loss_count, 0) = 0 then 0
        else {{ expected_loss_low('lost.expected_lost_gpu_hours', 'variances.loss_variance') }}
    end as expected_lost_gpu_hours_low,
    {{ expected_loss_high('lost.expected_lost_gpu_hours', 'variances.loss_variance', 'variances.largest_loss') }}
        as expected_lost_gpu_hours_high
from sizes
left join lost
    on
        sizes.cluster_id = lost.cluster_id
        and sizes.gpu_size_bin is not distinct from lost.gpu_size_bin
left join variances
    on
        sizes.cluster_id = variances.cluster_id
        and sizes.gpu_size_bin is not distinct from variances.gpu_size_bin
