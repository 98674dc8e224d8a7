with

components as (

    select * from {{ ref('int_attempts') }}
    where
        het_job_id is not null
        and is_terminal
        and {{ may_be_failed('state') }}

)

-- The end of one component of a heterogeneous job ends the others.
select
    components.cluster_id,
    components.attempt_id,
    partners.attempt_id as partner_attempt_id,
    partners.node_ids as partner_node_ids
from components
inner join components as partners
    on
        components.cluster_id = partners.cluster_id
        and components.het_job_id = partners.het_job_id
        and components.job_id_raw != partners.job_id_raw
        and abs({{ seconds_between('components.ended_at', 'partners.ended_at') }}) <= 60
        and coalesce(components.started_at <= partners.ended_at, true)
        and coalesce(components.ended_at >= partners.started_at, true)
