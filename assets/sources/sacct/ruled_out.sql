{# Records that are impossible by all records of a cluster and its inventory. A job may have begun before accounting
shows any, and an inventory may leave out some nodes, but neither by this much. -#}
create or replace temp table sacct_ruled_out as
with studies as (
    select cluster_id, min(ended_at) - interval {{ years }} years as earliest_at from raw.sacct group by cluster_id
),
records as (
    select
        sacct.rowid as row_id,
        case
            when sacct.started_at < studies.earliest_at and sacct.ended_at is not null then 'began_before_study'
            when len(sacct.node_ids) > most_nodes.node_count then 'more_nodes_than_inventory'
        end as disposition
    from raw.sacct
    inner join studies using (cluster_id)
    left join most_nodes using (cluster_id)
)
from records where disposition is not null
