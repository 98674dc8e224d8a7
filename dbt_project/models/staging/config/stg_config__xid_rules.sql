with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

rules as (

    select
        cluster_id,
        {{ unnest_list(objects_in_json('xid_rules', [
            ('code', 'integer'),
            ('failure_category', 'string'),
            ('severity', 'string'),
            ('evidence_class', 'string')
        ])) }} as rule
    from clusters

)

select
    cluster_id,
    rule.code,
    rule.failure_category,
    rule.severity,
    rule.evidence_class
from rules
