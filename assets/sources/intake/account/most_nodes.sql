-- The nodes that inventory and lists of ordinary length name, and how many a list can name at most if there is an
-- inventory. It may leave out some nodes, such as those without GPUs: many lists name these.
create or replace temp table declared_names as
select distinct cluster_id, unnest(node_names) as node_name from raw.node_lists where len(node_names) <= {{ large }}
union
select cluster_id, node_name from raw.nodes;

create or replace temp table most_nodes as
select cluster_id, greatest({{ large }}, {{ spare_names }} + {{ spare_factor }} * count(*)) as node_count
from declared_names semi join raw.nodes using (cluster_id)
group by cluster_id;

insert into declared_names
select distinct cluster_id, unnest(node_names) as node_name
from raw.node_lists left join most_nodes using (cluster_id)
where len(node_names) > {{ large }} and (len(node_names) <= node_count or node_count is null)
