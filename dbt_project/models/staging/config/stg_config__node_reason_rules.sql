with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

rules as (

    select
        cluster_id,
        {{ unnest_list(objects_in_json('node_reason_rules', [
            ('rule_order', 'integer'),
            ('pattern', 'string'),
            ('failure_category', 'string'),
            ('severity', 'string'),
            ('evidence_class', 'string')
        ])) }} as rule
    from clusters

)

select
    cluster_id,
    rule.rule_order,
    rule.pattern,
    rule.failure_category,
    rule.severity,
    rule.evidence_class
from rules
