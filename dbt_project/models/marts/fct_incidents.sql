with

failures as (

    select * from {{ ref('fct_failures') }}

),

attempt_nodes as (

    select
        cluster_id,
        attempt_id,
        {{ unnest_list('node_ids') }} as node_id
    from {{ ref('int_attempts_interrupted') }}

),

priorities as (

    select * from {{ ref('int_failure_category_priorities') }}

),

touched_nodes as (

    select
        failures.cluster_id,
        failures.incident_id,
        count(distinct attempt_nodes.node_id) as touched_node_count
    from failures
    inner join attempt_nodes
        on
            failures.cluster_id = attempt_nodes.cluster_id
            and failures.attempt_id = attempt_nodes.attempt_id
    group by failures.cluster_id, failures.incident_id

),

incidents as (

    select
        failures.cluster_id,
        failures.incident_id,
        min(failures.failed_at) as started_at,
        max(failures.failed_at) as ended_at,
        {{ first_by(
            'failures.failure_category',
            '(coalesce(priorities.priority, 1000), failures.failed_at, failures.attempt_id)'
        ) }} as failure_category,
        bool_or(failures.is_attributed) as is_attributed,
        bool_or(failures.shared_event_id is not null) as is_shared_event,
        count(*) as attempt_count,
        nullif(count(distinct failures.culprit_node_id), 0) as node_count,
        {{ exact_sum('failures.lost_gpu_hours') }} as lost_gpu_hours,
        max(failures.posterior_probability) as incident_probability,
        {{ exact_sum('failures.posterior_probability') }} as expected_failure_count,
        {{ exact_sum('failures.posterior_probability * failures.lost_gpu_hours') }} as expected_lost_gpu_hours
    from failures
    left join priorities
        on
            failures.cluster_id = priorities.cluster_id
            and failures.failure_category = priorities.failure_category
    group by failures.cluster_id, failures.incident_id

)

select
    incidents.cluster_id,
    incidents.incident_id,
    incidents.started_at,
    incidents.ended_at,
    incidents.failure_category,
    incidents.is_attributed,
    incidents.is_shared_event,
    cast(incidents.attempt_count as integer) as attempt_count,
    cast(incidents.node_count as integer) as node_count,
    cast(coalesce(touched_nodes.touched_node_count, 0) as integer) as touched_node_count,
    incidents.lost_gpu_hours,
    incidents.incident_probability,
    incidents.expected_failure_count,
    incidents.expected_lost_gpu_hours
from incidents
left join touched_nodes
    on
        incidents.cluster_id = touched_nodes.cluster_id
        and incidents.incident_id = touched_nodes.incident_id
