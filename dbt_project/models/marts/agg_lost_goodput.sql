with

attempts as (

    select * from {{ ref('fct_attempts') }}
    where is_terminal

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

-- The size is that of the victim, which lost the work, not of the instigator.
lost as (

    {{ lost_hours_by(['cluster_id', 'gpu_size_bin']) | indent(4) }}

),

-- Without a known instigator, it is unknown whether the loss is of second order.
of_unknown_instigators as (

    select
        attempts.cluster_id,
        attempts.gpu_size_bin,
        count(*) as victim_count,
        {{ exact_sum('preemptions.lost_gpu_hours') }} as lost_gpu_hours
    from preemptions
    inner join attempts
        on
            preemptions.cluster_id = attempts.cluster_id
            and preemptions.attempt_id = attempts.attempt_id
    where
        not preemptions.is_second_order
        and preemptions.instigator_attempt_id is null
    group by attempts.cluster_id, attempts.gpu_size_bin

)

select
    sizes.cluster_id,
    sizes.gpu_size_bin,
    coalesce(lost.failure_count, 0) as failure_count,
    case when lost.cluster_id is null then 0 else lost.first_order_gpu_hours end as first_order_gpu_hours,
    coalesce(lost.second_order_count, 0) as second_order_count,
    case when lost.cluster_id is null then 0 else lost.second_order_gpu_hours end as second_order_gpu_hours,
    coalesce(unknown.victim_count, 0) as instigator_unknown_count,
    case when unknown.cluster_id is null then 0 else unknown.lost_gpu_hours end as instigator_unknown_gpu_hours,
    coalesce(lost.expected_failure_count, 0) as expected_failure_count,
    case when lost.cluster_id is null then 0 else lost.expected_lost_gpu_hours end as expected_lost_gpu_hours,
    case when lost.cluster_id is null then 0 else lost.expected_lost_gpu_hours_low end as expected_lost_gpu_hours_low,
    lost.expected_lost_gpu_hours_high
from sizes
left join lost
    on
        sizes.cluster_id = lost.cluster_id
        and sizes.gpu_size_bin is not distinct from lost.gpu_size_bin
left join of_unknown_instigators as unknown
    on
        sizes.cluster_id = unknown.cluster_id
        and sizes.gpu_size_bin is not distinct from unknown.gpu_size_bin
