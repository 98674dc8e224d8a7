{# Set the final ids in the node lists and in the records that print them; only names with a domain ever change. #}
-- Rebuild only lists with a changed name: rebuilding all of them at once needs unbounded memory.
create or replace temp table changed_node_lists as
with renamed as (
    select distinct members.cluster_id, members.node_list
    from (
        select cluster_id, node_list, unnest(node_names) as node_name, unnest(node_ids) as node_id
        from raw.node_lists
    ) as members
    inner join node_names
        on node_names.cluster_id = members.cluster_id and node_names.name_as_seen = members.node_name
    where node_names.node_id <> members.node_id
),
members as (
    select
        lists.cluster_id, lists.node_list, unnest(lists.node_names) as node_name,
        generate_subscripts(lists.node_names, 1) as place
    from raw.node_lists as lists inner join renamed using (cluster_id, node_list)
)
select members.cluster_id, members.node_list, list(node_names.node_id order by members.place) as node_ids
from members inner join node_names
    on node_names.cluster_id = members.cluster_id and node_names.name_as_seen = members.node_name
group by members.cluster_id, members.node_list;

{% for table in ("node_lists", "sacct") %}
update raw.{{ table }} set node_ids = changed.node_ids
from changed_node_lists as changed
where changed.cluster_id = {{ table }}.cluster_id and changed.node_list = {{ table }}.node_list;
{% endfor %}

update raw.sacct set failed_node_id = names.node_id
from (from node_names where node_id <> name_as_seen) as names
where names.cluster_id = sacct.cluster_id and names.name_as_seen = sacct.failed_node_id;

update raw.sacct set excluded_node_ids = final.node_ids
from (
    select
        listed.cluster_id, listed.excluded_node_ids,
        list(coalesce(names.node_id, listed.name) order by listed.place) as node_ids
    from (
        select
            cluster_id, excluded_node_ids, unnest(excluded_node_ids) as name,
            generate_subscripts(excluded_node_ids, 1) as place
        from (select distinct cluster_id, excluded_node_ids from raw.sacct where len(excluded_node_ids) > 0)
    ) as listed
    left join (from node_names where node_id <> name_as_seen) as names
        on names.cluster_id = listed.cluster_id and names.name_as_seen = listed.name
    group by listed.cluster_id, listed.excluded_node_ids
    having bool_or(names.node_id is not null)
) as final
where final.cluster_id = sacct.cluster_id and final.excluded_node_ids = sacct.excluded_node_ids
