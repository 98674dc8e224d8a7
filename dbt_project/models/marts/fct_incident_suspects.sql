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

het_failures as (

    select distinct
        cluster_id,
        attempt_id
    from {{ ref('int_het_failures_joined') }}

),

failures_of_nodes as (

    select
        failures.*,
        failures.node_count > 1 or het_failures.attempt_id is not null as is_of_several_nodes
    from failures
    left join het_failures
        on
            failures.cluster_id = het_failures.cluster_id
            and failures.attempt_id = het_failures.attempt_id
    -- An event over several nodes is no fault of one node.
    qualify
        count(failures.shared_event_id) over (partition by failures.cluster_id, failures.incident_id) = 0

),

failures_summarised as (

    select
        cluster_id,
        incident_id,
        min(failed_at) as failed_at,
        bool_or(is_of_several_nodes) as is_multi_node,
        count(culprit_node_id) > 0 as has_culprit,
        max(posterior_probability) as incident_probability,
        {{ exact_sum('lost_gpu_hours') }} as lost_gpu_hours
    from failures_of_nodes
    group by cluster_id, incident_id

),

culprits as (

    select
        cluster_id,
        incident_id,
        culprit_node_id as node_id,
        max(posterior_probability) as incident_probability,
        min(failed_at) as failed_at,
        bool_or(is_of_several_nodes) as is_multi_node,
        {{ exact_sum('lost_gpu_hours') }} as lost_gpu_hours
    from failures_of_nodes
    where culprit_node_id is not null
    group by cluster_id, incident_id, culprit_node_id

),

-- Without a known culprit: a node that most of the attempts share.
possible_culprits as (

    select
        failures_summarised.cluster_id,
        failures_summarised.incident_id,
        attempt_nodes.node_id,
        failures_summarised.incident_probability,
        failures_summarised.failed_at,
        failures_summarised.is_multi_node,
        failures_summarised.lost_gpu_hours,
        count(*) as shared_attempt_count
    from failures_summarised
    inner join failures_of_nodes
        on
            failures_summarised.cluster_id = failures_of_nodes.cluster_id
            and failures_summarised.incident_id = failures_of_nodes.incident_id
    inner join attempt_nodes
        on
            failures_of_nodes.cluster_id = attempt_nodes.cluster_id
            and failures_of_nodes.attempt_id = attempt_nodes.attempt_id
    where not failures_summarised.has_culprit
    group by
        failures_summarised.cluster_id, failures_summarised.incident_id, attempt_nodes.node_id,
        failures_summarised.incident_probability, failures_summarised.failed_at, failures_summarised.is_multi_node,
        failures_summarised.lost_gpu_hours

),

likely_culprits as (

    select * from possible_culprits
    qualify
        shared_attempt_count = max(shared_attempt_count) over (partition by cluster_id, incident_id)

)

select
    cluster_id,
    incident_id,
    node_id,
    true as is_known,
    incident_probability,
    cast(1 as integer) as suspect_count,
    failed_at,
    is_multi_node,
    lost_gpu_hours
from culprits

union all

select
    cluster_id,
    incident_id,
    node_id,
    false as is_known,
    incident_probability,
    cast(count(*) over (partition by cluster_id, incident_id) as integer) as suspect_count,
    failed_at,
    is_multi_node,
    lost_gpu_hours
from likely_culprits
