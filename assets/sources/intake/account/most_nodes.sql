-- How many nodes a list can name at most where an inventory is there, which may leave out some.
create or replace temp table most_nodes as
select cluster_id, greatest({{ large }}, {{ spare_names }} + {{ spare_factor }} * count(distinct node_name)) as node_count
from raw.nodes group by cluster_id
