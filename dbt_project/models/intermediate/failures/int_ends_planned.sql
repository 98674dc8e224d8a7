with

suspects as (

    select * from {{ ref('int_failures_suspected') }}
    where state = 'NODE_FAIL'

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

    select * from {{ ref('fct_node_outages') }}

),

named as (

    select distinct
        cluster_id,
        attempt_id
    from culprits

),

-- Where Slurm names the node that ended the attempt, why the others went out of service does not matter.
ending_nodes as (

    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.ended_at,
        culprits.node_id
    from suspects
    inner join culprits
        on
            suspects.cluster_id = culprits.cluster_id
            and suspects.attempt_id = culprits.attempt_id

    union all

    select
        suspects.cluster_id,
        suspects.attempt_id,
        suspects.ended_at,
        {{ unnested('suspects.node_ids') }} as node_id
    from suspects
    left join named
        on
            suspects.cluster_id = named.cluster_id
            and suspects.attempt_id = named.attempt_id
    where named.attempt_id is null

),

-- Taking a node down ends its jobs within seconds.
outages_of_ends as (

    select
        ending_nodes.cluster_id,
        ending_nodes.attempt_id,
        bool_and(outages.is_planned) as is_planned
    from ending_nodes
    inner join outages
        on
            ending_nodes.cluster_id = outages.cluster_id
            and ending_nodes.node_id = outages.node_id
            and abs({{ seconds_between('ending_nodes.ended_at', 'outages.started_at') }}) <= 5
    group by ending_nodes.cluster_id, ending_nodes.attempt_id

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
