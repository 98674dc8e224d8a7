with recursive

failures as (

    select * from {{ ref('int_failures_attributed') }}

),

-- What failures can have in common: the node that failed them, any of their nodes if that is unknown, the event.
shared_things as (

    select
        cluster_id,
        attempt_id,
        failed_at,
        'node ' || unnest(case when culprit_node_id is null then node_ids else [culprit_node_id] end) as thing
    from failures

    union all

    select
        cluster_id,
        attempt_id,
        failed_at,
        'event ' || primary_event_id as thing
    from failures
    where primary_event_id is not null

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

-- Every failure takes the smallest name among its neighbours until none changes any more.
labels as (

    select distinct
        cluster_id,
        attempt_id,
        attempt_id as label,
        true as is_changed,
        0 as pass
    from linked

    union all

    select
        own.cluster_id,
        own.attempt_id,
        least(own.label, coalesce(min(neighbours.label), own.label)) as label,
        coalesce(min(neighbours.label) < own.label, false) as is_changed,
        own.pass + 1 as pass
    from labels as own
    left join linked
        on
            own.cluster_id = linked.cluster_id
            and own.attempt_id = linked.attempt_id
    left join labels as neighbours
        on
            linked.cluster_id = neighbours.cluster_id
            and linked.linked_attempt_id = neighbours.attempt_id
    where
        exists (
            select 1
            from labels as unsettled
            where unsettled.is_changed
        )
    group by own.cluster_id, own.attempt_id, own.label, own.pass

),

components as (

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        coalesce(settled.label, failures.attempt_id) as label
    from failures
    left join labels as settled
        on
            failures.cluster_id = settled.cluster_id
            and failures.attempt_id = settled.attempt_id
            and settled.pass = (select max(last_pass.pass) from labels as last_pass)

)

-- An attempt's name opens with its cluster's, and so does the incident's.
select
    cluster_id,
    attempt_id,
    first_value(attempt_id) over (
        partition by cluster_id, label
        order by failed_at, attempt_id
    ) as incident_id
from components
