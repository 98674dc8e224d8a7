with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

rules as (

    select
        cluster_id,
        {{ unnest_list(objects_in_json('health_check_rules', [
            ('rule_order', 'integer'),
            ('check_name', 'string'),
            ('pattern', 'string'),
            ('failure_category', 'string'),
            ('severity', 'string'),
            ('evidence_class', 'string'),
            ('is_sticky', 'boolean')
        ])) }} as rule
    from clusters

)

select
    cluster_id,
    rule.rule_order,
    rule.check_name,
    rule.pattern,
    rule.failure_category,
    rule.severity,
    rule.evidence_class,
    rule.is_sticky
from rules
