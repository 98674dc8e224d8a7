{#- The rules that clusters give in their cluster.toml, one row per rule; `fields` is that of objects_in_json. -#}
{% macro rules_of_clusters(clusters, json, fields) -%}
select
    cluster_id
    {%- for name, _ in fields %},
    rule.{{ name }}
    {%- endfor %}
from (
    select
        cluster_id,
        {{ unnest_list(objects_in_json(json, fields)) }} as rule
    from {{ clusters }}
)
{%- endmacro %}
