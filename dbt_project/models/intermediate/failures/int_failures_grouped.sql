with recursive

failures as (

    select * from {{ ref('int_failures_attributed') }}

),

evidence as (

    select * from {{ ref('int_failures_evidenced') }}

),

onsets_shared as (

    select * from {{ ref('int_onsets_shared') }}

),

-- A switch or storage event over several nodes: the failure's own cause began in it, on the node that failed it.
shared_events_of_failures as (

    select
        failures.cluster_id,
        failures.attempt_id,
        failures.failed_at,
        min(onsets_shared.shared_event_id) as shared_event_id
    from failures
    left join evidence
        on
            failures.cluster_id = evidence.cluster_id
            and failures.attempt_id = evidence.attempt_id
            and failures.failure_category = evidence.failure_category
            and failures.culprit_node_id = evidence.node_id
    inner join onsets_shared
        on
            failures.cluster_id = onsets_shared.cluster_id
            and failures.failure_category = onsets_shared.failure_category
            and coalesce(evidence.event_id, failures.attempt_id) = onsets_shared.onset_id
    group by failures.cluster_id, failures.attempt_id, failures.failed_at

),

-- What failures can have in common: the node that failed them, any of their nodes if that is unknown, the event.
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
            {{ unnested(
                'case when culprit_node_id is null then node_ids else ' ~ list_of(['culprit_node_id']) ~ ' end'
            ) }} as node_id
        from failures
    ) as failed_nodes

    union all

    select
        cluster_id,
        attempt_id,
        failed_at,
        'event ' || primary_event_id as thing
    from failures
    where primary_event_id is not null

    union all

    select
        cluster_id,
        attempt_id,
        failed_at,
        'shared event ' || shared_event_id as thing
    from shared_events_of_failures

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

-- Every failure points to a name, at first its own. In each pass it takes the smallest among that of the one it points
-- to, those its neighbours are about to have, and what those that point to it have found, until none changes any more
-- (FastSV; Zhang, Azad and Buluc 2020). A chain of 10,000 settles in 16 passes; passing names on would take thousands.
labels as (

    select distinct
        cluster_id,
        attempt_id,
        attempt_id as label,
        true as is_changed,
        0 as pass
    from linked

    union all

    (

        with

        pointers as (

            select
                own.cluster_id,
                own.attempt_id,
                own.label,
                own.pass,
                pointed_to.label as next_label
            from labels as own
            inner join labels as pointed_to
                on
                    own.cluster_id = pointed_to.cluster_id
                    and own.label = pointed_to.attempt_id
            where
                exists (
                    select 1
                    from labels as unsettled
                    where unsettled.is_changed
                )

        ),

        nearest as (

            select
                linked.cluster_id,
                linked.attempt_id,
                min(neighbours.next_label) as label
            from linked
            inner join pointers as neighbours
                on
                    linked.cluster_id = neighbours.cluster_id
                    and linked.linked_attempt_id = neighbours.attempt_id
            group by linked.cluster_id, linked.attempt_id

        ),

        found_by_followers as (

            select
                pointers.cluster_id,
                pointers.label as attempt_id,
                min(nearest.label) as label
            from pointers
            inner join nearest
                on
                    pointers.cluster_id = nearest.cluster_id
                    and pointers.attempt_id = nearest.attempt_id
            group by pointers.cluster_id, pointers.label

        )

        select
            pointers.cluster_id,
            pointers.attempt_id,
            least(
                pointers.next_label, nearest.label, coalesce(found_by_followers.label, nearest.label)
            ) as label,
            least(
                pointers.next_label, nearest.label, coalesce(found_by_followers.label, nearest.label)
            ) < pointers.label as is_changed,
            pointers.pass + 1 as pass
        from pointers
        inner join nearest
            on
                pointers.cluster_id = nearest.cluster_id
                and pointers.attempt_id = nearest.attempt_id
        left join found_by_followers
            on
                pointers.cluster_id = found_by_followers.cluster_id
                and pointers.attempt_id = found_by_followers.attempt_id

    )

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
