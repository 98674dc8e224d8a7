with

suspects as (

    select * from {{ ref('int_failures_suspected') }}
    where state in ('NODE_FAIL', 'REQUEUED')

),

attempts as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and started_at is not null
        and state = 'CANCELLED'
        and cancelled_by_uid = 0

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

evidence as (

    select distinct
        cluster_id,
        attempt_id
    from {{ ref('int_failures_evidenced') }}

),

outages as (

    -- A drain takes effect when the last job on the node has ended: it ended none.
    select * from {{ ref('fct_node_outages') }}
    where
        is_planned
        or not coalesce({{ regex_matches('state', "'^(DRAIN|DRNG)'") }}, false)

),

named as (

    select distinct
        cluster_id,
        attempt_id
    from culprits

),

ended as (

    -- Where Slurm names the node that ended the attempt, why the others went out of service does not matter. A requeued
    -- attempt has one named where its prolog failed.
    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.state,
        suspects.ended_at,
        culprits.node_id
    from suspects
    inner join culprits
        on
            suspects.cluster_id = culprits.cluster_id
            and suspects.attempt_id = culprits.attempt_id
    where suspects.state = 'NODE_FAIL'

    union all

    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.state,
        suspects.ended_at,
        {{ unnest_list('suspects.node_ids') }} as node_id
    from suspects
    left join named
        on
            suspects.cluster_id = named.cluster_id
            and suspects.attempt_id = named.attempt_id
    where named.attempt_id is null

    union all

    -- Root cancels what still runs on a node that drains for planned work.
    select
        cluster_id,
        attempt_id,
        state,
        ended_at,
        {{ unnest_list('node_ids') }} as node_id
    from attempts

),

-- Taking a node down ends its jobs within seconds. On a node that drains for planned work a job may run on until the
-- work begins. What then ends without evidence of a fault was ended by the work: a node switched off leaves NODE_FAIL.
outages_of_ends as (

    select
        ended.cluster_id,
        ended.attempt_id,
        bool_and(outages.is_planned) as is_planned
    from ended
    inner join outages
        on
            ended.cluster_id = outages.cluster_id
            and ended.node_id = outages.node_id
            and ended.ended_at + interval 5 second >= outages.started_at
            and (
                ended.ended_at - interval 5 second <= outages.started_at
                or (
                    outages.is_planned
                    and (outages.ended_at is null or ended.ended_at <= outages.ended_at)
                )
            )
    group by ended.cluster_id, ended.attempt_id

)

select
    outages_of_ends.cluster_id,
    outages_of_ends.attempt_id
from outages_of_ends
left join evidence
    on
        outages_of_ends.cluster_id = evidence.cluster_id
        and outages_of_ends.attempt_id = evidence.attempt_id
where
    outages_of_ends.is_planned
    and evidence.attempt_id is null
