create or replace temp table names_to_set as
select used.cluster_id, used.node_name, node_names.node_id
from (
    select distinct cluster_id, node_name, node_id, disposition = 'unknown_node' as is_unknown
    from raw.{{ table }} where node_name is not null and cluster_id in (from surveyed)
) as used
left join node_names on node_names.cluster_id = used.cluster_id and node_names.name_as_seen = used.node_name
anti join host_names on host_names.cluster_id = used.cluster_id and host_names.name_as_seen = used.node_name
where used.node_id is distinct from node_names.node_id or used.is_unknown <> (node_names.node_id is null)
