with

failures as (

    select * from {{ ref('int_failures_attributed') }}

),

-- What is more likely a coincidence has nothing in common with a failure but the moment.
likely_failures as (

    select * from failures
    where posterior_probability >= 0.5

),

het_failures as (

    select * from {{ ref('int_het_failures_joined') }}

),

evidence as (

    select * from {{ ref('int_failures_evidenced') }}

),

multi_node_onsets as (

    select * from {{ ref('int_multi_node_onsets') }}

),

-- A switch or storage event over several nodes: the failure's own cause began in it, on the node that failed it.
shared_events_of_failures as (

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        min(multi_node_onsets.shared_event_id) as shared_event_id
    from likely_failures as failures
    left join evidence
        on
            failures.cluster_id = evidence.cluster_id
            and failures.attempt_id = evidence.attempt_id
            and failures.failure_category = evidence.failure_category
            and failures.culprit_node_id = evidence.node_id
    inner join multi_node_onsets
        on
            failures.cluster_id = multi_node_onsets.cluster_id
            and failures.failure_category = multi_node_onsets.failure_category
            and coalesce(evidence.event_id, failures.attempt_id) = multi_node_onsets.onset_id
    group by failures.cluster_id, failures.attempt_id, failures.failed_at

),

-- What failures can have in common: the node that failed them, any of their nodes if that is unknown, the event, or the
-- heterogeneous job of which they are components.
shared_things as (

    select
        cluster_id,
        attempt_id,
        failed_at,
        'node ' || node_id as thing
    from (
        select
            cluster_id,
            attempt_id,
            failed_at,
            {{ unnest_list(
                'case when culprit_node_id is null then node_ids else ' ~ list_literal(['culprit_node_id']) ~ ' end'
            ) }} as node_id
        from likely_failures
    ) as failed_nodes

    union all

    select
        cluster_id,
        attempt_id,
        failed_at,
        'event ' || primary_event_id as thing
    from likely_failures
    where primary_event_id is not null

    union all

    select
        cluster_id,
        attempt_id,
        failed_at,
        'shared event ' || shared_event_id as thing
    from shared_events_of_failures

    union all

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        'component ' || least(failures.attempt_id, het_failures.partner_attempt_id) as thing
    from likely_failures as failures
    inner join het_failures
        on
            failures.cluster_id = het_failures.cluster_id
            and failures.attempt_id = het_failures.attempt_id

),

gaps as (

    select
        *,
        lag(failed_at) over (
            partition by cluster_id, thing
            order by failed_at, attempt_id
        ) as previous_failed_at
    from shared_things

),

bursts as (

    select
        cluster_id,
        attempt_id,
        thing,
        sum(case when failed_at <= previous_failed_at + interval 600 second then 0 else 1 end) over (
            partition by cluster_id, thing
            order by failed_at, attempt_id
            rows between unbounded preceding and current row
        ) as burst_number
    from gaps

),

-- The first failure of a burst stands for it: whoever shares a burst is linked to that one.
links as (

    select distinct
        cluster_id,
        attempt_id,
        first_value(attempt_id) over (
            partition by cluster_id, thing, burst_number
            order by attempt_id
        ) as linked_attempt_id
    from bursts

),

-- Most failures share a burst with nobody else: they are done before the linking starts.
linked as (

    select
        cluster_id,
        attempt_id,
        linked_attempt_id
    from links
    where attempt_id != linked_attempt_id

    union all

    select
        cluster_id,
        linked_attempt_id as attempt_id,
        attempt_id as linked_attempt_id
    from links
    where attempt_id != linked_attempt_id

),

components as (

    {{ connected_failures('failures', 'linked') | indent(4) }}

)

-- An attempt's name opens with its cluster's, and so does the incident's.
select
    components.cluster_id,
    components.attempt_id,
    shared_events_of_failures.shared_event_id,
    first_value(components.attempt_id) over (
        partition by components.cluster_id, components.label
        order by components.failed_at, components.attempt_id
    ) as incident_id
from components
left join shared_events_of_failures
    on
        components.cluster_id = shared_events_of_failures.cluster_id
        and components.attempt_id = shared_events_of_failures.attempt_id
