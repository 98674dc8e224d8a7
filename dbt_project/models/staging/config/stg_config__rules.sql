with

clusters as (

    select * from {{ source_table('raw', 'clusters') }}

),

rules as (

    {% for kind in ['health_check', 'kernel', 'node_reason', 'repair_action', 'xid'] %}
        select
            cluster_id,
            '{{ kind }}' as kind,
            {{ unnest_list(objects_in_json(kind ~ '_rules', [
                ('rule_order', 'integer'),
                ('check_name', 'string'),
                ('pattern', 'string'),
                ('code', 'integer'),
                ('failure_category', 'string'),
                ('repair_action', 'string'),
                ('severity', 'string'),
                ('evidence_class', 'string'),
                ('is_sticky', 'boolean')
            ])) }} as rule
        from clusters
        {{ 'union all' if not loop.last }}
    {% endfor %}

)

select
    cluster_id,
    kind,
    rule.rule_order,
    rule.check_name,
    rule.pattern,
    rule.code,
    rule.failure_category,
    rule.repair_action,
    rule.severity,
    rule.evidence_class,
    rule.is_sticky
from rules
