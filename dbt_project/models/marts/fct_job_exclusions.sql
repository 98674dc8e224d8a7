with

records as (

    select * from {{ ref('stg_sacct__records') }}

),

squeue_exclusions as (

    select * from {{ ref('stg_squeue__exclusions') }}

),

known_nodes as (

    select distinct
        cluster_id,
        node_id
    from {{ ref('stg_config__node_names') }}

),

in_submit_lines as (

    select
        cluster_id,
        job_id_raw,
        {{ unnest_list('excluded_node_ids') }} as node_id,
        'submit_line' as source,
        submitted_at as seen_at
    from records
    where {{ list_length('excluded_node_ids') }} > 0

),

-- Many jobs exclude a drained node, and no log may name it.
known_in_submit_lines as (

    select in_submit_lines.*
    from in_submit_lines
    inner join known_nodes
        on
            in_submit_lines.cluster_id = known_nodes.cluster_id
            and in_submit_lines.node_id = known_nodes.node_id

),

in_squeue as (

    select
        cluster_id,
        job_id_raw,
        node_id,
        'squeue' as source,
        seen_at
    from squeue_exclusions
    where node_id is not null

),

exclusions as (

    select * from known_in_submit_lines
    union all
    select * from in_squeue

)

select
    cluster_id,
    job_id_raw,
    node_id,
    source,
    {{ truncate_to_second('min(seen_at)') }} as first_seen_at,
    {{ truncate_to_second('max(seen_at)') }} as last_seen_at
from exclusions
group by cluster_id, job_id_raw, node_id, source
-- adjacent rows of a job take a third less space
order by cluster_id, job_id_raw
