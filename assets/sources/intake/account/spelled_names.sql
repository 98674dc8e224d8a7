{# The names in use. #}
select distinct cluster_id, node_name
from (
    {% for table in tables %}
    select cluster_id, node_name from raw.{{ table }}
    union all
    {% endfor %}
    select distinct cluster_id, unnest(excluded_node_ids || [failed_node_id]) as node_name
    from raw.sacct where failed_node_id is not null or len(excluded_node_ids) > 0
    union all
    -- If nothing says which nodes exist, leave out hosts that only irrelevant lines name.
    select cluster_id, node_name from raw.sightings
    where cluster_id in (select cluster_id from raw.node_lists union select cluster_id from raw.nodes)
)
where node_name is not null
order by all
