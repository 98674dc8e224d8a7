{# Set node_id, and move rows into and out of `unknown_node`: by names, or by hosts, which mean a node for some time. #}
update raw.{{ table }} set
    node_id = meant.node_id,
    disposition = case
        when meant.node_id is null then 'unknown_node'
        when disposition = 'unknown_node' then 'loaded'
        else disposition
    end
{% if by_hosts %}
from (
    select named.rowid as row_number, hosts.node_id
    from (
        select {{ table }}.rowid, {{ table }}.cluster_id, {{ table }}.node_name, {{ table }}.{{ time }} as moment
        from raw.{{ table }}
        semi join host_names
            on host_names.cluster_id = {{ table }}.cluster_id and host_names.name_as_seen = {{ table }}.node_name
    ) as named
    left join host_names as hosts
        on hosts.cluster_id = named.cluster_id
        and hosts.name_as_seen = named.node_name
        and hosts.from_at <= named.moment
        and hosts.to_at > named.moment
) as meant
where meant.row_number = {{ table }}.rowid
{% else %}
from (select distinct * from names_to_set) as meant
where meant.cluster_id = {{ table }}.cluster_id and meant.node_name = {{ table }}.node_name
    {% if table == "nodes" %}
    -- Nodes of the inventory are known by definition.
    and meant.node_id is not null
    {% endif %}
{% endif %}
    and (
        {{ table }}.node_id is distinct from meant.node_id
        or (disposition = 'unknown_node') <> (meant.node_id is null)
    )
