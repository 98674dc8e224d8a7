with

clusters as (

    select * from {{ source_table('raw', 'clusters') }}

)

{{ rules_of_clusters('clusters', 'node_reason_rules', [
    ('rule_order', 'integer'),
    ('pattern', 'string'),
    ('failure_category', 'string'),
    ('severity', 'string'),
    ('evidence_class', 'string')
]) }}
