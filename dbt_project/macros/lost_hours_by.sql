{#-
    Cost of failures, by the columns `keys`. Limits of months do not add up to the limits of all time, because losses of
    one incident in two months vary together.
-#}
{% macro lost_hours_by(keys) -%}
with

attempts as (

    select * from {{ ref('fct_attempts') }}

),

failures as (

    select * from {{ ref('fct_failures') }}

),

second_order_preemptions as (

    select * from {{ ref('fct_preemptions') }}
    where is_second_order

),

clusters as (

    select * from {{ ref('dim_clusters') }}

),

losses as (

    select
        cluster_id,
        attempt_id,
        failed_at as lost_at,
        coalesce(incident_id, attempt_id) as event_id,
        true as is_first_order,
        posterior_probability as probability,
        lost_gpu_hours
    from failures
    union all
    select
        cluster_id,
        attempt_id,
        preempted_at as lost_at,
        coalesce(instigator_attempt_id, attempt_id) as event_id,
        false as is_first_order,
        second_order_probability as probability,
        lost_gpu_hours
    from second_order_preemptions

),

accounted as (

    select
        losses.*,
        attempts.account,
        attempts.user_name,
        attempts.gpu_size_bin,
        cast(date_trunc('month', losses.lost_at) as date) as month_date
    from losses
    inner join attempts
        on
            losses.cluster_id = attempts.cluster_id
            and losses.attempt_id = attempts.attempt_id

),

events as (

    select
        {{ keys | join(', ') }},
        is_first_order,
        max(probability) as probability,
        count(*) as loss_count,
        count(case when lost_gpu_hours is null then 1 end) as gpu_unknown_count,
        {{ exact_sum('lost_gpu_hours') }} as lost_gpu_hours,
        {{ exact_sum('probability') }} as expected_count,
        {{ exact_sum('probability * lost_gpu_hours') }} as expected_lost_gpu_hours
    from accounted
    group by {{ keys | join(', ') }}, is_first_order, event_id

),

lost as (

    select
        {{ keys | join(', ') }},
        cast(coalesce(sum(case when is_first_order then loss_count end), 0) as bigint) as failure_count,
        cast(coalesce(sum(case when not is_first_order then loss_count end), 0) as bigint) as second_order_count,
        cast(sum(gpu_unknown_count) as bigint) as gpu_unknown_count,
        {{ exact_sum('lost_gpu_hours') }} as lost_gpu_hours,
        {{ exact_sum('case when is_first_order then lost_gpu_hours end') }} as first_order_gpu_hours,
        {{ exact_sum('case when not is_first_order then lost_gpu_hours end') }} as second_order_gpu_hours,
        {{ exact_sum('case when is_first_order then expected_count end') }} as expected_failure_count,
        {{ exact_sum('expected_lost_gpu_hours') }} as expected_lost_gpu_hours,
        {{ exact_sum(loss_variance_of_event('expected_lost_gpu_hours', 'probability')) }} as loss_variance,
        max(expected_lost_gpu_hours / nullif(probability, 0)) as largest_loss
    from events
    group by {{ keys | join(', ') }}

),

limited as (

    select
        *,
        {{ expected_loss_low('expected_lost_gpu_hours', 'loss_variance') }} as expected_lost_gpu_hours_low,
        {{ expected_loss_high('expected_lost_gpu_hours', 'loss_variance', 'largest_loss') }}
            as expected_lost_gpu_hours_high
    from lost

)

select
    lost.{{ keys | join(', lost.') }},
    lost.failure_count,
    lost.second_order_count,
    lost.gpu_unknown_count,
    lost.lost_gpu_hours,
    case when lost.failure_count = 0 then 0 else lost.first_order_gpu_hours end as first_order_gpu_hours,
    case when lost.second_order_count = 0 then 0 else lost.second_order_gpu_hours end as second_order_gpu_hours,
    lost.lost_gpu_hours * clusters.price_per_gpu_hour as lost_cost,
    case when clusters.price_per_gpu_hour is not null then clusters.currency end as currency,
    coalesce(lost.expected_failure_count, 0) as expected_failure_count,
    lost.expected_lost_gpu_hours,
    lost.expected_lost_gpu_hours_low,
    lost.expected_lost_gpu_hours_high,
    lost.expected_lost_gpu_hours * clusters.price_per_gpu_hour as expected_lost_cost,
    lost.expected_lost_gpu_hours_low * clusters.price_per_gpu_hour as expected_lost_cost_low,
    lost.expected_lost_gpu_hours_high * clusters.price_per_gpu_hour as expected_lost_cost_high
from limited as lost
inner join clusters on lost.cluster_id = clusters.cluster_id
{%- endmacro %}
