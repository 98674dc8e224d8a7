{% import "sources/intake/account/macros.sql" as m %}
-- Lists repeat: check each once, and look in files only for those with an unknown name.
create or replace temp table new_warnings as
with lists as (
    select distinct cluster_id, path, excluded_node_ids
    from raw.sacct
    where disposition = 'loaded' and len(excluded_node_ids) > 0
),
unknown as (
    select cluster_id, excluded_node_ids, node_id
    from (
        select cluster_id, excluded_node_ids, unnest(excluded_node_ids) as node_id
        from (select distinct cluster_id, excluded_node_ids from lists)
    )
    anti join raw.node_names using (cluster_id, node_id)
),
of_files as (
    select cluster_id, path, list(distinct node_id order by node_id) as node_ids
    from lists inner join unknown using (cluster_id, excluded_node_ids)
    group by cluster_id, path
)
select
    cluster_id, path,
    concat(
        {{ name | literal }}, ': ', len(node_ids), ' (', array_to_string(node_ids[:{{ max_names }}], ', '),
        if(len(node_ids) > {{ max_names }}, ', ...)', ')')
    ) as warning
from of_files;
{{ m.replace_warnings(name) }}
