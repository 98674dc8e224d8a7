{#- What failures cost each user under each account, of all time or of each month. -#}
{% macro lost_hours_by_account(is_monthly=false) -%}
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
        true as is_first_order,
        posterior_probability as probability,
        lost_gpu_hours
    from failures
    union all
    select
        cluster_id,
        attempt_id,
        preempted_at as lost_at,
        false as is_first_order,
        second_order_probability as probability,
        lost_gpu_hours
    from second_order_preemptions

),

lost as (

    select
        attempts.cluster_id,
        {% if is_monthly %}
            cast(date_trunc('month', losses.lost_at) as date) as month_date,
        {% endif %}
        attempts.account,
        attempts.user_name,
        count(case when losses.is_first_order then 1 end) as failure_count,
        count(case when not losses.is_first_order then 1 end) as second_order_count,
        count(case when losses.lost_gpu_hours is null then 1 end) as gpu_unknown_count,
        {{ exact_sum('losses.lost_gpu_hours') }} as lost_gpu_hours,
        {{ exact_sum('case when losses.is_first_order then losses.lost_gpu_hours end') }} as first_order_gpu_hours,
        {{ exact_sum('case when not losses.is_first_order then losses.lost_gpu_hours end') }}
            as second_order_gpu_hours,
        {{ exact_sum('case when losses.is_first_order then losses.probability end') }} as expected_failure_count,
        {{ exact_sum('losses.probability * losses.lost_gpu_hours') }} as expected_lost_gpu_hours
    from losses
    inner join attempts
        on
            losses.cluster_id = attempts.cluster_id
            and losses.attempt_id = attempts.attempt_id
    group by
        attempts.cluster_id,
        {% if is_monthly %}
            cast(date_trunc('month', losses.lost_at) as date),
        {% endif %}
        attempts.account, attempts.user_name

)

select
    lost.cluster_id,
    {% if is_monthly %}
        lost.month_date,
    {% endif %}
    lost.account,
    lost.user_name,
    lost.failure_count,
    lost.second_order_count,
    lost.gpu_unknown_count,
    lost.lost_gpu_hours,
    case when lost.failure_count = 0 then 0 else lost.first_order_gpu_hours end as first_order_gpu_hours,
    case when lost.second_order_count = 0 then 0 else lost.second_order_gpu_hours end as second_order_gpu_hours,
    lost.lost_gpu_hours * clusters.price_per_gpu_hour as lost_cost,
    case when clusters.price_per_gpu_hour is not null then clusters.currency end as currency,
    coalesce(lost.expected_failure_count, 0) as expected_failure_count,
    lost.expected_lost_gpu_hours
from lost
inner join clusters on lost.cluster_id = clusters.cluster_id
{%- endmacro %}
