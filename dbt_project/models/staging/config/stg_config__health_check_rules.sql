with

clusters as (

    select * from {{ source_table('raw', 'clusters') }}

)

{{ rules_of_clusters('clusters', 'health_check_rules', [
    ('rule_order', 'integer'),
    ('check_name', 'string'),
    ('pattern', 'string'),
    ('failure_category', 'string'),
    ('severity', 'string'),
    ('evidence_class', 'string'),
    ('is_sticky', 'boolean')
]) }}
